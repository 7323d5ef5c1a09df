"""Categories: 1 where an entry is the one asked for, 0 where it is another. Types decide how they are compared."""

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

_TYPED, _UNTYPED = "biufU", "OT"  # kinds of arrays: of numbers or text; and those whose entries are read one by one


@dataclass(frozen=True)
class Category:
    """The entry that counts as 1. It exists so that columns with a type and without one are compared in one place."""

    label: str

    def values(self, column: Any) -> Floats:
        """A column as doubles: 1, 0, or NaN where it is missing. Only its type can be at fault, never an entry."""
        kind = getattr(column, "dtype", None)
        if not isinstance(kind, np.dtype) or kind.kind in _UNTYPED:
            return self.of_entries(private_entries(column))
        if kind.kind in _TYPED:
            return self._in_array(one_column(np.asanyarray(column)))
        raise InvalidInputError(
            f"equals goes with a column of numbers or text; got an array of type {kind}", name="values"
        )

    def of_entries(self, entries: Iterable[Any]) -> Floats:
        """The same of entries that may be anything, each read by itself."""
        return np.array([self._of(entry) for entry in entries], dtype=np.float64)

    def texts(self, entries: Iterable[Any]) -> list[str | None]:
        """The same as text: this label, another, or none."""
        names = {1.0: self.label, 0.0: f"not {self.label}"}
        return [names.get(value) for value in self.of_entries(entries).tolist()]

    def _of(self, entry: object) -> float:
        """Compared by its text and, if it is a number, as one; what has neither is missing."""
        number = number_or_missing(entry)
        text = text_or_missing(entry)
        if math.isnan(number) and text is None:
            return math.nan
        return float(text == self.label or number == self.number)

    @cached_property
    def number(self) -> float:
        """What the label is as a number; NaN if it is none."""
        try:
            return float(self.label)
        except ValueError:
            return math.nan

    def _in_array(self, column: NDArray[Any]) -> Floats:
        from pdpmean.sources.arrow_columns import equal_to, listed

        entry = listed((self.label,), arrow_type(column), "equals", "values")[0]
        return np.concatenate([np.empty(0), *by_parts(partial(equal_to, entry=entry), column)])
