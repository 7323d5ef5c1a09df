"""Diffusion: how many records `locate` looks at, and what each may cost there.

A record of allowance a may cost ``w = min(share * a, cap)``. Where all records are used, that is its weight. Where
there are too many, each is kept with probability p and, if kept, weighs ``ln(1 + (e**w - 1) / p)``: more than w, and
by the amplification theorem its loss is w all the same (docs/guarantee.md, "Diffusion").
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pdpmean.inputs import Floats
from pdpmean.model import Model
from pdpmean.randomness import Randomness
from pdpmean.threads import SMALLEST_BATCH

__all__ = ["WEIGHT_UNIT", "Thinning", "round_down"]

Number = TypeVar("Number", float, Floats)
WEIGHT_UNIT = 2**30  # integer weights are multiples of 1 / WEIGHT_UNIT nats


def round_down(numbers: Number) -> Number:
    """Slightly less than the given doubles, by more than their computation may have rounded up."""
    return numbers * (1 - 2.0**-40)


@dataclass(frozen=True)
class Thinning:
    """Keep a record of weight w with probability ``min(1, density * w)``."""

    model: Model
    share: Fraction
    cap: float
    density: float

    def weights(self, budgets: Floats) -> Floats:
        """What each record may cost, in nats."""
        return np.minimum(self.model.allowances(budgets) * round_down(float(self.share)), self.cap)

    def rates(self, weights: Floats) -> Floats:
        """The probability with which each is kept."""
        return np.minimum(weights * self.density, 1.0)

    def keep(self, randomness: Randomness, budgets: Floats) -> NDArray[np.intp]:
        """Which records are kept: one coin a record."""
        if budgets.size < SMALLEST_BATCH:
            return np.flatnonzero(randomness.coins(self.rates(self.weights(budgets))))
        from pdpmean.kernels import find_candidates

        first, found = randomness.first_bytes(budgets.size), np.empty(budgets.size, dtype=np.intp)
        share = round_down(float(self.share))
        count = find_candidates(budgets, first, *self.model.limits, share, self.cap, self.density, found)
        found = found[:count].copy()
        return found[randomness.finish_coins(first[found], self.rates(self.weights(budgets[found])))]

    def kept_weights(self, budgets: Floats) -> Floats:
        """What each kept record weighs, so that its loss is what `weights` says."""
        weights = self.weights(budgets)
        rates = self.rates(weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            raised = round_down(np.log1p(np.expm1(weights) / rates))
        return np.where(rates < 1, raised, weights)
