"""Checks of public inputs: budgets, tiers, probabilities.

They are strict, and their messages quote what is wrong, because all of it is public.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.core.numbers import public_number
from pdpmean.core.text import closest, did_you_mean, percent_as_fraction
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError

__all__ = [
    "LARGEST_BUDGET",
    "ONE_FOR_ALL_HINT",
    "SMALLEST_BUDGET",
    "TIERS_HINT",
    "BudgetColumn",
    "budgets_by_tier",
    "check_budget",
    "check_budget_range",
    "check_budgets",
    "check_equals",
    "check_positive",
    "check_probability",
    "in_column",
    "tier_budgets",
]

# The range of budgets, in nats. A smaller one is too small to have any effect, and counts as 0. A larger finite one
# protects nothing, and counts as the largest. Either way, the loss is never larger than the budget.
SMALLEST_BUDGET = 2.0**-40

LARGEST_BUDGET = 2.0**40

_SMALLEST_STEP = 2.0**-50  # the smallest budget of a single step

TIERS_HINT = "for tier names, pass tiers={name: budget}"

_MISSING = ("na", "n/a", "nan", "null", "none")  # how missing entries are written
_SHOWN = 40  # the largest number of characters of an entry that a message shows

ONE_FOR_ALL_HINT = "for one budget for everybody, pass budgets=0.5"


def check_budgets(budgets: ArrayLike, first: int = 0) -> Floats:
    """Public budgets as an array of doubles, checked: none is negative or missing, and all are within the range above.

    `first` is the position of the first record, for messages.
    """
    try:
        array = (
            np.ma.filled(budgets.astype(np.float64), math.nan) if np.ma.isMaskedArray(budgets) else np.asarray(budgets)
        )
        if array.dtype.kind not in "biufO":
            raise TypeError
        array = array.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        raise InvalidInputError(f"budgets must be numbers >= 0 (or inf); {TIERS_HINT}", name="budgets") from None
    if array.ndim > 1:
        raise InvalidInputError(
            f"budgets must be a number or one column; got {array.ndim} dimensions",
            name="budgets",
            value=array.ndim,
        )
    wrong = ~(array >= 0)
    if wrong.any():
        record = int(np.argmax(wrong))
        raise _wrong_budget(first + record if array.ndim else None, float(array.flat[record]))
    array = np.atleast_1d(array)
    usable = np.where(array < SMALLEST_BUDGET, 0.0, array)
    return np.where(np.isfinite(usable), np.minimum(usable, LARGEST_BUDGET), usable)


def _wrong_budget(record: int | None, budget: float, column: BudgetColumn | None = None) -> InvalidInputError:
    """The error for a wrong budget of a record or, if `record` is None, for the one budget of everybody."""
    what = "budgets must be" if column is None else f"column {column.name!r} must have budgets"
    if record is None:
        return InvalidInputError(f"{what} >= 0; got {_in_words(budget)}", name="budgets", value=budget)
    entry = None if column is None else column.entry(record)
    if column is not None and column.has_header:
        where, note = f"row {record + 1} below the header", ""
    else:
        where, note = f"record {record}", " (the first record is 0)"
    is_text = column is not None and column.is_text
    is_empty = entry == "" or (math.isnan(budget) and not is_text)
    fault = "is empty" if is_empty else f"has {_in_words(budget, entry)}"
    hint = _hint_on_entry(entry) if math.isnan(budget) and not is_empty else ""
    return InvalidInputError(
        f"{what} >= 0; {where} {fault}{note}. Use 0 to leave a record out{hint}",
        name="budgets",
        value=budget if entry is None else entry,
        record=record,
    )


def _in_words(budget: float, entry: str | None = None) -> str:
    """A wrong budget as a message shows it; `entry` is what stands in the data, if that is known."""
    if not math.isnan(budget):
        return f"{budget:g}"
    return f"{'nan' if entry is None else repr(entry[:_SHOWN])}, which is not a number"


def _hint_on_entry(entry: str | None) -> str:
    """What to do about a budget that is not a number, given the entry in the data, if that is known."""
    if entry is None:
        return f"; {TIERS_HINT}"
    if (fraction := percent_as_fraction(entry)) is not None:
        return f"; for {entry.strip()}, write {fraction}"
    is_name = any(letter.isalpha() for letter in entry) and entry.strip().lower() not in _MISSING
    return f"; {TIERS_HINT}" if is_name else ""


class BudgetColumn(NamedTuple):
    """The column of public budgets in a table. It exists so that an error can say where a wrong budget is."""

    name: str
    has_header: bool = False
    """Whether records are the rows below a header, as in a CSV file."""
    text_of: Callable[[int], str | None] | None = None
    """Reads the entry of a record, where entries are text and public."""
    is_text: bool = False
    """Whether entries may be text, as in a CSV file, so that some may be no numbers."""

    def entry(self, record: int) -> str | None:
        """The entry of a record, without spaces around it; None if entries are not text."""
        text = None if self.text_of is None else self.text_of(record)
        return None if text is None else text.strip()


@contextmanager
def in_column(column: BudgetColumn | None) -> Iterator[None]:
    """A context in which an error about a record's public budget also names the column and its entry, if possible."""
    try:
        yield
    except InvalidInputError as error:
        if column is None or error.record is None or not isinstance(error.value, float):
            raise
        raise _wrong_budget(error.record, error.value, column) from None


def check_budget_range(budget_range: tuple[float, float]) -> tuple[float, float]:
    """The public range of budgets, checked: 0 < smallest <= largest < inf."""
    try:
        low, high = map(public_number, budget_range)
    except (OverflowError, TypeError, ValueError):
        low, high = math.nan, math.nan
    if not 0 < low <= high < math.inf:
        raise InvalidInputError(
            f"budget_range must be (smallest, largest) with 0 < smallest <= largest < inf; got {budget_range!r}",
            name="budget_range",
            value=budget_range,
        )
    return low, high


def _unknown_tier(name: str, known: Iterable[str]) -> InvalidInputError:
    """The error for a record whose tier, which is public, is not listed."""
    listed = list(known)
    hint = did_you_mean(name, listed) if name else "; to leave people without a tier out, pass tiers={..., '': 0}"
    similar = closest(name, listed)
    if similar is not None and similar.casefold() == name.casefold():
        hint = f"; upper and lower case differ: in tiers, write {name!r} instead of {similar!r}"
    return InvalidInputError(
        f"the column of budgets holds the tier {name!r}, which tiers does not list: {', '.join(listed)}{hint}",
        name="tiers",
        value=name,
    )


def tier_budgets(tiers: Any) -> dict[str, float]:
    """The budget of each tier, by its name as text, checked."""
    if not (isinstance(tiers, Mapping) and tiers):
        raise InvalidInputError(f"tiers must be {{name: budget}}; got {tiers!r}", name="tiers", value=tiers)
    for name, budget in tiers.items():
        if not (isinstance(budget, Real) and float(budget) >= 0):
            raise InvalidInputError(f"tiers must be budgets >= 0; {name!r} has {budget!r}", name="tiers", value=budget)
    known = {str(name): float(budget) for name, budget in zip(tiers, check_budgets(list(tiers.values())), strict=True)}
    if len(known) < len(tiers):
        raise InvalidInputError("tiers must have different names, also when written as text", name="tiers", value=tiers)
    return known


def budgets_by_tier(
    tiers: NDArray[np.int32], known: Mapping[str, float], name_of: Callable[[int], str], *, public: bool
) -> Floats:
    """The budget of each record, given the position of its tier in `known`; one beyond the last for an unknown tier.

    If tiers are public, an unknown tier raises an error that names it, as `name_of` its record says. Otherwise the
    budget is NaN, and the record is left out.
    """
    unknown = np.flatnonzero(tiers == len(known))
    if unknown.size and public:
        raise _unknown_tier(name_of(int(unknown[0])), known)
    budgets: Floats = np.array([*known.values(), math.nan])[tiers]
    return budgets


def check_budget(budget: float) -> float:
    """The budget of a single step, checked: at least 2**-50, possibly infinite."""
    if not (isinstance(budget, Real) and budget >= _SMALLEST_STEP):
        raise InvalidInputError(f"budget must be at least 2**-50; got {budget!r}", name="budget", value=budget)
    return float(budget)


def check_probability(name: str, value: float) -> float:
    """The value, checked to lie strictly between 0 and 1."""
    if not (isinstance(value, Real) and 0 < value < 1):
        raise InvalidInputError(f"{name} must lie strictly between 0 and 1; got {value!r}", name=name, value=value)
    return float(value)


def check_equals(equals: Any) -> str | None:
    """The entry that counts as 1, as text, checked; None if values are numbers."""
    if equals is None:
        return None
    if isinstance(equals, (float, np.floating)) and equals.is_integer():
        equals = int(equals)  # 1.0 is the entry 1
    if not isinstance(equals, (str, Real, np.bool_)) or not str(equals).strip():
        raise InvalidInputError(
            f"equals must be an entry of the column, a text or a number; got {equals!r}", name="equals", value=equals
        )
    return str(equals)


def check_positive(name: str, value: float) -> float:
    """The value, checked to be finite and above 0."""
    if not (isinstance(value, Real) and 0 < value <= sys.float_info.max):
        raise InvalidInputError(f"{name} must be positive and finite; got {value!r}", name=name, value=value)
    return float(value)
