"""Columns as numbers and places: every type, and entries that must not matter to their neighbours."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules import compiled

from pdpmean.errors import InvalidInputError
from pdpmean.sources.arrow_columns import Places, check_numeric, listed, numbers

HUGE = 10**40


def assert_numbers(column: pa.Array, expected: list[float]) -> None:
    assert numbers(column).dtype == np.float64
    assert np.array_equal(numbers(column), expected, equal_nan=True)
    assert np.array_equal(numbers(column[1:]), expected[1:], equal_nan=True), "of a slice"


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.decimal128(9, 2), pa.decimal256(50, 4)], ids=str
)
def test_numbers_of_every_type(kind: pa.DataType) -> None:
    column = pa.array([1, 3, None, 7, None], pa.int8()).cast(kind)
    assert_numbers(column, [1, 3, math.nan, 7, math.nan])
    assert_numbers(column.dictionary_encode(), [1, 3, math.nan, 7, math.nan])
    assert_numbers(column[:2], [1, 3])
    assert_numbers(column[:0], [])


def test_numbers_of_few_types() -> None:
    assert_numbers(pa.array([True, None, False]), [1, math.nan, 0])
    assert_numbers(pa.nulls(2), [math.nan, math.nan])
    assert_numbers(pa.array([math.inf, -0.0, math.nan, 5e-324]), [math.inf, -0.0, math.nan, 5e-324])


def test_numbers_beyond_doubles_are_data() -> None:
    assert_numbers(pa.array([2**53 + 1, -(2**63), None]), [2.0**53, -(2.0**63), math.nan])
    assert_numbers(pa.array([2**64 - 1], pa.uint64()), [2.0**64])
    assert_numbers(pa.array([Decimal(HUGE), None], pa.decimal256(76, 5)), [float(HUGE), math.nan])


@given(st.lists(st.decimals(-(10**9), 10**9, places=4), min_size=1), st.sampled_from([(14, 4), (15, 5), (38, 20)]))
def test_decimals_are_the_nearest_doubles(entries: list[Decimal], digits: tuple[int, int]) -> None:
    assert numbers(pa.array(entries, pa.decimal128(*digits))).tolist() == [float(entry) for entry in entries]


def test_doubles_are_not_copied() -> None:
    values = np.arange(9.0)
    assert np.shares_memory(numbers(pa.array(values)), values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.5", 1.5),
        (" 1.5\t", 1.5),
        ("-.5", -0.5),
        ("+1E5", 1e5),
        ("1e400", math.inf),
        ("1e-400", 0.0),
        ("-inf", -math.inf),
        ("Infinity", math.inf),
        ("0.1", 0.1),
        ("17976931348623157e292", 1.7976931348623157e308),
        *(
            (text, math.nan)
            for text in ["", " ", "NA", "nan", "null", "x", "1_000", "1,5", "0x10", "1 2", "--1", "1\x00"]
        ),
    ],
)
def test_text_as_numbers(text: str, expected: float) -> None:
    assert_numbers(pa.array([text, None, "7"]), [expected, math.nan, 7])


@given(
    st.lists(
        st.text(max_size=9) | st.text("0123456789.eE+-infaINF_ ()x", max_size=9) | st.floats().map(str), max_size=300
    )
)
def test_text_is_read_entry_by_entry(entries: list[str]) -> None:
    alone = [numbers(pa.array([entry]))[0] for entry in entries]
    assert np.array_equal(numbers(pa.array(entries, pa.string())), alone, equal_nan=True)


@given(st.floats())
def test_text_as_the_number_that_wrote_it(number: float) -> None:
    assert np.array_equal(numbers(pa.array([repr(number)])), [number], equal_nan=True)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.date32(), pa.timestamp("s"), pa.list_(pa.float64()), pa.binary(), pa.struct([])], ids=str
)
def test_types_that_hold_no_numbers(kind: pa.DataType) -> None:
    with pytest.raises(InvalidInputError, match=r"value='income' must be a column of numbers; its type is") as caught:
        check_numeric(kind, "value", "income")
    assert str(kind) in str(caught.value)
    assert caught.value.name == "value"
    with pytest.raises(InvalidInputError, match="tiers="):
        check_numeric(pa.dictionary(pa.int8(), pa.string()), "budget", "tier")


@pytest.mark.parametrize(
    ("entries", "labels"),
    [
        (pa.array(["a", "b", None, "c", ""]), ("b", "a")),
        (pa.array(["a", "b", None, "c", ""], pa.large_string()), ("b", "a")),
        (pa.array(["a", "b", None, "c", ""], pa.string_view()), ("b", "a")),
        (pa.array([b"a", b"b", None, b"c", b""]), ("b", "a")),
        (pa.array([1, 2, None, 3, -1]), ("2", "1")),
        (pa.array([1, 2, None, 3, -1], pa.int8()), ("2", "1")),
        (pa.array([1.0, 2.0, None, 3.0, math.nan]), ("2", "1")),
        (pa.array([1, 2, None, 3, 4], pa.float16()), ("2", "1")),
        (pa.array([Decimal(1), Decimal(2), None, Decimal(3), Decimal(4)], pa.decimal128(5, 2)), ("2", "1")),
        (
            pa.array([datetime.date(2024, 1, day) if day else None for day in (1, 2, 0, 3, 4)]),
            ("2024-01-02", "2024-01-01"),
        ),
    ],
    ids=lambda argument: str(argument.type) if isinstance(argument, pa.Array) else "",
)
def test_places_are_the_positions_in_the_list_of_labels(entries: pa.Array, labels: tuple[str, ...]) -> None:
    public = Places(listed(labels, entries.type, "groups", "region"))
    for column in (entries, entries.dictionary_encode() if "view" not in str(entries.type) else entries):
        assert public.of(column).tolist() == [1, 0, 2, 2, 2]
        assert public.of(column[1:3]).tolist() == [0, 2]
        assert public.of(column).dtype == np.int32


def test_places_in_a_dictionary_of_few_bits() -> None:
    names = [str(number) for number in range(128)]
    column = pa.DictionaryArray.from_arrays(pa.array([*range(128), None], pa.int8()), names)
    assert Places(listed(("127", "5"), column.type, "groups", "x")).of(column).tolist()[-2:] == [0, 2]


def test_places_where_everything_is_missing() -> None:
    for column in (pa.nulls(3), pa.nulls(3, pa.dictionary(pa.int8(), pa.null()))):
        assert Places(listed(("a",), column.type, "groups", "region")).of(column).tolist() == [1, 1, 1]


def test_lists_that_do_not_fit() -> None:
    def refused(labels: tuple[str, ...], kind: Any) -> str:
        with pytest.raises(InvalidInputError) as caught:
            listed(labels, kind, "groups", "region")
        return str(caught.value)

    assert refused(("1", "north"), pa.int32()) == (
        "groups must be entries that column 'region', of type int32, can have; got 'north'"
    )
    assert refused(("1", "300"), pa.int8()).endswith("got '300'")
    assert "list" in refused(("1",), pa.list_(pa.int8()))
    assert refused(("1", "01"), pa.int8()) == "groups must differ also as entries of column 'region', of type int8"


BOTH_WAYS = pytest.mark.parametrize("way", [nullcontext, compiled], ids=["NumPy", "compiled"])


@BOTH_WAYS
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("low", [-3, 0, 5, 120])
@pytest.mark.parametrize("steps", [[2, 0, 7], [0, 1, 2, 3], [0, 1, 3, 2]], ids=["apart", "in order", "not in order"])
def test_places_of_integers_near_and_far(
    kind: str, low: int, steps: list[int], way: Callable[[], AbstractContextManager[None]]
) -> None:
    """By a table where they lie close together, and the same beyond both its ends and the type's."""
    info = np.iinfo(kind)
    listed_numbers = [low + step for step in steps if info.min <= low + step <= info.max]
    places = Places(pa.array(listed_numbers, kind))
    asked = [
        info.min,
        info.max,
        *(number for number in range(low - 2, low + 10) if info.min <= number <= info.max),
        None,
    ]
    expected = [listed_numbers.index(n) if n in listed_numbers else len(listed_numbers) for n in asked]
    with way():
        for column, codes in [(asked, expected), (asked[:-1], expected[:-1])]:
            found = places.of(pa.array(column, kind))
            assert found.tolist() == codes
            assert found.dtype == np.int32
            assert places.of(pa.array(column, kind)[3:]).tolist() == codes[3:], "of a slice"


@BOTH_WAYS
@pytest.mark.parametrize("low", [1 - 2**62, 2**62 - 4])
def test_places_as_far_out_as_a_table_goes(low: int, way: Callable[[], AbstractContextManager[None]]) -> None:
    """Differences of 64-bit integers wrap around, and must not wrap into the table."""
    asked = [-(2**63), -(2**62), low - 1, low, low + 1, low + 2, low + 3, 0, 2**62, 2**63 - 1]
    with way():
        found = Places(pa.array([low + 2, low], pa.int64())).of(pa.array(asked, pa.int64()))
    assert found.tolist() == [{low + 2: 0, low: 1}.get(number, 2) for number in asked]


def test_places_in_a_large_column() -> None:
    entries, column = np.array([5, -3, 40], np.int32), np.random.default_rng(1).integers(-9, 50, 200_000, np.int32)
    expected = np.select([column == entry for entry in entries], [0, 1, 2], 3)
    assert np.array_equal(Places(pa.array(entries)).of(pa.array(column)), expected)


@pytest.mark.parametrize("numbers", [[-(2**63), 2**63 - 1], [2**62, 2**62 + 1], [0, 2**40]])
def test_places_of_integers_too_far_for_a_table(numbers: list[int]) -> None:
    column = pa.array([*numbers, 1, None], pa.int64())
    assert Places(pa.array(numbers, pa.int64())).of(column).tolist() == [0, 1, 2, 2]


def test_places_of_integers_that_no_signed_word_holds() -> None:
    column = pa.array([2**63 + 5, 2**64 - 1, 5, None], pa.uint64())
    assert Places(pa.array([5, 2**63 + 5], pa.uint64())).of(column).tolist() == [1, 2, 0, 2]


@pytest.mark.parametrize("kind", [pa.decimal128(5, 39), pa.decimal128(5, -39), pa.decimal256(5, 77)], ids=str)
def test_decimals_that_arrow_cannot_write_are_refused_by_their_type(kind: pa.DataType) -> None:
    """Not by an entry: of these a column without any could be read."""
    with pytest.raises(InvalidInputError, match="must be a column of numbers"):
        check_numeric(kind, "value", "income")


@pytest.mark.parametrize("kind", [pa.decimal128(5, 38), pa.decimal128(5, -38), pa.decimal256(5, 76)], ids=str)
def test_decimals_of_any_other_scale_are_numbers(kind: pa.DataType) -> None:
    check_numeric(kind, "value", "income")
    column = pa.Array.from_buffers(kind, 1, [None, pa.py_buffer(b"\x07" + bytes(31))])
    assert_numbers(column, [float(f"7e{-kind.scale}")])
