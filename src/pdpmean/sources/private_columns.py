"""Private columns: lists and arrays from the caller, as arrays of doubles.

Whatever is not a number becomes missing, and no entry ever raises: whether it did would reveal something about it.
"""

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

from pdpmean.core.checks import TIERS_HINT, budgets_by_tier, check_budgets, tier_budgets
from pdpmean.core.model import Model
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.sources.labels import codes_of, entries_of, in_arrow, text_of

__all__ = [
    "budgets_of_tiers",
    "has_boolean_type",
    "number_or_missing",
    "one_column",
    "people_of_tiers",
    "private_entries",
    "private_numbers",
    "private_records",
    "public_records",
    "records",
]

_NUMBERS: tuple[Any, ...] = (float, int, np.number, np.bool_, Decimal, Fraction)

_ENTRY_HINT = ". For the share of one of its entries, use estimate_mean(..., equals='yes')"


def private_numbers(numbers: Any, name: str = "values") -> Floats:
    """A private column as doubles; whatever is not a number becomes NaN.

    Only the container can raise, for its shape or for an array type that does not hold numbers. An entry never does,
    because that would reveal something about it. So entries that may be any objects are not handed to NumPy, which
    would call their methods and pass on what these raise.
    """
    if str(getattr(numbers, "dtype", "")) in ("str", "string"):  # a pandas column declared as text
        raise InvalidInputError(f"{name} must be numbers; got a column of text{_hint_on_text(name)}", name=name)
    if not hasattr(numbers, "__array__"):
        return _numbers_in(_entries(numbers, name))
    array = one_column(_as_array(numbers, name), name)
    if array.dtype == object:
        return _numbers_in(_objects(array))
    if array.dtype.kind not in "biuf":
        found = "an array of text" + _hint_on_text(name) if array.dtype.kind in "UT" else "an array of another type"
        raise InvalidInputError(f"{name} must be numbers; got {found}", name=name)
    with np.errstate(all="ignore"):
        return np.ma.filled(array.astype(np.float64, copy=False), math.nan)


def _hint_on_text(name: str) -> str:
    """What to do with a column of text."""
    return {"values": _ENTRY_HINT, "budgets": f"; {TIERS_HINT}"}.get(name, "")


def has_boolean_type(column: Any) -> bool:
    """Whether a NumPy, pandas, polars or Arrow column is boolean by its type; no entry is looked at."""
    kind = getattr(column, "dtype", getattr(column, "type", None))
    return getattr(kind, "kind", None) == "b" or str(kind) in ("Boolean", "bool")


def private_entries(column: Any, name: str = "values") -> list[Any]:
    """The entries of a private column as they are, each read by itself; None where they are masked."""
    if not hasattr(column, "__array__") or in_arrow(column) is not None:
        return _entries(column, name)
    return _objects(one_column(_as_array(column, name, np.dtype(object)), name))


def one_column(array: NDArray[Any], name: str = "values") -> NDArray[Any]:
    """The array, if it has one dimension; raises otherwise."""
    if array.ndim != 1:
        raise _not_one_column(name, array.ndim)
    return array


def _not_one_column(name: str, dimensions: int) -> InvalidInputError:
    """The error for data that are not one column."""
    return InvalidInputError(
        f"{name} must be one column of numbers; got {dimensions} dimensions", name=name, value=dimensions
    )


def _as_array(numbers: Any, name: str, kind: np.dtype[Any] | None = None) -> NDArray[Any]:
    """An object with `__array__`, as an array; a masked array stays as it is.

    Arrow fails if an entry is no Python object, which depends on that entry. The others are then read one by one.
    """
    if isinstance(numbers, np.ma.MaskedArray):
        return numbers
    with suppress(Exception):  # the message may quote an entry
        return np.asarray(numbers, kind)
    if in_arrow(numbers) is not None:
        entries = entries_of(numbers, name)
        return np.fromiter(entries, np.dtype(object), len(entries))
    raise InvalidInputError(f"{name} cannot be read as an array of numbers", name=name)


def _objects(array: NDArray[Any]) -> list[Any]:
    """The entries of an array of objects; None where they are masked."""
    mask = np.ma.getmaskarray(array).tolist()
    entries = np.ma.getdata(array, subok=False).tolist()
    return [None if is_masked else entry for entry, is_masked in zip(entries, mask, strict=True)]


def _entries(numbers: Any, name: str) -> list[Any]:
    if isinstance(numbers, (str, bytes)) or not isinstance(numbers, Iterable):
        raise _not_one_column(name, 0)
    return entries_of(numbers, name)


def _numbers_in(entries: list[Any]) -> Floats:
    if all(type(entry) is float or type(entry) is int for entry in entries):
        with suppress(OverflowError):  # an integer too large for a double; read below, it becomes infinite
            return np.array(entries, dtype=np.float64)
    return np.fromiter(map(number_or_missing, entries), np.float64, len(entries))


def number_or_missing(entry: object) -> float:
    """An entry as a double; NaN if it is not a number.

    An entry may be any object. It is read as the known type that it derives from, and its own methods are not called.
    """
    kind = next((known for known in _NUMBERS if issubclass(type(entry), known)), None)
    if kind is None or issubclass(type(entry), np.complexfloating):  # reading one as a double would warn
        return math.nan
    try:
        try:
            return float(kind.__float__(entry))
        except OverflowError:
            return math.inf if kind.__gt__(entry, 0) else -math.inf
    except Exception:  # a number that has no double
        return math.nan


def records(model: Model, values: Any, budgets: Any) -> tuple[Floats, Floats]:
    """Values and budgets as arrays of equal length. Public budgets are checked later, in the census (`Cells`)."""
    return _public_columns(values, budgets) if model.budgets_are_public else private_records(values, budgets)


def public_records(values: Any, budgets: ArrayLike) -> tuple[Floats, Floats]:
    """Values and their public budgets, checked; a single number is everyone's budget."""
    granted = check_budgets(budgets)
    return _paired(values, granted[0] if np.ndim(budgets) == 0 else granted)


def _public_columns(values: Any, budgets: ArrayLike) -> tuple[Floats, Floats]:
    """Values and their public budgets, as arrays of equal length; budgets that are doubles already are not copied."""
    if type(budgets) is np.ndarray and budgets.dtype == np.float64 and budgets.ndim == 1:
        return _paired(values, budgets)
    return public_records(values, budgets)


def _paired(values: Any, granted: Any) -> tuple[Floats, Floats]:
    """The values as doubles, and their public budgets; raises, and says so, if there are not as many."""
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
    """Values and their private budgets, as arrays of equal length.

    A budget that is not a number becomes NaN, and no error mentions a length.
    """
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
    """Whether this is one budget for everybody, judged by its container alone."""
    if hasattr(budgets, "__array__"):
        return getattr(budgets, "ndim", 1) == 0
    return isinstance(budgets, (str, bytes)) or not isinstance(budgets, Iterable)


def budgets_of_tiers(column: Any, tiers: Mapping[Any, float], *, public: bool) -> Floats:
    """The budget of each record's tier. An unknown tier raises if tiers are public; otherwise its budget is NaN."""
    known = tier_budgets(tiers)
    column = column if hasattr(column, "__len__") else entries_of(column, "budgets")
    codes = codes_of(column, tuple(known), role="tiers", name="budgets")

    def name_of(record: int) -> str:
        entry = next(islice(column, record, None))
        text = text_of(entry)
        return type(entry).__name__ if text is None else text

    return budgets_by_tier(codes, known, name_of, public=public)


def people_of_tiers(people: Any, tiers: Mapping[Any, float]) -> Any:
    """Public tiers as budgets: a column of tier names becomes one of budgets, and people per tier people per budget."""
    if not isinstance(people, Mapping):
        return budgets_of_tiers(people, tiers, public=True)
    budgets = budgets_of_tiers(list(people), tiers, public=True).tolist()
    people_by_budget: dict[float, float] = {}
    for budget, count in zip(budgets, people.values(), strict=True):
        people_by_budget[budget] = people_by_budget.get(budget, 0) + count
    return people_by_budget
