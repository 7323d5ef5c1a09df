"""Locate: where the population lies and how wide it is, by the exponential mechanism over all doubles."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pdpmean.clipped_normal import MEDIAN_SIZE
from pdpmean.diffusion import WEIGHT_UNIT, round_down
from pdpmean.extent import find_extent
from pdpmean.inputs import Floats
from pdpmean.interval import finite
from pdpmean.lattice import Lattice, double_of, keys_of
from pdpmean.planned import Plan
from pdpmean.randomness import Randomness
from pdpmean.selection import choose_segment

__all__ = ["Location", "integer_weights", "locate", "private_median"]

SPREAD_GRAIN = 2**40  # doubles in a cell: 2**-12 of the spread


@dataclass(frozen=True)
class Location:
    """A private centre, and the private median of the distances to it or, for shape "any", half the extent."""

    center: float
    spread: float
    degenerate: bool = False
    """The spread came out as next to nothing beside the centre."""
    offset: float = 0.0
    """How far above the centre the middle of the clip lies: a skewed population reaches further on one side."""

    @property
    def middle(self) -> float:
        """The middle of the clip."""
        return finite(self.center + self.offset)


def locate(values: Floats, weights: Floats, plan: Plan, randomness: Randomness) -> tuple[Location, float]:
    """Centre and spread of the kept values, and half the width to clip to.

    Record i may cost ``weights[i]`` nats: a part of it for the centre, the rest for the spread.
    """
    order = np.argsort(values)  # once: around the centre, distances then fall and rise again, and are sorted at once
    values, weights = values[order], weights[order]
    part = float(plan.shares["center"] / (plan.shares["center"] + plan.shares["scale"]))
    center_weights = integer_weights(round_down(weights * part))
    center = private_median(values, center_weights, plan.center_lattice, randomness, grain=plan.center_grain)
    cell = plan.center_grain * math.ulp(center)  # what the centre is not told apart from, about
    rest = integer_weights(round_down(weights * (1 - part)))
    if plan.shape == "any":
        below, above = find_extent(values, center, rest, cell, randomness)
        half = below / 2 + above / 2
        return Location(center, half, half <= max(16 * cell, 2.0**-1000), above / 2 - below / 2), half
    spread = private_median(_distances(values, center), rest, plan.spread_lattice, randomness, grain=SPREAD_GRAIN)
    most = sys.float_info.max / 8 / max(plan.clip_width, 1.0)
    degenerate = spread <= max(4 * cell, 2.0**-1000)
    location = Location(center, min(max(spread, 2.0**-1000), most), degenerate)
    return location, plan.clip_width * location.spread / MEDIAN_SIZE


def integer_weights(weights: Floats) -> NDArray[np.int64]:
    """Weights in units of 1 / WEIGHT_UNIT nats, rounded down."""
    return np.floor(weights * WEIGHT_UNIT).astype(np.int64)


def _distances(values: Floats, center: float) -> Floats:
    with np.errstate(all="ignore"):
        return np.abs(values - center)


def private_median(
    values: Floats, weights: NDArray[np.int64], lattice: Lattice, randomness: Randomness, *, grain: int = 1
) -> float:
    """A double y, drawn in proportion to its multiplicity times ``exp(-excess(y) / 2)``.

    The excess is how far the weight on the heavier side of y is above half of all, twice over and in nats:
    ``max(0, 2 max(below, above) - all)``. One record more or less changes it by at most its weight, whichever y, and so
    the probability of y by at most a factor ``exp(weight)``. Missing values take no part.

    Values are taken together in cells of `grain` neighbouring doubles, and values in the cell of y are on neither side:
    where many values are equal, their one double would hardly ever be found.
    """
    borders, penalties = _segments(values, weights, lattice, grain)
    chosen = choose_segment(
        lattice.log_measures(borders),
        lambda segment: lattice.below(int(borders[segment + 1])) - lattice.below(int(borders[segment])),
        penalties,
        0.5 / WEIGHT_UNIT,
        randomness,
    )
    start, stop = (lattice.below(int(border)) for border in borders[chosen : chosen + 2])
    return double_of(lattice.key_at(start + randomness.below(stop - start)))


def _segments(
    values: Floats, weights: NDArray[np.int64], lattice: Lattice, grain: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The borders of runs of doubles that are alike, cells with values and gaps between them, and each run's excess."""
    present = ~np.isnan(values)
    first, end = lattice.starts[0], lattice.starts[-1]
    keys = np.minimum(np.maximum(keys_of(values[present]) // grain * grain, first // grain * grain - grain), end)
    order = np.argsort(keys, kind="stable")  # merges what is in order already
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
    points = keys[starts]
    # How much more weight is below each point than not; and last, below the end.
    passed = np.concatenate([[0], np.cumsum(weights[present][order])])
    more = (2 * passed - passed[-1])[np.append(starts, keys.size)]

    # Beyond either end nothing can be chosen, but values there still count on their side.
    low = int(points.size and points[0] + grain <= first)
    high = points.size - int(points.size and points[-1] >= end)
    points, more = points[low:high], more[low : high + 1]
    borders = np.empty(2 * points.size + 2, dtype=np.int64)
    borders[0], borders[1:-1:2], borders[2:-1:2], borders[-1] = first, points, points + grain, end
    borders[1], borders[-2] = max(borders[1], first), min(borders[-2], end)  # a cell may lie across an end
    excess = np.empty(2 * points.size + 1, dtype=np.int64)
    excess[::2] = np.abs(more)
    excess[1::2] = np.maximum(np.maximum(more[:-1], -more[1:]), 0)
    return borders, excess
