"""What a caller hands in, as arrays; public things are checked strictly, private ones never."""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.errors import InvalidInputError
from pdpmean.grouping import codes_of, entries_of, text_of

__all__ = [
    "LARGEST_BUDGET",
    "ONE_FOR_ALL_HINT",
    "SMALLEST_BUDGET",
    "TIERS_HINT",
    "Floats",
    "budgets_of_tiers",
    "check_budget",
    "check_budget_range",
    "check_budgets",
    "check_positive",
    "check_probability",
    "people_of_tiers",
    "private_numbers",
    "private_records",
    "public_columns",
    "public_records",
    "tier_budgets",
    "unknown_tier",
]

Floats = NDArray[np.float64]

# Budgets are used only inside this range: a smaller one grants nothing that could be measured and is used
# as 0, a larger finite one protects nothing and is used as the largest. Both ways the loss only shrinks.
SMALLEST_BUDGET = 2.0**-40
LARGEST_BUDGET = 2.0**40
_NUMBERS: tuple[Any, ...] = (float, int, np.number, np.bool_, Decimal, Fraction)
_SMALLEST_STEP = 2.0**-50
TIERS_HINT = "for names of tiers give tiers={name: budget}"
ONE_FOR_ALL_HINT = "one budget for all is given as budgets=0.5"


def private_numbers(numbers: Any, name: str = "values") -> Floats:
    """A private column as doubles; whatever is not a number becomes a missing one (NaN).

    Only the container can be at fault (its shape, or an array type that holds no numbers): one entry never
    raises, since whether it did would tell something about that entry. So NumPy does not see entries that could be
    anything: it would ask them for arrays, and pass on what they raise.
    """
    if str(getattr(numbers, "dtype", "")) in ("str", "string"):  # a pandas column declared as text
        raise InvalidInputError(f"{name} must be numbers; got a column of text", name=name)
    if not hasattr(numbers, "__array__"):
        return _numbers_in(_entries(numbers, name))
    array = _as_array(numbers, name)
    if array.ndim != 1:
        raise _not_one_column(name, array.ndim)
    if array.dtype == object:
        return _numbers_in(_objects(array))
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{name} must be numbers; got an array of another type, such as text or dates", name=name
        )
    with np.errstate(all="ignore"):
        return np.ma.filled(array.astype(np.float64, copy=False), math.nan)


def _not_one_column(name: str, dimensions: int) -> InvalidInputError:
    """What to raise for what is no column."""
    return InvalidInputError(
        f"{name} must be one column of numbers; got {dimensions} dimensions", name=name, value=dimensions
    )


def _as_array(numbers: Any, name: str) -> NDArray[Any]:
    """What offers an array, as that; masked if it is."""
    if isinstance(numbers, np.ma.MaskedArray):
        return numbers
    with suppress(Exception):  # which may quote an entry
        return np.asarray(numbers)
    raise InvalidInputError(f"{name} cannot be read as an array of numbers", name=name)


def _objects(array: NDArray[Any]) -> list[Any]:
    """The entries of an array of objects; none where they are masked."""
    hidden = np.ma.getmaskarray(array).tolist()
    entries = np.ma.getdata(array, subok=False).tolist()
    return [None if masked else entry for entry, masked in zip(entries, hidden, strict=True)]


def _entries(numbers: Any, name: str) -> list[Any]:
    if isinstance(numbers, (str, bytes)) or not isinstance(numbers, Iterable):
        raise _not_one_column(name, 0)
    return entries_of(numbers, name)


def _numbers_in(entries: list[Any]) -> Floats:
    if all(type(entry) is float or type(entry) is int for entry in entries):
        with suppress(OverflowError):  # an integer beyond the doubles: data, and infinite as a double
            return np.array(entries, dtype=np.float64)
    return np.fromiter(map(_number_or_missing, entries), np.float64, len(entries))


def _number_or_missing(entry: object) -> float:
    """The number in an entry, by the type that it is or is derived from; methods of its own are not asked."""
    kind = next((known for known in _NUMBERS if issubclass(type(entry), known)), None)
    if kind is None:
        return math.nan
    try:
        try:
            return float(kind.__float__(entry))
        except OverflowError:
            return math.inf if kind.__gt__(entry, 0) else -math.inf
    except Exception:  # a number that is no double, such as a complex one
        return math.nan


def check_budgets(budgets: ArrayLike, first: int = 0) -> Floats:
    """Public budgets as an array of doubles, ready for use: none negative, none missing, extremes tamed.

    `first` is the number of the first record, for the message.
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


def _wrong_budget(record: int | None, budget: float) -> InvalidInputError:
    """What to raise for the budget of a record, or for the one of all."""
    found = "nan, which is no number" if math.isnan(budget) else f"{budget:g}"
    if record is None:
        message = f"budgets must be >= 0; got {found}"
    else:
        message = f"budgets must be >= 0; record {record} has {found} (the first record is 0). Use 0 to leave one out"
    hint = f"; {TIERS_HINT}" if math.isnan(budget) else ""
    return InvalidInputError(message + hint, name="budgets", value=budget)


def check_budget_range(budget_range: tuple[float, float]) -> tuple[float, float]:
    """The public interval that budgets are declared to lie in, 0 < smallest <= largest < inf."""
    try:
        low, high = (float(end) for end in budget_range)
    except (OverflowError, TypeError, ValueError):
        low, high = math.nan, math.nan
    if not 0 < low <= high < math.inf:
        raise InvalidInputError(
            f"budget_range must be (smallest, largest) with 0 < smallest <= largest < inf; got {budget_range!r}",
            name="budget_range",
            value=budget_range,
        )
    return low, high


def public_records(values: Any, budgets: ArrayLike) -> tuple[Floats, Floats]:
    """Values and their public budgets, checked and ready for use; a single number is everyone's budget."""
    granted = check_budgets(budgets)
    return _paired(values, granted[0] if np.ndim(budgets) == 0 else granted)


def public_columns(values: Any, budgets: ArrayLike) -> tuple[Floats, Floats]:
    """Values and their public budgets, of one length and as they are: nothing is copied that need not be."""
    if type(budgets) is np.ndarray and budgets.dtype == np.float64 and budgets.ndim == 1:
        return _paired(values, budgets)
    return public_records(values, budgets)


def _paired(values: Any, granted: Any) -> tuple[Floats, Floats]:
    numbers = private_numbers(values)
    if np.ndim(granted) == 0:
        return numbers, np.broadcast_to(granted, numbers.shape)
    if granted.size != numbers.size:
        raise InvalidInputError(
            f"values and budgets must go together, one budget a value; got {numbers.size} values and "
            f"{granted.size} budgets",
            name="budgets",
            value=granted.size,
        )
    return numbers, granted


def private_records(values: Any, budgets: Any) -> tuple[Floats, Floats]:
    """Values and their private budgets, of one length; what is no budget is NaN, and no error tells a length."""
    numbers = private_numbers(values)
    if _is_single(budgets):
        single = budgets.item() if isinstance(budgets, np.ndarray) else budgets
        return numbers, np.broadcast_to(private_numbers([single], "budgets"), numbers.shape)
    granted = private_numbers(budgets, "budgets")
    if granted.size != numbers.size:
        raise InvalidInputError(
            "values and budgets must go together, one budget a value; their lengths differ", name="budgets"
        )
    return numbers, granted


def _is_single(budgets: Any) -> bool:
    """Whether this is one budget for all, as the container alone tells."""
    if hasattr(budgets, "__array__"):
        return getattr(budgets, "ndim", 1) == 0
    return isinstance(budgets, (str, bytes)) or not isinstance(budgets, Iterable)


def budgets_of_tiers(column: Any, tiers: Mapping[Any, float], *, public: bool) -> Floats:
    """The budget of each record's tier. An unknown tier is an error if tiers are public; otherwise it is no budget."""
    known = tier_budgets(tiers)
    column = column if hasattr(column, "__len__") else entries_of(column, "budgets")
    codes = codes_of(column, tuple(known), role="tiers", name="budgets")
    unknown = np.flatnonzero(codes == len(known))
    if unknown.size and public:
        first = next(islice(column, int(unknown[0]), None))
        raise unknown_tier(text_of(first) or type(first).__name__, known)
    return np.array([*known.values(), math.nan])[codes]


def unknown_tier(name: str, known: Iterable[str]) -> InvalidInputError:
    """What to raise when public tiers hold a name that is not listed."""
    listed = list(known)
    meant = "".join(f"; did you mean {close!r}?" for close in difflib.get_close_matches(name, listed, n=1))
    return InvalidInputError(
        f"the column of budgets holds the tier {name!r}, which tiers does not list: {', '.join(listed)}{meant}",
        name="tiers",
        value=name,
    )


def people_of_tiers(people: Any, tiers: Mapping[Any, float]) -> Any:
    """Public tiers as budgets: a column of names, or how many people each name has."""
    if not isinstance(people, Mapping):
        return budgets_of_tiers(people, tiers, public=True)
    held: dict[float, float] = {}
    for budget, count in zip(budgets_of_tiers(list(people), tiers, public=True).tolist(), people.values(), strict=True):
        held[budget] = held.get(budget, 0) + count
    return held


def tier_budgets(tiers: Any) -> dict[str, float]:
    """The budget of each tier, by its name as text, checked and ready for use."""
    if not (isinstance(tiers, Mapping) and tiers):
        raise InvalidInputError(f"tiers must be {{name: budget}}; got {tiers!r}", name="tiers", value=tiers)
    for name, budget in tiers.items():
        if not (isinstance(budget, Real) and float(budget) >= 0):
            raise InvalidInputError(f"tiers must be budgets >= 0; {name!r} has {budget!r}", name="tiers", value=budget)
    known = {str(name): float(budget) for name, budget in zip(tiers, check_budgets(list(tiers.values())), strict=True)}
    if len(known) < len(tiers):
        raise InvalidInputError("tiers must have different names, also when written as text", name="tiers", value=tiers)
    return known


def check_budget(budget: float) -> float:
    """The budget of one step: at least 2**-50, or inf."""
    if not (isinstance(budget, Real) and budget >= _SMALLEST_STEP):
        raise InvalidInputError(f"budget must be at least 2**-50; got {budget!r}", name="budget", value=budget)
    return float(budget)


def check_probability(name: str, value: float) -> float:
    """A number strictly between 0 and 1."""
    if not (isinstance(value, Real) and 0 < value < 1):
        raise InvalidInputError(f"{name} must lie strictly between 0 and 1; got {value!r}", name=name, value=value)
    return float(value)


def check_positive(name: str, value: float) -> float:
    """A finite number above 0."""
    if not (isinstance(value, Real) and 0 < value <= sys.float_info.max):
        raise InvalidInputError(f"{name} must be positive and finite; got {value!r}", name=name, value=value)
    return float(value)
