"""Histogram: the noisy weight of the values in each of many cells, by their distance from an anchor.

The anchor is the released centre, or a known bound. On either side of it, cells are half octaves of the distance: each
reaches sqrt(2) times as far as the one before. Further cells hold the values at the anchor, those beyond the outermost
cells, those beyond a known bound, and missing values. So every record lies in exactly one cell, and adding or removing
it changes one number, by its weight. Each number has Laplace noise of one nat: the whole histogram costs a record its
weight (docs/guarantee.md, "Histogram").
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.bounds import UNKNOWN, Bounds
from pdpmean.core.types import Counts, Floats
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.laws.histogram import CELLS, Histogram, half_octaves_of
from pdpmean.randomness import Randomness

__all__ = ["first_cell", "noisy_histograms"]

_UNIT_BITS = WEIGHT_UNIT.bit_length() - 1
# Columns of the table of weights: CELLS below the anchor, CELLS above it, and these four; with a known bound, two more.
_FAR_BELOW, _FAR_ABOVE, _ANCHOR, _MISSING, _COLUMNS = range(2 * CELLS, 2 * CELLS + 5)
_BELOW_BOUND, _ABOVE_BOUND, _COLUMNS_WITH_BOUNDS = range(_COLUMNS, _COLUMNS + 3)

# Cells cover 96 octaves of the distance. The first begins this many octaves below the anchor's own size; doubles can
# tell a value from the anchor down to 52 octaves below.
_OCTAVES_BELOW_ANCHOR = 32
# An anchor smaller than 2**-8 is treated as 0. A population with values of both signs may have its median anywhere
# in between, and most doubles there are tiny. Cells then begin at 1e-12, and end at 7e16.
_SMALLEST_ANCHOR_EXPONENT = -8


def first_cell(anchor: float) -> int:
    """The half octave k in which the cells of an anchor begin, at a distance of ``2**(k / 2)``."""
    exponent = math.frexp(anchor)[1] if anchor else _SMALLEST_ANCHOR_EXPONENT
    return 2 * (max(exponent, _SMALLEST_ANCHOR_EXPONENT) - _OCTAVES_BELOW_ANCHOR)


def noisy_histograms(
    values: Floats,
    weights: Counts,
    sizes: Counts,
    anchors: Sequence[float],
    randomness: Randomness,
    bounds: Bounds = UNKNOWN,
) -> list[Histogram]:
    """One noisy histogram per group, around the group's own anchor.

    `values` and `weights` hold the records of all groups, one group after the other; `sizes` says how many records each
    has. A record's loss is its weight, in units of 1 / WEIGHT_UNIT nats.
    """
    firsts = [first_cell(anchor) for anchor in anchors]
    cells = _cells(values, np.repeat(np.array(anchors, dtype=np.float64), sizes), np.repeat(firsts, sizes), bounds)
    counts = np.zeros((len(anchors), _COLUMNS_WITH_BOUNDS if bounds.are_given else _COLUMNS), dtype=np.int64)
    np.add.at(counts, (np.repeat(np.arange(len(anchors)), sizes), cells), weights)
    noisy = randomness.add_laplace_to_each(counts.ravel().tolist(), _UNIT_BITS)
    nats = np.array(noisy, dtype=np.float64).reshape(counts.shape) / WEIGHT_UNIT
    return [_histogram(anchor, first, row) for anchor, first, row in zip(anchors, firsts, nats, strict=True)]


def _cells(values: Floats, anchors: Floats, firsts: NDArray[np.int64], bounds: Bounds) -> NDArray[np.int64]:
    """The column that each record is counted in, given the anchor of its group and the first cell there."""
    with np.errstate(all="ignore"):
        offsets = values - anchors
    places = half_octaves_of(np.abs(offsets)) - firsts
    is_above = offsets > 0
    is_infinite = np.isinf(offsets)  # infinities have no exponent
    cells = np.where(is_above, CELLS + places, places)
    cells = np.where((places >= CELLS) | is_infinite, np.where(is_above, _FAR_ABOVE, _FAR_BELOW), cells)
    cells = np.where((offsets == 0) | ((places < 0) & ~is_infinite), _ANCHOR, cells)
    cells = np.where(np.isnan(offsets), _MISSING, cells)
    cells = np.where(values < bounds.low, _BELOW_BOUND, cells)
    return np.where(values > bounds.high, _ABOVE_BOUND, cells)


def _histogram(anchor: float, first: int, nats: Floats) -> Histogram:
    """The released histogram, from a row of noisy weights in nats."""
    return Histogram(
        anchor=anchor,
        first=first,
        below=nats[:CELLS],
        above=nats[CELLS : 2 * CELLS],
        far_below=float(nats[_FAR_BELOW]),
        far_above=float(nats[_FAR_ABOVE]),
        center=float(nats[_ANCHOR]),
        missing=float(nats[_MISSING]),
        below_bound=float(nats[_BELOW_BOUND]) if nats.size > _COLUMNS else 0.0,
        above_bound=float(nats[_ABOVE_BOUND]) if nats.size > _COLUMNS else 0.0,
    )
