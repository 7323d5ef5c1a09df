"""Reservation: charges everybody for a release before anything is drawn, and records how the release ended.

A reserved cost counts as spent at once, so that no crash can make a release free. A reservation ends in one of three
states: *committed*, when the release was made; *cancelled*, with a full refund, if nothing was drawn; or *settled*,
with the whole cost spent, if it failed or was cut off by a crash and noise may have been drawn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

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

# The lower 20 bits of a column. Columns are summed in halves, so that the sums stay within 64 bits.
_LOW_HALF = 2**20 - 1
# Releases with more people than this give the database a hint about their size (see `Transaction.expect_many`).
_MANY_PEOPLE = 2**12
# The release number under which `costs_of` computes costs that are not charged; releases are counted from 1.
_NO_RELEASE = 0
# The number of the last release, and whether people are public in the last one that determines the model.
_LAST_RELEASE = (
    "SELECT (SELECT COALESCE(MAX(number), 0) FROM releases), "
    "(SELECT people_are_public FROM releases WHERE state <> 'cancelled' OR people_are_public = 0 "
    "ORDER BY number DESC LIMIT 1)"
)


class Shortage(NamedTuple):
    """How many people could not spend what the release asked of them. It exists so that the answer can say so."""

    people: int
    """The number of people in the data who grant something."""
    nothing_left: int = 0
    less_left: int = 0
    """How many had less left than the share that was asked for, and took part with that."""

    @property
    def in_words(self) -> tuple[str, ...]:
        """A sentence for each kind of shortage."""
        texts = []
        if self.nothing_left:
            texts.append(f"{self._of_all(self.nothing_left)} nothing left of their budgets, and took no part")
        if self.less_left:
            texts.append(f"{self._of_all(self.less_left)} less left than was asked for, and took part with that")
        return tuple(texts)

    def _of_all(self, some: int) -> str:
        return f"{some:,} of {self.people:,} people had"


@dataclass(frozen=True)
class Reservation:
    """A reserved release, which is to be committed or cancelled. The estimate uses its budgets."""

    store: Store
    number: int
    """The number of the release in the ledger."""
    budgets: Floats
    """What each record of the data costs its person, in nats and in order: the budget to estimate with."""
    people: NDArray[np.int64]
    """The ledger's number of each record's person, in order; 0 for a record that takes no part."""
    shortage: Shortage | None = None
    """How many people had too little left; None where balances are private."""

    def commit(
        self, details: Mapping[str, Any], part: Fraction = Fraction(1), spared: NDArray[np.bool_] | None = None
    ) -> str:
        """Record that the release was made, even if it was settled meanwhile; returns the hash of the log entry.

        If it ended early, only the fraction `part` of the cost is charged, rounded up. This holds for everybody or, if
        `spared` is given, for the people of those records; all others then pay in full.
        """
        with self.store.writing() as transaction:
            _check_open(transaction, self.number, ("reserved", "settled"))
            if part < 1:
                people = None if spared is None else self.people[spared & (self.people > 0)]
                _keep_part(transaction, self.store, self.number, part, people)
                details = {**details, **cost_of_release(transaction, self.number).content}
            return _end(transaction, self.store, self.number, "committed", details)

    def cancel(self, reason: str) -> None:
        """Refund everybody, which is allowed only if nothing was drawn."""
        with self.store.writing() as transaction:
            _check_open(transaction, self.number, ("reserved",))
            transaction.change(queries.REFUND, self.number)
            transaction.change("DELETE FROM costs WHERE release = ?", self.number)
            _end(transaction, self.store, self.number, "cancelled", {"reason": reason})


def reserve(store: Store, people: Iterable[PeopleAsked], request: Request) -> Reservation:
    """Charge everybody in the data their cost according to the request, in one transaction."""
    with store.writing() as transaction:
        number = 1 + check_model(transaction, public=request.people_are_public)
        sql = "INSERT INTO releases (number, state, people_are_public) VALUES (?, 'reserved', ?)"
        transaction.change(sql, number, int(request.people_are_public))
        records = _record_costs(transaction, store, number, people, request)
        budgets = np.zeros(records)
        numbers = np.zeros(records, dtype=np.int64)
        cost = cost_of_release(transaction, number, budgets, numbers)
        if cost.people < records:
            transaction.change(queries.FORGET_NOTHING, number)
        transaction.change(queries.FORGET_PLACES, number)
        shortage = _shortage(transaction, request) if request.people_are_public else None
        if cost.people > _MANY_PEOPLE:
            transaction.expect_many()
        transaction.charge(number)
        about = {"purpose": request.purpose, "analyst": request.analyst, **request.details}
        append(transaction, store, "reserved", {**about, **cost.content}, number)
    return Reservation(store, number, budgets, numbers, shortage)


def _shortage(transaction: Transaction, request: Request) -> Shortage:
    """How many of the people asked have too little left. Whoever asks for everything takes what there is."""
    sql = queries.count_short(request.share, request.most, budgets_in_data=request.budgets_in_data)
    row = transaction.row(sql)
    assert row is not None
    people, nothing_left, less_left = (int(count) for count in row)
    return Shortage(people, nothing_left, 0 if request.asks_for_all else less_left)


def check_model(transaction: Transaction, *, public: bool) -> int:
    """The number of the last release; raises if earlier releases were in the other privacy model.

    `public` means the bounded model, in which people's remaining budgets are public. In the unbounded model they are
    private, since they reveal who took part. So does the log entry of an unbounded release, even if it was cancelled;
    only cancelled bounded releases do not count. All releases that count are in the same model, so it is enough to look
    at the last of them.
    """
    row = transaction.row(_LAST_RELEASE)
    assert row is not None
    last, last_is_public = row
    if last_is_public is not None and bool(last_is_public) != public:
        here, other = ("bounded", "unbounded") if public else ("unbounded", "bounded")
        raise InvalidInputError(
            f"this ledger has releases in the {other} model and cannot be used in the {here} model: what people have "
            "left is public in the bounded model and private in the unbounded model. Keep one ledger per model",
            name="model",
        )
    return int(last)


def costs_of(store: Store, people: Iterable[PeopleAsked], request: Request) -> list[Row]:
    """How many of these people a release would charge how much: rows of a cost and a count. Nobody is charged."""
    cost = queries.columns("cost")
    with store.writing() as transaction:
        _record_costs(transaction, store, _NO_RELEASE, people, request)
        sql = f"SELECT {cost}, COUNT(*) FROM costs WHERE release = ? GROUP BY {cost} ORDER BY {cost}"
        counts_by_cost = list(transaction.rows(sql, _NO_RELEASE))
        transaction.change("DELETE FROM costs WHERE release = ?", _NO_RELEASE)
    return counts_by_cost


def _record_costs(
    transaction: Transaction, store: Store, number: int, people: Iterable[PeopleAsked], request: Request
) -> int:
    """Compute everybody's cost and write it to the table of costs; returns the number of records in the data."""
    make_temporary(transaction, store, "asked")
    records = asked = 0
    for batch in people:
        _load(transaction, records, batch)
        records += len(batch.ids)
        asked += len(batch.ids) - list(batch.ids).count(None)
    if not request.people_are_public:
        transaction.change(queries.LEAVE_OUT_REPEATED)
    try:
        known = transaction.change(queries.take(number, *request.limits, budgets_in_data=request.budgets_in_data))
    except RepeatedKeyError:
        raise InvalidInputError("a person has more than one record; merge them first", name="person") from None
    if request.people_are_public:
        _check_people(transaction, asked, known, request)
    return records


def _load(transaction: Transaction, first: int, batch: PeopleAsked) -> None:
    """Write a batch of people to the temporary table `asked`; `first` is the position of its first record."""
    if batch.budgets is None:
        transaction.load_people(first, batch.ids)
        return
    places = range(first, first + len(batch.ids))
    columns = (column.tolist() for column in columns_of_budgets(batch.budgets))
    rows = (row for row in zip(places, batch.ids, *columns, strict=True) if row[1] is not None)
    transaction.load("asked", ["place", "id", *(f"budget_{part}" for part in queries.AMOUNT)], rows)


def _check_people(transaction: Transaction, asked: int, known: int, request: Request) -> None:
    """Raise if some people are not in the ledger, or grant less than their budget in the data.

    Only for the bounded model, where it is public who is in the data.
    """
    if known < asked:
        raise InvalidInputError(
            f"{asked - known:,} of {asked:,} people are not in the ledger. Record a grant for each of them (0 for "
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
    """A summary of what a release costs: the number of people charged, the sum of costs, and a hash of all costs.

    The log records it, so that `verify` notices if the table of costs was changed afterwards.
    """

    people: int
    total: Amount
    hash: str

    @property
    def content(self) -> dict[str, Any]:
        """The summary as it stands in the log."""
        units = None if self.total.infinite else str(self.total.units)
        return {"people": self.people, "total_units": units, "costs_hash": self.hash}


def cost_of_release(
    transaction: Transaction, number: int, budgets: Floats | None = None, numbers: NDArray[np.int64] | None = None
) -> ReleaseCost:
    """The summary of a release, computed from the table of costs.

    Two arrays are filled if they are given, by the positions of records in the data: `budgets` with the record's cost
    in nats, and `numbers` with the number of its person.

    The hash covers the number and cost of everybody who is charged, in the order of their numbers.
    """
    people = 0
    total = NOTHING
    hashed = hashlib.sha256()
    for batch in transaction.costs(number):
        persons, places, *columns = batch
        if budgets is not None:
            budgets[places] = budgets_of_columns(*columns)
        if numbers is not None:
            numbers[places] = persons
        charged = batch[:, (batch[2:] > 0).any(axis=0)]
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
    """Charge only the fraction `part` of what was reserved; if `people` are given, reduce only their costs."""
    condition = ""
    if people is not None:
        make_temporary(transaction, store, "asked")
        transaction.load("asked", ["place", "id"], ((person, "") for person in people.tolist()))
        condition = queries.AMONG_ASKED
    transaction.change(queries.REFUND + condition, number)
    transaction.change(queries.keep_part(part) + condition, number)
    if part:
        transaction.charge(number, condition)


def settle(store: Store, number: int, reason: str) -> str:
    """End a reservation that was left open, with its whole cost spent; returns the hash of the log entry."""
    with store.writing() as transaction:
        _check_open(transaction, number, ("reserved",))
        return _end(transaction, store, number, "settled", {"reason": reason})


def _check_open(transaction: Transaction, number: int, states: tuple[str, ...]) -> None:
    """Raise unless the release is in one of these states, from which it may still be ended."""
    row = transaction.row("SELECT state FROM releases WHERE number = ?", number)
    if row is None:
        raise LedgerError(f"the ledger has no release {number}")
    if row[0] not in states:
        raise LedgerError(f"release {number} is already {row[0]}, and that is final")


def _end(transaction: Transaction, store: Store, number: int, state: str, details: Mapping[str, Any]) -> str:
    """Give a release its final state, in its table and in the log; returns the hash of the log entry."""
    transaction.change("UPDATE releases SET state = ? WHERE number = ?", state, number)
    return append(transaction, store, state, details, number).hash


def amount_of_total(sums: Row) -> Amount:
    """The amount that the five sums of `queries.total` add up to."""
    infinite, *parts = (int(part) for part in sums)
    nats_high, nats_low, units_high, units_low = parts
    return Amount.of_columns(infinite, (nats_high << 20) + nats_low, (units_high << 20) + units_low)
