"""Algorithm 3, ADPM: a private mean of values in a known interval, weighted by saturated budgets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.core.integers import STEPS, from_words, steps_of, steps_per_unit, weight_shift, words_of
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.paper.saturation import saturation
from pdpmean.randomness import Randomness
from pdpmean.sources.private_columns import public_records

__all__ = ["adpm"]


def adpm(
    values: ArrayLike,
    budgets: ArrayLike,
    *,
    lower: float,
    upper: float,
    randomness: Randomness | None = None,
) -> float:
    """The private mean of `values`, clipped to [lower, upper], each weighted by its saturated budget.

    Algorithm 3, which Lemma 11 proves private, on integers. The weight of record i is
    ``W_i = floor(min(eps_i, tau) * 2**q)``, its clipped value is an integer in [-H, H], and the noise has scale
    ``2 H 2**q``. So replacing the record costs exactly ``2 H W_i / (2 H 2**q) <= eps_i``. All saturated records have
    the same weight, that of tau (docs/errata.md, 8). A missing value counts as the middle of the interval. NaN if
    nobody grants any budget, or none above 2**-35.
    """
    if not -math.inf < lower < upper < math.inf:
        raise InvalidInputError(
            f"lower and upper must be finite with lower < upper; got {lower!r} and {upper!r}", name="lower"
        )
    randomness = randomness or Randomness.secure()
    numbers, granted = public_records(values, budgets)
    weights, scale = _integer_weights(granted)
    middle = lower / 2 + upper / 2
    half = max(upper / 2 - lower / 2, 5e-324)  # the smallest double above 0, if the halves are equal
    steps = steps_of(np.clip(numbers, lower, upper), middle, *steps_per_unit(half))
    total = from_words(*(int(words.sum()) for words in words_of(weights * steps)))
    released = randomness.add_laplace(total, scale)
    total_weight = int(weights.sum())
    if total_weight == 0:
        return math.nan
    offset = Fraction(released, total_weight * STEPS) * Fraction(half)
    return _nearest_double(Fraction(middle) + offset)


def _integer_weights(budgets: Floats) -> tuple[NDArray[np.int64], float]:
    """Each record's integer weight, and the scale of the noise that the weighted sum needs."""
    tau = saturation(budgets).tau
    if math.isinf(tau):  # every budget is infinite or 0: no noise is needed
        return np.isinf(budgets).astype(np.int64), 0.0
    granted = np.minimum(budgets, tau)
    shift = weight_shift(float(granted.max()))
    return np.floor(np.ldexp(granted, shift)).astype(np.int64), math.ldexp(2.0 * STEPS, shift)


def _nearest_double(exact: Fraction) -> float:
    """The nearest finite double."""
    largest = Fraction(np.finfo(np.float64).max)
    return float(min(max(exact, -largest), largest))
