"""The mean of a Parquet file in less memory than its numbers need: it is written and read in pieces."""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pdpmean

TRUE_MEAN, STD = 52.0, 9.0
PIECE = 500_000  # rows that are written at a time


def main() -> None:
    """Write a file, forbid this process to take much memory, and estimate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=float, default=1e8, help="a row is 16 bytes of numbers")
    parser.add_argument("--memory", type=int, default=800, help="megabytes that this process may have")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (options.memory * 10**6,) * 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hours.parquet"
        write(path, int(options.rows))
        before, began = peak(), time.perf_counter()
        estimate = pdpmean.estimate_mean(path, value="hours", budget="epsilon")
        took = time.perf_counter() - began
    print(f"{options.rows:,.0f} rows, {16e-6 * options.rows:,.0f} MB as numbers; true mean {TRUE_MEAN:g}")
    print(f"{took:.1f} s, at most {peak():,.0f} MB of memory, {peak() - before:,.0f} MB more than before\n\n{estimate}")


def write(path: Path, rows: int) -> None:
    """A file of hours and budgets, one piece after the other."""
    rng = np.random.default_rng(2024)
    schema = pa.schema({"hours": pa.float64(), "epsilon": pa.float64()})
    with pq.ParquetWriter(path, schema) as file:
        for start in range(0, rows, PIECE):
            size = min(PIECE, rows - start)
            hours = rng.normal(TRUE_MEAN, STD, size).round(1)
            budgets = rng.choice([0.01, 0.1, 1.0], size=size)
            file.write_table(pa.table({"hours": hours, "epsilon": budgets}, schema=schema))


def peak() -> float:
    """The most memory this process has ever held, in megabytes.

    From Linux itself: there, what `getrusage` tells includes the process that started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        held = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(held.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


if __name__ == "__main__":
    main()
