"""Locate: where the population lies and how wide it is, by the exponential mechanism over all doubles."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.threads import in_threads
from pdpmean.core.types import Counts, Floats
from pdpmean.core.weights import WEIGHT_UNIT, round_down
from pdpmean.laws.clipped_normal import MEDIAN_SIZE
from pdpmean.laws.error_law import finite
from pdpmean.laws.lattice import Lattice, double_of, keys_of
from pdpmean.passes.batch import Batch
from pdpmean.planning.plan import Plan
from pdpmean.randomness import Randomness
from pdpmean.release.exact_choice import choose_segments
from pdpmean.release.extent import find_extent

__all__ = ["Location", "integer_weights", "locate", "private_medians"]

SPREAD_GRAIN = 2**40  # doubles in a cell: 2**-12 of the spread
_TOGETHER = 2**16  # values of groups that are located at once; the arrays of more leave the processor's cache


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


def locate(
    kept: Batch, weigh: Callable[[Batch], Floats], plans: Sequence[Plan | None], randomness: Randomness
) -> list[tuple[Location, float] | None]:
    """Centre and spread of the kept values of each group with a plan, and half the width to clip to.

    A record may cost as many nats as `weigh` says: a part of them for the centre, the rest for the spread.
    """
    groups = [(own, plan) for own, plan in zip(kept.by_group(len(plans)), plans, strict=True) if plan]
    portions = (np.cumsum([own.size for own, _ in groups]) // _TOGETHER).tolist()

    def one(task: tuple[list[tuple[NDArray[np.intp], Plan]], Randomness]) -> list[tuple[Location, float]]:
        records, chosen = zip(*task[0], strict=True)
        # In order: around the centre, distances then fall and rise again, and are sorted at once.
        some = kept.at(np.concatenate([own[np.argsort(kept.values[own])] for own in records]))
        return _locate_some(some.values, weigh(some), np.array([own.size for own in records]), chosen, task[1])

    together = itertools.groupby(zip(groups, portions, strict=True), key=lambda pair: pair[1])
    tasks = (([group for group, _ in portion], randomness.spawn()) for _, portion in together)
    found = itertools.chain.from_iterable(in_threads(one, tasks))
    return [next(found) if plan else None for plan in plans]


def _locate_some(
    values: Floats, weights: Floats, sizes: Counts, plans: Sequence[Plan], randomness: Randomness
) -> list[tuple[Location, float]]:
    """The same, of groups one after the other, each of its size and sorted."""
    plan = plans[0]  # all seek in the same places
    parts = np.repeat([float(p.shares["center"] / (p.shares["center"] + p.shares["scale"])) for p in plans], sizes)
    of_centers, rest = (integer_weights(round_down(weights * part)) for part in (parts, 1 - parts))
    lattice, grain = plan.center_lattice, plan.center_grain
    centers = private_medians(values, of_centers, lattice, randomness, grain=grain, sizes=sizes)
    cells = [grain * math.ulp(center) for center in centers]  # what a centre is not told apart from, about
    if plan.shape == "any":
        ends = itertools.pairwise([0, *np.cumsum(sizes).tolist()])
        return [
            _with_extent(values[start:end], rest[start:end], center, cell, randomness)
            for (start, end), center, cell in zip(ends, centers, cells, strict=True)
        ]
    distances, lattice = _distances(values, np.repeat(centers, sizes)), plan.spread_lattice
    spreads = private_medians(distances, rest, lattice, randomness, grain=SPREAD_GRAIN, sizes=sizes)
    return [_with_spread(*found) for found in zip(centers, spreads, cells, plans, strict=True)]


def _with_spread(center: float, spread: float, cell: float, plan: Plan) -> tuple[Location, float]:
    most = sys.float_info.max / 8 / max(plan.clip_width, 1.0)
    location = Location(center, min(max(spread, 2.0**-1000), most), spread <= max(4 * cell, 2.0**-1000))
    return location, plan.clip_width * location.spread / MEDIAN_SIZE


def _with_extent(
    values: Floats, weights: Counts, center: float, cell: float, randomness: Randomness
) -> tuple[Location, float]:
    below, above = find_extent(values, center, weights, cell, randomness)
    half = below / 2 + above / 2
    return Location(center, half, half <= max(16 * cell, 2.0**-1000), above / 2 - below / 2), half


def integer_weights(weights: Floats) -> Counts:
    """Weights in units of 1 / WEIGHT_UNIT nats, rounded down."""
    return np.floor(weights * WEIGHT_UNIT).astype(np.int64)


def _distances(values: Floats, centers: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.abs(values - centers)


def private_medians(
    values: Floats,
    weights: Counts,
    lattice: Lattice,
    randomness: Randomness,
    *,
    grain: int = 1,
    sizes: Counts | None = None,
) -> list[float]:
    """A double y for each group, drawn in proportion to its multiplicity times ``exp(-excess(y) / 2)``.

    The excess is how far the weight on the heavier side of y is above half of all, twice over and in nats:
    ``max(0, 2 max(below, above) - all)``. One record more or less changes it by at most its weight, whichever y, and so
    the probability of y by at most a factor ``exp(weight)``. Missing values take no part.

    Values are taken together in cells of `grain` neighbouring doubles, and values in the cell of y are on neither side:
    where many values are equal, their one double would hardly ever be found. Groups come one after the other, each of
    its size; without `sizes` all values are of one.
    """
    segments = _segments(values, weights, np.array([values.size]) if sizes is None else sizes, lattice, grain)
    lows, highs = segments.lows, segments.highs

    def measure(segment: int) -> int:
        return lattice.below(int(highs[segment])) - lattice.below(int(lows[segment]))

    logs = lattice.log_measures(lows, highs)
    chosen = choose_segments(logs, measure, segments.excess, 0.5 / WEIGHT_UNIT, randomness, segments.starts)
    starts = [lattice.below(int(lows[segment])) for segment in chosen]
    keys = [start + randomness.below(measure(segment)) for start, segment in zip(starts, chosen, strict=True)]
    return [double_of(lattice.key_at(key)) for key in keys]


class _Segments(NamedTuple):
    """Runs of doubles that are alike: their ends, by key, and their excess; and where those of each group start."""

    lows: Counts
    highs: Counts
    excess: Counts
    starts: NDArray[np.intp]


def _segments(values: Floats, weights: Counts, sizes: Counts, lattice: Lattice, grain: int) -> _Segments:
    """Of each group, cells with values, each followed by the gap up to the next; some are empty."""
    first, end = lattice.starts[0], lattice.starts[-1]
    points, before, after, starts = _cells(values, weights, sizes, lattice, grain)
    lows, highs, excess = (np.empty(2 * points.size, dtype=np.int64) for _ in range(3))
    lows[::2], highs[::2] = np.maximum(points, first), np.clip(points + grain, first, end)
    lows[1::2], highs[1:-1:2] = highs[::2], lows[2::2]
    highs[2 * np.append(starts[1:], points.size) - 1] = end
    excess[::2], excess[1::2] = np.maximum(np.maximum(before, -after), 0), np.abs(after)
    return _Segments(lows, highs, excess, 2 * starts)


def _cells(
    values: Floats, weights: Counts, sizes: Counts, lattice: Lattice, grain: int
) -> tuple[Counts, Counts, Counts, NDArray[np.intp]]:
    """Cells with values: the first key, how much more weight is below than not, before and after; where groups start.

    Values beyond an end of the lattice are in a cell there that nothing is chosen from, but count on their side. Every
    group has such a cell before all others, whose gap is its first.
    """
    lowest, heads = lattice.starts[0] // grain * grain - grain, np.cumsum(sizes) - sizes
    keys = np.minimum(np.maximum(keys_of(values) // grain * grain, lowest), lattice.starts[-1])
    order = _sorted_by_group(keys, sizes)
    keys = np.insert(keys[order], heads, lowest)
    passed = np.append(0, np.cumsum(np.insert(np.where(np.isnan(values), 0, weights)[order], heads, 0)))
    heads = heads + np.arange(sizes.size)
    is_new = np.append(True, keys[1:] != keys[:-1])
    is_new[heads] = True
    cells = np.flatnonzero(is_new)
    starts = np.searchsorted(cells, heads)

    # Of the group alone: twice what was passed since its head, less all of it.
    ends = np.append(heads[1:], keys.size)
    both = np.repeat(passed[heads] + passed[ends], np.diff(starts, append=cells.size))
    before, after = 2 * passed[cells] - both, 2 * passed[np.append(cells[1:], keys.size)] - both
    return keys[cells], before, after, starts


def _sorted_by_group(keys: Counts, sizes: Counts) -> NDArray[np.intp]:
    """The order of the keys in each group; what is in order already is merged."""
    ends = itertools.pairwise([0, *np.cumsum(sizes).tolist()])
    return np.concatenate([start + np.argsort(keys[start:end], kind="stable") for start, end in ends])
