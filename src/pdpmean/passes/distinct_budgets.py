"""Distinct budgets: the budgets that occur, exactly, as long as they are few.

Cells give budgets only to within their width. Where budgets are public and few, as with tiers, reports and losses can
state them exactly.
"""

from __future__ import annotations

import math

import numpy as np

from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.traces import load_kernels
from pdpmean.core.types import Floats

__all__ = ["MOST_DISTINCT", "DistinctBudgets"]

MOST_DISTINCT = 12
"""The largest number of distinct budgets that are stated exactly."""


class DistinctBudgets:
    """The distinct budgets of all batches that were noted; if there are many, only the largest of them.

    Threads note batches in any order, without a lock: each step is one atomic operation on a set or a list.
    """

    def __init__(self) -> None:
        self._distinct: set[float] = set()
        self._largest: list[float] = []

    @property
    def largest(self) -> float:
        """The largest budget; infinite if nothing was noted."""
        return max([*self._largest, *self._distinct], default=math.inf)

    @property
    def few(self) -> frozenset[float]:
        """All distinct budgets, if there are at most `MOST_DISTINCT`; empty otherwise."""
        return frozenset(self._distinct if len(self._distinct) <= MOST_DISTINCT else ())

    def note(self, budgets: Floats) -> None:
        """Note the budgets of a batch, none of which is negative or missing."""
        rest = budgets
        while rest.size and len(self._distinct) <= MOST_DISTINCT:
            rest = self._from_first_other(rest)
            self._distinct.update(rest[:1].tolist())
        if rest.size:
            self._largest.append(float(rest.max()))

    def _from_first_other(self, budgets: Floats) -> Floats:
        """The budgets from the first new one on; empty if there is none."""
        known = np.array(sorted(self._distinct))
        if budgets.size >= SMALLEST_BATCH:
            return budgets[load_kernels().find_other(budgets, known) :]
        return budgets[_find_other(budgets, known) :]


def _find_other(budgets: Floats, known: Floats) -> int:
    """The index of the first budget that is not known, or the size: the NumPy twin of the compiled loop."""
    is_other = ~np.isin(budgets, known)
    return int(is_other.argmax()) if is_other.any() else budgets.size
