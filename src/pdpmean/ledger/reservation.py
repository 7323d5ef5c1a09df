"""Reservation: what a release costs everybody, recorded before anything is drawn, and how it ends.

Reserved counts as spent. A reservation ends as *committed*, together with its release, or as *cancelled*, if nothing
was drawn. One that a crash left open can only be *settled*, as spent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError, LedgerError
from pdpmean.ledger import queries
from pdpmean.ledger.amount import NOTHING, Amount, budgets_of_columns, columns_of_budgets
from pdpmean.ledger.log import append
from pdpmean.ledger.request import PeopleAsked, Request
from pdpmean.ledger.schema import make_temporary
from pdpmean.ledger.store import RepeatedKeyError, Row, Store, Transaction

__all__ = [
    "ReleaseCost",
    "Reservation",
    "amount_of_total",
    "check_model",
    "cost_of_release",
    "costs_of",
    "reserve",
    "settle",
]

_LOW_HALF = 2**20 - 1  # of the bits of a column
_MANY = 2**12  # people of a release
_NO_RELEASE = 0  # the number of a question that charges nobody
_LAST_RELEASE = (
    "SELECT (SELECT COALESCE(MAX(number), 0) FROM releases), "
    "(SELECT people_are_public FROM releases WHERE state <> 'cancelled' OR people_are_public = 0 "
    "ORDER BY number DESC LIMIT 1)"
)


@dataclass(frozen=True)
class Reservation:
    """A reserved release: its number, and the budget that each record takes part with, in order."""

    store: Store
    number: int
    budgets: Floats
    people: NDArray[np.int64]
    """The number of each record's person in the ledger, in order; 0 for one that takes no part."""

    def commit(
        self, details: Mapping[str, Any], part: Fraction = Fraction(1), spared: NDArray[np.bool_] | None = None
    ) -> str:
        """Record that the release was made; the hash of the entry.

        If it ended early, only a `part` of the cost is charged, rounded up: to everybody, or to the `spared` records.
        """
        with self.store.writing() as transaction:
            _check_open(transaction, self.number, ("reserved", "settled"))
            if part < 1:
                people = None if spared is None else self.people[spared & (self.people > 0)]
                _keep_part(transaction, self.store, self.number, part, people)
                details = {**details, **cost_of_release(transaction, self.number).content}
            return _ended(transaction, self.store, self.number, "committed", details)

    def cancel(self, reason: str) -> None:
        """Refund everybody, which is allowed only if nothing was drawn."""
        with self.store.writing() as transaction:
            _check_open(transaction, self.number, ("reserved",))
            transaction.change(queries.REFUND, self.number)
            transaction.change("DELETE FROM costs WHERE release = ?", self.number)
            _ended(transaction, self.store, self.number, "cancelled", {"reason": reason})


def reserve(store: Store, people: Iterable[PeopleAsked], request: Request) -> Reservation:
    """Charge everybody who is asked what the request allows, in one transaction."""
    with store.writing() as transaction:
        number = 1 + check_model(transaction, public=request.people_are_public)
        sql = "INSERT INTO releases (number, state, people_are_public) VALUES (?, 'reserved', ?)"
        transaction.change(sql, number, int(request.people_are_public))
        records = _take(transaction, store, number, people, request)
        budgets, numbers = np.zeros(records), np.zeros(records, dtype=np.int64)
        cost = cost_of_release(transaction, number, budgets, numbers)
        if cost.people < records:
            transaction.change(queries.FORGET_NOTHING, number)
        transaction.change(queries.FORGET_PLACES, number)
        if cost.people > _MANY:
            transaction.expect_many()
        transaction.charge(number)
        about = {"purpose": request.purpose, "analyst": request.analyst, **request.details}
        append(transaction, store, "reserved", {**about, **cost.content}, number)
    return Reservation(store, number, budgets, numbers)


def check_model(transaction: Transaction, *, public: bool) -> int:
    """The number of the last release; raises if earlier releases were in the other model.

    What people have left is public in the bounded model. In the unbounded one it is private, since it reveals who took
    part. So does the log's entry of an unbounded release that was cancelled; a bounded one that was does not count. All
    others are in one model, so it is enough to look at the last one.
    """
    found = transaction.row(_LAST_RELEASE)
    assert found is not None
    last, last_is_public = found
    if last_is_public is not None and bool(last_is_public) != public:
        here, other = ("bounded", "unbounded") if public else ("unbounded", "bounded")
        raise InvalidInputError(
            f"this ledger has releases in the {other} model and cannot be used in the {here} model: what people have "
            "left is public in the bounded model and private in the unbounded model. Keep one ledger per model",
            name="model",
        )
    return int(last)


def costs_of(store: Store, people: Iterable[PeopleAsked], request: Request) -> list[Row]:
    """How many of these people would be charged how much; nobody is charged."""
    cost = queries.columns("cost")
    with store.writing() as transaction:
        _take(transaction, store, _NO_RELEASE, people, request)
        sql = f"SELECT {cost}, COUNT(*) FROM costs WHERE release = ? GROUP BY {cost} ORDER BY {cost}"
        found = list(transaction.rows(sql, _NO_RELEASE))
        transaction.change("DELETE FROM costs WHERE release = ?", _NO_RELEASE)
    return found


def _take(transaction: Transaction, store: Store, number: int, people: Iterable[PeopleAsked], request: Request) -> int:
    """Record what everybody who is asked takes part with; the number of records."""
    make_temporary(transaction, store, "asked")
    records = asked = 0
    for block in people:
        _load(transaction, records, block)
        records += len(block.ids)
        asked += len(block.ids) - list(block.ids).count(None)
    if not request.people_are_public:
        transaction.change(queries.LEAVE_OUT_REPEATED)
    try:
        taking = transaction.change(queries.take(number, *request.limits, budgets_in_data=request.budgets_in_data))
    except RepeatedKeyError:
        raise InvalidInputError("a person has more than one record; merge them first", name="person") from None
    if request.people_are_public:
        _check_people(transaction, asked, taking, request)
    return records


def _load(transaction: Transaction, first: int, block: PeopleAsked) -> None:
    if block.budgets is None:
        transaction.load_people(first, block.ids)
        return
    places = range(first, first + len(block.ids))
    columns = (column.tolist() for column in columns_of_budgets(block.budgets))
    rows = (row for row in zip(places, block.ids, *columns, strict=True) if row[1] is not None)
    transaction.load("asked", ["place", "id", *(f"budget_{part}" for part in queries.AMOUNT)], rows)


def _check_people(transaction: Transaction, asked: int, taking: int, request: Request) -> None:
    """Raise if people, who are public, are not in the ledger, or grant less than the data says."""
    if taking < asked:
        raise InvalidInputError(
            f"{asked - taking:,} of {asked:,} people are not in the ledger. Record a grant for each of them (0 for "
            "somebody who does not take part), or leave their records out",
            name="person",
        )
    if request.budgets_in_data and (above := transaction.value(queries.COUNT_ABOVE_GRANT)):
        raise InvalidInputError(
            f"{above:,} of {asked:,} people have a larger budget in the data than they grant in the ledger",
            name="budget",
        )


@dataclass(frozen=True)
class ReleaseCost:
    """What a release costs: the number of people charged, the sum, and a hash of each person's cost."""

    people: int
    total: Amount
    hash: str

    @property
    def content(self) -> dict[str, Any]:
        """What the log says about it."""
        units = None if self.total.infinite else str(self.total.units)
        return {"people": self.people, "total_units": units, "costs_hash": self.hash}


def cost_of_release(
    transaction: Transaction, number: int, budgets: Floats | None = None, numbers: NDArray[np.int64] | None = None
) -> ReleaseCost:
    """What a release costs, according to the database.

    `budgets` receives the budget of each record, by its place, and `numbers` that of its person.

    The hash is of the numbers and costs of all people who are charged, in the order of their numbers.
    """
    people, total, hashed = 0, NOTHING, hashlib.sha256()
    for part in transaction.costs(number):
        persons, places, *columns = part
        if budgets is not None:
            budgets[places] = budgets_of_columns(*columns)
        if numbers is not None:
            numbers[places] = persons
        charged = part[:, (part[2:] > 0).any(axis=0)]
        charged = charged[:, np.argsort(charged[0], kind="stable")]  # fast if they are in order already
        infinite, nats, units = charged[2:]
        halves = (half.sum() for column in (nats, units) for half in (column >> 20, column & _LOW_HALF))
        total += amount_of_total((infinite.sum(), *halves))
        people += charged.shape[1]
        hashed.update(charged[[0, 2, 3, 4]].T.astype("<i8", order="C").tobytes())
    return ReleaseCost(people, total, hashed.hexdigest())


def _keep_part(
    transaction: Transaction, store: Store, number: int, part: Fraction, people: NDArray[np.int64] | None
) -> None:
    """Charge only a part of what was reserved; only to these people, if some are given."""
    some = ""
    if people is not None:
        make_temporary(transaction, store, "asked")
        transaction.load("asked", ["place", "id"], ((person, "") for person in people.tolist()))
        some = queries.AMONG_ASKED
    transaction.change(queries.REFUND + some, number)
    transaction.change(queries.keep_part(part) + some, number)
    if part:
        transaction.charge(number, some)


def settle(store: Store, number: int, reason: str) -> str:
    """End a reservation that was left open, as spent: something may have been drawn."""
    with store.writing() as transaction:
        _check_open(transaction, number, ("reserved",))
        return _ended(transaction, store, number, "settled", {"reason": reason})


def _check_open(transaction: Transaction, number: int, states: tuple[str, ...]) -> None:
    found = transaction.row("SELECT state FROM releases WHERE number = ?", number)
    if found is None:
        raise LedgerError(f"the ledger has no release {number}")
    if found[0] not in states:
        raise LedgerError(f"release {number} is already {found[0]}, and that is final")


def _ended(transaction: Transaction, store: Store, number: int, state: str, details: Mapping[str, Any]) -> str:
    transaction.change("UPDATE releases SET state = ? WHERE number = ?", state, number)
    return append(transaction, store, state, details, number).hash


def amount_of_total(sums: Row) -> Amount:
    """The amount that the sums of `queries.total` make up."""
    infinite, *parts = (int(part) for part in sums)
    nats_high, nats_low, units_high, units_low = parts
    return Amount.of_columns(infinite, (nats_high << 20) + nats_low, (units_high << 20) + units_low)
