"""Verify: an audit of the whole ledger, for those who have to vouch for it.

It checks that the log is an unbroken chain of hashes, that the tables agree with the log, that everybody's recorded
spending is the sum of their costs, and that nobody has spent more than they granted. It reads only the database.
"""

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
    """The result of a check of the whole ledger: problems, if any, and releases that are still open."""

    people: int
    """The number of people in the ledger."""
    entries: int
    """The number of log entries."""
    last_hash: str
    """The hash of the last log entry. Keep it elsewhere: whoever rewrites the log later cannot reproduce it."""
    problems: tuple[str, ...]
    """What is wrong, one sentence each; empty if all is well."""
    reserved: tuple[int, ...]
    """The numbers of releases that are still running or were cut off by a crash. They count as spent."""

    @property
    def passed(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"WRONG: {problem}" for problem in self.problems] or [
            f"{self.people:,} people, nobody above their grant; all sums are right; "
            f"{self.entries:,} log entries, in an unbroken chain.",
            f"The last entry's hash is {self.last_hash}",
        ]
        if self.reserved:
            numbers = ", ".join(map(str, self.reserved))
            lines.append(f"Releases still reserved, neither committed nor cancelled: {numbers}. They count as spent.")
        return "\n".join(lines)


def verify(transaction: Transaction) -> Verification:
    """Check the whole ledger, in one transaction."""
    logged_releases = releases(transaction)
    last_hash, entry_count, problems = _check_chain(transaction)
    problems += [*_check_sums(transaction), *_check_releases(transaction, logged_releases), *_check_grants(transaction)]
    people = int(transaction.value("SELECT COUNT(*) FROM people"))
    reserved = tuple(release.number for release in logged_releases if release.state == "reserved")
    return Verification(people, entry_count, last_hash, tuple(problems), reserved)


def _check_chain(transaction: Transaction) -> tuple[str, int, list[str]]:
    """Check every hash of the log: the last hash, the number of entries, and the first problem, if any.

    Only the first, since all entries after it are in doubt anyway.
    """
    previous = BEGINNING
    number = 0
    problems: list[str] = []
    for entry in entries(transaction):
        number += 1
        computed = hash_of(entry.number, entry.at, entry.event, entry.release, entry.content, previous)
        if not problems and (entry.number != number or entry.hash != computed):
            problems = [f"log entry {number} was changed, or an entry before it was removed"]
        previous = entry.hash
    return previous, number, problems


def _check_sums(transaction: Transaction) -> Iterator[str]:
    """Check that costs add up, stay within the grants, and belong to people and releases that exist."""
    # Each query counts errors.
    checks = {
        queries.ABOVE_GRANT: "people have spent more than they grant",
        queries.ABOVE_EARLIER_GRANT: "people had spent more than an earlier grant of theirs",
        queries.WRONG_SUMS: "people have a recorded spending that is not the sum of their costs",
        queries.COSTS_OF_NOBODY: "costs belong to people who are not in the ledger",
        queries.COSTS_OF_NOTHING: "costs belong to releases that are not in the ledger",
    }
    for sql, description in checks.items():
        if count := int(transaction.value(sql)):
            yield f"{count:,} {description}"


def _check_grants(transaction: Transaction) -> Iterator[str]:
    """Check that present and former grants, and who has withdrawn, are those of the log.

    The log has one entry per import or change, with the time (`since`) and a hash of all grants made at that time.
    """
    logged = {
        entry.details["since"]: (entry.details["grants_hash"], entry.event == "withdrawn")
        for entry in entries(transaction, "event IN ('granted', 'withdrawn', 'imported')")
        if entry.details["grants_hash"] != NO_GRANTS
    }
    if known_grants(transaction) != {since: grants_hash for since, (grants_hash, _) in logged.items()}:
        yield "grants or ids differ from the log"
    rows = transaction.rows("SELECT DISTINCT since, withdrawn FROM people")
    if any(since in logged and logged[since][1] != bool(withdrawn) for since, withdrawn in rows):
        yield "who has withdrawn differs from the log"


def _check_releases(transaction: Transaction, logged_releases: list[Release]) -> Iterator[str]:
    """Check that the tables agree with the log about the state, model and cost of every release."""
    rows = list(transaction.rows("SELECT number, state, people_are_public FROM releases"))
    states = {int(number): str(state) for number, state, _ in rows}
    if states != {release.number: release.state for release in logged_releases}:
        yield "the states of releases differ from the log"
    public = {int(number): bool(people_are_public) for number, _, people_are_public in rows}
    for release in logged_releases:
        model = release.details.get("options", {}).get("model")
        if model is not None and public.get(release.number) != (model == "bounded"):
            yield f"the model of release {release.number} differs from the log"
        logged_cost = ReleaseCost(release.people, release.total, release.costs_hash)
        if cost_of_release(transaction, release.number) != logged_cost:
            yield f"the cost of release {release.number} differs from the log"
