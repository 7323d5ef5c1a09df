"""Plans: exact shares, choices that are honoured, refusals that say what would do, and predictions that hold."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pdpmean
from pdpmean import Choices, InsufficientBudgetError, InvalidInputError, Plan, Randomness
from pdpmean.core.choices import GivenShape, ShapeName, floor_share
from pdpmean.core.model import BOUNDED
from pdpmean.core.options import Options
from pdpmean.core.whose import Weighting, Whose
from pdpmean.laws.clipped_normal import clipped_variance, inside, mean_tent
from pdpmean.laws.lattice import everywhere, keys_of, linear, positive
from pdpmean.planning import forecast
from pdpmean.planning.census import census_of_tiers
from pdpmean.planning.gaussian import GaussianPlanner
from pdpmean.planning.make import make_plan, plan_groups, with_people
from pdpmean.planning.prediction import product_error, tent_trust

TIERS = {0.1: 5400, 0.5: 3700, 1.0: 900}
UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.05, 1.0)}


def plan_mean(budgets: Any, **options: Any) -> Plan:
    """A plan for a bell in which people count by their budgets, unless something else is asked for."""
    plan: Plan = pdpmean.plan_mean(budgets, **{"shape": "gaussian", "weighting": "budgets", **options})
    return plan


def plans() -> dict[str, dict[str, Any]]:
    return {
        "bounded": {},
        "unbounded": UNBOUNDED,
        "any": {"shape": "any"},
        "any unbounded": {"shape": "any", **UNBOUNDED},
        "bell within bounds": {"shape": "gaussian", "bounds": (0.0, 100.0)},
        "any from a bound": {"shape": "any", "bounds": (0.0, None)},
        "bounds": {"shape": "any", "bounds": (0.0, 1.0)},
        "bounds unbounded": {"shape": "any", "bounds": (0.0, 1.0), **UNBOUNDED},
        "share": {"share": 0.3},
    }


def tiers_for(options: Mapping[str, Any]) -> dict[float, int]:
    """TIERS, or twice as many people where any shape is to be allowed."""
    return more_people(TIERS, 2) if options.get("shape") == "any" else TIERS


def more_people(tiers: Mapping[float, int], factor: float) -> dict[float, int]:
    return {budget: math.ceil(people * factor) for budget, people in tiers.items()}


EVERY = pytest.mark.parametrize("options", list(plans().values()), ids=list(plans()))


# Shares


@EVERY
def test_shares_are_exact_and_dyadic(options: dict[str, Any]) -> None:
    plan = plan_mean(tiers_for(options), **options)
    assert sum(plan.shares.values()) == floor_share(options.get("share", 1))
    for share in plan.shares.values():
        assert isinstance(share, Fraction)
        assert share > 0
        assert 2**20 % share.denominator == 0
        assert Fraction(float(share)) == share
    names = {"center", "scale"} if plan.shape == "gaussian" else {"center", "histogram"}
    private = {"census", "weight_squares"} if "model" in options else set()
    assert set(plan.shares) == {"sum"} | private | (names if plan.needs_locating else set())


@pytest.mark.parametrize("bounds", [(0, None), (None, 0)])
def test_from_a_bound_a_centre_is_sought_only_where_there_is_budget_enough(bounds: Any) -> None:
    few, many = (pdpmean.plan_mean({0.5: people}, bounds=bounds) for people in (1200, 3000))
    assert set(few.shares) == {"histogram", "sum"}
    assert set(many.shares) == {"center", "histogram", "sum"}
    assert few.failure_probability() == 0 < many.failure_probability(1e4)
    assert few.anchor == 0


def test_where_a_centre_would_be_missed_the_bound_does_instead() -> None:
    """A noisy census of a wide range is not sure of what it found: no bound may make a plan worse."""
    unsure: dict[str, Any] = {"model": "unbounded", "budget_range": (1.0, 64.0), "bounds": (0.0, None)}
    plan: Plan = pdpmean.plan_mean({1.0: 60, 40.0: 15}, **unsure)
    assert 450 < plan.total < 1000
    assert "center" not in plan.shares


@given(st.integers(2**10, 2**20).map(lambda units: Fraction(units, 2**20)), st.booleans())
@settings(max_examples=15, deadline=None, derandomize=True)
def test_shares_sum_to_the_share(share: Fraction, unbounded: bool) -> None:
    plan = plan_mean({1.0: 10_000_000}, share=share, **(UNBOUNDED if unbounded else {}))
    assert sum(plan.shares.values()) == share


def test_the_squared_weights_use_little() -> None:
    for people in (500, 5000, 50_000, 500_000):
        share = float(plan_mean({1.0: people}, **UNBOUNDED).shares["weight_squares"])
        assert share <= 0.02 * 15 / 16
        assert share * people == pytest.approx(min(10.0, 0.02 * 15 / 16 * people), rel=0.05)
    # Where all budgets are publicly one, so are all weights.
    assert "weight_squares" not in plan_mean({1.0: 5000}, model="unbounded", budget_range=(1.0, 1.0)).shares


def test_a_share_is_rounded_down_to_what_a_double_holds() -> None:
    plan = plan_mean(TIERS, share=Fraction(1, 3))
    assert sum(plan.shares.values()) == Fraction(2**20 // 3, 2**20)


def test_a_plan_is_frozen() -> None:
    plan = plan_mean(TIERS)
    with pytest.raises(AttributeError):
        plan.clip_half_width = 2.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        plan.shares["sum"] = Fraction(1)


@pytest.mark.parametrize("share", [2.0**-20, 2.0**-18, 2.0**-16, 2.0**-10])
def test_tiny_shares_are_refused_and_do_not_break(share: float) -> None:
    for options in ({}, UNBOUNDED):
        with pytest.raises((InsufficientBudgetError, InvalidInputError)):
            plan_mean({1.0: 10}, share=share, **options)


# Choices


def test_each_choice_overrides_the_plan() -> None:
    assert plan_mean(TIERS, choices=Choices(center_share=0.125)).shares["center"] == Fraction(1, 8)
    assert plan_mean(TIERS, choices=Choices(scale_share=0.25)).shares["scale"] == Fraction(1, 4)
    assert plan_mean(TIERS, choices=Choices(clip_half_width=2.5)).clip_half_width == 2.5
    assert plan_mean(TIERS, choices=Choices(saturation=0.3)).saturation == pytest.approx(0.3)
    unbounded = plan_mean(TIERS, choices=Choices(saturation=0.3, clip_half_width=2.5), **UNBOUNDED)
    assert unbounded.saturation == pytest.approx(0.3)
    assert unbounded.clip_half_width == 2.5


def test_a_chosen_saturation_shows_in_the_sums() -> None:
    plan = plan_mean(TIERS, choices=Choices(saturation=0.3))
    share = float(plan.shares["sum"])
    # Allowances are halves: 5400 at 0.05, and 4600 capped at 0.15.
    assert plan.mean.weight == pytest.approx(share * (5400 * 0.05 + 4600 * 0.15))
    assert plan.mean.square == pytest.approx(share**2 * (5400 * 0.05**2 + 4600 * 0.15**2))
    assert plan.effective_records == pytest.approx(960.0**2 / (5400 * 0.05**2 + 4600 * 0.15**2))


def test_what_the_plan_chooses_is_better_than_what_one_might() -> None:
    best = plan_mean(TIERS).half_width(0.75)
    for choices in (
        Choices(center_share=0.3),
        Choices(scale_share=0.3),
        Choices(clip_half_width=0.5),
        Choices(clip_half_width=4.0),
        Choices(saturation=0.02),
        Choices(saturation=1.0),
    ):
        assert plan_mean(TIERS, choices=choices).half_width(0.75) > best * 0.999


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"center_share": 0.0}, "center_share must lie strictly between 0 and 1; got 0.0"),
        ({"scale_share": 1.0}, "scale_share must lie strictly between 0 and 1; got 1.0"),
        ({"clip_half_width": -1.0}, "clip_half_width must be positive and finite; got -1.0"),
        ({"saturation": math.inf}, "saturation must be positive and finite; got inf"),
        ({"max_failure": 1.5}, "max_failure must lie strictly between 0 and 1; got 1.5"),
        ({"max_ratio": math.nan}, "max_ratio must be positive and finite; got nan"),
        ({"center_share": 0.5, "scale_share": 0.5}, "must leave a share for the average"),
    ],
)
def test_choices_are_checked(options: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Choices(**options)


@pytest.mark.parametrize(
    ("choices", "options"),
    [
        (Choices(center_share=0.3, scale_share=0.3), {"share": 0.5}),
        (Choices(center_share=0.5, scale_share=0.48), UNBOUNDED),
        (Choices(center_share=0.7), {"share": 0.5}),
    ],
)
def test_choices_that_leave_nothing_of_the_share_are_refused(choices: Choices, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="must leave a share for the average"):
        plan_mean(TIERS, choices=choices, **options)


@pytest.mark.parametrize("center_share", [0.5, 0.9, 0.999])
def test_a_large_chosen_share_leaves_the_others_something(center_share: float) -> None:
    plan = plan_mean({1.0: 10_000_000}, choices=Choices(center_share=center_share))
    assert min(plan.shares.values()) > 0
    assert sum(plan.shares.values()) == 1


@pytest.mark.parametrize(("chosen", "options"), [(0.985, {}), (0.92, UNBOUNDED)], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("center", [0.0, 0.5, 1.0])
def test_large_chosen_shares_leave_the_others_something_for_few_people(
    center: float, chosen: float, options: dict[str, Any]
) -> None:
    center_share, scale_share = center * chosen or None, (1 - center) * chosen or None
    choices = Choices(center_share=center_share, scale_share=scale_share, max_failure=0.999999)
    plan = plan_mean({1.0: 2000}, choices=choices, **options)
    assert min(plan.shares.values()) > 0
    assert sum(plan.shares.values()) == 1


@pytest.mark.parametrize("width", [1e-3, 0.1, 20.0, 1e3])
def test_any_sensible_clip_width_can_be_planned(width: float) -> None:
    plan = plan_mean({1.0: 10_000}, choices=Choices(clip_half_width=width, max_failure=0.999999))
    assert plan.clip_half_width == width


@pytest.mark.parametrize("width", [1e-200, 1e200])
def test_a_senseless_clip_width_is_named_as_what_is_wrong(width: float) -> None:
    with pytest.raises(InvalidInputError, match="clip_half_width"):
        plan_mean({1.0: 10_000}, choices=Choices(clip_half_width=width))


@pytest.mark.parametrize(
    ("budgets", "options", "message"),
    [
        ([0.1, -0.3], {}, "budgets must be >= 0; record 1 has -0.3"),
        ({0.1: -3}, {}, "a tier must have 0 or more people"),
        (TIERS, {"shape": "round"}, "shape must be 'any' or 'gaussian'; got 'round'"),
        (TIERS, {"share": 0.0}, r"share must be above 0 and at most 1; got 0.0"),
        (TIERS, {"share": 1.5}, r"share must be above 0 and at most 1; got 1.5"),
        (TIERS, {"share": math.nan}, r"share must be above 0 and at most 1"),
        (TIERS, {"share": 2.0**-21}, "share must be at least 2"),
        (TIERS, {"share": math.nextafter(2.0**-10, 0)}, r"share must be at least 2\*\*-10"),
        (TIERS, {"share": "1"}, r"share must be above 0 and at most 1; got '1'"),
        (TIERS, {"share": None}, r"share must be above 0 and at most 1; got None"),
        (TIERS, {"share": 0.5j}, r"share must be above 0 and at most 1; got 0.5j"),
        (TIERS, {"bounds": (1.0, 1.0)}, "bounds must be"),
        (TIERS, {"bounds": (math.inf, None)}, "bounds must be"),
        (TIERS, {"bounds": (0.0, math.nan)}, "bounds must be"),
        (TIERS, {"bounds": (0.0, 1.0, 2.0)}, "bounds must be"),
        (TIERS, {"bounds": 3.0}, "bounds must be"),
        (TIERS, {"bounds": ("a", "b")}, "bounds must be"),
        (TIERS, {"bounds": "01"}, "bounds must be numbers"),
        (TIERS, {"bounds": (True, 2)}, "bounds must be numbers"),
        (TIERS, {"model": "other"}, "model must be"),
        (TIERS, {"model": "unbounded"}, "needs budget_range"),
    ],
)
def test_what_is_public_is_checked(budgets: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        plan_mean(budgets, **options)


# Refusals


REFUSED: list[tuple[dict[float, int], dict[str, Any]]] = [
    ({0.1: 1000}, {}),
    ({0.01: 1000}, {"shape": "gaussian", "bounds": (0.0, 100.0)}),
    ({0.01: 1000}, {"bounds": (0.0, 100.0)}),
    ({0.05: 100}, {"bounds": (0.0, 100.0), **UNBOUNDED}),
    ({0.01: 3000, 1.0: 50}, {}),
    ({0.1: 1000}, UNBOUNDED),
    ({0.1: 1000}, {"shape": "any"}),
    ({0.5: 200}, {"share": 0.5}),
]


@pytest.mark.parametrize(("tiers", "options"), REFUSED)
def test_the_needed_total_suffices_and_is_hardly_more(tiers: dict[float, int], options: dict[str, Any]) -> None:
    with pytest.raises(InsufficientBudgetError) as caught:
        plan_mean(tiers, **options)
    error = caught.value
    assert error.total == pytest.approx(sum(budget * people for budget, people in tiers.items()))
    assert error.needed > error.total
    assert f"{error.needed:,.0f}" in str(error)
    factor = error.needed / error.total
    accepted = plan_mean(more_people(tiers, factor), **options)
    assert accepted.total == pytest.approx(error.needed, rel=0.01)
    assert accepted.allows()
    assert error.people_needed == pytest.approx(accepted.people, rel=0.01)
    said = re.search(r"about ([\d,]+) people like these", str(error))
    assert said is not None
    assert 1 <= int(said[1].replace(",", "")) / error.people_needed < 1.02
    with pytest.raises(InsufficientBudgetError):
        plan_mean(more_people(tiers, 0.9 * factor), **options)


def test_a_refusal_says_what_would_help() -> None:
    """How much budget, how many people, and what knowing bounds would save; each is then indeed enough, and just so."""
    with pytest.raises(InsufficientBudgetError, match="people like these, or larger budgets") as caught:
        pdpmean.plan_mean({0.1: 1000})
    cases: dict[str, dict[str, Any]] = {"would be enough": {}, "With one bound": {"bounds": (0.0, None)}}
    for told, words in cases.items():
        total, people = _enough(str(caught.value), told)
        assert total == pytest.approx(0.1 * people, rel=0.02)
        assert pdpmean.plan_mean({0.1: people}, **words).total >= total
        with pytest.raises(InsufficientBudgetError):
            pdpmean.plan_mean({0.1: 0.9 * people}, **words)
    assert str(caught.value).endswith(". With two narrow bounds (bounds=(low, high)), this budget is enough")
    assert pdpmean.plan_mean({0.1: 1000}, bounds=(0.0, 1.0)).total == pytest.approx(100)
    with pytest.raises(InsufficientBudgetError) as caught:
        plan_mean({0.1: 1000}, shape="gaussian", bounds=(0.0, 1.0))
    assert "bounds=" not in str(caught.value)
    assert 0.05 < caught.value.failure_probability <= 1


def _enough(text: str, told: str) -> tuple[float, float]:
    """The total and the people that a refusal says would be enough, in the words before or after `told`."""
    patterns = {
        "would be enough": r"About ([\d,]+) would be enough: about ([\d,]+) people",
        "With one bound": (
            r"With one bound \(bounds=\(low, None\)\), about ([\d,]+) would be enough \(([\d,]+) people\)"
        ),
    }
    found = re.search(patterns[told], text)
    assert found is not None
    total, people = (float(number.replace(",", "")) for number in found.groups())
    return total, people


def test_a_refusal_of_any_shape_gives_its_true_reason() -> None:
    # From a bound no centre is sought, but there is too little weight for the histogram.
    with pytest.raises(
        InsufficientBudgetError, match="too little to find out how far a population of any shape"
    ) as caught:
        plan_mean({1.0: 190}, shape="any", bounds=(0, None))
    assert caught.value.failure_probability == 0
    with pytest.raises(
        InsufficientBudgetError, match="in 100 of 100 runs it would not show where the values lie, and at most 5 are"
    ) as caught:
        plan_mean({1.0: 100}, shape="any")
    assert caught.value.failure_probability > 0.05


# A total budget from which on there is an answer, in either model; between two bounds nothing is located.
LEAST: dict[str, tuple[dict[str, Any], float]] = {
    "no bounds": ({}, 265),
    "a lower bound": ({"bounds": (0.0, None)}, 205),
    "an upper bound": ({"bounds": (None, 0.0)}, 205),
    "both bounds": ({"bounds": (0.0, 1.0)}, 12),
}


@pytest.mark.parametrize(("options", "least"), LEAST.values(), ids=LEAST)
def test_the_less_is_known_the_more_budget_is_needed(options: dict[str, Any], least: float) -> None:
    """For people of all kinds of budgets, about."""
    for budget in (0.05, 0.3, 1.0, 3.0):
        more, less = (round(factor * least / budget) for factor in (1.15, 0.8))
        assert pdpmean.plan_mean({budget: more}, **options).total == pytest.approx(1.15 * least, rel=0.1)
        with pytest.raises(InsufficientBudgetError):
            pdpmean.plan_mean({budget: less}, **options)


def test_an_error_for_each_named_shape() -> None:
    """One number for all shapes would be true of none; the one in front is that of a bell."""
    plan = pdpmean.plan_mean(TIERS)
    by_shape = plan.expected_by_shape
    assert list(by_shape) == ["bell-shaped", "skewed like wages", "yes or no"]
    assert by_shape["bell-shaped"] == plan.expected_std
    assert by_shape["yes or no"] < by_shape["bell-shaped"] < by_shape["skewed like wages"]
    rows = dict(plan.rows())
    assert rows["expected error (std)"].endswith("standard deviations of the population, if bell-shaped")
    assert [part.split(" if ")[1] for part in rows["for other values"].split(", ")] == list(by_shape)[1:]
    assert plan.to_dict()["expected_std_by_shape"] == by_shape
    known = pdpmean.plan_mean(TIERS, shape="gaussian")
    assert known.to_dict()["expected_std_by_shape"] is None
    assert "for other values" not in str(known)


@pytest.mark.parametrize(
    ("known", "is_told"),
    [({}, True), ({"bounds": (0, None)}, True), ({"bounds": (0, 1000)}, False), ({"shape": "gaussian"}, False)],
)
def test_a_wider_interval_is_told_of_where_values_may_be_skewed(known: dict[str, Any], is_told: bool) -> None:
    assert ("if skewed" in dict(pdpmean.plan_mean(TIERS, **known).rows())) == is_told


@pytest.mark.parametrize("budgets", [[], {}, [0.0, 0.0], {0.5: 0}, {0.0: 100}])
def test_nobody_grants_anything(budgets: Any) -> None:
    reason = "nobody grants any budget" if 0.0 in budgets else "there are no records"
    with pytest.raises(InsufficientBudgetError, match=reason) as caught:
        plan_mean(budgets)
    assert (caught.value.total, caught.value.needed) == (0.0, math.inf)


def test_how_much_risk_to_take_is_a_choice() -> None:
    tiers = {0.1: 1500}
    with pytest.raises(InsufficientBudgetError):
        plan_mean(tiers)
    assert plan_mean(tiers, choices=Choices(max_failure=0.9)).failure_probability() > 0.05
    assert plan_mean(tiers, choices=Choices(max_ratio=1.0)).allows(1.0)


# Predictions

FIXED = Choices(center_share=0.1, scale_share=0.1, max_failure=0.999999999)


@EVERY
def test_misses_grow_with_the_ratio(options: dict[str, Any]) -> None:
    plan = plan_mean(tiers_for(options), **options)
    chances = [plan.failure_probability(ratio) for ratio in (1.0, 1e2, 1e4, 1e8, 1e100)]
    assert chances == sorted(chances)
    assert plan.allows(1.0)
    may_miss = plan.failure_probability(1e100) > 0
    assert may_miss == ("center" in plan.shares)
    assert plan.allows(1e100, chance=plan.failure_probability(1e100) / 2) != may_miss


def test_misses_are_predicted_for_the_worst_budgets_there_may_be() -> None:
    """Of people in the middle of the last bucket, if few hold all it adds up to, or if many do."""
    options: dict[str, Any] = {"model": "unbounded", "budget_range": (0.02, 5.0), "choices": FIXED}
    middle = plan_mean({2.5: 80, 0.02: 40_000}, **options)
    doubted = 1.25 * math.sqrt(2 * 4) * 16  # of 1000: it is missing where it weighs most
    worst = min(in_locate(middle, 40, 5.0), in_locate(middle, 200 / 1.28, 1.28))
    lowest = min(in_locate(middle, 40_000, 0.02), in_locate(middle, 10_000, 0.08))
    all_of_them = in_locate(middle, 80, 2.5) + in_locate(middle, 40_000, 0.02)
    missing = doubted * max(worst / 200, lowest / 800)
    assert middle.certain_part == pytest.approx((worst + lowest - missing) / all_of_them)
    assert middle.certain_part < 0.97 * (1 - doubted / 1000)
    # Where nobody is capped, and nothing left, it does not matter how many there are.
    assert plan_mean({0.05: 20_000}, **options).certain_part == pytest.approx(1 - doubted / 1000)


@pytest.mark.parametrize("people", [3e4, 1e6, 1e7, 1e8, 1e9])
@pytest.mark.parametrize("budgets", [[0.1], [1.0], np.linspace(0.01, 1.0, 50).tolist()], ids=["0.1", "1", "many"])
def test_a_sample_costs_hardly_anything(people: float, budgets: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the forecasts, against looking at all; a sample of 16,000 alone would show from 1e9 on."""
    tiers = {budget: people / len(budgets) for budget in budgets}
    error = plan_mean(tiers).expected_std
    monkeypatch.setattr(GaussianPlanner, "fewest_sampled", 16_000)
    monkeypatch.setattr(GaussianPlanner, "sampled_per_root", 0.0)
    few = plan_mean(tiers).expected_std
    monkeypatch.setattr(forecast, "_ALL_UP_TO", math.inf)
    census = census_of_tiers(tiers, BOUNDED, Fraction(0))
    options = Options(shape="gaussian", whose=Whose("budgets"))
    everybody = make_plan(census, options, room=10**12).expected_std
    assert 0.995 < error / everybody < 1.01
    assert people < 1e9 or few / everybody > 1.05


def in_locate(plan: Plan, people: float, budget: float) -> float:
    """The weight of so many people in `locate`."""
    rule = plan.keep_rule
    weight = budget * rule.share + max(budget * rule.sum_share - rule.spared_from, 0.0)
    return people * min(weight, plan.locate_cap)


def test_misses_grow_where_less_weight_is_sure() -> None:
    plan = plan_mean({0.5: 900}, choices=FIXED, **UNBOUNDED)
    chances = [replace(plan, certain_part=part).failure_probability() for part in (1.0, plan.certain_part, 0.5)]
    assert chances == sorted(chances)
    assert chances[2] > 10 * chances[0]


def test_misses_shrink_with_budget_and_with_bounds() -> None:
    by_people = [plan_mean({0.5: people}, choices=FIXED).failure_probability() for people in (600, 900, 1500, 2500)]
    assert by_people == sorted(by_people, reverse=True)
    by_budget = [plan_mean({budget: 900}, choices=FIXED).failure_probability() for budget in (0.3, 0.5, 0.8, 1.2)]
    assert by_budget == sorted(by_budget, reverse=True)
    within_bounds = plan_mean({0.5: 900}, choices=FIXED, shape="gaussian", bounds=(0.0, 1.0))
    assert within_bounds.failure_probability() < plan_mean({0.5: 900}, choices=FIXED).failure_probability()


@pytest.mark.parametrize(
    "options",
    [
        {},
        UNBOUNDED,
        {"shape": "any"},
        {"shape": "gaussian", "bounds": (0.0, 1.0)},
        {"target": "people"},
        {"target": "people", **UNBOUNDED},
        {"shape": "any", "target": "people"},
    ],
    ids=["bounded", "unbounded", "any", "bell within bounds", "people", "people, unbounded", "people, any"],
)
def test_more_people_make_a_smaller_error(options: dict[str, Any]) -> None:
    made = [plan_mean(more_people(tiers_for(options), factor), **options) for factor in (1, 2, 5, 20, 100)]
    errors = [plan.expected_std for plan in made]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 5 * errors[-1]
    if "target" in options:
        assert all(plan.ratio_to_lower_bound is None for plan in made)
    else:
        assert all(plan.ratio_to_lower_bound is not None and plan.ratio_to_lower_bound >= 1 for plan in made)


@pytest.mark.parametrize("budget", [0.1, 0.5, 3.0, 20.0, math.inf])
def test_the_ratio_to_the_lower_bound(budget: float) -> None:
    plan = plan_mean({budget: 5000})
    assert plan.lower_bound is not None
    assert plan.ratio_to_lower_bound is not None
    assert 1 <= plan.ratio_to_lower_bound < 4
    assert plan.half_width(0.75) == pytest.approx(plan.ratio_to_lower_bound * plan.lower_bound)


@pytest.mark.parametrize("weighting", ["auto", "everyone", "budgets"])
@pytest.mark.parametrize("bounds", [None, (0, None), (1, 5)])
def test_without_privacy_the_mean_of_the_people_in_the_table_has_no_error(bounds: Any, weighting: Weighting) -> None:
    """Nor is there a lower bound for it: that of the mean of a population is largely due to sampling."""
    plan = pdpmean.plan_mean(TIERS, target="people", bounds=bounds, weighting=weighting)
    found = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert (found["without_privacy"], found["lower_bound"]) == (0, None)
    assert plan.ratio_to_lower_bound is None
    rows = dict(plan.rows())
    assert rows["without privacy"] == "there would be no error: the mean of the people in the table would be known"
    assert "any private method" not in rows["one run in four"]


@pytest.mark.parametrize("bounds", [(1, 5), (0, 1)])
def test_there_is_no_lower_bound_in_the_unit_of_the_values(bounds: tuple[float, float]) -> None:
    plan = pdpmean.plan_mean(TIERS, bounds=bounds)
    assert plan.lower_bound is None
    assert plan.ratio_to_lower_bound is None


def test_equal_budgets_count_everybody() -> None:
    plan = plan_mean({0.5: 5000})
    assert plan.effective_records == pytest.approx(5000)
    assert plan.people == 5000
    assert plan.total == 2500
    # The noise in closed form: half width of the clip over slope times total weight, at allowances of a half.
    slope = math.erf(plan.clip_half_width / math.sqrt(2))
    weight = 5000 * 0.25 * float(plan.shares["sum"])
    assert plan.noise_scale == pytest.approx(plan.clip_half_width / (slope * weight))
    assert plan.noise_std == pytest.approx(math.sqrt(2) * plan.noise_scale)
    assert plan.expected_std == pytest.approx(math.hypot(plan.noise_std, plan.sampling_std))


@pytest.mark.parametrize("options", [{}, {"model": "unbounded", "budget_range": (0.1, 0.1)}])
def test_sampling_grows_by_what_centre_scale_and_tents_err(options: dict[str, Any]) -> None:
    """0.8 of their product, by docs/how-it-works.md; where budgets are public, tents are trusted only so far."""
    plan = plan_mean({0.1: 4000}, **options)
    width, weight = plan.clip_half_width, plan.mean.weight
    of_sample = math.sqrt(float(clipped_variance(width)) * plan.mean.square) / (float(inside(width)) * weight)
    tents = weight * float(mean_tent(width)) / width
    trust = 1.0 if options else tent_trust(plan.scale, width, tents)
    product = product_error(plan.center, plan.scale, width, math.sqrt(2 * trust) * 4 / 3 / tents)
    assert plan.sampling_std == pytest.approx(math.hypot(of_sample, 0.8 * product), rel=1e-9)
    assert product > 1.2 * product_error(plan.center, plan.scale, width, 0.0)


def test_who_grants_nothing_counts_as_people_only() -> None:
    with_them, without = plan_mean({0.0: 1000, 0.5: 5000}), plan_mean({0.5: 5000})
    assert with_them.people == 6000
    assert with_them.expected_std == without.expected_std


def test_people_and_tiers_make_the_same_plan() -> None:
    budgets: list[float] = np.repeat(list(TIERS), list(TIERS.values())).tolist()
    for options in ({}, UNBOUNDED):
        assert plan_mean(budgets, **options).shares == plan_mean(TIERS, **options).shares
        assert plan_mean(budgets, **options).expected_std == pytest.approx(plan_mean(TIERS, **options).expected_std)


def test_saturation_limits_what_large_budgets_count() -> None:
    plan = plan_mean({0.1: 5000, 100.0: 50})
    assert 0.1 < plan.saturation < 100.0


def test_half_width_grows_with_its_level() -> None:
    plan = plan_mean(TIERS)
    widths = [plan.half_width(level) for level in (0.5, 0.8, 0.95, 0.99)]
    assert widths == sorted(widths)
    # Between a normal's 1.96 and a Laplace variable's 2.12 standard deviations, by and large.
    assert 1.9 < plan.half_width(0.95) / plan.expected_std < 2.2
    with pytest.raises(InvalidInputError, match="level"):
        plan.half_width(1.0)


# Where to look


def test_the_lattices_of_a_plan_follow_its_bounds() -> None:
    plan = plan_mean(TIERS)
    assert plan.center_lattice == everywhere()
    assert plan.spread_lattice == positive()
    within_bounds = plan_mean(TIERS, shape="gaussian", bounds=(-10.0, 30.0))
    assert within_bounds.center_lattice == linear(-10.0, 30.0)
    low, high = keys_of(np.array([math.ldexp(20.0, -40), 20.0])).tolist()
    assert within_bounds.spread_lattice.starts == (low, high + 1)
    from_bound = plan_mean(TIERS, shape="gaussian", bounds=(-10.0, None))
    assert from_bound.center_lattice == everywhere().within(-10.0, math.inf)
    assert from_bound.spread_lattice == positive()


def test_the_grain_of_the_centre() -> None:
    assert plan_mean(TIERS).center_grain == 2**26
    assert plan_mean(TIERS, shape="gaussian", bounds=(-10.0, 30.0)).center_grain == 2**26
    # [1, 1 + 2**-12] holds 2**40 + 1 doubles: cells of 2**21 of them make 2**19; four doubles are told apart.
    assert plan_mean(TIERS, shape="gaussian", bounds=(1.0, 1.0 + 2.0**-12)).center_grain == 2**21
    assert plan_mean(TIERS, shape="gaussian", bounds=(1.0, 1.0 + 2.0**-50)).center_grain == 1


def test_a_support_of_all_doubles_can_be_planned() -> None:
    largest = float(np.finfo(np.float64).max)
    plan = plan_mean(TIERS, shape="gaussian", bounds=(-largest, largest))
    assert plan.center_lattice.total > 0
    assert plan.spread_lattice.total > 0


# The prediction comes true


def quartile_of_errors(tiers: dict[float, int], plan_options: dict[str, Any], runs: int) -> float:
    generator = np.random.default_rng(7)
    budgets: list[float] = np.repeat(list(tiers), list(tiers.values())).tolist()
    errors = []
    for seed in range(runs):
        values = generator.normal(5.0, 2.0, len(budgets))
        found = pdpmean.estimate_mean(
            values, budgets, shape="gaussian", randomness=Randomness.seeded(seed), **plan_options
        )
        errors.append(abs(found.released_mean - 5.0) / 2.0)
    return float(np.quantile(errors, 0.75))


@pytest.mark.usefixtures("remembered_plans")
@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize(
    ("tiers", "options"),
    [({0.5: 2000}, {}), ({0.1: 1080, 0.5: 740, 1.0: 180}, UNBOUNDED)],
    ids=["bounded", "unbounded"],
)
def test_the_predicted_error_is_the_one_found(tiers: dict[float, int], options: dict[str, Any]) -> None:
    predicted = plan_mean(tiers, **options).half_width(0.75)
    assert quartile_of_errors(tiers, options, 200) == pytest.approx(predicted, rel=0.25)


def test_a_plan_states_the_shape_that_was_given() -> None:
    """Between two known bounds nothing of a shape is left to find, but what was asked for is what is told."""
    shapes: list[tuple[GivenShape, Any, ShapeName]] = [
        ("gaussian", None, "gaussian"),
        ("gaussian", (0.0, 9.0), "gaussian"),
        ("any", None, "any"),
        ("any", (0.0, None), "any"),
        ("any", (0.0, 9.0), "bounds"),
    ]
    for shape, bounds, goes_by in shapes:
        plan: Plan = pdpmean.plan_mean(TIERS, shape=shape, bounds=bounds)
        assert (plan.shape, plan.given_shape, plan.to_dict()["shape"]) == (goes_by, shape, shape)
        assert repr(plan).startswith(f"<Plan bounded, {shape}: ")
    assert pdpmean.plan_mean(TIERS).given_shape == "any"


@pytest.mark.parametrize(
    ("bounds", "told"),
    [(None, None), ((0, None), [0.0, None]), ((-math.inf, 2), [None, 2.0]), ((0, 1), [0.0, 1.0])],
)
def test_bounds_go_into_json(bounds: Any, told: Any) -> None:
    found = json.loads(json.dumps(pdpmean.plan_mean(TIERS, bounds=bounds).to_dict(), allow_nan=False))
    assert found["bounds"] == told


# Printing, and names instead of budgets


def test_a_plan_prints_and_goes_into_json() -> None:
    plan = plan_mean(TIERS)
    assert [line[:22].rstrip() for line in str(plan).splitlines()] == [
        "total budget",
        "expected error (std)",
        "made of",
        "limited by",
        "95 % interval",
        "one run in four",
        "without privacy",
        "weighting",
        "everyone the same",
        "shares of the budget",
        "",
    ]
    unit = "standard deviations"
    assert all(unit in text for name, text in plan.rows() if "0.0" in text and name != "shares of the budget")
    found = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert found["expected_std"] == plan.expected_std
    assert sum(found["shares"].values()) == 1


def test_names_stand_for_budgets() -> None:
    names = {"strict": 0.1, "open": 1.0}
    plan = plan_mean({0.1: 5400, 1.0: 900})
    assert plan_mean({"strict": 5400, "open": 900}, tiers=names) == plan
    assert plan_mean(["strict"] * 5400 + ["open"] * 900, tiers=names) == plan
    with pytest.raises(InvalidInputError, match=r"'loose', which tiers does not list: strict, open$"):
        plan_mean({"loose": 1}, tiers=names)
    with pytest.raises(InvalidInputError, match=r"'opne', which .*; did you mean 'open'"):
        plan_mean({"opne": 1}, tiers=names)
    with pytest.raises(InvalidInputError, match=r"to leave people without a tier out, pass tiers=\{\.\.\., '': 0\}$"):
        plan_mean({"strict": 5400, "": 1}, tiers=names)
    assert plan_mean({"strict": 5400, "": 1}, tiers={**names, "": 0}).people == 5401
    with pytest.raises(InvalidInputError, match="different names"):
        plan_mean([1, 1], tiers={1: 0.1, "1": 5.0})
    with pytest.raises(InvalidInputError, match=r"tiers must be \{name: budget\}"):
        plan_mean(["strict"], tiers=[("strict", 0.1)])


def test_one_number_is_not_a_profile() -> None:
    with pytest.raises(InvalidInputError, match="how many people"):
        plan_mean(0.5)


@pytest.mark.parametrize("table", ["people.csv", Path("people.csv"), pd.DataFrame({"epsilon": [0.5]})])
def test_a_table_needs_the_name_of_its_column(table: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"name the column of budgets: plan_mean\(table, budget='...'\)"):
        plan_mean(table)


def test_many_budgets_are_planned_as_their_histogram() -> None:
    budgets = np.random.default_rng(1).uniform(0.01, 1.0, 200_000)
    exact, coarse = plan_mean(dict(zip(budgets.tolist(), [1] * budgets.size, strict=True))), plan_mean(budgets)
    assert coarse.expected_std == pytest.approx(exact.expected_std, rel=0.02)
    assert coarse.total == pytest.approx(exact.total, rel=0.01)


# More or fewer people


@EVERY
def test_more_people_at_the_same_budgets(options: dict[str, Any]) -> None:
    tiers = tiers_for(options)
    scaled, ahead = with_people(plan_mean(tiers, **options), 3), plan_mean(more_people(tiers, 3), **options)
    assert scaled == ahead
    assert (scaled.total, scaled.people) == (ahead.total, ahead.people)


def test_choices_stay_with_more_people() -> None:
    choices = Choices(clip_half_width=2.0, saturation=0.3)
    scaled = with_people(plan_mean(TIERS, choices=choices), 2)
    assert scaled is not None
    assert (scaled.clip_half_width, scaled.choices) == (2.0, choices)
    assert scaled.saturation == pytest.approx(0.3)


@pytest.mark.parametrize(("tiers", "options"), REFUSED)
def test_too_few_people_are_refused(tiers: dict[float, int], options: dict[str, Any]) -> None:
    with pytest.raises(InsufficientBudgetError) as caught:
        plan_mean(tiers, **options)
    plan = plan_mean(more_people(tiers, 100), **options)
    assert with_people(plan, 1.05 * caught.value.needed / plan.total) is not None
    assert with_people(plan, 0.9 * caught.value.needed / plan.total) is None


@pytest.mark.parametrize("options", [{}, {"model": "unbounded", "budget_range": (0.1, 1.0)}])
def test_the_locating_cap_is_hardly_above_what_anybody_weighs(options: dict[str, Any]) -> None:
    """So that the first byte of most coins decides; and never below it, which would waste budget."""
    plan = plan_mean({0.1: 50_000, 1.0: 50_000}, **options)
    rule = plan.keep_rule
    allowance = 0.5 if not options else 1.0
    largest = allowance * rule.share + max(allowance * rule.sum_share - rule.spared_from, 0.0)
    assert largest <= plan.locate_cap <= 1.1 * largest


FEW_GRANT_MUCH = {5.0: 100, 0.02: 9_900}


@pytest.mark.parametrize("options", [{}, {"model": "unbounded", "budget_range": (0.02, 5.0)}])
def test_who_grants_more_than_counts_pays_for_locating(options: dict[str, Any]) -> None:
    plan = plan_mean(FEW_GRANT_MUCH, **options)
    assert plan.spared_from == plan.weight_cap
    assert float(plan.shares["center"] + plan.shares["scale"]) < 0.01
    assert plan.center.weight > 60
    own = Choices(center_share=0.1, scale_share=0.07)  # about what everybody would have to spend otherwise
    assert plan.half_width(0.75) < 0.95 * plan_mean(FEW_GRANT_MUCH, choices=own, **options).half_width(0.75)


@pytest.mark.parametrize("tiers", [{0.1: 5000}, {0.1: 54_000, 0.5: 37_000, 1.0: 9_000}])
def test_where_it_gains_little_everybody_pays_for_locating(tiers: dict[float, int]) -> None:
    """So that the centre is that of everybody."""
    plan = plan_mean(tiers)
    assert plan.spared_from > 2.0**60
    assert plan.center.weight + plan.scale.weight <= plan.keep_rule.share * plan.total / 2 * (1 + 1e-9)


@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_groups_much_like_another_have_a_plan_as_good_as_their_own(spread: float) -> None:
    """The last one is too small for a plan at all."""
    sizes = [*np.geomspace(2000.0, 2000.0 * spread, 12).tolist(), 50.0]
    censuses = [census_of_tiers({0.1: size, 1.0: size / 4}, BOUNDED, Fraction(1, 16)) for size in sizes]
    options = Options(shape="gaussian", whose=Whose("budgets"))
    *found, refused = plan_groups(censuses, options)
    assert isinstance(refused, InsufficientBudgetError)
    for census, plan in zip(censuses, found, strict=False):
        assert isinstance(plan, Plan)
        assert plan.census is census
        assert plan.half_width(0.75) < 1.01 * make_plan(census, options).half_width(0.75)


def test_refused_groups_say_what_they_would_need_themselves() -> None:
    """Or one shaped like them: what is needed hardly depends on how many there are."""
    options = Options(shape="gaussian", whose=Whose("budgets"))
    tiers = [{0.1: 1100.0}, {0.1: 800.0}, {0.1: 120.0}, {1.0: 9.0, 5.0: 3.0}, {0.11: 5.0}]
    censuses = [census_of_tiers(people, BOUNDED, Fraction(1, 16)) for people in tiers]
    for census, refusal in zip(censuses, plan_groups(censuses, options), strict=True):
        assert isinstance(refusal, InsufficientBudgetError)
        with pytest.raises(InsufficientBudgetError) as alone:
            make_plan(census, options)
        assert refusal.total == alone.value.total
        assert refusal.needed == pytest.approx(alone.value.needed, rel=0.06)
        assert refusal.failure_probability == pytest.approx(alone.value.failure_probability, rel=0.2)


FEW_DOMINATE = [
    [{1.0: 9900.0, 1e6: 100.0}, {0.01: 9900.0, 1e6: 100.0}],
    [{0.05: 9000.0, 1000.0: 1000.0}, {5.0: 9000.0, 1000.0: 1000.0}],
    [{1.0: 2000.0, math.inf: 2.0}, {1.0: 2000.0, math.inf: 2.0}],
    [{math.inf: 900.0}, {math.inf: 900.0}],
]


@pytest.mark.parametrize("tiers", FEW_DOMINATE)
def test_groups_are_not_alike_because_a_few_grant_as_much(tiers: list[dict[float, float]]) -> None:
    options = Options(shape="gaussian", whose=Whose("budgets"))
    censuses = [census_of_tiers(people, BOUNDED, Fraction(1, 16)) for people in tiers]
    for census, plan in zip(censuses, plan_groups(censuses, options), strict=True):
        assert isinstance(plan, Plan)
        assert plan.half_width(0.75) < 1.02 * make_plan(census, options).half_width(0.75)


def test_what_refused_groups_need_is_told_for_their_own_budgets() -> None:
    options = Options(shape="gaussian", whose=Whose("budgets"))
    censuses = [
        census_of_tiers(people, BOUNDED, Fraction(1, 16))
        for people in ({0.001: 150.0, 20.0: 1.0}, {0.1: 150.0, 20.0: 0.25})
    ]
    for census, refusal in zip(censuses, plan_groups(censuses, options), strict=True):
        with pytest.raises(InsufficientBudgetError) as alone:
            make_plan(census, options)
        assert isinstance(refusal, InsufficientBudgetError)
        assert refusal.needed == pytest.approx(alone.value.needed, rel=0.06)


def test_what_no_budget_can_find_is_told_so() -> None:
    with pytest.raises(InsufficientBudgetError, match=r"No budget would be enough\. With two narrow bounds") as caught:
        plan_mean({1.0: 1000}, choices=Choices(max_ratio=1e8))
    assert caught.value.needed == math.inf
    with pytest.raises(InsufficientBudgetError, match=r"a total budget of 0\.001 is not enough"):
        plan_mean({1e-6: 1000})


@pytest.mark.parametrize("budget", [2.0**-40, 1e-6, 1e-3])
def test_next_to_no_budget_finds_nothing(budget: float) -> None:
    with pytest.raises(InsufficientBudgetError) as caught:
        plan_mean({budget: 3}, choices=Choices(max_failure=0.9))
    assert caught.value.failure_probability > 0.99


def test_a_plan_spares_nothing_that_the_sum_spends() -> None:
    plan = plan_mean(FEW_GRANT_MUCH)
    assert replace(plan, spared_from=0.0).keep_rule == plan.keep_rule


def test_no_weight_is_above_the_largest_budget_that_is_public() -> None:
    plan = plan_mean({2e-6: 4e8}, choices=Choices(saturation=200.0))
    assert 1e-6 * float(plan.shares["sum"]) <= plan.largest_weight <= 1.1e-6
