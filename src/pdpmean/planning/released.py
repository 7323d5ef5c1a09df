"""Released numbers: all that leaves the rooms that see private data, beside the plan they were asked for by."""

from __future__ import annotations

from dataclasses import dataclass

from pdpmean.core.numbers import finite
from pdpmean.planning.plan import Plan

__all__ = ["Average", "Location", "Released"]


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

    @property
    def middle(self) -> float:
        """The middle of the clip."""
        return finite(self.center + self.offset)


@dataclass(frozen=True)
class Average:
    """The weighted sum of z = (value - middle) / half, clipped, over a total; that total, in nats; and an extra.

    For `shape="any"` the total is of the weights, and `square` the mean of ``z**2``. For a gaussian the total is of the
    tents, weight times ``1 - |z|``, and `near` the weight close to the middle over the same total. The noise of either
    extra is Laplace of the scale `doubt`.
    """

    mean: float
    total: float
    doubt: float
    square: float | None = None
    near: float | None = None


@dataclass(frozen=True)
class Released:
    """Everything that was released of one group: what inference may look at, and no more."""

    plan: Plan
    location: Location
    averaged: Average
    weight_squares: float | None
    """The sum of the squared weights, where that is private."""
