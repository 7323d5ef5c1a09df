"""Comparisons: repeatable, on the same samples for all, honest about refusals, and right where the answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NoReturn

import numpy as np
import pytest
from scipy.stats import kstest

from pdpmean import BudgetWarning, InsufficientBudgetError, InvalidInputError, Randomness, lower_bound
from pdpmean.core.profile import Profile
from pdpmean.core.types import Floats
from pdpmean.results.comparison import Comparison, MethodRuns
from pdpmean.study.baselines import best_clip
from pdpmean.study.compare import METHODS, compare, standard_normals

TIERS = {0.1: 2000, 0.5: 1500, 1.0: 500}


def test_a_seed_repeats_a_comparison_and_another_seed_differs() -> None:
    first, again, other = (compare(TIERS, runs=2, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first.methods[0].errors != other.methods[0].errors


def test_every_method_answers_in_both_models() -> None:
    for model, public in (("bounded", None), ("unbounded", (0.1, 1.0))):
        found = compare(TIERS, runs=2, model=model, budget_range=public)
        assert [one.name for one in found.methods] == list(METHODS)
        assert {one.runs for one in found.methods} == {2}
        assert found.lower_bound == lower_bound(TIERS, model=model)
        assert (found.model, found.people, found.runs) == (model, 4000, 2)


def test_tiers_are_as_many_people() -> None:
    budgets = np.repeat(list(TIERS), list(TIERS.values()))
    assert compare(budgets, runs=1, methods=["oracle"]) == compare(TIERS, runs=1, methods=["oracle"])


def test_the_oracle_is_as_good_as_predicted() -> None:
    found = compare({0.1: 2000}, runs=400, methods=["oracle"]).methods[0]
    predicted = best_clip(Profile(np.array([0.05]), np.array([2000.0]))).error
    inside = np.mean(np.array(found.errors) <= predicted)
    assert 0.75 - 0.08 < inside < 0.75 + 0.08  # 3.7 standard errors
    # and not if the noise were off by a third
    assert np.mean(np.array(found.errors) <= predicted / 1.5) < 0.67


def test_a_method_that_always_refuses_is_soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def refusing(*_: object, **__: object) -> NoReturn:
        calls.append(1)
        raise InsufficientBudgetError("no", total=1.0, needed=2.0, failure_probability=1.0)

    monkeypatch.setattr("pdpmean.study.compare.estimate_mean", refusing)
    found = compare({0.1: 100}, runs=12, methods=["pdpmean"]).methods[0]
    assert (found.refused, found.errors) == (12, ())
    assert found.error == math.inf
    assert math.isnan(found.misses)
    assert len(calls) == 5


def test_too_little_budget_is_refused() -> None:
    found = compare({0.1: 100}, runs=2, methods=["pdpmean", "oracle"])
    assert [one.refused for one in found.methods] == [2, 0]


def test_the_error_is_what_one_run_in_four_exceeds() -> None:
    assert MethodRuns("x", (1.0, 2.0, 3.0, 4.0, 5.0), 0).error == 4.0
    assert MethodRuns("x", (1.0, 2.0, 3.0), 1).error == math.inf
    assert MethodRuns("x", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0), 1).error == 7.0
    assert MethodRuns("x", (math.nan, 0.1), 0).error == math.inf
    assert MethodRuns("x", (0.5, 2.0, math.nan, 0.2), 0).misses == 0.5


def test_the_error_lies_in_its_interval_as_often_as_it_should() -> None:
    truth = -math.log(0.25)  # of exponential errors, one in four exceeds this
    drawn = np.random.default_rng(3).exponential(size=(2000, 60))
    intervals = [MethodRuns("x", tuple(errors), 0).error_interval for errors in drawn.tolist()]
    covered = np.mean([low <= truth <= high for low, high in intervals])
    assert 0.94 < covered < 0.985
    shrunk = np.mean([low <= 1.5 * truth <= high for low, high in intervals])
    assert shrunk < 0.6


def test_few_runs_leave_the_error_open() -> None:
    assert MethodRuns("x", (0.5,), 0).error_interval == (0.0, math.inf)
    low, high = MethodRuns("x", tuple(range(1, 101)), 0).error_interval
    assert (low, high) == (66.0, 85.0)
    assert MethodRuns("x", tuple(range(1, 81)), 20).error_interval[1] == math.inf


def test_rows_are_over_the_lower_bound() -> None:
    found = Comparison((MethodRuns("oracle", (2.0,), 1),), 0.5, "bounded", 10, 2, 10.0, 0)
    assert found.rows() == [
        {
            "method": "oracle",
            "error": math.inf,
            "error_interval": [0.0, math.inf],
            "over_bound": math.inf,
            "misses": 1.0,
            "refused": 0.5,
        }
    ]
    assert found.to_dict()["methods"] == found.rows()


def test_progress_is_reported_after_every_run() -> None:
    told: list[tuple[str, int, int | None]] = []
    compare({0.5: 1000}, runs=3, methods=["oracle"], progress=lambda *step: told.append(step))
    assert told == [("run", 1, 3), ("run", 2, 3), ("run", 3, 3)]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (lambda: compare(TIERS, runs=0), "runs"),
        (lambda: compare({0.1: 10**9}), "at most 2,000,000 people in total to be simulated; got 1,000,000,000$"),
        (lambda: compare({0.1: 5, 1: -3}), "^numbers of people must be >= 0; got -3$"),
        (lambda: compare({0.1: math.nan}), "^numbers of people must be >= 0; got nan$"),  # type: ignore[dict-item]
        (lambda: compare(TIERS, methods=["magic"]), "there is no method 'magic'"),
        (lambda: compare(TIERS, model="unbounded"), "budget_range"),
        (lambda: compare(TIERS, seed=0.5), "seed"),  # type: ignore[arg-type]
    ],
)
def test_what_is_wrong_is_said(wrong: Callable[[], object], text: str) -> None:
    with pytest.raises(InvalidInputError, match=text):
        wrong()


def test_simulated_people_are_normal() -> None:
    drawn: Floats = standard_normals(Randomness.seeded(1), 20_000)
    assert kstest(drawn, "norm").pvalue > 1e-3
    assert kstest(drawn * 1.05, "norm").pvalue < 1e-3


def test_budgets_that_look_wrong_are_warned_of_once() -> None:
    with pytest.warns(BudgetWarning, match="3 of 303 are above 5") as caught:
        compare({1.0: 300, 50.0: 3}, runs=3, methods=("pdpmean", "minimum"))
    assert len(caught) == 1
