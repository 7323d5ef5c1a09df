"""Average: the sum of weighted, clipped values in exact integers, released with discrete noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pdpmean.clipped_normal import MEDIAN_SIZE
from pdpmean.diffusion import round_down
from pdpmean.inputs import Floats
from pdpmean.model import Model
from pdpmean.planned import Plan
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.sources import Source
from pdpmean.threads import SMALLEST_BATCH

__all__ = ["LARGEST_SHIFT", "STEPS", "Average", "Summing", "average", "exact_dot", "steps_of", "weight_shift"]

# A value becomes one of 2 * STEPS + 1 integers, a weight an integer of at most WEIGHT_BITS bits, so that the sum
# over _BLOCK records fits a signed 64-bit word: 2**(24 + 26 + 12) < 2**63.
STEPS = 2**24
WEIGHT_BITS = 26
LARGEST_SHIFT = 35  # so that the noise scale, STEPS * 2**shift, is at most 2**60
LARGEST_SQUARES_SHIFT = 30  # the noise of the squares is larger, by the share of the sum over theirs: below 2**6
_BLOCK = 2**12


def weight_shift(largest: float) -> int:
    """Q such that weights up to `largest`, times 2**q, have at most `WEIGHT_BITS` bits and noise scales stay small."""
    return min(WEIGHT_BITS - math.frexp(largest)[1], LARGEST_SHIFT)


def per_unit(half: float) -> tuple[float, float]:
    """Steps per unit of a clip of that half width, as two factors, the first a power of two, so that none overflows."""
    lift = 1.0 if half >= 2.0**-900 else 2.0**200
    return lift, STEPS / (half * lift)


def steps_of(values: Floats, middle: float, half: float) -> NDArray[np.int64]:
    """Values clipped to middle +- half, as integers from -STEPS to STEPS; a missing one is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        lift, factor = per_unit(half)
        steps = np.rint(np.clip((values - middle) * lift * factor, -STEPS, STEPS))
    return np.where(np.isnan(steps), 0.0, steps).astype(np.int64)


def exact_dot(weights: NDArray[np.int64], steps: NDArray[np.int64]) -> int:
    """The sum of products, without overflow."""
    if weights.size == 0:
        return 0
    return sum(np.add.reduceat(weights * steps, np.arange(0, weights.size, _BLOCK)).tolist())


@dataclass(frozen=True)
class Summing:
    """What a batch adds to the sums: of W z, of W, and of W times the extra; z are the clipped steps.

    The extra is ``z**2 / STEPS`` or, where `near` is given, 1 for the values within so many steps of the middle.
    """

    model: Model
    share: Fraction
    cap: float
    middle: float
    half: float
    near: int | None

    @property
    def shift(self) -> int:
        """Weights are multiples of 2**-shift; from public numbers alone."""
        shift = weight_shift(min(self.cap, float(self.share) * self.model.largest_allowance))
        return min(shift, LARGEST_SQUARES_SHIFT) if self.near is None else shift

    def weights(self, budgets: Floats) -> NDArray[np.int64]:
        """``floor(min(share * allowance, cap) * 2**shift)``, exactly or one less."""
        granted = self.model.allowances(budgets) * round_down(float(self.share))
        return np.floor(np.ldexp(np.minimum(granted, self.cap), self.shift)).astype(np.int64)

    def __call__(self, values: Floats, budgets: Floats) -> tuple[int, ...]:
        """The sums over one batch."""
        if values.size >= SMALLEST_BATCH:
            return self._sum_compiled(values, budgets)
        weights = self.weights(budgets)
        steps = steps_of(values, self.middle, self.half)
        if self.near is None:
            extra = steps**2 // STEPS
        else:
            extra = ((np.abs(steps) < self.near) & ~np.isnan(values)).astype(np.int64)
        return exact_dot(weights, steps), int(weights.sum()), exact_dot(weights, extra)

    def _sum_compiled(self, values: Floats, budgets: Floats) -> tuple[int, ...]:
        from pdpmean.kernels import sum_blocks

        rule = (*self.model.limits, round_down(float(self.share)), self.cap, 2.0**self.shift)
        near = 0.0 if self.near is None else float(self.near)
        blocks = sum_blocks(values, budgets, *rule, self.middle, *per_unit(self.half), float(STEPS), near, _BLOCK)
        return tuple(sum(column.tolist()) for column in blocks)


@dataclass(frozen=True)
class Average:
    """Released: the weighted mean of (value - middle) / half, the total weight in nats, and one of the extras.

    `square` is the mean square of the same, for `shape="any"`; `near` the part of the weight within a quarter of the
    located spread, for a gaussian.
    """

    mean: float
    weight: float
    square: float | None = None
    near: float | None = None


def average(source: Source, plan: Plan, middle: float, half: float, randomness: Randomness) -> Average:
    """The private weighted mean of the values clipped to middle +- half.

    Record i adds W_i z_i with |z_i| <= H, and the noise has scale ``H 2**q``: adding or removing it costs
    ``W_i / 2**q``, at most its share. The total weight is public in the bounded model; in the unbounded one it gets
    noise of its own share, and so does the extra sum, in either.
    """
    shares = plan.shares
    near = None if plan.shape == "any" else math.floor(STEPS * MEDIAN_SIZE / (4 * plan.clip_width))
    summing = Summing(plan.model, shares["sum"], plan.weight_cap, middle, half, near)
    total, weight, extra = source.sum(summing)
    unit = 2**summing.shift

    def noisy(number: int, size: int, share: Fraction) -> int:
        return randomness.add_laplace(number, laplace_scale(size * unit, share / shares["sum"]))

    released = noisy(total, STEPS, shares["sum"])
    if "weights" in shares:
        weight = max(noisy(weight, 1, shares["weights"]), unit)
    mean = released / (weight * STEPS)
    if near is None:
        return Average(mean, weight / unit, square=noisy(extra, STEPS, shares["square"]) / (weight * STEPS))
    return Average(mean, weight / unit, near=noisy(extra, 1, shares["check"]) / weight)
