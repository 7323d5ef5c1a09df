"""A normal variable clipped to [-r, r]: its moments, and how to undo the clipping.

All functions take arrays. `shift` is the normal's mean, its standard deviation is 1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

__all__ = ["MEDIAN_SIZE", "clipped_mean", "clipped_variance", "inside", "size_quantile", "undo_clipping"]

Floats = NDArray[np.float64]

MEDIAN_SIZE = 0.6744897501960817  # the median of |Z|, Z standard normal
_DENSITY = 1 / math.sqrt(2 * math.pi)
_CLOSE = 1e-9  # Newton's method squares it in the step it is found in
_FARTHEST = 1.5  # beyond the clip by this much, the clipped mean says nothing more


def _density(x: Any) -> Any:
    return np.exp(-0.5 * x * x) * _DENSITY


def inside(width: Any, shift: Any = 0.0) -> Any:
    """P(|Z + shift| < width), which is also the slope of `clipped_mean` in the shift."""
    return ndtr(width - shift) - ndtr(-width - shift)


def clipped_mean(width: Any, shift: Any) -> Any:
    """E clip(Z + shift, -width, width)."""
    low, high = -width - shift, width - shift
    return _density(low) - _density(high) + shift * inside(width, shift) - width * ndtr(low) + width * ndtr(-high)


def clipped_variance(width: Any, shift: Any = 0.0) -> Any:
    """Variance of clip(Z + shift, -width, width)."""
    low, high = -width - shift, width - shift
    middle = inside(width, shift)
    first = _density(low) - _density(high)
    second = middle + low * _density(low) - high * _density(high)
    square = second + 2 * shift * first + shift**2 * middle + width**2 * (1 - middle)
    return square - clipped_mean(width, shift) ** 2


def size_quantile(shift: Any, level: Any) -> Any:
    """The `level` quantile of |Z + shift|, by Newton's method."""
    size = ndtri((1 + level) / 2) * np.sqrt(1 + shift * shift)
    for _ in range(7):
        slope = np.maximum(_density(size - shift) + _density(size + shift), 0.02)
        step = (inside(size, shift) - level) / slope
        size = np.maximum(size - np.clip(step, -0.5 * size, 0.5 * size), 1e-3)
        if np.abs(step).max() < _CLOSE:
            break
    return size


def _undo(width: Any, mean: Any, shift: Any = None) -> Any:
    """The shift whose clipped mean is `mean`, at most `_FARTHEST` beyond the clip; by Newton's method from `shift`."""
    farthest = width + _FARTHEST
    limit = clipped_mean(width, farthest)
    mean = np.clip(mean, -limit, limit)
    shift = np.clip(mean / inside(width) if shift is None else shift, -farthest, farthest)
    for _ in range(9):
        step = (clipped_mean(width, shift) - mean) / np.maximum(inside(width, shift), 1e-3)
        shift = np.clip(shift - np.clip(step, -0.7, 0.7), -farthest, farthest)
        if np.abs(step).max() < _CLOSE:
            break
    return shift


def undo_clipping(mean: Floats, half: float, level: Floats) -> tuple[Floats, Floats]:
    """The normal population, as (shift, sigma) with its mean at ``shift * sigma``, behind two released numbers.

    `mean` is its mean after clipping to [-half, half], over half; 1 is the `level` quantile of its absolute value. Two
    equations, solved in turns.
    """
    sigma, shift = 1 / ndtri((1 + level) / 2), None
    for _ in range(4):
        shift = _undo(half / sigma, mean * half / sigma, shift)
        sigma = 1 / size_quantile(np.clip(shift, -_FARTHEST, _FARTHEST), level)
    return _undo(half / sigma, mean * half / sigma, shift), sigma
