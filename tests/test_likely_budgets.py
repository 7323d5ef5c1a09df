"""Columns of budgets that hold something else are noticed before anything is drawn."""

from __future__ import annotations

import math
import warnings
from typing import Any
from unittest import mock

import numpy as np
import pytest

from pdpmean import BudgetWarning, Randomness, estimate_mean

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
def test_budgets_are_not(budgets: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        assert estimate_mean(VALUES, budgets).mean == pytest.approx(38, abs=3)


def test_of_private_budgets_the_range_alone_decides() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        assert estimate_mean(VALUES, IDS, model="unbounded", budget_range=(1, 5)).mean == pytest.approx(38, abs=3)
        with pytest.raises(BudgetWarning, match="1 to 21 reaches above 5"):
            estimate_mean(VALUES, 1.0, model="unbounded", budget_range=(1, 21))


def test_the_warning_comes_before_anything_is_drawn() -> None:
    with warnings.catch_warnings(), mock.patch.object(Randomness, "add_laplace", side_effect=AssertionError):
        warnings.simplefilter("error", BudgetWarning)
        with pytest.raises(BudgetWarning):
            estimate_mean(VALUES, IDS, model="unbounded", budget_range=(1, 3000))
