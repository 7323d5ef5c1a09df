"""What-ifs: every change is the plan of the changed people, and more never looks like less."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from pdpmean import Choices, InvalidInputError, plan_mean, what_if
from pdpmean.core.model import ModelName
from pdpmean.planning.make import with_people
from pdpmean.study.what_if import Scenario, WhatIf

TIERS = {0.1: 5400, 0.5: 3700, 1.0: 900}


def errors(scenarios: WhatIf) -> dict[str, float]:
    return {one.name: one.plan.expected_std if one.plan else math.inf for one in scenarios}


def test_each_change_is_planned_as_if_it_were_so() -> None:
    found = errors(what_if(plan_mean(TIERS)))
    changed = {
        "everyone at 0.1 raised to 0.5": {0.5: 9100, 1.0: 900},
        "everyone at 0.5 raised to 1": {0.1: 5400, 1.0: 4600},
        "everyone at 1 raised to 2": {0.1: 5400, 0.5: 3700, 2.0: 900},
        "every budget doubled": {0.2: 5400, 1.0: 3700, 2.0: 900},
        "25 % more people at 0.1": {0.1: 6750, 0.5: 3700, 1.0: 900},
        "25 % more people at 0.5": {0.1: 5400, 0.5: 4625, 1.0: 900},
        "25 % more people at 1": {0.1: 5400, 0.5: 3700, 1.0: 1125},
        "25 % more people": {0.1: 6750, 0.5: 4625, 1.0: 1125},
        "twice as many people": {0.1: 10800, 0.5: 7400, 1.0: 1800},
    }
    assert list(found) == list(changed)
    plans = {name: plan_mean(people) for name, people in changed.items()}
    alike = {name: plan.expected_std for name, plan in plans.items() if plan.weighting == "pooled"}
    assert len(alike) > 5
    assert alike.items() <= found.items()


def test_who_counts_how_much_stays_as_it_is() -> None:
    """Twice as many people would make it cheap that everyone counts the same: that is another mean."""
    plan = plan_mean({budget: 4 * people for budget, people in TIERS.items()})
    twice = plan_mean({budget: 8 * people for budget, people in TIERS.items()})
    assert (plan.weighting, twice.weighting) == ("pooled", "everyone")
    (compared,) = [one.plan for one in what_if(plan) if one.name == "twice as many people"]
    assert compared is not None
    assert compared.weighting == "pooled"
    assert compared.expected_std != twice.expected_std
    held = with_people(plan, 2)
    assert held is not None
    assert held.expected_std == compared.expected_std


@pytest.mark.parametrize(
    ("people", "bounds"),
    [({0.1: 22272}, (0, 1)), ({0.1: 20000}, (1, 5)), ({0.1: 7439, 0.5: 7438, 1.0: 7395}, (0, 1))],
)
def test_errors_of_one_table_and_one_curve_have_one_unit(people: dict[float, float], bounds: tuple[int, int]) -> None:
    """Between two bounds more budget pays for locating the population: that changes the method, and no unit."""
    plan = plan_mean(people, bounds=bounds)
    scenarios = what_if(plan)
    plans = [one.plan for one in scenarios if one.plan]
    curve = [found for factor in np.geomspace(1 / 16, 16, 25) if (found := with_people(plan, factor))]
    assert {one.errors_in for one in (*plans, *curve)} == {"the values' unit"}
    assert max(one.expected_std for one in plans) < 1.01 * plan.expected_std
    assert all(more.expected_std < less.expected_std for less, more in pairwise(curve))
    assert len(curve) == 25


def test_what_if_prints_as_a_table_with_its_unit() -> None:
    plan = plan_mean(TIERS, bounds=(1, 5))
    title, head, as_it_is, *lines = str(what_if(plan)).splitlines()
    assert title == "expected error (std) for each shape of the values, in the values' unit, with its change"
    assert cells(head) == ["what if", *plan.expected_by_shape, "price of everyone"]
    errors_as_it_is = [f"{error:.4g}" for error in plan.expected_by_shape.values()]
    assert cells(as_it_is) == ["no change", *errors_as_it_is, f"{plan.price_of_everyone:.2f} times"]
    assert len(lines) == len(what_if(plan)) == len(what_if(plan).to_list())
    assert "in standard deviations" in str(what_if(plan_mean(TIERS)))
    assert "<table" in what_if(plan)._repr_html_()
    assert repr(what_if(plan)).startswith("<WhatIf of 9 changes to <Plan bounded, any")


def cells(line: str) -> list[str]:
    """The cells of a line of the table."""
    return re.split(r" {2,}", line)


def test_every_shape_has_its_errors_and_their_change() -> None:
    plan = plan_mean(TIERS)
    scenarios = what_if(plan)
    before = plan.expected_by_shape
    assert list(before) == ["bell-shaped", "skewed like wages", "yes or no"]
    for scenario, content, line in zip(scenarios, scenarios.to_list(), str(scenarios).splitlines()[3:], strict=True):
        assert scenario.plan
        after = scenario.plan.expected_by_shape
        price = scenario.plan.price_of_everyone
        assert content == {
            "change": scenario.name,
            "expected_std": after["bell-shaped"],
            "expected_std_by_shape": after,
            "price_of_everyone": price,
        }
        changes = {shape: round(100 * (after[shape] / before[shape] - 1)) for shape in before}
        told = [f"{after[shape]:.4g} {f'{changes[shape]:+}' if changes[shape] else '0'} %" for shape in before]
        words = f"{scenario.name} {' '.join(told)} {price:.2f} times"
        assert line.split() == words.split()


def test_a_given_bell_has_one_column() -> None:
    plan = plan_mean(TIERS, shape="gaussian")
    scenarios = what_if(plan)
    assert cells(str(scenarios).splitlines()[1]) == ["what if", "bell-shaped", "price of everyone"]
    assert {content["expected_std_by_shape"] for content in scenarios.to_list()} == {None}


def test_a_refused_change_has_no_numbers() -> None:
    refused = WhatIf(plan_mean(TIERS), (Scenario("nobody grants anything", None),))
    assert refused.to_list() == [
        {
            "change": "nobody grants anything",
            "expected_std": None,
            "expected_std_by_shape": None,
            "price_of_everyone": None,
        }
    ]
    assert cells(str(refused).splitlines()[-1]) == ["nobody grants anything", "refused"]


def test_only_a_plan_will_do() -> None:
    with pytest.raises(InvalidInputError, match="what_if takes a plan"):
        what_if(TIERS)  # type: ignore[arg-type]


@pytest.mark.parametrize(("model", "public"), [("bounded", None), ("unbounded", (0.1, 1.0))])
def test_more_is_never_worse(model: ModelName, public: tuple[float, float] | None) -> None:
    plan = plan_mean(TIERS, model=model, budget_range=public)
    assert max(errors(what_if(plan)).values()) < 1.02 * plan.expected_std  # the shares are as usual, not the best


def test_what_if_keeps_the_options_of_the_plan() -> None:
    options: dict[str, Any] = {
        "share": 0.5,
        "shape": "gaussian",
        "bounds": (-10.0, 10.0),
        "choices": Choices(clip_half_width=2.0),
    }
    found = errors(what_if(plan_mean(TIERS, **options)))
    twice = {budget: 2 * people for budget, people in TIERS.items()}
    assert found["twice as many people"] == plan_mean(twice, **options).expected_std


def test_the_public_range_grows_with_a_doubled_budget() -> None:
    found = what_if(plan_mean(TIERS, model="unbounded", budget_range=(0.1, 1.0)))
    ranges = {one.name: one.plan.model.budget_range for one in found if one.plan}
    assert ranges["everyone at 1 raised to 2"] == (0.1, 2.0)
    assert ranges["twice as many people"] == (0.1, 1.0)


def test_people_who_grant_nothing_may_begin_to() -> None:
    found = errors(what_if(plan_mean({0.0: 3000, 0.1: 5000})))
    assert found["everyone at 0 raised to 0.1"] == plan_mean({0.1: 8000}).expected_std
    assert "25 % more people at 0" not in found


def test_public_people_have_no_more_to_grant() -> None:
    found = errors(what_if(plan_mean({0.1: 5000, math.inf: 100})))
    assert [name for name in found if name.startswith("everyone at")] == ["everyone at 0.1 raised to inf"]


def test_one_tier_is_doubled_once() -> None:
    assert list(errors(what_if(plan_mean({0.1: 5000})))) == [
        "everyone at 0.1 raised to 0.2",
        "25 % more people",
        "twice as many people",
    ]


def test_many_budgets_are_not_told_one_by_one() -> None:
    budgets = np.geomspace(0.01, 1, 5001)
    found = errors(what_if(plan_mean(budgets)))
    assert list(found) == [
        "everyone below the median, 0.1, raised to it",
        "every budget doubled",
        "25 % more people",
        "twice as many people",
    ]
    raised = plan_mean(np.maximum(budgets, 0.1)).expected_std
    assert found["everyone below the median, 0.1, raised to it"] == pytest.approx(raised, rel=1e-3)


def test_budgets_counted_on_a_grid_are_written_short() -> None:
    plan = plan_mean(np.repeat([0.1, 0.5, 0.25], 60_000))  # so many that they are counted in cells
    names = list(errors(what_if(plan)))
    assert names[:3] == [
        "everyone at 0.1 raised to 0.25",
        "everyone at 0.25 raised to 0.5",
        "everyone at 0.5 raised to 1",
    ]
