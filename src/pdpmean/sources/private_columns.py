"""Columns that a caller hands in, as arrays; whatever is not a number becomes a missing one, and no entry raises."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.core.checks import budgets_by_tier, check_budgets, tier_budgets
from pdpmean.core.model import Model
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.sources.labels import codes_of, entries_of, text_of

__all__ = [
    "budgets_of_tiers",
    "has_type_of_yes_and_no",
    "number_or_missing",
    "one_column",
    "people_of_tiers",
    "private_entries",
    "private_numbers",
    "private_records",
    "public_columns",
    "public_records",
    "records",
]

_NUMBERS: tuple[Any, ...] = (float, int, np.number, np.bool_, Decimal, Fraction)


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
    array = one_column(_as_array(numbers, name), name)
    if array.dtype == object:
        return _numbers_in(_objects(array))
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"{name} must be numbers; got an array of another type, such as text or dates", name=name
        )
    with np.errstate(all="ignore"):
        return np.ma.filled(array.astype(np.float64, copy=False), math.nan)


def has_type_of_yes_and_no(column: Any) -> bool:
    """Whether the type of a column of NumPy, pandas, polars or Arrow is that of yes and no; no entry is looked at."""
    kind = getattr(column, "dtype", getattr(column, "type", None))
    return getattr(kind, "kind", None) == "b" or str(kind) in ("Boolean", "bool")


def private_entries(column: Any, name: str = "values") -> list[Any]:
    """The entries of a private column of no type, as they are; None where they are masked."""
    if not hasattr(column, "__array__"):
        return _entries(column, name)
    return _objects(one_column(_as_array(column, name, np.dtype(object)), name))


def one_column(array: NDArray[Any], name: str = "values") -> NDArray[Any]:
    """The array, if it is one column."""
    if array.ndim != 1:
        raise _not_one_column(name, array.ndim)
    return array


def _not_one_column(name: str, dimensions: int) -> InvalidInputError:
    """What to raise for what is no column."""
    return InvalidInputError(
        f"{name} must be one column of numbers; got {dimensions} dimensions", name=name, value=dimensions
    )


def _as_array(numbers: Any, name: str, kind: np.dtype[Any] | None = None) -> NDArray[Any]:
    """What offers an array, as that; masked, and of its own type, if it is."""
    if isinstance(numbers, np.ma.MaskedArray):
        return numbers
    with suppress(Exception):  # which may quote an entry
        return np.asarray(numbers, kind)
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
    return np.fromiter(map(number_or_missing, entries), np.float64, len(entries))


def number_or_missing(entry: object) -> float:
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
            f"values and budgets must go together, one budget per value; got {numbers.size} values and "
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
            "values and budgets must go together, one budget per value; their lengths differ", name="budgets"
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

    def name_of(record: int) -> str:
        entry = next(islice(column, record, None))
        return text_of(entry) or type(entry).__name__

    return budgets_by_tier(codes, known, name_of, public=public)


def people_of_tiers(people: Any, tiers: Mapping[Any, float]) -> Any:
    """Public tiers as budgets: a column of names, or how many people each name has."""
    if not isinstance(people, Mapping):
        return budgets_of_tiers(people, tiers, public=True)
    held: dict[float, float] = {}
    for budget, count in zip(budgets_of_tiers(list(people), tiers, public=True).tolist(), people.values(), strict=True):
        held[budget] = held.get(budget, 0) + count
    return held
