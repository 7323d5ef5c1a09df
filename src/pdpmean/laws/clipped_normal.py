"""A normal variable clipped to [-width, width]: its moments, and how to undo the clipping.

Z is a standard normal variable throughout, and `shift` the mean of the variable Z + shift that is clipped. The *tent*
is the width minus the absolute value of the clipped variable. All functions take arrays. Those without Newton's method
also take single floats and then use `math`, which is faster: the search for a plan makes many such calls.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from pdpmean.core.types import Floats
from pdpmean.laws.newton import step_until_small

__all__ = [
    "MEDIAN_SIZE",
    "centered",
    "clipped_mean",
    "clipped_variance",
    "inside",
    "mean_tent",
    "ratio_slope",
    "size_quantile",
    "undo_clipping",
]

MEDIAN_SIZE = 0.6744897501960817
"""The median of |Z|."""

_DENSITY_AT_ZERO = 1 / math.sqrt(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)

# Newton's method ends after `_MOST_STEPS`, or after a step smaller than `_CLOSE`, which squares the error once more.
_MOST_STEPS = 20
_CLOSE = 1e-9
_LEAST_SLOPE = 0.02  # flatter slopes are taken for this, so that steps stay short

_FARTHEST = 1.5  # standard deviations beyond the clip, from where on the clipped mean says nothing more


def _density(x: Any) -> Any:
    """The density of Z at x."""
    return (math.exp if isinstance(x, float) else np.exp)(-0.5 * x * x) * _DENSITY_AT_ZERO


def _chance(x: Any) -> Any:
    """P(Z < x)."""
    return 0.5 * math.erfc(-x * _ROOT_HALF) if isinstance(x, float) else ndtr(x)


def inside(width: Any, shift: Any = 0.0) -> Any:
    """P(|Z + shift| < width), which is also the derivative of `clipped_mean` by the shift."""
    return _chance(width - shift) - _chance(-width - shift)


def _ramp(x: Any) -> Any:
    """E max(Z + x, 0)."""
    return x * _chance(x) + _density(x)


def _square(x: Any) -> Any:
    """E max(Z + x, 0)**2."""
    return _chance(x) + x * _ramp(x)


def clipped_mean(width: Any, shift: Any) -> Any:
    """E clip(Z + shift, -width, width)."""
    return _ramp(shift + width) - _ramp(shift - width) - width


def mean_tent(width: Any, shift: Any = 0.0) -> Any:
    """E max(width - |Z + shift|, 0)."""
    return _ramp(shift + width) - 2 * _ramp(shift) + _ramp(shift - width)


def ratio_slope(width: Any, shift: Any, ratio: Any) -> Any:
    """Derivative, by the shift, of the clipped mean minus `ratio` times the mean tent."""
    above = _chance(shift + width)
    middle = _chance(shift)
    below = _chance(shift - width)
    return above - below - ratio * (above - 2 * middle + below)


def clipped_variance(width: Any, shift: Any = 0.0, ratio: Any = 0.0) -> Any:
    """Variance of clip(Z + shift, -width, width) minus `ratio` times its tent.

    Up to a constant, that is a piecewise linear function of Z + shift: it rises with slope ``1 - ratio`` from -width to
    0, and with slope ``1 + ratio`` from 0 to width.
    """
    first = 1 - ratio
    second = 1 + ratio
    ramps = [_ramp(shift + step) for step in (width, 0.0, -width)]
    squares = [_square(shift + step) for step in (width, 0.0, -width)]
    low = ramps[0] - ramps[1]
    high = ramps[1] - ramps[2]
    low_square, high_square = (squares[k] - squares[k + 1] - 2 * width * ramps[k + 1] for k in (0, 1))
    square = first**2 * low_square + second**2 * high_square + 2 * first * second * width * high
    variance = square - (first * low + second * high) ** 2
    return max(variance, 0.0) if isinstance(variance, float) else np.maximum(variance, 0.0)


class CenteredMoments(NamedTuple):
    """Moments of a normal variable in the middle of its clip."""

    inside: float
    """Probability that it is not clipped."""
    variance: float
    """Variance after clipping."""
    tent: float
    """Mean tent."""
    tent_slope: float
    """Elasticity: relative growth of (mean tent / width) per relative growth of the width."""


@lru_cache(maxsize=1024)  # similar groups have the same clip
def centered(width: float) -> CenteredMoments:
    """The moments for a clip to [-width, width]."""
    within = inside(width)
    tent = mean_tent(width)
    return CenteredMoments(within, clipped_variance(width), tent, width * within / tent - 1)


def size_quantile(shift: Any, level: Any, start: Any = None) -> Any:
    """The `level` quantile of |Z + shift|, by Newton's method; `start` is a first guess, if there is one."""

    def step(size: Any) -> tuple[Any, Any]:
        slope = np.maximum(_density(size - shift) + _density(size + shift), 0.02)
        change = (inside(size, shift) - level) / slope
        return np.maximum(size - np.clip(change, -0.5 * size, 0.5 * size), 1e-3), change

    size = ndtri((1 + level) / 2) * np.sqrt(1 + shift * shift) if start is None else start
    return step_until_small(step, size, most_steps=7, smallest=_CLOSE)


def undo_clipping(ratio: Floats, half: Any, level: Floats) -> tuple[Floats, Floats]:
    """The normal population behind two released numbers, as (shift, sigma); its mean is ``shift * sigma``.

    The unit is the released spread: 1 is the `level` quantile of the population's absolute value, so sigma follows from
    the shift (up to a shift of `_FARTHEST`). `ratio` is the mean after clipping to [-half, half], over the mean tent.
    From it the shift is found by Newton's method, at most `_FARTHEST` beyond the clip.
    """
    farthest = half * size_quantile(_FARTHEST, level) + _FARTHEST
    size = ndtri((1 + level) / 2)
    shift = np.clip(ratio * mean_tent(half * size) / inside(half * size), -_FARTHEST, _FARTHEST)

    def step(state: tuple[Floats, Floats]) -> tuple[tuple[Floats, Floats], Floats]:
        shift, size = state
        size = size_quantile(np.clip(shift, -_FARTHEST, _FARTHEST), level, size)
        width = half * size
        excess = clipped_mean(width, shift) - ratio * mean_tent(width, shift)
        # The size, and with it the width, grows with the shift: d size / d shift = tanh(size * shift).
        growth = np.where(np.abs(shift) < _FARTHEST, half * np.tanh(size * shift), 0.0)
        by_width = _chance(shift - width) - _chance(-shift - width) - ratio * inside(width, shift)
        slope = ratio_slope(width, shift, ratio) + growth * by_width
        change = np.clip(excess / np.maximum(slope, _LEAST_SLOPE), -0.5, 0.5)
        return (np.clip(shift - change, -farthest, farthest), size), change

    shift, size = step_until_small(step, (shift, size), most_steps=_MOST_STEPS, smallest=_CLOSE)
    return shift, 1 / size_quantile(np.clip(shift, -_FARTHEST, _FARTHEST), level, size)
