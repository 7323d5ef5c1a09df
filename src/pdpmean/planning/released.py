"""Types of released numbers: with the plan, all that leaves the rooms that see private data.

`release` fills them in and `inference` reads them. Neither room imports the other, so that inference cannot reach
anything that was not released.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pdpmean.core.numbers import finite
from pdpmean.laws.reading import Reading
from pdpmean.planning.plan import Plan

__all__ = [
    "BehindFarCells",
    "BellSums",
    "LevelSums",
    "Location",
    "PrivateTotalSums",
    "PublicTotalSums",
    "Released",
    "ReleasedSums",
    "SumsOfOne",
]

_Cells = tuple[float, ...]


class BehindFarCells(NamedTuple):
    """The weight and the people behind the far cells, as ratios to those behind the other sums.

    They differ if levels of budgets are combined that agree. Far cells hold little beside their noise, so they are
    combined in a way of their own, in which they are seen best.
    """

    weight_ratio: float
    people_ratio: float
    """Of the numbers of equally weighted people who would have the same sampling error."""


_AS_MUCH = BehindFarCells(1.0, 1.0)


@dataclass(frozen=True)
class Location:
    """Where the population lies, as released by `locate`, and where to clip. All in the unit of the values."""

    center: float
    """A private median, a known bound, or the middle of two known bounds."""
    half: float
    """Half the width of the clip."""
    median_distance: float | None = None
    """The private median of the distances from the centre; released only for a bell-shaped population."""
    degenerate: bool = False
    """Whether that distance is next to nothing compared with the centre, as if all values were equal."""
    offset: float = 0.0
    """How far above the centre the middle of the clip lies: a skewed population extends further on one side."""
    reading: Reading | None = None
    """What the released histogram of the distances from the centre says, if there is one."""

    @cached_property
    def middle(self) -> float:
        """The middle of the clip."""
        return finite(self.center + self.offset)


@dataclass(frozen=True)
class BellSums:
    """The released sums of a bell-shaped population, as ratios to the sum of tents.

    With weights w and clipped values z = (value - middle) / half in [-1, 1], a tent is ``w (1 - |z|)``.
    """

    mean: float
    """The sum of ``w z``, relative to the sum of tents."""
    tents: float
    """The sum of tents, in nats."""
    near: float
    """The weight of the values close to the middle, relative to the sum of tents."""
    near_noise_scale: float
    """The scale of the Laplace noise of `near`."""


@dataclass(frozen=True)
class PublicTotalSums:
    """The released sums of clipped values if the total weight is public.

    They are sums over all records, in nats, of weights w times functions of the clipped value z in [-1, 1]. The noise
    is Laplace of scale 1, and of scale 2 on the weight less squares.
    """

    values: float
    """The sum of ``w z``."""
    weight_less_squares: float
    """The sum of ``w (1 - z**2)``: the smaller, the more widely the values are spread."""
    missing: float
    """The sum of w over the records whose value is missing; they are in no other sum."""
    total_weight: float
    """The total weight, which is public. It includes records whose value is missing or far."""
    below: _Cells = ()
    """One sum per cell of far values below the clip. Cells are half octaves of the distance from the middle.

    A far value adds w times its distance, relative to the outer end of its cell. It is in no other sum.
    """
    above: _Cells = ()
    """The same above the clip."""
    behind_far: BehindFarCells = _AS_MUCH


@dataclass(frozen=True)
class PrivateTotalSums:
    """The released sums of clipped values if the total weight is private, in nats.

    A record of weight w and clipped value u in [0, 1] adds ``w (1 - u)**2``, ``2 w u (1 - u)`` and ``w u**2`` to the
    first three sums. These add up to w, so that they also estimate the total. The noise on each sum is Laplace of scale
    1.
    """

    low: float
    middle: float
    high: float
    missing: float
    """The sum of w over the records whose value is missing; they are in no other sum."""
    below: _Cells = ()
    """Far values below the clip, as in `PublicTotalSums`."""
    above: _Cells = ()
    behind_far: BehindFarCells = _AS_MUCH

    @property
    def weight_inside(self) -> float:
        """The noisy weight of the records whose value is neither missing nor far."""
        return self.low + self.middle + self.high


SumsOfOne = BellSums | PublicTotalSums | PrivateTotalSums
"""The released sums of records that are summed together."""


@dataclass(frozen=True)
class LevelSums:
    """The released sums of levels of budgets that are summed separately, each with noise of its own."""

    levels: tuple[SumsOfOne, ...]


ReleasedSums = SumsOfOne | LevelSums


@dataclass(frozen=True)
class Released:
    """Everything that was released about one group, which is all that inference may look at."""

    plan: Plan
    location: Location
    averaged: ReleasedSums
    weight_squares: float | None
    """The noisy sum of the squared weights; None if it is public, or not needed."""
