"""Boolean columns of every source have the bounds (0, 1) by their type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from pdpmean import InsufficientBudgetError, MeanEstimate, Randomness, estimate_mean

PEOPLE, BUDGET = 800, 0.5
RNG = np.random.default_rng(1)
TRUE = RNG.random(PEOPLE) < 0.37
ENTRIES = [None if gone else bool(true) for gone, true in zip(RNG.random(PEOPLE) < 0.1, TRUE, strict=True)]
TABLE = pa.table({"member": pa.array(ENTRIES, pa.bool_()), "epsilon": [BUDGET] * PEOPLE})

COLUMNS: dict[str, Any] = {
    "numpy": TRUE,
    "numpy, masked": np.ma.array(TRUE, mask=[entry is None for entry in ENTRIES]),
    "pandas bool": pd.Series(TRUE),
    "pandas boolean": pd.Series(ENTRIES, dtype="boolean"),
    "pandas boolean, complete": pd.Series(TRUE, dtype="boolean"),
    "pandas bool[pyarrow]": pd.Series(ENTRIES, dtype="bool[pyarrow]"),
    "polars": pl.Series(ENTRIES),
    "arrow": pa.array(ENTRIES),
    "arrow, chunked": pa.chunked_array([ENTRIES[:300], ENTRIES[300:]]),
}
# Their entries are private, and whether all of them are yes or no is, too.
UNTYPED: dict[str, Any] = {
    "a list": ENTRIES,
    "numpy objects": np.array(ENTRIES, dtype=object),
    "pandas objects": pd.Series(ENTRIES, dtype=object),
}


def written(write: Callable[[pa.Table, Path], None], name: str) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        write(TABLE, folder / name)
        return str(folder / name)

    return make


TABLES: dict[str, Callable[[Path], Any]] = {
    "arrow": lambda _: TABLE,
    "pandas boolean": lambda _: TABLE.to_pandas().astype({"member": "boolean"}),
    "pandas bool[pyarrow]": lambda _: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda _: pl.DataFrame(TABLE),
    "duckdb": lambda _: duckdb.from_arrow(TABLE),
    "parquet": written(lambda table, path: pq.write_table(table, path), "people.parquet"),
    "feather": written(lambda table, path: pyarrow.feather.write_feather(table, path), "people.feather"),
}


def estimated(*data: Any, **options: Any) -> MeanEstimate:
    found = estimate_mean(*data, **options, randomness=Randomness.seeded(7))
    assert isinstance(found, MeanEstimate)
    return found


def same(found: MeanEstimate, column: Any) -> bool:
    """Whether it is what the column's numbers and bounds of (0, 1) give."""
    numbers = np.array([np.nan if entry is None else float(entry) for entry in column])
    expected = estimated(numbers, BUDGET, bounds=(0, 1))
    return (found.mean, found.interval(), found.missing) == (expected.mean, expected.interval(), expected.missing)


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_this_type_has_its_bounds(name: str) -> None:
    found = estimated(COLUMNS[name], BUDGET)
    assert found.plan.bounds == (0.0, 1.0)
    assert same(
        found, ENTRIES if COLUMNS[name] is not TRUE and "complete" not in name and name != "pandas bool" else TRUE
    )
    assert "as a percentage" in str(found)
    assert "count as" not in str(found)
    assert found.question.in_words == "Share of True"


@pytest.mark.parametrize("name", TABLES)
def test_a_boolean_column_of_a_table_has_bounds_of_its_own(name: str, tmp_path: Path) -> None:
    found = estimated(TABLES[name](tmp_path), value="member", budget="epsilon")
    assert found.plan.bounds == (0.0, 1.0)
    assert same(found, ENTRIES)
    assert found.question.in_words == "Share of member = True"


@pytest.mark.parametrize("name", UNTYPED)
def test_without_a_type_entries_decide_nothing(name: str) -> None:
    """They are yes and no all the same, once the bounds are known."""
    with pytest.raises(InsufficientBudgetError, match="a total budget of 200"):
        estimated(UNTYPED[name], BUDGET / 2)
    assert same(estimated(UNTYPED[name], BUDGET, bounds=(0, 1)), ENTRIES)
    frame = pd.DataFrame({"member": pd.Series(list(UNTYPED[name]), dtype=object), "epsilon": BUDGET})
    with pytest.raises(InsufficientBudgetError, match="a total budget of 200"):
        estimated(frame.assign(epsilon=BUDGET / 2), value="member", budget="epsilon")
    assert same(estimated(frame, value="member", budget="epsilon", bounds=(0, 1)), ENTRIES)


def test_csv_has_no_type_but_its_entries_are_yes_and_no(tmp_path: Path) -> None:
    TABLE.to_pandas().to_csv(tmp_path / "people.csv", index=False)
    columns: dict[str, Any] = {"value": "member", "budget": "epsilon"}
    assert same(estimated(tmp_path / "people.csv", **columns, bounds=(0, 1)), ENTRIES)
    with pytest.raises(InsufficientBudgetError, match="is not enough for an answer"):
        estimated(tmp_path / "people.csv", **columns, share=0.5)


def test_files_must_all_have_the_type(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "a.parquet")
    pq.write_table(TABLE.set_column(0, "member", TABLE["member"].cast(pa.int64())), tmp_path / "b.parquet")
    found = estimated(str(tmp_path / "*.parquet"), value="member", budget="epsilon")
    assert not found.plan.bounds.are_given


def test_bounds_and_shapes_that_are_given_are_kept() -> None:
    twice = np.tile(TRUE, 3)
    assert estimated(twice, 1.0, bounds=(0, None)).plan.bounds.ends == [0.0, None]
    assert estimated(TRUE, BUDGET, bounds=(-1, 3)).plan.bounds.ends == [-1.0, 3.0]
    assert estimated(TRUE, BUDGET, equals=True).plan.bounds.ends == [0.0, 1.0]


def test_rows_of_a_person_are_merged_between_the_same_bounds() -> None:
    frame = TABLE.append_column("id", pa.array([number // 2 for number in range(PEOPLE)]))
    found = estimated(frame, value="member", budget="epsilon", person="id", rows="mean")
    assert found.plan.bounds == (0.0, 1.0)


def test_nobody_is_warned_of_bounds_that_a_type_has() -> None:
    found = estimated(np.ones(PEOPLE, dtype=bool), BUDGET)
    assert found.warnings == ()


def test_the_unbounded_model() -> None:
    found = estimated(COLUMNS["pandas boolean"], BUDGET, model="unbounded", budget_range=(0.5, 1.0))
    assert found.plan.bounds == (0.0, 1.0)
