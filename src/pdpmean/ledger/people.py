"""People: records and changes grants, and reads what people grant, have spent and have left.

A single grant and an import of millions take the same path: the grants are loaded into the temporary table `asked`, and
then compared with the ledger in SQL. Former grants are kept, so that an audit can check each at its time.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from pdpmean.core.likely_budgets import LARGE_GRANT, warning_of_counts
from pdpmean.errors import BudgetWarning, InvalidInputError
from pdpmean.ledger import queries
from pdpmean.ledger.amount import Amount
from pdpmean.ledger.log import append, moment
from pdpmean.ledger.reservation import amount_of_total
from pdpmean.ledger.schema import make_temporary
from pdpmean.ledger.store import Row, Store, Transaction

__all__ = [
    "NO_GRANTS",
    "Balance",
    "Grant",
    "ImportCounts",
    "balance",
    "change_grant",
    "earlier_grants",
    "import_grants",
    "known_grants",
]

_AMOUNTS = ", ".join(queries.columns(name) for name in ("granted", "spent"))
_BALANCES = "people JOIN balances ON balances.person = people.number"
# Finds people whose new grant differs from the recorded one. Tiers may be missing.
_FIND_CHANGED = (
    "INSERT INTO changed (person, place) SELECT people.number, place "
    "FROM asked JOIN people ON people.id = asked.id JOIN balances ON balances.person = people.number "
    f"WHERE ({queries.columns('budget')}) <> ({queries.columns('granted')}) "
    "OR COALESCE(asked.tier, '') <> COALESCE(people.tier, '') OR people.withdrawn <> asked.withdrawn"
)
# Keeps the former grants of these people, numbered on from the last one.
_KEEP_FORMER = (
    f"INSERT INTO changes (number, person, tier, note, since, until, {_AMOUNTS}, {queries.columns('before')}) "
    "SELECT ? + ROW_NUMBER() OVER (ORDER BY place), people.number, tier, note, since, ?, "
    f"{_AMOUNTS}, {queries.columns('before')} FROM changed JOIN people ON people.number = changed.person "
    "JOIN balances ON balances.person = changed.person"
)
_CHANGE_PEOPLE = (
    "UPDATE people SET tier = asked.tier, note = ?, since = ?, withdrawn = asked.withdrawn "
    "FROM changed JOIN asked ON asked.place = changed.place WHERE people.number = changed.person"
)
_CHANGE_BALANCES = (
    "UPDATE balances SET "
    + ", ".join(f"granted_{part} = budget_{part}, before_{part} = spent_{part}" for part in queries.AMOUNT)
    + " FROM changed JOIN asked ON asked.place = changed.place WHERE balances.person = changed.person"
)
_ADD_PEOPLE = (
    "INSERT INTO people (number, id, tier, note, since, withdrawn) "
    "SELECT ? + ROW_NUMBER() OVER (ORDER BY place), id, tier, ?, ?, withdrawn "
    "FROM asked WHERE NOT EXISTS (SELECT 1 FROM people WHERE people.id = asked.id)"
)
_ADD_BALANCES = (
    f"INSERT INTO balances (person, {queries.columns('granted')}) SELECT people.number, {queries.columns('budget')} "
    "FROM asked JOIN people ON people.id = asked.id WHERE people.number > ? ORDER BY people.number"
)
# Of all finite new grants: how many are large, how many distinct positive whole nats there are, how many are not whole
# numbers, how many there are in all, and the largest, in whole nats and rounded up.
_COUNT_UNLIKELY = f"""
SELECT COUNT(CASE WHEN budget_nats > {LARGE_GRANT} OR (budget_nats = {LARGE_GRANT} AND budget_units > 0) THEN 1 END),
    COUNT(DISTINCT CASE WHEN budget_nats > 0 THEN budget_nats END),
    COUNT(CASE WHEN budget_units > 0 THEN 1 END), COUNT(*),
    COALESCE(MAX(budget_nats + CASE WHEN budget_units > 0 THEN 1 ELSE 0 END), 0)
FROM asked WHERE budget_infinite = 0"""
_GRANTED = ", ".join(f"granted_{part}" for part in queries.AMOUNT)
_GRANTS_NOW = f"SELECT people.since AS since, number, id, {_GRANTED} FROM {_BALANCES}"
_GRANTS_BEFORE = (
    f"SELECT changes.since AS since, people.number AS number, id, {_GRANTED} "
    "FROM changes JOIN people ON people.number = changes.person"
)
# An import does not bring back people who have withdrawn, since the list may be older than the withdrawal.
_SKIP_WITHDRAWN = "DELETE FROM asked WHERE id IN (SELECT id FROM people WHERE withdrawn > 0)"
NO_GRANTS = hashlib.sha256().hexdigest()  # the hash of an empty list of grants


@dataclass(frozen=True)
class Grant:
    """What a person grants: an id, a budget and, optionally, the name of a tier."""

    id: str
    budget: Amount
    tier: str | None = None


class ImportCounts(NamedTuple):
    """What an import did: how many people it added, how many it changed, and how many it skipped as withdrawn."""

    added: int
    changed: int
    withdrawn: int


@dataclass(frozen=True)
class Balance:
    """How much a person grants, how much of that is spent or reserved, and how much is left."""

    granted: Amount
    spent: Amount
    """The sum of all costs so far, including open reservations."""
    tier: str | None = None
    note: str | None = None
    since: str = ""
    """When the present grant was made, in ISO format."""
    withdrawn: bool = False

    @property
    def left(self) -> Amount:
        """The most that the next release can cost them."""
        return self.granted.less(self.spent)

    def __str__(self) -> str:
        return f"granted {self.granted}, spent {self.spent}, left {self.left}"


def balance(transaction: Transaction, person: str) -> Balance:
    """The balance of a person; raises if the ledger does not know them."""
    row = transaction.row(f"SELECT {_AMOUNTS}, tier, note, since, withdrawn FROM {_BALANCES} WHERE id = ?", person)
    if row is None:
        raise InvalidInputError(f"the ledger has no person {person!r}", name="person", value=person)
    granted = Amount.of_columns(*row[:3])
    spent = Amount.of_columns(*row[3:6])
    tier, note, since, withdrawn = row[6:]
    return Balance(granted, spent, tier, note, since, bool(withdrawn))


def change_grant(store: Store, grant: Grant, note: str | None = None, *, withdrawn: bool = False) -> None:
    """Record what a person grants from now on; a new person is added."""
    with store.writing() as transaction:
        since = moment(transaction, store)
        _load(transaction, store, [(0, grant.id, grant.tier, *grant.budget.columns, int(withdrawn))])
        _warn_of_grants(transaction, stacklevel=4)
        _apply(transaction, note, since)
        written = transaction.rows(f"{_GRANTS_NOW} WHERE people.since = ? AND id = ?", since, grant.id)
        about = {"person": grant.id, "units": _units(grant.budget), "tier": grant.tier, "note": note}
        event = "withdrawn" if withdrawn else "granted"
        append(transaction, store, event, about | {"since": since, "grants_hash": _hash_of_grants(written)})


def _units(amount: Amount) -> str | None:
    """The amount as the log records it: units as text, since JSON readers may lose digits; None if infinite."""
    return None if amount.infinite else str(amount.units)


def import_grants(store: Store, rows: Iterable[Sequence[Any]], note: str | None = None) -> ImportCounts:
    """Record what many people grant. Nobody is removed, and people who have withdrawn stay withdrawn.

    A row is a row number, an id, a tier (or None) and the three columns of an `Amount`.
    """
    with store.writing() as transaction:
        since = moment(transaction, store)
        _load(transaction, store, ((*row, 0) for row in rows))
        _warn_of_grants(transaction, stacklevel=5)
        withdrawn = transaction.change(_SKIP_WITHDRAWN)
        added, changed = _apply(transaction, note, since)
        total = transaction.row(f"SELECT COUNT(*), {queries.total('granted')} FROM balances")
        assert total is not None
        units = _units(amount_of_total(total[1:]))
        written = transaction.many_rows(f"{_GRANTS_NOW} WHERE people.since = ? ORDER BY number", since)
        content = {"new": added, "changed": changed, "people": int(total[0]), "units": units, "note": note}
        append(transaction, store, "imported", content | {"since": since, "grants_hash": _hash_of_grants(written)})
    return ImportCounts(added, changed, withdrawn)


def _warn_of_grants(transaction: Transaction, *, stacklevel: int) -> None:
    """Warn, before the transaction commits, if the grants do not look like budgets."""
    counts = transaction.row(_COUNT_UNLIKELY)
    assert counts is not None
    large, whole_numbers, others, people, largest = counts
    if text := warning_of_counts(large, people, 0 if others else whole_numbers, largest):
        warnings.warn(text, BudgetWarning, stacklevel=stacklevel)


def _hash_of_grants(rows: Iterable[Row]) -> str:
    """A hash of people's numbers, ids and grants, in order. The separator, the null character, occurs in no id."""
    hashed = hashlib.sha256()
    for _, *fields in rows:
        hashed.update(("\0".join(map(str, fields)) + "\0").encode())
    return hashed.hexdigest()


def known_grants(transaction: Transaction) -> dict[str, str]:
    """For each time at which grants were made: the hash of all grants of that time, present and former."""
    rows = transaction.many_rows(f"{_GRANTS_NOW} UNION ALL {_GRANTS_BEFORE} ORDER BY since, number")
    return {since: _hash_of_grants(grants) for since, grants in groupby(rows, key=itemgetter(0))}


def _load(transaction: Transaction, store: Store, rows: Iterable[Sequence[Any]]) -> None:
    """Load new grants into the temporary table `asked`; raise if a person is listed twice."""
    for name in ("asked", "changed"):
        make_temporary(transaction, store, name)
    transaction.load(
        "asked", ["place", "id", "tier", *(f"budget_{part}" for part in queries.AMOUNT), "withdrawn"], rows
    )
    if transaction.value("SELECT COUNT(*) FROM asked") > transaction.value("SELECT COUNT(DISTINCT id) FROM asked"):
        raise InvalidInputError("a person is listed twice; list each person once", name="person")


def _apply(transaction: Transaction, note: str | None, at: str) -> tuple[int, int]:
    """Add and change people according to the table `asked`; returns the numbers added and changed."""
    changed = transaction.change(_FIND_CHANGED)
    transaction.change(_KEEP_FORMER, transaction.value("SELECT COALESCE(MAX(number), 0) FROM changes"), at)
    transaction.change(_CHANGE_PEOPLE, note, at)
    transaction.change(_CHANGE_BALANCES)
    last_person = transaction.value("SELECT COALESCE(MAX(number), 0) FROM people")
    added = transaction.change(_ADD_PEOPLE, last_person, note, at)
    transaction.change(_ADD_BALANCES, last_person)
    return added, changed


def earlier_grants(transaction: Transaction, person: str) -> list[Row]:
    """A person's former grants, oldest first: from when, until when, how much, tier and note."""
    rows = transaction.rows(
        f"SELECT changes.since, until, {queries.columns('changes.granted')}, changes.tier, changes.note "
        "FROM changes JOIN people ON people.number = changes.person WHERE people.id = ? ORDER BY changes.number",
        person,
    )
    return [(since, until, Amount.of_columns(*rest[:3]), *rest[3:]) for since, until, *rest in rows]
