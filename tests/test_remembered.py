"""Remembered plans are those that would be found, and no other planner's."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
from remembered import content, remembered_plans

from pdpmean import InsufficientBudgetError, plan_mean
from pdpmean.core.choices import Choices
from pdpmean.core.profile import Profile
from pdpmean.laws.simplex import find_least
from pdpmean.planning import gaussian

OPTIONS: list[dict[str, Any]] = [
    {"shape": "gaussian"},
    {},
    {"bounds": (0, None)},
    {"bounds": (0, 1)},
    {"shape": "gaussian", "model": "unbounded", "budget_range": (0.1, 1.0)},
    {"shape": "gaussian", "share": 0.5},
]


def told(options: dict[str, Any], people: int) -> tuple[str, Any]:
    try:
        plan = plan_mean({0.1: people, 1.0: people}, **options)
    except InsufficientBudgetError as refusal:
        return str(refusal), None
    return str(plan), plan.to_dict()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_plans_and_refusals_are_those_that_are_found_anew(options: dict[str, Any]) -> None:
    anew = [told(options, people) for people in (20, 900, 901)]
    with remembered_plans():
        assert [told(options, people) for people in (20, 900, 901, 20, 900, 901)] == 2 * anew


def test_nothing_is_searched_for_twice_and_nobody_shares_a_plan() -> None:
    with remembered_plans(), mock.patch.object(gaussian, "find_least", wraps=find_least) as search:
        first = plan_mean({0.3: 7777}, shape="gaussian")
        searches = search.call_count
        second = plan_mean({0.3: 7777}, shape="gaussian")
    assert search.call_count == searches > 0
    assert first is not second
    assert first.census.profile is not second.census.profile
    assert str(first) == str(second)


@pytest.mark.parametrize("other", [-0.0, 5e-324, 0, False, math.nan])
def test_the_last_bit_and_the_type_count(other: Any) -> None:
    assert content((0.0,)) != content((other,))


def test_whatever_is_cached_beside_the_content_does_not_count() -> None:
    with_sums, without = plan_mean({0.3: 7777}).census, plan_mean({0.3: 7777}).census
    assert with_sums.profile.people == 7777
    assert content(with_sums) == content(without)
    assert content(
        replace(without, profile=Profile(without.profile.allowances, without.profile.counts + 1))
    ) != content(without)
    assert content(Choices()) == content(Choices())
