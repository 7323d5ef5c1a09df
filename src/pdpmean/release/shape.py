"""What a shape of population decides in this room: how its width is found, and what is summed and released."""

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
    """The exact sums over the records of a group: of W z, of W where it counts, of W times the extra, of W missing."""

    values: int
    counted: int
    extra: int
    missing: int
    far_weight: int = 0
    """Of W, of far values; they and missing ones are in none of the first three."""
    far: tuple[int, ...] = ()
    """Of the cells of far values, those below first, each side from the middle outwards."""

    @classmethod
    def of(cls, row: Sequence[int]) -> ExactSums:
        """From a row of the table that `Summing` fills."""
        far = tuple(map(from_words, row[FIRST_FAR::2], row[FIRST_FAR + 1 :: 2]))
        return cls(from_words(*row[:2]), row[2], from_words(*row[3:5]), row[5], sum(row[FAR_WEIGHT:FIRST_FAR]), far)

    @property
    def everybody(self) -> int:
        """Of W, of everybody, with squares: from budgets alone."""
        return self.counted + self.missing + self.far_weight


class KeptGroups(NamedTuple):
    """The kept records of some groups, one group after the other, each sorted; and where their centres were found."""

    values: Floats
    weights: Counts
    """What each record may cost for the width of its group, in units of 1 / WEIGHT_UNIT nats."""
    sizes: Counts
    centers: Sequence[float]
    plans: Sequence[Plan]


class ShapeRelease(Protocol):
    """One per shape; `shapes.py` lists them."""

    def public_location(self, plan: Plan) -> Location | None:
        """Where the population publicly lies; None if it must be located."""

    def clip(self, plan: Plan, location: Location) -> Clip:
        """What is summed, and how."""

    def release(self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness) -> SumsOfOne:
        """The sums with noise: a record costs at most its share."""


class LocatingRelease(ShapeRelease, Protocol):
    """A shape whose population must be located."""

    def located_values(self, plan: Plan, values: Floats) -> Floats:
        """What is located of the values, in the same order."""

    def center_lattice(self, plan: Plan) -> Lattice:
        """Where the centre is sought, and which numbers are preferred beforehand."""

    def extents(self, kept: KeptGroups, randomness: Randomness) -> list[Location]:
        """The location of each group around its centre; a record may cost its weight."""
