"""Categories: values that are 1 where an entry equals a given one, and 0 where it does not.

The type of a column decides how entries are compared. Without a type, each entry is compared as text and as a number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.sources.labels import arrow_type, by_parts, text_or_missing
from pdpmean.sources.private_columns import number_or_missing, one_column, private_entries

__all__ = ["Category"]

# Kinds of NumPy arrays: numbers or text, and those whose entries are read one by one.
_TYPED = "biufU"
_UNTYPED = "OT"


@dataclass(frozen=True)
class Category:
    """The entry that counts as 1. It exists so that all comparisons are in one place, for columns of any kind."""

    label: str

    def values(self, column: Any) -> Floats:
        """A column as doubles: 1, 0, or NaN where an entry is missing. Only the type can raise, never an entry."""
        kind = getattr(column, "dtype", None)
        if not isinstance(kind, np.dtype) or kind.kind in _UNTYPED:
            return self.of_entries(private_entries(column))
        if kind.kind in _TYPED:
            return self._in_array(one_column(np.asanyarray(column)))
        raise InvalidInputError(
            f"equals goes with a column of numbers or text; got an array of type {kind}", name="values"
        )

    def of_entries(self, entries: Iterable[Any]) -> Floats:
        """The values of entries that may be any objects, each read by itself."""
        return np.array([self._of(entry) for entry in entries], dtype=np.float64)

    def texts(self, entries: Iterable[Any]) -> list[str | None]:
        """The values as text: the label, another text, or None where an entry is missing."""
        names = {1.0: self.label, 0.0: f"not {self.label}"}
        return [names.get(value) for value in self.of_entries(entries).tolist()]

    def _of(self, entry: object) -> float:
        """The value of one entry, which is compared as text and as a number; it is missing if it is neither."""
        number = number_or_missing(entry)
        text = text_or_missing(entry)
        if math.isnan(number) and text is None:
            return math.nan
        return float(text == self.label or number == self.number)

    @cached_property
    def number(self) -> float:
        """The label as a number; NaN if it is not a number."""
        try:
            return float(self.label)
        except ValueError:
            return math.nan

    def _in_array(self, column: NDArray[Any]) -> Floats:
        from pdpmean.sources.arrow_columns import equal_to, listed

        entry = listed((self.label,), arrow_type(column), "equals", "values")[0]
        return np.concatenate([np.empty(0), *by_parts(partial(equal_to, entry=entry), column)])
