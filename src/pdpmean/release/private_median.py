"""Private medians of many groups at once, by the exponential mechanism over all doubles.

The centre of every population is such a median, and for a bell-shaped one the spread is, too. Candidates are the
doubles of a lattice, whose prior measure says which are preferred beforehand. Between two neighbouring values all
candidates have the same penalty, so a draw chooses a segment of them first, and then one within it
(docs/guarantee.md, "Private median").
"""

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
    """One double y per group, drawn in proportion to its prior measure times ``exp(-excess(y) / 2)``.

    The excess is ``max(0, 2 max(below, above) - total)`` in nats: twice the weight on the heavier side of y, less the
    weight of all values. Adding or removing a record changes it by at most the record's weight, at every y. So the
    probability of y changes by a factor of at most ``exp(weight)``. Missing values do not count.

    Values are compared in cells of `grain` neighbouring doubles, and values in the cell of y are on neither side.
    Otherwise, where many values are equal, their one double would hardly ever be drawn.

    Weights are in units of 1 / WEIGHT_UNIT nats. Values come one group after the other, and `sizes` says how many each
    group has; without `sizes`, all are of one group.
    """
    segments = _segments(values, weights, np.array([values.size]) if sizes is None else sizes, lattice, grain)
    lows, highs = segments.lows, segments.highs

    def measure(segment: int) -> int:
        return lattice.below(int(highs[segment])) - lattice.below(int(lows[segment]))

    logs = lattice.log_measures(lows, highs)
    chosen = choose_segments(logs, measure, segments.excess, 0.5 / WEIGHT_UNIT, randomness, segments.starts)
    starts = [lattice.below(int(lows[segment])) for segment in chosen]
    places = [start + randomness.below(measure(segment)) for start, segment in zip(starts, chosen, strict=True)]
    return [double_of(lattice.key_at(place)) for place in places]


class _Segments(NamedTuple):
    """Runs of doubles with the same excess, of all groups one after the other; some are empty."""

    lows: Counts
    """The key of the first double of each segment."""
    highs: Counts
    """The key after its last double."""
    excess: Counts
    """In units of 1 / WEIGHT_UNIT nats."""
    starts: NDArray[np.intp]
    """The index of the first segment of each group."""


def _segments(values: Floats, weights: Counts, sizes: Counts, lattice: Lattice, grain: int) -> _Segments:
    """The segments of each group: its cells that hold values, each followed by the gap up to the next such cell."""
    first = lattice.starts[0]
    end = lattice.starts[-1]
    cells = _cells(values, weights, sizes, lattice, grain)
    count = cells.keys.size
    lows, highs, excess = (np.empty(2 * count, dtype=np.int64) for _ in range(3))
    # Even entries are cells, odd ones the gaps after them.
    lows[::2] = np.maximum(cells.keys, first)
    highs[::2] = np.clip(cells.keys + grain, first, end)
    lows[1::2] = highs[::2]
    highs[1:-1:2] = lows[2::2]
    highs[2 * np.append(cells.starts[1:], count) - 1] = end  # the last gap of each group ends with the lattice
    # From within a cell, the weight below is what lies before the cell, and the weight above what lies after it.
    excess[::2] = np.maximum(np.maximum(cells.before, -cells.after), 0)
    excess[1::2] = np.abs(cells.after)
    return _Segments(lows, highs, excess, 2 * cells.starts)


class _Cells(NamedTuple):
    """The cells that hold values, of all groups one after the other.

    A balance is the weight below a point, less the weight above it, within the group.
    """

    keys: Counts
    """The key of the first double of each cell."""
    before: Counts
    """The balance just before the cell, with the cell's own values above."""
    after: Counts
    """The balance just after the cell, with the cell's own values below."""
    starts: NDArray[np.intp]
    """The index of the first cell of each group."""


def _cells(values: Floats, weights: Counts, sizes: Counts, lattice: Lattice, grain: int) -> _Cells:
    """The cells that hold values, and the balance of weights on either side of each.

    Values beyond an end of the lattice count on their side: they are in a cell outside, from which nothing is drawn.
    Every group begins with the cell below the lattice, even if no value lies there, so that a gap follows it.
    """
    lowest = lattice.starts[0] // grain * grain - grain
    heads = np.cumsum(sizes) - sizes
    keys = np.minimum(np.maximum(keys_of(values) // grain * grain, lowest), lattice.starts[-1])
    order = _sorted_by_group(keys, sizes)
    keys = np.insert(keys[order], heads, lowest)
    weight_before = np.append(0, np.cumsum(np.insert(np.where(np.isnan(values), 0, weights)[order], heads, 0)))
    heads = heads + np.arange(sizes.size)
    is_new = np.append(True, keys[1:] != keys[:-1])
    is_new[heads] = True
    cells = np.flatnonzero(is_new)
    starts = np.searchsorted(cells, heads)

    # With w the weight before a point, over all groups, and h and e that before the head and the end of its own group,
    # w - h is below the point and e - w above it: the balance is 2 w - (h + e).
    ends = np.append(heads[1:], keys.size)
    head_and_end = np.repeat(weight_before[heads] + weight_before[ends], np.diff(starts, append=cells.size))
    before = 2 * weight_before[cells] - head_and_end
    after = 2 * weight_before[np.append(cells[1:], keys.size)] - head_and_end
    return _Cells(keys[cells], before, after, starts)


def _sorted_by_group(keys: Counts, sizes: Counts) -> NDArray[np.intp]:
    """The indices that sort the keys within each group; a stable sort is fast, as runs are mostly sorted already."""
    ends = itertools.pairwise([0, *np.cumsum(sizes).tolist()])
    return np.concatenate([start + np.argsort(keys[start:end], kind="stable") for start, end in ends])
