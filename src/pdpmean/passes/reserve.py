"""A reserve of records, set aside during the census, from which the sample can be taken without reading data again.

The plan, and so the probability p with which a record is kept, is known only after the census. But a record is kept if
its coin, a uniform number, is below p. So the first 16 bits of every record's coin are drawn during the census, and
records whose coin is below some limit are set aside. If no p exceeds the limit, all records to keep are among them, and
the remaining bits of their coins decide.

The limit of a group depends on the number of its records, never on a coin. It falls as more records are counted, and
records whose coin is then above it are dropped.
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

# Records to set aside, about: without groups, and per group. `locate` looks at 50 000 at most, but keeps records with
# different probabilities, so that the largest of these needs several times as many.
_ROOM = 2**19
_GROUP_ROOM = 2**17
_MOST = 2**22  # records to set aside of all groups together
_LEAST = 2000  # records to set aside per group, if `locate` looks at 500 of them
_ALL = 2**16  # a limit that every coin is below
_TOGETHER = 8  # parts that are sampled together; few enough to stay in the cache


@dataclass(frozen=True)
class Part:
    """Records that were set aside from one batch, and the first bits of the coin of each."""

    records: Batch
    first: FirstBits

    def below(self, limits: Counts, all_records: int) -> tuple[Part, Counts]:
        """The records whose coin is below the limit of their group, copied; and how many of each group there were.

        `all_records` says whether this is worth a compiled loop.
        """
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
    """Records that are set aside during a census, batch by batch and in parallel.

    `rows` is the number of records to come, if it is known.
    """

    @staticmethod
    def has_room(groups: int | None, rows: int | None) -> bool:
        """Whether a reserve is likely to hold the samples of this many groups."""
        return (groups or 1) * _LEAST <= _MOST or (rows is not None and rows <= _MOST)

    def __init__(self, randomness: Randomness, groups: int | None, rows: int | None) -> None:
        self._coins = randomness.spawn()
        self._grouped = groups is not None
        self._process = this_process()
        self._room = _ROOM if groups is None else min(_GROUP_ROOM, _MOST // groups)
        self._seen = np.zeros(1 if groups is None else groups + 1, dtype=np.int64)
        self._limits = self._limits_of(self._seen if groups is not None else np.array([rows or 0]))
        if groups is not None:
            self._limits[-1] = 0  # nobody of a group that was not asked for
        self._parts: deque[tuple[int, Part]] = deque()  # each with the number of records seen when it was last thinned

    def _limits_of(self, seen: Counts) -> Counts:
        """The limit of each group, by its number of records: about as many coins are below it as there is room for."""
        limits: Counts = np.clip(_ALL * self._room // np.maximum(seen, 1), 1, _ALL)
        return limits

    def work(self) -> Work[tuple[Part, Counts]]:
        """A function that sets records of each batch aside that it is called with; it has its own coins."""
        return partial(self._set_aside, self._coins.spawn())

    def _set_aside(self, coins: Randomness, batch: Batch) -> tuple[Part, Counts]:
        """The records of a batch below the present limits. Limits only fall, so no others will be needed."""
        first = coins.first_pairs(batch.budgets.size)
        return Part(batch, first).below(self._limits, first.size)

    def hold(self, found: tuple[Part, Counts]) -> None:
        """Add the records that were set aside from a batch, and lower the limits.

        A part is thinned again whenever the number of records has doubled since it last was.
        """
        part, seen = found
        self._seen += seen
        self._limits = np.minimum(self._limits, self._limits_of(self._seen))
        now = int(self._seen.sum())
        self._parts.append((now, part))
        while self._parts[0][0] <= now // 2 < now:  # the second: batches may be empty, so that `now` is 0
            self._parts.append((now, self._parts.popleft()[1].below(self._limits, now)[0]))

    def sample(self, rule: Keeping, randomness: Randomness) -> Batch | None:
        """The records that the rule keeps; None if it may keep some that were not set aside.

        Also None in a forked process, because its parent has the same coins.
        """
        if (rule.largest > self._limits / _ALL).any() or self._process != this_process():
            return None
        highest_coins = np.minimum(self._limits, np.ceil(rule.largest * _ALL).astype(np.int64))
        parts = [part for _, part in self._parts]
        all_records = int(self._seen.sum())
        tasks = ((parts[i : i + _TOGETHER], randomness.spawn()) for i in range(0, len(parts), _TOGETHER))

        def kept(task: tuple[list[Part], Randomness]) -> Batch:
            some_parts, coins = task
            undecided = [part.below(highest_coins, all_records)[0] for part in some_parts]
            records = joined([part.records for part in undecided], grouped=self._grouped)
            first = np.concatenate([part.first for part in undecided])
            return records.at(np.flatnonzero(rule.decide(records.budgets, records.groups, first, coins)))

        return joined(list(in_threads(kept, tasks)), grouped=self._grouped)
