"""Released numbers: all that leaves the rooms that see private data, beside the plan they were asked for by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from pdpmean.core.numbers import finite
from pdpmean.laws.reading import Reading
from pdpmean.planning.plan import Plan

__all__ = [
    "Average",
    "BehindFarCells",
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
    """How much more is behind far cells than behind the other sums.

    Noise hides more of what they hold, so that levels which agree have other parts in them than in the other sums.
    """

    weight: float
    people: float
    """How many equally weighted people would have the same sampling error, over the same of the other sums."""


_AS_MUCH = BehindFarCells(1.0, 1.0)


@dataclass(frozen=True)
class Location:
    """A private centre, the private median of the distances to it (or half the extent), and where to clip."""

    center: float
    spread: float
    half: float
    """Half the width to clip to."""
    degenerate: bool = False
    """The spread came out as next to nothing beside the centre."""
    offset: float = 0.0
    """How far above the centre the middle of the clip lies: a skewed population reaches further on one side."""
    reading: Reading | None = None
    """What a histogram of the distances from the centre says, where one was released."""

    @property
    def middle(self) -> float:
        """The middle of the clip."""
        return finite(self.center + self.offset)


@dataclass(frozen=True)
class Average:
    """What is released of a bell: the weighted sum of z = (value - middle) / half, clipped, over the sum of tents.

    A tent is a weight times ``1 - |z|``.
    """

    mean: float
    total: float
    """The sum of the tents, in nats."""
    near: float
    """The weight close to the middle, over the sum of the tents."""
    doubt: float
    """The scale of the Laplace noise of `near`."""


@dataclass(frozen=True)
class PublicTotalSums:
    """What is released of a clip if the total weight is public: sums of weights times z from -1 to 1.

    In nats; the noise is Laplace of scale 1, and of scale 2 on the spread.
    """

    values: float
    """Of z."""
    spread: float
    """Of ``1 - z**2``."""
    missing: float
    """Of 1, over those whose value is missing; they are in no other sum."""
    weight: float
    """The total weight, which is public: of those whose value is missing or far, too."""
    below: _Cells = ()
    """Far values below the clip, in half octaves from the middle: of the part of the cell's end that they reach."""
    above: _Cells = ()
    """The same above the clip. Far values are in no other sum."""
    behind_far: BehindFarCells = _AS_MUCH


@dataclass(frozen=True)
class PrivateTotalSums:
    """What is released of a clip if the total weight is private: sums of weights times parts of 1.

    For values u from 0 to 1 the parts are ``(1 - u)**2``, ``2 u (1 - u)`` and ``u**2``. In nats; the noise is Laplace
    of scale 1 on each.
    """

    low: float
    middle: float
    high: float
    missing: float
    """Of 1, over those whose value is missing; they are in no other sum."""
    below: _Cells = ()
    """Far values, as in `PublicTotalSums`."""
    above: _Cells = ()
    behind_far: BehindFarCells = _AS_MUCH

    @property
    def weight(self) -> float:
        """The noisy total weight of those whose value is neither missing nor far."""
        return self.low + self.middle + self.high


SumsOfOne = Average | PublicTotalSums | PrivateTotalSums
"""What is released of records that are summed together."""


@dataclass(frozen=True)
class LevelSums:
    """What is released where levels of budgets are summed apart: the sums of each, with noise of their own."""

    levels: tuple[SumsOfOne, ...]


ReleasedSums = SumsOfOne | LevelSums


@dataclass(frozen=True)
class Released:
    """Everything that was released of one group: what inference may look at, and no more."""

    plan: Plan
    location: Location
    averaged: ReleasedSums
    weight_squares: float | None
    """The sum of the squared weights, where that is private."""
