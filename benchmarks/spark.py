"""Spark: the time of an estimate on Spark, over that of Spark's own average. Medians of ratios within a run.

    python benchmarks/spark.py [--rows 2e7] [--repeats 5] [--write]

A Parquet file of two columns of doubles is made first. Spark runs on this machine, on all its cores; the three tasks
take turns, after one turn that is not counted, in which Spark compiles.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark.sql.functions as sql
from pyspark.sql import DataFrame, SparkSession
from timing import seconds

import pdpmean

RESULTS = Path(__file__).parent / "results" / "spark.md"
HEAD = """\
| rows | avg of both columns, ns per row | bounded | unbounded | bounded, ratio | unbounded, ratio |
|---|---|---|---|---|---|"""


def start() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.host", "localhost")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def make(path: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({"value": rng.normal(10.0, 2.0, rows), "budget": rng.uniform(0.01, 1.0, rows)})
    pq.write_table(table, path, row_group_size=2**20)


def measure(frame: DataFrame, rows: int, repeats: int) -> str:
    def estimate(**options: Any) -> object:
        return pdpmean.estimate_mean(frame, value="value", budget="budget", **options)

    tasks: list[Callable[[], object]] = [
        lambda: frame.agg(sql.avg("value"), sql.avg("budget")).collect(),
        estimate,
        lambda: estimate(model="unbounded", budget_range=(0.01, 1.0)),
    ]
    times = np.array([[seconds(task) for task in tasks] for _ in range(repeats + 1)])[1:]
    per_row = np.median(times, axis=0) / rows * 1e9
    ratios = np.median(times[:, 1:] / times[:, :1], axis=0)
    return "| " + " | ".join([f"{rows:.0e}", *(f"{value:.1f}" for value in [*per_row, *ratios])]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="*", default=[2e7])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    options = parser.parse_args()
    session, lines = start(), [HEAD]
    print(HEAD)
    for rows in map(int, options.rows):
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder) / "people.parquet", rows)
            lines.append(measure(session.read.parquet(f"{folder}/people.parquet"), rows, options.repeats))
        print(lines[-1], flush=True)
    if options.write:
        cores = os.cpu_count()
        RESULTS.write_text(
            f"Spark on {cores} cores, Parquet; made by benchmarks/spark.py.\n\n" + "\n".join(lines) + "\n"
        )


if __name__ == "__main__":
    main()
