"""Records: what a loop makes of one record, inlined into each; twins of `core/integers.py`."""

from __future__ import annotations

import numba
import numpy as np

from pdpmean.core.integers import STEPS

__all__ = ["allowance_of", "clipped", "place_of"]


@numba.njit(nogil=True, inline="always")
def allowance_of(budget, low, high, factor):
    """What a record of this budget may cost; nothing, if it is below the least."""
    return min(budget, high) * factor if budget >= low else 0.0


@numba.njit(nogil=True, inline="always")
def place_of(value, middle, lift, per_unit):
    """How many steps a value lies from the middle; no number, if it is missing."""
    return (value - middle) * lift * per_unit


@numba.njit(nogil=True, inline="always")
def clipped(place):
    """The place as a whole number of steps within the clip."""
    return np.rint(min(max(place, -float(STEPS)), float(STEPS)))
