"""Records: what every loop computes for one record, inlined into each; twins of `core/integers.py`."""

from __future__ import annotations

import numba
import numpy as np

from pdpmean.core.integers import STEPS

__all__ = ["allowance_of", "between", "clipped", "place_of"]


@numba.njit(nogil=True, inline="always")
def allowance_of(budget, low, high, factor):
    """The allowance of a record with this budget, in nats; 0 if the budget is below `low`. As `Model.allowances`."""
    return min(budget, high) * factor if budget >= low else 0.0


@numba.njit(nogil=True, inline="always")
def place_of(value, middle, lift, per_unit):
    """The distance of a value from the middle of the clip, in steps, not clipped; NaN if the value is missing."""
    return (value - middle) * lift * per_unit


@numba.njit(nogil=True, inline="always")
def clipped(place):
    """The distance clipped and rounded to whole steps; NaN stays NaN."""
    return np.rint(min(max(place, -float(STEPS)), float(STEPS)))


@numba.njit(nogil=True, inline="always")
def between(place, lowest, highest):
    """The distance, moved to the nearer of two ends if it lies beyond them; NaN stays NaN."""
    if place < lowest:
        return lowest
    return highest if place > highest else place
