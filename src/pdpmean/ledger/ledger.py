"""Ledger: the object through which people, releases and costs are written and read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pdpmean.core.files import check_is_new
from pdpmean.core.text import without_password
from pdpmean.errors import InvalidInputError
from pdpmean.ledger import queries
from pdpmean.ledger.amount import INFINITE, NOTHING, Amount
from pdpmean.ledger.export import export
from pdpmean.ledger.people import Balance, Grant, Imported, balance, change_grant, import_grants
from pdpmean.ledger.release import Release, releases
from pdpmean.ledger.request import PeopleAsked, Request, exact_share
from pdpmean.ledger.reservation import Reservation, check_model, costs_of, reserve, settle
from pdpmean.ledger.schema import prepare
from pdpmean.ledger.statement import Statement, statement
from pdpmean.ledger.store import Transaction, open_store
from pdpmean.ledger.verify import Verification, verify

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Ledger"]


class Ledger:
    """What people grant, and what every release has cost each of them: nobody's grant is ever exceeded.

    It exists so that several people can make one release after another, and privacy losses still add up to no more than
    was granted. `estimate_mean(..., ledger=ledger)` charges it before anything is drawn. Amounts are whole numbers of
    2**-40 nat: grants are rounded down, and sums are exact.

    Parameters
    ----------
    where
        The path of a file, made on first use (SQLite), or ``postgresql://...`` (extra ``postgres``).
    moved
        Pass True once after the file was moved to another file system or restored. Copies are otherwise refused, since
        two copies could each spend the same budget.
    make
        Whether to create a ledger where there is none.

    """

    def __init__(self, where: str | os.PathLike[str], *, moved: bool = False, make: bool = True) -> None:
        self.where = os.fspath(where)
        self._store = open_store(self.where, moved=moved, make=make)
        with self._store.opening():
            prepare(self._store, self.where, make=make)

    def __reduce__(self) -> tuple[Any, ...]:
        return Ledger, (self.where,)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._store.close()

    def __repr__(self) -> str:
        return f"<Ledger {without_password(self.where)}>"

    # People

    def grant(self, person: str, budget: Any, *, tier: str | None = None, note: str | None = None) -> None:
        """Record that a person grants this total budget from now on, whatever they granted before.

        What was spent stays spent: a grant below it leaves nothing.
        """
        change_grant(self._store, Grant(_checked_id(person), Amount.rounded_down(budget), tier), note)

    def grant_all(self, grants: Iterable[tuple[str, Any]], *, note: str | None = None) -> Imported:
        """Record what many people grant, as pairs of id and budget; returns how many are new, and how many changed.

        People who have withdrawn stay withdrawn, since the list may be older than that. `grant` brings them back.
        """
        read = lru_cache(maxsize=1024)(lambda budget: Amount.rounded_down(budget).columns)  # many choose the same tier
        rows = ((place, _checked_id(person), None, *read(budget)) for place, (person, budget) in enumerate(grants))
        return self.import_rows(rows, note=note)

    def import_rows(self, rows: Iterable[Sequence[Any]], *, note: str | None = None) -> Imported:
        """The same, for rows of place, id, tier and the three columns of an amount."""
        return import_grants(self._store, rows, note)

    def withdraw(self, person: str, *, note: str | None = None) -> None:
        """Record that a person withdraws: they grant nothing from now on."""
        self.balance(person)
        change_grant(self._store, Grant(_checked_id(person), NOTHING), note, withdrawn=True)

    def balance(self, person: str) -> Balance:
        """What a person grants, what was spent of it, and what is left."""
        with self._reading() as transaction:
            return balance(transaction, _checked_id(person))

    def statement(self, person: str) -> Statement:
        """A person's statement: every release that used their data, when, for what, and what it cost them."""
        with self._reading() as transaction:
            return statement(transaction, _checked_id(person))

    def people(self) -> int:
        """How many people there are."""
        with self._reading() as transaction:
            return int(transaction.value("SELECT COUNT(*) FROM people"))

    def remaining(
        self, *, share: float | Fraction = 1, spend: Any = None, people: Iterable[PeopleAsked] | None = None
    ) -> dict[float, int]:
        """How many people could take part in the next release, by budget, as `plan_mean` takes it.

        `share` and `spend` are as for `estimate_mean`. Everybody counts, unless `people` are given.
        """
        request = Request("a plan", share=exact_share(share), most=checked_spend(spend, share))
        if people is None:
            with self._reading() as transaction:
                found = list(transaction.rows(queries.count_by_cost(*request.limits)))
        else:
            found = costs_of(self._store, people, request)
        budgets: dict[float, int] = {}
        for *cost, count in found:
            budget = Amount.of_columns(*cost).largest_double
            budgets[budget] = budgets.get(budget, 0) + int(count)
        return budgets

    # Releases

    def reserve(self, people: Iterable[PeopleAsked], request: Request) -> Reservation:
        """Charge everybody in a release, in one transaction, before anything is drawn."""
        if not request.purpose.strip():
            raise InvalidInputError("say what the release is for: purpose='...'", name="purpose")
        return reserve(self._store, people, request)

    def check_balances_are_public(self) -> None:
        """Raise if a release was in the unbounded model: what is left would then reveal who took part."""
        with self._reading() as transaction:
            check_model(transaction, public=True)

    def releases(self) -> list[Release]:
        """All releases, oldest first."""
        with self._reading() as transaction:
            return releases(transaction)

    def settle(self, number: int, reason: str = "cut off") -> None:
        """Settle a release whose program died. It counts as spent, since something may have been drawn."""
        settle(self._store, number, reason)

    # Proof

    def verify(self) -> Verification:
        """Whether the log is complete, sums are right, and nobody has spent more than they granted."""
        with self._reading() as transaction:
            return verify(transaction)

    def export(self, path: str | os.PathLike[str], table: str = "people", *, overwrite: bool = False) -> None:
        """Write "people", "releases" or "costs" as .csv or .parquet; an existing file only with `overwrite`."""
        check_is_new(path, overwrite=overwrite)
        with self._reading() as transaction:
            export(transaction, Path(path), table)

    def _reading(self) -> AbstractContextManager[Transaction]:
        return self._store.reading()


def checked_spend(spend: Any, share: float | Fraction = 1) -> Amount:
    """The most that a release may cost anybody; unlimited unless given."""
    if spend is None:
        return INFINITE
    if share != 1:
        raise InvalidInputError(
            "give either share, a fraction of every grant, or spend, in nats; not both", name="spend"
        )
    amount = Amount.rounded_down(spend, "spend")
    if amount == NOTHING:
        raise InvalidInputError(f"spend must be above 0; got {spend!r}", name="spend", value=spend)
    return amount


def _checked_id(person: Any) -> str:
    """The id as text; whole numbers are ids as well."""
    if isinstance(person, int) and not isinstance(person, bool):
        return str(person)
    if not isinstance(person, str) or not person or "\0" in person:
        raise InvalidInputError(f"a person's id must be text or a whole number; got {person!r}", name="person")
    return person
