"""Cells: budgets counted on a fine logarithmic grid, the same in every engine, bit for bit."""

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
from pdpmean.passes.granted import Granted
from pdpmean.passes.source import Source

__all__ = ["Cells", "Held", "count_budgets"]

_SHIFT, _GROUPED_SHIFT = 46, 48  # bits of a double's fraction that do not count


@dataclass(frozen=True)
class Held:
    """Allowances, each rounded down to the end of its cell, and how many hold each: as private as budgets are."""

    levels: Floats
    middles: Floats
    counts: Counts
    middle_over_low: float
    """What a cell's middle is over its lower end, on average."""
    total: float | None = None
    """What all allowances add up to, where that was asked for."""
    are_exact: bool = False
    """Whether all allowances of a cell are its middle."""
    largest: float = math.inf
    """No allowance is above this."""

    def cells(self, model: Model) -> list[tuple[float, float, int]]:
        """The budgets that each cell begins and ends with, and how many people hold one between them."""
        ends = (end * model.budget_per_allowance for end in self._ends)
        return list(zip(*(end.tolist() for end in ends), self.counts.tolist(), strict=True))

    @property
    def _ends(self) -> tuple[Floats, Floats]:
        if self.are_exact:
            return self.middles, self.middles
        finite = np.isfinite(self.levels)
        halves = np.subtract(self.middles, self.levels, where=finite, out=np.zeros_like(self.levels))
        return self.levels, np.minimum(self.levels + 2 * halves, self.largest)


@dataclass(frozen=True)
class Cells:
    """Budgets to cells, by the bits of their allowance alone, so that every engine agrees; cell 0 is left out.

    A cell is a double's exponent and the first bits of its fraction: 64 cells per octave, 16 where there are groups.
    The last one is infinity, and the one before holds whatever is above the largest budget.

    If `summed`, a last row of the table starts with what all allowances add up to, in two words, as whole units: exact
    in any order. It is for public budgets alone, and not for groups.
    """

    model: Model
    groups: int | None = None
    summed: bool = False
    granted: Granted = field(default_factory=Granted, compare=False)
    """Which budgets there are exactly, where they are public."""

    @property
    def shift(self) -> int:
        """How many bits of a double do not count."""
        return _SHIFT if self.groups is None else _GROUPED_SHIFT

    @property
    def base(self) -> int:
        """What a double's leading bits are above its cell."""
        return _leading_bits(SMALLEST_BUDGET / 2, self.shift) - 1

    @property
    def top(self) -> int:
        """The last cell of finite allowances."""
        return _leading_bits(LARGEST_BUDGET, self.shift) - self.base

    @property
    def shape(self) -> tuple[int, int]:
        """Groups (and one for all others) by cells; and the row of the sum."""
        rows = 1 if self.groups is None else self.groups + 1
        return rows + self.summed, self.top + 2

    def cells_of(self, budgets: Floats) -> NDArray[np.int64]:
        """The cell of each budget."""
        allowances = np.ascontiguousarray(self.model.allowances(budgets))
        finite = np.minimum((allowances.view(np.int64) >> self.shift) - self.base, self.top)
        cells: NDArray[np.int64] = np.maximum(finite + np.isinf(allowances), 0)
        return cells

    @cached_property
    def levels(self) -> Floats:
        """The lower end of each cell, below which none of its allowances is."""
        levels = ((np.arange(self.top + 2) + self.base) << self.shift).view(np.float64)
        levels[0], levels[-1] = 0.0, math.inf
        return levels

    @cached_property
    def middles(self) -> Floats:
        """The middle of each cell, none beyond the largest budget unless it is infinite."""
        levels = self.levels
        middles: Floats = np.minimum((levels + np.append(levels[1:], math.inf)) / 2, LARGEST_BUDGET)
        middles[0], middles[-1] = 0.0, math.inf
        return middles

    def held(self, table: Counts) -> list[Held]:
        """Who holds what in each group, by how many are in each cell."""
        ratio = 1 + math.ldexp(math.log(2) / 2, self.shift - 52)
        total = self._total(table) if self.summed else None
        exact, largest = self._exact_middles, float(self.model.allowances(np.array(self.granted.largest)))
        middles, are_exact = (self.middles if exact is None else exact), exact is not None
        used = [(counts, np.flatnonzero(counts)) for counts in table[: self.groups or 1]]
        return [
            Held(self.levels[cells], middles[cells], counts[cells], ratio, total, are_exact, largest)
            for counts, cells in used
        ]

    @property
    def _exact_middles(self) -> Floats | None:
        """The only allowance of each cell, where budgets are so few that there is only one in any."""
        budgets = np.array(sorted(self.granted.few))
        cells = self.cells_of(budgets)
        is_too_large = (budgets > LARGEST_BUDGET) & np.isfinite(budgets)
        if not budgets.size or is_too_large.any() or np.unique(cells).size < cells.size:
            return None
        middles = self.middles.copy()
        middles[cells] = np.where(cells > 0, self.model.allowances(budgets), 0.0)
        return middles

    def _total(self, table: Counts) -> float:
        """What all allowances add up to, without the digits that rounding to units may have changed."""
        counts, (high, low, *_) = table[0], table[-1].tolist()
        beyond = (self.levels >= TOTAL_LIMIT) & (counts > 0)
        large = float((counts[beyond] * self.middles[beyond]).sum())
        digits = 11 - len(str(int(counts.sum())))  # an allowance is rounded by less than 5e-13
        return round(from_words(high, low) / TOTAL_UNIT, digits) + large

    def tally(self, batch: Batch, table: Counts) -> None:
        """Count the records of a batch; checks public budgets."""
        public = self.model.budgets_are_public
        if batch.budgets.size >= SMALLEST_BATCH:
            wrong = self._count_compiled(batch, table)
            if wrong and public:
                check_budgets(batch.budgets, batch.first)
            if public:
                self.granted.note(batch.budgets)
            return
        if public:
            check_budgets(batch.budgets, batch.first)
            self.granted.note(batch.budgets)
        cells = self.cells_of(batch.budgets)
        if batch.groups is not None:
            cells += batch.groups * np.int64(table.shape[1])
        table += np.bincount(cells, minlength=table.size).reshape(table.shape)
        if self.summed:
            allowances = self.model.allowances(batch.budgets)
            units = np.rint(np.where(allowances < TOTAL_LIMIT, allowances, 0.0) * TOTAL_UNIT).astype(np.int64)
            table[-1, :2] += [word.sum() for word in words_of(units)]

    def _count_compiled(self, batch: Batch, table: Counts) -> int:
        kernels = load_kernels()
        rule = (*self.model.limits, np.uint64(self.shift), self.base, self.top)
        if batch.groups is None:
            words = table[-1, :2] if self.summed else np.zeros(2, dtype=np.int64)
            return int(kernels.count_cells(batch.budgets, *rule, table[0], words))
        return int(kernels.count_group_cells(batch.budgets, batch.groups, *rule, table))


def count_budgets(source: Source, model: Model, *, public: bool = False) -> list[Held]:
    """Who holds which budget, one entry per group: as private as budgets are, unless these are `public` anyway."""
    summed = source.groups is None and (public or model.budgets_are_public)
    cells = Cells(model, source.groups, summed=summed)
    with in_column(source.budget_column):
        return cells.held(source.census(cells))


def _leading_bits(number: float, shift: int) -> int:
    return int(np.array([number]).view(np.int64)[0]) >> shift
