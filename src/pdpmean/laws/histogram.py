"""Noisy histograms of distances from an anchor: what is known about a column before it is clipped.

Cells are half octaves of the distance: each ends at sqrt(2) times where it begins. So the cells cover all sizes of
numbers with the same relative resolution, and nothing need be known about the scale of a column. Values beyond a known
bound have a cell of their own, so that a wrong bound is noticed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.bounds import Bounds
from pdpmean.core.types import Floats
from pdpmean.laws.two_point import Bools

__all__ = ["CELLS", "MORE_THAN_NOISE", "Histogram", "Histograms", "half_octaves_of"]

CELLS = 192
"""Cells, each half an octave wide, on each side of the anchor."""

MORE_THAN_NOISE = 8.0
"""Nats beyond a bound that noise reaches once in 5,000 times."""


def half_octaves_of(distances: Any) -> NDArray[np.int64]:
    """The half octave k of each finite distance d > 0: ``2**(k / 2) <= d < 2**((k + 1) / 2)``, without rounding."""
    fractions, exponents = np.frexp(distances)
    places: NDArray[np.int64] = 2 * (exponents.astype(np.int64) - 1) + (fractions >= math.sqrt(0.5))
    return places


@dataclass(frozen=True, eq=False)
class Histogram:
    """The released histogram of one group: weight in nats by cell, each with Laplace noise of scale 1.

    A record lies in exactly one cell (or at the anchor, or among the missing values), so all these numbers together
    cost no more privacy than one of them.
    """

    anchor: float
    """Where distances are measured from: a private median, or a known bound."""

    first: int
    """Cell j of a side holds distances from ``2**((first + j) / 2)`` up to where the next cell begins."""

    below: Floats
    """By cell: weight of values below the anchor."""

    above: Floats
    """By cell: weight of values above the anchor."""

    far_below: float
    """Weight below the anchor and beyond the last cell."""

    far_above: float
    """Weight above the anchor and beyond the last cell."""

    center: float
    """Weight at the anchor, or nearer to it than the first cell."""

    missing: float
    """Weight of missing values."""

    below_bound: float = 0.0
    """Weight of values below the known lower bound, which are in no other cell; 0 if there is none."""

    above_bound: float = 0.0
    """The same above the known upper bound."""

    def counted_at(self, bounds: Bounds) -> Histogram:
        """The histogram with values beyond the bounds counted at the bound, and 0 beyond it if that may be noise."""
        within = replace(self, below=self.below.copy(), above=self.above.copy(), below_bound=0.0, above_bound=0.0)
        if self.below_bound > MORE_THAN_NOISE:
            within = replace(within._with_more_at(bounds.low, self.below_bound), below_bound=self.below_bound)
        if self.above_bound > MORE_THAN_NOISE:
            within = replace(within._with_more_at(bounds.high, self.above_bound), above_bound=self.above_bound)
        return within

    def _with_more_at(self, value: float, nats: float) -> Histogram:
        """The histogram with this much more weight at a value."""
        distance = abs(value - self.anchor)
        place = int(half_octaves_of(distance)) - self.first if distance else -1
        if place < 0:
            return replace(self, center=self.center + nats)
        side = "above" if value > self.anchor else "below"
        if place >= CELLS:
            return replace(self, **{f"far_{side}": getattr(self, f"far_{side}") + nats})
        cells = getattr(self, side).copy()
        cells[place] += nats
        return replace(self, **{side: cells})


@dataclass(frozen=True)
class Histograms:
    """The histograms of many groups as arrays; sides are below (0) and above (1) the anchor."""

    sides: Floats
    """By group, side and cell: the weight; 0 on closed sides."""

    far: Floats
    """By group and side: the weight beyond the last cell; 0 on closed sides."""

    center: Floats
    """By group: the weight at the anchor."""

    missing: Floats
    """By group: the weight of missing values."""

    @classmethod
    def stack(cls, histograms: Sequence[Histogram], closed: Bools) -> Histograms:
        """The histograms as arrays; `closed` says, by group and side, where a bound excludes all values."""
        sides = np.array([(group.below, group.above) for group in histograms], dtype=np.float64)
        far = np.array([(group.far_below, group.far_above) for group in histograms], dtype=np.float64)
        return cls(
            sides=sides * ~closed[..., None],
            far=far * ~closed,
            center=np.array([group.center for group in histograms], dtype=np.float64),
            missing=np.array([group.missing for group in histograms], dtype=np.float64),
        )
