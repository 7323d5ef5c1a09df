"""Summing: what each record adds to the sums of its group or level, in exact integers.

Integers make the sums independent of the order of records and of the engine, and the sensitivity exact. Small batches
are summed here with NumPy; large ones by the compiled loops, which give the same integers.
"""

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
from pdpmean.core.rules import FAR_CELLS, FAR_EDGES, FAR_FROM, FAR_WEIGHT, FIRST_FAR, SumRule
from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.traces import load_kernels
from pdpmean.core.types import Counts, Floats
from pdpmean.core.weights import round_down
from pdpmean.passes.batch import Batch

__all__ = ["Summing", "far_columns"]

# Records whose products the compiled loop adds up in one signed 64-bit word. A product is at most 2**(24 + 26), so that
# the sum of this many is below 2**63.
_BLOCK = 2**13 - 1

_NOTHING = SumRule(  # the cap of 0 gives every record the weight 0
    share=1.0, cap=0.0, middle=0.0, lift=1.0, per_unit=0.0, near=0.0, lowest=-STEPS, highest=STEPS
)


def far_columns(cell: Any) -> tuple[Any, Any]:
    """The columns of the high and the low word of a far cell.

    Cells below the middle come first; on each side they are numbered from the middle outwards.
    """
    high = FIRST_FAR + 2 * cell
    return high, high + 1


@dataclass(frozen=True)
class Summing:
    """The rule of the pass "sum": what each record adds to the sums in the row of its group or level.

    With W the weight of a record and z its clipped value in steps, the sums are::

        sum      with squares                           without
        values   W z                                    W z
        counted  W                                      W, if the value is near the middle
        extra    W floor(z**2 / STEPS)                  W (STEPS - abs(z))
        missing  W, if the value is missing             0

    A missing value adds to no other sum. Nor does a far value, more than `FAR_FROM` steps from the middle, if `far`. It
    adds W times its distance to the sum of its far cell; the distance is a fraction of that of the cell's end, in
    steps. A value beyond the ends of its `SumRule` counts as that end, which is not far unless `far`.

    There is one row per group, and a last one, in which nothing is summed, for everybody else; without groups there is
    a single row. A group with several levels of budgets has one row per level, in succession.
    """

    model: Model
    squares: bool
    far: bool
    rules: Floats
    """One `SumRule` per row."""
    first_rows: NDArray[np.int32]
    """The row of the first level of each group."""
    edges: Floats
    """The allowances at which the further levels of each group begin, padded with NaN."""

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
        """The pass with one rule per group; None sums nothing there.

        Where `edges` lists the allowances at which further levels of a group begin, there is one rule per level.
        """
        rows = [rule or _NOTHING for rule in (*rules, *([None] if grouped else []))]
        edges_by_group = [*(edges if edges is not None else [()] * len(rules)), *([()] if grouped else [])]
        most = max(map(len, edges_by_group))
        padded = [[*group_edges, *[math.nan] * (most - len(group_edges))] for group_edges in edges_by_group]
        first_rows = np.cumsum([0, *(len(group_edges) + 1 for group_edges in edges_by_group[:-1])]).astype(np.int32)
        return cls(model, squares, far, np.array(rows), first_rows, np.array(padded).reshape(len(edges_by_group), most))

    @property
    def has_levels(self) -> bool:
        """Whether any group has several levels of budgets."""
        return bool(self.edges.shape[1])

    def rows_of(self, batch: Batch) -> NDArray[np.int32]:
        """The row that each record adds to, by its group and level; a single entry if there are neither."""
        groups = np.zeros(1, dtype=np.int32) if batch.groups is None else batch.groups
        if not self.has_levels:
            return self.first_rows[groups]
        is_beyond = self.edges[groups] <= self.model.allowances(batch.budgets)[:, None]
        rows: NDArray[np.int32] = self.first_rows[groups] + is_beyond.sum(axis=1, dtype=np.int32)
        return rows

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns: two words for values, one for counted, two for extra, one for missing.

        If far values are counted, one more for their weight and two words for each far cell.
        """
        return len(self.rules), FIRST_FAR + 4 * FAR_CELLS if self.far else FAR_WEIGHT

    def tally(self, batch: Batch, table: Counts) -> None:
        """Add the records of a batch to the sums."""
        if batch.values.size >= SMALLEST_BATCH:
            self._tally_compiled(batch, table)
            return
        rows = self.rows_of(batch)
        rule = SumRule(*self.rules[rows].T)
        granted = weights_of(self.model.allowances(batch.budgets), rule.share, rule.cap)
        places = np.clip(places_of(batch.values, rule.middle, rule.lift, rule.per_unit), rule.lowest, rule.highest)
        is_missing = np.isnan(places)
        is_far = np.abs(places) > FAR_FROM
        weights = np.where(is_missing | is_far, 0, granted)
        steps = clipped(places)
        if self.squares:
            counted = weights
            extra = weights * (steps**2 // STEPS)
            missing = np.where(is_missing, granted, 0)
        else:
            counted = np.where(np.abs(steps) < rule.near, weights, 0)
            extra = weights * (STEPS - np.abs(steps))
            missing = np.zeros_like(weights)
        row_of_each = np.broadcast_to(rows, weights.shape)
        for column, numbers in enumerate([*words_of(weights * steps), counted, *words_of(extra), missing]):
            # Bincount adds doubles. Numbers are below 2**26 and a batch is small, so that these sums are exact.
            table[:, column] += np.bincount(row_of_each, weights=numbers, minlength=len(table)).astype(np.int64)
        if is_far.any():
            _tally_far(places[is_far], granted[is_far], row_of_each[is_far], table)

    def _tally_compiled(self, batch: Batch, table: Counts) -> None:
        kernels = load_kernels()
        columns = (batch.values, batch.budgets)
        limits = self.model.limits
        rules = self.in_units
        if batch.groups is None:
            level_starts = np.array([-math.inf, *self.edges[0]])
            loop = kernels.sum_squares if self.squares else kernels.sum_near
            loop(*columns, *limits, level_starts, rules, table)
            return
        rows = batch.groups
        if self.has_levels:
            rows = kernels.find_rows(batch.budgets, rows, *limits, self.edges, self.first_rows)
        kernels.sum_groups(*columns, rows, *limits, rules, self.squares, _BLOCK, table)

    @cached_property
    def in_units(self) -> Floats:
        """The rules with their shares rounded down already, for engines that do not do so themselves."""
        rule = SumRule(*self.rules.T)
        return np.column_stack(rule._replace(share=round_down(rule.share)))


def _tally_far(places: Floats, weights: Counts, rows: NDArray[np.int32], table: Counts) -> None:
    """Add far values, which lie `places` steps from the middle, to the cells of their distances."""
    ends = np.array(FAR_EDGES)
    distances = np.abs(places)
    cells = np.minimum(np.searchsorted(ends, distances, side="right"), FAR_CELLS - 1)
    parts = np.minimum(np.rint(distances / ends[cells] * STEPS), STEPS).astype(np.int64)
    columns = FAR_WEIGHT, *far_columns(cells + FAR_CELLS * (places > 0))
    for column, numbers in zip(columns, (weights, *words_of(weights * parts)), strict=True):
        np.add.at(table, (rows, column), numbers)
