"""Average: the sum of weighted, clipped values in exact integers, released with discrete noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pdpmean.diffusion import round_down
from pdpmean.inputs import Floats
from pdpmean.model import Model
from pdpmean.plan import Plan
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.sources import Source

__all__ = ["LARGEST_SHIFT", "STEPS", "Average", "Summing", "average", "exact_dot", "steps_of", "weight_shift"]

# A value becomes one of 2 * STEPS + 1 integers, a weight an integer of at most WEIGHT_BITS bits, so that the sum
# over _BLOCK records fits a signed 64-bit word: 2**(24 + 26 + 12) < 2**63.
STEPS = 2**24
WEIGHT_BITS = 26
LARGEST_SHIFT = 35
_BLOCK = 2**12


def weight_shift(largest: float) -> int:
    """Q such that weights up to `largest`, times 2**q, have at most `WEIGHT_BITS` bits and noise scales stay small."""
    return min(WEIGHT_BITS - math.frexp(largest)[1], LARGEST_SHIFT)


def steps_of(values: Floats, middle: float, half: float) -> NDArray[np.int64]:
    """Values clipped to middle +- half, as integers from -STEPS to STEPS; a missing one is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(np.clip((values - middle) / half, -1.0, 1.0) * STEPS)
    return np.where(np.isnan(steps), 0.0, steps).astype(np.int64)


def exact_dot(weights: NDArray[np.int64], steps: NDArray[np.int64]) -> int:
    """The sum of products, without overflow."""
    if weights.size == 0:
        return 0
    return sum(np.add.reduceat(weights * steps, np.arange(0, weights.size, _BLOCK)).tolist())


@dataclass(frozen=True)
class Summing:
    """What a batch adds to the sums: of W z, of W and, if asked for, of W z**2 / STEPS; z the clipped steps."""

    model: Model
    share: Fraction
    cap: float
    middle: float
    half: float
    squares: bool

    @property
    def shift(self) -> int:
        """Weights are multiples of 2**-shift; from public numbers alone."""
        return weight_shift(min(self.cap, float(self.share) * self.model.largest_allowance))

    def weights(self, budgets: Floats) -> NDArray[np.int64]:
        """``floor(min(share * allowance, cap) * 2**shift)``, exactly or one less."""
        granted = round_down(self.model.allowances(budgets) * float(self.share))
        return np.floor(np.ldexp(np.minimum(granted, self.cap), self.shift)).astype(np.int64)

    def __call__(self, values: Floats, budgets: Floats) -> tuple[int, ...]:
        """The sums over one batch."""
        weights = self.weights(budgets)
        steps = steps_of(values, self.middle, self.half)
        sums = (exact_dot(weights, steps), int(weights.sum()))
        if not self.squares:
            return sums
        return *sums, exact_dot(weights, steps**2 // STEPS)


@dataclass(frozen=True)
class Average:
    """Released: the weighted mean of (value - middle) / half, the total weight in nats, the mean square or None."""

    mean: float
    weight: float
    square: float | None


def average(source: Source, plan: Plan, middle: float, half: float, randomness: Randomness) -> Average:
    """The private weighted mean of the values clipped to middle +- half.

    Record i adds W_i z_i with |z_i| <= H, and the noise has scale ``H 2**q``: adding or removing it costs
    ``W_i / 2**q``, at most its share. The total weight is public in the bounded model; in the unbounded one it gets
    noise of its own share, and so does the sum of squares, in either.
    """
    shares = plan.shares
    summing = Summing(plan.model, shares["sum"], plan.weight_cap, middle, half, squares="square" in shares)
    total, weight, *squares = source.sum(summing)
    unit = 2**summing.shift

    def noisy(number: int, size: int, share: Fraction) -> int:
        return randomness.add_laplace(number, laplace_scale(size * unit, share / shares["sum"]))

    released = noisy(total, STEPS, shares["sum"])
    if "weights" in shares:
        weight = max(noisy(weight, 1, shares["weights"]), unit)
    square = noisy(squares[0], STEPS, shares["square"]) / (weight * STEPS) if squares else None
    return Average(released / (weight * STEPS), weight / unit, square)
