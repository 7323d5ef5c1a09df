"""What a caller hands in, as arrays; public things are checked strictly, private ones never."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.errors import InvalidInputError

__all__ = [
    "LARGEST_BUDGET",
    "SMALLEST_BUDGET",
    "Floats",
    "check_budget",
    "check_budget_range",
    "check_budgets",
    "check_positive",
    "check_probability",
    "private_numbers",
    "private_records",
    "public_records",
]

Floats = NDArray[np.float64]

# Budgets are used only inside this range: a smaller one grants nothing that could be measured and is used
# as 0, a larger finite one protects nothing and is used as the largest. Both ways the loss only shrinks.
SMALLEST_BUDGET = 2.0**-40
LARGEST_BUDGET = 2.0**40
_SMALLEST_STEP = 2.0**-50


def private_numbers(numbers: Any, name: str = "values") -> Floats:
    """A private column as doubles; whatever is not a number becomes a missing one (NaN).

    Only the container can be at fault (its shape, or an array type that holds no numbers): one entry never
    raises, since whether it did would tell something about that entry.
    """
    if not isinstance(numbers, np.ndarray):
        numbers = _as_array(numbers)
    if numbers.ndim != 1:
        raise InvalidInputError(
            f"{name} must be one column of numbers; got {numbers.ndim} dimensions",
            name=name,
            value=numbers.ndim,
        )
    if numbers.dtype == object:
        return np.fromiter((_number_or_missing(entry) for entry in numbers), np.float64, numbers.size)
    if numbers.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{name} must be numbers; got an array of type {numbers.dtype}",
            name=name,
            value=str(numbers.dtype),
        )
    with np.errstate(over="ignore"):
        return np.asarray(numbers, dtype=np.float64)


def _as_array(numbers: Any) -> NDArray[Any]:
    if hasattr(numbers, "__array__"):
        return np.asarray(numbers)
    if isinstance(numbers, (str, bytes)) or not isinstance(numbers, Iterable):
        return np.asarray(numbers, dtype=object)
    entries = list(numbers)
    if all(type(entry) is float or type(entry) is int for entry in entries):
        try:
            return np.array(entries, dtype=np.float64)
        except OverflowError:  # an integer beyond the doubles: data, and infinite as a double
            pass
    # Entry by entry, so that NumPy chooses neither a type nor a shape from what the entries happen to be.
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column


def _number_or_missing(entry: object) -> float:
    if not isinstance(entry, (int, float, np.number, np.bool_, Decimal, Fraction)) or isinstance(
        entry, np.complexfloating
    ):
        return math.nan
    try:
        return float(entry)
    except OverflowError:
        return math.copysign(math.inf, entry)
    except ValueError:  # a signalling NaN of the decimal module
        return math.nan


def check_budgets(budgets: ArrayLike) -> Floats:
    """Public budgets as an array of doubles, ready for use: none negative, none missing, extremes tamed."""
    try:
        array = np.asarray(budgets, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError("budgets must be numbers >= 0 (or inf)", name="budgets") from None
    if array.ndim > 1:
        raise InvalidInputError(
            f"budgets must be a number or one column; got {array.ndim} dimensions",
            name="budgets",
            value=array.ndim,
        )
    array = np.atleast_1d(array)
    wrong = ~(array >= 0)
    if wrong.any():
        record = int(np.argmax(wrong))
        raise InvalidInputError(
            f"budgets must be >= 0; record {record} has {array[record]:g}. Use 0 to leave a record out",
            name="budgets",
            value=float(array[record]),
        )
    usable = np.where(array < SMALLEST_BUDGET, 0.0, array)
    return np.where(np.isfinite(usable), np.minimum(usable, LARGEST_BUDGET), usable)


def check_budget_range(budget_range: tuple[float, float]) -> tuple[float, float]:
    """The public interval that budgets are declared to lie in, 0 < smallest <= largest < inf."""
    try:
        low, high = (float(end) for end in budget_range)
    except (TypeError, ValueError):
        low, high = math.nan, math.nan
    if not 0 < low <= high < math.inf:
        raise InvalidInputError(
            f"budget_range must be (smallest, largest) with 0 < smallest <= largest < inf; got {budget_range!r}",
            name="budget_range",
            value=budget_range,
        )
    return low, high


def public_records(values: Any, budgets: ArrayLike) -> tuple[Floats, Floats]:
    """Values and their public budgets, of one length; a single number is everyone's budget."""
    numbers, granted = private_numbers(values), check_budgets(budgets)
    if np.ndim(budgets) == 0:
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
    if np.ndim(budgets) == 0:
        return numbers, np.broadcast_to(private_numbers([budgets], "budgets"), numbers.shape)
    granted = private_numbers(budgets, "budgets")
    if granted.size != numbers.size:
        raise InvalidInputError(
            "values and budgets must go together, one budget a value; their lengths differ", name="budgets"
        )
    return numbers, granted


def check_budget(budget: float) -> float:
    """The budget of one step: at least 2**-50, or inf."""
    if not budget >= _SMALLEST_STEP:
        raise InvalidInputError(f"budget must be at least 2**-50; got {budget!r}", name="budget", value=budget)
    return float(budget)


def check_probability(name: str, value: float) -> float:
    """A number strictly between 0 and 1."""
    if not 0 < value < 1:
        raise InvalidInputError(f"{name} must lie strictly between 0 and 1; got {value!r}", name=name, value=value)
    return float(value)


def check_positive(name: str, value: float) -> float:
    """A finite number above 0."""
    if not 0 < value < math.inf:
        raise InvalidInputError(f"{name} must be positive and finite; got {value!r}", name=name, value=value)
    return float(value)
