"""Amounts: exact, rounded the safe way, from the smallest budget to the largest and infinity."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdpmean.errors import InvalidInputError
from pdpmean.ledger.amount import (
    INFINITE,
    NOTHING,
    UNITS_PER_NAT,
    Amount,
    budgets_of_columns,
    columns_of_budgets,
)

LEAST, MOST = 2.0**-40, 2.0**40
DOUBLES = st.floats(LEAST, MOST) | st.integers(-40, 40).map(lambda power: 2.0**power) | st.just(math.inf)
AMOUNTS = st.builds(Amount, units=st.integers(0, 2**80)) | st.just(INFINITE)


@given(DOUBLES)
def test_a_grant_is_rounded_down_by_less_than_a_unit(nats: float) -> None:
    amount = Amount.rounded_down(nats)
    if math.isinf(nats):
        assert amount == INFINITE
    else:
        assert Fraction(0) <= Fraction(nats) - Fraction(amount.exact) < Fraction(1, UNITS_PER_NAT)


@given(st.fractions(0, 2**40))
def test_fractions_and_decimals_are_read_exactly(nats: Fraction) -> None:
    units = math.floor(nats * UNITS_PER_NAT)
    assert Amount.rounded_down(nats).units == units
    assert Amount.rounded_down(str(nats)).units == units


def test_text_is_not_read_by_way_of_a_double() -> None:
    text = "1048576.000000000001"  # 2**20 + 1.1 units: as a double, 2**20 + 1 unit
    assert Amount.rounded_down(text).units == 2**60 + 1
    assert Amount.rounded_down("1099511627775.9999999999995").units == 2**80 - 1


@given(st.integers(1, 2**40), st.sampled_from([Decimal("1e-30"), Decimal("1e-40"), np.longdouble(2) ** -100]))
def test_no_number_is_rounded_up_on_its_way(units: int, less: Any) -> None:
    """As a double, a number slightly below a unit may be that unit."""
    with localcontext(prec=100):
        below = type(less)(units) / UNITS_PER_NAT - less
    assert Amount.rounded_down(below).units in (units - 1, units)
    assert Amount.rounded_down(below).exact <= Fraction(*below.as_integer_ratio())


@pytest.mark.parametrize(
    ("text", "amount"), [("inf", INFINITE), (" Infinity ", INFINITE), ("0", NOTHING), (0, NOTHING)]
)
def test_words_for_all_and_nothing(text: object, amount: Amount) -> None:
    assert Amount.rounded_down(text) == amount


@pytest.mark.parametrize("wrong", [-1, "-0.1", math.nan, "nan", "much", None, [], -math.inf, "1/0"])
def test_what_is_no_amount_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidInputError, match="budget must be a number >= 0"):
        Amount.rounded_down(wrong)


def test_a_finite_grant_is_at_most_the_largest_budget() -> None:
    assert Amount.rounded_down(2**50) == Amount.rounded_down(2**40)


@given(AMOUNTS)
def test_columns_hold_an_amount_and_fit_words(amount: Amount) -> None:
    assert Amount.of_columns(*amount.columns) == amount
    assert all(0 <= column < 2**63 for column in amount.columns)


@given(AMOUNTS, AMOUNTS)
def test_what_was_spent_and_what_is_left_are_all(granted: Amount, spent: Amount) -> None:
    left = granted.less(spent)
    assert NOTHING <= left <= granted
    if spent <= granted and not granted.infinite:
        assert spent + left == granted


@given(AMOUNTS, AMOUNTS)
def test_amounts_are_ordered_as_numbers_are(first: Amount, second: Amount) -> None:
    assert (first < second) == (first.exact < second.exact)
    assert first + second >= max(first, second)


@given(st.lists(DOUBLES, max_size=20))
def test_many_budgets_are_rounded_as_one_is(budgets: list[float]) -> None:
    columns = columns_of_budgets(np.array(budgets, dtype=np.float64))
    rows = [tuple(map(int, row)) for row in zip(*columns, strict=True)]
    assert rows == [Amount.rounded_down(budget).columns for budget in budgets]


@given(st.lists(AMOUNTS, max_size=20))
def test_a_budget_to_use_is_never_above_what_is_charged(amounts: list[Amount]) -> None:
    columns = np.array([amount.columns for amount in amounts], dtype=np.int64).reshape(-1, 3).T
    for budget, amount in zip(budgets_of_columns(*columns).tolist(), amounts, strict=True):
        assert budget <= amount.exact
        assert budget == amount.exact or math.nextafter(budget, math.inf) > amount.exact


@pytest.mark.parametrize(("nats", "text"), [("0.1", "0.1"), ("inf", "inf"), ("1e-9", "9.99534677e-10"), (12, "12")])
def test_an_amount_in_words(nats: object, text: str) -> None:
    assert str(Amount.rounded_down(nats)) == text
