"""Source: records that can be read several times over, whatever holds them.

An estimate passes over the data up to three times: census, sample and sum. A source knows how to do each of these
passes. Most yield batches, to which the rules of a pass are applied here (`BatchSource`); Spark does the work itself.
"""

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

__all__ = ["SEARCHED", "BatchSource", "Result", "Source", "Work"]

SEARCHED = 2**18
"""The number of records, or somewhat more, in which `group_entries` looks."""

Result = TypeVar("Result")

Work = Callable[[Batch], Result]
"""What a pass does to each batch."""


class Source(ABC):
    """Records that can be read several times over. A pass gives a small result, in whatever order it reads records."""

    groups: int | None = None
    """The number of groups that were asked for; None if records have no groups."""
    rows: int | None = None
    """The number of records, if it is known."""
    columns: Mapping[str, str] = {}
    """The types of named columns, which are public."""
    is_boolean: bool = False
    """Whether the column of values is boolean, by its type, which is public."""
    budget_column: BudgetColumn | None = None
    """The column that the budgets are read from, for messages; None if they have no column."""
    watch: Watch | None = None
    """Reports the progress of each pass."""

    @abstractmethod
    def duplicate_person(self) -> bool:
        """Whether two records have the same person's id; only if ids were given."""

    @abstractmethod
    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The ids of the records, as text, and their budgets, in order; None for a record that takes no part.

        A record takes no part if its group was not asked for or, where people are private, if it has no id.
        """

    @abstractmethod
    def groups_of_people(self) -> Iterator[NDArray[np.int32]]:
        """The group of each record, in the order of `people`; one beyond the last for any other group."""

    def group_entries(self) -> set[str]:
        """The distinct entries in the column of groups, of the first records; empty if they are not at hand."""
        return set()

    @abstractmethod
    def charged(self, budgets: Floats) -> Source:
        """The same records with these budgets instead, in the order of `people`."""

    def prepare_sample(self, randomness: Randomness) -> None:  # noqa: B027 (most have nothing to prepare)
        """Announce, before the census, that a sample will follow: the source may then read the data once for both."""

    @abstractmethod
    def census(self, rule: Tallying) -> Counts:
        """The table of how many people hold which budget."""

    @abstractmethod
    def sample(self, rule: Keeping, randomness: Randomness) -> Batch:
        """The records that the rule keeps."""

    @abstractmethod
    def sum(self, rule: Tallying) -> Counts:
        """The table of the sums over all records."""


class BatchSource(Source):
    """Records that come in batches; rules are applied to them here, in parallel."""

    empty_reserve: Reserve | None = None
    """The reserve that the next census fills, and only that one."""
    full_reserve: Reserve | None = None
    """The reserve that the next sample may be taken from, and only that one: a second would have the same coins."""

    @abstractmethod
    def batches(self, *, values: bool = True) -> Iterator[Batch]:
        """All records, in batches, from the start; without `values`, only budgets and groups are read."""

    def groups_of_people(self) -> Iterator[NDArray[np.int32]]:
        """The group of each record, in order."""
        for batch in self.batches(values=False):
            assert batch.groups is not None
            yield batch.groups

    def charged(self, budgets: Floats) -> Source:
        """The same records with these budgets instead, in the order of `people`."""
        return ChargedSource(self, budgets)

    def worked(self, make: Callable[[], Work[Result]], *, values: bool) -> Iterator[tuple[int, Result]]:
        """The number of records of each batch, in order, and the result of the work on it, done in parallel.

        `make` is called in the order of the batches. The work that it returns may be used for several batches in
        succession.
        """

        def one(task: tuple[Batch, Work[Result]]) -> tuple[int, Result]:
            batch, work = task
            return batch.budgets.size, work(batch)

        return in_threads(one, ((batch, make()) for batch in self.batches(values=values)))

    def census(self, rule: Tallying) -> Counts:
        """The table of how many people hold which budget; fills the reserve on the way, if there is one."""
        reserve, self.empty_reserve = self.empty_reserve, None
        try:
            table = self._tally("census", rule, values=False, reserve=reserve)
            self.full_reserve = reserve
            return table
        except InvalidInputError as raised:
            error = raised
        # A public budget is wrong. Threads find any such record; a pass in order raises an error about the first.
        self._tally_in_order(rule)
        raise error

    def sample(self, rule: Keeping, randomness: Randomness) -> Batch:
        """The records that the rule keeps, from the reserve if it suffices; every batch has its own coins."""

        def kept(coins: Randomness, batch: Batch) -> Batch:
            return batch.at(rule.keep(batch, coins.spawn()))

        # The caller's randomness is used once, however many batches there are.
        own_randomness = randomness.spawn()
        found = self._from_reserve(rule, own_randomness)
        if found is None:
            parts = list(self._watched("sample", lambda: partial(kept, own_randomness.spawn()), values=True))
            found = joined(parts, grouped=self.groups is not None)
        return found

    def _from_reserve(self, rule: Keeping, randomness: Randomness) -> Batch | None:
        """The records that the rule keeps, from the reserve; None if there is none, or it does not suffice."""
        reserve, self.full_reserve = self.full_reserve, None
        found = None if reserve is None else reserve.sample(rule, randomness)
        if self.watch and found is not None:
            self.watch.at("sample", self.rows or 0, self.rows)
            self.watch.done("sample")
        return found

    def sum(self, rule: Tallying) -> Counts:
        """The table of the sums over all records."""
        return self._tally("sum", rule, values=True)

    def _tally(self, name: str, rule: Tallying, *, values: bool, reserve: Reserve | None = None) -> Counts:
        """The table that a rule fills from all records; `name` is that of the pass."""
        tables: list[Counts] = []  # one per thread; those that no thread is using

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
        """Tally batch after batch, for the sake of the errors alone."""
        seen = 0
        for batch in self.batches(values=False):
            rule.tally(replace(batch, first=seen), np.zeros(rule.shape, dtype=np.int64))
            seen += batch.budgets.size

    def _watched(self, name: str, make: Callable[[], Work[Result]], *, values: bool) -> Iterator[Result]:
        """The result of the work on each batch, in order; reports progress under the name of the pass."""
        seen = 0
        for size, result in self.worked(make, values=values):
            yield result
            seen += size
            if self.watch:
                self.watch.at(name, seen, self.rows)
        if self.watch:
            self.watch.done(name)


class ChargedSource(BatchSource):
    """The records of another source, with the budgets that a ledger has reserved for them."""

    def __init__(self, records: BatchSource, budgets: Floats) -> None:
        self._records = records
        self._budgets = budgets
        self.groups = records.groups
        self.rows = budgets.size
        self.columns = records.columns

    def duplicate_person(self) -> bool:
        """Whether two records have the same id."""
        return self._records.duplicate_person()

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The ids of the records, and the budgets reserved for them."""
        start = 0
        for ids, _ in self._records.people():
            yield ids, self._budgets[start : start + len(ids)]
            start += len(ids)

    def group_entries(self) -> set[str]:
        """Those of the other source."""
        return self._records.group_entries()

    def prepare_sample(self, randomness: Randomness) -> None:
        """Let the other source prepare, and take over its reserve, since the census is taken here."""
        self._records.prepare_sample(randomness)
        self.empty_reserve, self._records.empty_reserve = self._records.empty_reserve, None

    def batches(self, *, values: bool = True) -> Iterator[Batch]:
        """The batches of the other source, with the reserved budgets. Raises if there are more or fewer records."""
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
    """Do both, and return the result of the second."""

    def both(batch: Batch) -> Result:
        first(batch)
        return second(batch)

    return both
