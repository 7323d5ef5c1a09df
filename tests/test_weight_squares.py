"""The squares of the weights: released at exactly their price, where the plan has a share for them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from by_budgets import plan_mean
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from recorder import Recorder
from rules import cell_counts_of

from pdpmean import Randomness
from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.core.types import Floats
from pdpmean.passes.cells import CellCounts
from pdpmean.planning.plan import Shares
from pdpmean.release.group import Group
from pdpmean.release.weight_squares import noisy_squares, weight_squares

UNBOUNDED = make_model("unbounded", (0.0625, 1.0))
PEOPLE: NDArray[np.float64] = np.repeat([0.0625, 0.5, 1.0], [800, 600, 100])
PLAN = plan_mean({0.0625: 8000, 0.5: 6000, 1.0: 1000}, model="unbounded", budget_range=(0.0625, 1.0))


def cell_counts(budgets: Floats, model: Model = UNBOUNDED) -> CellCounts:
    return cell_counts_of(budgets, model)


@pytest.mark.parametrize("cap", [0.25, 50.0])
def test_the_squares_of_the_weights(cap: float) -> None:
    recorder, plan = Recorder(), replace(PLAN, weight_cap=cap)
    people = cell_counts(PEOPLE)
    squares = noisy_squares(people, plan, recorder)
    share = float(plan.shares["sum"])
    weights = np.minimum(PEOPLE * share, cap)
    # All three budgets start a cell; others are taken to be at its middle.
    assert squares == pytest.approx(float((weights**2).sum()) * people.middle_over_low**2, rel=1e-9)
    ((total, scale),) = recorder.asked
    largest = min(cap, share)
    unit = scale * float(plan.shares["weight_squares"]) / share  # one nat of weight
    assert total / unit == pytest.approx(float((weights**2).sum()) / largest, rel=1e-9)


def test_no_squares_without_a_share_for_them() -> None:
    recorder = Recorder()
    group = Group(cell_counts(PEOPLE, BOUNDED), plan_mean({0.5: 9000}))
    assert weight_squares([group], recorder)[0].weight_squares is None
    assert recorder.asked == []


@given(st.lists(st.floats(), max_size=30), st.floats(), st.floats(2.0**-30, 50.0))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_one_more_person_pays_at_most_the_share_of_the_squares(budgets: list[float], more: float, cap: float) -> None:
    before, after, plan = Recorder(), Recorder(), replace(PLAN, weight_cap=cap)
    noisy_squares(cell_counts(np.array(budgets)), plan, before)
    noisy_squares(cell_counts(np.array([*budgets, more])), plan, after)
    ((one, scale),), ((other, same),) = before.asked, after.asked
    granted = Fraction(min(more, 1.0)) if more >= 0.0625 else Fraction(0)
    assert scale == same
    assert Fraction(abs(one - other)) / Fraction(scale) <= plan.shares["weight_squares"] * granted


@pytest.mark.parametrize("budget_range", [(2.0**-40, 2.0**40), (2.0**-40, 2.0**-39), (1e-6, 1e-5), (3.0, 1e300)])
def test_squares_in_any_range(budget_range: tuple[float, float]) -> None:
    model = make_model("unbounded", budget_range)
    tiny = Shares({"sum": 1 - Fraction(1, 2**20), "weight_squares": Fraction(1, 2**20)})
    plan = replace(PLAN, model=model, shares=tiny)
    squares = noisy_squares(cell_counts(np.full(10, budget_range[0]), model), plan, Randomness.seeded(1))
    assert math.isfinite(squares)
