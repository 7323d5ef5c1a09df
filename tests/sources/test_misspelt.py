"""Misspelt groups: an error with a suggestion, before anything is drawn, where groups are public; and nowhere else."""

from __future__ import annotations

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

from pdpmean import InvalidInputError, Randomness, estimate_mean, plan_mean

PEOPLE = 3000
SEX = np.where(np.arange(PEOPLE) % 3 > 0, "female", "male")
HOURS = np.random.default_rng(1).normal(38, 6, PEOPLE)
FRAME = pd.DataFrame({"hours": HOURS, "epsilon": 1.0, "sex": SEX, "person": np.arange(PEOPLE)})
NAMES: dict[str, Any] = {"value": "hours", "budget": "epsilon", "by": "sex"}
MISSPELT = r"no record has 'femal' in column 'sex'; did you mean 'female'\?"


def csv(folder: Path) -> str:
    FRAME.to_csv(folder / "people.csv", index=False)
    return str(folder / "people.csv")


def parquet(folder: Path) -> str:
    pq.write_table(pa.Table.from_pandas(FRAME), folder / "people.parquet")
    return str(folder / "people.parquet")


TABLES: dict[str, Callable[[Path], Any]] = {
    "csv": csv,
    "parquet": parquet,
    "pandas": lambda _: FRAME,
    "pandas, categories": lambda _: FRAME.astype({"sex": "category"}),
    "polars": lambda _: pl.DataFrame(FRAME),
    "arrow": lambda _: pa.Table.from_pandas(FRAME),
}
COLUMNS: dict[str, Any] = {
    "numpy": SEX,
    "a list": SEX.tolist(),
    "pandas": pd.Series(SEX),
    "polars": pl.Series(SEX),
    "arrow": pa.array(SEX),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_suggestion_from_a_table(name: str, tmp_path: Path) -> None:
    table = TABLES[name](tmp_path)
    with (
        mock.patch.object(Randomness, "add_laplace", side_effect=AssertionError),
        pytest.raises(InvalidInputError, match=MISSPELT),
    ):
        estimate_mean(table, **NAMES, groups=["male", "femal"])
    with pytest.raises(InvalidInputError, match=MISSPELT):
        plan_mean(table, budget="epsilon", by="sex", groups=["male", "femal"])


@pytest.mark.parametrize("name", COLUMNS)
def test_a_suggestion_from_a_column(name: str) -> None:
    with pytest.raises(InvalidInputError, match="no record has 'Female ' in by; did you mean 'female'"):
        estimate_mean(HOURS, 1.0, by=COLUMNS[name], groups=["male", "Female "])


@pytest.mark.parametrize(
    ("groups", "options"),
    [
        (["male", "female", "femal"], {}),  # what it is like is listed itself
        (["male", "other"], {}),
        (["male", "femal"], {"model": "unbounded", "budget_range": (0.1, 1.0)}),
        (["male", "femal"], {"person": "person", "rows": "mean"}),
    ],
)
def test_otherwise_the_group_is_refused(groups: list[str], options: dict[str, Any]) -> None:
    found = estimate_mean(FRAME, **NAMES, groups=groups, **options, randomness=Randomness.seeded(1))
    assert list(found.refused) == groups[-1:]
    assert found.refused[groups[-1]].endswith("Is the name of the group spelled as in the data? Case matters")


def test_names_with_other_numbers_are_other_names() -> None:
    regions = np.where(SEX == "male", "region 1", "region 2")
    found = estimate_mean(HOURS, 1.0, by=regions, groups=["region 1", "region 3"], randomness=Randomness.seeded(1))
    assert list(found.refused) == ["region 3"]


def test_people_who_grant_nothing_are_records() -> None:
    found = estimate_mean(HOURS, np.where(SEX == "male", 0.0, 1.0), by=SEX, groups=["male", "female"])
    assert list(found.refused) == ["male"]


def test_a_column_that_can_be_read_only_once() -> None:
    found = estimate_mean(HOURS, 1.0, by=iter(SEX.tolist()), groups=["male", "femal"], randomness=Randomness.seeded(1))
    assert list(found.refused) == ["femal"]


@pytest.mark.parametrize(
    ("group", "other"),
    [("Region C", "Region B"), ("Ward AB", "Ward A"), ("Team Ed", "Team Reds"), ("200", "2000"), ("man", "men")],
)
def test_names_that_differ_by_design_are_no_slips(group: str, other: str) -> None:
    named = np.where(SEX == "male", other, "others")
    means = estimate_mean(HOURS, 1.0, by=named, groups=["others", group], randomness=Randomness.seeded(1))
    assert list(means.refused) == [group]


@pytest.mark.parametrize("group", ["North ", "north", "Nrth", "Norht", "Noorth"])
def test_slips_of_the_pen(group: str) -> None:
    named = np.where(SEX == "male", "North", "others")
    with pytest.raises(InvalidInputError, match="did you mean 'North'"):
        estimate_mean(HOURS, 1.0, by=named, groups=["others", group])


def test_categories_that_nobody_has_are_not_suggested() -> None:
    categories = ["south", "others", "North"]
    named = pd.Series(pd.Categorical(np.where(SEX == "male", "south", "others"), categories=categories))
    means = estimate_mean(HOURS, 1.0, by=named, groups=["others", "north"], randomness=Randomness.seeded(1))
    assert list(means.refused) == ["north"]
