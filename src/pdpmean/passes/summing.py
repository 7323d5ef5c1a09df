"""Summing: what each record adds to the sums, in exact integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pdpmean.core.integers import STEPS, places_of, weights_of, whole, words_of
from pdpmean.core.model import Model
from pdpmean.core.rules import SumRule
from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.traces import load_kernels
from pdpmean.core.types import Counts, Floats
from pdpmean.core.weights import round_down
from pdpmean.passes.batch import Batch

__all__ = ["Summing"]

# The compiled loops first add up so many products, each of at most 2**(24 + 26), in a signed 64-bit word: their sum is
# below 2**63.
_BLOCK = 2**13 - 1


_NOTHING = SumRule(  # a cap of 0 for all
    share=1.0, cap=0.0, unit=1.0, middle=0.0, lift=1.0, per_unit=0.0, near=0.0, missing_step=math.nan
)


@dataclass(frozen=True)
class Summing:
    """What records add to the sums: of W z, of W, of W times the extra, and of the W of those whose value is missing.

    The z are values, clipped, in steps. Unless `squares`, the extra is ``STEPS - |z|``, the sum of W is over the values
    near the middle, and a missing value adds nothing. If `squares`, the extra is ``z**2 / STEPS``, and a missing value
    is where its `SumRule` says, or in the last sum alone. There is one row per group, a `SumRule`, and a last one that
    adds nothing for everybody else; or a single row, where there are no groups.
    """

    model: Model
    squares: bool
    rules: Floats

    @classmethod
    def of(cls, model: Model, rules: Sequence[SumRule | None], *, squares: bool, grouped: bool) -> Summing:
        """The sums by these rules, one per group; nothing where there is none."""
        rows = [rule or _NOTHING for rule in (*rules, *([None] if grouped else []))]
        return cls(model, squares, np.array(rows))

    @property
    def shape(self) -> tuple[int, int]:
        """Groups by sums: of W z in two words, of W, of W times the extra in two words, of the W that are missing."""
        return len(self.rules), 6

    def tally(self, batch: Batch, table: Counts) -> None:
        """Add a batch to the sums."""
        if batch.values.size >= SMALLEST_BATCH:
            self._tally_compiled(batch, table)
            return
        where = np.zeros(1, dtype=np.int32) if batch.groups is None else batch.groups
        rule = SumRule(*self.rules[where].T)
        granted = weights_of(self.model.allowances(batch.budgets), rule.share, rule.cap, rule.unit)
        found = places_of(batch.values, rule.middle, rule.lift, rule.per_unit)
        missing = np.where(np.isnan(found) & self.squares, granted, 0)
        places = np.where(np.isnan(found) & self.squares, rule.missing_step, found)
        weights = np.where(np.isnan(places), 0, granted)
        steps = whole(places)
        if self.squares:
            counted, extra = weights, weights * (steps**2 // STEPS)
        else:
            counted, extra = np.where(np.abs(steps) < rule.near, weights, 0), weights * (STEPS - np.abs(steps))
        for column, numbers in enumerate([*words_of(weights * steps), counted, *words_of(extra), missing]):
            # Below 2**26 each, and so few that their sums are exact as doubles.
            groups = np.broadcast_to(where, weights.shape)
            table[:, column] += np.bincount(groups, weights=numbers, minlength=len(table)).astype(np.int64)

    def _tally_compiled(self, batch: Batch, table: Counts) -> None:
        kernels = load_kernels()
        columns, limits = (batch.values, batch.budgets), self.model.limits
        if batch.groups is None:
            rule = SumRule(*self._compiled_rules[0].tolist())
            kernels.sum_blocks(*columns, *limits, rule, self.squares, _BLOCK, table[0])
        else:
            kernels.sum_groups(*columns, batch.groups, *limits, self._compiled_rules, self.squares, _BLOCK, table)

    @cached_property
    def _compiled_rules(self) -> Floats:
        """The same with shares and caps in units, which are powers of two, so that nothing is rounded."""
        rule = SumRule(*self.rules.T)
        ones = np.ones_like(rule.unit)
        in_units = rule._replace(share=round_down(rule.share) * rule.unit, cap=rule.cap * rule.unit, unit=ones)
        return np.column_stack(in_units)
