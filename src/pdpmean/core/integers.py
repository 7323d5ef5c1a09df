"""Integers: values as steps and weights as multiples of a unit, so that sums are exact, in any order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Floats
from pdpmean.core.weights import round_down

__all__ = [
    "LARGEST_SHIFT",
    "LOW_BITS",
    "STEPS",
    "STEP_BITS",
    "WEIGHT_BITS",
    "clipped",
    "from_words",
    "places_of",
    "steps_of",
    "steps_per_unit",
    "weight_shift",
    "weights_of",
    "words_of",
]

# A value becomes one of 2 * STEPS + 1 integers, a weight an integer of at most WEIGHT_BITS bits. Sums are kept as two
# words, the multiples of 2**LOW_BITS and the rest, which hold 2**37 records.
STEP_BITS = 24
STEPS: int = 2**STEP_BITS
WEIGHT_BITS = 26
LOW_BITS = 24
LARGEST_SHIFT = 35  # so that the largest noise scale, 2 * STEPS * 2**shift, is at most 2**60


def weight_shift(largest: float) -> int:
    """Q such that weights up to `largest`, times 2**q, have at most `WEIGHT_BITS` bits and noise scales stay small."""
    return min(WEIGHT_BITS - math.frexp(largest)[1], LARGEST_SHIFT)


def steps_per_unit(half: float) -> tuple[float, float]:
    """Steps per unit of a clip of that half width, as two factors, the first a power of two, so that none overflows."""
    lift = 1.0 if half >= 2.0**-900 else 2.0**200
    return lift, STEPS / (half * lift)


def weights_of(allowances: Floats, share: Any, cap: Any) -> NDArray[np.int64]:
    """``floor(min(share * allowance, cap))``, exactly or one less."""
    with np.errstate(over="ignore"):  # what overflows is capped
        weights: NDArray[np.int64] = np.floor(np.minimum(allowances * round_down(share), cap)).astype(np.int64)
    return weights


def places_of(values: Floats, middle: Any, lift: Any, per_unit: Any) -> Floats:
    """How many steps values lie from the middle, not clipped; NaN where one is missing."""
    with np.errstate(all="ignore"):
        places: Floats = (values - middle) * lift * per_unit
    return places


def clipped(places: Floats) -> NDArray[np.int64]:
    """Places as integers from -STEPS to STEPS; a missing one is 0."""
    steps = np.rint(np.clip(places, -STEPS, STEPS))
    return np.where(np.isnan(steps), 0.0, steps).astype(np.int64)


def steps_of(values: Floats, middle: Any, lift: Any, per_unit: Any) -> NDArray[np.int64]:
    """Values clipped, as integers from -STEPS to STEPS; a missing one is 0."""
    return clipped(places_of(values, middle, lift, per_unit))


def words_of(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """High and low words, whose sums do not overflow."""
    return numbers >> LOW_BITS, numbers & (2**LOW_BITS - 1)


def from_words(high: int, low: int) -> int:
    """The number behind two words."""
    return (high << LOW_BITS) + low
