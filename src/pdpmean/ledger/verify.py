"""Verify that the log is complete, that sums are right, and that nobody has spent more than they granted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pdpmean.ledger import queries
from pdpmean.ledger.log import BEGINNING, entries, hash_of
from pdpmean.ledger.people import NO_GRANTS, known_grants
from pdpmean.ledger.release import Release, releases
from pdpmean.ledger.reservation import ReleaseCost, cost_of_release
from pdpmean.ledger.store import Transaction

__all__ = ["Verification", "verify"]


@dataclass(frozen=True)
class Verification:
    """What a check of the whole ledger has found: problems, if any, and open reservations."""

    people: int
    entries: int
    last_hash: str
    """Note it, and compare later: it changes if any entry before it is changed."""
    problems: tuple[str, ...]
    dangling: tuple[int, ...]
    """Releases that are still running or were cut off by a crash. They count as spent."""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"WRONG: {problem}" for problem in self.problems] or [
            f"{self.people:,} people, nobody above their grant; all sums are right; "
            f"{self.entries:,} log entries, in an unbroken chain.",
            f"The last entry's hash is {self.last_hash}",
        ]
        if self.dangling:
            numbers = ", ".join(map(str, self.dangling))
            lines.append(f"Releases still reserved, neither committed nor cancelled: {numbers}. They count as spent.")
        return "\n".join(lines)


def verify(transaction: Transaction) -> Verification:
    """Check everything."""
    known = releases(transaction)
    last_hash, number, problems = _chain(transaction)
    problems += [*_sums(transaction), *_states(transaction, known), *_grants(transaction)]
    people = int(transaction.value("SELECT COUNT(*) FROM people"))
    dangling = tuple(release.number for release in known if release.state == "reserved")
    return Verification(people, number, last_hash, tuple(problems), dangling)


def _chain(transaction: Transaction) -> tuple[str, int, list[str]]:
    """The last hash, the number of entries, and the first entry that does not follow from the one before it."""
    previous, number = BEGINNING, 0
    problems: list[str] = []
    for entry in entries(transaction):
        number += 1
        computed = hash_of(entry.number, entry.at, entry.event, entry.release, entry.content, previous)
        if not problems and (entry.number != number or entry.hash != computed):
            problems = [f"log entry {number} was changed, or an entry before it was removed"]
        previous = entry.hash
    return previous, number, problems


def _sums(transaction: Transaction) -> Iterator[str]:
    checks = {
        queries.ABOVE_GRANT: "people have spent more than they grant",
        queries.ABOVE_EARLIER_GRANT: "people had spent more than an earlier grant of theirs",
        queries.WRONG_SUMS: "people have a recorded spending that is not the sum of their costs",
        queries.COSTS_OF_NOBODY: "costs belong to people who are not in the ledger",
        queries.COSTS_OF_NOTHING: "costs belong to releases that are not in the ledger",
    }
    for sql, words in checks.items():
        if count := int(transaction.value(sql)):
            yield f"{count:,} {words}"


def _grants(transaction: Transaction) -> Iterator[str]:
    """Check that present and former grants, and who has withdrawn, are those of the log."""
    told = {
        entry.details["since"]: (entry.details["grants_hash"], entry.event == "withdrawn")
        for entry in entries(transaction, "event IN ('granted', 'withdrawn', 'imported')")
        if entry.details["grants_hash"] != NO_GRANTS
    }
    if known_grants(transaction) != {since: grants_hash for since, (grants_hash, _) in told.items()}:
        yield "grants or ids differ from the log"
    found = transaction.rows("SELECT DISTINCT since, withdrawn FROM people")
    if any(since in told and told[since][1] != bool(withdrawn) for since, withdrawn in found):
        yield "who has withdrawn differs from the log"


def _states(transaction: Transaction, known: list[Release]) -> Iterator[str]:
    """Check that the tables agree with the log about every release."""
    found = list(transaction.rows("SELECT number, state, people_are_public FROM releases"))
    if {int(number): str(state) for number, state, _ in found} != {release.number: release.state for release in known}:
        yield "the states of releases differ from the log"
    public = {int(number): bool(people_are_public) for number, _, people_are_public in found}
    for release in known:
        model = release.details.get("options", {}).get("model")
        if model is not None and public.get(release.number) != (model == "bounded"):
            yield f"the model of release {release.number} differs from the log"
        told = ReleaseCost(release.people, release.total, release.costs_hash)
        if cost_of_release(transaction, release.number) != told:
            yield f"the cost of release {release.number} differs from the log"
