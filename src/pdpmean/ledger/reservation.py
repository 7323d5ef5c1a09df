"""Reservation: what a release costs everybody, written down before anything is drawn, and what became of it.

Reserved counts as spent. A reservation ends as *committed*, with the release it was made for, or as *cancelled*, if
nothing was drawn. One that nobody ended, because the program did not live to, can be *settled*: as spent.
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

__all__ = ["ReleaseCost", "Reservation", "amount_of_total", "cost_of_release", "costs_of", "reserve", "settle"]

_LOW_HALF = 2**20 - 1  # of the bits of a column
_MANY = 2**16  # people of a release
_TOGETHER = 2**17  # records that are told at once
_NO_RELEASE = 0  # the number of what is only asked, and undone


@dataclass(frozen=True)
class Reservation:
    """A release that is reserved: its number, and the budget that each record takes part with, in their order."""

    store: Store
    number: int
    budgets: Floats

    def commit(
        self, details: Mapping[str, Any], part: Fraction = Fraction(1), spared: NDArray[np.bool_] | None = None
    ) -> str:
        """Write down that it was made; the hash of the entry.

        A release that ended early cost a `part`, rounded up: all records, or those that were `spared`.
        """
        with self.store.writing() as transaction:
            _check_open(transaction, self.number, ("reserved", "settled"))
            if part < 1:
                _keep_part(transaction, self.store, self.number, part, spared)
                details = {**details, **cost_of_release(transaction, self.number).content}
            return _ended(transaction, self.store, self.number, "committed", details)

    def cancel(self, reason: str) -> None:
        """Give everybody back what was reserved: only ever if nothing was drawn."""
        with self.store.writing() as transaction:
            _check_open(transaction, self.number, ("reserved",))
            transaction.change(queries.REFUND, self.number)
            transaction.change("DELETE FROM costs WHERE release = ?", self.number)
            _ended(transaction, self.store, self.number, "cancelled", {"reason": reason})


def reserve(store: Store, people: Iterable[PeopleAsked], request: Request) -> Reservation:
    """Charge everybody who is asked, in one transaction, with what the request allows."""
    with store.writing() as transaction:
        number = 1 + int(transaction.value("SELECT COALESCE(MAX(number), 0) FROM releases"))
        _check_model(transaction, public=request.people_are_public)
        sql = "INSERT INTO releases (number, state, people_are_public) VALUES (?, 'reserved', ?)"
        transaction.change(sql, number, int(request.people_are_public))
        records = _take(transaction, store, number, people, request)
        budgets = np.zeros(records)
        cost = cost_of_release(transaction, number, budgets)
        if cost.people < records:
            transaction.change(queries.FORGET_NOTHING, number)
        if cost.people > _MANY:
            transaction.expect_many()
        transaction.change(queries.CHARGE, number)
        about = {"purpose": request.purpose, "analyst": request.analyst, **request.details}
        append(transaction, store, "reserved", {**about, **cost.content}, number)
    return Reservation(store, number, budgets)


def _check_model(transaction: Transaction, *, public: bool) -> None:
    """Raise if an earlier release was in the other model: what is left would then tell who is private.

    In the unbounded model nobody may learn who took part, and so neither what they have left; in the bounded one that
    is public.
    """
    sql = "SELECT COUNT(*) FROM releases WHERE people_are_public <> ? AND state <> 'cancelled'"
    if transaction.value(sql, int(public)):
        here, other = ("bounded", "unbounded") if public else ("unbounded", "bounded")
        raise InvalidInputError(
            f"this ledger has releases in the {other} model, so that it cannot have any in the {here} one: what people "
            "have left is public in the bounded model and private in the unbounded one. Keep a ledger for each",
            name="model",
        )


def costs_of(store: Store, people: Iterable[PeopleAsked], request: Request) -> list[Row]:
    """How many of these people would be charged how much; nobody is."""
    cost = queries.columns("cost")
    with store.writing() as transaction:
        _take(transaction, store, _NO_RELEASE, people, request)
        sql = f"SELECT {cost}, COUNT(*) FROM costs WHERE release = ? GROUP BY {cost} ORDER BY {cost}"
        found = list(transaction.rows(sql, _NO_RELEASE))
        transaction.change("DELETE FROM costs WHERE release = ?", _NO_RELEASE)
    return found


def _take(transaction: Transaction, store: Store, number: int, people: Iterable[PeopleAsked], request: Request) -> int:
    """Write down what everybody who is asked takes part with; how many records there are."""
    make_temporary(transaction, store)
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
        raise InvalidInputError("a person has two records or more; merge them first", name="person") from None
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
    """Refuse what is wrong with people who are public: some are not known, or granted less."""
    if taking < asked:
        raise InvalidInputError(
            f"{asked - taking:,} of {asked:,} people are not in the ledger. Grant them a budget, 0 for somebody who "
            "does not take part, or leave their records out",
            name="person",
        )
    if request.budgets_in_data and (above := transaction.value(queries.COUNT_ABOVE_GRANT)):
        raise InvalidInputError(
            f"{above:,} of {asked:,} people have a budget in the data that is above what they grant in the ledger",
            name="budget",
        )


@dataclass(frozen=True)
class ReleaseCost:
    """What a release costs: how many people, how much together, and a hash of who how much."""

    people: int
    total: Amount
    hash: str

    @property
    def content(self) -> dict[str, Any]:
        """What the log says of it."""
        units = None if self.total.infinite else str(self.total.units)
        return {"people": self.people, "total_units": units, "costs_hash": self.hash}


def cost_of_release(transaction: Transaction, number: int, budgets: Floats | None = None) -> ReleaseCost:
    """What a release costs, as the database has it; `budgets` gets what each record takes part with, by its place.

    The hash is of the numbers of people, in order, and of what each is charged, but for those who are charged nothing.
    """
    people, total, hashed = 0, NOTHING, hashlib.sha256()
    for part in transaction.costs(number):
        _, places, *columns = part
        if budgets is not None:
            budgets[places] = budgets_of_columns(*columns)
        charged = part[:, (part[2:] > 0).any(axis=0)]
        charged = charged[:, np.argsort(charged[0], kind="stable")]  # soon done where they are in order
        infinite, nats, units = charged[2:]
        halves = (half.sum() for column in (nats, units) for half in (column >> 20, column & _LOW_HALF))
        total += amount_of_total((infinite.sum(), *halves))
        people += charged.shape[1]
        hashed.update(charged[[0, 2, 3, 4]].T.astype("<i8", order="C").tobytes())
    return ReleaseCost(people, total, hashed.hexdigest())


def _keep_part(
    transaction: Transaction, store: Store, number: int, part: Fraction, spared: NDArray[np.bool_] | None
) -> None:
    """Charge a part of what was reserved; for those who were spared alone, if some were."""
    some = ""
    if spared is not None:
        make_temporary(transaction, store)
        for start in range(0, spared.size, _TOGETHER):
            marks = ["spared" if each else None for each in spared[start : start + _TOGETHER].tolist()]
            transaction.load_people(start, marks)
        some = queries.AMONG_ASKED
    transaction.change(queries.REFUND + some, number)
    transaction.change(queries.keep_part(part) + some, number)
    if part:
        transaction.change(queries.CHARGE + some, number)


def settle(store: Store, number: int, reason: str) -> str:
    """End a reservation that nobody ended, as spent: whether anything was drawn is not known."""
    with store.writing() as transaction:
        _check_open(transaction, number, ("reserved",))
        return _ended(transaction, store, number, "settled", {"reason": reason})


def _check_open(transaction: Transaction, number: int, states: tuple[str, ...]) -> None:
    found = transaction.row("SELECT state FROM releases WHERE number = ?", number)
    if found is None:
        raise LedgerError(f"the ledger has no release {number}")
    if found[0] not in states:
        raise LedgerError(f"release {number} is {found[0]} already, and stays so")


def _ended(transaction: Transaction, store: Store, number: int, state: str, details: Mapping[str, Any]) -> str:
    transaction.change("UPDATE releases SET state = ? WHERE number = ?", state, number)
    return append(transaction, store, state, details, number).hash


def amount_of_total(sums: Row) -> Amount:
    """The sums of `queries.total` as one amount."""
    infinite, *parts = (int(part) for part in sums)
    nats_high, nats_low, units_high, units_low = parts
    return Amount.of_columns(infinite, (nats_high << 20) + nats_low, (units_high << 20) + units_low)
