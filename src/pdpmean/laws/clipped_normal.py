"""A normal variable clipped to [-r, r]: its moments, and how to undo the clipping.

All functions take arrays, and those without Newton's method also single numbers, which go to `math`: a search for a
plan asks for many. `shift` is the normal's mean, its standard deviation is 1. The tent is what a clip leaves of its
width: r less the clipped variable's absolute value.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from pdpmean.laws.newton import step_until_small

__all__ = [
    "MEDIAN_SIZE",
    "Centered",
    "centered",
    "clipped_mean",
    "clipped_variance",
    "inside",
    "mean_tent",
    "ratio_slope",
    "size_quantile",
    "undo_clipping",
]

Floats = NDArray[np.float64]

MEDIAN_SIZE = 0.6744897501960817  # the median of |Z|, Z standard normal
_DENSITY, _ROOT_HALF = 1 / math.sqrt(2 * math.pi), math.sqrt(0.5)
_MOST_STEPS, _LEAST_SLOPE = 20, 0.02
_CLOSE = 1e-9  # Newton's method squares it in the step it is found in
_FARTHEST = 1.5  # beyond the clip by this much, the clipped mean says nothing more


def _density(x: Any) -> Any:
    return (math.exp if isinstance(x, float) else np.exp)(-0.5 * x * x) * _DENSITY


def _chance(x: Any) -> Any:
    """P(Z < x)."""
    return 0.5 * math.erfc(-x * _ROOT_HALF) if isinstance(x, float) else ndtr(x)


def inside(width: Any, shift: Any = 0.0) -> Any:
    """P(|Z + shift| < width), which is also the slope of `clipped_mean` in the shift."""
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
    """Slope, in the shift, of the clipped mean less `ratio` times the mean tent."""
    above, middle, below = _chance(shift + width), _chance(shift), _chance(shift - width)
    return above - below - ratio * (above - 2 * middle + below)


def clipped_variance(width: Any, shift: Any = 0.0, ratio: Any = 0.0) -> Any:
    """Variance of clip(Z + shift, -width, width), less `ratio` times its tent.

    That is, up to a constant, a climb from -width to 0 and another from 0 to width, which starts where the first ends.
    """
    first, second = 1 - ratio, 1 + ratio
    ramps = [_ramp(shift + step) for step in (width, 0.0, -width)]
    squares = [_square(shift + step) for step in (width, 0.0, -width)]
    low, high = ramps[0] - ramps[1], ramps[1] - ramps[2]
    low_square, high_square = (squares[k] - squares[k + 1] - 2 * width * ramps[k + 1] for k in (0, 1))
    square = first**2 * low_square + second**2 * high_square + 2 * first * second * width * high
    variance = square - (first * low + second * high) ** 2
    return max(variance, 0.0) if isinstance(variance, float) else np.maximum(variance, 0.0)


class Centered(NamedTuple):
    """A normal in the middle of its clip."""

    inside: float
    """How likely it is not clipped."""
    variance: float
    tent: float
    """The mean tent."""
    tent_slope: float
    """How fast the mean tent over the width grows with the width, both relatively."""


@lru_cache(maxsize=1024)  # groups much alike are clipped alike
def centered(width: float) -> Centered:
    """All of it for a clip of this width."""
    within, tent = inside(width), mean_tent(width)
    return Centered(within, clipped_variance(width), tent, width * within / tent - 1)


def size_quantile(shift: Any, level: Any, start: Any = None) -> Any:
    """The `level` quantile of |Z + shift|, by Newton's method, from about there if it is known."""

    def step(size: Any) -> tuple[Any, Any]:
        slope = np.maximum(_density(size - shift) + _density(size + shift), 0.02)
        change = (inside(size, shift) - level) / slope
        return np.maximum(size - np.clip(change, -0.5 * size, 0.5 * size), 1e-3), change

    size = ndtri((1 + level) / 2) * np.sqrt(1 + shift * shift) if start is None else start
    return step_until_small(step, size, most_steps=7, smallest=_CLOSE)


def undo_clipping(ratio: Floats, half: Any, level: Floats) -> tuple[Floats, Floats]:
    """The normal population, as (shift, sigma) with its mean at ``shift * sigma``, behind two released numbers.

    `ratio` is its mean after clipping to [-half, half] over its mean tent; 1 is the `level` quantile of its absolute
    value, by which sigma follows from the shift, up to a shift of `_FARTHEST`. The shift, which is at most so much
    beyond the clip, is found by Newton's method.
    """
    farthest = half * size_quantile(_FARTHEST, level) + _FARTHEST
    size = ndtri((1 + level) / 2)
    shift = np.clip(ratio * mean_tent(half * size) / inside(half * size), -_FARTHEST, _FARTHEST)

    def step(state: tuple[Floats, Floats]) -> tuple[tuple[Floats, Floats], Floats]:
        shift, size = state
        size = size_quantile(np.clip(shift, -_FARTHEST, _FARTHEST), level, size)
        width = half * size
        excess = clipped_mean(width, shift) - ratio * mean_tent(width, shift)
        # The size, and with it the width, grows with the shift by the tangent.
        growth = np.where(np.abs(shift) < _FARTHEST, half * np.tanh(size * shift), 0.0)
        by_width = _chance(shift - width) - _chance(-shift - width) - ratio * inside(width, shift)
        slope = ratio_slope(width, shift, ratio) + growth * by_width
        change = np.clip(excess / np.maximum(slope, _LEAST_SLOPE), -0.5, 0.5)
        return (np.clip(shift - change, -farthest, farthest), size), change

    shift, size = step_until_small(step, (shift, size), most_steps=_MOST_STEPS, smallest=_CLOSE)
    return shift, 1 / size_quantile(np.clip(shift, -_FARTHEST, _FARTHEST), level, size)
