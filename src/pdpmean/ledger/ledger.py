"""Ledger: the class that users hold, through which grants, releases and costs are recorded and read.

Every method opens one transaction on the database and delegates to the module that does the work: `people.py` for
grants, `reservation.py` for charging a release, `verify.py` for the audit. Estimates do not call `reserve` themselves;
`charge.py` does so for them.
"""

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
from pdpmean.ledger.people import Balance, Grant, ImportCounts, balance, change_grant, import_grants
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
    """A record of what people grant and what every release has cost each of them. Nobody's grant is ever exceeded.

    Privacy losses add up over releases. The ledger exists so that several analysts can make one release after another,
    and the sum of everybody's losses still stays within their grant. `estimate_mean(..., ledger=ledger)` charges it
    before any noise is drawn. Amounts are whole numbers of 2**-40 nat: grants are rounded down, and sums are exact.

    Parameters
    ----------
    where
        The path of an SQLite file, created on first use, or the address of a PostgreSQL database,
        ``postgresql://...`` (which needs the extra ``postgres``).
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
        """Close this thread's connection to the database; the next use opens a new one."""
        self._store.close()

    def __repr__(self) -> str:
        return f"<Ledger {without_password(self.where)}>"

    # People

    def grant(self, person: str, budget: Any, *, tier: str | None = None, note: str | None = None) -> None:
        """Record a person's grant: a total budget in nats, which replaces any earlier grant.

        Costs so far still count. If they exceed the new grant, nothing is left.
        """
        change_grant(self._store, Grant(_checked_id(person), Amount.rounded_down(budget), tier), note)

    def grant_all(self, grants: Iterable[tuple[str, Any]], *, note: str | None = None) -> ImportCounts:
        """Record the grants of many people, given as pairs of id and budget; returns how many were added or changed.

        People who have withdrawn stay withdrawn, since the list may be older than their withdrawal. `grant` brings them
        back.
        """
        # Cached, since most people choose one of a few tiers.
        columns_of = lru_cache(maxsize=1024)(lambda budget: Amount.rounded_down(budget).columns)
        rows = (
            (place, _checked_id(person), None, *columns_of(budget)) for place, (person, budget) in enumerate(grants)
        )
        return self.import_rows(rows, note=note)

    def import_rows(self, rows: Iterable[Sequence[Any]], *, note: str | None = None) -> ImportCounts:
        """Like `grant_all`, for rows of a row number, an id, a tier and the three columns of an `Amount`."""
        return import_grants(self._store, rows, note)

    def withdraw(self, person: str, *, note: str | None = None) -> None:
        """Record that a person withdraws: from now on they grant nothing, and imports do not bring them back."""
        self.balance(person)  # raises if the ledger does not know them
        change_grant(self._store, Grant(_checked_id(person), NOTHING), note, withdrawn=True)

    def balance(self, person: str) -> Balance:
        """How much a person grants, how much of that is spent, and how much is left."""
        with self._reading() as transaction:
            return balance(transaction, _checked_id(person))

    def statement(self, person: str) -> Statement:
        """A person's statement: every release that used their data, when, for what, and what it cost them."""
        with self._reading() as transaction:
            return statement(transaction, _checked_id(person))

    def people(self) -> int:
        """The number of people in the ledger, including those who have withdrawn."""
        with self._reading() as transaction:
            return int(transaction.value("SELECT COUNT(*) FROM people"))

    def remaining(
        self, *, share: float | Fraction = 1, spend: Any = None, people: Iterable[PeopleAsked] | None = None
    ) -> dict[float, int]:
        """The number of people by the budget that they could take part with in the next release.

        `plan_mean` accepts the result as its budgets. `share` and `spend` have the same meaning as for `estimate_mean`.
        `people` restricts the count to the people of a data set; otherwise everybody in the ledger counts.
        """
        request = Request("a plan", share=exact_share(share), most=checked_spend(spend, share))
        if people is None:
            with self._reading() as transaction:
                counts_by_cost = list(transaction.rows(queries.count_by_cost(*request.limits)))
        else:
            counts_by_cost = costs_of(self._store, people, request)
        people_by_budget: dict[float, int] = {}
        for *cost, count in counts_by_cost:
            budget = Amount.of_columns(*cost).largest_double
            people_by_budget[budget] = people_by_budget.get(budget, 0) + int(count)
        return people_by_budget

    # Releases

    def reserve(self, people: Iterable[PeopleAsked], request: Request) -> Reservation:
        """Charge everybody in a release their cost, in one transaction, before anything is drawn."""
        if not request.purpose.strip():
            raise InvalidInputError("say what the release is for: purpose='...'", name="purpose")
        return reserve(self._store, people, request)

    def check_balances_are_public(self) -> None:
        """Raise if any release was in the unbounded model: people's remaining budgets would reveal who took part."""
        with self._reading() as transaction:
            check_model(transaction, public=True)

    def releases(self) -> list[Release]:
        """All releases, oldest first."""
        with self._reading() as transaction:
            return releases(transaction)

    def settle(self, number: int, reason: str = "cut off") -> None:
        """Close a release whose program died. Its whole cost counts as spent, since noise may have been drawn."""
        settle(self._store, number, reason)

    # Proof

    def verify(self) -> Verification:
        """Check that the log is complete, that all sums are right, and that nobody has spent more than they granted."""
        with self._reading() as transaction:
            return verify(transaction)

    def export(self, path: str | os.PathLike[str], table: str = "people", *, overwrite: bool = False) -> None:
        """Write the table "people", "releases" or "costs" to a .csv or .parquet file.

        An existing file is replaced only with `overwrite`.
        """
        check_is_new(path, overwrite=overwrite)
        with self._reading() as transaction:
            export(transaction, Path(path), table)

    def _reading(self) -> AbstractContextManager[Transaction]:
        return self._store.reading()


def checked_spend(spend: Any, share: float | Fraction = 1) -> Amount:
    """The option `spend`, checked: the most that a release may cost anybody; infinite if `spend` is None."""
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
    """The id as text; whole numbers are accepted as ids, too."""
    if isinstance(person, int) and not isinstance(person, bool):
        return str(person)
    if not isinstance(person, str) or not person or "\0" in person:
        raise InvalidInputError(f"a person's id must be text or a whole number; got {person!r}", name="person")
    return person
