"""Whatever a user holds, behind three passes: census, sample, sum. Sources know nothing of privacy."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pdpmean.errors import InvalidInputError
from pdpmean.inputs import Floats
from pdpmean.progress import Watch
from pdpmean.randomness import FirstBits, Randomness
from pdpmean.threads import in_threads

if TYPE_CHECKING:
    from pdpmean.sources.reserve import Reserve

__all__ = ["Batch", "BatchSource", "Counts", "Keeping", "Source", "Tallying", "joined"]

Counts = NDArray[np.int64]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Batch:
    """Some records: values (none where a pass needs none), budgets and, if they are grouped, the group of each.

    Groups are numbered in the order in which they were asked for; one beyond the last means a group not asked for.
    """

    values: Floats
    budgets: Floats
    groups: NDArray[np.int32] | None = None
    first: int = 0
    """The number of the first record."""

    def at(self, where: NDArray[np.intp]) -> Batch:
        """Some of the records, copied."""
        groups = None if self.groups is None else self.groups[where]
        return Batch(self.values[where], self.budgets[where], groups)

    def by_group(self, groups: int) -> list[NDArray[np.intp]]:
        """Where the records of each group are; all are of the first where there are none."""
        if self.groups is None:
            return [np.arange(self.budgets.size)]
        order = np.argsort(self.groups.astype(np.uint16), kind="stable")  # so few bits are sorted much faster
        ends = np.cumsum(np.bincount(self.groups, minlength=groups + 1))[:groups].tolist()
        return [order[start:end] for start, end in itertools.pairwise([0, *ends])]


Work = Callable[[Batch], Result]


class Tallying(Protocol):
    """What the passes census and sum do to a batch: add small integers to a table of this shape."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, one a group, and columns of the table."""

    def tally(self, batch: Batch, table: Counts) -> None:
        """Add what the batch contributes."""


class Keeping(Protocol):
    """What the pass sample does to a batch: keep some records, by their budgets and groups."""

    def keep(self, batch: Batch, randomness: Randomness) -> NDArray[np.intp]:
        """Which records are kept."""

    @property
    def largest(self) -> Floats:
        """No record is kept with a larger probability, by its group."""

    def decide(
        self, budgets: Floats, groups: NDArray[np.int32] | None, first: FirstBits, randomness: Randomness
    ) -> NDArray[np.bool_]:
        """Whether each record is kept, given the first bits of its coin."""


class Source(ABC):
    """Records that can be passed over again and again; every pass merges small results, in any order."""

    groups: int | None = None
    """How many groups were asked for."""
    rows: int | None = None
    """How many records there are, where that is known."""
    watch: Watch | None = None
    """Told now and then how far a pass is."""

    @abstractmethod
    def duplicate_person(self) -> bool:
        """Whether two records have the same person's id, where ids were given."""

    def prepare_sample(self, randomness: Randomness) -> None:  # noqa: B027 (most have nothing to prepare)
        """Told before a census that a sample is to follow, so that one reading may serve both."""

    @abstractmethod
    def census(self, rule: Tallying) -> Counts:
        """The table of who holds which budget."""

    @abstractmethod
    def sample(self, rule: Keeping, randomness: Randomness) -> Batch:
        """The records that are kept."""

    @abstractmethod
    def sum(self, rule: Tallying) -> Counts:
        """The table of what all records contribute."""


class BatchSource(Source):
    """Records that come in batches; each goes through a rule's own arithmetic, side by side."""

    empty_reserve: Reserve | None = None
    """What the next census fills; no other does."""
    full_reserve: Reserve | None = None
    """What the next sample may be taken of; no other is, since the two would have coins in common."""

    @abstractmethod
    def batches(self, *, values: bool = True) -> Iterator[Batch]:
        """All records, a batch at a time, from the start; without `values`, budgets and groups alone."""

    def worked(self, make: Callable[[], Work[Result]], *, values: bool) -> Iterator[tuple[int, Result]]:
        """How many records each batch has, in order, and what it comes to; all of that is worked out side by side.

        `make` gives the work for some batches that are done one after the other, and is asked for it in their order.
        """

        def one(task: tuple[Batch, Work[Result]]) -> tuple[int, Result]:
            batch, work = task
            return batch.budgets.size, work(batch)

        return in_threads(one, ((batch, make()) for batch in self.batches(values=values)))

    def census(self, rule: Tallying) -> Counts:
        """The table of who holds which budget."""
        reserve, self.empty_reserve = self.empty_reserve, None
        try:
            table = self._tally("census", rule, values=False, reserve=reserve)
            self.full_reserve = reserve
            return table
        except InvalidInputError as found:
            error = found
        self._tally_in_order(rule)  # says which record is the first that is wrong
        raise error

    def sample(self, rule: Keeping, randomness: Randomness) -> Batch:
        """The records that are kept, with coins of each batch's own."""

        def kept(coins: Randomness, batch: Batch) -> Batch:
            return batch.at(rule.keep(batch, coins.spawn()))

        own = randomness.spawn()  # one draw of the caller's, however many batches there are
        found = self._from_reserve(rule, own)
        if found is None:
            parts = list(self._watched("sample", lambda: partial(kept, own.spawn()), values=True))
            found = joined(parts, grouped=self.groups is not None)
        return found

    def _from_reserve(self, rule: Keeping, randomness: Randomness) -> Batch | None:
        """The same, of what was set aside, if that is enough."""
        reserve, self.full_reserve = self.full_reserve, None
        found = None if reserve is None else reserve.sample(rule, randomness)
        if self.watch and found is not None:
            self.watch.at("sample", self.rows or 0, self.rows)
            self.watch.done("sample")
        return found

    def sum(self, rule: Tallying) -> Counts:
        """The table of what all records contribute."""
        return self._tally("sum", rule, values=True)

    def _tally(self, name: str, rule: Tallying, *, values: bool, reserve: Reserve | None = None) -> Counts:
        tables: list[Counts] = []  # one a thread, each in use or in this list

        def add(batch: Batch) -> None:
            try:
                table = tables.pop()
            except IndexError:
                table = np.zeros(rule.shape, dtype=np.int64)
            rule.tally(batch, table)
            tables.append(table)

        if reserve:
            for part in self._watched(name, lambda: _then(add, reserve.work()), values=True):
                reserve.hold(part)
        else:
            for _ in self._watched(name, lambda: add, values=values):
                pass
        total = np.zeros(rule.shape, dtype=np.int64)
        for table in tables:
            total += table
        return total

    def _tally_in_order(self, rule: Tallying) -> None:
        seen = 0
        for batch in self.batches(values=False):
            rule.tally(replace(batch, first=seen), np.zeros(rule.shape, dtype=np.int64))
            seen += batch.budgets.size

    def _watched(self, name: str, make: Callable[[], Work[Result]], *, values: bool) -> Iterator[Result]:
        """What each batch comes to, telling how far they are."""
        seen = 0
        for size, result in self.worked(make, values=values):
            yield result
            seen += size
            if self.watch:
                self.watch.at(name, seen, self.rows)
        if self.watch:
            self.watch.done(name)


def _then(first: Work[None], second: Work[Result]) -> Work[Result]:
    """Both, and what the second comes to."""

    def both(batch: Batch) -> Result:
        first(batch)
        return second(batch)

    return both


def joined(parts: list[Batch], *, grouped: bool) -> Batch:
    """The records of all parts."""
    if len(parts) == 1:
        return parts[0]
    return Batch(
        np.concatenate([np.empty(0), *(part.values for part in parts)]),
        np.concatenate([np.empty(0), *(part.budgets for part in parts)]),
        np.concatenate([np.empty(0, np.int32), *(part.groups for part in parts if part.groups is not None)])
        if grouped
        else None,
    )
