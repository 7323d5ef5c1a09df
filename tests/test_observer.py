"""Whoever sees everything but the data sees released numbers alone.

The same numbers are released of data sets that have nothing in common. Results, pickles, warnings, progress, and what a
command prints, writes and ends with are then the same to the last byte, wherever the records come from.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from observer import GROUPS, MEDIANS, SCRIPT, SIGNALLING, TABLES, UNBOUNDED, Table, seen
from rude import boxed, rude_column
from scripted import Scripted
from typer.testing import CliRunner

from pdpmean import GroupedEstimate, Randomness
from pdpmean.cli import app
from pdpmean.release import private_median


def csv(columns: Table, folder: Path) -> Path:
    path = folder / "people.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def parquet(columns: Table, folder: Path) -> Path:
    pq.write_table(pa.table(columns), folder / "people.parquet", row_group_size=2**16)
    return folder / "people.parquet"


TO: dict[str, Callable[[Table, Path], Any]] = {
    "Arrow": lambda columns, _: pa.table(columns),
    "pandas": lambda columns, _: pd.DataFrame(columns),
    "polars": lambda columns, _: pl.DataFrame(columns),
    "CSV": csv,
    "Parquet": parquet,
}


@pytest.mark.parametrize("kind", TO)
def test_unbounded_groups_of_tables(kind: str, tmp_path: Path) -> None:
    found = []
    for name, columns in TABLES.items():
        (tmp_path / name).mkdir()
        data = TO[kind](columns, tmp_path / name)
        found.append(seen(data, value="income", budget="epsilon", by="region", groups=GROUPS, **UNBOUNDED))
    assert all(one == found[0] for one in found)


def test_unbounded_groups_of_objects() -> None:
    """A pandas column that may hold anything, and does."""
    found = []
    for entries in ([], ["x", None, 7], rude_column(60)):
        columns = {name: pd.Series(boxed(entries), dtype=object) for name in ("income", "epsilon", "region")}
        frame = pd.DataFrame(columns)
        found.append(seen(frame, value="income", budget="epsilon", by="region", groups=GROUPS, **UNBOUNDED))
    assert all(one == found[0] for one in found)


def test_unbounded_groups_of_columns() -> None:
    found = []
    for name, columns in TABLES.items():
        for convert in (np.asarray, list, pd.Series) if name == "strange" else (np.asarray,):
            values, budgets, regions = (convert(column) for column in columns.values())
            found.append(seen(values, budgets, by=regions, groups=GROUPS, **UNBOUNDED))
    rude = rude_column(60)
    found.append(seen(rude, rude[::-1], by=rude[30:] + rude[:30], groups=GROUPS, **UNBOUNDED))
    assert all(one == found[0] for one in found)
    result = pickle.loads(found[0][0])
    assert isinstance(result, GroupedEstimate)
    assert list(result.refused) == ["south"]


def test_another_number_is_another_sight() -> None:
    values, budgets, regions = TABLES["some"].values()
    first, other = (
        seen(values, budgets, by=regions, groups=GROUPS, script=script, **UNBOUNDED)
        for script in (SCRIPT, [*SCRIPT[:-3], 131.0, *SCRIPT[-2:]])
    )
    assert [one == two for one, two in zip(first, other, strict=True)][:3] == [False, False, False]


@pytest.mark.parametrize("shape", ["gaussian", "any"])
def test_bounded_values(shape: str) -> None:
    """Budgets and groups are public: what is released are two or three numbers a group, after where it lies."""
    budgets, regions = np.full(600, 32.0), np.array(["north", "south"] * 300)
    columns: list[Any] = [
        np.random.default_rng(1).normal(size=600),
        np.full(600, SIGNALLING),
        np.array([math.inf, -math.inf, 5e-324] * 200),
        [None, "x", 10**400, [1], {}, object()] * 100,
        pd.Series([1, "x", None] * 200, dtype=object),
        np.ma.masked_equal(np.arange(600), 7),
        rude_column(600),
        pd.Series(boxed(rude_column(600)), dtype=object),
    ]
    options: dict[str, Any] = {
        "by": regions,
        "groups": GROUPS,
        "shape": shape,
        "script": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0][: 4 if shape == "any" else 6],
    }
    options["medians"] = [[3.5, 4.5]] if shape == "any" else [[3.5, 4.5], [0.7, 0.9]]
    found = [seen(values, budgets, **options) for values in columns]
    assert all(one == found[0] for one in found)


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        "estimate people.csv --value income --budget epsilon --by region --groups north,south --model unbounded "
        "--budget-min 1 --budget-max 64 --report page.html"
    )
    found = []
    for name, columns in TABLES.items():
        (tmp_path / name).mkdir()
        csv(columns, tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        with (
            mock.patch.object(Randomness, "secure", return_value=Scripted(SCRIPT, private=True)),
            mock.patch.object(private_median, "private_medians", side_effect=MEDIANS),
        ):
            ended = CliRunner().invoke(app, words.split(), prog_name="pdpmean")
        files = sorted(path.name for path in Path().iterdir())
        found.append([ended.exit_code, ended.stdout, ended.stderr, Path("page.html").read_bytes(), files])
    assert all(one == found[0] for one in found)
    assert found[0][0] == 0
    assert "refused: 1 of 2 groups" in str(found[0][2])
    assert found[0][4] == ["page.html", "people.csv"]
