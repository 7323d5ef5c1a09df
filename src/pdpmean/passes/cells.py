"""Cells: how many people hold which budget, counted on a fine logarithmic grid.

A table of counts is small however many people there are, and can be added up in any order. The cell of a budget depends
on its bits alone, so NumPy, the compiled loops and Spark give the same counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.checks import LARGEST_BUDGET, SMALLEST_BUDGET, check_budgets, in_column
from pdpmean.core.integers import from_words, words_of
from pdpmean.core.model import Model
from pdpmean.core.rules import TOTAL_LIMIT, TOTAL_UNIT
from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.traces import load_kernels
from pdpmean.core.types import Counts, Floats
from pdpmean.passes.batch import Batch
from pdpmean.passes.distinct_budgets import DistinctBudgets
from pdpmean.passes.source import Source

__all__ = ["CellCounts", "Cells", "count_budgets"]

# Bits of a double's fraction that do not decide on its cell, out of 52: without groups, and with them.
_SHIFT = 46
_GROUPED_SHIFT = 48


@dataclass(frozen=True)
class CellCounts:
    """How many people of a group hold which allowance, by cell: as private as budgets are.

    There is one entry for each cell that is not empty.
    """

    lows: Floats
    """The lower end of each cell, in nats. Losses are bounded by these: no allowance is smaller."""
    middles: Floats
    """The middle of each cell, in nats; the exact allowance, where `are_exact`."""
    counts: Counts
    middle_over_low: float
    """The ratio of a cell's middle to its lower end, on average over cells."""
    total: float | None = None
    """The sum of all allowances, in nats, if it was asked for."""
    are_exact: bool = False
    """Whether everybody in a cell holds the same allowance, which is then its middle."""
    largest: float = math.inf
    """No allowance is above this."""

    def budget_ranges(self, model: Model) -> list[tuple[float, float, int]]:
        """The smallest and the largest budget that each cell may hold, and how many people hold one of those."""
        ends = (end * model.budget_per_allowance for end in self._ends)
        return list(zip(*(end.tolist() for end in ends), self.counts.tolist(), strict=True))

    @property
    def smallest(self) -> Floats:
        """The smallest allowance that each cell may hold, in nats."""
        return self._ends[0]

    @property
    def _ends(self) -> tuple[Floats, Floats]:
        if self.are_exact:
            return self.middles, self.middles
        finite = np.isfinite(self.lows)
        halves = np.subtract(self.middles, self.lows, where=finite, out=np.zeros_like(self.lows))
        return self.lows, np.minimum(self.lows + 2 * halves, self.largest)


@dataclass(frozen=True)
class Cells:
    """The rule of the census: count the records in each cell of allowances.

    A cell is given by the exponent of a double and the leading bits of its fraction: there are 64 cells per octave, or
    16 with groups. Cell 0 holds the records that are left out. The last cell is infinity, and the one before it also
    holds all finite allowances above the largest budget.

    If `summed`, the table has a further row. It begins with the sum of all allowances, as two words of a whole number
    of units, which is exact in any order. This is for public budgets only, and not for groups.
    """

    model: Model
    groups: int | None = None
    summed: bool = False
    distinct_budgets: DistinctBudgets = field(default_factory=DistinctBudgets, compare=False)
    """Collects the distinct budgets, where they are public."""

    @property
    def shift(self) -> int:
        """How many trailing bits of a double do not decide on its cell."""
        return _SHIFT if self.groups is None else _GROUPED_SHIFT

    @property
    def base(self) -> int:
        """The number to subtract from the leading bits of a double to get its cell."""
        return _leading_bits(SMALLEST_BUDGET / 2, self.shift) - 1

    @property
    def top(self) -> int:
        """The last cell of finite allowances."""
        return _leading_bits(LARGEST_BUDGET, self.shift) - self.base

    @property
    def shape(self) -> tuple[int, int]:
        """One row per group, one for everybody else, and that of the sum, where there are any; one column per cell."""
        rows = 1 if self.groups is None else self.groups + 1
        return rows + self.summed, self.top + 2

    def cells_of(self, budgets: Floats) -> NDArray[np.int64]:
        """The cell of each budget."""
        allowances = np.ascontiguousarray(self.model.allowances(budgets))
        finite = np.minimum((allowances.view(np.int64) >> self.shift) - self.base, self.top)
        cells: NDArray[np.int64] = np.maximum(finite + np.isinf(allowances), 0)
        return cells

    @cached_property
    def lows(self) -> Floats:
        """The lower end of each cell, in nats: none of its allowances is smaller."""
        lows = ((np.arange(self.top + 2) + self.base) << self.shift).view(np.float64)
        lows[0] = 0.0
        lows[-1] = math.inf
        return lows

    @cached_property
    def middles(self) -> Floats:
        """The middle of each cell, in nats, at most the largest budget; that of the last cell is infinite."""
        lows = self.lows
        middles: Floats = np.minimum((lows + np.append(lows[1:], math.inf)) / 2, LARGEST_BUDGET)
        middles[0] = 0.0
        middles[-1] = math.inf
        return middles

    def cell_counts(self, table: Counts) -> list[CellCounts]:
        """How many people of each group hold which allowance, from the table of all records."""
        # A cell in the octave from 2**e on is 2**(shift - 52) 2**e wide; 2**e / low is ln 2 on average in an octave.
        ratio = 1 + math.ldexp(math.log(2) / 2, self.shift - 52)
        total = self._total(table) if self.summed else None
        exact_middles = self._exact_middles
        largest = float(self.model.allowances(np.array(self.distinct_budgets.largest)))
        middles = self.middles if exact_middles is None else exact_middles
        are_exact = exact_middles is not None
        used = [(counts, np.flatnonzero(counts)) for counts in table[: self.groups or 1]]
        return [
            CellCounts(
                lows=self.lows[cells],
                middles=middles[cells],
                counts=counts[cells],
                middle_over_low=ratio,
                total=total,
                are_exact=are_exact,
                largest=largest,
            )
            for counts, cells in used
        ]

    @property
    def _exact_middles(self) -> Floats | None:
        """The only allowance in each cell, if there are few distinct budgets, each in its own cell; otherwise None."""
        budgets = np.array(sorted(self.distinct_budgets.few))
        cells = self.cells_of(budgets)
        is_too_large = (budgets > LARGEST_BUDGET) & np.isfinite(budgets)
        if not budgets.size or is_too_large.any() or np.unique(cells).size < cells.size:
            return None
        middles = self.middles.copy()
        middles[cells] = np.where(cells > 0, self.model.allowances(budgets), 0.0)
        return middles

    def _total(self, table: Counts) -> float:
        """The sum of all allowances, in nats, rounded to the digits that rounding them to units cannot have changed.

        Allowances above the limit of the exact sum are added from the middles of their cells.
        """
        counts = table[0]
        high, low, *_ = table[-1].tolist()
        is_beyond = (self.lows >= TOTAL_LIMIT) & (counts > 0)
        large = float((counts[is_beyond] * self.middles[is_beyond]).sum())
        digits = 11 - len(str(int(counts.sum())))  # an allowance is rounded by less than 5e-13
        return round(from_words(high, low) / TOTAL_UNIT, digits) + large

    def tally(self, batch: Batch, table: Counts) -> None:
        """Count the records of a batch. Raises if public budgets are negative or missing."""
        are_public = self.model.budgets_are_public
        if batch.budgets.size >= SMALLEST_BATCH:
            wrong = self._count_compiled(batch, table)
            if wrong and are_public:
                check_budgets(batch.budgets, batch.first)
            if are_public:
                self.distinct_budgets.note(batch.budgets)
            return
        if are_public:
            check_budgets(batch.budgets, batch.first)
            self.distinct_budgets.note(batch.budgets)
        cells = self.cells_of(batch.budgets)
        if batch.groups is not None:
            cells += batch.groups * np.int64(table.shape[1])
        table += np.bincount(cells, minlength=table.size).reshape(table.shape)
        if self.summed:
            allowances = self.model.allowances(batch.budgets)
            units = np.rint(np.where(allowances < TOTAL_LIMIT, allowances, 0.0) * TOTAL_UNIT).astype(np.int64)
            table[-1, :2] += [word.sum() for word in words_of(units)]

    def _count_compiled(self, batch: Batch, table: Counts) -> int:
        """Count a large batch by the compiled loops; returns how many budgets are negative or missing."""
        kernels = load_kernels()
        rule = (*self.model.limits, np.uint64(self.shift), self.base, self.top)
        if batch.groups is None:
            words = table[-1, :2] if self.summed else np.zeros(2, dtype=np.int64)
            return int(kernels.count_cells(batch.budgets, *rule, table[0], words))
        return int(kernels.count_group_cells(batch.budgets, batch.groups, *rule, table))


def count_budgets(source: Source, model: Model, *, public: bool = False) -> list[CellCounts]:
    """How many people hold which budget, one entry per group, from one pass over the records.

    The result is as private as budgets are. If `public`, they are known to the caller even in the unbounded model.
    """
    summed = source.groups is None and (public or model.budgets_are_public)
    rule = Cells(model, source.groups, summed=summed)
    with in_column(source.budget_column):
        return rule.cell_counts(source.census(rule))


def _leading_bits(number: float, shift: int) -> int:
    """The bits of a positive double, as an integer, without the last `shift`."""
    return int(np.array([number]).view(np.int64)[0]) >> shift
