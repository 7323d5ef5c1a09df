"""Opening: a path, a glob, a list of them or a table in memory, as a source of batches."""

from __future__ import annotations

import os
from typing import Any

from pdpmean.errors import InvalidInputError
from pdpmean.passes.source import BatchSource
from pdpmean.sources.files.formats import open_files
from pdpmean.sources.files.source import FileSource, find_paths
from pdpmean.sources.layout import Layout
from pdpmean.sources.tables import TableSource, is_table

__all__ = ["open_table"]


def open_table(data: Any, layout: Layout) -> BatchSource:
    """The source for a table, whose columns `layout` names."""
    if isinstance(data, (str, os.PathLike)):
        data = [data]
    if isinstance(data, (list, tuple)) and data and all(isinstance(path, (str, os.PathLike)) for path in data):
        return FileSource(open_files(find_paths(data), layout), layout)
    if is_table(data):
        return TableSource(data, layout)
    raise InvalidInputError(
        "a table must be a path, a glob or a list of them, an Arrow table, a frame of pandas, polars or Spark, or "
        f"anything that exports an Arrow stream; got {type(data).__name__}"
        f"{'; collect() it first' * hasattr(data, 'collect')}",
        name="values",
    )
