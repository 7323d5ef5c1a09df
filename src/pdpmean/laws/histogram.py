"""A noisy histogram of distances from an anchor: what is known of a column before it is clipped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.two_point import Bools

__all__ = ["CELLS", "Cells", "Histogram"]

CELLS = 192
"""Half octaves of the distance on each side of the anchor."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """Weight in nats by side of the anchor and half octave of the distance, each with Laplace noise of scale 1.

    A record lies in exactly one of these, so all of them together cost what one would.
    """

    anchor: float
    """A private median, or a known bound."""

    first: int
    """Cell j of a side holds distances from ``2**((first + j) / 2)`` on, up to where the next one begins."""

    below: Floats
    above: Floats
    far_below: float
    """Weight beyond the last cell."""

    far_above: float
    center: float
    """Weight at the anchor, or nearer to it than the first cell."""

    missing: float
    """Weight of missing values."""


@dataclass(frozen=True)
class Cells:
    """Histograms of many groups as arrays; the sides are below (0) and above (1)."""

    sides: Floats
    """By group, side and cell; a side on which nothing can lie has no weight."""

    far: Floats
    """By group and side."""

    center: Floats
    missing: Floats

    @classmethod
    def stack(cls, histograms: Sequence[Histogram], closed: Bools) -> Cells:
        """Of histograms with some sides `closed`, by group and side: beyond a bound there are no values."""
        sides = np.array([(group.below, group.above) for group in histograms], dtype=np.float64)
        far = np.array([(group.far_below, group.far_above) for group in histograms], dtype=np.float64)
        return cls(
            sides=sides * ~closed[..., None],
            far=far * ~closed,
            center=np.array([group.center for group in histograms], dtype=np.float64),
            missing=np.array([group.missing for group in histograms], dtype=np.float64),
        )
