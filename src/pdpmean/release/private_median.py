"""Private medians by the exponential mechanism over all doubles, of many groups at once."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Counts, Floats
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.laws.lattice import Lattice, double_of, keys_of
from pdpmean.randomness import Randomness
from pdpmean.release.exact_choice import choose_segments

__all__ = ["integer_weights", "private_medians"]


def integer_weights(weights: Floats) -> Counts:
    """Weights in units of 1 / WEIGHT_UNIT nats, rounded down."""
    return np.floor(weights * WEIGHT_UNIT).astype(np.int64)


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
