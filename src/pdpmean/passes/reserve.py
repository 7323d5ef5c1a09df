"""A reserve: records set aside while all are counted, so that a sample needs no further reading.

The first bits of every record's coin are drawn, and a record is set aside if they are below a limit: whoever is to be
kept with no larger probability than that is among them, and the rest of the coin decides. The limit depends on how many
records there are, in a group, and on no coin. While they are not all counted it is higher, and who is above it in the
end is let go.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.threads import SMALLEST_BATCH, in_threads
from pdpmean.core.traces import load_kernels
from pdpmean.core.types import Counts
from pdpmean.passes.batch import Batch, Keeping, joined
from pdpmean.passes.source import Work
from pdpmean.randomness import FirstBits, Randomness, places_below, this_process

__all__ = ["Part", "Reserve"]

_ROOM, _GROUP_ROOM = 2**19, 2**17  # records, about; `locate` looks at 50 000 at most, and not at all budgets alike
_MOST, _LEAST = 2**22, 2000  # records, of all groups together, and of each if `locate` looks at 500
_ALL = 2**16  # a limit that every coin is below
_TOGETHER = 8  # parts that are sampled at once, so few that they stay in the cache


@dataclass(frozen=True)
class Part:
    """Records that were set aside, and the first bits of the coin of each."""

    records: Batch
    first: FirstBits

    def below(self, limits: Counts, all_records: int) -> tuple[Part, Counts]:
        """Those below the limit of their group, copied; and how many each group had. Compiled if of many records."""
        groups = self.records.groups
        if groups is None:
            return self._at(places_below(self.first, int(limits[0]))), np.array([self.first.size])
        if all_records < SMALLEST_BATCH:
            seen = np.bincount(groups, minlength=limits.size)
            return self._at(np.flatnonzero(self.first < limits[groups])), seen
        seen = np.zeros(limits.size, dtype=np.int64)
        columns = self.records.values, self.records.budgets, groups
        *taken, first = load_kernels().take_below(*columns, self.first, limits, seen)
        return Part(Batch(*taken), first), seen

    def _at(self, where: NDArray[np.intp]) -> Part:
        return Part(self.records.at(where), self.first[where])


class Reserve:
    """Sets records aside, batch by batch and side by side; `rows` is how many there will be, where that is known."""

    @staticmethod
    def has_room(groups: int | None, rows: int | None) -> bool:
        """Whether samples of so many groups are likely to be found in a reserve."""
        return (groups or 1) * _LEAST <= _MOST or (rows is not None and rows <= _MOST)

    def __init__(self, randomness: Randomness, groups: int | None, rows: int | None) -> None:
        self._coins, self._grouped, self._process = randomness.spawn(), groups is not None, this_process()
        self._room = _ROOM if groups is None else min(_GROUP_ROOM, _MOST // groups)
        self._seen = np.zeros(1 if groups is None else groups + 1, dtype=np.int64)
        self._limits = self._limits_of(self._seen if groups is not None else np.array([rows or 0]))
        if groups is not None:
            self._limits[-1] = 0  # nobody of a group that was not asked for
        self._parts: deque[tuple[int, Part]] = deque()  # when there were so many records

    def _limits_of(self, seen: Counts) -> Counts:
        """Below which about as many are as there is room for; everybody, where that is not more."""
        limits: Counts = np.clip(_ALL * self._room // np.maximum(seen, 1), 1, _ALL)
        return limits

    def work(self) -> Work[tuple[Part, Counts]]:
        """What sets records aside of batches that come one after the other, with coins of their own."""
        return partial(self._set_aside, self._coins.spawn())

    def _set_aside(self, coins: Randomness, batch: Batch) -> tuple[Part, Counts]:
        """Whoever is below the limits as they are by now: they fall, so that nobody else would stay."""
        first = coins.first_pairs(batch.budgets.size)
        return Part(batch, first).below(self._limits, first.size)

    def hold(self, found: tuple[Part, Counts]) -> None:
        """Take what was set aside; from what was taken when there were half as many, some can go."""
        part, seen = found
        self._seen += seen
        self._limits = np.minimum(self._limits, self._limits_of(self._seen))
        now = int(self._seen.sum())
        self._parts.append((now, part))
        while self._parts[0][0] <= now // 2 < now:  # batches may be empty, and nobody be there yet
            self._parts.append((now, self._parts.popleft()[1].below(self._limits, now)[0]))

    def sample(self, rule: Keeping, randomness: Randomness) -> Batch | None:
        """What the rule keeps of all records; None if it may keep some who were not set aside.

        None also in a forked process: the one it comes from has the same coins.
        """
        if (rule.largest > self._limits / _ALL).any() or self._process != this_process():
            return None
        reachable = np.minimum(self._limits, np.ceil(rule.largest * _ALL).astype(np.int64))
        parts, everybody = [part for _, part in self._parts], int(self._seen.sum())
        tasks = ((parts[i : i + _TOGETHER], randomness.spawn()) for i in range(0, len(parts), _TOGETHER))

        def kept(task: tuple[list[Part], Randomness]) -> Batch:
            some, coins = [part.below(reachable, everybody)[0] for part in task[0]], task[1]
            aside = joined([part.records for part in some], grouped=self._grouped)
            first = np.concatenate([part.first for part in some])
            return aside.at(np.flatnonzero(rule.decide(aside.budgets, aside.groups, first, coins)))

        return joined(list(in_threads(kept, tasks)), grouped=self._grouped)
