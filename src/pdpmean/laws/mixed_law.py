"""Mixtures of error distributions: where the mean lies if one of several hypotheses holds.

Each hypothesis has a distribution of the mean, a further normal error and a probability. Levels of budgets that may or
may not agree (`pooling.py`) are the main use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from pdpmean.core.numbers import finite
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.laws.error_law import ErrorLaw
from pdpmean.laws.grid_law import GridLaw
from pdpmean.laws.law import Law

__all__ = ["Hypothesis", "mix"]

_NODES = 24  # equally likely values that stand for a normal variable
_POINTS = 400  # grid points for a law that has a formula
_MOST_POINTS = 500  # grid points for a mixture
_LARGEST = float(np.finfo(np.float64).max)
_ALL = 1 - 1e-7  # the probability that the grid of a law spans

# The nodes: normal quantiles, rescaled so that their variance is exactly 1.
_QUANTILES = ndtri((np.arange(_NODES) + 0.5) / _NODES)
_NORMAL_NODES = _QUANTILES / math.sqrt(float(np.mean(_QUANTILES**2)))


class Hypothesis(NamedTuple):
    """One hypothesis of a mixture: where the mean lies if it holds, and its probabilities."""

    law: Law
    mean: float
    """The estimate under this hypothesis."""
    widening: float
    """Standard deviation of a further, independent normal error."""
    in_estimate: float
    """Weight of `mean` in the estimate of the mixture."""
    in_interval: float
    """Probability of the hypothesis in the distribution of the mixture."""


@quietly
def mix(hypotheses: Sequence[Hypothesis], bounds: tuple[float, float]) -> GridLaw:
    """The mixture, within the bounds; its estimate is the weighted mean of theirs."""
    low = max(bounds[0], -_LARGEST)
    high = min(bounds[1], _LARGEST)
    mean = min(max(sum(hypothesis.in_estimate * hypothesis.mean for hypothesis in hypotheses), low), high)
    grids = [_on_grid(hypothesis.law) for hypothesis in hypotheses]
    shifts = [hypothesis.widening * _NORMAL_NODES for hypothesis in hypotheses]
    points = _points_of_mixture(grids, shifts)

    def below(chances: Sequence[Floats]) -> Floats:
        """The distribution function of the mixture at `points`, from that of each hypothesis on its grid."""
        sums = sum(
            hypothesis.in_interval * _widened(grid.points, of_hypothesis, points, by)
            for hypothesis, grid, of_hypothesis, by in zip(hypotheses, grids, chances, shifts, strict=True)
        )
        return np.maximum.accumulate(sums)

    low_chances = below([grid.low_chances for grid in grids])
    is_one = all(grid.low_chances is grid.high_chances for grid in grids)
    high_chances = low_chances if is_one else below([grid.high_chances for grid in grids])
    roots = [math.sqrt(hypothesis.in_interval) for hypothesis in hypotheses]
    errors = [
        root * error
        for root, hypothesis in zip(roots, hypotheses, strict=True)
        for error in (hypothesis.law.sampling_std, hypothesis.widening, hypothesis.mean - mean)
    ]
    noise_std = math.hypot(
        *(root * hypothesis.law.noise_std for root, hypothesis in zip(roots, hypotheses, strict=True))
    )
    return GridLaw(
        points=np.clip(points, low, high),
        low_chances=low_chances,
        high_chances=high_chances,
        mean=mean,
        noise_std=finite(noise_std),
        sampling_std=finite(math.hypot(*errors)),
        has_tails=any(grid.has_tails for grid in grids),
    )


def _points_of_mixture(grids: Sequence[GridLaw], shifts: Sequence[Floats]) -> Floats:
    """The points of all grids, each also shifted by its lowest, middle and highest error, thinned if they are many."""
    lowest_middle_highest = [0, _NODES // 2, -1]
    shifted = [
        (grid.points[:, None] + of_grid[lowest_middle_highest]).ravel()
        for grid, of_grid in zip(grids, shifts, strict=True)
    ]
    return _thinned(np.concatenate(shifted))


def _thinned(points: Floats) -> Floats:
    """The points in order; if there are too many, the first, the last, and an even selection in between."""
    ordered = np.unique(points)
    if ordered.size <= _MOST_POINTS:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, _MOST_POINTS).astype(np.intp)]


def _widened(points: Floats, chances: Floats, at: Floats, shifts: Floats) -> Floats:
    """The distribution function, given by `chances` at `points`, with an error of equally likely `shifts` added."""
    if not shifts.any():
        return np.interp(at, points, chances)
    widened: Floats = np.mean(np.interp(at - shifts[:, None], points, chances), axis=0)
    return widened


def _on_grid(law: Law) -> GridLaw:
    """The law as a `GridLaw`."""
    if isinstance(law, GridLaw):
        return law
    assert isinstance(law, ErrorLaw)
    points = np.linspace(*law.interval(_ALL), _POINTS)
    chances = law.chances(points)
    middle = float(points[_POINTS // 2])
    return GridLaw(points, chances, chances, middle, law.noise_std, law.sampling_std)
