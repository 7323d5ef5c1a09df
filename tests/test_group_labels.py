"""The list of groups to report, and the group that each entry belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rude import RUDE, boxed, rude_entry
from unreadable import DAYS

from pdpmean import InvalidInputError
from pdpmean.core.groups import MOST_GROUPS, check_groups
from pdpmean.sources import labels
from pdpmean.sources.labels import codes_of


class Odd:
    """An entry that can be neither compared nor hashed."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


def test_no_groups_are_none() -> None:
    assert check_groups(None, None) is None


def test_groups_keep_their_order() -> None:
    assert check_groups("region", ["south", "north", 3]) == ("south", "north", 3)
    assert check_groups("region", range(3)) == (0, 1, 2)


@pytest.mark.parametrize(
    ("by", "groups", "message"),
    [
        ("region", None, "groups=.*the public list of groups"),
        (None, ["a"], "by, the column of groups, is missing"),
        ("region", "north", "groups must be a list of groups; got 'north'"),
        ("region", 3, "groups must be a list"),
        ("region", [], "between 1 and 10,000 groups; got 0"),
        ("region", range(MOST_GROUPS + 1), "got 10,001"),
        ("region", ["a", "b", "a"], "must be distinct"),
        ("region", [1, "1"], "must be distinct, also when written as text"),
        ("region", [1, 1.0], "must be distinct"),
        ("region", [True, 1], "must be distinct"),
        ("region", ["a", ["b"]], "groups must be numbers, text or the like"),
    ],
)
def test_wrong_lists_of_groups_are_refused(by: Any, groups: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check_groups(by, groups)


@pytest.mark.parametrize(
    "column",
    [
        ["b", "a", "c", None, "b"],
        np.array(["b", "a", "c", "", "b"]),
        np.array(["b", "a", "c", None, "b"], dtype=object),
        ("b", "a", Odd(), ["a"], "b"),
    ],
)
def test_codes_are_positions_in_the_list_of_groups(column: Any) -> None:
    codes = codes_of(column, ["a", "b"])
    assert codes.tolist() == [1, 0, 2, 2, 1]
    assert codes.dtype == np.int32


TEXT = ["b", "a", "c", None, "b"]
TYPED = {
    "pandas text": pd.Series(TEXT, dtype="str"),
    "pandas category": pd.Series(TEXT, dtype="category"),
    "polars text": pl.Series(TEXT),
    "polars category": pl.Series(TEXT, dtype=pl.Categorical),
    "arrow": pa.array(TEXT),
    "arrow view": pa.array(TEXT, pa.string_view()),
    "arrow dictionary": pa.array(TEXT).dictionary_encode(),
    "arrow in chunks": pa.chunked_array([TEXT[:2], [], TEXT[2:]]),
}


@pytest.mark.parametrize("kind", TYPED)
def test_columns_of_text_are_not_looked_up_one_by_one(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "text_of", None)
    monkeypatch.setattr(labels, "_PART", 2)
    assert codes_of(TYPED[kind], ["a", "b"]).tolist() == [1, 0, 2, 2, 1]
    assert codes_of(TYPED[kind][:0], ["a", "b"]).size == 0


@pytest.mark.parametrize("last", [25, 10])
def test_a_missing_entry_does_not_change_the_names_of_intervals(last: int) -> None:
    """If 25 were cut into none, the list of entries would hold intervals of doubles."""
    intervals = pd.cut(pd.Series([5, 15, last]), [0, 10, 20])
    assert codes_of(intervals, ["(10, 20]", "(0, 10]"])[:2].tolist() == [1, 0]


def test_columns_of_objects_are_looked_up_one_by_one() -> None:
    assert codes_of(pl.Series([b"a", ["b"], "b"], dtype=pl.Object), ["b", "a"]).tolist() == [2, 2, 0]
    days = [date(2026, 11, 19), date(2026, 11, 20)]
    assert codes_of(pa.array(days), ["2026-11-20", "2026-11-19"]).tolist() == [1, 0]


@pytest.mark.parametrize("kind", DAYS)
def test_an_entry_that_is_no_python_object_is_of_no_group(kind: str) -> None:
    """It raises nothing, and others stay where they are."""
    names = {"pandas seconds": " 00:00:00", "polars seconds": " 00:00:00"}
    first, second = (day + names.get(kind, "") for day in ("1970-01-01", "1970-01-02"))
    assert codes_of(DAYS[kind], [second, first]).tolist() == [2, 1, 0]


@pytest.mark.parametrize("other", [3.0, 3, "c", date(2026, 11, 19), b"c"])
def test_a_category_decides_on_no_type(other: Any) -> None:
    """Arrow would infer one from categories of objects, and compare doubles as numbers unless one is something else."""
    categories = pd.Index(np.array([1.0, 2.0, other], dtype=object), dtype=object)
    column = pd.Series(pd.Categorical.from_codes([0, 1, 2], categories))
    assert codes_of(column, ["2.0", "1.0", "1"]).tolist() == [1, 0, 3]
    assert codes_of(column, ["north"]).tolist() == [1, 1, 1]


def test_text_that_arrow_cannot_hold_is_of_no_group() -> None:
    categories = pd.Index(["a", "\ud800", "b"], dtype=object)
    column = pd.Series(pd.Categorical.from_codes([0, 1, 2], categories))
    assert codes_of(column, ["b", "a"]).tolist() == [1, 2, 0]


@pytest.mark.parametrize("name", RUDE)
def test_an_entry_that_raises_is_of_no_group(name: str) -> None:
    """Or of the one that its text names, if it has one."""
    entry = rude_entry(name)
    column = boxed(["a", entry, "b"])
    for container in (["a", entry, "b"], iter(["a", entry, "b"]), column, pd.Series(column, dtype=object)):
        codes = codes_of(container, ["b", "a", "north"])
        assert codes[[0, 2]].tolist() == [1, 0]
        assert codes[1] == (2 if "kind" in name or "rude" in name else 3)
    masked = np.ma.MaskedArray(column, [False, False, True])
    assert codes_of(masked, ["b", "a"]).tolist() == [1, 2, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_ends_it(error: type[BaseException]) -> None:
    class Ending:
        def __str__(self) -> str:
            raise error

    with pytest.raises(error):
        codes_of([Ending()], ["a"])


def test_a_column_that_cannot_be_read_is_refused_without_a_word_about_it() -> None:
    def failing() -> Iterator[str]:
        yield "a"
        raise ValueError("secret")

    with pytest.raises(InvalidInputError, match="by failed while it was being read") as caught:
        codes_of(failing(), ["a"])
    assert caught.value.__context__ is None
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float64, object])
def test_codes_of_numbers(dtype: Any) -> None:
    assert codes_of(np.array([7, 3, 5, 3], dtype=dtype), [3, 7]).tolist() == [1, 0, 2, 0]


def test_codes_of_a_column_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.labels._PART", 10)
    column = np.arange(95) % 7
    expected = [min(entry, 4) for entry in column.tolist()]
    assert codes_of(column, range(4)).tolist() == expected
    assert codes_of(column[:0], range(4)).size == 0


@pytest.mark.parametrize("size", [0, 2])
def test_groups_that_an_array_cannot_hold(size: int) -> None:
    """Whether or not there is a record: that may be private."""
    with pytest.raises(InvalidInputError, match=r"groups must be entries that column 'by'.*got 'north'"):
        codes_of(np.arange(size), ["north"])


@pytest.mark.parametrize("column", [[1, 2, 3], ["1", "2", "3"], np.array([1, 2, 3]), np.array(["1", "2", "3"])])
@pytest.mark.parametrize("groups", [(3, 1), ("3", "1")])
def test_entries_are_found_by_their_text(column: Any, groups: Any) -> None:
    assert codes_of(column, groups).tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([3, 7, 1]),
        pd.Series([3, 7, None]),
        pd.Series([3, 7, None], dtype="Int64"),
        pl.Series([3, 7, None]),
        pa.array([3, 7, None]),
        np.ma.masked_equal([3, 7, 1], 1),
    ],
)
def test_a_missing_entry_changes_nobody_elses_group(column: Any) -> None:
    """With one, pandas turns a column of whole numbers into one of doubles."""
    assert codes_of(column, [3, 7]).tolist() == [0, 1, 2]


@pytest.mark.parametrize("point", [0xD800, 0xDFFF, 0x110000, 2**32 - 1])
@pytest.mark.parametrize("order", ["<", ">"])
def test_what_is_no_text_is_of_no_group(point: int, order: Literal["<", ">"]) -> None:
    """An array can hold what no text can; nothing is raised, and others stay where they are."""
    column = np.array([ord("a"), point, ord("b"), 0xFFFD], np.uint32).view("U1")
    column = column.astype(column.dtype.newbyteorder(order))
    assert codes_of(column, ["b", "a", "?"]).tolist() == [1, 3, 0, 3]
    masked = np.ma.array(column, mask=[True, False, False, False])
    assert codes_of(masked, ["b", "a"]).tolist() == [2, 2, 0, 2]
