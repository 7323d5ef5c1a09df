"""Plan: every choice of an estimate, made from public numbers before a value is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from pdpmean.census import CENSUS_PART, Census, expected_census
from pdpmean.choices import (
    SMALLEST_SHARE,
    Choices,
    ShapeName,
    check_choices,
    check_shape,
    check_share,
    check_support,
    floor_share,
)
from pdpmean.errors import InsufficientBudgetError, InvalidInputError
from pdpmean.forecast import LARGEST_SAMPLE, LARGEST_WEIGHT
from pdpmean.model import Model, make_model
from pdpmean.planned import Plan, Shares
from pdpmean.planner import Planner
from pdpmean.profile import Profile
from pdpmean.progress import Progress, Watch
from pdpmean.quiet import quietly
from pdpmean.read import Columns, read_people
from pdpmean.sources import Source

__all__ = ["Plan", "PlanOptions", "Shares", "make_plan", "plan_groups", "plan_mean", "with_people"]

# Records that `locate` may look at: in all groups together, by shape, and in each.
_GROUPS_SAMPLE: dict[ShapeName, int] = {"gaussian": 1_000_000, "any": 2_000_000}
_LEAST_SAMPLE = 500


@quietly
def plan_mean(
    budgets: Any,
    *,
    budget: str | None = None,
    tiers: Mapping[Any, float] | None = None,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    shape: ShapeName = "gaussian",
    support: tuple[float, float] | None = None,
    share: float | Fraction = 1,
    choices: Choices | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The plan for these budgets: what to expect before any value is read. Errors are in standard deviations.

    It tells the budgets it is given. Where they are private (unbounded), give those of the people you expect.

    Parameters
    ----------
    budgets
        One budget a person, or how many people hold which: ``{0.1: 5400, 0.5: 3700, 1.0: 900}``. With `tiers`, names
        stand for budgets in either. Or a table, as for `estimate_mean`.
    budget
        The name of the column of budgets, if a table is given; no other is read.
    tiers
        The budget of each tier, by name.
    model, budget_range, shape, support, share, choices, progress
        As for `estimate_mean`.

    Raises
    ------
    InsufficientBudgetError
        No answer can be expected; says what would suffice.

    """
    chosen = make_model(model, budget_range)
    whole = check_share(share)
    people = read_people(budgets, Columns(budget=budget, tiers=tiers), chosen)
    if isinstance(people, Source):
        people.watch = progress and Watch(progress, counted=chosen.budget_range is None)
    census = expected_census(people, chosen, floor_share(CENSUS_PART * whole))
    options = PlanOptions(chosen, check_shape(shape), check_support(support), whole, check_choices(choices))
    return make_plan(census, options)


class PlanOptions(NamedTuple):
    """What a plan is made with, beside a census; as `make_plan` takes it."""

    model: Model
    shape: ShapeName
    support: tuple[float, float] | None
    share: Fraction
    choices: Choices


@dataclass
class Earlier:
    """What was found for earlier groups: it will do for later ones much like them."""

    plan: Plan | None = None
    refused: list[tuple[Profile, float]] = field(default_factory=list)
    """Whom more people would have been needed of, and what they would have to grant together."""

    def needed_total(self, planner: Planner) -> float:
        """About the total budget that would not be refused, with this profile and more people."""
        own = planner.census.profile
        for profile, needed in self.refused:
            if profile.is_shaped_like(own, LARGEST_WEIGHT):
                return needed
        self.refused.append((own, planner.needed_total()))
        return self.refused[-1][1]


def make_plan(
    census: Census, options: PlanOptions, *, earlier: Earlier | None = None, room: int = LARGEST_SAMPLE
) -> Plan:
    """The best plan for a census, refused where `locate` would miss too often; it will look at about `room` records."""
    _check(census, options)
    earlier = earlier or Earlier()
    model, shape, support, share, choices = options
    planner = Planner(census, model, shape, support, choices, room, share)
    near = earlier.plan if earlier.plan and earlier.plan.is_like(census.profile) else None
    plan = planner.best(near)
    earlier.plan = near or plan
    if not planner.accepts(plan):
        raise _refusal(plan, options, earlier.needed_total(planner))
    return plan


def _check(census: Census, options: PlanOptions) -> None:
    """Raise if there is nothing to plan for, or if choices do not go together."""
    share, choices = options.share, options.choices
    if census.profile.levels.size == 0:
        who = "nobody grants any budget" if census.left_out else "there are no records"
        raise InsufficientBudgetError(
            f"{who}, so nothing can be said about the mean",
            total=0.0,
            needed=math.inf,
            failure_probability=1.0,
        )
    left = share - census.share - SMALLEST_SHARE
    chosen = (choices.center_share or 0) + (choices.scale_share or 0)
    if chosen and chosen > left:
        raise InvalidInputError(
            f"center_share and scale_share must leave something to average; together at most {float(left):g}",
            name="center_share",
        )
    if options.shape == "any" and (choices.center_share or choices.scale_share or choices.clip_width):
        raise InvalidInputError(
            "center_share, scale_share and clip_width are choices for shape='gaussian' alone",
            name="choices",
            value=choices,
        )


def _refusal(plan: Plan, options: PlanOptions, needed: float) -> InsufficientBudgetError:
    """Why the plan is not followed, and what would help."""
    chance, allowed = plan.failure_probability(options.choices.max_ratio), options.choices.max_failure
    reason = (
        f"the chance not to find the population is {chance:.2g}, allowed {allowed:g}"
        if chance > allowed
        else "too little for the width of a population of any shape"
    )
    support = "" if plan.support or plan.shape == "any" else "a support=(low, high) known to hold the population"
    share = f", a share above {float(options.share):.3g}" if options.share < 1 else ""
    helps = f"About {_amount(needed)} would: more people or larger budgets{share}" + f", or {support}" * bool(support)
    if needed == math.inf:
        helps = "No budget would" + f", but {support} may" * bool(support)
    about = "about " if plan.census.share else ""
    return InsufficientBudgetError(
        f"a total budget of {about}{_amount(plan.total)} cannot carry an answer ({reason}). {helps}",
        total=plan.total,
        needed=needed,
        failure_probability=chance,
    )


def _amount(total: float) -> str:
    return f"{total:,.0f}" if total >= 10 else f"{total:.3g}"


def plan_groups(censuses: Sequence[Census], options: PlanOptions) -> list[Plan | InsufficientBudgetError]:
    """The best plan of each group, or why it is refused."""
    outcomes: dict[int, Plan | InsufficientBudgetError] = {}
    earlier = Earlier()
    room = min(max(_GROUPS_SAMPLE[options.shape] // len(censuses), _LEAST_SAMPLE), LARGEST_SAMPLE)
    # From the largest down, so that many find what was found for one much like them.
    for place in sorted(range(len(censuses)), key=lambda place: -censuses[place].profile.total):
        try:
            outcomes[place] = make_plan(censuses[place], options, earlier=earlier, room=room)
        except InsufficientBudgetError as refusal:
            outcomes[place] = refusal
    return [outcomes[place] for place in range(len(censuses))]


@quietly
def with_people(plan: Plan, factor: float) -> Plan | None:
    """The plan for `factor` times as many people who grant the same budgets; None where it would be refused."""
    share = sum(plan.shares.values(), Fraction(0))
    return Planner(plan.census, plan.model, plan.shape, plan.support, plan.choices, share=share).with_people(factor)
