"""The same records in every kind of source that `read` opens but Spark, in parts as small as a test wants them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from source_builders import Builder, Rows, csv, csv_files, pandas_doubles, parquet

from pdpmean.core.options import Options
from pdpmean.passes.source import Source
from pdpmean.sources.read import read

_CONSTANTS = {
    "batch": ("arrays._BATCH", "tables._BATCH", "files.parquet._BATCH"),
    "piece": ("files.parquet._PIECE", "files.arrow._PIECE"),
    "block": ("files.delimited._BLOCK",),
    "mapped_above": ("files.arrow._LARGE",),
    "merged_up_to": ("files.source.SMALLEST_BATCH", "tables.SMALLEST_BATCH"),
    "many_streams": ("files.source._MANY",),
}


def cut(monkeypatch: pytest.MonkeyPatch, **sizes: int) -> None:
    """Sources read in parts of these sizes."""
    for name, size in sizes.items():
        for constant in _CONSTANTS[name]:
            monkeypatch.setattr(f"pdpmean.sources.{constant}", size)


def chunks_of(size: int) -> Builder:
    return lambda rows, _: pa.Table.from_batches(rows.table().to_batches(max_chunksize=size))


def polars_frame(rows: Rows, _: Path) -> Any:
    return pl.from_arrow(rows.table())


def duckdb_relation(rows: Rows, _: Path) -> Any:
    table = rows.table()  # noqa: F841 (named in the query)
    return duckdb.sql('select * from "table"')


def arrow_file(new: Callable[..., Any], size: int) -> Builder:
    def build(rows: Rows, folder: Path) -> Any:
        with new(str(folder / "people.arrow"), rows.table().schema) as writer:
            writer.write_table(rows.table(), max_chunksize=size)
        return folder / "people.arrow"

    return build


def files(part: int) -> dict[str, Builder]:
    """Files, in row groups and batches of so many records."""
    return {
        "Parquet": parquet(groups_of=part),
        "Parquet, files": parquet(groups_of=part, files=3),
        "CSV": csv(),
        "CSV, gzip": csv(".csv.gz"),
        "CSV, files": csv_files,
        "Arrow file": arrow_file(pa.ipc.new_file, part),
        "Arrow stream in a file": arrow_file(pa.ipc.new_stream, part),
    }


def tables(part: int) -> dict[str, Builder]:
    """Tables in memory, in chunks of so many records."""
    return {
        "arrays": lambda rows, _: rows,
        "Arrow": chunks_of(part),
        "Arrow reader": lambda rows, _: rows.table().to_reader(max_chunksize=part),
        "pandas": pandas_doubles,
        "polars": polars_frame,
        "DuckDB": duckdb_relation,
    }


TABLES, FILES = tuple(tables(1)), tuple(files(1))
KINDS = (*TABLES, *FILES)


def opener(
    kind: str, rows: Rows, folder: Path, *, part: int, groups: tuple[str, ...] | None = None
) -> Callable[[], Source]:
    """What opens these rows in a source of that kind, as an estimate does; files are written once."""
    if kind == "arrays":
        by = None if groups is None else rows.regions
        return lambda: read(rows.values, rows.budgets, Options(by=by, groups=groups))
    columns = Options(value="income", budget="epsilon", by=None if groups is None else "region", groups=groups)
    if kind in TABLES:
        return lambda: read(tables(part)[kind](rows, folder), None, columns)
    path = files(part)[kind](rows, folder)
    return lambda: read(path, None, columns)
