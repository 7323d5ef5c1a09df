"""Charge: charges a release to the ledger, such that a crash at any moment charges nobody too little.

"Drawing" means drawing the random noise of a step: from then on, something about the data may have been revealed.

1. Before anything is drawn, reserve everybody's cost in one transaction.
2. Before each draw, announce the largest fraction of the cost that may have been used once it is made (`will_draw`).
3. Commit when there is a result. Without a result: cancel if nothing was drawn; commit only the drawn fraction if the
   release was refused after a noisy census; otherwise settle, which counts the whole cost as spent.
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
from pdpmean.core.run import Run, public_options
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
        """Batches of records in order: their ids (None for a record that takes no part) and budgets in the data."""

    def groups_of_people(self) -> Iterator[NDArray[np.int32]]:
        """The group number of each record, in batches and in the same order."""

    def charged(self, budgets: Floats) -> Self:
        """The same records, with these budgets instead of their own, in the same order."""


Records = TypeVar("Records", bound=Chargeable)


class Charge:
    """The cost of one running release: reserves it, tracks how much of it is used, and closes it in the ledger.

    It is a context manager, so that an exception anywhere in an estimate ends the release in the ledger as well.
    Without a ledger all methods do nothing, so that `estimate.py` reads the same with and without one.
    """

    def __init__(self) -> None:
        self._reservation: Reservation | None = None
        self._drawn = Fraction(0)
        """The fraction of everybody's cost that announced draws may have used so far."""
        self._spared: NDArray[np.bool_] | None = None
        """Whether each record is in a refused group; None if no group is refused."""
        self._spared_part = Fraction(0)
        """The fraction of the cost that had been drawn when groups were refused."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and self._reservation is not None:
            self._end_without_result(self._reservation, error)

    def reserve(self, source: Records, run: Run | None, options: Options, share: float | Fraction) -> Records:
        """Reserve everybody's cost; returns the records with the reserved budgets, or unchanged without a ledger."""
        if options.ledger is None or run is None:
            return source
        request = _request(run, options, exact_share(share))
        self._reservation = options.ledger.reserve(_people(source, request), request)
        return source.charged(self._reservation.budgets)

    @property
    def release(self) -> int | None:
        """The number of the release in the ledger; None without a ledger."""
        return None if self._reservation is None else self._reservation.number

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know about the answer if people had too little left, as far as that is public."""
        shortage = None if self._reservation is None else self._reservation.shortage
        return () if shortage is None else shortage.in_words

    @property
    def distinct_budgets(self) -> Floats:
        """The distinct reserved budgets in ascending order, in nats; empty without a ledger."""
        return np.unique([] if self._reservation is None else self._reservation.budgets)

    def spending(self, options: Options) -> Spending | None:
        """The smallest and largest cost of the release, for its report; None if nobody is charged.

        Where balances are public, it also says how many people have budget left. That is left out if groups were
        refused, since their refund is not booked yet, and if the ledger cannot be read: the result is paid for, and an
        error here must not lose it.
        """
        if self._reservation is None:
            return None
        if not options.model.budgets_are_public:
            return Spending(*options.model.public_range)
        costs = self.distinct_budgets[self.distinct_budgets > 0]
        if costs.size == 0:  # nobody has budget left; all groups are then refused
            return None
        spending = Spending(float(costs[0]), float(costs[-1]))
        with suppress(LedgerError):
            if self._spared is None:
                left = options.ledger.remaining()
                return replace(spending, people_left=sum(left.values()) - left.get(0.0, 0), people=sum(left.values()))
        return spending

    def spare(self, source: Chargeable, refused: Sequence[bool]) -> None:
        """Note which groups are refused, before anything more is drawn from the others.

        When the release is committed, people in refused groups are charged only for what has been drawn by now.
        """
        if self._reservation is None or not any(refused):
            return
        # The last entry is for records of groups that were not asked for, whose number is one beyond the last group.
        # They cost nothing.
        spared = np.append(refused, False)
        self._spared = np.concatenate([np.empty(0, np.bool_), *(spared[codes] for codes in source.groups_of_people())])
        self._spared_part = self._drawn

    def will_draw(self, part: Fraction = Fraction(1)) -> None:
        """Announce a draw: from now on, this fraction of everybody's cost counts as used, even after a crash."""
        self._drawn = part

    def commit(self, result: Any) -> None:
        """Record in the ledger that the release was made, with its plan and the SHA-256 hash of its result.

        If that fails, the `LedgerError` carries the result, since it is paid for.
        """
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

    def _end_without_result(self, reservation: Reservation, error: BaseException) -> None:
        """Record why there is no result, and charge for what may have been drawn."""
        with suppress(LedgerError):  # on failure the release stays reserved, which counts as spent
            if not self._drawn:
                reservation.cancel(_reason(error))
            elif isinstance(error, InsufficientBudgetError):
                reservation.commit({"outcome": "refused", "part": str(self._drawn)}, self._drawn)
            else:
                settle(reservation.store, reservation.number, _reason(error))


def _reason(error: BaseException) -> str:
    """The type of the error. Its message is left out, since it may quote something private."""
    return type(error).__name__


def _people(source: Chargeable, request: Request) -> Iterator[PeopleAsked]:
    """The people in the data, in batches; with their budgets if the request says that the data has them."""
    first = 0
    for ids, budgets in source.people():
        with in_column(source.budget_column):
            valid_budgets = _valid_budgets(budgets, first, request) if request.budgets_in_data else None
        yield PeopleAsked(ids, valid_budgets)
        first += len(ids)


def _valid_budgets(budgets: Floats, first: int, request: Request) -> Floats:
    """The budgets in the data. An invalid one is an error where budgets are public, and 0 where they are private.

    So the database never sees an invalid budget: an error of its own would reveal that there is one. `first` is the
    position of the first record in the data, for error messages.
    """
    if request.people_are_public:
        return check_budgets(budgets, first)
    return np.where(budgets >= 0, budgets, 0.0)


def check_ledger(options: Options, *, private: bool) -> None:
    """Raise if a ledger lacks the options that it needs, or if `spend` is given without a ledger.

    `private` is whether the randomness is secure rather than seeded.
    """
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
    """What this release asks of the ledger, and what the log should say about it."""
    least, most = _range_of_costs(options, share)
    return Request(
        options.purpose or "",
        options.analyst,
        share=share,
        most=most,
        least=least,
        people_are_public=options.model.budgets_are_public,
        budgets_in_data=options.budgets_given,
        details={
            "run": run.id,
            "dataset": run.dataset,
            "options": _logged_options(options, share),
            "versions": _versions(),
        },
    )


def _range_of_costs(options: Options, share: Fraction) -> tuple[Amount, Amount]:
    """The smallest positive cost and the largest cost that the release may have for anybody.

    Where budgets are private, the model states a public range of grants. The range of costs follows from it by taking
    the share and capping at `spend`.
    """
    limit = checked_spend(options.spend, options.share)
    if options.model.budgets_are_public:
        return ONE_UNIT, limit
    shares_of_ends = (Amount.rounded_down(end).part(share) for end in options.model.public_range)
    least, most = (max(min(end, limit), ONE_UNIT) for end in shares_of_ends)
    return least, most


def as_charged(options: Options, share: float | Fraction) -> Options:
    """The options for records whose budgets are the reserved costs: a share of 1, and the public range of costs.

    The reserved costs already include the share that the user asked for. The ends of the range are rounded down like
    the costs themselves, so that a person who grants exactly the smallest budget is not left out.
    """
    if options.ledger is None:
        return options
    model = options.model
    if not model.budgets_are_public:
        least, most = (amount.largest_double for amount in _range_of_costs(options, exact_share(share)))
        model = replace(model, budget_range=(least, most))
    return replace(options, share=Fraction(1), model=model)


def _logged_options(options: Options, share: Fraction) -> dict[str, Any]:
    """The options as the log records them, with exact share and spend as text."""
    spend = None if options.spend is None else str(checked_spend(options.spend))
    return {**public_options(options), "share": str(share), "spend": spend}


def _versions() -> dict[str, str]:
    return {"pdpmean": VERSION, "python": platform.python_version()}
