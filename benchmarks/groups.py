"""Groups: the time of estimates for a thousand groups, over that of a single one. Medians of ratios within a run.

    python benchmarks/groups.py [--rows 1e7 1e8] [--groups 1000] [--repeats 3] [--write]

Both estimates read the same Parquet file of values, budgets and groups (integers), one after the other. What a group
costs whatever its size (its plan, its medians, its noise) is what remains when the file is small.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from timing import seconds

import pdpmean

RESULTS = Path(__file__).parent / "results" / "groups.md"
PART = 1_000_000


def write(path: Path, rows: int, groups: int) -> None:
    rng = np.random.default_rng(1)
    schema = pa.schema({"value": pa.float64(), "epsilon": pa.float64(), "region": pa.int32()})
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(rows // PART):
            region = rng.integers(0, groups, PART, dtype=np.int32)
            columns = [rng.normal(40.0, 6.0, PART), rng.uniform(0.01, 1.0, PART), region]
            writer.write_table(pa.table(columns, schema=schema))


def measure(path: Path, groups: int, repeats: int) -> tuple[float, float, float]:
    """The seconds of a single estimate and of one estimate per group, and their ratio."""

    def one() -> object:
        return pdpmean.estimate_mean(path, value="value", budget="epsilon")

    def many() -> object:
        return pdpmean.estimate_mean(path, value="value", budget="epsilon", by="region", groups=range(groups))

    one()
    many()
    times = [(seconds(one), seconds(many)) for _ in range(repeats)]
    single, grouped = (statistics.median(column) for column in zip(*times, strict=True))
    return single, grouped, statistics.median(b / a for a, b in times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="*", default=[1e7, 1e8])
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    options = parser.parse_args()
    warnings.simplefilter("ignore", pdpmean.PopulationWarning)
    lines = [f"| rows | one estimate, s | {options.groups} groups, s | ratio |", "|---|---|---|---|"]
    print("\n".join(lines))
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "people.parquet"
            write(path, int(rows), options.groups)
            single, grouped, ratio = measure(path, options.groups, options.repeats)
        lines.append(f"| {rows:.0e} | {single:.2f} | {grouped:.2f} | {ratio:.2f} |")
        print(lines[-1], flush=True)
    if options.write:
        rows = " ".join(f"{rows:.0e}" for rows in options.rows)
        RESULTS.write_text(f"Parquet; made by benchmarks/groups.py --rows {rows}.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
