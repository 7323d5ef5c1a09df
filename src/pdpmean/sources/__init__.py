"""Whatever a user holds, behind three passes: census, sample, sum. Sources know nothing of privacy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from pdpmean.inputs import Floats

__all__ = ["Source"]


class Source(ABC):
    """Records that can be passed over three times; every pass merges small results, in any order."""

    @abstractmethod
    def batches(self) -> Iterator[tuple[Floats, Floats]]:
        """Values and budgets, a batch at a time, from the start."""

    def census(self, cells_of: Callable[[Floats], NDArray[np.int64]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells that budgets fall into (small integers from 0 on), and how many records each holds."""
        total = np.zeros(1, dtype=np.int64)
        for _, budgets in self.batches():
            counts = np.bincount(cells_of(budgets), minlength=total.size)
            counts[: total.size] += total
            total = counts
        cells = np.flatnonzero(total)
        return cells.astype(np.int64), total[cells]

    def sample(self, keep: Callable[[Floats], NDArray[np.bool_]]) -> tuple[Floats, Floats]:
        """Values and budgets of the records that `keep` keeps, looking at budgets alone."""
        kept = [(values[mask], budgets[mask]) for values, budgets in self.batches() for mask in [keep(budgets)]]
        if not kept:
            return np.empty(0), np.empty(0)
        values, budgets = zip(*kept, strict=True)
        return np.concatenate(values), np.concatenate(budgets)

    def sum(self, contributions: Callable[[Floats, Floats], tuple[int, ...]]) -> tuple[int, ...]:
        """The sums of what each batch contributes, as integers of any size."""
        return tuple(map(sum, zip(*(contributions(*batch) for batch in self._at_least_one()), strict=True)))

    def _at_least_one(self) -> Iterator[tuple[Floats, Floats]]:
        yield np.empty(0), np.empty(0)
        yield from self.batches()
