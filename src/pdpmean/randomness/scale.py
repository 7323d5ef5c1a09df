"""The scale of noise that a budget buys."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

__all__ = ["LARGEST_BITS", "LARGEST_SCALE", "laplace_scale"]

# The largest scale of noise. OpenDP's noise saturates at the ends of a 64-bit word, which draws of this scale rarely
# reach (`single_draws.py` treats those that do).
LARGEST_SCALE = 2.0**60
LARGEST_BITS = 60  # the binary logarithm of the largest scale


@lru_cache(maxsize=64)  # most groups share a few pairs of arguments
def laplace_scale(sensitivity: int, budget: float | Fraction) -> float:
    """The noise scale `sensitivity / budget`, rounded up to a double, so that the loss never exceeds the budget."""
    if math.isinf(budget):
        return 0.0
    exact = Fraction(sensitivity) / Fraction(budget)
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)
