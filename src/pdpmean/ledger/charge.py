"""Charge: what a release does to the ledger on its way, so that a crash at any moment charges nobody too little.

1. Reserve everybody's cost, in one transaction, before anything is drawn.
2. Say when something is about to be drawn, and which part of the cost it is at most (`will_draw`).
3. Commit with the result. If there is none: cancel where nothing was drawn, commit the part where a noisy census led to
   a refusal, and otherwise settle as spent.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.checks import check_budgets
from pdpmean.core.options import Options
from pdpmean.core.run import Run, told_options
from pdpmean.core.types import Floats
from pdpmean.core.version import VERSION
from pdpmean.errors import InsufficientBudgetError, InvalidInputError, LedgerError
from pdpmean.ledger.amount import ONE_UNIT, Amount
from pdpmean.ledger.ledger import Ledger, checked_spend
from pdpmean.ledger.request import PeopleAsked, Request, exact_share
from pdpmean.ledger.reservation import Reservation, settle

__all__ = ["Charge", "check_ledger"]


class Chargeable(Protocol):
    """Records that can be had at other budgets than they came with."""

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The id of each record, in order, None for one that takes no part; and its budget as it came."""

    def groups_of_people(self) -> Iterator[NDArray[np.int32]]:
        """The group of each record, in the same order."""

    def charged(self, budgets: Floats) -> Self:
        """The same records at these budgets, in the same order."""


Records = TypeVar("Records", bound=Chargeable)


class Charge:
    """A release on its way, which knows what part of its cost may have been drawn; idle where there is no ledger."""

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
        """The records at the budgets that are reserved for them; as they are, without a ledger."""
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

    def spare(self, source: Chargeable, refused: Sequence[bool]) -> None:
        """Told, before anything is drawn of the others, of which groups nothing more will be.

        Their people are charged what has been drawn by now, once the release is made.
        """
        if self._reservation is None or not any(refused):
            return
        spared = np.append(refused, False)  # those of groups that were not asked for cost nothing
        self._spared = np.concatenate([np.empty(0, np.bool_), *(spared[codes] for codes in source.groups_of_people())])
        self._spared_part = self._drawn

    def will_draw(self, part: Fraction = Fraction(1)) -> None:
        """Told before something is drawn: from now on, this part of the cost counts as spent."""
        self._drawn = part

    def commit(self, result: Any) -> None:
        """Write down that the release was made, with its plan and the hash of its result."""
        if self._reservation is None:
            return
        content = result.to_dict()
        text = json.dumps(content, sort_keys=True, default=str)
        details = {"outcome": "released", "result": hashlib.sha256(text.encode()).hexdigest()}
        try:
            run = content["run"]
            details |= {"shares": content["shares"], "fingerprint": run and run["fingerprint"]}
            part = Fraction(1) if self._spared is None else self._spared_part
            self._reservation.commit(details, part, self._spared)
        except LedgerError as error:
            error.result = result
            error.args = (f"{error}. Release {self.release} is not recorded as made, but counts as spent",)
            raise

    def _end_without_result(self, held: Reservation, error: BaseException) -> None:
        """Write down why there is none, and charge what may have been drawn."""
        with suppress(LedgerError):  # it stays reserved then, which counts as spent
            if not self._drawn:
                held.cancel(_reason(error))
            elif isinstance(error, InsufficientBudgetError):
                held.commit({"outcome": "refused", "part": str(self._drawn)}, self._drawn)
            else:
                settle(held.store, held.number, _reason(error))


def _reason(error: BaseException) -> str:
    """The kind of error: its words may quote something private."""
    return type(error).__name__


def _people(source: Chargeable, request: Request) -> Iterator[PeopleAsked]:
    first = 0
    for ids, budgets in source.people():
        yield PeopleAsked(ids, _granted(budgets, first, request) if request.budgets_in_data else None)
        first += len(ids)


def _granted(budgets: Floats, first: int, request: Request) -> Floats:
    """Budgets of the data that are some: others are an error where budgets are public, and nothing where they are not.

    The database must not see them: what it does with them would tell that they are there.
    """
    if request.people_are_public:
        return check_budgets(budgets, first)
    return np.where(budgets >= 0, budgets, 0.0)


def check_ledger(options: Options, *, private: bool) -> None:
    """Raise unless what goes with a ledger is given, and nothing of it without one."""
    if options.ledger is None:
        if options.spend is not None:
            raise InvalidInputError("spend goes with a ledger; without one, use share", name="spend")
        return
    if not isinstance(options.ledger, Ledger):
        raise InvalidInputError(
            f"ledger must be pdpmean.Ledger(...); got {type(options.ledger).__name__}", name="ledger"
        )
    if options.person is None:
        raise InvalidInputError("a ledger needs to know who is who: person='...', the column of ids", name="person")
    if not private:
        raise InvalidInputError(
            "a ledger is for releases: seeded randomness protects nobody, so that no cost would be true",
            name="randomness",
        )
    checked_spend(options.spend, options.share)


def _request(run: Run, options: Options, share: Fraction) -> Request:
    public = options.model.budgets_are_public
    low, high = (None, None) if public else options.model.public_range
    most = checked_spend(options.spend, options.share)
    return Request(
        options.purpose or "",
        options.analyst,
        share=share,
        most=most if high is None else min(most, Amount.rounded_down(high)),
        least=ONE_UNIT if low is None else Amount.rounded_down(low),
        people_are_public=public,
        budgets_in_data=options.budgets_given,
        details={"run": run.id, "dataset": run.dataset, "options": _told(options, share), "versions": _versions()},
    )


def _told(options: Options, share: Fraction) -> dict[str, Any]:
    spend = None if options.spend is None else str(checked_spend(options.spend))
    return {**told_options(options), "share": str(share), "spend": spend}


def _versions() -> dict[str, str]:
    return {"pdpmean": VERSION, "python": platform.python_version()}
