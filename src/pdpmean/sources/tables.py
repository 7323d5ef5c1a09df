"""Tables in memory: Arrow, pandas, and whatever gives an Arrow stream, such as polars and DuckDB."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from pdpmean.core.threads import SMALLEST_BATCH, in_threads
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch
from pdpmean.passes.source import BatchSource
from pdpmean.sources.categories import Category
from pdpmean.sources.labels import text_or_missing
from pdpmean.sources.layout import Layout
from pdpmean.sources.people import check_ids, has_repeated
from pdpmean.sources.private_columns import private_numbers

__all__ = ["TableSource", "is_table"]

_BATCH = 2**20
_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of a character, which a text of Python can hold


class TableSource(BatchSource):
    """A table in memory; a stream is read into memory, only the columns that are needed."""

    def __init__(self, data: Any, layout: Layout) -> None:
        table = _as_table(data, layout)
        layout.check_types(table.schema)
        if table.num_columns and table.column(0).num_chunks > 1 + table.num_rows // SMALLEST_BATCH:
            with suppress(pa.ArrowException):  # some dictionaries do not fit into one; that depends on entries
                table = table.combine_chunks()
        self._table, self._layout = table, layout
        self.groups = None if layout.groups is None else len(layout.groups)
        self.rows = table.num_rows
        self.columns = layout.types(table.schema)
        self.budget_column = layout.budget_column()
        self.is_yes_or_no = layout.is_yes_or_no(table.schema)

    def batches(self, *, values: bool = True) -> Iterator[Batch]:
        """Slices of the columns; doubles are not copied."""
        convert = partial(self._layout.batch, values=values)
        return in_threads(convert, self._table.to_batches(max_chunksize=_BATCH))

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The id of each record, and its budget."""
        return in_threads(self._layout.people, self._table.to_batches(max_chunksize=_BATCH))

    def identified(self) -> Iterator[tuple[pa.Array, Batch]]:
        """Ids as text, null for nobody's, and the records that they belong to."""
        return in_threads(self._layout.identified, self._table.to_batches(max_chunksize=_BATCH))

    def duplicate_person(self) -> bool:
        """Whether two records have the same id."""
        name = self._layout.person
        assert name is not None
        column = self._table.column(name)
        check_ids({column.type}, name)
        return has_repeated(lambda: iter(column.chunks), name)


def is_table(data: Any) -> bool:
    """Whether this can be read as a table."""
    return _is_pandas(data) or isinstance(data, pa.RecordBatch) or hasattr(data, "__arrow_c_stream__")


def _is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _as_table(data: Any, layout: Layout) -> pa.Table:
    names = list(dict.fromkeys(layout.roles.values()))
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        layout.check_names(data.column_names)
        return data.select(names)
    if _is_pandas(data):
        layout.check_names(list(data.columns))
        numeric = set(layout.numeric.values())
        wanted = {} if layout.equals is None else {layout.value: Category(layout.equals)}
        return pa.table({name: _from_pandas(data[name], wanted.get(name), numeric=name in numeric) for name in names})
    return _streamed(data, layout, names)


def _streamed(data: Any, layout: Layout, names: Sequence[str]) -> pa.Table:
    """A stream in memory. Errors of its engine may quote entries, so they are not passed on."""
    try:
        present = list(getattr(data, "columns", ()))
        if present:
            layout.check_names(present)
            data = _selected(data, names)
        reader = pa.RecordBatchReader.from_stream(data)
        layout.check_names(reader.schema.names)
        schema = pa.schema([reader.schema.field(name) for name in names])
        return pa.Table.from_batches([batch.select(names) for batch in reader], schema)
    except InvalidInputError:
        raise
    except Exception:
        problem = f"the {type(data).__name__} failed while it was being read; run it by itself to see why"
    raise InvalidInputError(problem, name="values")


def _selected(data: Any, names: Sequence[str]) -> Any:
    """The same with these columns only, where there is a way to say so that takes names for names."""
    if type(data).__module__.startswith("polars"):
        for name in names:
            if str(data.schema[name]) == "Object":  # of which a stream has addresses, and not entries
                raise InvalidInputError(f"column {name!r} has type Object; cast it to another type", name="values")
        return data[names]
    if type(data).__name__ == "DuckDBPyRelation":
        return data.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
    return data


def _from_pandas(column: Any, category: Category | None, *, numeric: bool) -> pa.Array:
    """A column, converted by its type alone: where that allows anything, every entry is read by itself."""
    held = getattr(column.dtype, "categories", column)
    if numeric and isinstance(column.dtype, np.dtype) and held.dtype.kind in "biuf":
        return pa.array(column.to_numpy())  # without a copy
    kind = None if held.dtype == np.dtype(object) else _arrow_type(held)
    if numeric and kind is not None and _is_text(kind):
        return pa.nulls(len(column), kind)  # to be refused for its type, and not for what an entry is
    if kind is not None:
        with suppress(pa.ArrowException, TypeError, ValueError):  # text that is none, or a category of such text
            return pa.array(column, from_pandas=True)
    if numeric:
        return pa.array(private_numbers(column, str(column.name)))
    entries = np.asarray(column)
    return pa.array(category.texts(entries) if category else map(_text, entries), pa.large_string())


def _arrow_type(held: Any) -> pa.DataType | None:
    """Arrow's type for these entries, found without one; None if it lacks such a type, as for a sparse column."""
    try:
        return pa.array(held[:0], from_pandas=True).type
    except (pa.ArrowException, TypeError, ValueError):
        return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _text(entry: Any) -> str | None:
    """The text of an entry; none of one that is missing, nor of what no text of Arrow can hold."""
    text = text_or_missing(entry)
    return None if text is None or _SURROGATES.search(text) else text
