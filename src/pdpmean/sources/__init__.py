"""Whatever a user holds, behind three passes: census, sample, sum. Sources know nothing of privacy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from pdpmean.inputs import Floats
from pdpmean.randomness import Randomness
from pdpmean.threads import in_threads

__all__ = ["Batch", "Source"]

Batch = tuple[Floats, Floats]  # values and budgets


class Source(ABC):
    """Records that can be passed over three times; every pass merges small results, in any order."""

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Values and budgets, a batch at a time, from the start."""

    def census(self, count: Callable[[Floats, int], NDArray[np.int64]]) -> NDArray[np.int64]:
        """How many records are in each cell, as `count` counts a batch of budgets, given its first record's number."""
        total = np.zeros(1, dtype=np.int64)
        for counts in in_threads(lambda task: count(*task), self._numbered_budgets()):
            longer, shorter = (counts, total) if counts.size > total.size else (total, counts)
            longer[: shorter.size] += shorter
            total = longer
        return total

    def _numbered_budgets(self) -> Iterator[tuple[Floats, int]]:
        first = 0
        for _, budgets in self.batches():
            yield budgets, first
            first += budgets.size

    def sample(self, keep: Callable[[Randomness, Floats], NDArray[np.intp]], randomness: Randomness) -> Batch:
        """Values and budgets of the records that `keep` keeps, by their budgets and coins of the batch's own."""

        def kept(task: tuple[Batch, Randomness]) -> Batch:
            (values, budgets), coins = task
            where = keep(coins, budgets)
            return values[where], budgets[where]

        own = randomness.spawn()  # one draw of the caller's, however many batches there are
        tasks = ((batch, own.spawn()) for batch in self.batches())
        values, budgets = zip((np.empty(0), np.empty(0)), *in_threads(kept, tasks), strict=True)
        return np.concatenate(values), np.concatenate(budgets)

    def sum(self, contributions: Callable[[Floats, Floats], tuple[int, ...]]) -> tuple[int, ...]:
        """The sums of what each batch contributes, as integers of any size."""
        total = contributions(np.empty(0), np.empty(0))
        for part in in_threads(lambda batch: contributions(*batch), self.batches()):
            total = tuple(a + b for a, b in zip(total, part, strict=True))
        return total
