"""The law of a sum of independent errors on a grid, by transforms: what differs between errors is only their factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pdpmean.core.types import Floats

__all__ = ["CHANCES", "ErrorGrid", "Transform"]

_POINTS = 1024
_FREQUENCIES = 2 * np.pi * np.fft.rfftfreq(_POINTS)

# The transform of the square root of the distance between two points of the grid, taken the shorter way round.
_ROOTS = np.fft.rfft(np.sqrt(np.minimum(np.arange(_POINTS), _POINTS - np.arange(_POINTS)))).real
_LOWEST, _HIGHEST = 0.05, 0.95  # chances between which the best estimate lies
_FLAT = 1e-300  # no curvature

CHANCES = np.concatenate([[0.0], expit(np.linspace(-16.0, 16.0, 193)), [1.0]])
"""At which laws are kept: dense enough for any level of an interval up to 1 - 1e-6."""

Transform = NDArray[np.complex128]


class ErrorGrid:
    """Errors from ``-reach`` to ``reach``, by group; transforms multiply where errors add up."""

    def __init__(self, reach: Floats) -> None:
        self.reach = reach
        self.step = (2 * reach / _POINTS)[:, None]
        self._frequencies = _FREQUENCIES / self.step

    def of(self, groups: NDArray[np.intp]) -> ErrorGrid:
        """The grids of these groups, some of them perhaps more than once."""
        return ErrorGrid(self.reach[groups])

    def laplace(self, scale: Floats) -> Floats:
        """Noise of this scale, by group."""
        return 1 / (1 + (scale[:, None] * self._frequencies) ** 2)

    def normal(self, variance: Floats) -> Floats:
        """A normal error, by group."""
        return np.exp(-0.5 * variance[:, None] * self._frequencies**2)

    def shift(self, places: Floats) -> Transform:
        """An error that is certain."""
        transform: Transform = np.exp(-1j * places[:, None] * self._frequencies)
        return transform

    def discrete(self, places: Floats, chances: Floats) -> Transform:
        """An error of a few values, by group and number; in between points it is at both."""
        groups = places.shape[0]
        position = places / self.step + _POINTS // 2
        position = np.clip(position, 0, _POINTS - 2)
        before = position.astype(np.int64)
        part = position - before
        flat = (before + _POINTS * np.arange(groups)[:, None]).ravel()
        density = np.bincount(flat, ((1 - part) * chances).ravel(), groups * _POINTS)
        density += np.bincount(flat + 1, (part * chances).ravel(), groups * _POINTS)
        rolled = np.roll(density.reshape(groups, _POINTS), -(_POINTS // 2), axis=1)
        return np.fft.rfft(rolled)

    def quantiles(self, transform: Transform, at: Floats) -> Floats:
        """Errors at these chances, by group."""
        ends, below = self.cumulative(transform)
        return np.array([np.interp(at, chances, places) for chances, places in zip(below, ends, strict=True)])

    def best(self, transform: Transform) -> Floats:
        """By group: the point from which the square root of the distance is least on average.

        If the error is probably small but may be huge, the median is nearly always a little off. This point is closer
        to where most of the probability lies.
        """
        ends, below = self.cumulative(transform)
        expected = np.roll(np.fft.irfft(transform * _ROOTS, _POINTS, axis=1), _POINTS // 2, axis=1)
        tried = (below > _LOWEST) & (np.roll(below, 1, axis=1) < _HIGHEST)
        tried[:, [0, -1]] = False
        best = np.where(tried, expected, np.inf).argmin(axis=1)
        group = np.arange(best.size)
        before, here, after = (expected[group, best + step] for step in (-1, 0, 1))
        curvature = np.maximum(before - 2 * here + after, _FLAT)
        vertex = (before - after) / (2 * curvature)  # of a parabola through the three
        estimates: Floats = ends[group, best] + (np.clip(vertex, -0.5, 0.5) - 0.5) * self.step[:, 0]
        return estimates

    def cumulative(self, transform: Transform) -> tuple[Floats, Floats]:
        """By group: where the points of the grid end, and the chances up to there."""
        density = np.maximum(np.fft.irfft(transform, _POINTS, axis=1), 0.0)
        below = np.cumsum(np.roll(density, _POINTS // 2, axis=1), axis=1)
        ends = (np.arange(_POINTS) - _POINTS // 2 + 0.5) * self.step
        return ends, below / below[:, -1:]
