"""Histogram: how far the values lie from an anchor, in half octaves on either side, each cell with its own noise.

A record lies in exactly one cell, those of missing values, of the anchor itself and of whatever lies beyond the others
included. So adding or removing it changes one number by its weight, and all of them together cost no more
(docs/guarantee.md, "Histogram").
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Counts, Floats
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.laws.histogram import CELLS, Histogram
from pdpmean.randomness import Randomness

__all__ = ["first_cell", "noisy_histograms"]

_UNIT_BITS = WEIGHT_UNIT.bit_length() - 1
# Where each record is counted: the cells below, the cells above, and these four.
_FAR_BELOW, _FAR_ABOVE, _ANCHOR, _MISSING, _ALL = range(2 * CELLS, 2 * CELLS + 5)

# Cells cover 96 octaves of the distance, from so many below the size of the anchor on; doubles tell values and anchor
# apart down to 52 below. An anchor next to 0 is as good as 0: a population with values of both signs has its median
# anywhere between, and most doubles are tiny. Then cells begin at 1e-12, and end at 7e16.
_FINER, _NEXT_TO_ZERO = 32, -8


def first_cell(anchor: float) -> int:
    """The half octave of the first cell."""
    size = math.frexp(anchor)[1] if anchor else _NEXT_TO_ZERO
    return 2 * (max(size, _NEXT_TO_ZERO) - _FINER)


def noisy_histograms(
    values: Floats, weights: Counts, sizes: Counts, anchors: Sequence[float], randomness: Randomness
) -> list[Histogram]:
    """The histogram of each group, whose values come one after the other.

    A record's loss is its weight, in units of 1 / WEIGHT_UNIT nats.
    """
    firsts = [first_cell(anchor) for anchor in anchors]
    cells = _cells(values, np.repeat(np.array(anchors, dtype=np.float64), sizes), np.repeat(firsts, sizes))
    counts = np.zeros((len(anchors), _ALL), dtype=np.int64)
    np.add.at(counts, (np.repeat(np.arange(len(anchors)), sizes), cells), weights)
    noisy = randomness.add_laplace_to_each(counts.ravel().tolist(), _UNIT_BITS)
    nats = np.array(noisy, dtype=np.float64).reshape(counts.shape) / WEIGHT_UNIT
    return [_histogram(anchor, first, row) for anchor, first, row in zip(anchors, firsts, nats, strict=True)]


def _cells(values: Floats, anchors: Floats, firsts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The cell of each record."""
    with np.errstate(all="ignore"):
        offsets = values - anchors
    fractions, exponents = np.frexp(np.abs(offsets))
    # The half octave from 2**(k / 2) on; infinities have no exponent.
    places = 2 * (exponents.astype(np.int64) - 1) + (fractions >= math.sqrt(0.5)) - firsts
    is_above = offsets > 0
    cells = np.where(is_above, CELLS + places, places)
    cells = np.where((places >= CELLS) | np.isinf(fractions), np.where(is_above, _FAR_ABOVE, _FAR_BELOW), cells)
    cells = np.where((offsets == 0) | ((places < 0) & np.isfinite(fractions)), _ANCHOR, cells)
    return np.where(np.isnan(offsets), _MISSING, cells)


def _histogram(anchor: float, first: int, nats: Floats) -> Histogram:
    return Histogram(
        anchor=anchor,
        first=first,
        below=nats[:CELLS],
        above=nats[CELLS : 2 * CELLS],
        far_below=float(nats[_FAR_BELOW]),
        far_above=float(nats[_FAR_ABOVE]),
        center=float(nats[_ANCHOR]),
        missing=float(nats[_MISSING]),
    )
