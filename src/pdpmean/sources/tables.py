"""Tables in memory: Arrow, pandas, and anything that exports an Arrow stream, such as polars and DuckDB.

Columns are converted by their type alone. Where a type allows any entry, each is read by itself, so that no private
entry decides on a type or an error.
"""

from __future__ import annotations

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
from pdpmean.sources.arrow_columns import is_text
from pdpmean.sources.categories import Category
from pdpmean.sources.labels import has_half_characters, text_or_missing
from pdpmean.sources.layout import Layout
from pdpmean.sources.people import check_ids, has_repeated
from pdpmean.sources.private_columns import private_numbers

__all__ = ["TableSource", "is_table"]

_BATCH = 2**20  # records


class TableSource(BatchSource):
    """The records of a table in memory. Of a stream, only the columns that are needed are read into memory."""

    def __init__(self, data: Any, layout: Layout) -> None:
        table = _as_table(data, layout)
        layout.check_types(table.schema)
        if table.num_columns and table.column(0).num_chunks > 1 + table.num_rows // SMALLEST_BATCH:
            # Many small chunks would be slow. Dictionaries that do not fit into one are left: it depends on entries.
            with suppress(pa.ArrowException):
                table = table.combine_chunks()
        self._table = table
        self._layout = layout
        self.groups = None if layout.groups is None else len(layout.groups)
        self.rows = table.num_rows
        self.columns = layout.types(table.schema)
        self.budget_column = layout.budget_column(is_text=_holds_objects(data, layout.budget))
        self.is_boolean = layout.is_boolean(table.schema)

    def batches(self, *, values: bool = True) -> Iterator[Batch]:
        """Slices of the columns; doubles are not copied."""
        convert = partial(self._layout.batch, values=values)
        return in_threads(convert, self._table.to_batches(max_chunksize=_BATCH))

    def group_entries(self) -> set[str]:
        """The distinct entries in the column of groups, of the first records."""
        assert self._layout.by is not None
        column = self._table.select([self._layout.by])
        return self._layout.group_entries(part.column(0) for part in column.to_batches(max_chunksize=_BATCH))

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The ids of the records, and their budgets."""
        return in_threads(self._layout.people, self._table.to_batches(max_chunksize=_BATCH))

    def identified(self) -> Iterator[tuple[pa.Array, Batch]]:
        """The ids as text, null where a record names nobody, and the records that they belong to."""
        return in_threads(self._layout.identified, self._table.to_batches(max_chunksize=_BATCH))

    def duplicate_person(self) -> bool:
        """Whether two records have the same id."""
        name = self._layout.person
        assert name is not None
        column = self._table.column(name)
        check_ids({column.type}, name)
        return has_repeated(lambda: iter(column.chunks), name)


def is_table(data: Any) -> bool:
    """Whether `TableSource` can read this."""
    return _is_pandas(data) or isinstance(data, pa.RecordBatch) or hasattr(data, "__arrow_c_stream__")


def _is_pandas(data: Any) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _holds_objects(data: Any, name: str | float) -> bool:
    """Whether this is a pandas column of objects, any of which may be text."""
    return _is_pandas(data) and isinstance(name, str) and data[name].dtype == np.dtype(object)


def _as_table(data: Any, layout: Layout) -> pa.Table:
    """The columns that the layout names, as an Arrow table."""
    names = list(dict.fromkeys(layout.roles.values()))
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        layout.check_names(data.column_names)
        return data.select(names)
    if _is_pandas(data):
        layout.check_names(list(data.columns))
        numeric = set(layout.numeric.values())
        categories = {} if layout.equals is None else {layout.value: Category(layout.equals)}
        return pa.table(
            {name: _from_pandas(data[name], categories.get(name), numeric=name in numeric) for name in names}
        )
    return _streamed(data, layout, names)


def _streamed(data: Any, layout: Layout, names: Sequence[str]) -> pa.Table:
    """The table behind a stream. Errors of its engine may quote entries, so they are not passed on."""
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
    """The same data with these columns only, if its engine can select columns by their exact names."""
    if type(data).__module__.startswith("polars"):
        for name in names:
            if str(data.schema[name]) == "Object":  # the stream would hold addresses instead of entries
                raise InvalidInputError(f"column {name!r} has type Object; cast it to another type", name="values")
        return data[names]
    if type(data).__name__ == "DuckDBPyRelation":
        return data.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
    return data


def _from_pandas(column: Any, category: Category | None, *, numeric: bool) -> pa.Array:
    """A pandas column as an Arrow array, converted by its type; if that allows any entry, each is read by itself."""
    typed = getattr(column.dtype, "categories", column)
    if numeric and isinstance(column.dtype, np.dtype) and typed.dtype.kind in "biuf":
        return pa.array(column.to_numpy())  # without a copy
    kind = None if typed.dtype == np.dtype(object) else _arrow_type(typed)
    if numeric and kind is not None and is_text(kind):
        return pa.nulls(len(column), kind)  # will be refused because of its type, whatever its entries are
    if kind is not None:
        # Fails for text that is not valid Unicode, also as a category; such entries are read one by one below.
        with suppress(pa.ArrowException, TypeError, ValueError):
            return pa.array(column, from_pandas=True)
    if numeric:
        return pa.array(private_numbers(column, str(column.name)))
    entries = np.asarray(column)
    text = kind if kind is not None and is_text(kind) else pa.large_string()  # the type shows in the fingerprint
    return pa.array(category.texts(entries) if category else map(_text, entries), text)


def _arrow_type(typed: Any) -> pa.DataType | None:
    """Arrow's type for such a column, found without looking at an entry; None if there is none, as for sparse ones."""
    try:
        return pa.array(typed[:0], from_pandas=True).type
    except (pa.ArrowException, TypeError, ValueError):
        return None


def _text(entry: Any) -> str | None:
    """The text of an entry; None if it is missing, or if Arrow cannot hold it."""
    text = text_or_missing(entry)
    return None if text is None or has_half_characters(text) else text
