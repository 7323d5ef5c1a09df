"""Asked: what an estimate is of, so that a result can say it: a column, or the share of one of its entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pdpmean.core.options import Options

__all__ = ["NAMELESS", "Asked"]


@dataclass(frozen=True)
class Asked:
    """The column, where it has a name, and the entry whose share is asked for, if one is. All of it is public."""

    column: str | None = None
    equals: str | None = None
    yes_or_no: bool = False
    """Whether the type of the column is that of yes and no."""

    @classmethod
    def of(cls, values: Any, options: Options) -> Asked:
        """What the options name; or the name that a column of pandas or polars has of its own."""
        name = getattr(values, "name", None) if options.value is None else options.value
        return cls(name if isinstance(name, str) and name else None, options.equals, options.yes_or_no)

    @property
    def is_share(self) -> bool:
        """Whether the mean is that of yes and no."""
        return self.equals is not None or self.yes_or_no

    @property
    def in_words(self) -> str:
        """What the number is: "Mean of hours", or "Share of insured = yes"."""
        if not self.is_share:
            return "Mean" if self.column is None else f"Mean of {self.column}"
        entry = "True" if self.equals is None else self.equals
        return f"Share of {entry}" if self.column is None else f"Share of {self.column} = {entry}"


NAMELESS = Asked()
"""A mean of a column without a name."""
