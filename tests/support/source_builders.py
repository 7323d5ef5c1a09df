"""The same records in every table and file the library reads; a new engine adds its builder to `BUILDERS`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

from pdpmean.core.types import Floats
from pdpmean.passes.source import BatchSource
from pdpmean.sources.arrays import ArraySource
from pdpmean.sources.layout import Layout
from pdpmean.sources.opening import open_table

GROUPS = ("north", "south", "west")
NAMES = np.array([*GROUPS, "east"])
LAYOUT = Layout("income", "epsilon", by="region", groups=GROUPS, public=False)


@dataclass(frozen=True)
class Rows:
    """Whole values, some missing; budgets of few bits, some missing; a region each, some not asked for or missing."""

    values: Floats
    budgets: Floats
    regions: list[str | None]
    ids: list[int]

    @classmethod
    def drawn(cls, count: int, seed: int = 1) -> Rows:
        rng = np.random.default_rng(seed)
        values = np.where(rng.random(count) < 0.1, np.nan, rng.integers(-99, 99, count).astype(float))
        budgets = np.where(rng.random(count) < 0.1, np.nan, rng.choice([0.0, 0.25, 0.5, 1.5, 8.0], count))
        regions = [None if rng.random() < 0.1 else str(NAMES[rng.integers(4)]) for _ in range(count)]
        return cls(values, budgets, regions, rng.permutation(count).tolist())

    def shuffled(self, seed: int) -> Rows:
        order = np.random.default_rng(seed).permutation(self.values.size)
        regions, ids = [self.regions[i] for i in order], [self.ids[i] for i in order]
        return Rows(self.values[order], self.budgets[order], regions, ids)

    def array_source(self) -> ArraySource:
        codes = [GROUPS.index(region) if region in GROUPS else len(GROUPS) for region in self.regions]
        return ArraySource(self.values, self.budgets, np.array(codes, dtype=np.int32), len(GROUPS))

    def table(
        self, value: pa.DataType | None = None, budget: pa.DataType | None = None, region: pa.DataType | None = None
    ) -> pa.Table:
        """An Arrow table with a column that nobody asked for; missing numbers are nulls in it."""
        return pa.table(
            {
                "note": pa.array([f"secret, {number}" for number in self.ids]),
                "income": _typed(self.values, value or pa.float64()),
                "epsilon": _typed(self.budgets, budget or pa.float64()),
                "region": pa.array(self.regions, pa.string()).cast(region or pa.string()),
                "person": pa.array(self.ids, pa.int64()),
            }
        )


def _typed(numbers: Floats, kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return _typed(numbers, kind.value_type).dictionary_encode()
    if pa.types.is_decimal(kind):
        return pa.array([None if np.isnan(number) else Decimal(number) for number in numbers], kind)
    return pa.array(numbers, mask=np.isnan(numbers)).cast(kind)


def parts(table: pa.Table, count: int = 5) -> Iterator[pa.Table]:
    """The table in a few tables, one of them empty."""
    ends = [0, *np.linspace(0, table.num_rows, count).astype(int).tolist()]
    return (table.slice(start, end - start) for start, end in itertools.pairwise(ends))


def arrow(**types: pa.DataType) -> Builder:
    return lambda rows, _: rows.table(**types)


def chunked(rows: Rows, _: Path) -> Any:
    return pa.concat_tables(parts(rows.table(), 40))


def record_batch(rows: Rows, _: Path) -> Any:
    return rows.table().to_batches()[0] if rows.values.size else rows.table()


def reader(rows: Rows, _: Path) -> Any:
    return rows.table().to_reader(max_chunksize=7)


def pandas_doubles(rows: Rows, _: Path) -> Any:
    return rows.table().to_pandas()


def pandas_objects(rows: Rows, _: Path) -> Any:
    """Columns of anything: numbers of several types, with None for some missing ones and text for others."""
    frame = rows.table().to_pandas().astype(object)
    for name in ("income", "epsilon"):
        odd: list[Any] = [None, "no number", pd.NA, np.nan, object()]
        kinds: list[Callable[[float], Any]] = [float, Decimal, np.float32, np.float64]
        frame[name] = [
            odd[i % 5] if pd.isna(number) else kinds[i % 4](number) for i, number in enumerate(frame[name].tolist())
        ]
    return frame


def pandas_nullable(rows: Rows, _: Path) -> Any:
    frame = rows.table(value=pa.int64()).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame.astype({"epsilon": "Float32", "region": "category"})


def polars_frame(rows: Rows, _: Path) -> Any:
    frame = pl.from_arrow(rows.table(value=pa.int16()))
    assert isinstance(frame, pl.DataFrame)
    return frame.with_columns(pl.lit(1).cast(pl.Int128).alias("wide"))  # a type that Arrow lacks


def polars_categories(rows: Rows, _: Path) -> Any:
    frame = pl.from_arrow(rows.table())
    assert isinstance(frame, pl.DataFrame)
    return frame.with_columns(pl.col("region").cast(pl.Categorical), pl.col("epsilon").cast(pl.Decimal(9, 2)))


def duckdb_relation(rows: Rows, _: Path) -> Any:
    table = rows.table()  # noqa: F841 (named in the query)
    return duckdb.sql('select *, 1 as "income+epsilon" from "table"')


def parquet(*, groups_of: int, files: int = 1, **types: pa.DataType) -> Builder:
    def build(rows: Rows, folder: Path) -> Any:
        tables = list(parts(rows.table(**types), files)) if files > 1 else [rows.table(**types)]
        for number, table in enumerate(tables):
            pq.write_table(table, folder / f"{number}.parquet", row_group_size=groups_of)
        return folder / "*.parquet" if files > 1 else folder / "0.parquet"

    return build


def csv(suffix: str = ".csv", delimiter: str = ",", **write: Any) -> Builder:
    def build(rows: Rows, folder: Path) -> Any:
        options = pyarrow.csv.WriteOptions(delimiter=delimiter, **write)
        with pa.output_stream(folder / f"people{suffix}", compression="detect") as file:
            pyarrow.csv.write_csv(rows.table(), file, options)
        return str(folder / f"people{suffix}")

    return build


def csv_by_hand(rows: Rows, folder: Path) -> Any:
    """As people write it: a byte-order mark, Windows line ends, blanks, words for missing entries, decimal commas."""
    table = rows.table().drop_columns(["note"]).to_pandas()
    table["region"] = table["region"].fillna('"')
    text = table.to_csv(sep=";", index=False, decimal=",", na_rep=" n/a ", lineterminator="\r\n", encoding="utf-8")
    (folder / "people.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    return folder / "people.csv"


def csv_files(rows: Rows, folder: Path) -> Any:
    return [csv(f"-{number}.csv")(part, folder) for number, part in enumerate(_split(rows))]


def _split(rows: Rows) -> Iterator[Rows]:
    middle = rows.values.size // 3
    for where in (slice(0, middle), slice(middle, None), slice(0, 0)):
        yield Rows(rows.values[where], rows.budgets[where], rows.regions[where], rows.ids[where])


def arrow_file(*, batches_of: int | None = None, compression: str | None = None) -> Builder:
    def build(rows: Rows, folder: Path) -> Any:
        table = rows.table(region=pa.dictionary(pa.int32(), pa.string()))
        options = pa.ipc.IpcWriteOptions(compression=compression, unify_dictionaries=True)
        with pa.ipc.new_file(str(folder / "people.arrow"), table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=batches_of)
        return folder

    return build


def arrow_stream(rows: Rows, folder: Path) -> Any:
    with pa.ipc.new_stream(str(folder / "people.arrow"), rows.table().schema) as writer:
        writer.write_table(rows.table(), max_chunksize=11)
    return folder / "people.arrow"


def feather(rows: Rows, folder: Path) -> Any:
    pyarrow.feather.write_feather(rows.table(), folder / "people.feather", chunksize=9)
    return folder / "people.feather"


Builder = Callable[[Rows, Path], Any]

BUILDERS: dict[str, Builder] = {
    "Arrow": arrow(),
    "Arrow, float32": arrow(value=pa.float32(), budget=pa.float32(), region=pa.large_string()),
    "Arrow, float16 and views": arrow(value=pa.float16(), budget=pa.float16(), region=pa.string_view()),
    "Arrow, int8 and decimals": arrow(value=pa.int8(), budget=pa.decimal128(7, 3)),
    "Arrow, long decimals": arrow(value=pa.decimal256(70, 5), budget=pa.decimal128(38, 9)),
    "Arrow, dictionaries": arrow(
        value=pa.dictionary(pa.int32(), pa.int16()),
        budget=pa.dictionary(pa.int32(), pa.float64()),
        region=pa.dictionary(pa.int32(), pa.string()),
    ),
    "Arrow, chunks": chunked,
    "Arrow record batch": record_batch,
    "Arrow reader": reader,
    "pandas": pandas_doubles,
    "pandas, objects": pandas_objects,
    "pandas, nullable": pandas_nullable,
    "polars": polars_frame,
    "polars, categories": polars_categories,
    "DuckDB": duckdb_relation,
    "Parquet": parquet(groups_of=1000),
    "Parquet, row groups": parquet(groups_of=7, value=pa.float32(), region=pa.large_string()),
    "Parquet, files": parquet(groups_of=7, files=4, value=pa.int32(), budget=pa.decimal128(9, 2)),
    "CSV": csv(),
    "CSV, quoted": csv(quoting_style="all_valid"),
    "CSV, gzip": csv(".csv.gz"),
    "CSV, bzip2": csv(".csv.bz2"),
    "CSV, zstd": csv(".csv.zst"),
    "CSV, files": csv_files,
    "CSV, by hand": csv_by_hand,
    "TSV": csv(".tsv", "\t"),
    "Arrow file": arrow_file(),
    "Arrow file, batches": arrow_file(batches_of=3),
    "Arrow file, compressed": arrow_file(batches_of=10, compression="zstd"),
    "Arrow stream in a file": arrow_stream,
    "Feather": feather,
}


def build(name: str, rows: Rows, folder: Path) -> BatchSource:
    """The source of that name over these rows."""
    return open_table(BUILDERS[name](rows, folder), LAYOUT)
