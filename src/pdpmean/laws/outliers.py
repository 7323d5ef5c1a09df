"""Cells that stand out of noise, alone or in runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pdpmean.core.types import Floats

__all__ = ["Lumps", "Runs", "evidence", "find_lumps"]

_LONGEST_RUN = 4  # cells: two octaves, as wide as a second population commonly is
_GAP = 4  # cells between a lump and what lies farther out
_NOISE = 2.2  # standard deviations of a window's noise
_MANY = 6.3  # nats: the largest of some hundred empty cells, and a little more
_WINDOWS = (1, 2, 4, 8, 16)


class Runs(NamedTuple):
    """Runs of 1, 2 ... cells that end in each cell, along the last axis."""

    log_odds: Floats
    """Log-likelihood that all cells of the run have weight, alike, over that of noise."""

    level: Floats
    """That weight."""


def evidence(cells: Floats) -> Runs:
    """For each cell and length of a run."""
    log_odds, levels = [], []
    for length in range(1, _LONGEST_RUN + 1):
        padded = np.pad(cells, [(0, 0)] * (cells.ndim - 1) + [(length - 1, 0)])
        run = sliding_window_view(padded, length, axis=-1)
        level = np.maximum(run.mean(axis=-1), 0)
        log_odds.append((np.abs(run) - np.abs(run - level[..., None])).sum(axis=-1))
        levels.append(level)
    return Runs(np.stack(log_odds, axis=-1), np.stack(levels, axis=-1))


class Lumps(NamedTuple):
    """Most values of a side may be (nearly) equal, and others lie farther out: no family of tails has both."""

    others: Floats
    """The sides' cells without lumps."""

    inside: Floats
    """Weight in lumps, by group."""


def find_lumps(sides: Floats, center: Floats, nats: Floats) -> Lumps:
    """Narrow windows near the anchor, with something that stands out beyond a gap."""
    bulk = _best_window(sides)
    cell = np.arange(sides.shape[-1])
    outer = np.where(cell > (bulk.end + _GAP)[..., None], sides, 0.0)
    others = _best_window(outer)
    unseen = nats - center - np.where(bulk.score > 0, bulk.inside, 0).sum(axis=-1)
    farther = 1 + np.minimum(0.1 * (others.end - bulk.end), 3.0)
    lump = (bulk.score > 0) & (bulk.width <= 2) & (others.score > farther)
    lump &= unseen[:, None] > 0.4 * others.inside
    return Lumps(np.where(lump[..., None], outer, sides), np.where(lump, bulk.inside, 0).sum(axis=-1))


class _Window(NamedTuple):
    score: Floats
    end: Floats
    width: Floats
    inside: Floats


def _best_window(sides: Floats) -> _Window:
    """The window that stands out most, over all widths."""
    total = np.cumsum(np.pad(sides, ((0, 0), (0, 0), (1, 0))), axis=-1)
    found = []
    for width in _WINDOWS:
        sums = total[..., width:] - total[..., :-width]
        at = sums.argmax(axis=-1)
        inside = np.take_along_axis(sums, at[..., None], axis=-1)[..., 0]
        score = inside - _NOISE * np.sqrt(2 * width) - _MANY
        found.append(np.stack([score, at + width - 1.0, np.full(at.shape, float(width)), inside]))
    every = np.stack(found)
    best = every[:, 0].argmax(axis=0)
    return _Window(*np.take_along_axis(every, best[None, None], axis=0)[0])
