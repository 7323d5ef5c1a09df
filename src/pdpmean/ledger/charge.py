"""Charge: how a release is charged to the ledger, so that a crash at any moment charges nobody too little.

1. Reserve everybody's cost, in one transaction, before anything is drawn.
2. Announce each draw beforehand, with the largest part of the cost that it can use (`will_draw`).
3. Commit together with the result. Without a result: cancel if nothing was drawn, commit a part of the cost if a noisy
   census led to a refusal, and otherwise settle the whole cost as spent.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.checks import BudgetColumn, check_budgets, in_column
from pdpmean.core.options import Options
from pdpmean.core.run import Run, told_options
from pdpmean.core.spending import Spending
from pdpmean.core.types import Floats
from pdpmean.core.version import VERSION
from pdpmean.errors import InsufficientBudgetError, InvalidInputError, LedgerError
from pdpmean.ledger.amount import ONE_UNIT, Amount
from pdpmean.ledger.ledger import Ledger, checked_spend
from pdpmean.ledger.request import PeopleAsked, Request, exact_share
from pdpmean.ledger.reservation import Reservation, settle

__all__ = ["Charge", "as_charged", "check_ledger"]


class Chargeable(Protocol):
    """Records whose budgets can be replaced by those that a ledger has reserved."""

    budget_column: BudgetColumn | None

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The id of each record in order, None if it takes no part, and its budget in the data."""

    def groups_of_people(self) -> Iterator[NDArray[np.int32]]:
        """The group of each record, in the same order."""

    def charged(self, budgets: Floats) -> Self:
        """The same records at these budgets, in the same order."""


Records = TypeVar("Records", bound=Chargeable)


class Charge:
    """A running release, which keeps track of how much of its cost may have been drawn. Idle without a ledger."""

    def __init__(self) -> None:
        self._reservation: Reservation | None = None
        self._drawn = Fraction(0)
        self._spared: NDArray[np.bool_] | None = None
        self._spared_part = Fraction(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._reservation is not None:
            self._end_without_result(self._reservation, error)

    def reserve(self, source: Records, run: Run | None, options: Options, share: float | Fraction) -> Records:
        """The records at the budgets that are reserved for them; unchanged without a ledger."""
        if options.ledger is None or run is None:
            return source
        request = _request(run, options, exact_share(share))
        self._reservation = options.ledger.reserve(_people(source, request), request)
        return source.charged(self._reservation.budgets)

    @property
    def release(self) -> int | None:
        """The number of the release in the ledger; None without one."""
        return None if self._reservation is None else self._reservation.number

    @property
    def levels(self) -> Floats:
        """The budgets that were reserved, each once; none without a ledger."""
        return np.unique([] if self._reservation is None else self._reservation.budgets)

    def spending(self, options: Options) -> Spending | None:
        """What the release costs people; how many have budget left only where that is public. None if nobody pays.

        A ledger that cannot be read must not cost the answer, which is paid for. What refused groups get back is not
        known yet, so that of them nothing is said.
        """
        if self._reservation is None:
            return None
        if not options.model.budgets_are_public:
            return Spending(*options.model.public_range)
        costs = self.levels[self.levels > 0]
        if costs.size == 0:  # nobody has anything left, as in groups that are all refused
            return None
        told = Spending(float(costs[0]), float(costs[-1]))
        with suppress(LedgerError):
            if self._spared is None:
                left = options.ledger.remaining()
                return replace(told, people_left=sum(left.values()) - left.get(0.0, 0), people=sum(left.values()))
        return told

    def spare(self, source: Chargeable, refused: Sequence[bool]) -> None:
        """Note which groups are refused, before anything more is drawn from the others.

        Once the release is made, people of refused groups are charged only for what had been drawn by now.
        """
        if self._reservation is None or not any(refused):
            return
        spared = np.append(refused, False)  # the last entry is for records of other groups, which cost nothing
        self._spared = np.concatenate([np.empty(0, np.bool_), *(spared[codes] for codes in source.groups_of_people())])
        self._spared_part = self._drawn

    def will_draw(self, part: Fraction = Fraction(1)) -> None:
        """Announce a draw: from now on, this part of the cost counts as spent."""
        self._drawn = part

    def commit(self, result: Any) -> None:
        """Record that the release was made, with its plan and the hash of its result."""
        if self._reservation is None:
            return
        content = result.to_dict()
        text = json.dumps(content, sort_keys=True, default=str)
        details = {"outcome": "released", "result": hashlib.sha256(text.encode()).hexdigest()}
        try:
            run = content["run"]
            details |= {"plan": content["plan"], "shares": content["shares"]}
            details |= {"fingerprint": run and run["fingerprint"]}
            part = Fraction(1) if self._spared is None else self._spared_part
            self._reservation.commit(details, part, self._spared)
        except LedgerError as error:
            error.result = result
            error.args = (f"{error}. Release {self.release} is not recorded as completed, but counts as spent",)
            raise

    def _end_without_result(self, held: Reservation, error: BaseException) -> None:
        """Record why there is no result, and charge for what may have been drawn."""
        with suppress(LedgerError):  # the release then stays reserved, which counts as spent
            if not self._drawn:
                held.cancel(_reason(error))
            elif isinstance(error, InsufficientBudgetError):
                held.commit({"outcome": "refused", "part": str(self._drawn)}, self._drawn)
            else:
                settle(held.store, held.number, _reason(error))


def _reason(error: BaseException) -> str:
    """The type of the error only: its message may quote something private."""
    return type(error).__name__


def _people(source: Chargeable, request: Request) -> Iterator[PeopleAsked]:
    first = 0
    for ids, budgets in source.people():
        with in_column(source.budget_column):
            granted = _granted(budgets, first, request) if request.budgets_in_data else None
        yield PeopleAsked(ids, granted)
        first += len(ids)


def _granted(budgets: Floats, first: int, request: Request) -> Floats:
    """The budgets of the data. Invalid ones are an error where budgets are public, and 0 where they are private.

    The database never sees an invalid budget, since its reaction would reveal it.
    """
    if request.people_are_public:
        return check_budgets(budgets, first)
    return np.where(budgets >= 0, budgets, 0.0)


def check_ledger(options: Options, *, private: bool) -> None:
    """Raise unless a ledger comes with the options that it needs, and `spend` with a ledger."""
    if options.ledger is None:
        if options.spend is not None:
            raise InvalidInputError("spend goes with a ledger; without one, use share", name="spend")
        return
    if not isinstance(options.ledger, Ledger):
        raise InvalidInputError(
            f"ledger must be pdpmean.Ledger(...); got {type(options.ledger).__name__}", name="ledger"
        )
    if options.person is None:
        raise InvalidInputError("a ledger needs person='...', the column of ids", name="person")
    if not private:
        raise InvalidInputError(
            "a ledger records real releases; seeded randomness protects nobody, so every cost would be false",
            name="randomness",
        )
    checked_spend(options.spend, options.share)


def _request(run: Run, options: Options, share: Fraction) -> Request:
    least, most = _range_of_costs(options, share)
    return Request(
        options.purpose or "",
        options.analyst,
        share=share,
        most=most,
        least=least,
        people_are_public=options.model.budgets_are_public,
        budgets_in_data=options.budgets_given,
        details={"run": run.id, "dataset": run.dataset, "options": _told(options, share), "versions": _versions()},
    )


def _range_of_costs(options: Options, share: Fraction) -> tuple[Amount, Amount]:
    """The smallest cost other than nothing, and the largest, that a release may have for anybody.

    Where budgets are private, their public range is that of possible grants. This is the range of costs it implies.
    """
    most = checked_spend(options.spend, options.share)
    if options.model.budgets_are_public:
        return ONE_UNIT, most
    ends = (Amount.rounded_down(end).part(share) for end in options.model.public_range)
    least, largest = (max(min(end, most), ONE_UNIT) for end in ends)
    return least, largest


def as_charged(options: Options, share: float | Fraction) -> Options:
    """The options for records at the budgets that a ledger has reserved: their whole share, within the range of costs.

    The ends of that range are rounded like costs, so that a person who grants the smallest budget takes part.
    """
    if options.ledger is None:
        return options
    model = options.model
    if not model.budgets_are_public:
        least, most = (amount.largest_double for amount in _range_of_costs(options, exact_share(share)))
        model = replace(model, budget_range=(least, most))
    return replace(options, share=Fraction(1), model=model)


def _told(options: Options, share: Fraction) -> dict[str, Any]:
    spend = None if options.spend is None else str(checked_spend(options.spend))
    return {**told_options(options), "share": str(share), "spend": spend}


def _versions() -> dict[str, str]:
    return {"pdpmean": VERSION, "python": platform.python_version()}
