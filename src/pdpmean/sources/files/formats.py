"""Formats: the class that reads a file, by its suffix. A new format needs a module in this folder and a row here."""

from __future__ import annotations

import os

from pdpmean.errors import InvalidInputError
from pdpmean.sources.files.arrow import ArrowFile
from pdpmean.sources.files.delimited import DelimitedFile
from pdpmean.sources.files.parquet import ParquetFile
from pdpmean.sources.files.source import File
from pdpmean.sources.layout import Layout

__all__ = ["open_files"]

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


def open_files(paths: list[str], layout: Layout) -> list[File]:
    """The files at these paths, opened; all must have the same format."""
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
            f"{path} has an unknown format; save it as CSV or Parquet. Known formats are {', '.join(_FORMATS)}, and "
            f"CSV compressed as {', '.join(_COMPRESSIONS)}",
            name="values",
            value=path,
        )
    return kind
