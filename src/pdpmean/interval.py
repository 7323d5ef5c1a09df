"""The law of the error: Laplace noise plus normal sampling, mixed over what the scale might be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, ndtr

from pdpmean.inputs import Floats

__all__ = ["ErrorLaw", "half_width", "noisy_normal_cdf", "rank_nodes"]

_NODES = 48
_WIDER = 1.3
_TABLE = np.linspace(0.0, 1.0, 201)


def noisy_normal_cdf(x: Any, noise: Any, sampling: Any) -> Any:
    """P(L + N <= x) for Laplace L of scale `noise` and normal N of standard deviation `sampling`."""
    # Powers of two change nothing, and keep what follows away from the ends of the doubles.
    unit = np.ldexp(1.0, np.frexp(np.maximum(np.maximum(noise, sampling), 2.0**-1000))[1] - 1)
    x, noise, sampling = x / unit, np.maximum(noise / unit, 1e-9), np.maximum(sampling / unit, 1e-9)
    z, ratio = x / sampling, sampling / noise
    return ndtr(z) - 0.5 * _tail(z, ratio) + 0.5 * _tail(-z, ratio)


def _tail(z: Any, ratio: Any) -> Any:
    """``Phi(z - ratio) exp(ratio**2 / 2 - z ratio)``, without cancellation where ratio is large."""
    gap = np.maximum(ratio - z, 0.0) / math.sqrt(2)
    near = 0.5 * erfcx(gap) * np.exp(-np.minimum(z * z, 1400.0) / 2)
    far = ndtr(z - ratio) * np.exp(np.minimum(ratio * (ratio / 2 - z), 0.0))
    return np.where(z <= ratio, near, far)


@lru_cache(maxsize=16)
def _half_widths(level: float) -> Floats:
    """Half widths for noise + sampling = 1, at each mixture in the table."""

    def solve(part: float) -> float:
        noise, sampling = max(1 - part, 1e-6), max(part, 1e-6)
        found = brentq(lambda x: 2 * noisy_normal_cdf(x, noise, sampling) - 1 - level, 0.0, 60.0)
        return float(found)

    return np.array([solve(part) for part in _TABLE.tolist()])


def half_width(level: float, noise: float, sampling: float) -> float:
    """X with P(|L + N| <= x) = level, for Laplace L of scale `noise` and normal N of std `sampling`."""
    size = noise + sampling
    return float(size * np.interp(sampling / size, _TABLE, _half_widths(level)))


def rank_nodes(weight: float, square: float) -> Floats:
    """Equally likely values of the true rank of a located median, of total weight and squared weight given.

    The exponential mechanism errs in rank by about Laplace(1 / weight), the sample by a normal; simulation asks for a
    little more than both (benchmarks/accuracy.py --coverage).
    """
    noise, sampling = _WIDER / weight, _WIDER * np.sqrt(square) / (2 * weight)
    reach = np.linspace(-14 * (noise + sampling), 14 * (noise + sampling), 2001)
    chances = (np.arange(_NODES) + 0.5) / _NODES
    return np.clip(0.5 + np.interp(chances, noisy_normal_cdf(reach, noise, sampling), reach), 0.03, 0.97)


@dataclass(frozen=True)
class ErrorLaw:
    """Where the true mean lies, given all released numbers: an equal mixture of noisy normals."""

    centers: Floats
    noise: Floats
    sampling: Floats

    @property
    def _unit(self) -> float:
        """A power of two near the largest error: numbers divided by it neither overflow nor vanish when squared."""
        largest = max(float(np.max(self.noise)), float(np.max(self.sampling)), float(np.ptp(self.centers)))
        return math.ldexp(1.0, max(math.frexp(largest)[1] - 1, -1022)) if largest > 0 else 0.0

    def cdf(self, x: float) -> float:
        """P(true mean <= x)."""
        return float(np.mean(noisy_normal_cdf(x - self.centers, self.noise, self.sampling)))

    def quantile(self, chance: float) -> float:
        """X with P(true mean <= x) = chance."""
        unit, middle = self._unit, float(self.centers[0])
        if unit == 0:
            return middle
        centers, noise, sampling = (self.centers - middle) / unit, self.noise / unit, self.sampling / unit

        def above(x: float) -> float:
            return float(np.mean(noisy_normal_cdf(x - centers, noise, sampling))) - chance

        largest = float(np.finfo(np.float64).max)
        found = middle + unit * float(brentq(above, -200.0, 200.0, xtol=1e-10))
        return min(max(found, -largest), largest)

    def interval(self, level: float) -> tuple[float, float]:
        """The central interval that holds the true mean with probability `level`."""
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise."""
        return self._unit * float(np.sqrt(2 * np.mean((self.noise / (self._unit or 1.0)) ** 2)))

    @property
    def sampling_std(self) -> float:
        """Standard deviation from who happens to be in the sample, and from the scale not being known."""
        unit = self._unit or 1.0
        deviations = (self.centers - self.centers[0]) / unit
        return unit * float(np.sqrt(np.mean((self.sampling / unit) ** 2) + np.var(deviations)))
