"""The verdict on a histogram: whether it shows a population, nothing but its anchor, or too little of the weight.

A reading that does not find a population is no basis for an estimate, so the result says so instead.
"""

from __future__ import annotations

from typing import Literal, cast

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.histogram import CELLS, Histograms
from pdpmean.laws.tail_fit import Sides, TailFit
from pdpmean.laws.two_point import Bools

__all__ = ["Finding", "findings_of"]

Finding = Literal["found", "nothing", "unseen", "too far", "missed"]
"""What a histogram shows.

- found: a population.
- nothing: all weight seems to be at the anchor, or noise hides where the rest lies.
- unseen: the cells hold too little, or too much, of the total weight.
- too far: much weight lies beyond the last cell.
- missed: the anchor is far from all values.
"""

_NOISE_NATS = 7.0  # nats that noise may add to a number or take from it

# Weight that may be nowhere to be seen: more is "unseen" only if it exceeds both limits.
_UNSEEN = 0.2  # share of the total
_UNSEEN_STDS = 3.3  # standard deviations of the noise

_CLEARLY_FAR = 7.0  # nats beyond the last cell

# A population is found if both hold:
_MOST_EMPTY = 0.01  # largest probability that nothing lies on either side
_LEAST_LOCATED = 0.98  # least probability that the bulk lies where it seems to

# Half octaves around the scale of a side in which nearly all of its weight lies.
_INWARD = 10
_OUTWARD = 6


def _anchor_missed(histograms: Histograms, nats: Floats) -> Bools:
    """By group: whether all weight lies in two neighbouring cells of one side.

    Then the anchor is no median. A private median lies far from its population once in a while.
    """
    pairs = (histograms.sides[..., 1:] + histograms.sides[..., :-1]).max(axis=(1, 2))
    nearly_all = (pairs > (1 - _UNSEEN) * nats) & (pairs > nats - _NOISE_NATS)
    missed: Bools = nearly_all & (histograms.center < _NOISE_NATS)
    return missed


def findings_of(
    histograms: Histograms, sides: Sides, fit: TailFit, seen: Bools, located: Floats, *, may_miss: Bools
) -> list[Finding]:
    """The verdict on each group's histogram.

    `seen` marks cells that stand out from the noise. `located` is the probability that the bulk lies where it seems to.
    `may_miss` says whether the anchor may miss its population: a private median may, a bound cannot.
    """
    missed = _anchor_missed(histograms, sides.nats) & may_miss
    window = _window(fit, seen)
    explained = histograms.center + (histograms.sides * window).sum(axis=(1, 2))
    noise_std = np.sqrt(2 * (2 + window.sum(axis=(1, 2))) + sides.nats_std**2)
    discrepancy = np.abs(sides.nats - explained)
    unseen = (discrepancy > _UNSEEN * sides.nats) & (discrepancy > _UNSEEN_STDS * noise_std)
    far = histograms.far.max(axis=1) > np.maximum(_CLEARLY_FAR, 0.05 * sides.nats)
    nothing = (fit.nothing > _MOST_EMPTY) | (located < _LEAST_LOCATED)
    mostly_center = histograms.center > 0.5 * sides.nats
    cases = [far, missed, nothing & mostly_center, unseen, nothing]
    verdicts = np.select(cases, ["too far", "missed", "nothing", "unseen", "nothing"], "found")
    return cast(list[Finding], verdicts.tolist())


def _window(fit: TailFit, seen: Bools) -> Bools:
    """By group, side and cell: whether the fit expects weight there, or the cell lies between two that stand out."""
    cell = np.arange(CELLS)
    probability = fit.probability / np.maximum(fit.probability.sum(axis=-1, keepdims=True), 1e-300)
    middle = (probability * fit.scale).sum(axis=-1, keepdims=True)
    expected = (cell >= middle - _INWARD) & (cell <= middle + _OUTWARD) & (fit.empty < 0.9)[..., None]
    first = np.argmax(seen, axis=-1, keepdims=True)
    last = CELLS - 1 - np.argmax(seen[..., ::-1], axis=-1, keepdims=True)
    between = (cell >= first) & (cell <= last) & seen.any(axis=-1, keepdims=True)
    window: Bools = expected | between
    return window
