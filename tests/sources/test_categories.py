"""Entries compared with the one that counts as 1: of every source and type, whatever entries are and do."""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rude import RUDE, boxed, rude_column, rude_entry
from source_builders import BUILDERS, Rows

from pdpmean import InvalidInputError, Randomness, estimate_mean
from pdpmean.core.options import check_options
from pdpmean.core.types import Floats
from pdpmean.sources.arrow_columns import equal_to, listed
from pdpmean.sources.categories import Category
from pdpmean.sources.layout import Layout
from pdpmean.sources.opening import open_table

ROWS = Rows.drawn(500)


def counted(values: Floats) -> tuple[int, int, int]:
    """How many are 1, 0 and missing, and nothing else."""
    found = int((values == 1).sum()), int((values == 0).sum()), int(np.isnan(values).sum())
    assert sum(found) == values.size
    return found


def read_by(name: str, folder: Path, *, value: str, equals: str) -> Floats:
    layout = Layout(value, "epsilon", equals=equals, public=False)
    source = open_table(BUILDERS[name](ROWS, folder), layout)
    return np.concatenate([batch.values for batch in source.batches()])


@pytest.mark.parametrize("name", BUILDERS)
def test_text_of_every_source(name: str, tmp_path: Path) -> None:
    found = counted(read_by(name, tmp_path, value="region", equals="north"))
    yes, missing = ROWS.regions.count("north"), ROWS.regions.count(None)
    no = len(ROWS.regions) - yes - missing
    expected = (yes, no + missing, 0) if name == "CSV, by hand" else (yes, no, missing)  # which has a mark for them
    assert found == expected


@pytest.mark.parametrize("name", BUILDERS)
def test_numbers_of_every_source(name: str, tmp_path: Path) -> None:
    """Also where a file writes them as 7.0, or a frame holds them as objects, of which one in five may be text."""
    found = counted(read_by(name, tmp_path, value="income", equals="7"))
    yes, missing = int((ROWS.values == 7).sum()), int(np.isnan(ROWS.values).sum())
    assert yes > 0
    assert found[0] == yes
    if name != "pandas, objects":
        assert found[2] == missing


@pytest.mark.parametrize(
    ("column", "label"),
    [
        (pa.array(["a", "b", None]), "a"),
        (pa.array(["a", "b", None], pa.string_view()), "a"),
        (pa.array(["a", "b", None], pa.dictionary(pa.int8(), pa.string())), "a"),
        (pa.array([b"a", b"b", None]), "a"),
        (pa.array([1, 2, None], pa.int8()), "1"),
        (pa.array([1, 2, math.nan], pa.float16()), "1"),
        (pa.array([-0.0, 2, math.nan]), "0"),
        (pa.DictionaryArray.from_arrays([0, 1, 2], pa.array([0.5, 2, math.nan])), "0.5"),
        (pa.DictionaryArray.from_arrays([0, 1, 2], pa.array(["a", "b", None])), "a"),
        (pa.array([0.1, 2, None], pa.float32()), "0.1"),
        (pa.array([True, False, None]), "true"),
        (pa.array([True, False, None]), "True"),
        (pa.array([Decimal("1.50"), Decimal(2), None], pa.decimal128(5, 2)), "1.5"),
        (pa.array([date(2024, 1, 2), date(2024, 1, 3), None]), "2024-01-02"),
    ],
    ids=lambda argument: str(argument.type) if isinstance(argument, pa.Array) else argument,
)
def test_entries_of_every_arrow_type_are_compared_in_that_type(column: pa.Array, label: str) -> None:
    entry = listed((label,), column.type, "equals", "answer")[0]
    assert np.array_equal(equal_to(column, entry), [1, 0, math.nan], equal_nan=True)
    assert np.array_equal(equal_to(column[1:], entry), [0, math.nan], equal_nan=True)
    assert equal_to(column[:0], entry).size == 0


def test_a_column_of_nothing_is_missing() -> None:
    assert np.isnan(equal_to(pa.nulls(3), listed(("a",), pa.null(), "equals", "answer")[0])).all()


@pytest.mark.parametrize(
    "column",
    [
        ["1", "x", None],
        [1, 0, None],
        [1.0, 0.0, math.nan],
        [Decimal(1), "1.0", pd.NA],
        [np.int8(1), b"1", pd.NaT],
        [True, False, Decimal("nan")],
        np.array([1.0, 2.0, math.nan]),
        np.array([1.0, 2.0, math.nan], dtype=">f4"),
        np.array([1.0, 2.0, math.nan], dtype=np.longdouble),
        np.ma.masked_equal([1, 2, 3], 3),
        np.ma.masked_array(boxed(["1", 2, "1"]), [False, False, True]),
        boxed(["1", [1], None]),
        pd.Series([1, 2, None], dtype="Int64"),
        pd.Series(["1", "2", None], dtype="string"),
        pd.Series(["1", "2", None], dtype="category"),
        pd.Series([1, "2", None], dtype=object),
        pl.Series(["1", "2", None]),
        pl.Series([1, 2, None]),
        pa.chunked_array([["1"], ["2", None]]),
    ],
    ids=lambda column: f"{type(column).__module__} {getattr(column, 'dtype', '')}",
)
def test_columns_in_memory_are_compared_by_their_type(column: Any) -> None:
    assert np.array_equal(Category("1").values(column), [1, 0, math.nan], equal_nan=True)


def test_an_array_of_text_has_no_missing_entries() -> None:
    assert Category("a").values(np.array(["a", "", "\ud800"])).tolist() == [1, 0, 0]


@pytest.mark.parametrize("name", RUDE)
def test_an_entry_never_raises_and_tells_nothing_but_itself(name: str) -> None:
    column = ["north", rude_entry(name), None]
    found = Category("north").values(column)
    assert np.array_equal(found[[0, 2]], [1, math.nan], equal_nan=True)
    assert np.isnan(found[1]) or found[1] in (0, 1)
    in_frame = pd.DataFrame({"answer": pd.Series(boxed(column), dtype=object), "epsilon": 1.0})
    source = open_table(in_frame, Layout("answer", "epsilon", equals="north"))
    assert np.array_equal(next(source.batches()).values, found, equal_nan=True)


def test_rude_numbers_are_compared_by_their_type() -> None:
    numbers = [rude_entry(name) for name in ("float", "int", "Decimal", "float64")]
    assert [Category(label).values(numbers).tolist() for label in ("2.5", "-3")] == [[1, 0, 0, 0], [0, 1, 0, 0]]


def test_an_entry_does_not_decide_how_a_csv_is_compared(tmp_path: Path) -> None:
    """Each is the same beside numbers as beside words."""
    entries = ["1", "1.0", " 1", "01", "yes", "", "NA", "n/a", "1.5", "one"]
    expected = [1, 1, 1, 1, 0, math.nan, math.nan, math.nan, 0, 0]
    for neighbours in (["0", "2"], ["x", "y"], []):
        file = tmp_path / "answers.csv"
        file.write_text("answer,epsilon\n" + "".join(f"{entry},1\n" for entry in [*entries, *neighbours]))
        found = next(open_table(file, Layout("answer", "epsilon", equals="1")).batches()).values
        assert np.array_equal(found[: len(entries)], expected, equal_nan=True)


def test_what_is_asked_for_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "countries.csv").write_text("country;epsilon\nNA;1\nDE;1\n;1\n1,50;1\n")
    found = [
        next(open_table(tmp_path / "countries.csv", Layout("country", "epsilon", equals=label)).batches()).values
        for label in ("NA", "1.5")
    ]
    assert np.array_equal(found, [[1, 0, math.nan, 0], [math.nan, 0, math.nan, 1]], equal_nan=True)


def test_types_are_refused_and_lists_are_not() -> None:
    for column in (np.arange(3), np.array([True, False, True])):
        with pytest.raises(InvalidInputError, match=r"equals must be entries that .* can have; got 'yes'"):
            Category("yes").values(column)
    for column in (np.array(["2024-01-01"], "M8[D]"), np.array([b"yes"])):
        with pytest.raises(InvalidInputError, match="goes with a column of numbers or text"):
            Category("yes").values(column)
    with pytest.raises(InvalidInputError, match="one column"):
        Category("1").values(np.ones((2, 2)))
    assert Category("yes").values([1, 2]).tolist() == [0, 0]
    assert Category("yes").values(pd.Series([1, 2], dtype="Int64")).tolist() == [0, 0]


def test_a_column_of_another_type_is_named() -> None:
    table = pa.table({"age": [1, 2], "epsilon": [1.0, 1.0]})
    with pytest.raises(InvalidInputError, match=r"'age', of type int64, can have; got 'yes'") as caught:
        estimate_mean(table, value="age", budget="epsilon", equals="yes")
    assert caught.value.name == "equals"


@pytest.mark.parametrize("equals", ["", " ", [1], b"yes", object()])
def test_an_entry_that_is_none_is_refused(equals: Any) -> None:
    with pytest.raises(InvalidInputError, match="equals must be an entry of the column"):
        estimate_mean(["yes"], 1.0, equals=equals)


def test_bounds_are_those_of_yes_and_no() -> None:
    answers, budgets = ["yes", "no", None, "yes"] * 250, np.full(1000, 0.5)
    with pytest.raises(InvalidInputError, match=r"equals makes every value 1 or 0"):
        estimate_mean(answers, budgets, equals="yes", bounds=(0, 2))
    found = [
        estimate_mean(answers, budgets, equals="yes", bounds=bounds, randomness=Randomness.seeded(1))
        for bounds in (None, (0.0, 1.0))
    ]
    assert found[0] == found[1]
    assert found[0].plan.bounds == (0.0, 1.0)
    assert found[0].mean == pytest.approx(2 / 3, abs=0.06)
    assert "as a percentage" in str(found[0])


@pytest.mark.parametrize(("given", "label"), [(1, "1"), (1.0, "1"), (np.float32(2), "2"), (True, "True"), (0.5, "0.5")])
def test_numbers_may_be_asked_for(given: Any, label: str) -> None:
    assert check_options(equals=given).equals == label


def test_rude_columns_have_an_answer() -> None:
    found = estimate_mean(rude_column(600), 1.0, equals="north", randomness=Randomness.seeded(1))
    assert 0 <= found.mean <= 1
