"""Same results: compare seeded results of two commits bit by bit: ``python benchmarks/same_results.py BEFORE AFTER``.

Both models, both shapes, with groups and without, from every kind of source. For changes that are to preserve
behaviour; only public names are used, so that either commit may have any structure inside.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

PEOPLE = 150_000  # enough for the compiled loops, and for a sample
MODELS: dict[str, dict[str, Any]] = {"bounded": {}, "unbounded": {"model": "unbounded", "budget_range": (0.05, 2.0)}}
GROUPS: dict[str, dict[str, Any]] = {"": {}, "by region": {"by": "region", "groups": ["north", "south"]}}


def people(count: int) -> pa.Table:
    """Simulated people, the same in every run."""
    rng = np.random.default_rng(count)
    values = np.where(rng.random(count) < 0.02, np.nan, rng.normal(38, 6, count) + rng.exponential(2, count))
    budgets = rng.choice([0.1, 0.5, 1.0], count)
    return pa.table({"value": values, "budget": budgets, "region": rng.choice(["north", "south", "west"], count)})


def written(table: pa.Table, folder: Path) -> dict[str, Any]:
    """The same table in every format that can be read."""
    pq.write_table(table, folder / "people.parquet", row_group_size=40_000)
    pyarrow.csv.write_csv(table, folder / "people.csv")
    pyarrow.feather.write_feather(table, folder / "people.feather", chunksize=50_000)
    return {
        "Arrow": table,
        "pandas": table.to_pandas(),
        "polars": pl.from_arrow(table),
        "DuckDB": duckdb.sql('select * from "table"'),
        "Parquet": folder / "people.parquet",
        "CSV": folder / "people.csv",
        "Feather": folder / "people.feather",
    }


def spark_frame(table: pa.Table) -> Any:
    """The table as a Spark data frame."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    return session.createDataFrame(table)


def numbers(result: Any) -> Any:
    """The numbers of a result, without its texts."""
    if hasattr(result, "rows"):
        names = ("group", "mean", "low", "high", "std", "noise_std", "sampling_std", "scale")
        return [[row[name] for name in names] for row in result.rows()]
    content = result.to_dict()
    return {name: content[name] for name in content if name not in ("guarantee", "warnings")}


def cases(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Every estimate and plan to compare, by name."""
    import pdpmean

    def estimate(data: Any, **options: Any) -> Callable[[], Any]:
        seeded = pdpmean.Randomness.seeded(7)
        named: dict[str, Any] = {"value": "value", "budget": "budget"} if "budgets" not in options else {}
        return lambda: pdpmean.estimate_mean(data, **named, **options, randomness=seeded)

    for count in (3_000, PEOPLE):
        (folder / str(count)).mkdir()
        table = people(count)
        forms = written(table, folder / str(count)) | ({"Spark": spark_frame(table)} if count == PEOPLE else {})
        for shape in ("gaussian", "any"):
            for model, options in MODELS.items():
                for grouped, by in GROUPS.items():
                    for form, data in forms.items():
                        name = f"{count} {shape} {model} {form} {grouped}"
                        yield name, estimate(data, shape=shape, **options, **by)
                arrays = estimate(table["value"].to_numpy(), budgets=table["budget"].to_numpy(), shape=shape, **options)
                yield f"{count} {shape} {model} arrays", arrays


def run() -> None:
    """Print the numbers of every case, one line each."""
    from pdpmean import InsufficientBudgetError

    warnings.simplefilter("ignore")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        for name, estimate in cases(Path(folder)):
            try:
                found = numbers(estimate())
            except InsufficientBudgetError as refusal:
                found = ["refused", refusal.total, refusal.needed]
            print(name, json.dumps(found), sep="\t", flush=True)


def lines_of(commit: str) -> list[str]:
    """What `run` prints with the source of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "worktree", "add", "--detach", folder, commit], check=True, capture_output=True)
        try:
            script = [sys.executable, __file__, "--run"]
            found = subprocess.run(script, env=os.environ | {"PYTHONPATH": f"{folder}/src"}, check=True, stdout=-1)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder], check=True)
    return found.stdout.decode().splitlines()


def main() -> None:
    before, after = (lines_of(commit) for commit in sys.argv[1:3])
    different = [old.split("\t")[0] for old, new in zip(before, after, strict=True) if old != new]
    print(f"{len(before) - len(different)} of {len(before)} results are the same to the last bit")
    for name in different:
        print("different:", name)
    sys.exit(bool(different))


if __name__ == "__main__":
    run() if "--run" in sys.argv else main()
