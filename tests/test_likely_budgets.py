"""Columns of budgets that hold something else are noticed before anything is drawn."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

from pdpmean import BudgetWarning, Ledger, Randomness, estimate_mean, plan_mean

VALUES = np.random.default_rng(1).normal(38, 6, 3000)
IDS = np.arange(1.0, 3001.0)
RATINGS = np.random.default_rng(2).integers(1, 20, 3000).astype(float)


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        (IDS, r"2,\d\d\d of 3,000 are above 5"),
        (VALUES, "3,000 of 3,000 are above 5"),
        (np.append(np.ones(2999), 6.0), "1 of 3,000 are above 5.*guess right 99 times in 100"),
        (RATINGS, "of 3,000 are above 5"),
        (np.log(VALUES), "different numbers above 1"),
    ],
)
def test_columns_that_hold_something_else_are_noticed(budgets: Any, message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        with pytest.raises(BudgetWarning, match=message):
            estimate_mean(VALUES, budgets)


@pytest.mark.parametrize(
    "budgets",
    [
        1.0,
        5.0,
        math.inf,
        np.random.default_rng(3).choice([0.1, 0.5, 1, 2, 5, math.inf], 3000),
        np.random.default_rng(3).uniform(0.01, 1.0, 3000),
        np.random.default_rng(3).lognormal(-1.5, 0.5, 3000),
    ],
)
def test_plausible_budgets_cause_no_warning(budgets: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        assert estimate_mean(VALUES, budgets).mean == pytest.approx(38, abs=3)


def test_of_private_budgets_the_range_alone_decides() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        assert estimate_mean(VALUES, IDS, model="unbounded", budget_range=(1, 5)).mean == pytest.approx(38, abs=3)
        with pytest.raises(BudgetWarning, match="1 to 21, reaches above 5"):
            estimate_mean(VALUES, 1.0, model="unbounded", budget_range=(1, 21))


@pytest.mark.parametrize(
    ("budgets", "options", "percent"),
    [
        (50.0, {}, True),
        (np.random.default_rng(3).choice([10.0, 50, 100], 3000), {}, True),
        (101.0, {}, False),
        (IDS, {}, False),
        (1.0, {"model": "unbounded", "budget_range": (1, 100)}, True),
        (1.0, {"model": "unbounded", "budget_range": (1, 101)}, False),
        (np.repeat(["low", "high"], 1500), {"tiers": {"low": 10, "high": 100}}, True),
    ],
)
def test_percent_are_told_apart_from_other_numbers(budgets: Any, options: dict[str, Any], percent: bool) -> None:
    """The words suit a column, tiers and one number for everybody."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        with pytest.raises(BudgetWarning) as caught:
            estimate_mean(VALUES, budgets, **options)
    assert ("If these are percent, divide by 100." in str(caught.value)) == percent
    assert str(caught.value).endswith("Is this what people grant?")
    assert "column" not in str(caught.value)


@pytest.mark.parametrize(("budgets", "percent"), [((50, "100"), True), ((50, "100.5"), False), ((21, "inf"), True)])
def test_a_ledger_asks_whether_large_grants_are_percent(
    budgets: tuple[Any, ...], percent: bool, tmp_path: Path
) -> None:
    with Ledger(tmp_path / "people.db") as ledger, pytest.warns(BudgetWarning, match="(are|is) above 20") as caught:
        ledger.grant_all(zip("ab", budgets, strict=True))
    assert ("If these are percent" in str(caught[0].message)) == percent


def test_a_single_grant_is_checked_as_well(tmp_path: Path) -> None:
    with Ledger(tmp_path / "people.db") as ledger:
        with pytest.warns(BudgetWarning, match="50 is above 20.*If these are percent") as caught:
            ledger.grant("a", 50)
        assert caught[0].filename == __file__
        ledger.withdraw("a")
        ledger.grant("a", 0.5)


PERCENT = {10.0: 5400, 50.0: 3700, 100.0: 900}


@pytest.mark.parametrize(
    ("budgets", "options"),
    [
        (PERCENT, {}),
        (np.repeat([10.0, 50, 0], 1000), {}),
        (pd.DataFrame({"epsilon": [10.0, 50, 100] * 1000}), {"budget": "epsilon"}),
        ({1.0: 3000}, {"model": "unbounded", "budget_range": (1, 100)}),
    ],
)
def test_a_plan_warns_as_well(budgets: Any, options: dict[str, Any]) -> None:
    with pytest.warns(BudgetWarning, match="If these are percent") as caught:
        plan_mean(budgets, **options)
    assert [warning.filename for warning in caught] == [__file__]


def test_a_plan_for_likely_budgets_does_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        plan_mean({0.0: 10, 0.1: 5400, 5.0: 900, math.inf: 3, 10.0: 0})


def test_the_result_has_the_warning_which_comes_only_once() -> None:
    with pytest.warns(BudgetWarning) as caught:
        estimate = estimate_mean(VALUES, 50.0)
    assert [str(warning.message) for warning in caught] == list(estimate.warnings)
    groups = np.repeat(["north", "south"], 1500)
    with pytest.warns(BudgetWarning, match="3,000 of 3,000") as caught:
        means = estimate_mean(VALUES, np.repeat([10.0, 50.0], 1500), by=groups, groups=["north", "south"])
    assert len(caught) == 1
    assert means.warnings == (str(caught[0].message),)
    assert means.to_dict()["warnings"] == list(means.warnings)


def test_what_a_release_costs_is_checked_and_not_what_people_grant() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        estimate_mean(VALUES, 50.0, share=0.05)
        plan_mean({50.0: 3000}, share=0.05)


def test_the_range_of_private_budgets_is_checked_before_a_ledger_reserves_anything(tmp_path: Path) -> None:
    ids = [str(number) for number in range(VALUES.size)]
    with Ledger(tmp_path / "people.db") as ledger, warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        with pytest.raises(BudgetWarning, match=r"0\.1 to 100"):
            estimate_mean(
                VALUES, 1.0, model="unbounded", budget_range=(0.1, 100.0), ledger=ledger, purpose="test", person=ids
            )
        assert not ledger.releases()


def test_the_warning_comes_before_anything_is_drawn() -> None:
    with warnings.catch_warnings(), mock.patch.object(Randomness, "add_laplace", side_effect=AssertionError):
        warnings.simplefilter("error", BudgetWarning)
        with pytest.raises(BudgetWarning):
            estimate_mean(VALUES, IDS, model="unbounded", budget_range=(1, 3000))
