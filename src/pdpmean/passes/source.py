"""Source: records that can be passed over again and again, whatever holds them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.checks import BudgetColumn
from pdpmean.core.progress import Watch
from pdpmean.core.threads import in_threads
from pdpmean.core.types import Counts, Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch, Keeping, Tallying, joined
from pdpmean.randomness import Randomness

if TYPE_CHECKING:
    from pdpmean.passes.reserve import Reserve

__all__ = ["BatchSource", "Result", "Source", "Work"]

Result = TypeVar("Result")

Work = Callable[[Batch], Result]


class Source(ABC):
    """Records that can be passed over again and again; every pass merges small results, in any order."""

    groups: int | None = None
    """How many groups were asked for."""
    rows: int | None = None
    """How many records there are, where that is known."""
    columns: Mapping[str, str] = {}
    """The types of named columns, which are public."""
    is_yes_or_no: bool = False
    """Whether the type of the column of values, which is public, is that of yes and no."""
    budget_column: BudgetColumn | None = None
    """Where budgets are, where they are in a column with a name, one for each record."""
    watch: Watch | None = None
    """Told now and then how far a pass is."""

    @abstractmethod
    def duplicate_person(self) -> bool:
        """Whether two records have the same person's id, where ids were given."""

    @abstractmethod
    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The id of each record, in order, as text, and its budget; None for one that takes no part.

        A record takes no part if its group was not asked for or, where people are private, if it has no id.
        """

    @abstractmethod
    def groups_of_people(self) -> Iterator[NDArray[np.int32]]:
        """The group of each record, in the order of `people`; one beyond the last for a group not asked for."""

    @abstractmethod
    def charged(self, budgets: Floats) -> Source:
        """The same records at these budgets, in the order of `people`."""

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

    def groups_of_people(self) -> Iterator[NDArray[np.int32]]:
        """The group of each record, in order."""
        for batch in self.batches(values=False):
            assert batch.groups is not None
            yield batch.groups

    def charged(self, budgets: Floats) -> Source:
        """The same records at these budgets, in the order of `people`."""
        return ChargedSource(self, budgets)

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
        tables: list[Counts] = []  # one per thread, each in use or in this list

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


class ChargedSource(BatchSource):
    """The records of another source at other budgets: those that a ledger has reserved for them."""

    def __init__(self, records: BatchSource, budgets: Floats) -> None:
        self._records, self._budgets = records, budgets
        self.groups, self.rows, self.columns = records.groups, budgets.size, records.columns

    def duplicate_person(self) -> bool:
        """Whether two records have the same id."""
        return self._records.duplicate_person()

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The id of each record, and its budget."""
        start = 0
        for ids, _ in self._records.people():
            yield ids, self._budgets[start : start + len(ids)]
            start += len(ids)

    def prepare_sample(self, randomness: Randomness) -> None:
        """As the other source does."""
        self._records.prepare_sample(randomness)
        self.empty_reserve, self._records.empty_reserve = self._records.empty_reserve, None

    def batches(self, *, values: bool = True) -> Iterator[Batch]:
        """The same batches, at their budgets."""
        start = 0
        for batch in self._records.batches(values=values):
            budgets = self._budgets[start : start + batch.budgets.size]
            start += batch.budgets.size
            if start > self._budgets.size:
                break
            yield replace(batch, budgets=budgets)
        if start != self._budgets.size:
            raise InvalidInputError("the data changed while it was being read; start again", name="values")


def _then(first: Work[None], second: Work[Result]) -> Work[Result]:
    """Both, and what the second comes to."""

    def both(batch: Batch) -> Result:
        first(batch)
        return second(batch)

    return both
