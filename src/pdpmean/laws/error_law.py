"""Distribution of an error that is Laplace noise plus a normal sampling error, and mixtures of such errors.

Throughout, L is a Laplace variable of scale `noise`, and N an independent normal variable of standard deviation
`sampling`. For a bell-shaped population the true spread is uncertain, so the error of the mean (`ErrorLaw`) is a
mixture over equally likely values of it.
"""

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

_NODES = 48  # equally likely ranks of a located median
_WIDER = 1.3  # by simulation: how much larger the error of a rank is than a simple approximation says

# Newton's method ends after `_MOST_STEPS`, or after a step smaller than these limits, which squares the error.
_MOST_STEPS = 20
_CLOSE = 1e-7  # for a single error, relative to noise + sampling
_CLOSE_IN_MIXTURE = 1e-10  # for a mixture, relative to its largest error

_MIXTURES = 200  # steps of a table, from noise alone to sampling alone

# Where a quantile of a mixture is sought, in units of its largest error, and how often that range is halved.
_FARTHEST = 200.0
_MOST_HALVINGS = 60

_TOGETHER = 128  # laws handled at once; larger arrays would not stay in the processor's cache


@np.errstate(under="ignore")  # also where somebody has asked NumPy to raise
def noisy_normal_cdf(x: Any, noise: Any, sampling: Any) -> Any:
    """P(L + N <= x) for Laplace L of scale `noise` and normal N of standard deviation `sampling`."""
    # Division by a power of two is exact, and keeps what follows from overflow and underflow.
    unit = np.ldexp(1.0, np.frexp(np.maximum(np.maximum(noise, sampling), 2.0**-1000))[1] - 1)
    noise = np.maximum(noise / unit, 1e-9)
    sampling = np.maximum(sampling / unit, 1e-9)
    z = x / unit / sampling
    ratio = sampling / noise
    below = _tail(z, ratio)
    above = _tail(-z, ratio)
    return ndtr(z) - 0.5 * below + 0.5 * above


@quietly
def noisy_normal_density(x: Any, noise: Any, sampling: Any) -> Any:
    """The density of L + N at x, for Laplace L of scale `noise` and normal N of standard deviation `sampling`."""
    sampling = np.maximum(sampling, 1e-3 * noise)
    z = np.abs(x) / sampling
    ratio = sampling / noise
    return (_tail(z, ratio) + _near_tail(-z, ratio)) / (2 * noise)


@quietly
def noisy_normal_quantile(chance: Any, noise: Any, sampling: Any) -> Any:
    """The x with P(L + N <= x) = chance, for chances of at least 1/2, by Newton's method.

    Above the median the distribution function is concave, and L or N alone is less spread out than their sum. So the
    method starts at the larger of their quantiles. From there every step goes up, and none goes beyond x.
    """
    unit = noise + sampling
    noise = np.maximum(noise / unit, 1e-9)
    sampling = np.maximum(sampling / unit, 1e-9)

    def step(x: Any) -> tuple[Any, Any]:
        below, density = _chance_and_density(x, noise, sampling)
        change = (chance - below) / density
        return x + change, change

    start = np.maximum(-noise * np.log(2 * (1 - chance)), sampling * ndtri(chance))
    return unit * step_until_small(step, start, most_steps=_MOST_STEPS, smallest=_CLOSE)


def _chance_and_density(x: Any, noise: Any, sampling: Any) -> tuple[Any, Any]:
    """P(L + N <= x), and its derivative, in which the derivatives of the normal parts cancel."""
    z = x / sampling
    ratio = sampling / noise
    below = _tail(z, ratio)
    above = _tail(-z, ratio)
    return ndtr(z) - 0.5 * below + 0.5 * above, (below + above) / (2 * noise)


def _tail(z: Any, ratio: Any) -> Any:
    """``Phi(z - ratio) exp(ratio**2 / 2 - z ratio)``, without overflow where the ratio is large."""
    far = ndtr(z - ratio) * np.exp(np.minimum(ratio * (ratio / 2 - z), 0.0))
    return np.where(z <= ratio, _near_tail(z, ratio), far)


def _near_tail(z: Any, ratio: Any) -> Any:
    """`_tail` where z is at most the ratio."""
    gap = np.maximum(ratio - z, 0.0) / math.sqrt(2)
    return 0.5 * erfcx(gap) * np.exp(-np.minimum(z * z, 1400.0) / 2)


def _quantiles(chances: Any) -> Floats:
    """Table of quantiles at these chances, of at least 1/2, for noise + sampling = 1; `sampling` grows by row."""
    sampling = np.linspace(0.0, 1.0, _MIXTURES + 1)[:, None]
    table: Floats = noisy_normal_quantile(chances, 1 - sampling, sampling)
    return table


@lru_cache(maxsize=64)
def _half_widths(level: float) -> list[float]:
    """Half widths of the central interval of this level, by row of the table."""
    widths: list[float] = _quantiles((1 + level) / 2)[:, 0].tolist()
    return widths


@lru_cache(maxsize=1)
def _upper_nodes() -> Floats:
    """The positive half of `_NODES` equally likely values, by row of the table."""
    return _quantiles((np.arange(_NODES // 2) + (_NODES + 1) / 2) / _NODES)


def half_width(level: float, noise: float, sampling: float) -> float:
    """The x with P(|L + N| <= x) = level, for Laplace L of scale `noise` and normal N of std `sampling`.

    It is interpolated in a table, which is kept for each level.
    """
    size = noise + sampling
    table = _half_widths(level)
    place = sampling / size * _MIXTURES
    below = min(int(place), _MIXTURES - 1)
    return size * (table[below] + (place - below) * (table[below + 1] - table[below]))


@quietly
def rank_nodes(weight: Any, square: Any) -> Floats:
    """Equally likely values of the true rank of a located median, along the last axis.

    `weight` is the total weight behind the median, and `square` the sum of squared weights. The exponential mechanism
    errs in rank by about Laplace(1 / weight), and the sample by a normal error. Simulation asks for a little more than
    both (benchmarks/accuracy.py --coverage).
    """
    noise = _WIDER / weight
    sampling = _WIDER * np.sqrt(square) / (2 * weight)
    place = np.asarray(sampling / (noise + sampling) * _MIXTURES)
    below = np.minimum(place.astype(np.int64), _MIXTURES - 1)
    lower = _upper_nodes()[below]
    upper = _upper_nodes()[below + 1]
    offsets = np.asarray(noise + sampling)[..., None] * (lower + (place - below)[..., None] * (upper - lower))
    return np.clip(0.5 + np.concatenate([-offsets[..., ::-1], offsets], axis=-1), 0.03, 0.97)


@dataclass(frozen=True)
class ErrorLaw:
    """Where the true mean lies, given all released numbers: an equal mixture of L + N around several centres."""

    centers: Floats
    noise: Floats
    """Scale of L, by component of the mixture."""

    sampling: Floats
    """Standard deviation of N, by component of the mixture."""

    @cached_property
    def _unit(self) -> float:
        """A power of two near the largest error: numbers over it can be squared safely. 0 if there is no error."""
        largest = max(float(np.max(self.noise)), float(np.max(self.sampling)), float(np.ptp(self.centers)))
        return math.ldexp(1.0, max(math.frexp(largest)[1] - 1, -1022)) if largest > 0 else 0.0

    @quietly
    def cdf(self, x: float) -> float:
        """P(true mean <= x)."""
        return float(np.mean(noisy_normal_cdf(x - self.centers, self.noise, self.sampling)))

    @quietly
    def chances(self, points: Floats) -> Floats:
        """P(true mean <= x) at each of many points."""
        below: Floats = noisy_normal_cdf(points[:, None] - self.centers, self.noise, self.sampling).mean(axis=1)
        return below

    def interval(self, level: float) -> tuple[float, float]:
        """The central interval that contains the true mean with probability `level`."""
        return intervals([self], level)[0]

    @property
    @quietly
    def noise_std(self) -> float:
        """Standard deviation of the noise."""
        return self._unit * float(np.sqrt(2 * np.mean((self.noise / (self._unit or 1.0)) ** 2)))

    @property
    @quietly
    def sampling_std(self) -> float:
        """Standard deviation of the error due to sampling, and to the unknown scale of the population."""
        unit = self._unit or 1.0
        deviations = (self.centers - self.centers[0]) / unit
        return unit * float(np.sqrt(np.mean((self.sampling / unit) ** 2) + np.var(deviations)))

    @property
    def tails_std(self) -> float:
        """0: the assumed shape determines the tails."""
        return 0.0


@quietly
def intervals(laws: Sequence[ErrorLaw], level: float) -> list[tuple[float, float]]:
    """The central interval of each law that contains the true mean with probability `level`.

    All laws must have the same number of components.
    """
    batches = [laws[start : start + _TOGETHER] for start in range(0, len(laws), _TOGETHER)]
    lows = [end for batch in batches for end in quantiles(batch, (1 - level) / 2)]
    highs = [end for batch in batches for end in quantiles(batch, (1 + level) / 2)]
    return list(zip(lows, highs, strict=True))


@quietly
def quantiles(laws: Sequence[ErrorLaw], chance: float) -> list[float]:
    """The x of each law with P(true mean <= x) = chance; all laws must have the same number of components."""
    units = np.array([[law._unit or 1.0] for law in laws])
    middles = np.array([law.centers[:1] for law in laws])
    centers = (np.array([law.centers for law in laws]) - middles) / units
    noise = np.array([law.noise for law in laws]) / units
    sampling = np.array([law.sampling for law in laws]) / units
    solutions = _solved(chance, centers, noise, sampling)
    places = zip(laws, middles[:, 0].tolist(), solutions[:, 0].tolist(), strict=True)
    return [finite(middle + law._unit * x) for law, middle, x in places]


def _solved(chance: float, centers: Floats, noise: Floats, sampling: Floats) -> Floats:
    """The quantile of each mixture (a row) at this chance, in a column.

    Newton's method finds it. Where a step would leave the range in which the quantile must lie, that range is halved
    instead.
    """
    noise = np.maximum(noise, 1e-9)
    sampling = np.maximum(sampling, 1e-9)

    def step(state: tuple[int, Floats, Floats, Floats]) -> tuple[tuple[int, Floats, Floats, Floats], Floats]:
        number, x, low, high = state
        components = _chance_and_density(x - centers, noise, sampling)
        below, density = (component.mean(axis=1, keepdims=True) for component in components)
        low = np.where(below < chance, x, low)
        high = np.where(below < chance, high, x)
        tangent = x + (chance - below) / np.maximum(density, 1e-300)
        is_between = (low <= tangent) & (tangent <= high) & (number < _MOST_STEPS)
        after = np.where(is_between, tangent, (low + high) / 2)
        return (number + 1, after, low, high), after - x

    middle: Floats = np.zeros((len(centers), 1))
    start = 0, middle, middle - _FARTHEST, middle + _FARTHEST
    return step_until_small(step, start, most_steps=_MOST_STEPS + _MOST_HALVINGS, smallest=_CLOSE_IN_MIXTURE)[1]
