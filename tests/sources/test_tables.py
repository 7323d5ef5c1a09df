"""Tables in memory: what is copied, what is refused, and entries that must not decide on an error."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rude import RUDE, boxed, rude_column

from pdpmean.errors import InvalidInputError
from pdpmean.sources.layout import Layout
from pdpmean.sources.opening import open_table

TABLE = pa.table({"income": [1.0, 2.0, None], "epsilon": [0.5, 1.0, 2.0], "region": ["a", "b", "a"]})
PLAIN = Layout("income", "epsilon")


def refusal(data: Any, layout: Layout = PLAIN) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        list(open_table(data, layout).batches())
    assert str(caught.value).count("\n") <= 1
    return caught.value


def only_batch(data: Any, layout: Layout = PLAIN) -> Any:
    (batch,) = open_table(data, layout).batches()
    return batch


def test_doubles_are_not_copied() -> None:
    values, budgets = np.arange(9.0), np.ones(9)
    for table in (
        pa.table({"income": values, "epsilon": budgets}),
        pd.DataFrame({"income": values, "epsilon": budgets}, copy=False),
    ):
        batch = only_batch(table)
        assert np.shares_memory(batch.values, values)
        assert np.shares_memory(batch.budgets, budgets)


def test_one_budget_for_all() -> None:
    batch = only_batch(TABLE, Layout("income", 0.25))
    assert batch.budgets.tolist() == [0.25] * 3
    (batch,) = open_table(TABLE, Layout("income", 0.25)).batches(values=False)
    assert batch.budgets.tolist() == [0.25] * 3
    assert batch.values.size == 0


def test_budgets_without_values() -> None:
    batch = only_batch(TABLE, Layout(None, "epsilon"))
    assert batch.values.size == 0
    assert batch.budgets.tolist() == [0.5, 1.0, 2.0]


def test_many_small_chunks_are_joined() -> None:
    table = pa.concat_tables([TABLE] * 100)
    assert [batch.budgets.size for batch in open_table(table, PLAIN).batches()] == [300]


def test_a_reader_is_read_once_and_passed_over_often() -> None:
    source = open_table(TABLE.to_reader(), PLAIN)
    assert [[batch.budgets.sum() for batch in source.batches()] for _ in range(2)] == [[3.5], [3.5]]


def test_columns_with_the_names_of_patterns_and_expressions() -> None:
    odd = pl.DataFrame({"^.*$": [1.0], "a+b": [2.0], "a": [7.0], "b": [7.0]})
    for table in (odd, duckdb.sql("select * from odd"), odd.to_pandas()):
        batch = only_batch(table, Layout("^.*$", "a+b"))
        assert (batch.values.tolist(), batch.budgets.tolist()) == ([1.0], [2.0])


def test_tiers_become_budgets() -> None:
    tiers = {"a": 0.125, "b": math.inf}
    for column in (TABLE["region"], TABLE["region"].dictionary_encode(), TABLE["region"].cast(pa.string_view())):
        table = TABLE.set_column(1, "epsilon", column)
        assert only_batch(table, Layout("income", "epsilon", tiers)).budgets.tolist() == [0.125, math.inf, 0.125]
    ages = pa.table({"income": [1, 2], "epsilon": [7, 8]})
    assert only_batch(ages, Layout("income", "epsilon", {8: 1, 7: 2})).budgets.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("name", ["c", None])
def test_an_unknown_tier_is_refused_only_if_tiers_are_public(name: str | None) -> None:
    table = pa.table({"income": [1, 2, 3], "epsilon": ["a", name, "a"]})
    found = only_batch(table, Layout("income", "epsilon", {"a": 1}, public=False)).budgets
    assert np.array_equal(found, [1.0, math.nan, 1.0], equal_nan=True)
    error = refusal(table, Layout("income", "epsilon", {"a": 1}))
    assert str(error) == f"the column of budgets holds the tier '{name}', which tiers does not list: a"


def test_whether_budgets_may_be_text_is_known_by_the_type() -> None:
    frame = pd.DataFrame({"income": [1.0], "epsilon": [0.5]})
    for kind in (float, object):
        column = open_table(frame.astype({"epsilon": kind}), PLAIN).budget_column
        assert column is not None
        assert column.is_text == (kind is object)


def test_tiers_that_the_column_cannot_have() -> None:
    error = refusal(TABLE, Layout("income", "epsilon", {"strict": 0.1}))
    assert str(error) == "tiers must be entries that column 'epsilon', of type double, can have; got 'strict'"


@pytest.mark.parametrize(
    "data", [TABLE, TABLE.to_pandas(), pl.from_arrow(TABLE), TABLE.to_reader()], ids=lambda data: type(data).__name__
)
def test_a_misspelt_column_name_is_refused_with_a_suggestion(data: Any) -> None:
    error = refusal(data, Layout("incme", "epsilon"))
    assert str(error) == (
        "the table has no column 'incme'; did you mean 'income'?\nIts columns: income, epsilon, region"
    )
    assert (error.name, error.value) == ("value", "incme")


def test_wrong_names_among_thousands() -> None:
    table = pa.table({f"c{number}": [1.0] for number in range(5000)})
    error = refusal(table, Layout("c0", "budget"))
    assert str(error).endswith("c10, c11 and 4988 more")
    assert "did you mean" not in str(error)


def test_names_that_occur_twice() -> None:
    twice = pa.table([[1.0], [2.0], [3.0]], names=["income", "income", "epsilon"])
    assert str(refusal(twice)) == "the table has two columns 'income'; rename one"
    assert str(refusal(twice.to_pandas())) == "the table has two columns 'income'; rename one"
    assert only_batch(twice, Layout("epsilon", "epsilon")).values.tolist() == [3.0]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x", "y", "z"]),
        pa.array([1, 2, 3], pa.timestamp("s")),
        pa.array([[1.0], [2.0], [3.0]]),
        pa.array(["1", "2", "3"]).dictionary_encode(),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_that_hold_no_numbers(column: pa.Array) -> None:
    for name in ("income", "epsilon"):
        table = TABLE.set_column(TABLE.column_names.index(name), name, column)
        assert str(column.type) in str(refusal(table))
    frame = TABLE.set_column(0, "income", column).to_pandas()
    if frame["income"].dtype != object:  # which could hold anything, and is read entry by entry
        assert "must be a column of numbers" in str(refusal(frame))


ODD: list[Any] = [1, "x", None, b"y", [1], {"a": 1}, 1 + 2j, object(), pd.NaT, 10**400, "\ud800", math.nan, True, ()]
ODD += rude_column(len(RUDE))


@pytest.mark.parametrize("place", range(len(ODD)))  # some entries do not let themselves be looked at
def test_an_odd_entry_of_a_pandas_column_changes_nothing_else(place: int) -> None:
    for others in ([1.5, 2.5], ["1.5", None], [None, 3]):
        for role in ("income", "epsilon", "region"):
            columns: dict[str, Any] = {"income": [1, 2, 3], "epsilon": [1, 2, 3], "region": ["x", "y", "x"]}
            plain = columns | {role: pd.Series([*others, 7], dtype=object)}
            changed = columns | {role: pd.Series(boxed([*others, ODD[place]]), dtype=object)}
            layout = Layout("income", "epsilon", by="region", groups=("1.5", 3, "x"), public=False)
            first, second = only_batch(pd.DataFrame(plain), layout), only_batch(pd.DataFrame(changed), layout)
            assert np.array_equal(first.values[:2], second.values[:2], equal_nan=True)
            assert np.array_equal(first.budgets[:2], second.budgets[:2], equal_nan=True)
            assert first.groups[:2].tolist() == second.groups[:2].tolist()


def test_pandas_types_that_arrow_lacks() -> None:
    frame = pd.DataFrame({"income": pd.arrays.SparseArray([1, 0, 2]), "epsilon": pd.Categorical([1, "x", 2])})
    batch = only_batch(frame)
    assert batch.values.tolist() == [1.0, 0.0, 2.0]
    assert np.array_equal(batch.budgets, [1.0, math.nan, 2.0], equal_nan=True)
    assert "numbers" in str(refusal(pd.DataFrame({"income": [1j], "epsilon": [1.0]})))
    assert "numbers" in str(refusal(pd.DataFrame({"income": pd.period_range("2020", periods=1), "epsilon": [1.0]})))


def test_text_of_python_in_a_pandas_column() -> None:
    names = pd.Series(["north", "\ud800", None], dtype=pd.StringDtype("python"))
    frame = pd.DataFrame({"income": [1, 2, 3], "epsilon": [1, 2, 3], "region": names})
    assert only_batch(frame, Layout("income", "epsilon", by="region", groups=["north"])).groups.tolist() == [0, 1, 1]


WORDS = pa.dictionary(pa.int8(), pa.string())
TEXT_TYPES: dict[str, Any] = {
    "string[python]": pd.StringDtype("python"),
    "str": pd.StringDtype("python", na_value=np.nan),
    "categories": pd.StringDtype("python"),
}
TEXTS: list[list[Any]] = [
    ["1.5", "2"],
    ["1.5", None],
    [None, None],
    ["\ud800", "2"],
    ["1.5", "\udfff"],
    ["\ud800", None],
    [],
]


def texts_of(kind: str, entries: list[Any]) -> Any:
    column = pd.Series(entries, dtype=TEXT_TYPES[kind])
    return column.astype("category") if kind == "categories" else column


@pytest.mark.parametrize("kind", TEXT_TYPES)
def test_a_text_that_is_none_chooses_no_words(kind: str) -> None:
    """Text of Python may hold half a character, which no text of Arrow can; only the type of a column is told."""
    for role in ("income", "epsilon"):
        told = set()
        for texts in TEXTS:
            columns: dict[str, Any] = {"income": np.ones(len(texts)), "epsilon": np.ones(len(texts))}
            frame = pd.DataFrame(columns | {role: texts_of(kind, texts)})
            told |= {str(refusal(frame, Layout("income", "epsilon", public=public))) for public in (True, False)}
        assert len(told) == 1
        assert "must be a column of numbers; its type is" in told.pop()


@pytest.mark.parametrize("kind", TEXT_TYPES)
def test_a_text_that_is_none_is_of_no_group_and_no_tier(kind: str) -> None:
    for texts in TEXTS:
        frame = pd.DataFrame({"income": np.ones(len(texts)), "word": texts_of(kind, texts)})
        groups = only_codes(frame, Layout("income", 1.0, by="word", groups=("?", "1.5", "\ufffd")))
        assert groups == [1 if text == "1.5" else 3 for text in texts]
        tiers = {"1.5": 0.5, "?": 2.0}
        for batch in open_table(frame, Layout("income", "word", tiers, public=False)).batches():
            assert np.array_equal(batch.budgets == 0.5, [text == "1.5" for text in texts])
            assert not (batch.budgets == 2.0).any()


def only_codes(frame: Any, layout: Layout) -> list[int]:
    found = [batch.groups for batch in open_table(frame, layout).batches()]
    return [code for codes in found if codes is not None for code in codes.tolist()]


def test_the_id_of_a_person_is_text() -> None:
    frame = pd.DataFrame({"income": [1.0, 2.0], "id": texts_of("string[python]", ["\ud800", "\ud801"])})
    with pytest.raises(InvalidInputError, match="record 0 has none"):
        open_table(frame, Layout("income", 1.0, person="id")).duplicate_person()


@pytest.mark.parametrize("entries", [[], ["x", "y"], ["1", "2"], ["é", ""]])
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_text_of_any_other_kind_is_refused_by_its_type(kind: pa.DataType, entries: list[str]) -> None:
    column = pa.array(entries, pa.string()).cast(kind)
    table = pa.table({"income": column, "epsilon": np.ones(len(entries))})
    frames = [table, pl.from_arrow(table), pd.DataFrame({"income": pd.Series(entries, dtype=pd.ArrowDtype(kind))})]
    for frame in frames:
        assert "value='income' must be a column of numbers; its type is" in str(refusal(frame, Layout("income", 1.0)))


def test_objects_of_polars_are_refused_by_their_type() -> None:
    """Of which a stream has addresses: two equal ids would differ."""
    for entries in ([], [1.0, 2.0], ["x", "x"]):
        frame = pl.DataFrame({"income": np.ones(len(entries)), "any": pl.Series(entries, dtype=pl.Object)})
        for layout in (Layout("any", 1.0), Layout("income", 1.0, person="any"), Layout("income", 1.0, by="any")):
            assert str(refusal(frame, layout)) == "column 'any' has type Object; cast it to another type"


def test_errors_of_an_engine_quote_no_entry() -> None:
    relation = duckdb.sql("select cast(x as double) as income, 1.0 as epsilon from (values ('1'), ('secret')) t(x)")
    error = refusal(relation)
    assert str(error) == "the DuckDBPyRelation failed while it was being read; run it by itself to see why"
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize("data", [{"income": [1.0]}, [TABLE, TABLE], [], 7, None, np.ones(3)], ids=repr)
def test_objects_that_are_not_tables_are_refused_by_their_type(data: Any) -> None:
    assert str(refusal(data)).endswith(f"got {type(data).__name__}")


def test_dictionaries_that_do_not_fit_into_one() -> None:
    """Whether chunks can be joined depends on how many values there are: where they cannot, they are left apart."""
    for distinct in (27, 28, 100):
        chunks = [
            pa.DictionaryArray.from_arrays(pa.array(range(size), pa.int8()), pa.array(np.arange(size) + start))
            for start, size in ((0.0, 100), (1000.0, distinct))
        ]
        batches = open_table(pa.table({"income": pa.chunked_array(chunks)}), Layout("income", 1.0)).batches()
        values = np.concatenate([batch.values for batch in batches])
        assert values.tolist() == [*range(100), *range(1000, 1000 + distinct)]


@pytest.mark.parametrize(
    "strange",
    [None, math.nan, pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN"), Decimal("sNaN"), np.arange(2), "\ud800", [1]],
    ids=str,
)
def test_a_strange_entry_of_a_pandas_column_is_of_no_group(strange: Any) -> None:
    """It may not even let itself be compared."""
    frame = pd.DataFrame({"income": [1.0, 2.0, 3.0], "region": pd.Series(["b", strange, "a"], dtype=object)})
    labels = ("a", "b", "nan", "None", "<NA>", "NaT", "NaN", "sNaN")
    assert only_batch(frame, Layout("income", 1.0, by="region", groups=labels)).groups.tolist() == [1, 8, 0]
