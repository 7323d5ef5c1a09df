"""What a shape must provide to be released: how its width is found, what is summed, and with how much noise.

Each shape of population implements the protocols below, in a module of its own. `locate` and `average` call them, and
so do not depend on any particular shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from pdpmean.core.integers import from_words
from pdpmean.core.rules import FAR_WEIGHT, FIRST_FAR
from pdpmean.core.types import Counts, Floats
from pdpmean.laws.lattice import Lattice
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, SumsOfOne
from pdpmean.randomness import Randomness
from pdpmean.release.clip import Clip

__all__ = ["ExactSums", "KeptGroups", "LocatingRelease", "ShapeRelease"]


class ExactSums(NamedTuple):
    """The exact sums over the records of a group or level, before any noise: private.

    W is a record's integer weight and z its clipped value in steps; `Summing` says what is summed.
    """

    values: int
    """Sum of W z."""
    counted: int
    """Sum of W: with squares, over all values that are neither missing nor far; otherwise, over the near ones."""
    extra: int
    """Sum of W times the extra: with squares ``floor(z**2 / H)``, otherwise the tent ``H - |z|``."""
    missing: int
    """Sum of W over missing values; 0 without squares."""
    far_weight: int = 0
    """Sum of W over far values. Far and missing values are in none of the first three sums."""
    far: tuple[int, ...] = ()
    """The sum of each far cell: those below the middle first, each side from the middle outwards."""

    @classmethod
    def of(cls, row: Sequence[int]) -> ExactSums:
        """The sums in a row of the table that `Summing` fills."""
        far = tuple(map(from_words, row[FIRST_FAR::2], row[FIRST_FAR + 1 :: 2]))
        return cls(from_words(*row[:2]), row[2], from_words(*row[3:5]), row[5], sum(row[FAR_WEIGHT:FIRST_FAR]), far)

    @property
    def total_weight(self) -> int:
        """With squares, the sum of W over all records: it depends on budgets alone, not on values."""
        return self.counted + self.missing + self.far_weight


class KeptGroups(NamedTuple):
    """The sampled records of several groups, and the released centre of each.

    Records come one group after the other, and sorted by value within each.
    """

    values: Floats
    weights: Counts
    """What each record may cost for the width of its group, in units of 1 / WEIGHT_UNIT nats."""
    sizes: Counts
    """How many records each group has."""
    centers: Sequence[float]
    plans: Sequence[Plan]


class ShapeRelease(Protocol):
    """How a population of some shape is released; `shapes.py` lists the implementations."""

    def public_location(self, plan: Plan) -> Location | None:
        """Where the population lies, if that is public; None if it must be located."""

    def clip(self, plan: Plan, location: Location) -> Clip:
        """The clipping bounds, and what is summed."""

    def release(self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness) -> SumsOfOne:
        """The sums with their noise: a record's loss is at most its share."""


class LocatingRelease(ShapeRelease, Protocol):
    """How a population of some shape is located and released."""

    def located_values(self, plan: Plan, values: Floats) -> Floats:
        """The values whose median is the centre, in the same order."""

    def center_lattice(self, plan: Plan) -> Lattice:
        """The candidates for the centre, with their prior measure."""

    def extents(self, kept: KeptGroups, randomness: Randomness) -> list[Location]:
        """The location of each group, from its centre and its released width: a record's loss is at most its weight."""
