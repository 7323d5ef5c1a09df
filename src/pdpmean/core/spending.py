"""Spending: what a release has cost people according to their ledger, and how many of them have budget left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pdpmean.core.text import short

__all__ = ["Spending"]


@dataclass(frozen=True)
class Spending:
    """What a release costs those who take part, as far as that is public. It exists so that every answer can say so."""

    least: float
    """The smallest cost of anybody, in nats."""
    most: float
    """The largest cost of anybody, in nats."""
    people_left: int | None = None
    """How many people in the ledger have budget left; None if that is private, or could not be read."""
    people: int | None = None
    """How many people are in the ledger."""

    def __str__(self) -> str:
        ends = list(dict.fromkeys(short(end, 4) for end in (self.least, self.most)))
        cost = f"{' to '.join(ends)} per person"
        if self.people_left is None:
            return cost
        return f"{cost}; {self.people_left:,} of the {self.people:,} people in the ledger have budget left"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, ready for JSON."""
        return {"least": self.least, "most": self.most, "people_left": self.people_left, "people": self.people}
