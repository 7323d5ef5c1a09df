"""What a shape of population decides in this room: how its width is found, and what is summed and released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pdpmean.core.integers import from_words
from pdpmean.core.types import Counts, Floats
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, ReleasedSums
from pdpmean.randomness import Randomness
from pdpmean.release.clip import Clip

__all__ = ["ShapeRelease", "Sums"]


class Sums(NamedTuple):
    """The exact sums over the records of a group: of W z, of W where it counts, of W times the extra, of W missing."""

    values: int
    counted: int
    extra: int
    missing: int

    @classmethod
    def of(cls, row: Sequence[int]) -> Sums:
        """From a row of the table that `Summing` fills."""
        return cls(from_words(*row[:2]), row[2], from_words(*row[3:5]), row[5])


class ShapeRelease(Protocol):
    """One per shape; `shapes.py` lists them."""

    def public_location(self, plan: Plan) -> Location | None:
        """Where the population publicly lies; None if it must be located."""

    def extents(
        self,
        values: Floats,
        weights: Counts,
        sizes: Counts,
        centers: Sequence[float],
        plans: Sequence[Plan],
        randomness: Randomness,
    ) -> list[Location]:
        """The location of each group around its centre; a record may cost its weight."""

    def clip(self, plan: Plan, location: Location) -> Clip:
        """What is summed, and how."""

    def release(self, plan: Plan, clip: Clip, sums: Sums, randomness: Randomness) -> ReleasedSums:
        """The sums with noise: a record costs at most its share."""
