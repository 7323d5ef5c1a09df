"""Tables in `estimate_mean` and `plan_mean`: the same answer from every kind of table, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pdpmean
from pdpmean.errors import InvalidInputError
from pdpmean.randomness import Randomness

RNG = np.random.default_rng(5)
VALUES = RNG.normal(38, 6, 9000).round(3)
BUDGETS = RNG.choice([0.25, 0.5, 1.0], 9000)
REGIONS = RNG.choice(["north", "south", "east"], 9000).tolist()
FRAME = pd.DataFrame({"hours": VALUES, "epsilon": BUDGETS, "region": REGIONS, "person": np.arange(9000)})
FRAME["tier"] = FRAME["epsilon"].map({0.25: "strict", 0.5: "usual", 1.0: "open"})
TIERS = {"strict": 0.25, "usual": 0.5, "open": 1.0}
NAMES: dict[str, Any] = {"value": "hours", "budget": "epsilon"}


def tables(folder: Path) -> dict[str, Any]:
    arrow = pa.Table.from_pandas(FRAME)
    pq.write_table(arrow, folder / "people.parquet")
    FRAME.to_csv(folder / "people.csv", index=False)
    FRAME.to_csv(folder / "people.tsv.gz", index=False, sep="\t")
    FRAME.to_feather(folder / "people.feather")
    paths = {path.name: path for path in folder.iterdir()}
    return {
        "Arrow": arrow,
        "pandas": FRAME,
        "polars": pl.from_pandas(FRAME),
        "DuckDB": duckdb.sql("select * from arrow"),
        **paths,
    }


def mean(*arguments: Any, **options: Any) -> Any:
    return pdpmean.estimate_mean(*arguments, randomness=Randomness.seeded(3), **options)


def refusal(*arguments: Any, **options: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        mean(*arguments, **options)
    return str(caught.value)


def test_the_same_answer_from_every_table(tmp_path: Path) -> None:
    expected = mean(VALUES, BUDGETS).mean
    assert expected == pytest.approx(38, abs=1)
    for name, table in tables(tmp_path).items():
        assert mean(table, **NAMES).mean == expected, name
        assert mean(table, value="hours", budget="tier", tiers=TIERS).mean == expected, name
        assert mean(table, **NAMES, person="person").mean == expected, name


def test_the_same_groups_from_every_table(tmp_path: Path) -> None:
    groups = ["south", "north"]
    expected = {group: one.mean for group, one in mean(VALUES, BUDGETS, by=REGIONS, groups=groups).items()}
    assert list(expected) == groups
    for name, table in tables(tmp_path).items():
        found = mean(table, **NAMES, by="region", groups=groups)
        assert {group: one.mean for group, one in found.items()} == expected, name


def test_the_same_answer_where_budgets_are_private(tmp_path: Path) -> None:
    unbounded: dict[str, Any] = {"model": "unbounded", "budget_range": (0.25, 1.0)}
    expected = mean(VALUES, BUDGETS, **unbounded).mean
    for name, table in tables(tmp_path).items():
        assert mean(table, **NAMES, **unbounded).mean == expected, name


def test_one_budget_for_all() -> None:
    assert mean(FRAME, 0.5, value="hours").mean == mean(VALUES, 0.5).mean


def test_a_plan_reads_budgets_alone(tmp_path: Path) -> None:
    expected = pdpmean.plan_mean(BUDGETS).expected_std
    pq.write_table(pa.table({"epsilon": BUDGETS, "hours": ["no number"] * 9000}), tmp_path / "people.parquet")
    assert pdpmean.plan_mean(tmp_path / "people.parquet", budget="epsilon").expected_std == pytest.approx(
        expected, rel=0.01
    )


def test_wrong_budgets_are_told_by_their_record(tmp_path: Path) -> None:
    wrong = FRAME.assign(epsilon=np.where(np.arange(9000) == 4321, -0.5, BUDGETS))
    wrong.to_csv(tmp_path / "people.csv", index=False)
    pq.write_table(pa.Table.from_pandas(wrong), tmp_path / "people.parquet", row_group_size=1000)
    with mock.patch("pdpmean.sources.files.parquet._PIECE", 1000):  # so that it is read as nine streams
        assert "record 4321 has -0.5" in refusal(tmp_path / "people.parquet", **NAMES)
    assert "column 'epsilon' must have budgets >= 0; record 4321 has -0.5" in refusal(wrong, **NAMES)
    assert "'epsilon' must have budgets >= 0; row 4322 below the header has" in refusal(
        tmp_path / "people.csv", **NAMES
    )


def test_nobody_may_have_two_records() -> None:
    twice = FRAME.assign(person=np.arange(9000) // 2)
    assert "more than one record" in refusal(twice, **NAMES, person="person")
    assert "bounded" in refusal(twice, **NAMES, person="person", model="unbounded", budget_range=(0.1, 1.0))


def test_wrong_names_and_options_are_refused_with_what_to_do() -> None:
    assert "value='...'" in refusal(FRAME, budget="epsilon")
    assert "one budget for everybody" in refusal(FRAME, value="hours")
    assert "one number for everybody" in refusal(FRAME, BUDGETS, value="hours")
    assert "one budget for everybody" in refusal(FRAME, 0.5, **NAMES)
    assert "by must be the name of a column" in refusal(FRAME, **NAMES, by=REGIONS, groups=["north"])
    for name in (0.5, b"epsilon"):
        assert refusal(FRAME, value="hours", budget=name) == (
            "budget must be the name of a column of the table; for one budget for everybody, pass budgets=0.5"
        )
    assert refusal(FRAME, value=0, budget="epsilon") == "value must be the name of a column of the table"
    assert "no column '0.25'; for one budget for everybody, pass budgets=0.5\n" in refusal(
        FRAME, value="hours", budget="0.25"
    )
    assert "no column 'hour'; did you mean 'hours'?" in refusal(FRAME, value="hour", budget="epsilon")
    assert refusal("nobody.csv", **NAMES) == "no file matches 'nobody.csv'"
    assert refusal({"hours": VALUES}, **NAMES).endswith("got dict")
    assert refusal(pl.from_pandas(FRAME).lazy(), **NAMES).endswith("got LazyFrame; collect() it first")
    assert refusal(FRAME, value="hours", budget="hours") == "value and budget name the same column, 'hours'"


def test_arrow_is_loaded_only_where_there_is_a_table() -> None:
    code = (
        "import sys, numpy as np, pdpmean\n"
        "pdpmean.estimate_mean(np.arange(5000.0), 1.0)\n"
        "assert 'pyarrow' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_a_table_in_the_place_of_values_is_told() -> None:
    with pytest.raises(InvalidInputError, match=r"^values is a table: name its columns, estimate_mean\(table, value="):
        pdpmean.estimate_mean(FRAME, BUDGETS)
