"""Summing: what each record adds to the sums, in exact integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.integers import STEPS, clipped, places_of, weights_of, words_of
from pdpmean.core.model import Model
from pdpmean.core.rules import FAR_CELLS, FAR_EDGES, FAR_WEIGHT, FIRST_FAR, SumRule
from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.traces import load_kernels
from pdpmean.core.types import Counts, Floats
from pdpmean.core.weights import round_down
from pdpmean.passes.batch import Batch

__all__ = ["Summing", "far_columns"]

# The compiled loops first add up so many products, each of at most 2**(24 + 26), in a signed 64-bit word: their sum is
# below 2**63.
_BLOCK = 2**13 - 1

_NOTHING = SumRule(  # a cap of 0 for all
    share=1.0, cap=0.0, middle=0.0, lift=1.0, per_unit=0.0, near=0.0, far_below=math.inf, far_above=math.inf
)


def far_columns(cell: Any) -> tuple[Any, Any]:
    """The two columns of a cell of far values: those below come first, each side from the middle outwards."""
    high = FIRST_FAR + 2 * cell
    return high, high + 1


@dataclass(frozen=True)
class Summing:
    """What records add to the sums: of W z, of W, of W times the extra, and of the W of those whose value is missing.

    The z are values, clipped, in steps. Unless `squares`, the extra is ``STEPS - |z|``, the sum of W is over the values
    near the middle, and a missing value adds nothing. If `squares`, the extra is ``z**2 / STEPS``, and a missing value
    is in the last sum alone. There is one row per group, a `SumRule`, and a last one that adds nothing for everybody
    else; or a single row, where there are no groups. A group whose levels of budgets are summed apart has one row for
    each of them, one after the other.

    If `far`, values that lie far beyond the clip, as the rule says, are in none of these sums, but in that of their
    distance: of W times the part of the cell's end that it reaches, in steps.
    """

    model: Model
    squares: bool
    far: bool
    rules: Floats
    first_rows: NDArray[np.int32]
    """The row of the first level of each group."""
    edges: Floats
    """The allowances at which all other levels begin, by group; no number where there are no more."""

    @classmethod
    def of(
        cls,
        model: Model,
        rules: Sequence[SumRule | None],
        edges: Sequence[Sequence[float]] | None = None,
        *,
        squares: bool,
        far: bool,
        grouped: bool,
    ) -> Summing:
        """The sums by these rules, one per group; nothing where there is none.

        Where `edges` say at which allowances further levels of a group begin, there is a rule for each level.
        """
        rows = [rule or _NOTHING for rule in (*rules, *([None] if grouped else []))]
        starts = [*(edges if edges is not None else [()] * len(rules)), *([()] if grouped else [])]
        most = max(map(len, starts))
        padded = [[*own, *[math.nan] * (most - len(own))] for own in starts]
        first_rows = np.cumsum([0, *(len(own) + 1 for own in starts[:-1])]).astype(np.int32)
        return cls(model, squares, far, np.array(rows), first_rows, np.array(padded).reshape(len(starts), most))

    @property
    def has_levels(self) -> bool:
        """Whether budgets are summed apart in any group."""
        return bool(self.edges.shape[1])

    def rows_of(self, batch: Batch) -> NDArray[np.int32]:
        """The row that each record adds to: by its group, and there by its level. One for all, if there are neither."""
        groups = np.zeros(1, dtype=np.int32) if batch.groups is None else batch.groups
        if not self.has_levels:
            return self.first_rows[groups]
        is_beyond = self.edges[groups] <= self.model.allowances(batch.budgets)[:, None]
        rows: NDArray[np.int32] = self.first_rows[groups] + is_beyond.sum(axis=1, dtype=np.int32)
        return rows

    @property
    def shape(self) -> tuple[int, int]:
        """Groups, or levels, by sums: of W z in two words, of W, of W times the extra in two words, of the W missing.

        If far values are counted, then of their W, and two words for each of their cells.
        """
        return len(self.rules), FIRST_FAR + 4 * FAR_CELLS if self.far else FAR_WEIGHT

    def tally(self, batch: Batch, table: Counts) -> None:
        """Add a batch to the sums."""
        if batch.values.size >= SMALLEST_BATCH:
            self._tally_compiled(batch, table)
            return
        where = self.rows_of(batch)
        rule = SumRule(*self.rules[where].T)
        granted = weights_of(self.model.allowances(batch.budgets), rule.share, rule.cap)
        places = places_of(batch.values, rule.middle, rule.lift, rule.per_unit)
        is_missing = np.isnan(places)
        is_far = (places < -rule.far_below) | (places > rule.far_above)
        weights = np.where(is_missing | is_far, 0, granted)
        steps = clipped(places)
        if self.squares:
            counted, extra, missing = weights, weights * (steps**2 // STEPS), np.where(is_missing, granted, 0)
        else:
            counted = np.where(np.abs(steps) < rule.near, weights, 0)
            extra, missing = weights * (STEPS - np.abs(steps)), np.zeros_like(weights)
        groups = np.broadcast_to(where, weights.shape)
        for column, numbers in enumerate([*words_of(weights * steps), counted, *words_of(extra), missing]):
            # Below 2**26 each, and so few that their sums are exact as doubles.
            table[:, column] += np.bincount(groups, weights=numbers, minlength=len(table)).astype(np.int64)
        if is_far.any():
            _tally_far(places[is_far], granted[is_far], groups[is_far], table)

    def _tally_compiled(self, batch: Batch, table: Counts) -> None:
        kernels = load_kernels()
        columns, limits = (batch.values, batch.budgets), self.model.limits
        rules, squares = self.in_units, self.squares
        if batch.groups is None:
            starts = np.array([-math.inf, *self.edges[0]])
            loop = kernels.sum_squares if squares else kernels.sum_near
            loop(*columns, *limits, starts, rules, table)
            return
        rows = batch.groups
        if self.has_levels:
            rows = kernels.find_rows(batch.budgets, rows, *limits, self.edges, self.first_rows)
        kernels.sum_groups(*columns, rows, *limits, rules, squares, _BLOCK, table)

    @cached_property
    def in_units(self) -> Floats:
        """The rules as a loop takes them that does not round down: with shares that are."""
        rule = SumRule(*self.rules.T)
        return np.column_stack(rule._replace(share=round_down(rule.share)))


def _tally_far(places: Floats, weights: Counts, groups: NDArray[np.int32], table: Counts) -> None:
    """Add far values to the cells of their distances."""
    ends = np.array(FAR_EDGES)
    distances = np.abs(places)
    cells = np.minimum(np.searchsorted(ends, distances, side="right"), FAR_CELLS - 1)
    parts = np.minimum(np.rint(distances / ends[cells] * STEPS), STEPS).astype(np.int64)
    columns = FAR_WEIGHT, *far_columns(cells + FAR_CELLS * (places > 0))
    for column, numbers in zip(columns, (weights, *words_of(weights * parts)), strict=True):
        np.add.at(table, (groups, column), numbers)
