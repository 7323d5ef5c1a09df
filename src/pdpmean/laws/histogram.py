"""Noisy histograms of distances from an anchor: what is known about a column before it is clipped.

Cells are half octaves of the distance: each ends at sqrt(2) times where it begins. So the cells cover all sizes of
numbers with the same relative resolution, and nothing need be known about the scale of a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.two_point import Bools

__all__ = ["CELLS", "Cells", "Histogram"]

CELLS = 192
"""Cells, each half an octave wide, on each side of the anchor."""


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


@dataclass(frozen=True)
class Cells:
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
    def stack(cls, histograms: Sequence[Histogram], closed: Bools) -> Cells:
        """The histograms as arrays; `closed` says, by group and side, where a bound excludes all values."""
        sides = np.array([(group.below, group.above) for group in histograms], dtype=np.float64)
        far = np.array([(group.far_below, group.far_above) for group in histograms], dtype=np.float64)
        return cls(
            sides=sides * ~closed[..., None],
            far=far * ~closed,
            center=np.array([group.center for group in histograms], dtype=np.float64),
            missing=np.array([group.missing for group in histograms], dtype=np.float64),
        )
