"""Granted: which public budgets there are, exactly, as long as they are few; a cell tells only about which."""

from __future__ import annotations

import math

import numpy as np

from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.traces import load_kernels
from pdpmean.core.types import Floats

__all__ = ["MOST", "Granted"]

MOST = 12
"""Different budgets that are told exactly."""


class Granted:
    """The different budgets of all batches that were noted, side by side; of many, only the largest.

    Nothing is locked: each step is one operation on a set or a list, and threads may come in any order.
    """

    def __init__(self) -> None:
        self._found: set[float] = set()
        self._largest: list[float] = []

    @property
    def largest(self) -> float:
        """Nobody grants more; infinite where nothing was noted."""
        return max([*self._largest, *self._found], default=math.inf)

    @property
    def few(self) -> frozenset[float]:
        """All of them, if they are few; otherwise none."""
        return frozenset(self._found if len(self._found) <= MOST else ())

    def note(self, budgets: Floats) -> None:
        """Note the budgets of a batch, none of which is negative or missing."""
        rest = budgets
        while rest.size and len(self._found) <= MOST:
            rest = self._from_first_other(rest)
            self._found.update(rest[:1].tolist())
        if rest.size:
            self._largest.append(float(rest.max()))

    def _from_first_other(self, budgets: Floats) -> Floats:
        """The budgets from the first one on that was not found before."""
        known = np.array(sorted(self._found))
        if budgets.size >= SMALLEST_BATCH:
            return budgets[load_kernels().find_other(budgets, known) :]
        return budgets[_find_other(budgets, known) :]


def _find_other(budgets: Floats, known: Floats) -> int:
    """What the compiled loop of this name finds."""
    is_other = ~np.isin(budgets, known)
    return int(is_other.argmax()) if is_other.any() else budgets.size
