"""Columns that a caller hands in, as arrays; whatever is not a number becomes a missing one, and no entry raises."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.core.checks import check_budgets, tier_budgets, unknown_tier
from pdpmean.core.model import Model
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.sources.labels import codes_of

__all__ = [
    "budgets_of_tiers",
    "people_of_tiers",
    "private_numbers",
    "private_records",
    "public_columns",
    "public_records",
    "records",
]

_NUMBERS = (int, float, np.number, np.bool_, Decimal, Fraction)


def private_numbers(numbers: Any, name: str = "values") -> Floats:
    """A private column as doubles; whatever is not a number becomes a missing one (NaN).

    Only the container can be at fault (its shape, or an array type that holds no numbers): one entry never
    raises, since whether it did would tell something about that entry.
    """
    if str(getattr(numbers, "dtype", "")) in ("str", "string"):  # a pandas column declared as text
        raise InvalidInputError(f"{name} must be numbers; got a column of text", name=name)
    if not isinstance(numbers, np.ndarray):
        numbers = _as_array(numbers, name)
    if isinstance(numbers, np.ma.MaskedArray) and numbers.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            numbers = np.ma.filled(numbers.astype(np.float64), math.nan)
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
            f"{name} must be numbers; got an array of another type, such as text or dates", name=name
        )
    with np.errstate(all="ignore"):
        return np.asarray(numbers, dtype=np.float64)


def _as_array(numbers: Any, name: str) -> NDArray[Any]:
    if hasattr(numbers, "__array__"):
        with suppress(Exception):  # which may quote an entry
            return np.asarray(numbers)
        raise InvalidInputError(f"{name} cannot be read as an array of numbers", name=name)
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
    try:
        if not isinstance(entry, _NUMBERS) or isinstance(entry, np.complexfloating):
            return math.nan
        try:
            return float(entry)
        except OverflowError:
            return math.inf if entry > 0 else -math.inf
    except Exception:  # whatever an entry does, it is data
        return math.nan


def records(model: Model, values: Any, budgets: Any) -> tuple[Floats, Floats]:
    """The two columns as arrays of one length. Public budgets are checked by `Cells`, where they are first read."""
    return public_columns(values, budgets) if model.budgets_are_public else private_records(values, budgets)


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
    column = column if hasattr(column, "__len__") else list(column)
    codes = codes_of(column, tuple(known), role="tiers", name="budgets")
    unknown = np.flatnonzero(codes == len(known))
    if unknown.size and public:
        raise unknown_tier(str(np.asarray(column, dtype=object)[unknown[0]]), known)
    return np.array([*known.values(), math.nan])[codes]


def people_of_tiers(people: Any, tiers: Mapping[Any, float]) -> Any:
    """Public tiers as budgets: a column of names, or how many people each name has."""
    if not isinstance(people, Mapping):
        return budgets_of_tiers(people, tiers, public=True)
    held: dict[float, float] = {}
    for budget, count in zip(budgets_of_tiers(list(people), tiers, public=True).tolist(), people.values(), strict=True):
        held[budget] = held.get(budget, 0) + count
    return held
