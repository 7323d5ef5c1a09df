"""Levels of budgets, enumerated: sums kept apart cost no more than one sum of all; mutants do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from rules import compiled

from exact.enumeration import Law, law, removal_losses, replacement_losses
from exact.pipeline import (
    CENTERS,
    EXACT,
    FAR,
    MISSING,
    SPREADS,
    UNBOUNDED,
    Patch,
    Person,
    each_share,
    fixed_plan,
    options_of,
    whole,
)
from pdpmean import estimate
from pdpmean.core.bounds import UNKNOWN, Bounds
from pdpmean.core.choices import ShapeName
from pdpmean.core.model import BOUNDED, Model
from pdpmean.core.rules import KeepRule
from pdpmean.core.types import Counts
from pdpmean.core.weights import locating_weights
from pdpmean.passes.batch import Batch
from pdpmean.passes.summing import Summing
from pdpmean.planning.levels import Levels
from pdpmean.planning.plan import Plan
from pdpmean.randomness import Randomness
from pdpmean.release import average
from pdpmean.release.clip import Clip
from pdpmean.release.group import Group
from pdpmean.release.known_bounds import KnownBoundsRelease
from pdpmean.release.shape import ExactSums

SHAPES: list[ShapeName] = ["gaussian", "any", "bounds"]
each_shape = pytest.mark.parametrize("shape", SHAPES)


def two_levels(model: Model, *, edge: float = 1.2, caps: tuple[float, float] = (0.5, 3.0)) -> Levels:
    """Those who grant less than the edge, and those who grant as much; what is expected of them plays no part."""
    ones = np.ones(2)
    return Levels(
        edges=(edge / model.budget_per_allowance,),
        caps=caps,
        budgets=((0.1, edge), (edge, 4.0)),
        people=ones,
        nats=ones,
        effective=ones,
        middle=ones,
        score_by_people=ones,
        score_by_weight=ones,
        unevenness=ones,
        mean_weight_error=ones,
    )


def plan_of(model: Model, shape: ShapeName, share: Fraction = Fraction(1), levels: Levels | None = None) -> Plan:
    """A plan of two levels, the upper of which may weigh more than a single sum would let it."""
    bounds = Bounds(-1.0, 1.0) if shape == "bounds" else UNKNOWN
    return fixed_plan(model, shape, bounds=bounds, share=share, weight_cap=0.25, levels=levels or two_levels(model))


def estimate_of(present: Sequence[Person], plan: Plan, randomness: Randomness) -> Any:
    values, budgets = [value for value, _ in present], [budget for _, budget in present]
    return estimate.estimate_mean(values, budgets, **options_of(plan), randomness=randomness)


def joining_losses(people: list[Person], plan: Plan, *planted: Patch) -> list[float]:
    """Losses in the unbounded model, over every subset of `people`."""

    def release(present: tuple[Person, ...]) -> Law:
        return law(lambda r: estimate_of(present, plan, r), released=True)

    with whole([plan], CENTERS, SPREADS, *planted):
        losses = removal_losses(release, people)
    return [losses[person] for person in people]


def replacing_losses(budgets: list[float], plan: Plan, *planted: Patch) -> list[float]:
    """Losses in the bounded model, over every data set of far and near values and a missing one."""

    def release(values: tuple[float, ...]) -> Law:
        return law(lambda r: estimate_of(list(zip(values, budgets, strict=True)), plan, r), released=True)

    with whole([plan], CENTERS, SPREADS, *planted):
        return replacement_losses(release, [-FAR, 0.3, MISSING], len(budgets))


@each_share
@each_shape
def test_a_record_pays_for_its_own_level_where_budgets_are_public(shape: ShapeName, share: Fraction) -> None:
    budgets = [0.0, 1.0, 3.0]
    losses = replacing_losses(budgets, plan_of(BOUNDED, shape, share))
    assert all(spent <= share * budget + EXACT for spent, budget in zip(losses, budgets, strict=True))
    assert losses[2] >= 0.2 * share * 3.0


@each_share
@each_shape
def test_a_record_pays_for_its_own_level_where_budgets_are_private(shape: ShapeName, share: Fraction) -> None:
    people: list[Person] = [(1.0, 2.0), (0.3, 1.0), (MISSING, 0.4)]
    losses = joining_losses(people, plan_of(UNBOUNDED, shape, share))
    granted = [2.0, 1.0, 0.0]
    assert all(spent <= share * budget + EXACT for spent, budget in zip(losses, granted, strict=True))
    assert losses[2] == 0


def test_the_compiled_loops_cost_the_same_as_numpy() -> None:
    people: list[Person] = [(1.0, 2.0), (0.3, 1.0)]
    plan = plan_of(UNBOUNDED, "bounds")
    by_numpy = joining_losses(people, plan)
    with compiled():
        assert joining_losses(people, plan) == by_numpy


# --- planted ---------------------------------------------------------------------------------------------------------

TALLY, RELEASE = Summing.tally, KnownBoundsRelease.release  # as shipped


def also_in_the_first(self: Summing, batch: Batch, table: Counts) -> None:
    """Everybody in their own level, and in the first one as well."""
    TALLY(self, batch, table)
    TALLY(replace(self, edges=np.full_like(self.edges, math.nan)), batch, table)


def test_a_record_in_two_levels_is_caught() -> None:
    plan = plan_of(BOUNDED, "bounds", levels=two_levels(BOUNDED, caps=(3.0, 3.0)))
    assert max(replacing_losses([3.0, 3.0], plan)) <= 3.0 + EXACT
    assert max(replacing_losses([3.0, 3.0], plan, (Summing, "tally", also_in_the_first))) > 1.9 * 3.0


def from_the_largest_budget(group: Group) -> tuple[float, ...]:
    """Levels that begin where private budgets have it."""
    return (float(group.cells.lows.max(initial=0.0)),)


def test_levels_that_follow_private_budgets_are_caught() -> None:
    """Whoever grants the most decides where the others are summed."""
    people: list[Person] = [(1.0, 2.0), (0.9, 1.5), (1.0, 1.5)]
    plan = plan_of(UNBOUNDED, "bounds", levels=two_levels(UNBOUNDED, caps=(3.0, 3.0)))
    assert max(joining_losses(people, plan)) <= 2.0 + EXACT
    assert joining_losses(people, plan, (average, "_edges", from_the_largest_budget))[0] > 1.5 * 2.0


class SharedNoise:
    """Levels with one noise for all: what they differ by is released without any."""

    def __init__(self) -> None:
        self.first: int | None = None

    def release(self, shape: KnownBoundsRelease, plan: Plan, clip: Clip, sums: ExactSums, randomness: Any) -> Any:
        if self.first is None:
            self.first = sums.values
        else:
            randomness.transcript.append(sums.values - self.first)
            self.first = None
        return RELEASE(shape, plan, clip, sums, randomness)


def test_noise_that_levels_share_is_caught() -> None:
    shared = SharedNoise()
    planted: Patch = (KnownBoundsRelease, "release", lambda *given: shared.release(*given))
    assert max(replacing_losses([1.0, 3.0], plan_of(BOUNDED, "bounds"), planted)) == math.inf


def most_spent(plan: Plan, rule: KeepRule, allowance: float) -> float:
    """What a record of the upper level may cost in locating and in its sums together."""
    assert plan.levels
    located = min(float(locating_weights(allowance, rule.share, rule.sum_share, rule.spared_from)), rule.cap)
    return located + min(rule.sum_share * allowance, plan.levels.caps[-1])


def test_what_the_sums_of_levels_use_is_not_spared_for_locating() -> None:
    """A record of the upper level weighs more than a single sum would have let it: that is not left over."""
    plan = plan_of(UNBOUNDED, "gaussian")
    with mock.patch.object(Plan, "_caps", ()):
        spared_as_if_single = replace(plan).keep_rule
    granted = float(plan.shares.locating + plan.shares["sum"]) * 3.0
    assert most_spent(plan, plan.keep_rule, 3.0) <= granted
    assert most_spent(plan, spared_as_if_single, 3.0) > 1.1 * granted
