"""The law of the error: noise plus normal sampling, mixed over what the scale might be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import erfcx, ndtr, ndtri

from pdpmean.core.numbers import finite
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.laws.newton import step_until_small

__all__ = [
    "ErrorLaw",
    "half_width",
    "intervals",
    "noisy_normal_cdf",
    "noisy_normal_density",
    "noisy_normal_quantile",
    "quantiles",
    "rank_nodes",
]

_NODES = 48
_WIDER = 1.3
_MOST_STEPS, _CLOSE, _NEAR = 20, 1e-7, 1e-10  # of Newton's method, which squares what is close
_MIXTURES = 200  # of noise and sampling, in a table
_FARTHEST, _MOST_HALVINGS = 200.0, 60  # of a quantile of a mixture, in units of the largest error; where it is sought
_TOGETHER = 128  # laws; the arrays of more would not stay in the processor's cache


@np.errstate(under="ignore")  # also where somebody has asked NumPy to raise
def noisy_normal_cdf(x: Any, noise: Any, sampling: Any) -> Any:
    """P(L + N <= x) for Laplace L of scale `noise` and normal N of standard deviation `sampling`."""
    # Powers of two change nothing, and keep what follows away from the ends of the doubles.
    unit = np.ldexp(1.0, np.frexp(np.maximum(np.maximum(noise, sampling), 2.0**-1000))[1] - 1)
    noise, sampling = np.maximum(noise / unit, 1e-9), np.maximum(sampling / unit, 1e-9)
    z, ratio = x / unit / sampling, sampling / noise
    below, above = (_tail(side, ratio) for side in (z, -z))
    return ndtr(z) - 0.5 * below + 0.5 * above


@quietly
def noisy_normal_density(x: Any, noise: Any, sampling: Any) -> Any:
    """The density of L + N at x, for Laplace L of scale `noise` and normal N of standard deviation `sampling`."""
    sampling = np.maximum(sampling, 1e-3 * noise)
    z, ratio = np.abs(x) / sampling, sampling / noise
    return (_tail(z, ratio) + _near_tail(-z, ratio)) / (2 * noise)


@quietly
def noisy_normal_quantile(chance: Any, noise: Any, sampling: Any) -> Any:
    """X with P(L + N <= x) = chance, for chances of at least a half; by Newton's method.

    There the distribution is concave, and either part alone is less spread out: from the larger of their quantiles on
    every step goes up, and none beyond x.
    """
    unit = noise + sampling
    noise, sampling = np.maximum(noise / unit, 1e-9), np.maximum(sampling / unit, 1e-9)

    def step(x: Any) -> tuple[Any, Any]:
        found, density = _chance_and_density(x, noise, sampling)
        change = (chance - found) / density
        return x + change, change

    start = np.maximum(-noise * np.log(2 * (1 - chance)), sampling * ndtri(chance))
    return unit * step_until_small(step, start, most_steps=_MOST_STEPS, smallest=_CLOSE)


def _chance_and_density(x: Any, noise: Any, sampling: Any) -> tuple[Any, Any]:
    """P(L + N <= x), and its derivative: a tail falls by the ratio of itself, and grows by what cancels in the end."""
    z, ratio = x / sampling, sampling / noise
    below, above = _tail(z, ratio), _tail(-z, ratio)
    return ndtr(z) - 0.5 * below + 0.5 * above, (below + above) / (2 * noise)


def _tail(z: Any, ratio: Any) -> Any:
    """``Phi(z - ratio) exp(ratio**2 / 2 - z ratio)``, without cancellation where ratio is large."""
    far = ndtr(z - ratio) * np.exp(np.minimum(ratio * (ratio / 2 - z), 0.0))
    return np.where(z <= ratio, _near_tail(z, ratio), far)


def _near_tail(z: Any, ratio: Any) -> Any:
    """The same where z is at most the ratio."""
    gap = np.maximum(ratio - z, 0.0) / math.sqrt(2)
    return 0.5 * erfcx(gap) * np.exp(-np.minimum(z * z, 1400.0) / 2)


def _quantiles(chances: Any) -> Floats:
    """Quantiles of these chances, of at least a half, for noise + sampling = 1; one row a mixture in the table."""
    sampling = np.linspace(0.0, 1.0, _MIXTURES + 1)[:, None]
    found: Floats = noisy_normal_quantile(chances, 1 - sampling, sampling)
    return found


@lru_cache(maxsize=64)
def _half_widths(level: float) -> list[float]:
    widths: list[float] = _quantiles((1 + level) / 2)[:, 0].tolist()
    return widths


@lru_cache(maxsize=1)
def _upper_nodes() -> Floats:
    return _quantiles((np.arange(_NODES // 2) + (_NODES + 1) / 2) / _NODES)


def half_width(level: float, noise: float, sampling: float) -> float:
    """X with P(|L + N| <= x) = level, for Laplace L of scale `noise` and normal N of std `sampling`."""
    size, table = noise + sampling, _half_widths(level)
    place = sampling / size * _MIXTURES
    below = min(int(place), _MIXTURES - 1)
    return size * (table[below] + (place - below) * (table[below + 1] - table[below]))


@quietly
def rank_nodes(weight: Any, square: Any) -> Floats:
    """Equally likely values of the true rank of a located median, of total weight and squared weight given.

    The exponential mechanism errs in rank by about Laplace(1 / weight), the sample by a normal; simulation asks for a
    little more than both (benchmarks/accuracy.py --coverage). Of many weights, one row each.
    """
    noise, sampling = _WIDER / weight, _WIDER * np.sqrt(square) / (2 * weight)
    place = np.asarray(sampling / (noise + sampling) * _MIXTURES)
    below = np.minimum(place.astype(np.int64), _MIXTURES - 1)
    lower, upper = _upper_nodes()[below], _upper_nodes()[below + 1]
    offsets = np.asarray(noise + sampling)[..., None] * (lower + (place - below)[..., None] * (upper - lower))
    return np.clip(0.5 + np.concatenate([-offsets[..., ::-1], offsets], axis=-1), 0.03, 0.97)


@dataclass(frozen=True)
class ErrorLaw:
    """Where the true mean lies, given all released numbers: an equal mixture of noisy normals."""

    centers: Floats
    noise: Floats
    sampling: Floats

    @cached_property
    def _unit(self) -> float:
        """A power of two near the largest error: numbers divided by it neither overflow nor vanish when squared."""
        largest = max(float(np.max(self.noise)), float(np.max(self.sampling)), float(np.ptp(self.centers)))
        return math.ldexp(1.0, max(math.frexp(largest)[1] - 1, -1022)) if largest > 0 else 0.0

    @quietly
    def cdf(self, x: float) -> float:
        """P(true mean <= x)."""
        return float(np.mean(noisy_normal_cdf(x - self.centers, self.noise, self.sampling)))

    @quietly
    def chances(self, points: Floats) -> Floats:
        """The same at each of many points."""
        below: Floats = noisy_normal_cdf(points[:, None] - self.centers, self.noise, self.sampling).mean(axis=1)
        return below

    def interval(self, level: float) -> tuple[float, float]:
        """The central interval that holds the true mean with probability `level`."""
        return intervals([self], level)[0]

    @property
    @quietly
    def noise_std(self) -> float:
        """Standard deviation of the noise."""
        return self._unit * float(np.sqrt(2 * np.mean((self.noise / (self._unit or 1.0)) ** 2)))

    @property
    @quietly
    def sampling_std(self) -> float:
        """Standard deviation from who happens to be in the sample, and from the scale not being known."""
        unit = self._unit or 1.0
        deviations = (self.centers - self.centers[0]) / unit
        return unit * float(np.sqrt(np.mean((self.sampling / unit) ** 2) + np.var(deviations)))

    @property
    def tails_std(self) -> float:
        """None: the shape says what the tails are."""
        return 0.0


@quietly
def intervals(laws: Sequence[ErrorLaw], level: float) -> list[tuple[float, float]]:
    """The central interval of each law, of as many parts, that holds the true mean with probability `level`."""
    parts = [laws[start : start + _TOGETHER] for start in range(0, len(laws), _TOGETHER)]
    ends = ([end for part in parts for end in quantiles(part, chance)] for chance in ((1 - level) / 2, (1 + level) / 2))
    return list(zip(*ends, strict=True))


@quietly
def quantiles(laws: Sequence[ErrorLaw], chance: float) -> list[float]:
    """X with P(true mean <= x) = chance, of each law, all of as many parts."""
    scales, middles = np.array([[law._unit or 1.0] for law in laws]), np.array([law.centers[:1] for law in laws])
    centers = (np.array([law.centers for law in laws]) - middles) / scales
    noise, sampling = (np.array([getattr(law, name) for law in laws]) / scales for name in ("noise", "sampling"))
    found = _solved(chance, centers, noise, sampling)
    places = zip(laws, middles[:, 0].tolist(), found[:, 0].tolist(), strict=True)
    return [finite(middle + law._unit * x) for law, middle, x in places]


def _solved(chance: float, centers: Floats, noise: Floats, sampling: Floats) -> Floats:
    """Where each mixture, a row, has this chance: by Newton's method, and by halving where that leaves its ends."""
    noise, sampling = np.maximum(noise, 1e-9), np.maximum(sampling, 1e-9)

    def step(state: tuple[int, Floats, Floats, Floats]) -> tuple[tuple[int, Floats, Floats, Floats], Floats]:
        number, x, low, high = state
        parts = _chance_and_density(x - centers, noise, sampling)
        found, density = (part.mean(axis=1, keepdims=True) for part in parts)
        low, high = np.where(found < chance, x, low), np.where(found < chance, high, x)
        tangent = x + (chance - found) / np.maximum(density, 1e-300)
        is_between = (low <= tangent) & (tangent <= high) & (number < _MOST_STEPS)
        after = np.where(is_between, tangent, (low + high) / 2)
        return (number + 1, after, low, high), after - x

    middle: Floats = np.zeros((len(centers), 1))
    start = 0, middle, middle - _FARTHEST, middle + _FARTHEST
    return step_until_small(step, start, most_steps=_MOST_STEPS + _MOST_HALVINGS, smallest=_NEAR)[1]
