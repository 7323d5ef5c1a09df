"""Public input is checked strictly and at once; a private entry never decides whether an error is raised."""

from __future__ import annotations

import datetime
import math
import re
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rude import RUDE, boxed, rude_entry
from unreadable import TEXTS

from pdpmean import estimate_mean
from pdpmean.core.checks import (
    LARGEST_BUDGET,
    SMALLEST_BUDGET,
    check_budget,
    check_budget_range,
    check_budgets,
    check_positive,
    check_probability,
)
from pdpmean.errors import InvalidInputError
from pdpmean.sources.private_columns import (
    number_or_missing,
    private_entries,
    private_numbers,
    private_records,
    public_records,
)

INF, NAN = math.inf, math.nan


class Series:
    """What a data frame's column looks like to NumPy."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self._array, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("a column that offers an array is not walked entry by entry")


def label(argument: object) -> str:
    """A short name for a test case, the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(argument))[:40]


def same(numbers: NDArray[np.float64], expected: list[float]) -> bool:
    return numbers.dtype == np.float64 and np.array_equal(numbers, expected, equal_nan=True)


# Private columns: whatever an entry is, it is data

ENTRIES: list[tuple[Any, float]] = [
    (1.5, 1.5),
    (-0.0, 0.0),
    (3, 3.0),
    (True, 1.0),
    (False, 0.0),
    (INF, INF),
    (-INF, -INF),
    (NAN, NAN),
    (None, NAN),
    ("", NAN),
    ("1.5", NAN),
    (b"1.5", NAN),
    ([], NAN),
    ([1.0], NAN),
    ([1.0, 2.0], NAN),
    ((1.0,), NAN),
    ({}, NAN),
    ({1.0}, NAN),
    (range(2), NAN),
    (1 + 2j, NAN),
    (1 + 0j, NAN),
    (object(), NAN),
    (print, NAN),
    (float, NAN),
    (Ellipsis, NAN),
    (datetime.date(2020, 1, 1), NAN),
    (2**53 + 1, 2.0**53),
    (2**63, 2.0**63),
    (10**300, 1e300),
    (10**400, INF),
    (-(10**400), -INF),
    (2**1024, INF),
    (2**1024 - 2**970, INF),
    (2**1024 - 2**970 - 1, 1.7976931348623157e308),
    (Decimal("0.1"), 0.1),
    (Decimal("1e400"), INF),
    (Decimal("-1e400"), -INF),
    (Decimal("1e-400"), 0.0),
    (Decimal("NaN"), NAN),
    (Decimal("sNaN"), NAN),
    (Decimal("-sNaN123"), NAN),
    (Decimal("-Infinity"), -INF),
    (Fraction(1, 3), 1 / 3),
    (Fraction(10**400, 3), INF),
    (Fraction(-(10**400)), -INF),
    (Fraction(1, 10**400), 0.0),
    (np.float64(0.5), 0.5),
    (np.float32(0.1), 0.10000000149011612),
    (np.float16(0.1), 0.0999755859375),
    (np.longdouble("1e4000"), INF),
    (np.int64(2**53 + 1), 2.0**53),
    (np.int64(-(2**63)), -(2.0**63)),
    (np.uint64(2**64 - 1), 2.0**64),
    (np.bool_(True), 1.0),
    (np.complex128(1), NAN),
    (np.str_("1"), NAN),
    (np.datetime64("2020-01-01"), NAN),
    (np.datetime64("NaT"), NAN),
    (np.timedelta64(5, "s"), NAN),
    (np.timedelta64("NaT"), NAN),
    (np.array([1.0, 2.0]), NAN),
    (np.array([[1.0], [2.0]]), NAN),
    (np.ma.masked, NAN),
]


@pytest.mark.parametrize(("entry", "number"), ENTRIES, ids=label)
def test_every_entry_is_a_number_or_missing(entry: Any, number: float) -> None:
    assert same(private_numbers([entry]), [number])
    assert same(private_numbers([2.5, entry, -1]), [2.5, number, -1.0])
    assert same(private_numbers([entry, entry]), [number, number])
    column = np.empty(2, dtype=object)
    column[0], column[1] = entry, 4
    assert same(private_numbers(column), [number, 4.0])
    assert same(private_numbers(Series(column)), [number, 4.0])


@pytest.mark.parametrize("name", RUDE)
def test_the_methods_of_an_entry_do_not_matter(name: str) -> None:
    """Whatever its methods do: nothing is raised, and its neighbours stay what they are."""
    entry, number = rude_entry(name), RUDE[name][1]
    column = boxed([2.5, entry, -1])
    expected = [2.5, number, -1.0]
    with np.errstate(all="raise"):
        for container in ([2.5, entry, -1], (2.5, entry, -1), iter([2.5, entry, -1]), column, Series(column)):
            assert same(private_numbers(container), expected)
        assert same(private_numbers(pd.Series(column, dtype=object)), expected)
        assert same(private_numbers(np.ma.MaskedArray(column, [False, False, True])), [2.5, number, NAN])
        assert same(private_records([1.0], [entry])[1], [number])


@pytest.mark.parametrize("name", ["imitation", "number", "text", "length", "float32"])
def test_the_methods_of_an_entry_of_a_polars_column_do_not_matter(name: str) -> None:
    column = pl.Series([rude_entry(name), 2.5], dtype=pl.Object)
    assert same(private_numbers(column), [RUDE[name][1], 2.5])


def test_what_reads_a_column_may_fail_without_a_word_about_it() -> None:
    def failing() -> Iterator[float]:
        yield 1.0
        raise ValueError("secret")

    with pytest.raises(InvalidInputError, match="values failed while it was being read") as caught:
        private_numbers(failing())
    assert caught.value.__context__ is None
    assert "secret" not in str(caught.value)


def test_what_ends_a_program_ends_it() -> None:
    def interrupted() -> Iterator[float]:
        raise KeyboardInterrupt
        yield 1.0

    with pytest.raises(KeyboardInterrupt):
        private_numbers(interrupted())


def hostile() -> st.SearchStrategy[Any]:
    plain = st.one_of(
        st.floats(),
        st.integers(),
        st.integers(min_value=10**308),
        st.integers(max_value=-(10**308)),
        st.booleans(),
        st.none(),
        st.text(max_size=5),
        st.binary(max_size=5),
        st.complex_numbers(),
        st.decimals(),
        st.just(Decimal("sNaN")),
        st.fractions(),
        st.dates(),
        st.timedeltas(),
        st.sampled_from([entry for entry, _ in ENTRIES]),
    )
    nested = st.recursive(plain, lambda inner: st.lists(inner, max_size=3), max_leaves=5)
    return st.one_of(plain, nested, st.dictionaries(st.integers(), st.integers(), max_size=2))


def entry_by_entry(entries: list[Any]) -> list[float]:
    return [float(private_numbers([entry])[0]) for entry in entries]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(hostile(), max_size=6))
def test_mixed_lists_never_raise_and_keep_their_length(entries: list[Any]) -> None:
    for container in (entries, tuple(entries), iter(entries)):
        numbers = private_numbers(container)
        assert numbers.dtype == np.float64
        assert numbers.shape == (len(entries),)
    # What an entry becomes does not depend on its neighbours.
    assert same(private_numbers(entries), entry_by_entry(entries))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.tuples(hostile(), hostile()), max_size=6))
def test_private_records_never_raise_for_an_entry(records: list[tuple[Any, Any]]) -> None:
    values, budgets = [value for value, _ in records], [budget for _, budget in records]
    numbers, granted = private_records(values, budgets)
    assert same(numbers, entry_by_entry(values))
    assert same(granted, entry_by_entry(budgets))


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.array([0.1, NAN, -INF], dtype=np.float32), [0.10000000149011612, NAN, -INF]),
        (np.array([2**53 + 1, -(2**63), 2**63 - 1]), [2.0**53, -(2.0**63), 2.0**63]),
        (np.array([2**64 - 1], dtype=np.uint64), [2.0**64]),
        (np.array([True, False]), [1.0, 0.0]),
        (np.array(["1e4000", "-1e4000", "2"], dtype=np.longdouble), [INF, -INF, 2.0]),
        (np.array([1.5, -2.0], dtype=">f8"), [1.5, -2.0]),
        (np.array([1.0, 2.0, 3.0, 4.0])[::-2], [4.0, 2.0]),
        (np.array([]), []),
        (np.array([], dtype=object), []),
    ],
    ids=label,
)
def test_arrays_of_numbers_become_doubles(array: NDArray[Any], expected: list[float]) -> None:
    assert same(private_numbers(array), expected)
    assert same(private_numbers(Series(array)), expected)


@pytest.mark.parametrize(
    "array",
    [
        np.array([0x7FA00000, 0x3F800000], dtype=np.uint32).view(np.float32),
        np.array([0x7D00, 0x3C00], dtype=np.uint16).view(np.float16),
        np.array([0x7FF4000000000000, 0x3FF0000000000000], dtype=np.uint64).view(np.float64),
    ],
    ids=["float32", "float16", "float64"],
)
def test_a_signalling_nan_is_missing_and_silent(array: NDArray[Any]) -> None:
    # Warnings are errors here: one that depends on an entry would tell something about it.
    assert same(private_numbers(array), [NAN, 1.0])
    with np.errstate(all="raise"):
        assert same(private_numbers(array), [NAN, 1.0])
        assert same(private_numbers(np.array([1e-300]).astype(np.longdouble) ** 15), [0.0])


@pytest.mark.parametrize("container", [[], (), iter([]), iter(()), range(0), {}, np.array([])])
def test_no_entries_are_an_empty_column(container: Any) -> None:
    assert same(private_numbers(container), [])


def test_generators_and_ranges_are_columns() -> None:
    assert same(private_numbers(x / 2 for x in range(3)), [0.0, 0.5, 1.0])
    assert same(private_numbers(range(3)), [0.0, 1.0, 2.0])
    assert same(private_numbers(iter([1, None])), [1.0, NAN])


def test_doubles_are_not_changed_in_place() -> None:
    values = np.array([1.0, NAN, INF])
    private_numbers(values)
    assert same(values, [1.0, NAN, INF])


@pytest.mark.parametrize("shape", [(), (2, 2), (0, 3), (1, 1, 1)])
@pytest.mark.parametrize("dtype", [np.float64, object])
def test_a_column_has_one_dimension(shape: tuple[int, ...], dtype: Any) -> None:
    for container in (np.zeros(shape, dtype=dtype), Series(np.zeros(shape, dtype=dtype))):
        with pytest.raises(InvalidInputError, match=f"one column of numbers; got {len(shape)} dim") as caught:
            private_numbers(container)
        assert (caught.value.name, caught.value.value) == ("values", len(shape))


@pytest.mark.parametrize("dtype", ["U3", "S3", "complex128", "datetime64[s]", "timedelta64[s]", "V8", "i4,f8"])
def test_an_array_type_that_holds_no_numbers_is_refused(dtype: str) -> None:
    # The type is refused whatever the entries, and even where there are none.
    for size in (0, 2):
        with pytest.raises(
            InvalidInputError, match=r"weights must be numbers; got an array of (another type|text)$"
        ) as caught:
            private_numbers(np.zeros(size, dtype=dtype), "weights")
        assert caught.value.name == "weights"


def test_an_array_that_cannot_be_made_is_refused_without_a_word_about_it() -> None:
    class Odd(Series):
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
            raise ValueError("secret")

    with pytest.raises(InvalidInputError, match="budgets cannot be read as an array of numbers") as caught:
        private_numbers(Odd(np.zeros(2)), "budgets")
    assert caught.value.__context__ is None


@pytest.mark.parametrize("kind", TEXTS)
def test_an_entry_of_arrow_that_is_no_python_object_is_missing(kind: str) -> None:
    """Whether a column has one is private, and NumPy would refuse the column as a whole."""
    assert np.isnan(private_numbers(TEXTS[kind])).tolist() == [True] * 3
    assert private_entries(TEXTS[kind])[0] is None
    assert private_entries(TEXTS[kind])[1:] == private_entries(TEXTS[kind][1:])


@pytest.mark.parametrize("container", [5, 5.0, None, "1.5", b"1.5", object(), Decimal(1)])
def test_what_holds_no_entries_is_refused(container: Any) -> None:
    with pytest.raises(InvalidInputError, match="values must be one column of numbers; got 0 dimensions"):
        private_numbers(container)


# Public budgets


@pytest.mark.parametrize(
    ("budgets", "usable"),
    [
        (0.5, [0.5]),
        (np.float64(0.5), [0.5]),
        (np.array(0.5), [0.5]),
        (1, [1.0]),
        (INF, [INF]),
        ([], []),
        ((0.1, 1, INF), [0.1, 1.0, INF]),
        (np.array([1, 2], dtype=np.int32), [1.0, 2.0]),
        ([0.0, -0.0], [0.0, 0.0]),
        ([SMALLEST_BUDGET, math.nextafter(SMALLEST_BUDGET, 0), 5e-324], [SMALLEST_BUDGET, 0.0, 0.0]),
        ([LARGEST_BUDGET, math.nextafter(LARGEST_BUDGET, INF), 1e308], [LARGEST_BUDGET] * 3),
    ],
    ids=label,
)
def test_budgets_become_usable(budgets: Any, usable: list[float]) -> None:
    assert same(check_budgets(budgets), usable)


def test_the_range_of_usable_budgets() -> None:
    assert (SMALLEST_BUDGET, LARGEST_BUDGET) == (2.0**-40, 2.0**40)


def test_budgets_are_not_changed_in_place() -> None:
    budgets = np.array([1e-300, 1.0, 1e300])
    check_budgets(budgets)
    assert same(budgets, [1e-300, 1.0, 1e300])


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(min_value=0)))
def test_no_usable_budget_exceeds_the_granted_one(budgets: list[float]) -> None:
    usable = check_budgets(budgets)
    assert (usable <= np.array(budgets)).all()
    assert all(x == 0 or x == INF or SMALLEST_BUDGET <= x <= LARGEST_BUDGET for x in usable)


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        (-0.3, "has -0.3"),
        (-5e-324, "has -4.94066e-324"),
        (-INF, "has -inf"),
        (NAN, "is empty"),
        (None, "is empty"),
    ],
)
def test_a_wrong_budget_is_named(wrong: float | None, fault: str) -> None:
    budgets = [0.5] * 17 + [wrong, -9.0]
    with pytest.raises(InvalidInputError) as caught:
        check_budgets(budgets)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"budgets must be >= 0; record 17 {fault} (the first record is 0). Use 0 to leave a record out"
    )
    assert caught.value.name == "budgets"
    assert caught.value.value == pytest.approx(NAN if wrong is None else wrong, nan_ok=True, abs=0)


def test_a_wrong_scalar_budget_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"^budgets must be >= 0; got -1$"):
        check_budgets(-1)


@pytest.mark.parametrize(
    "budgets",
    ["lots", [0.5, "x"], [0.5, [1.0]], object(), [object()], [1 + 1j], [0.5, {}], iter([0.5]), [10**400]],
    ids=label,
)
def test_budgets_that_are_no_numbers_are_refused(budgets: Any) -> None:
    with pytest.raises(InvalidInputError, match="budgets must be numbers") as caught:
        check_budgets(budgets)
    assert caught.value.name == "budgets"


def test_a_complex_entry_is_missing_without_a_warning() -> None:
    """NumPy would warn, and take the real part."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert math.isnan(number_or_missing(np.clongdouble(1 + 1j)))
    assert not caught


def test_complex_budgets_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="budgets"):
        check_budgets(np.array([1 + 1j]))


@pytest.mark.parametrize("shape", [(2, 1), (1, 2), (0, 0), (1, 1, 1)])
def test_budgets_have_at_most_one_dimension(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInputError, match=f"one column; got {len(shape)} dimensions") as caught:
        check_budgets(np.ones(shape))
    assert caught.value.value == len(shape)


# Records: values and budgets together


@pytest.mark.parametrize("budget", [0.5, 1, INF, np.float64(0.5), np.array(0.5)])
@pytest.mark.parametrize("records", [public_records, private_records])
def test_a_single_budget_is_everyones(
    records: Callable[[Any, Any], tuple[NDArray[np.float64], NDArray[np.float64]]], budget: Any
) -> None:
    for values in ([], [1.0], [1.0, None, 3.0]):
        numbers, granted = records(values, budget)
        assert same(granted, [float(budget)] * len(values))
        assert numbers.shape == granted.shape


@pytest.mark.parametrize("records", [public_records, private_records])
def test_values_and_budgets_go_together(
    records: Callable[[Any, Any], tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> None:
    numbers, granted = records([1, "x", 10.5], [0.5, 0, INF])
    assert same(numbers, [1.0, NAN, 10.5])
    assert same(granted, [0.5, 0.0, INF])
    assert [array.size for array in records([], [])] == [0, 0]


def test_public_lengths_that_differ_are_told() -> None:
    for values, budgets in (([1.0, 2.0, 3.0], [0.5, 0.5]), ([1.0, 2.0, 3.0], [0.5]), ([], [0.5, 0.5])):
        with pytest.raises(InvalidInputError) as caught:
            public_records(values, budgets)
        assert f"got {len(values)} values and {len(budgets)} budgets" in str(caught.value)
        assert (caught.value.name, caught.value.value) == ("budgets", len(budgets))


def test_public_budgets_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="record 1 has -2"):
        public_records([1.0, 2.0], [0.5, -2])
    with pytest.raises(InvalidInputError, match="got nan, which is not a number"):
        public_records([1.0, 2.0], NAN)


def test_private_lengths_that_differ_are_not_told() -> None:
    messages = set()
    for values, budgets in (([1.0] * 137, [0.5] * 42), ([], [0.5]), ([1.0] * 3, [0.5]), ([1.0], np.ones(2))):
        with pytest.raises(InvalidInputError, match="their lengths differ") as caught:
            private_records(values, budgets)
        assert not any(character.isdigit() for character in str(caught.value))
        assert (caught.value.name, caught.value.value) == ("budgets", None)
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_private_budgets_are_never_at_fault() -> None:
    numbers, granted = private_records([1.0] * 6, [-1, None, "x", NAN, 1e300, [0.5, 1.0]])
    assert numbers.size == 6
    assert same(granted, [-1.0, NAN, NAN, NAN, 1e300, NAN])
    assert same(private_records([1.0, 2.0], NAN)[1], [NAN, NAN])


def test_private_budgets_may_come_from_a_generator() -> None:
    assert same(private_records([1.0, 2.0], (budget for budget in (0.5, 1.0)))[1], [0.5, 1.0])


def test_a_private_container_may_be_at_fault() -> None:
    with pytest.raises(InvalidInputError, match="budgets must be one column"):
        private_records([1.0], np.ones((1, 1)))
    with pytest.raises(InvalidInputError, match="budgets must be numbers"):
        private_records([1.0], np.array(["x"]))


# Options


@pytest.mark.parametrize("ends", [(0.1, 1.0), [0.1, 1], np.array([0.1, 1.0]), (5e-324, 1.7e308), (2, 2)])
def test_a_budget_range_is_two_floats(ends: Any) -> None:
    low, high = check_budget_range(ends)
    assert (low, high) == (float(ends[0]), float(ends[1]))
    assert type(low) is type(high) is float


@pytest.mark.parametrize(
    "ends",
    [
        None,
        0.5,
        (),
        (0.1,),
        (0.1, 0.5, 1.0),
        (0, 1),
        (-1, 1),
        (1.0, 0.1),
        (0.1, INF),
        (INF, INF),
        (NAN, 1.0),
        (0.1, NAN),
        (0.1, None),
        ("low", "high"),
        (1j, 2),
        (1, 10**400),
    ],
    ids=label,
)
def test_an_empty_or_open_budget_range_is_refused(ends: Any) -> None:
    with pytest.raises(InvalidInputError, match="budget_range must be") as caught:
        check_budget_range(ends)
    assert caught.value.name == "budget_range"
    assert caught.value.value is ends
    assert repr(ends) in str(caught.value)


@pytest.mark.parametrize("budget", [2.0**-50, 0.5, 1, 1e300, INF, np.float64(3)])
def test_a_step_may_have_a_budget(budget: float) -> None:
    assert check_budget(budget) == budget
    assert type(check_budget(budget)) is float


@pytest.mark.parametrize("budget", [math.nextafter(2.0**-50, 0), 0.0, -1.0, -INF, NAN, None, "1"])
def test_a_step_needs_a_budget(budget: Any) -> None:
    with pytest.raises(InvalidInputError, match="budget must be at least") as caught:
        check_budget(budget)
    assert caught.value.name == "budget"
    assert caught.value.value is budget


@pytest.mark.parametrize("probability", [5e-324, 0.05, 0.5, 1 - 2.0**-53, np.float64(0.3), Fraction(1, 4)])
def test_a_probability_lies_inside(probability: Any) -> None:
    assert check_probability("beta", probability) == probability
    assert type(check_probability("beta", probability)) is float


@pytest.mark.parametrize("probability", [0, 0.0, 1, 1.0, -0.1, 1.5, INF, -INF, NAN, True, None, "0.5"])
def test_a_probability_outside_is_refused(probability: Any) -> None:
    with pytest.raises(InvalidInputError, match="beta must lie strictly between 0 and 1; got ") as caught:
        check_probability("beta", probability)
    assert caught.value.name == "beta"
    assert caught.value.value is probability
    assert repr(probability) in str(caught.value)


@pytest.mark.parametrize("number", [5e-324, 1, 0.5, 1.7e308, np.float64(2)])
def test_a_positive_number_is_kept(number: float) -> None:
    assert check_positive("sigma", number) == number
    assert type(check_positive("sigma", number)) is float


@pytest.mark.parametrize("number", [0, 0.0, -1, INF, -INF, NAN, None, "1", 10**400], ids=label)
def test_what_is_not_positive_and_finite_is_refused(number: Any) -> None:
    with pytest.raises(InvalidInputError, match="sigma must be positive and finite; got ") as caught:
        check_positive("sigma", number)
    assert caught.value.name == "sigma"
    assert caught.value.value is number


# Columns of pandas


@pytest.mark.parametrize("model", ["bounded", "unbounded"])
def test_columns_of_pandas_whose_indexes_differ_are_refused(model: Any) -> None:
    values = pd.Series(np.random.default_rng(1).normal(38, 6, 2000))
    budgets = pd.Series(np.full(2000, 1.0))
    options: Any = {"model": model, "budget_range": None if model == "bounded" else (0.1, 1.0)}
    assert estimate_mean(values, budgets, **options).mean == pytest.approx(38, abs=2)
    assert estimate_mean(values, budgets[::-1].to_numpy(), **options).mean == pytest.approx(38, abs=2)
    for name, columns in {
        "budgets": {"budgets": budgets[::-1]},
        "by": {"budgets": budgets, "by": budgets[::-1], "groups": [1.0]},
    }.items():
        with pytest.raises(InvalidInputError, match=f"values and {name} are pandas columns whose indexes differ"):
            estimate_mean(values, **columns, **options)


@pytest.mark.parametrize("text", [np.array(["yes", "no"]), pd.Series(["yes", "no"], dtype="string")], ids=label)
def test_text_says_how_to_estimate_the_share_of_an_entry(text: Any) -> None:
    """By its type alone."""
    with pytest.raises(InvalidInputError, match=r"text\. For the share .*, use estimate_mean\(\.\.\., equals='yes'\)$"):
        estimate_mean(text, 0.5)
    with pytest.raises(InvalidInputError, match=r"^budgets must be numbers; .* text; for tier names, pass tiers=\{"):
        estimate_mean([1.0, 2.0], text, model="unbounded", budget_range=(0.1, 1.0))
    with pytest.raises(InvalidInputError, match=r"got an array of another type$"):
        estimate_mean(np.array(["2020-01-01"], "datetime64[D]"), 0.5)
