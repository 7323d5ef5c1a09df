"""Algorithm 3, ADPM: the mean of values in a known interval, weighted by saturated budgets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.errors import InvalidInputError
from pdpmean.inputs import Floats, public_records
from pdpmean.paper.saturation import saturation
from pdpmean.randomness import Randomness

__all__ = ["adpm"]

# A value becomes one of 2 * _STEPS + 1 integers, a weight an integer of at most _WEIGHT_BITS bits, so that
# the sum over _BLOCK records fits a signed 64-bit word: 2**(24 + 26 + 12) < 2**63.
_STEPS = 2**24
_WEIGHT_BITS = 26
_LARGEST_SHIFT = 35  # keeps the noise scale, 2 * _STEPS * 2**shift, at 2**60
_BLOCK = 2**12


def adpm(
    values: ArrayLike,
    budgets: ArrayLike,
    *,
    lower: float,
    upper: float,
    randomness: Randomness | None = None,
) -> float:
    """The private mean of `values`, clipped to [lower, upper], each weighted by its saturated budget.

    Algorithm 3 with Lemma 11 for its privacy, in integers: the weight of record i is
    ``W_i = floor(min(eps_i, tau) * 2**q)``, its clipped value an integer in [-H, H], and the noise has scale
    ``2 H 2**q``, so replacing the record costs ``2 H W_i / (2 H 2**q) <= eps_i``, exactly. One constant tau
    for every saturated record (docs/errata.md, 8). A missing value counts as the middle of the interval.
    NaN when nobody grants any budget, or none above 2**-35.
    """
    if not -math.inf < lower < upper < math.inf:
        raise InvalidInputError(
            f"lower and upper must be finite with lower < upper; got {lower!r} and {upper!r}", name="lower"
        )
    randomness = randomness or Randomness.secure()
    numbers, granted = public_records(values, budgets)
    weights, scale = _integer_weights(granted)
    middle, half = lower / 2 + upper / 2, max(upper / 2 - lower / 2, 5e-324)
    total = _exact_sum(weights, _steps_from_middle(np.clip(numbers, lower, upper), middle, half))
    released = randomness.add_laplace(total, scale)
    total_weight = int(weights.sum())
    if total_weight == 0:
        return math.nan
    offset = Fraction(released, total_weight * _STEPS) * Fraction(half)
    return _nearest_double(Fraction(middle) + offset)


def _integer_weights(budgets: Floats) -> tuple[NDArray[np.int64], float]:
    """Each record's integer weight, and the scale of the noise that makes it private."""
    tau = saturation(budgets).tau
    if math.isinf(tau):  # only public records, and ones that grant nothing
        return np.isinf(budgets).astype(np.int64), 0.0
    granted = np.minimum(budgets, tau)
    shift = min(_WEIGHT_BITS - math.frexp(granted.max())[1], _LARGEST_SHIFT)
    return np.floor(np.ldexp(granted, shift)).astype(np.int64), math.ldexp(2.0 * _STEPS, shift)


def _steps_from_middle(numbers: Floats, middle: float, half: float) -> NDArray[np.int64]:
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(np.clip((numbers - middle) / half, -1.0, 1.0) * _STEPS)
    return np.where(np.isnan(steps), 0.0, steps).astype(np.int64)


def _exact_sum(weights: NDArray[np.int64], steps: NDArray[np.int64]) -> int:
    if weights.size == 0:
        return 0
    blocks = np.add.reduceat(weights * steps, np.arange(0, weights.size, _BLOCK))
    return sum(blocks.tolist())


def _nearest_double(exact: Fraction) -> float:
    largest = Fraction(np.finfo(np.float64).max)
    return float(min(max(exact, -largest), largest))
