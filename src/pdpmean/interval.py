"""The law of the error: Laplace noise plus normal sampling, mixed over what the scale might be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from pdpmean.inputs import Floats

__all__ = ["ErrorLaw", "half_width", "noisy_normal_cdf", "rank_nodes"]

_NODES = 48
_TABLE = np.linspace(0.0, 1.0, 201)


def noisy_normal_cdf(x: Any, noise: Any, sampling: Any) -> Any:
    """P(L + N <= x) for Laplace L of scale `noise` and normal N of standard deviation `sampling`."""
    sampling = np.maximum(sampling, 1e-300)
    noise = np.maximum(noise, 1e-300)
    z, ratio = x / sampling, sampling / noise
    upper = np.exp(np.minimum(log_ndtr(z - ratio) + ratio**2 / 2 - x / noise, 50.0))
    lower = np.exp(np.minimum(log_ndtr(-z - ratio) + ratio**2 / 2 + x / noise, 50.0))
    return ndtr(z) - 0.5 * upper + 0.5 * lower


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

    The exponential mechanism errs in rank by about Laplace(1 / weight), the sample by a normal.
    """
    noise, sampling = 1 / weight, np.sqrt(square) / (2 * weight)
    reach = np.linspace(-14 * (noise + sampling), 14 * (noise + sampling), 2001)
    chances = (np.arange(_NODES) + 0.5) / _NODES
    return np.clip(0.5 + np.interp(chances, noisy_normal_cdf(reach, noise, sampling), reach), 0.03, 0.97)


@dataclass(frozen=True)
class ErrorLaw:
    """Where the true mean lies, given all released numbers: an equal mixture of noisy normals."""

    centers: Floats
    noise: Floats
    sampling: Floats

    def cdf(self, x: float) -> float:
        """P(true mean <= x)."""
        return float(np.mean(noisy_normal_cdf(x - self.centers, self.noise, self.sampling)))

    def quantile(self, chance: float) -> float:
        """X with P(true mean <= x) = chance."""
        reach = 60 * float(np.max(self.noise) + np.max(self.sampling)) + float(np.ptp(self.centers))
        low, high = float(self.centers.min()) - reach, float(self.centers.max()) + reach
        if not low < high:
            return low
        return float(brentq(lambda x: self.cdf(x) - chance, low, high, xtol=1e-9 * reach, rtol=1e-13))

    def interval(self, level: float) -> tuple[float, float]:
        """The central interval that holds the true mean with probability `level`."""
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    @property
    def noise_std(self) -> float:
        """Standard deviation of the noise."""
        return float(np.sqrt(2 * np.mean(self.noise**2)))

    @property
    def sampling_std(self) -> float:
        """Standard deviation from who happens to be in the sample, and from the scale not being known."""
        return float(np.sqrt(np.mean(self.sampling**2) + np.var(self.centers)))
