"""Locate: where the population lies and how wide it is, by the exponential mechanism over all doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pdpmean.clipped_normal import MEDIAN_SIZE
from pdpmean.diffusion import WEIGHT_UNIT, round_down
from pdpmean.inputs import Floats
from pdpmean.lattice import Lattice, double_of, keys_of
from pdpmean.planned import Plan
from pdpmean.randomness import Randomness
from pdpmean.selection import choose_segment

__all__ = ["Location", "first_small_tail", "integer_weights", "locate", "locate_radius", "private_median"]

SPREAD_GRAIN = 2**40  # doubles in a cell: 2**-12 of the spread

# The radius of shape="any": octaves tried, and the weight that may stay outside, in nats.
_OCTAVES = range(-1074, 1024)
_TAIL = 16
_QUERY_SCALE, _THRESHOLD_SCALE = 4 * WEIGHT_UNIT, math.nextafter(4 * WEIGHT_UNIT / 3, math.inf)


@dataclass(frozen=True)
class Location:
    """A private centre, and the private median (or, for shape "any", a tail) of the distances to it."""

    center: float
    spread: float
    degenerate: bool = False
    """The spread came out as next to nothing beside the centre."""


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
        radius = locate_radius(values, center, rest, randomness)
        return Location(center, radius, radius <= max(16 * cell, 2.0**-1000)), radius
    spread = private_median(_distances(values, center), rest, plan.spread_lattice, randomness, grain=SPREAD_GRAIN)
    most = float(np.finfo(np.float64).max) / 8 / max(plan.clip_width, 1.0)
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
    present = ~np.isnan(values)
    first, end = lattice.starts[0], lattice.starts[-1]
    keys = np.clip(keys_of(values[present]) // grain * grain, first // grain * grain - grain, end)
    order = np.argsort(keys, kind="stable")  # merges what is in order already
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([keys[:1] == keys[:1], keys[1:] != keys[:-1]]))
    points = keys[starts]
    # passed[j]: the weight below point j, and last the weight of all.
    passed = np.concatenate([[0], np.cumsum(weights[present][order])])[np.concatenate([starts, [keys.size]])]

    # Beyond either end nothing can be chosen, but values there still count on their side.
    outside = points.size and points[0] + grain <= first
    beyond = points.size and points[-1] >= end
    low, high = int(outside), points.size - int(beyond)
    points = points[low:high]
    borders = np.repeat(np.concatenate([[first], points, [end]]), 2)[1:-1]
    borders[2:-1:2] += grain
    borders = np.clip(borders, first, end)
    twice = np.repeat(passed[low : high + 1], 2)
    below, above = twice[:-1], passed[-1] - twice[1:]

    chosen = choose_segment(
        lattice.log_measures(borders),
        lambda segment: lattice.below(int(borders[segment + 1])) - lattice.below(int(borders[segment])),
        np.maximum(2 * np.maximum(below, above) - passed[-1], 0),
        0.5 / WEIGHT_UNIT,
        randomness,
    )
    start, stop = (lattice.below(int(border)) for border in borders[chosen : chosen + 2])
    return double_of(lattice.key_at(start + randomness.below(stop - start)))


def locate_radius(values: Floats, center: float, weights: NDArray[np.int64], randomness: Randomness) -> float:
    """Twice the first power of two beyond which, noisily, at most 16 nats of weight lie from the centre.

    Record i's loss is ``weights[i] / WEIGHT_UNIT``. Missing values take no part.
    """
    distances = _distances(values, center)
    present = ~np.isnan(distances)
    _, exponents = np.frexp(distances[present])
    exponents = np.where(distances[present] == 0, _OCTAVES.start, exponents)  # frexp(0) says 0, as for [1/2, 1)
    octave = np.where(np.isinf(distances[present]), _OCTAVES.stop, exponents) - _OCTAVES.start
    sums = np.zeros(len(_OCTAVES) + 2, dtype=np.int64)
    np.add.at(sums, np.clip(octave, 0, sums.size - 1), weights[present])
    tails = (np.cumsum(sums[::-1])[::-1] - sums)[: len(_OCTAVES)]
    return math.ldexp(1.0, min(_OCTAVES[first_small_tail(tails.tolist(), randomness)] + 1, 1023))


def first_small_tail(tails: list[int], randomness: Randomness) -> int:
    """The first index whose tail is noisily at most 16 nats; the last one if none is.

    A sparse vector for queries that one record can only raise, by at most its weight w, all together. With threshold
    noise of scale 4/3 and query noise of scale 4 its loss is at most 3 w / 4 + w / 4 (docs/guarantee.md, "Radius").
    """
    threshold = randomness.add_laplace(_TAIL * WEIGHT_UNIT, _THRESHOLD_SCALE)
    for index, tail in enumerate(tails):
        if not randomness.add_laplace(tail, _QUERY_SCALE) > threshold:
            return index
    return len(tails) - 1
