"""`estimate_mean` by group, enumerated: what one record costs over the joint output of all groups is its budget.

As in test_estimator.py the shipped code runs, on small lattices and with fixed plans: here one per group, unlike each
other, so that a record treated by the wrong group's rule shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from rules import compiled

from exact.enumeration import Law, law, removal_losses, replacement_losses
from exact.pipeline import (
    CENTERS,
    EXACT,
    FAR,
    MISSING,
    NARROW,
    SEVERE_CENTERS,
    SEVERE_SPREADS,
    SPREADS,
    UNBOUNDED,
    USED,
    AroundACentre,
    Patch,
    each_share,
    each_share_below_1,
    fixed_plan,
    options_of,
    parts,
    whole,
)
from exact.test_levels import two_levels
from pdpmean import estimate
from pdpmean.core.bounds import UNKNOWN, Bounds
from pdpmean.core.model import BOUNDED, Model
from pdpmean.errors import InsufficientBudgetError
from pdpmean.laws.lattice import Lattice
from pdpmean.passes.batch import Batch
from pdpmean.passes.summing import Summing
from pdpmean.passes.thinning import Thinning
from pdpmean.planning.levels import Levels
from pdpmean.planning.plan import Plan
from pdpmean.randomness import Randomness
from pdpmean.release import any_shape, locate
from pdpmean.release.histogram import noisy_histograms
from pdpmean.sources import labels as grouping
from pdpmean.sources import read
from pdpmean.sources.arrays import ArraySource

GROUPS = ["a", "b"]
Member = tuple[float, float, str]  # value, budget, group
Outcome = Plan | InsufficientBudgetError
REFUSED = InsufficientBudgetError("too little", total=1.0, needed=2.0, failure_probability=1.0)

# The second plan gives the average what the first gives to locating, and more is kept where thinned.
LATER = {
    ("bounded", "gaussian"): parts(center=2, scale=2, sum=12),
    ("unbounded", "gaussian"): parts(census=1, weight_squares=1, center=2, scale=2, sum=10),
    ("bounded", "any"): parts(center=2, histogram=2, sum=12),
    ("unbounded", "any"): parts(census=1, weight_squares=1, center=2, histogram=3, sum=9),
}


def plans_of(model: Model, shape: Literal["gaussian", "any"] = "gaussian", **options: Any) -> list[Plan]:
    first = fixed_plan(model, shape, **options)
    second = fixed_plan(model, shape, shares=LATER[model.name, shape], **options)
    return [first, replace(second, keep_density=2 * second.keep_density)]


def joint_law(members: Sequence[Member], plans: Sequence[Outcome]) -> Law:
    """The law of everything that is released of both groups."""
    options = next(options_of(plan) for plan in plans if isinstance(plan, Plan))
    values, budgets, groups = ([member[column] for member in members] for column in range(3))

    def run(randomness: Randomness) -> object:
        return estimate.estimate_mean(
            values,
            budgets,
            by=groups,
            groups=GROUPS,
            **options,
            randomness=randomness,
        )

    return law(run, released=True)


def joining_losses(
    members: list[Member],
    plans: Sequence[Outcome],
    *planted: Patch,
    centers: Lattice = CENTERS,
    spreads: Lattice = SPREADS,
) -> list[float]:
    """Losses in the unbounded model, over every subset of the members of all groups."""
    with whole(plans, centers, spreads, *planted):
        losses = removal_losses(lambda present: joint_law(present, plans), members)
    return [losses[member] for member in members]


def replacing_losses(
    granted: list[tuple[float, str]],
    domain: list[float],
    plans: Sequence[Outcome],
    *planted: Patch,
    centers: Lattice = CENTERS,
    spreads: Lattice = SPREADS,
) -> list[float]:
    """Losses in the bounded model, over every data set from `domain`; budgets and groups are public."""

    def release(values: tuple[float, ...]) -> Law:
        return joint_law([(value, *person) for value, person in zip(values, granted, strict=True)], plans)

    with whole(plans, centers, spreads, *planted):
        return replacement_losses(release, domain, len(granted))


# --- within every budget ------------------------------------------------------------------------------------

MIXED: list[Member] = [(1.0, 2.0, "a"), (FAR, 1.5, "a"), (1.0, 3.0, "b"), (MISSING, math.inf, "b"), (1.0, 2.0, "c")]
GRANTED = [2.0, 1.5, 3.0, 4.0, 0.0]  # nobody of group c is used, so it costs them nothing


def test_unbounded_over_everyone_who_may_join_or_leave_either_group() -> None:
    losses = joining_losses(MIXED, plans_of(UNBOUNDED))
    assert all(spent <= granted + EXACT for spent, granted in zip(losses, GRANTED, strict=True))
    assert all(spent >= 0.4 * granted for spent, granted in zip(losses[:3], GRANTED[:3], strict=True))
    assert losses[4] == 0


def test_the_compiled_loops_cost_the_same() -> None:
    people = [MIXED[0], MIXED[1], MIXED[2], MIXED[4]]
    plain = joining_losses(people, plans_of(UNBOUNDED))
    with compiled():
        assert joining_losses(people, plans_of(UNBOUNDED)) == plain


@pytest.mark.parametrize("keep_density", [0.3, 0.5])
def test_unbounded_thinned(keep_density: float) -> None:
    people = [MIXED[0], MIXED[2], (FAR, 1.5, "b")]
    losses = joining_losses(
        people, plans_of(UNBOUNDED, keep_density=keep_density), centers=SEVERE_CENTERS, spreads=SEVERE_SPREADS
    )
    assert all(0.3 * budget <= spent <= budget + EXACT for spent, (_, budget, _) in zip(losses, people, strict=True))


@pytest.mark.parametrize("keep_density", [1e9, 0.5], ids=["all", "thinned"])
def test_bounded_on_every_small_data_set(keep_density: float) -> None:
    granted = [(1.5, "a"), (2.0, "b"), (1.0, "b"), (2.0, "c")]
    losses = replacing_losses(
        granted,
        [-FAR, 1.0, FAR],
        plans_of(BOUNDED, keep_density=keep_density),
        centers=SEVERE_CENTERS,
        spreads=SEVERE_SPREADS,
    )
    assert all(0.4 * budget <= spent <= budget + EXACT for spent, (budget, _) in zip(losses[:3], granted, strict=False))
    assert losses[3] == 0


@each_share_below_1
@pytest.mark.parametrize("keep_density", [1e9, 0.5], ids=["all", "thinned"])
def test_bounded_at_a_share_of_every_budget(keep_density: float, share: Fraction) -> None:
    granted = [(1.5, "a"), (2.0, "b"), (2.0, "c")]
    plans = plans_of(BOUNDED, keep_density=keep_density, share=share)
    losses = replacing_losses(granted, [-FAR, 1.0, FAR], plans, centers=SEVERE_CENTERS, spreads=SEVERE_SPREADS)
    assert all(
        0.4 * share * budget <= spent <= share * budget + EXACT
        for spent, (budget, _) in zip(losses[:2], granted, strict=False)
    )
    assert losses[2] == 0


@each_share
def test_unbounded_of_any_shape_costs_no_more_than_the_share_of_every_budget(share: Fraction) -> None:
    people: list[Member] = [(FAR, 2.0, "a"), (MISSING, 3.0, "b"), (1.0, 2.0, "b"), (1.0, 2.0, "c")]
    plans = plans_of(UNBOUNDED, "any", share=share, weight_cap=50.0)
    losses = joining_losses(people, plans, centers=SEVERE_CENTERS)
    for spent, (_, budget, group) in zip(losses[:3], people[:3], strict=True):
        shares = plans[GROUPS.index(group)].shares
        assert 0.99 * (shares["sum"] + shares["histogram"]) * budget <= spent <= share * budget + EXACT
    assert losses[3] == 0


@each_share
@pytest.mark.parametrize("bounds", [UNKNOWN, Bounds(0.0, math.inf)], ids=["no bound", "one bound"])
def test_bounded_of_any_shape_costs_no_more_than_the_share_of_every_budget(bounds: Bounds, share: Fraction) -> None:
    granted = [(3.0, "a"), (2.0, "b"), (2.0, "c")]
    plans = plans_of(BOUNDED, "any", share=share) if bounds == UNKNOWN else bounded_from(bounds, share)
    losses = replacing_losses(granted, [-FAR, FAR, MISSING], plans, centers=SEVERE_CENTERS)
    for spent, (budget, _), plan in zip(losses[:2], granted[:2], plans, strict=True):
        assert 0.99 * (plan.shares["sum"] + plan.shares["histogram"]) * budget <= spent <= share * budget + EXACT
    assert losses[2] == 0


def bounded_from(bounds: Bounds, share: Fraction) -> list[Plan]:
    """Plans that seek no centre, unlike each other."""
    later = parts(histogram=4, sum=12)
    return [fixed_plan(BOUNDED, "any", bounds=bounds, share=share, shares=shares) for shares in (None, later)]


def test_any_shape_by_the_compiled_loops_costs_the_same() -> None:
    people: list[Member] = [(FAR, 2.0, "a"), (MISSING, 3.0, "b"), (1.0, 2.0, "b"), (-FAR, 2.0, "c")]
    plain = joining_losses(people, plans_of(UNBOUNDED, "any"))
    with compiled():
        assert joining_losses(people, plans_of(UNBOUNDED, "any")) == plain


def one_histogram(values: Any, weights: Any, sizes: Any, anchors: Any, *others: Any) -> Any:
    """Every group has the histogram of all."""
    everybody = [noisy_histograms(values, weights, np.array([values.size]), [at], *others)[0] for at in anchors]
    assert len(everybody) == len(sizes)
    return everybody


def test_a_histogram_of_all_groups_for_each_is_caught() -> None:
    people: list[Member] = [(FAR, 2.0, "a"), (1.0, 2.0, "a"), (1.0, 2.0, "b")]
    plans = plans_of(UNBOUNDED, "any", weight_cap=50.0)
    assert max(joining_losses(people, plans, centers=SEVERE_CENTERS)) <= 2.0 + EXACT
    planted: Patch = (any_shape, "noisy_histograms", one_histogram)
    assert joining_losses(people, plans, planted, centers=SEVERE_CENTERS)[0] > 2.0 + 0.3


def test_a_record_without_limit_outside_every_group_costs_nothing() -> None:
    granted = [(1.5, "a"), (1.0, "b"), (math.inf, "c"), (0.0, "a")]
    losses = replacing_losses(
        granted, [-FAR, 1.0, MISSING], plans_of(BOUNDED), centers=SEVERE_CENTERS, spreads=SEVERE_SPREADS
    )
    assert all(0.4 * budget <= spent <= budget + EXACT for spent, (budget, _) in zip(losses[:2], granted, strict=False))
    assert losses[2:] == [0, 0]


def test_where_a_group_is_refused_only_its_census_costs_anything() -> None:
    people: list[Member] = [(1.0, 2.0, "a"), (FAR, 1.5, "b"), (1.0, 4.0, "b")]
    losses = joining_losses(people, [fixed_plan(UNBOUNDED), REFUSED])
    assert 0.3 * 2.0 <= losses[0] <= 2.0 + EXACT
    for spent, allowed in zip(losses[1:], (1.5 / 16, 4.0 / 16), strict=True):
        assert spent == pytest.approx(allowed, rel=1e-9)  # both budgets start a cell
    public = [(1.5, "a"), (1.5, "b"), (math.inf, "b")]
    losses = replacing_losses(public, [-FAR, 1.0, MISSING], [fixed_plan(BOUNDED), REFUSED])
    assert 0.4 * 1.5 <= losses[0] <= 1.5 + EXACT
    assert losses[1:] == [0, 0]


BETWEEN = (-0.5, 4.0)
ONE_AFTER_THE_OTHER: Patch = (locate, "in_threads", map)  # the draws of groups that are located in different ways


def unlike_plans(model: Model) -> dict[str, list[Outcome]]:
    """Plans of groups that are not treated alike: by a centre, from a bound, by sums alone, and by levels or not."""
    centre = fixed_plan(model, "any", bounds=AroundACentre(*BETWEEN))
    from_bound = fixed_plan(model, "any", bounds=Bounds(*BETWEEN))
    sums = fixed_plan(model, "bounds", bounds=Bounds(*BETWEEN))
    in_levels = with_levels(replace(centre, keep_density=0.5), two_levels(model))
    sums_in_levels = with_levels(sums, two_levels(model, edge=1.7, caps=(1.0, 0.3)))
    return {
        "a centre, and sums alone": [centre, sums],
        "from a bound, and a centre": [from_bound, centre],
        "sums alone, and from a bound": [sums, from_bound],
        "in levels, and not": [in_levels, sums],
        "not, and in levels": [from_bound, sums_in_levels],
        "in levels, each its own": [in_levels, sums_in_levels],
        "refused, and in levels": [REFUSED, in_levels],
    }


def with_levels(plan: Plan, levels: Levels) -> Plan:
    return replace(
        plan, weight_cap=0.25, spared_from=0.25, chosen_weighting=plan.chosen_weighting._replace(levels=levels)
    )


UNLIKE = list(unlike_plans(BOUNDED))


@pytest.mark.parametrize("kinds", UNLIKE)
def test_unbounded_where_groups_are_not_treated_alike(kinds: str) -> None:
    people: list[Member] = [(1.0, 2.0, "a"), (FAR, 1.5, "a"), (5e-324, 3.0, "b"), (MISSING, math.inf, "b")]
    plans = unlike_plans(UNBOUNDED)[kinds]
    losses = joining_losses(people, plans, ONE_AFTER_THE_OTHER)
    granted = [2.0, 1.5, 3.0, 4.0]
    assert all(spent <= budget + EXACT for spent, budget in zip(losses, granted, strict=True))
    for spent, budget, (_, _, group) in zip(losses, granted, people, strict=True):
        assert spent >= (0.1 if isinstance(plans[GROUPS.index(group)], Plan) else 0.06) * budget
    with compiled():
        assert joining_losses(people, plans, ONE_AFTER_THE_OTHER) == losses


@pytest.mark.parametrize("kinds", UNLIKE)
def test_bounded_where_groups_are_not_treated_alike(kinds: str) -> None:
    granted = [(2.0, "a"), (1.5, "b")]
    plans = unlike_plans(BOUNDED)[kinds]
    losses = replacing_losses(granted, [-FAR, 0.3, MISSING, 1e308], plans, ONE_AFTER_THE_OTHER)
    for spent, (budget, _), plan in zip(losses, granted, plans, strict=True):
        assert (0.5 * budget if isinstance(plan, Plan) else 0) <= spent <= budget + EXACT
        assert isinstance(plan, Plan) or spent == 0


# --- planted bugs -------------------------------------------------------------------------------------------

BATCHES, AT, SUMMING_OF, CODES_OF = ArraySource.batches, Thinning.at, Summing.of, grouping.codes_of  # as shipped
SEVERE: list[Member] = [(1.0, 1.5, "a"), (FAR, 1.5, "a"), (1.0, 1.5, "b"), (FAR, 1.5, "b")]


def severe_losses(*planted: Patch, share: Fraction = USED["whole"]) -> list[float]:
    """What the far record of each group loses: in every step at once it moves the worst way."""
    first, second = plans_of(UNBOUNDED, clip_half_width=NARROW, share=share)
    # At the cap, squares of weights cost the most.
    plans = [replace(plan, weight_cap=1.5 * float(plan.shares["sum"])) for plan in (first, second)]
    return joining_losses(SEVERE, plans, *planted, centers=SEVERE_CENTERS, spreads=SEVERE_SPREADS)[1::2]


@each_share
def test_a_whole_budget_is_spent_in_either_group_and_no_more(share: Fraction) -> None:
    """A record's budget is spent in its own group; nothing is left over for the other, and nothing needed."""
    assert all(0.97 * share * 1.5 <= spent <= share * 1.5 + EXACT for spent in severe_losses(share=share))


def in_both_groups(self: ArraySource, *, values: bool = True) -> Iterator[Batch]:
    """Every record once in its own group and once in the other."""
    for batch in BATCHES(self, values=values):
        assert batch.groups is not None
        groups = np.concatenate([batch.groups, 1 - batch.groups])
        yield Batch(np.tile(batch.values, 2), np.tile(batch.budgets, 2), groups)


def other_thinning(self: Thinning, groups: Any) -> Thinning:
    """Each record by the rule of the other group."""
    return AT(self, 1 - groups)


def other_summing(*rules: Any, **options: Any) -> Summing:
    """The sums of each group by the rule of the other."""
    summing = SUMMING_OF(*rules, **options)
    return replace(summing, rules=summing.rules[[1, 0, 2]])


BUGS: dict[str, tuple[Patch, float]] = {
    "a record counted in both groups": ((ArraySource, "batches", in_both_groups), 0.9),
    "located by the other group's rule": ((Thinning, "at", other_thinning), 0.25),
    "averaged by the other group's rule": ((Summing, "of", other_summing), 0.05),
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug_is_caught(bug: str) -> None:
    planted, excess = BUGS[bug]
    assert max(severe_losses(planted)) > 1.5 + excess


def test_a_record_in_both_groups_is_caught_in_the_bounded_model() -> None:
    granted = [(1.5, "a"), (1.5, "b")]
    options: dict[str, Any] = {"centers": SEVERE_CENTERS, "spreads": SEVERE_SPREADS}
    plans = plans_of(BOUNDED)
    assert max(replacing_losses(granted, [-FAR, 1.0, FAR], plans, **options)) <= 1.5 + EXACT
    planted: Patch = (ArraySource, "batches", in_both_groups)
    assert min(replacing_losses(granted, [-FAR, 1.0, FAR], plans, planted, **options)) > 1.5 + 0.5


def test_a_record_of_no_group_that_is_used_all_the_same_is_caught() -> None:
    def first_instead(column: Any, groups: Any) -> Any:
        codes = CODES_OF(column, groups)
        return np.where(codes == len(groups), 0, codes).astype(np.int32)

    people: list[Member] = [(1.0, 2.0, "a"), (FAR, 1.5, "c")]
    assert joining_losses(people, plans_of(UNBOUNDED))[1] == 0
    assert joining_losses(people, plans_of(UNBOUNDED), (read, "codes_of", first_instead))[1] > 0.5
