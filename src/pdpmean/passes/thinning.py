"""Thinning: the random sample of records that `locate` looks at, and what each of them may cost there.

A record may cost w nats, up to a cap: the share of locating, and the part of the sum's share that the cap on weights
leaves unused (`locating_weights`). If all records are used, w is its weight. If there are too many for that, each is
kept with probability p and, if kept, weighs ``ln(1 + (e**w - 1) / p)``. That is more than w, but because of
amplification by sampling its loss is still w (docs/guarantee.md, "Thinning"). The plan says how many are kept.
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

_NOBODY = KeepRule(1.0, 1.0, 0.0, cap=0.0, density=0.0)  # keeps nobody, not even those with infinite budgets


@dataclass(frozen=True)
class Thinning:
    """The rule of the pass "sample": keep a record of weight w with probability ``min(1, density * w)``.

    Each array has one entry per group, and a last one for everybody else, of whom nobody is kept; or a single entry, if
    there are no groups. `KeepRule` says what they mean.
    """

    model: Model
    share: Floats
    sum_share: Floats
    spared_from: Floats
    cap: Floats
    density: Floats

    @classmethod
    def of(cls, model: Model, rules: Sequence[KeepRule | None], *, grouped: bool) -> Thinning:
        """The pass with one rule per group; None keeps nobody there."""
        rows = [rule or _NOBODY for rule in (*rules, *([None] if grouped else []))]
        return cls(model, *np.array(rows, dtype=np.float64).T.copy())

    def at(self, groups: NDArray[np.int32] | None) -> Thinning:
        """The same rule with one entry per record, by the group of each."""
        where = 0 if groups is None else groups
        columns = (self.share, self.sum_share, self.spared_from, self.cap, self.density)
        return Thinning(self.model, *(column[where] for column in columns))

    def weights(self, budgets: Floats) -> Floats:
        """What each record may cost in `locate`, in nats."""
        shares = round_down(self.share), round_down(self.sum_share)
        weights = locating_weights(self.model.allowances(budgets), *shares, self.spared_from)
        capped: Floats = np.minimum(weights, self.cap)
        return capped

    def rates(self, weights: Floats) -> Floats:
        """The probability with which each record is kept."""
        return np.minimum(weights * self.density, 1.0)

    def among(self, bits: int) -> Thinning:
        """The rule for records that a first coin of probability ``2**-bits`` has let through already.

        That probability must not be below their rate. Multiplying a rate by a power of two is exact, so both coins
        together keep a record with exactly its rate.
        """
        return replace(self, density=self.density * 2.0**bits)

    @property
    def largest(self) -> Floats:
        """The largest probability with which any record of each group is kept."""
        return self.rates(self.cap)

    def keep(self, batch: Batch, randomness: Randomness) -> NDArray[np.intp]:
        """The indices of the records that are kept.

        There is one coin per record. For most, its first byte already decides on tails, and nothing more is drawn.
        """
        limit = math.ceil(256 * float(np.max(self.largest)))
        first = randomness.first_bytes(batch.budgets.size)
        undecided = places_below(first, limit)
        groups = None if batch.groups is None else batch.groups[undecided]
        return undecided[self.decide(batch.budgets[undecided], groups, first[undecided], randomness)]

    def decide(
        self, budgets: Floats, groups: NDArray[np.int32] | None, first: FirstBits, randomness: Randomness
    ) -> NDArray[np.bool_]:
        """Whether each record is kept, given the first bits of its coin; the rest of the coin is drawn here."""
        rule = self.at(groups)
        return randomness.finish_coins(first, rule.rates(rule.weights(budgets)))

    def kept_weights(self, batch: Batch) -> Floats:
        """The weight of each kept record, in nats, at which its loss is what `weights` says."""
        rule = self.at(batch.groups)
        weights = rule.weights(batch.budgets)
        rates = rule.rates(weights)
        with np.errstate(invalid="ignore", divide="ignore"):
            raised = round_down(np.log1p(np.expm1(weights) / rates))
        return np.where(rates < 1, raised, weights)
