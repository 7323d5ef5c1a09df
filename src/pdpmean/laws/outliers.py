"""Cells of a histogram that stand out from its noise: runs of occupied cells, and lumps of nearly equal values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats

__all__ = ["Runs", "evidence", "find_lumps", "sums_of_runs"]

_LONGEST_RUN = 7
"""Cells of the longest run considered: three octaves and a half, the width of a second population."""

# A narrow window is a lump only if more weight than this lies elsewhere:
_MUCH = 0.1  # share of the total
_RARELY = 3.0  # standard deviations of the noise

_GAP = 3  # cells around a lump whose weight one family of tails could explain together with the lump

# A window stands out if its weight exceeds `_NOISE_STDS` standard deviations of its noise plus `_LARGEST_NOISE`.
_NOISE_STDS = 2.2
_LARGEST_NOISE = 6.3  # nats: a little more than the largest of some hundred empty cells
_WIDTHS = (1, 2, 4, 8, 16)  # of windows, in cells
_NARROW = 2  # cells of the widest window that can be a lump
# A wider window must stand out by that much more than a narrow one: otherwise noise beside a lump would hide it.
_FOR_WIDER = 0.75


class Runs(NamedTuple):
    """All runs of cells, by their last cell and, along the last axis, their length: 1, 2, ... `_LONGEST_RUN`."""

    log_odds: Floats
    """Log likelihood, in nats, that all cells of the run hold the same weight, minus that of noise alone."""

    level: Floats
    """The weight that each cell of the run is then estimated to hold, in nats."""


def evidence(cells: Floats) -> Runs:
    """How much each run of cells stands out from Laplace noise of scale 1."""
    before = _earlier_cells(cells)
    runs = Runs(*(np.empty((*cells.shape, _LONGEST_RUN)) for _ in Runs._fields))
    for length in range(1, _LONGEST_RUN + 1):
        run = before[:length]
        level = np.maximum(sum(run) / length, 0)
        runs.level[..., length - 1] = level
        runs.log_odds[..., length - 1] = sum(np.abs(cell) - np.abs(cell - level) for cell in run)
    return runs


def _earlier_cells(cells: Floats) -> list[Floats]:
    """The cells themselves, the cells one before, two before, etc.; 0 before the first cell."""
    padded = np.concatenate([np.zeros((*cells.shape[:-1], _LONGEST_RUN)), cells], axis=-1)
    return [padded[..., _LONGEST_RUN - back : padded.shape[-1] - back] for back in range(_LONGEST_RUN)]


def sums_of_runs(cells: Floats) -> Floats:
    """The sum over each run, by last cell and length as in `Runs`."""
    total = np.cumsum(np.pad(cells, ((0, 0), (0, 0), (_LONGEST_RUN, 0))), axis=-1)
    return np.stack(
        [total[..., _LONGEST_RUN:] - total[..., _LONGEST_RUN - n : -n] for n in range(1, _LONGEST_RUN + 1)], axis=-1
    )


class Lumps(NamedTuple):
    """A split of the sides into lumps and the rest.

    On some sides most values are (nearly) equal, a *lump*, and others lie farther out. No family of tails has both, so
    lumps are taken out before tails are fitted.
    """

    others: Floats
    """By group, side and cell: the weight without lumps."""

    inside: Floats
    """By group: the weight in lumps."""


def find_lumps(sides: Floats, center: Floats, nats: Floats) -> Lumps:
    """The lumps of each group: narrow windows that stand out, if much weight is neither at the anchor nor near them."""
    bulk = _best_window(sides)
    distance = np.abs(np.arange(sides.shape[-1]) - (bulk.end - (bulk.width - 1) / 2)[..., None])
    narrow = (bulk.score > 0) & (bulk.width <= _NARROW)
    near = np.where(narrow[..., None], distance < bulk.width[..., None] / 2 + _GAP, False)
    elsewhere = nats - center - (sides * near).sum(axis=(1, 2))
    is_much = (elsewhere > _MUCH * nats) & (elsewhere > _RARELY * np.sqrt(2 * (1 + near.sum(axis=(1, 2)))))
    lump = narrow & is_much[:, None]
    inside = lump[..., None] & (distance < bulk.width[..., None] / 2)
    return Lumps(np.where(inside, 0.0, sides), np.where(inside, sides, 0.0).sum(axis=(1, 2)))


class _Window(NamedTuple):
    """One window of neighbouring cells, by group and side."""

    score: Floats
    """Nats above what noise explains."""

    end: Floats
    """Its last cell."""

    width: Floats
    """In cells."""

    inside: Floats
    """Its weight in nats."""


def _best_window(sides: Floats) -> _Window:
    """By group and side: the window that stands out most, over all widths."""
    total = np.cumsum(np.pad(sides, ((0, 0), (0, 0), (1, 0))), axis=-1)
    windows = []
    for width in _WIDTHS:
        sums = total[..., width:] - total[..., :-width]
        start = sums.argmax(axis=-1)
        inside = np.take_along_axis(sums, start[..., None], axis=-1)[..., 0]
        score = inside - _NOISE_STDS * np.sqrt(2 * width) - _LARGEST_NOISE
        windows.append(np.stack([score, start + width - 1.0, np.full(start.shape, float(width)), inside]))
    stacked = np.stack(windows)
    factors = np.where(np.array(_WIDTHS) <= _NARROW, 1.0, _FOR_WIDER)
    best = (stacked[:, 0] * factors[:, None, None]).argmax(axis=0)
    return _Window(*np.take_along_axis(stacked, best[None, None], axis=0)[0])
