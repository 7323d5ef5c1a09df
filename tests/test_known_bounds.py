"""Values between known bounds, from end to end: yes and no, ratings, missing values; options, plans and words."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from scipy.stats import binom, chi2

from pdpmean import (
    InsufficientBudgetError,
    InvalidInputError,
    MeanEstimate,
    Plan,
    PopulationWarning,
    Randomness,
    estimate_mean,
    plan_mean,
)
from pdpmean.core.bounds import GivenBounds
from pdpmean.core.choices import Choices
from pdpmean.core.options import check_options
from pdpmean.core.types import Floats
from pdpmean.planning.census import census_of_tiers
from pdpmean.planning.make import plan_groups
from pdpmean.randomness import laplace_scale
from pdpmean.release import squares
from pdpmean.show.plots import plot_plan
from pdpmean.study.what_if import what_if

pytestmark = pytest.mark.usefixtures("remembered_plans")

UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.05, 1.0)}
MODELS: dict[str, dict[str, Any]] = {"bounded": {}, "unbounded": UNBOUNDED}
both_models = pytest.mark.parametrize("model", MODELS)
YES = 0.37


def seeded(values: Any, budgets: Any, seed: int = 1, **options: Any) -> MeanEstimate:
    found: MeanEstimate = estimate_mean(values, budgets, randomness=Randomness.seeded(seed), **options)
    return found


# --- answers --------------------------------------------------------------------------------------------------------


def answers(people: int, seed: int) -> Floats:
    """Yes or no of some of a large population."""
    return (np.random.default_rng(seed).random(people) < YES).astype(np.float64)


def ratings(people: int, seed: int) -> Floats:
    """From 1 to 5, of mean 3.55; a fifth is missing."""
    rng = np.random.default_rng(seed)
    values = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], people, p=[0.05, 0.1, 0.3, 0.35, 0.2])
    return np.where(rng.random(people) < 0.2, math.nan, values)


RUNS = 150


def covered(run: Callable[[int], MeanEstimate], truth: float) -> int:
    """How many of some 90 % intervals hold the truth."""
    intervals = [run(seed).interval(0.9) for seed in range(RUNS)]
    return sum(low <= truth <= high for low, high in intervals)


LEAST_COVERED = int(binom.ppf(0.001, RUNS, 0.88))


def yes_or_no(seed: int) -> MeanEstimate:
    return seeded(answers(200, seed), 0.1, seed, bounds=(0, 1))


def rated(seed: int) -> MeanEstimate:
    return seeded(ratings(600, seed), np.tile([0.1, 0.2, 0.5], 200), seed, bounds=(1, 5))


def rated_unbounded(seed: int) -> MeanEstimate:
    return seeded(ratings(600, seed), np.tile([0.1, 0.2, 0.5], 200), seed, bounds=(1, 5), **UNBOUNDED)


CASES: dict[str, tuple[Callable[[int], MeanEstimate], float]] = {
    "yes and no": (yes_or_no, YES),
    "ratings, a fifth missing": (rated, 3.55),
    "ratings, unbounded": (rated_unbounded, 3.55),
}


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("case", CASES)
def test_intervals_cover(case: str) -> None:
    """A total of 20 is enough for yes and no; and noise of four times its scale is noticed."""
    run, truth = CASES[case]
    assert covered(run, truth) >= LEAST_COVERED
    with mock.patch.object(squares, "laplace_scale", lambda size, part: 4 * laplace_scale(size, part)):
        assert covered(run, truth) < LEAST_COVERED


def test_twenty_in_all_answer_yes_or_no() -> None:
    for seed in range(20):
        found = yes_or_no(seed)
        low, high = found.interval()
        assert 0 <= low < found.mean < high <= 1
        assert high - low < 0.55
        assert found.plan.total == pytest.approx(20.0, rel=0.01)
        assert found.warnings == ()


def test_ratings_of_many_are_exact_to_a_hundredth() -> None:
    found = seeded(ratings(200_000, 3), 0.5, bounds=(1, 5))
    assert found.mean == pytest.approx(3.55, abs=0.015)
    assert found.missing == pytest.approx(0.2, abs=0.005)
    assert found.scale == pytest.approx(1.07, abs=0.05)
    low, high = found.interval(0.99)
    assert low < 3.55 < high
    assert high - low < 0.03


@both_models
def test_booleans_are_yes_and_no(model: str) -> None:
    said = answers(2000, 5)
    numbers = seeded(said, 0.5, bounds=(0, 1), **MODELS[model])
    for values in (said.astype(bool), said.astype(bool).tolist(), said.astype(int)):
        assert seeded(values, 0.5, bounds=(0, 1), **MODELS[model]).to_dict() == numbers.to_dict()
    assert numbers.mean == pytest.approx(YES, abs=0.06)


@both_models
def test_values_beyond_count_as_the_bound(model: str) -> None:
    values = np.array([-math.inf, -7.0, 0.5, 3.0, math.inf] * 200)
    clipped = seeded(np.clip(values, 0, 1), 0.5, bounds=(0, 1), **MODELS[model])
    assert seeded(values, 0.5, bounds=(0, 1), **MODELS[model]).to_dict() == clipped.to_dict()


@both_models
def test_missing_values_are_left_out(model: str) -> None:
    """Of the others the mean is 0.75, whatever part they are; a gap this large would be seen."""
    values = np.tile([1.0, 1.0, 1.0, 0.0, math.nan], 4000)
    found = seeded(values, 0.5, bounds=(0, 1), **MODELS[model])
    assert found.mean == pytest.approx(0.75, abs=0.02)
    assert found.missing == pytest.approx(0.2, abs=0.01)


@both_models
@pytest.mark.parametrize(("missing", "warned"), [(0.3, False), (0.7, True)])
def test_more_than_half_missing_warns(model: str, missing: float, warned: bool) -> None:
    values = np.where(np.arange(10_000) < 10_000 * missing, math.nan, 0.7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = seeded(values, 0.5, bounds=(0, 1), **MODELS[model])
    assert [warning.category for warning in caught] == [PopulationWarning] * warned
    assert ["more than half" in text for text in found.warnings] == [True] * warned


@pytest.mark.parametrize("seed", range(6))
@both_models
def test_nothing_but_missing_values_is_no_answer(model: str, seed: int) -> None:
    """A column of text in a file without types, say: the middle of the bounds would otherwise be sold as its mean."""
    with pytest.warns(PopulationWarning, match="no answer: more than half of the values seem to be missing"):
        found = seeded([None] * 2000, 0.5, seed, bounds=(0, 1), **MODELS[model])
    low, high = found.law.interval(0.95)
    assert 0 <= low <= found.released_mean <= high <= 1
    assert high - low > 0.4
    assert found.contradicted
    assert all(math.isnan(number) for number in (found.mean, *found.interval()))


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_the_total_weight_is_exact() -> None:
    """Not what cells of budgets add up to: with everybody at an end, that would move the mean."""
    budgets = np.full(400_000, 0.1013)
    found = seeded(np.ones(400_000), budgets, bounds=(-1, 1))
    assert found.mean > 1 - 1e-3


def test_groups() -> None:
    labels = np.tile(["a", "b", "few"], 3000)[:8000]
    values = np.where(labels == "a", 0.2, 0.8)
    budgets = np.where(labels == "few", 0.001, 0.5)
    found = estimate_mean(
        values, budgets, by=labels, groups=["a", "b", "few"], bounds=(0, 1), randomness=Randomness.seeded(3)
    )
    assert {group: round(found[group].mean, 1) for group in found} == {"a": 0.2, "b": 0.8}
    assert "not enough" in found.refused["few"]
    rows = found.rows(0.8)
    assert (rows[0]["low"], rows[0]["high"]) == found["a"].interval(0.8)
    assert rows[0]["missing"] < 0.01
    assert rows[2]["missing"] is None
    assert found.to_arrow().column("missing").to_pylist() == [row["missing"] for row in rows]


# --- words ----------------------------------------------------------------------------------------------------------


def test_yes_and_no_are_told_as_a_percentage() -> None:
    found = seeded(answers(20_000, 1), 0.5, bounds=(0, 1))
    mean, (low, high) = 100 * found.mean, found.interval(0.8)
    text = " ".join(found.text(0.8).split())
    assert f"as a percentage {mean:.2f} %, 80 % interval {100 * low:.2f} to {100 * high:.2f} %" in text
    for bounds in ((0, 2), (0, None), None):
        assert "as a percentage" not in str(seeded(answers(20_000, 1), 0.5, bounds=bounds))


def test_what_is_missing_is_told() -> None:
    found = seeded(ratings(20_000, 1), 0.5, bounds=(1, 5))
    assert "about 20 % of the values" in str(found)
    assert found.to_dict()["missing"] == found.missing
    assert json.loads(json.dumps(found.to_dict()))["bounds"] == [1.0, 5.0]
    for bounds in ((1, None), (None, 5), None):
        assert "about 20 % of the values" in str(seeded(ratings(20_000, 1), 0.5, bounds=bounds))


@both_models
def test_results_are_equal_after_pickling(model: str) -> None:
    found = seeded(ratings(2000, 1), 0.5, bounds=(1, 5), **MODELS[model])
    again = pickle.loads(pickle.dumps(found))
    assert again.law == found.law
    assert again.to_dict() == found.to_dict()


# --- options --------------------------------------------------------------------------------------------------------


def test_bounds_decide_on_what_an_estimate_goes_by_unless_it_is_a_bell() -> None:
    assert check_options().shape == "any"
    given: list[GivenBounds] = [(0, 1), [0, 1]]
    for bounds in given:
        assert check_options(bounds=bounds).shape == "bounds"
        assert check_options(shape="gaussian", bounds=bounds).shape == "gaussian"
    for bounds in [(0, None), (None, 1), (0, math.inf), (-math.inf, 1), (None, None)]:
        assert check_options(bounds=bounds).shape == "any"
        assert check_options(shape="gaussian", bounds=bounds).shape == "gaussian"


@pytest.mark.parametrize("pair", [((0, None), (0.0, math.inf)), ((None, 9), [-math.inf, 9.0]), ((None, None), None)])
def test_an_infinite_end_is_none(pair: Any) -> None:
    values = np.random.default_rng(1).uniform(2.0, 4.0, 20_000)
    one, other = (seeded(values, 0.5, bounds=bounds) for bounds in pair)
    assert one.to_dict() == other.to_dict()
    assert one.mean == pytest.approx(3.0, abs=0.03)


@both_models
def test_two_bounds_far_beyond_the_values_cost_next_to_nothing(model: str) -> None:
    """With enough budget the clip is where the values are; with little the bounds are all there is."""
    values = np.random.default_rng(1).normal(50.0, 5.0, 20_000)
    found = seeded(values, 0.5, bounds=(0, 1e6), **MODELS[model])
    assert found.plan.shape == "any"
    assert abs(found.mean - 50.0) < 4.5 * found.std < 1.0
    assert plan_mean({0.5: 100}, bounds=(0, 1e6), **MODELS[model]).shape == "bounds"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": "bounds"}, "shape must be 'any' or 'gaussian'; got 'bounds'"),
        ({"shape": "bounds", "bounds": (0, 1)}, "shape must be 'any' or 'gaussian'; got 'bounds'"),
        ({"bounds": (1, 0)}, r"bounds must be numbers \(low, high\) with low < high"),
        ({"bounds": (0, math.nan)}, "bounds must be"),
        ({"bounds": (0, 10**400)}, "bounds must be"),
        ({"bounds": (0, 1, 2)}, "bounds must be"),
        ({"bounds": (0, 1), "choices": Choices(clip_half_width=2.0)}, "apply only to shape='gaussian'"),
    ],
)
def test_what_is_wrong_is_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        plan_mean({0.5: 900}, **options)


# --- plans ----------------------------------------------------------------------------------------------------------


def by_hand(plan: Plan, noise: float) -> tuple[float, float]:
    """Noise and sampling error, for values that are spread evenly over 2 to either side."""
    return 2 * noise / plan.mean.weight, 2 / math.sqrt(3) * math.sqrt(plan.mean.square) / plan.mean.weight


def test_a_plan_by_hand() -> None:
    plan = plan_mean({0.1: 1000}, bounds=(1, 5))
    assert plan.mean.weight == pytest.approx(50.0)
    assert plan.shares == {"sum": 1}
    assert (plan.noise_scale, plan.sampling_std) == pytest.approx(by_hand(plan, 1.0))
    private = plan_mean({0.1: 1000}, bounds=(1, 5), weighting="budgets", **UNBOUNDED)
    assert private.mean.weight == pytest.approx(100 * float(private.shares["sum"]))
    assert private.shares.keys() == {"census", "weight_squares", "sum"}
    assert (private.noise_scale, private.sampling_std) == pytest.approx(by_hand(private, math.sqrt(2)))
    assert plan.failure_probability(1e300) == private.failure_probability() == 0


def test_a_chosen_saturation_is_kept() -> None:
    plan = plan_mean({0.1: 1000, 5.0: 10}, bounds=(0, 1), choices=Choices(saturation=0.2), weighting="budgets")
    assert plan.saturation == pytest.approx(0.2)
    assert plan.mean.weight == pytest.approx(1000 * 0.05 + 10 * 0.1)


def test_six_nats_are_needed() -> None:
    assert plan_mean({0.1: 120}, bounds=(0, 1)).mean.weight == pytest.approx(6.0)
    with pytest.raises(
        InsufficientBudgetError, match=r"a total budget of 11 is not enough .* About 12 would be"
    ) as few:
        plan_mean({0.1: 110}, bounds=(0, 1))
    assert few.value.failure_probability == 0
    assert few.value.needed == pytest.approx(12, rel=0.05)


def test_a_total_of_twenty_is_enough_in_tiers() -> None:
    plan = plan_mean({0.1: 33, 0.5: 23, 1.0: 6}, bounds=(0, 1))
    assert plan.expected_std < 0.15


def test_plans_of_groups_are_those_of_each() -> None:
    options = check_options(bounds=(0, 1))
    censuses = [census_of_tiers({0.5: people}, options.model, Fraction(0)) for people in (20, 10_000, 10_100)]
    refused, *plans = plan_groups(censuses, options)
    assert isinstance(refused, InsufficientBudgetError)
    assert plans == [plan_mean({0.5: people}, bounds=(0, 1)) for people in (10_000, 10_100)]


def test_a_plan_speaks_of_the_values_unit() -> None:
    """Whether the population is located, which larger budgets pay for, or not."""
    for factor, shape in ((1, "bounds"), (20, "any")):
        plan = plan_mean({0.1: 5400 * factor, 1.0: 900 * factor}, bounds=(1, 5))
        assert plan.shape == shape
        text = str(plan)
        assert not any(word in text for word in ("standard deviations", "miss", "any private method"))
        found = plan.to_dict()
        assert found["errors_in"] == "the values' unit"
        assert found["lower_bound"] is None
        assert plan.without_privacy == pytest.approx(2 / math.sqrt(3 * 6300 * factor))
    assert plan_mean({1.0: 900}).to_dict()["errors_in"] == "standard deviations"


@pytest.mark.parametrize(
    ("bounds", "people", "located"),
    [
        ((0, 1), 1000, False),  # a share fills its bounds
        ((1, 5), 1000, False),
        ((0, 168), 1000, True),
        ((0, 168), 200, False),  # there is no budget to spare
        ((0, 1), 100_000, True),  # locating costs next to nothing
    ],
)
def test_wide_bounds_are_worth_locating(bounds: Any, people: int, located: bool) -> None:
    plan = plan_mean({0.5: people}, bounds=bounds)
    assert ("histogram" in plan.shares) == located


def test_shares_of_an_entry_are_never_located() -> None:
    estimate = estimate_mean(["yes", "no"] * 50_000, 0.5, equals="yes", randomness=Randomness.seeded(1))
    assert set(estimate.plan.shares) == {"sum"}


@pytest.mark.filterwarnings("ignore:next to nothing is known:pdpmean.PopulationWarning")
@both_models
def test_wide_bounds_with_little_budget_are_measured_from_the_lower_one(model: str) -> None:
    rng = np.random.default_rng(4)
    people = 1000 if model == "bounded" else 600
    bells = [rng.normal(171, 9, people) for _ in range(30)]
    found = [seeded(bell, 0.5, seed=seed, bounds=(0.0, 1000.0), **(MODELS[model])) for seed, bell in enumerate(bells)]
    assert all(estimate.center == 0.0 for estimate in found)
    assert np.median([abs(estimate.mean - 171) for estimate in found]) < 4.0  # without locating, some 3 times that
    held = [estimate.interval(0.95)[0] <= 171 <= estimate.interval(0.95)[1] for estimate in found]
    assert sum(held) >= 26


@both_models
def test_errors_are_told_for_values_that_fill_the_bounds(model: str) -> None:
    rating = plan_mean({0.1: 5400, 1.0: 900}, bounds=(1, 5), **MODELS[model])
    even, widest = rating.expected_by_shape.items()
    assert even == ("spread evenly between the bounds", pytest.approx(rating.expected_std))
    assert widest[0] == "half are at either bound"
    assert widest[1] == pytest.approx(math.hypot(rating.noise_std, math.sqrt(3) * rating.sampling_std))
    assert f"at most {widest[1]:.4g} if half are at either bound" in str(rating)
    asked = plan_mean({0.1: 5400, 1.0: 900}, bounds=(0, 1), **MODELS[model])
    half, few = asked.expected_by_shape.items()
    assert half == ("half are yes and half are no", pytest.approx(asked.expected_std))
    assert few[1] == pytest.approx(math.hypot(asked.noise_std, 0.6 * asked.sampling_std))
    assert f"at most {asked.expected_std:.4g} in the values' unit, if half are yes" in str(asked)
    assert plan_mean({0.1: 5400, 1.0: 900}, equals="yes", **MODELS[model]) == asked


# Populations that fill their bounds as a plan expects it, or nearly.
AS_EXPECTED: dict[str, tuple[GivenBounds, Callable[[int, int], Floats], float]] = {
    "yes and no": ((0, 1), answers, YES),
    "evenly": ((-2, 2), lambda people, seed: np.random.default_rng(seed).uniform(-2, 2, people), 0.0),
}


@pytest.mark.parametrize("people", [6_600, 22_500])  # of which the first are not located
@pytest.mark.parametrize("name", AS_EXPECTED)
def test_a_plan_expects_what_is_then_got(name: str, people: int) -> None:
    """And not the half more that a plan in standard deviations of a bell would."""
    bounds, draw, truth = AS_EXPECTED[name]
    budgets = np.full(people, 0.2)
    plan = plan_mean(budgets, bounds=bounds)
    assert plan.shape == ("bounds" if people < 10_000 else "any")
    runs = 60
    errors = [seeded(draw(people, seed), budgets, seed, bounds=bounds).mean - truth for seed in range(runs)]
    squares = sum(error**2 for error in errors) / plan.expected_std**2
    assert chi2.ppf(0.001, runs) < squares < chi2.ppf(0.999, runs)


def test_more_people_and_pictures() -> None:
    plan = plan_mean({0.1: 5400, 1.0: 900}, bounds=(0, 1))
    scenarios = {scenario.name: scenario.plan for scenario in what_if(plan)}
    twice = scenarios["twice as many people"]
    assert twice
    assert twice.bounds == plan.bounds
    assert twice.expected_std < plan.expected_std
    axes = plot_plan(plan).axes[0]
    assert axes.get_ylabel() == "in the values' unit"
    assert "lower bound" not in [line.get_label() for line in axes.lines]
