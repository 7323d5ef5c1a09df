"""If NumPy is set to raise, estimates and plans still do not, nor does anything that reads them."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pdpmean import (
    BudgetWarning,
    InsufficientBudgetError,
    MeanEstimate,
    Plan,
    PopulationWarning,
    Randomness,
    estimate_mean,
    lower_bound,
    paper,
    plan_mean,
)
from pdpmean.core.types import Counts
from pdpmean.passes import summing
from pdpmean.passes.batch import Batch
from pdpmean.results.grouped_estimate import GroupedEstimate
from pdpmean.study import baselines
from pdpmean.study.compare import compare
from pdpmean.study.what_if import what_if

PEOPLE, BUDGET = 120, 64.0
QUIET = dict.fromkeys(("divide", "over", "under", "invalid"), "ignore")
MODELS: dict[str, dict[str, Any]] = {
    "bounded": {},
    "unbounded": {"model": "unbounded", "budget_range": (1.0, BUDGET)},
}
LEVELS = (0.01, 0.5, 0.95, 1 - 1e-15)

every_case = pytest.mark.parametrize(
    ("model", "shape"), [(model, shape) for model in MODELS for shape in ("gaussian", "any")]
)


@pytest.fixture(autouse=True)
def raising() -> Iterator[None]:
    with np.errstate(all="raise"):
        yield


def columns() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    normal = rng.normal(size=PEOPLE)
    scaled = {f"{scale:g}": normal * scale for scale in (2.0**-1074, 1e-310, 1e-300, 1e-160, 1.0, 1e150, 1e300)}
    return scaled | {
        "tiny and huge": normal * np.where(rng.random(PEOPLE) < 0.5, 1e-300, 1e300),
        "all sizes": normal * 10.0 ** rng.integers(-300, 300, PEOPLE),
        "far": 1e300 + normal,
        "equal": np.zeros(PEOPLE),
        "missing": np.full(PEOPLE, math.nan),
        "infinite": np.full(PEOPLE, math.inf),
    }


COLUMNS = columns()


def read(result: MeanEstimate) -> None:
    for level in LEVELS:
        low, high = result.law.interval(level)
        assert low <= high
    assert result.law.cdf(result.released_mean) >= 0
    assert all([str(result), repr(result), result._repr_html_(), result.to_dict(), pickle.dumps(result)])
    read_plan(result.plan)


def read_plan(plan: Plan) -> None:
    assert plan.half_width(0.999) > 0
    assert plan.lower_bound is None or plan.lower_bound >= 0
    assert plan.ratio_to_lower_bound is None or plan.ratio_to_lower_bound > 0
    assert 0 <= plan.failure_probability(1e300) <= 1
    assert all([str(plan), repr(plan), plan._repr_html_(), plan.to_dict()])


def read_groups(result: GroupedEstimate) -> None:
    for level in LEVELS:
        assert all(low <= high for low, high in result.intervals(level).values())
        assert len(result.rows(level)) == len(result.groups)
    assert all([str(result), repr(result), result._repr_html_(), result.to_dict(), result.to_arrow().num_rows])
    for estimate in result.values():
        read(estimate)


@every_case
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_an_estimate_raises_no_arithmetic_error(column: str, model: str, shape: Any) -> None:
    for bounds in (None, (-1.0, None), (None, 1e300), (-1e300, 1e300)):
        options: dict[str, Any] = {"shape": shape, "bounds": bounds, **MODELS[model]}
        read(estimate_mean(COLUMNS[column], BUDGET, randomness=Randomness.seeded(1), **options))


@every_case
@pytest.mark.parametrize("column", ["1e-310", "1e+300", "all sizes", "far", "infinite"])
@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_estimates_by_group_raise_no_arithmetic_error(column: str, model: str, shape: Any) -> None:
    grouped: dict[str, Any] = {"by": np.arange(PEOPLE) % 2, "groups": [0, 1, 2], "shape": shape, **MODELS[model]}
    result = estimate_mean(COLUMNS[column], BUDGET, randomness=Randomness.seeded(1), **grouped)
    assert 2 in result.refused
    read_groups(result)


@pytest.mark.parametrize("shape", ["gaussian", "any"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"model": "unbounded", "budget_range": (2.0**-40, 2.0**40)},
        {"model": "unbounded", "budget_range": (0.1, 0.1)},
    ],
    ids=["bounded", "unbounded", "equal"],
)
@pytest.mark.parametrize(
    "people",
    [
        {2.0**-40: 10**15, 2.0**40: 1},
        {1e-300: 10, 1e300: 10},
        {math.inf: 1000},
        {math.inf: 1, 1e-12: 10**14},
        {5e-324: 10**10},
        {1.0: 10**18},
    ],
    ids=str,
)
def test_a_plan_raises_no_arithmetic_error(people: dict[float, int], options: dict[str, Any], shape: Any) -> None:
    outcome = plan_or_refusal(people, shape=shape, **options)
    if isinstance(outcome, Plan):
        read_plan(outcome)
        assert what_if(outcome)
    else:
        assert outcome.needed > 0


def plan_or_refusal(people: dict[float, int], **options: Any) -> Plan | InsufficientBudgetError:
    try:
        plan: Plan = plan_mean(people, **options)
    except InsufficientBudgetError as refusal:
        return refusal
    return plan


def test_estimates_to_compare_with() -> None:
    for model, options in MODELS.items():
        found = compare({1.0: 3000, 50.0: 200}, runs=1, **options)
        assert {one.name for one in found.methods} >= {"pdpmean", "paper"}, model
    values = np.random.default_rng(1).normal(size=4000) * 1e-300
    for estimate in (baselines.minimum_mean, baselines.threshold_mean, baselines.sampling_mean):
        assert math.isfinite(estimate(values, np.full(4000, 2.0), randomness=Randomness.seeded(1)).released_mean)
    assert math.isfinite(paper.mean_bounded(values, np.full(4000, 2.0), randomness=Randomness.seeded(1)))
    assert lower_bound({2.0**-40: 10**15, 1e300: 1}) >= 0


def test_every_step_of_an_estimate_is_quiet_in_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in threads, which would by themselves warn as NumPy does."""
    states: list[dict[str, Any]] = []
    plain = summing.Summing.tally

    def tally(rule: summing.Summing, batch: Batch, table: Counts) -> None:
        states.append(dict(np.geterr()))
        plain(rule, batch, table)

    monkeypatch.setattr(summing.Summing, "tally", tally)
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 30)
    values = np.random.default_rng(1).normal(size=PEOPLE)
    estimate_mean(values, BUDGET, randomness=Randomness.seeded(1), progress=lambda *_: states.append(dict(np.geterr())))
    assert len(states) > 8
    assert all(state == QUIET for state in states)


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_afterwards_numpy_does_as_it_was_asked_to() -> None:
    estimate_mean(COLUMNS["1"], BUDGET, bounds=(-1, 1), randomness=Randomness.seeded(1))
    with pytest.raises(InsufficientBudgetError):
        estimate_mean([1.0], 1.0)
    assert set(np.geterr().values()) == {"raise"}


def test_a_warning_is_about_the_line_that_asked_for_the_estimate() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate_mean(np.zeros(1000), BUDGET, randomness=Randomness.seeded(1))
    assert {Path(warning.filename) for warning in caught} == {Path(__file__)}
    assert [warning.category for warning in caught] == [BudgetWarning, PopulationWarning]
