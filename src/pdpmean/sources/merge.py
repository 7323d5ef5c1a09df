"""Merge: one record per person, made of all their rows, in bounded memory.

A person's record depends only on their own rows. It depends neither on the order of the rows nor on other people, so
that replacing a person's rows replaces one record. If rows do not fit into memory, they are divided into parts by a
hash of the id, so that all rows of a person are in the same part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdpmean.core.checks import BudgetColumn
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch
from pdpmean.passes.source import BatchSource
from pdpmean.sources.people import hashes_of
from pdpmean.sources.spill import Spill

__all__ = ["MergedSource"]

_ROWS = pa.schema([("id", pa.large_string()), ("value", pa.float64()), ("budget", pa.float64()), ("group", pa.int32())])
_HELD = 2**20  # rows that are held in memory
_BATCH = 2**18  # records per batch, about
_PARTS_BITS = 8  # bits of a hash by which rows are divided at a time
_DEEPEST = 64 // _PARTS_BITS  # how often rows can be divided before the hash is used up


class IdentifiedSource(Protocol):
    """A source whose rows come with the ids of the people that they belong to."""

    groups: int | None
    columns: Mapping[str, str]
    is_boolean: bool
    budget_column: BudgetColumn | None

    def identified(self) -> Iterator[tuple[pa.Array, Batch]]:
        """The ids as text, null where a row names nobody, and the rows that they belong to."""


class MergedSource(BatchSource):
    """One record per person: the mean of their rows that are numbers, at the smallest budget of all their rows.

    A person is in the first listed group in which they have a row, and only their rows in that group are averaged.
    """

    def __init__(self, source: IdentifiedSource, *, public: bool) -> None:
        self.groups = source.groups
        self.columns = source.columns
        self.is_boolean = source.is_boolean
        self.budget_column = source.budget_column
        self._spill = Spill(_ROWS)
        self.rows = 0
        wrong = 0
        for records in _in_batches(_merged(_rows(source))):
            self._spill.add(0, records)
            self.rows += records.num_rows
            wrong += int(np.count_nonzero(~(records["budget"].to_numpy() >= 0)))
        if wrong and public:
            raise InvalidInputError(
                f"budgets must be >= 0; {wrong:,} people have a row whose budget is negative or missing. Use 0 to "
                "leave a person out",
                name="budgets",
            )

    def batches(self, *, values: bool = True) -> Iterator[Batch]:  # noqa: ARG002 (leaving them out saves nothing)
        """The merged records."""
        for records in self._spill.read(0):
            groups = None if self.groups is None else records["group"].to_numpy()
            yield Batch(records["value"].to_numpy(), records["budget"].to_numpy(), groups)

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The ids of the records, None for one whose group was not asked for, and their budgets."""
        for records in self._spill.read(0):
            ids = records["id"]
            if self.groups is not None:
                ids = pc.if_else(pc.less(records["group"], self.groups), ids, None)
            yield ids.to_pylist(), records["budget"].to_numpy()

    def duplicate_person(self) -> bool:
        """False: there is one record per id."""
        return False


def _rows(source: IdentifiedSource) -> Iterator[pa.RecordBatch]:
    """The rows of the source that name somebody."""
    for ids, batch in source.identified():
        size = len(ids)
        values = batch.values if batch.values.size == size else np.full(size, np.nan)
        groups = np.zeros(size, np.int32) if batch.groups is None else batch.groups
        records = pa.RecordBatch.from_arrays(
            [ids, pa.array(values), pa.array(batch.budgets), pa.array(groups)], schema=_ROWS
        )
        yield records.filter(ids.is_valid()) if ids.null_count else records


def _merged(rows: Iterator[pa.RecordBatch], depth: int = 0) -> Iterator[pa.RecordBatch]:
    """One record per person; `depth` says how often the rows have been divided already."""
    held: list[pa.RecordBatch] = []
    count = 0
    for part in rows:
        held.append(part)
        count += part.num_rows
        if count > _HELD and depth < _DEEPEST:
            yield from _merged_by_parts(chain(held, rows), depth)
            return
    if count:
        yield _one_per_person(pa.Table.from_batches(held).combine_chunks().to_batches()[0])


def _merged_by_parts(rows: Iterator[pa.RecordBatch], depth: int) -> Iterator[pa.RecordBatch]:
    """One record per person, where the rows are too many: they are divided into parts on disk, and these merged."""
    spill = Spill(_ROWS)
    for records in rows:
        for part, part_rows in _parted(records, depth):
            spill.add(part, part_rows)
    for part in spill.keys:
        yield from _merged(spill.read(part), depth + 1)


def _parted(records: pa.RecordBatch, depth: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows divided into parts by the next bits of the hash of their ids, beginning with the highest."""
    shift = np.uint64(64 - _PARTS_BITS * (depth + 1))
    parts = ((hashes_of(records["id"]) >> shift) & np.uint64(2**_PARTS_BITS - 1)).astype(np.uint16)
    ordered = records.take(pa.array(np.argsort(parts, kind="stable")))
    ends = np.cumsum(np.bincount(parts, minlength=2**_PARTS_BITS)).tolist()
    for part, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
        if end > start:
            yield part, ordered.slice(start, end - start)


def _one_per_person(rows: pa.RecordBatch) -> pa.RecordBatch:
    """The record of each person, in the order of their ids."""
    ids, people = _numbered(rows["id"])
    # Sorted by person, group and value, with missing values last, so that sums do not depend on the order of the rows.
    order = np.lexsort((rows["value"].to_numpy(), rows["group"].to_numpy(), people))
    people, values, groups = (column[order] for column in (people, rows["value"].to_numpy(), rows["group"].to_numpy()))
    first = np.cumsum(np.bincount(people)) - np.bincount(people)
    own_group = groups[first]
    counted = (groups == own_group[people]) & ~np.isnan(values)
    # Bincount adds one value after the other, as Spark does; reduceat would add in pairs, and round differently.
    sums = np.bincount(people[counted], weights=values[counted], minlength=len(ids))
    counts = np.bincount(people[counted], minlength=len(ids))
    budgets = np.minimum.reduceat(rows["budget"].to_numpy()[order], first)
    return pa.RecordBatch.from_arrays(
        [ids, pa.array(sums / counts), pa.array(budgets), pa.array(own_group)], schema=_ROWS
    )


def _numbered(ids: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """The distinct ids, sorted, and the position of each row's id among them."""
    encoded = ids.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    places = np.empty(len(order), np.int64)
    places[order.to_numpy()] = np.arange(len(order))
    return encoded.dictionary.take(order), places[encoded.indices.to_numpy()]


def _in_batches(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same records in batches of about equal size."""
    held: list[pa.RecordBatch] = []
    for part in parts:
        held.append(part)
        if sum(map(len, held)) >= _BATCH:
            yield from pa.Table.from_batches(held).combine_chunks().to_batches(max_chunksize=_BATCH)
            held = []
    if held:
        yield from pa.Table.from_batches(held).combine_chunks().to_batches(max_chunksize=_BATCH)
