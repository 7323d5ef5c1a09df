"""The two models: allowances by hand, and errors that say what to do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pdpmean import InvalidInputError
from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.sources.private_columns import records

RANGE = (0.125, 2.0)


def test_bounded_halves_every_budget() -> None:
    # Replacing is removing and adding: each may cost half.
    assert BOUNDED.allowances(np.array([0.0, 0.3, 5.0, math.inf])).tolist() == [0.0, 0.15, 2.5, math.inf]
    assert BOUNDED.budget_per_allowance == 2
    assert BOUNDED.largest_allowance == math.inf


def test_unbounded_takes_budgets_inside_the_public_range() -> None:
    model = make_model("unbounded", RANGE)
    budgets = np.array([math.nan, -1.0, 0.0, 0.1249, 0.125, 0.7, 2.0, 2.5, math.inf])
    assert model.allowances(budgets).tolist() == [0.0, 0.0, 0.0, 0.0, 0.125, 0.7, 2.0, 2.0, 2.0]
    assert model.budget_per_allowance == 1
    assert model.largest_allowance == 2.0


def test_make_model_makes_both_models() -> None:
    assert make_model("bounded", None) == BOUNDED
    assert make_model("unbounded", RANGE) == Model("unbounded", RANGE)


@pytest.mark.parametrize(
    ("name", "budget_range", "at_fault", "message"),
    [
        ("both", None, "model", "model must be 'bounded' or 'unbounded'; got 'both'"),
        ("unbounded", None, "budget_range", r"needs budget_range=\(smallest, largest\)"),
        ("bounded", RANGE, "budget_range", "budget_range goes with model='unbounded'"),
        ("unbounded", (2.0, 1.0), "budget_range", "smallest <= largest"),
        ("unbounded", (0.0, 1.0), "budget_range", "0 < smallest"),
        ("unbounded", ("0.1", "1"), "budget_range", "0 < smallest"),
        ("unbounded", (True, 2), "budget_range", "0 < smallest"),
        ("unbounded", (1.0, math.inf), "budget_range", "largest < inf"),
        ("unbounded", (2.0**-41, 1.0), "budget_range", "must start between"),
    ],
)
def test_what_does_not_go_together(name: str, budget_range: Any, at_fault: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        make_model(name, budget_range)
    assert caught.value.name == at_fault


def test_records_are_checked_only_where_budgets_are_public() -> None:
    values, budgets = records(BOUNDED, [1.0, 2.0], 0.5)
    assert (values.tolist(), budgets.tolist()) == ([1.0, 2.0], [0.5, 0.5])
    with pytest.raises(InvalidInputError, match="record 1 has -1"):
        records(BOUNDED, [1.0, 2.0], [0.5, -1.0])
    _, private = records(make_model("unbounded", RANGE), [1.0, 2.0], [0.5, -1.0])
    assert private.tolist() == [0.5, -1.0]
