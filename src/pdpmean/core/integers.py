"""Integers: values as whole steps and weights as whole units, so that sums are exact in any order.

Exact sums have an exact sensitivity, and are the same in NumPy, in the compiled loops and in Spark.
"""

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

# A clipped value becomes an integer from -STEPS to STEPS, and a weight one of at most WEIGHT_BITS bits. A sum is kept
# in two words, a multiple of 2**LOW_BITS and the rest, which suffice for 2**37 records.
STEP_BITS = 24
STEPS: int = 2**STEP_BITS
WEIGHT_BITS = 26
LOW_BITS = 24
LARGEST_SHIFT = 35  # chosen so that the largest noise scale, 2 * STEPS * 2**shift, is at most 2**60


def weight_shift(largest: float) -> int:
    """The integer q that makes ``2**-q`` nats the unit of weights of at most `largest` nats.

    In this unit, weights have at most `WEIGHT_BITS` bits. It is at most `LARGEST_SHIFT`, which limits the noise scale.
    """
    return min(WEIGHT_BITS - math.frexp(largest)[1], LARGEST_SHIFT)


def steps_per_unit(half: float) -> tuple[float, float]:
    """The steps per unit of the values, for a clip of this half width, as two factors that do not overflow.

    The first is a power of two: 1, unless the clip is very narrow.
    """
    lift = 1.0 if half >= 2.0**-900 else 2.0**200
    return lift, STEPS / (half * lift)


def weights_of(allowances: Floats, share: Any, cap: Any) -> NDArray[np.int64]:
    """Integer weights ``floor(min(share * allowance, cap))``, or one less: shares are rounded down for privacy."""
    with np.errstate(over="ignore"):  # what overflows is capped
        weights: NDArray[np.int64] = np.floor(np.minimum(allowances * round_down(share), cap)).astype(np.int64)
    return weights


def places_of(values: Floats, middle: Any, lift: Any, per_unit: Any) -> Floats:
    """The distances of values from the middle of the clip, in steps, not clipped; NaN where a value is missing."""
    with np.errstate(all="ignore"):
        places: Floats = (values - middle) * lift * per_unit
    return places


def clipped(places: Floats) -> NDArray[np.int64]:
    """Distances in steps, clipped and rounded to integers from -STEPS to STEPS; 0 where a value is missing."""
    steps = np.rint(np.clip(places, -STEPS, STEPS))
    return np.where(np.isnan(steps), 0.0, steps).astype(np.int64)


def steps_of(values: Floats, middle: Any, lift: Any, per_unit: Any) -> NDArray[np.int64]:
    """Clipped values as integers from -STEPS to STEPS; 0 where a value is missing."""
    return clipped(places_of(values, middle, lift, per_unit))


def words_of(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The high and the low word of each number; words can be added up without overflow."""
    return numbers >> LOW_BITS, numbers & (2**LOW_BITS - 1)


def from_words(high: int, low: int) -> int:
    """The number that is kept in two words."""
    return (high << LOW_BITS) + low
