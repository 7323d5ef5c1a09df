"""A mixture of laws, each widened by what it does not know: where the mean lies if several things may be true."""

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

__all__ = ["Part", "mix"]

_NODES = 24  # equally likely values of a normal number
_POINTS = 400  # of a grid over a law that has a formula,
_MOST_POINTS = 500  # and over a mixture
_LARGEST = float(np.finfo(np.float64).max)
_ALL = 1 - 1e-7  # of the chances of a law: what its grid spans
_DEVIATES = ndtri((np.arange(_NODES) + 0.5) / _NODES)
_STANDARD = _DEVIATES / math.sqrt(float(np.mean(_DEVIATES**2)))


class Part(NamedTuple):
    """One thing that may be true, where the mean then lies, and the chances of that."""

    law: Law
    mean: float
    widening: float
    """Standard deviation of a normal error beside those of the law."""
    in_estimate: float
    in_interval: float


@quietly
def mix(parts: Sequence[Part], bounds: tuple[float, float]) -> GridLaw:
    """Where the mean lies, within the bounds; its estimate is the mean of the parts' own."""
    low, high = max(bounds[0], -_LARGEST), min(bounds[1], _LARGEST)
    mean = min(max(sum(part.in_estimate * part.mean for part in parts), low), high)
    grids = [_grid(part.law) for part in parts]
    shifts = [part.widening * _STANDARD for part in parts]
    points = _thinned(
        np.concatenate(
            [(grid.points[:, None] + by[[0, _NODES // 2, -1]]).ravel() for grid, by in zip(grids, shifts, strict=True)]
        )
    )

    def below(chances: Sequence[Floats]) -> Floats:
        sums = sum(
            part.in_interval * _widened(grid.points, own, points, by)
            for part, grid, own, by in zip(parts, grids, chances, shifts, strict=True)
        )
        return np.maximum.accumulate(sums)

    low_chances = below([grid.low_chances for grid in grids])
    is_one = all(grid.low_chances is grid.high_chances for grid in grids)
    high_chances = low_chances if is_one else below([grid.high_chances for grid in grids])
    chances = [math.sqrt(part.in_interval) for part in parts]
    errors = [
        chance * error
        for chance, part in zip(chances, parts, strict=True)
        for error in (part.law.sampling_std, part.widening, part.mean - mean)
    ]
    mixed = GridLaw(
        points=np.clip(points, low, high),
        low_chances=low_chances,
        high_chances=high_chances,
        mean=mean,
        noise_std=finite(
            math.hypot(*(chance * part.law.noise_std for chance, part in zip(chances, parts, strict=True)))
        ),
        sampling_std=finite(math.hypot(*errors)),
    )
    return mixed.with_tails() if any(part.law.tails_std for part in parts) else mixed


def _thinned(points: Floats) -> Floats:
    """In order, and no more of them than a law needs: the first, the last, and some evenly in between."""
    ordered = np.unique(points)
    if ordered.size <= _MOST_POINTS:
        return ordered
    return ordered[np.linspace(0, ordered.size - 1, _MOST_POINTS).astype(np.intp)]


def _widened(points: Floats, chances: Floats, at: Floats, shifts: Floats) -> Floats:
    """The chances below each point, of the law with a normal error beside it."""
    if not shifts.any():
        return np.interp(at, points, chances)
    widened: Floats = np.mean(np.interp(at - shifts[:, None], points, chances), axis=0)
    return widened


def _grid(law: Law) -> GridLaw:
    """The law on a grid."""
    if isinstance(law, GridLaw):
        return law
    assert isinstance(law, ErrorLaw)
    points = np.linspace(*law.interval(_ALL), _POINTS)
    chances = law.chances(points)
    middle = float(points[_POINTS // 2])
    return GridLaw(points, chances, chances, middle, law.noise_std, law.sampling_std)
