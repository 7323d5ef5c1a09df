"""Any table that is not one of an engine of its own: a path, a glob, a list of them, or a table in memory."""

from __future__ import annotations

import os
from typing import Any

from pdpmean.errors import InvalidInputError
from pdpmean.passes.source import BatchSource
from pdpmean.sources.files.arrow import ArrowFile
from pdpmean.sources.files.delimited import DelimitedFile
from pdpmean.sources.files.parquet import ParquetFile
from pdpmean.sources.files.source import File, FileSource, find_paths
from pdpmean.sources.layout import Layout
from pdpmean.sources.tables import TableSource, is_table

__all__ = ["open_table"]

_FORMATS: dict[str, type[File]] = {
    ".parquet": ParquetFile,
    ".pq": ParquetFile,
    ".csv": DelimitedFile,
    ".tsv": DelimitedFile,
    ".arrow": ArrowFile,
    ".feather": ArrowFile,
    ".ipc": ArrowFile,
}
_COMPRESSIONS = (".gz", ".bz2", ".zst")


def open_table(data: Any, layout: Layout) -> BatchSource:
    """The records of a table, as `layout` says where they are."""
    if isinstance(data, (str, os.PathLike)):
        data = [data]
    if isinstance(data, (list, tuple)) and data and all(isinstance(path, (str, os.PathLike)) for path in data):
        return FileSource(_open_files(find_paths(data), layout), layout)
    if is_table(data):
        return TableSource(data, layout)
    raise InvalidInputError(
        "a table must be a path, a glob or a list of them, an Arrow table, a frame of pandas, polars or Spark, or "
        f"whatever gives an Arrow stream; got {type(data).__name__}{'; collect() it first' * hasattr(data, 'collect')}",
        name="values",
    )


def _open_files(paths: list[str], layout: Layout) -> list[File]:
    formats = {path: _format_of(path) for path in paths}
    if len(set(formats.values())) > 1:
        names = ", ".join(sorted({kind.format for kind in formats.values()}))
        raise InvalidInputError(f"files must be of one format; got {names}", name="values", value=paths)
    return [kind(path, layout) for path, kind in formats.items()]


def _format_of(path: str) -> type[File]:
    plain = path.lower()
    for compression in _COMPRESSIONS:
        plain = plain.removesuffix(compression)
    kind = _FORMATS.get(os.path.splitext(plain)[1])
    if kind is None or (plain != path.lower() and kind is not DelimitedFile):
        raise InvalidInputError(
            f"{path} is of no known format; known are {', '.join(_FORMATS)}, and CSV compressed as "
            f"{', '.join(_COMPRESSIONS)}",
            name="values",
            value=path,
        )
    return kind
