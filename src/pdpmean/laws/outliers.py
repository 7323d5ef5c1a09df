"""Cells that stand out of noise, alone or in runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats

__all__ = ["LONGEST_RUN", "Lumps", "Runs", "evidence", "find_lumps", "sums_of_runs"]

LONGEST_RUN = 4  # cells: two octaves, as wide as a second population commonly is
_GAP = 3  # cells around a lump that one family of tails could explain with it
_MUCH = 0.1  # of the weight, elsewhere than in lumps
_RARELY = 3.0  # standard deviations
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
    before = _earlier_cells(cells)
    runs = Runs(*(np.empty((*cells.shape, LONGEST_RUN)) for _ in Runs._fields))
    for length in range(1, LONGEST_RUN + 1):
        run = before[:length]
        level = np.maximum(sum(run) / length, 0)
        runs.level[..., length - 1] = level
        runs.log_odds[..., length - 1] = sum(np.abs(cell) - np.abs(cell - level) for cell in run)
    return runs


def _earlier_cells(cells: Floats) -> list[Floats]:
    """The cells themselves, those one before, two before ...; before the first there is nothing."""
    padded = np.concatenate([np.zeros((*cells.shape[:-1], LONGEST_RUN)), cells], axis=-1)
    return [padded[..., LONGEST_RUN - back : padded.shape[-1] - back] for back in range(LONGEST_RUN)]


def sums_of_runs(cells: Floats) -> Floats:
    """Of runs of 1, 2 ... cells that end in each cell."""
    total = np.cumsum(np.pad(cells, ((0, 0), (0, 0), (LONGEST_RUN, 0))), axis=-1)
    return np.stack(
        [total[..., LONGEST_RUN:] - total[..., LONGEST_RUN - n : -n] for n in range(1, LONGEST_RUN + 1)], axis=-1
    )


class Lumps(NamedTuple):
    """Most values of a side may be (nearly) equal, and others lie farther out: no family of tails has both."""

    others: Floats
    """The sides' cells without lumps."""

    inside: Floats
    """Weight in lumps, by group."""


def find_lumps(sides: Floats, center: Floats, nats: Floats) -> Lumps:
    """Narrow windows that stand out, where much of the weight is neither at the anchor nor near them."""
    bulk = _best_window(sides)
    distance = np.abs(np.arange(sides.shape[-1]) - (bulk.end - (bulk.width - 1) / 2)[..., None])
    narrow = (bulk.score > 0) & (bulk.width <= 2)
    near = np.where(narrow[..., None], distance < bulk.width[..., None] / 2 + _GAP, False)
    elsewhere = nats - center - (sides * near).sum(axis=(1, 2))
    is_much = (elsewhere > _MUCH * nats) & (elsewhere > _RARELY * np.sqrt(2 * (1 + near.sum(axis=(1, 2)))))
    lump = narrow & is_much[:, None]
    inside = lump[..., None] & (distance < bulk.width[..., None] / 2)
    return Lumps(np.where(inside, 0.0, sides), np.where(inside, sides, 0.0).sum(axis=(1, 2)))


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
