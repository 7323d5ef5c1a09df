"""Question: what an estimate answers, the mean of a column or the share of one of its entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pdpmean.core.options import Options

__all__ = ["NAMELESS", "Question"]


@dataclass(frozen=True)
class Question:
    """The question that an estimate answers, all of it public. It exists so that a result can say what was asked."""

    column: str | None = None
    """The name of the column of values, if it has one."""
    equals: str | None = None
    """The entry whose share is estimated, if there is one."""
    is_boolean: bool = False
    """Whether the column is boolean, by its type."""

    @classmethod
    def of(cls, values: Any, options: Options) -> Question:
        """The question that these options ask. A pandas or polars column that is passed itself has its own name."""
        name = getattr(values, "name", None) if options.value is None else options.value
        return cls(name if isinstance(name, str) and name else None, options.equals, options.is_boolean)

    @property
    def is_share(self) -> bool:
        """Whether the mean is a share, because all values are 0 or 1."""
        return self.equals is not None or self.is_boolean

    @property
    def in_words(self) -> str:
        """The question in words, such as "Mean of hours" or "Share of insured = yes"."""
        if not self.is_share:
            return "Mean" if self.column is None else f"Mean of {self.column}"
        entry = "True" if self.equals is None else self.equals
        return f"Share of {entry}" if self.column is None else f"Share of {self.column} = {entry}"


NAMELESS = Question()
"""The mean of a column without a name."""
