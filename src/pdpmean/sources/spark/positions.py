"""Positions: a first coin for each record of a DataFrame, tossed before Spark reads any of them.

If few of many records are kept, most of the work is sending the others to the workers that toss coins. So a first coin
that is heads with probability ``2**-bits`` is tossed for every *position*, which is a partition and a row in it. Spark
itself drops the records at positions with tails. A record to be kept with probability p is then kept with probability
``p * 2**bits`` if it is left. Records beyond the positions, and those with p above ``2**-bits``, have no first coin.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.threads import in_threads
from pdpmean.core.types import Counts
from pdpmean.passes.cells import Cells
from pdpmean.passes.thinning import Thinning
from pdpmean.randomness import Randomness, places_below

__all__ = ["BLOCK_BITS", "ROW_BITS", "Grid", "Toss", "plan_toss"]

ROW_BITS = 33  # the bits of a position that hold the row, as Spark numbers them; the bits above are the partition
BLOCK_BITS = 6  # a block is 2**6 neighbouring positions, whose coins are the bits of one word
_WORTH = 2**20  # records: dropping fewer saves no time
_MOST_HEADS = 2**20  # expected heads, few enough to be sent to all workers quickly
_ROOM = 4  # at most this many positions per record, if partitions differ in size
_PIECE = 2**22  # positions whose coins are tossed together


@dataclass(frozen=True)
class Grid:
    """The positions that have coins: the first `rows` rows of each of the first `partitions` partitions."""

    partitions: int
    rows: int

    @classmethod
    def of(cls, marks: NDArray[np.int64], records: int) -> Grid:
        """A grid that covers most positions of this many records.

        `marks` are the positions whose row is 0 or a power of two, and -1 for all others. The grid has at most twice as
        many rows as the longest partition, and fewer if most partitions are much shorter. It is empty if a partition
        may be so long that its last positions are those of the next: two records would then share a coin.
        """
        partitions = (int(marks.max(initial=-1)) >> ROW_BITS) + 1
        longest = max(1, 2 * int((marks[marks >= 0] & (2**ROW_BITS - 1)).max(initial=0)))
        if longest >= 2**ROW_BITS:
            return cls(0, 0)
        return cls(partitions, min(longest, -(-_ROOM * records // max(partitions, 1))))

    @property
    def size(self) -> int:
        """The number of positions."""
        return self.partitions * self.rows

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Runs of positions, in order: the first position of each, and its length."""
        for partition, row in itertools.product(range(self.partitions), range(0, self.rows, _PIECE)):
            yield (partition << ROW_BITS) + row, min(_PIECE, self.rows - row)


@dataclass(frozen=True)
class Toss:
    """First coins, heads with probability ``2**-bits``, for records in the grid with budgets of at most `largest`."""

    grid: Grid
    bits: int
    largest: float

    def heads(self, randomness: Randomness) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The blocks of positions in which a coin is heads, and for each a word whose bits are its heads.

        A last block, which holds no position, makes sure that there is one: what Spark does must not depend on coins.
        """
        own_randomness = randomness.spawn()  # the caller's is used once, however many pieces there are
        pieces = ((start, size, own_randomness.spawn()) for start, size in self.grid.pieces())
        heads = np.concatenate([np.empty(0, np.int64), *in_threads(self._heads_of, pieces)])
        blocks, firsts = np.unique(heads >> BLOCK_BITS, return_index=True)
        bits = np.left_shift(np.int64(1), heads & (2**BLOCK_BITS - 1))
        words = np.bitwise_or.reduceat(bits, firsts) if heads.size else bits
        return np.append(blocks, -1), np.append(words, 0)

    def _heads_of(self, piece: tuple[int, int, Randomness]) -> NDArray[np.int64]:
        """The positions of a piece whose coins are heads."""
        start, size, randomness = piece
        rate = 2.0**-self.bits
        first = randomness.first_bytes(size)
        undecided = places_below(first, math.ceil(256 * rate))
        return start + undecided[randomness.finish_coins(first[undecided], np.full(undecided.size, rate))]


def plan_toss(rule: Thinning, cells: Cells, counts: Counts, grid: Grid) -> Toss | None:
    """The first coins that leave the fewest records, given the number in each cell; None if they are not worth it."""
    ends = np.append(cells.lows[1:], math.inf) * cells.model.budget_per_allowance
    rates = rule.rates(rule.weights(ends))  # rates grow with the budget, so that no record of a cell has a larger one
    bits = np.arange(max(1, ((grid.size - 1) // _MOST_HEADS).bit_length()), 64)[:, np.newaxis]
    has_coin = rates <= 2.0**-bits
    records_left = (counts * np.where(has_coin, 2.0**-bits, 1.0)).sum(axis=1)
    best = int(np.argmin(records_left))
    if grid.size == 0 or counts.sum() - records_left[best] < max(_WORTH, records_left[best]):
        return None
    return Toss(grid, int(bits[best, 0]), float(ends[has_coin[best]].max()))
