"""Files: the time of an estimate from a file, over that of a weighted mean by DuckDB. Medians of ratios within a run.

    python benchmarks/files.py [--rows 2e7 1e8] [--repeats 5] [--write]

`SELECT sum(value * epsilon) / sum(epsilon)` and `estimate_mean` take turns on the same file, which the system keeps in
memory. Peak memory is that of the whole process after an estimate and before DuckDB is used; each file has a process of
its own.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from timing import seconds

import pdpmean

Result = TypeVar("Result")
RESULTS = Path(__file__).parent / "results" / "files.md"
PART = 1_000_000


def parts(rows: int) -> list[pa.Table]:
    rng = np.random.default_rng(1)
    sizes = [PART] * (rows // PART)
    return [pa.table({"value": rng.normal(40, 6, n), "epsilon": rng.uniform(0.01, 1, n)}) for n in sizes]


def write_parquet(tables: list[pa.Table], path: str) -> None:
    with pq.ParquetWriter(path, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)


def write_one_group(tables: list[pa.Table], path: str) -> None:
    with pq.ParquetWriter(path, tables[0].schema) as writer:
        writer.write_table(pa.concat_tables(tables), row_group_size=2**26)  # the largest row group that Arrow writes


def write_csv(tables: list[pa.Table], path: str) -> None:
    with pyarrow.csv.CSVWriter(path, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)


FORMATS: dict[str, tuple[str, Callable[[list[pa.Table], str], None]]] = {
    "Parquet, row groups of 1e6": ("people.parquet", write_parquet),
    "Parquet, of 6.7e7": ("large.parquet", write_one_group),
    "CSV": ("people.csv", write_csv),
}


def measure(path: str, repeats: int) -> tuple[float, float, float, float]:
    """The seconds of DuckDB and of `estimate_mean`, their ratio, and the memory in megabytes."""
    engine = duckdb.connect()
    engine.execute("set enable_progress_bar = false")

    def estimate() -> object:
        return pdpmean.estimate_mean(path, value="value", budget="epsilon")

    def query() -> object:
        return engine.execute(f"select sum(value * epsilon) / sum(epsilon) from '{path}'").fetchall()

    for _ in range(2):
        estimate()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    query()
    times = [(seconds(query), seconds(estimate)) for _ in range(repeats)]
    plain, private = (statistics.median(column) for column in zip(*times, strict=True))
    return plain, private, statistics.median(ours / theirs for theirs, ours in times), peak


def make(name: str, rows: int, path: str) -> None:
    FORMATS[name][1](parts(rows), path)


def apart(work: Callable[..., Result], *arguments: object) -> Result:
    """The result of `work`, run in a process of its own, so that its memory can be measured."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def measured(name: str, rows: int, repeats: int) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / FORMATS[name][0])
        apart(make, name, rows, path)
        plain, private, ratio, peak = apart(measure, path, repeats)
    return f"{plain:.2f} | {private:.2f} | {ratio:.2f} | {peak:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="*", default=[2e7, 1e8])
    parser.add_argument("--formats", nargs="*", default=list(FORMATS), choices=FORMATS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    options = parser.parse_args()
    lines = ["| file | rows | DuckDB, s | estimate, s | ratio | memory, MB |", "|---|---|---|---|---|---|"]
    print("\n".join(lines))
    for name in options.formats:
        for rows in options.rows:
            lines.append(f"| {name} | {rows:.0e} | " + measured(name, int(rows), options.repeats) + " |")
            print(lines[-1], flush=True)
    if options.write:
        RESULTS.write_text("Files in the system's memory; made by benchmarks/files.py.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
