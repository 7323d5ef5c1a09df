"""Distribution of a sum of independent errors on a grid, by Fourier transforms.

The transform of a sum is the product of the transforms of its terms. `ErrorGrid` has one transform per kind of error
(Laplace, normal, certain, discrete), and reads estimates and quantiles off a product of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pdpmean.core.types import Floats

__all__ = ["CHANCES", "ErrorGrid", "Transform"]

_POINTS = 1024  # of every grid
_FREQUENCIES = 2 * np.pi * np.fft.rfftfreq(_POINTS)

# The transform of the square root of the distance between two points. The grid is periodic, so distances are taken the
# shorter way round.
_ROOT_DISTANCES = np.fft.rfft(np.sqrt(np.minimum(np.arange(_POINTS), _POINTS - np.arange(_POINTS)))).real

# Probabilities between whose quantiles the best estimate is sought.
_LOWEST = 0.05
_HIGHEST = 0.95

_LEAST_CURVATURE = 1e-300  # avoids a division by zero

CHANCES = np.concatenate([[0.0], expit(np.linspace(-16.0, 16.0, 193)), [1.0]])
"""Probabilities at which quantiles are kept: dense enough for intervals of any level up to 1 - 1e-6."""

Transform = NDArray[np.complex128]


class ErrorGrid:
    """A grid of errors from ``-reach`` to ``reach`` for each group, and the transforms of errors on it.

    The first axis of all arrays is the group. Multiply transforms to add independent errors.
    """

    def __init__(self, reach: Floats) -> None:
        self.reach = reach
        self.step = (2 * reach / _POINTS)[:, None]
        self._frequencies = _FREQUENCIES / self.step

    def of(self, groups: NDArray[np.intp]) -> ErrorGrid:
        """The grids of the groups with these indices, which may repeat."""
        return ErrorGrid(self.reach[groups])

    def laplace(self, scale: Floats) -> Floats:
        """Transform of Laplace noise of this scale."""
        return 1 / (1 + (scale[:, None] * self._frequencies) ** 2)

    def normal(self, variance: Floats) -> Floats:
        """Transform of a normal error of mean 0."""
        return np.exp(-0.5 * variance[:, None] * self._frequencies**2)

    def shift(self, places: Floats) -> Transform:
        """Transform of a known error."""
        transform: Transform = np.exp(-1j * places[:, None] * self._frequencies)
        return transform

    def discrete(self, places: Floats, chances: Floats) -> Transform:
        """Transform of an error with a few values, `places`, and their probabilities, both by group and number.

        A value between two points of the grid is split between them.
        """
        groups = places.shape[0]
        position = places / self.step + _POINTS // 2
        position = np.clip(position, 0, _POINTS - 2)
        before = position.astype(np.int64)
        fraction = position - before
        flat = (before + _POINTS * np.arange(groups)[:, None]).ravel()
        density = np.bincount(flat, ((1 - fraction) * chances).ravel(), groups * _POINTS)
        density += np.bincount(flat + 1, (fraction * chances).ravel(), groups * _POINTS)
        rolled = np.roll(density.reshape(groups, _POINTS), -(_POINTS // 2), axis=1)
        return np.fft.rfft(rolled)

    def quantiles(self, transform: Transform, at: Floats) -> Floats:
        """Quantiles of the error, by group, at the probabilities `at`."""
        ends, below = self.cumulative(transform)
        return np.array([np.interp(at, chances, places) for chances, places in zip(below, ends, strict=True)])

    def best(self, transform: Transform) -> Floats:
        """By group: the estimate with the least expected square root of the distance from the true value.

        If the error is probably small but may be huge, the median is nearly always a little off. This estimate is
        closer to where most of the probability lies.
        """
        ends, below = self.cumulative(transform)
        expected = np.roll(np.fft.irfft(transform * _ROOT_DISTANCES, _POINTS, axis=1), _POINTS // 2, axis=1)
        is_candidate = (below > _LOWEST) & (np.roll(below, 1, axis=1) < _HIGHEST)
        is_candidate[:, [0, -1]] = False
        best = np.where(is_candidate, expected, np.inf).argmin(axis=1)
        group = np.arange(best.size)
        before, here, after = (expected[group, best + step] for step in (-1, 0, 1))
        curvature = np.maximum(before - 2 * here + after, _LEAST_CURVATURE)
        vertex = (before - after) / (2 * curvature)  # of a parabola through the three values, from the middle one
        estimates: Floats = ends[group, best] + (np.clip(vertex, -0.5, 0.5) - 0.5) * self.step[:, 0]
        return estimates

    def cumulative(self, transform: Transform) -> tuple[Floats, Floats]:
        """By group: the upper edge of each point's cell, and the distribution function there."""
        density = np.maximum(np.fft.irfft(transform, _POINTS, axis=1), 0.0)
        below = np.cumsum(np.roll(density, _POINTS // 2, axis=1), axis=1)
        ends = (np.arange(_POINTS) - _POINTS // 2 + 0.5) * self.step
        return ends, below / below[:, -1:]
