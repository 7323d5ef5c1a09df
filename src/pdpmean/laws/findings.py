"""Whether the pieces of a histogram add up: to a population, to nothing but its anchor, or not at all."""

from __future__ import annotations

from typing import Literal

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.histogram import CELLS, Cells
from pdpmean.laws.tail_fit import Sides, TailFit
from pdpmean.laws.two_point import Bools

__all__ = ["Finding", "findings_of"]

Finding = Literal["found", "nothing", "unseen", "too far"]

_ALL_BUT = 7.0  # nats of noise
_UNSEEN = 0.2  # of the weight may be nowhere to be seen,
_BY_CHANCE = 3.3  # or so many standard deviations
_PLAINLY_FAR = 7.0  # nats beyond the last cell
_SURELY = 0.01  # chance of nothing on either side, below which something was found
_LOCATED = 0.98  # chance that the bulk lies where it seems to
_INWARD, _OUTWARD = 10, 6  # half octaves around a scale in which nearly all of a side lies


def _missed(cells: Cells, nats: Floats) -> Bools:
    """Whether all weight lies in two neighbouring cells of one side: the anchor is no median, but far off for once."""
    pairs = (cells.sides[..., 1:] + cells.sides[..., :-1]).max(axis=(1, 2))
    missed: Bools = (pairs > (1 - _UNSEEN) * nats) & (pairs > nats - _ALL_BUT) & (cells.center < _ALL_BUT)
    return missed


def findings_of(
    cells: Cells, sides: Sides, fit: TailFit, seen: Bools, located: Floats, *, may_miss: Bools
) -> list[Finding]:
    """What each group's pieces add up to: cells that stand out are `seen`, `located` is the chance of the bulk's place.

    An anchor that is a bound cannot miss its population; a private median may.
    """
    missed = _missed(cells, sides.nats) & may_miss
    window = _window(fit, seen)
    found = cells.center + (cells.sides * window).sum(axis=(1, 2))
    noise = np.sqrt(2 * (2 + window.sum(axis=(1, 2))) + sides.nats_std**2)
    off = np.abs(sides.nats - found)
    unseen = (off > _UNSEEN * sides.nats) & (off > _BY_CHANCE * noise)
    far = cells.far.max(axis=1) > np.maximum(_PLAINLY_FAR, 0.05 * sides.nats)
    nothing = (fit.nothing > _SURELY) | (located < _LOCATED)
    mostly_center = cells.center > 0.5 * sides.nats
    codes = np.select([far | missed, nothing & mostly_center, unseen, nothing], [3, 1, 2, 1], 0)
    names: tuple[Finding, ...] = ("found", "nothing", "unseen", "too far")
    return [names[code] for code in codes.tolist()]


def _window(fit: TailFit, seen: Bools) -> Bools:
    """The cells in which the fit expects weight, and those that stand out."""
    cell = np.arange(CELLS)
    weight = fit.weight / np.maximum(fit.weight.sum(axis=-1, keepdims=True), 1e-300)
    middle = (weight * fit.scale).sum(axis=-1, keepdims=True)
    expected = (cell >= middle - _INWARD) & (cell <= middle + _OUTWARD) & (fit.empty < 0.9)[..., None]
    first = np.argmax(seen, axis=-1, keepdims=True)
    last = CELLS - 1 - np.argmax(seen[..., ::-1], axis=-1, keepdims=True)
    between = (cell >= first) & (cell <= last) & seen.any(axis=-1, keepdims=True)
    window: Bools = expected | between
    return window
