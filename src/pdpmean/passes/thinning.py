"""Diffusion: how many records `locate` looks at, and what each may cost there.

A record of allowance a may cost w nats: a share of a, and what the cap on its weight in the sum leaves it of another
(`locating_weights`), up to a cap. Where all records are used, that is its weight. Where there are too many, each is
kept with probability p and, if kept, weighs ``ln(1 + (e**w - 1) / p)``: more than w, and by the amplification theorem
its loss is w all the same (docs/guarantee.md, "Thinning").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.model import Model
from pdpmean.core.rules import KeepRule
from pdpmean.core.types import Floats
from pdpmean.core.weights import locating_weights, round_down
from pdpmean.passes.batch import Batch
from pdpmean.randomness import FirstBits, Randomness, places_below

__all__ = ["Thinning"]

_NOBODY = KeepRule(1.0, 1.0, 0.0, cap=0.0, density=0.0)  # also for budgets without limit


@dataclass(frozen=True)
class Thinning:
    """Keep a record of weight w with probability ``min(1, density * w)``.

    All but the model have one entry per group, and a last one for everybody else, who are not kept; or a single one,
    where there are no groups.
    """

    model: Model
    share: Floats
    sum_share: Floats
    spared_from: Floats
    cap: Floats
    density: Floats

    @classmethod
    def of(cls, model: Model, rules: Sequence[KeepRule | None], *, grouped: bool) -> Thinning:
        """By these rules, one per group; nobody is kept where there is none."""
        rows = [rule or _NOBODY for rule in (*rules, *([None] if grouped else []))]
        return cls(model, *np.array(rows, dtype=np.float64).T.copy())

    def at(self, groups: NDArray[np.int32] | None) -> Thinning:
        """The rule of each record, by its group."""
        where = 0 if groups is None else groups
        columns = (self.share, self.sum_share, self.spared_from, self.cap, self.density)
        return Thinning(self.model, *(column[where] for column in columns))

    def weights(self, budgets: Floats) -> Floats:
        """What each record may cost, in nats."""
        shares = round_down(self.share), round_down(self.sum_share)
        weights = locating_weights(self.model.allowances(budgets), *shares, self.spared_from)
        capped: Floats = np.minimum(weights, self.cap)
        return capped

    def rates(self, weights: Floats) -> Floats:
        """The probability with which each is kept."""
        return np.minimum(weights * self.density, 1.0)

    def among(self, bits: int) -> Thinning:
        """The rule for records that were let through with probability ``2**-bits``, which is no less than their rate.

        Both together keep a record with exactly the same probability: times a power of two, its rate is as exact.
        """
        return replace(self, density=self.density * 2.0**bits)

    @property
    def largest(self) -> Floats:
        """No record is kept with a larger probability, by its group."""
        return self.rates(self.cap)

    def keep(self, batch: Batch, randomness: Randomness) -> NDArray[np.intp]:
        """Which records are kept: one coin per record, whose first byte says tails for most."""
        largest = math.ceil(256 * float(np.max(self.largest)))
        first = randomness.first_bytes(batch.budgets.size)
        maybe = places_below(first, largest)
        groups = None if batch.groups is None else batch.groups[maybe]
        return maybe[self.decide(batch.budgets[maybe], groups, first[maybe], randomness)]

    def decide(
        self, budgets: Floats, groups: NDArray[np.int32] | None, first: FirstBits, randomness: Randomness
    ) -> NDArray[np.bool_]:
        """Whether each record is kept, given the first bits of its coin."""
        rule = self.at(groups)
        return randomness.finish_coins(first, rule.rates(rule.weights(budgets)))

    def kept_weights(self, batch: Batch) -> Floats:
        """What each kept record weighs, so that its loss is what `weights` says."""
        rule = self.at(batch.groups)
        weights = rule.weights(batch.budgets)
        rates = rule.rates(weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            raised = round_down(np.log1p(np.expm1(weights) / rates))
        return np.where(rates < 1, raised, weights)
