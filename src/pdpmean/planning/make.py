"""Make a plan: the best one for a census, or a refusal that says what would help.

A plan is found by the planner of the assumed shape (`PLANNERS`). It is refused if the population would be missed too
often, or if the answer would say next to nothing; a refusal names the total budget that would be enough. With groups,
what was found for one group is reused for groups much like it, since a search takes far longer than a forecast.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NamedTuple

from pdpmean.core.bounds import Bounds
from pdpmean.core.choices import SMALLEST_SHARE, ShapeName, check_shape, given_shape
from pdpmean.core.model import Model
from pdpmean.core.options import Options
from pdpmean.core.profile import Profile
from pdpmean.core.quiet import quietly
from pdpmean.core.text import short
from pdpmean.core.whose import Whose
from pdpmean.errors import InsufficientBudgetError, InvalidInputError
from pdpmean.planning.any_shape import AnyShapePlanner
from pdpmean.planning.census import Census
from pdpmean.planning.forecast import LARGEST_SAMPLE, LARGEST_WEIGHT
from pdpmean.planning.gaussian import GaussianPlanner
from pdpmean.planning.known_bounds import KnownBoundsPlanner
from pdpmean.planning.levels import MOST_LEVELS
from pdpmean.planning.plan import Plan
from pdpmean.planning.planner import Planner

__all__ = ["PLANNERS", "make_plan", "plan_groups", "plan_like", "plan_or_none", "with_people"]

PLANNERS: dict[ShapeName, type[Planner]] = {
    "gaussian": GaussianPlanner,
    "any": AnyShapePlanner,
    "bounds": KnownBoundsPlanner,
}

# Every level of every group has a row of sums, so that memory and time limit their number.
_MOST_LEVELS_OF_ALL_GROUPS = 4096
_LEAST_LEVELS = 3  # levels that each group may have, however many groups there are
# Kinds of bounds that a refusal suggests, in its words, each with an example to plan with: any of the kind will do.
_BOUNDS_TO_SUGGEST = {
    "one bound (bounds=(low, None))": Bounds(low=0.0),
    "two narrow bounds (bounds=(low, high))": Bounds(0.0, 1.0),
}
_MUCH_LESS = 0.8  # bounds are suggested if they lower the needed total below this part of it
_LEAST_SAMPLE = 500  # records that `locate` may look at in each group, however many groups there are


class NeededTotals(NamedTuple):
    """The total budgets that would be enough for an answer, from more people with the same profile of budgets."""

    total: float
    """Approximate, in nats; infinite if no budget would be enough."""
    with_bounds: dict[str, float]
    """The same if bounds were publicly known, by the words for them; only where that is much less."""


@dataclass
class EarlierGroups:
    """What was found for earlier groups, to be reused for later groups much like them."""

    plan: Plan | None = None
    """The latest plan that was searched for."""
    refused: list[tuple[Profile, NeededTotals]] = field(default_factory=list)
    """Profiles that were refused, and the total budget that each would have needed."""

    def near(self, census: Census) -> Plan | None:
        """The latest plan, if its group is much like this one."""
        return self.plan if self.plan and self.plan.is_like(census.profile) else None

    def needed(self, planner: Planner, options: Options) -> NeededTotals:
        """The total budget that this refused group needs, as found for an earlier group of like profile if any."""
        refused_profile = planner.census.profile
        for profile, needed in self.refused:
            if profile.is_shaped_like(refused_profile, LARGEST_WEIGHT):
                return needed
        self.refused.append((refused_profile, _needed(planner, options)))
        return self.refused[-1][1]


def make_plan(
    census: Census,
    options: Options,
    *,
    earlier: EarlierGroups | None = None,
    room: int = LARGEST_SAMPLE,
    most_levels: int = MOST_LEVELS,
) -> Plan:
    """The best plan for a census; raises `InsufficientBudgetError` if it is not good enough to be followed.

    `locate` will look at about `room` records, and there will be at most `most_levels` levels. `earlier` holds what was
    found for other groups, and is updated.
    """
    _check(census, options)
    earlier = earlier or EarlierGroups()
    planner = _planner(census, options, room, most_levels)
    near = earlier.near(census) if planner.needs_locating else None
    plan = planner.best(near)
    if planner.needs_locating:  # a plan that locates nothing says nothing about one that does
        earlier.plan = near or plan
    if not planner.accepts(plan):
        raise _refusal(plan, options, earlier.needed(planner, options))
    return replace(plan, nothing_missing=True) if options.nothing_missing else plan


def _planner(census: Census, options: Options, room: int = LARGEST_SAMPLE, most_levels: int = MOST_LEVELS) -> Planner:
    """The planner of the requested shape, or of another one that suits the known bounds better."""
    direct = PLANNERS[options.shape](
        census=census,
        model=options.model,
        bounds=options.bounds,
        choices=options.choices,
        room=room,
        share=options.share,
        whose=options.whose,
        most_levels=most_levels,
    )
    values_fill_bounds = options.equals is not None  # all values are 0 or 1, so there is nothing to locate
    return direct if values_fill_bounds else direct.or_better()


def _check(census: Census, options: Options) -> None:
    """Raise if nobody grants any budget, or if the chosen parameters contradict each other or the shape."""
    share, choices = options.share, options.choices
    if census.profile.allowances.size == 0:
        has_ledger = options.ledger is not None
        nobody = "nobody in the data has budget left in the ledger" if has_ledger else "nobody grants any budget"
        who = nobody if census.left_out else "there are no records"
        what_helps = ". People must grant more there first" if has_ledger and census.left_out else ""
        raise InsufficientBudgetError(
            f"{who}, so nothing can be said about the mean{what_helps}",
            total=0.0,
            needed=math.inf,
            failure_probability=1.0,
        )
    left = share - census.share - SMALLEST_SHARE
    chosen = (choices.center_share or 0) + (choices.scale_share or 0)
    if chosen and chosen > left:
        raise InvalidInputError(
            f"center_share and scale_share must leave a share for the average; together at most {float(left):g}",
            name="center_share",
        )
    PLANNERS[options.shape].check(options)


def _needed(planner: Planner, options: Options) -> NeededTotals:
    """The total budget that would be enough for an answer, with these options and with more bounds known."""
    total = planner.needed_total()
    known_bounds = sum(map(math.isfinite, options.bounds))
    with_more_bounds = {
        words: _planner(planner.census, _with_bounds(options, bounds)).needed_total()
        for words, bounds in _BOUNDS_TO_SUGGEST.items()
        if known_bounds < sum(map(math.isfinite, bounds))
    }
    return NeededTotals(total, {words: less for words, less in with_more_bounds.items() if less < _MUCH_LESS * total})


def _with_bounds(options: Options, bounds: Bounds) -> Options:
    """The same options if these bounds were known, which may imply another shape."""
    return replace(options, bounds=bounds, shape=check_shape(given_shape(options.shape), bounds))


def _refusal(plan: Plan, options: Options, needed: NeededTotals) -> InsufficientBudgetError:
    """The error to raise instead of following the plan: it says why, and what would help."""
    chance = plan.failure_probability(options.choices.max_ratio)
    allowed = options.choices.max_failure
    reason = (
        f"in {short(100 * chance)} of 100 runs it would not show where the values lie, and at most "
        f"{short(100 * allowed)} are accepted"
        if chance > allowed
        else f"it is {PLANNERS[options.shape].too_little}"
    )
    about = "about " if plan.census.is_noisy else ""
    return InsufficientBudgetError(
        f"a total budget of {about}{_amount(plan.total)} is not enough for an answer: {reason}. "
        f"{_what_helps(plan, options, needed.total)}{_what_bounds_help(plan, needed)}",
        total=plan.total,
        needed=needed.total,
        failure_probability=chance,
        people_needed=_people_for(needed.total, plan),
    )


def _what_helps(plan: Plan, options: Options, needed: float) -> str:
    """The sentence on what would be enough if nothing else changes."""
    if needed == math.inf:
        return "No budget would be enough"
    share = f", a share above {float(options.share):.3g}" if options.share < 1 else ""
    people = _people(_people_for(needed, plan))
    return f"About {_amount(needed)} would be enough: about {people} people like these{share}, or larger budgets"


def _what_bounds_help(plan: Plan, needed: NeededTotals) -> str:
    """The sentences on what would be enough if bounds were publicly known; empty if they would not help."""
    return "".join(
        f". With {words}, {_amount_and_people(plan, less)}"
        for words, less in needed.with_bounds.items()
        if less < math.inf
    )


def _amount_and_people(plan: Plan, needed: float) -> str:
    if needed <= plan.total:
        return "this budget is enough"
    return f"about {_amount(needed)} would be enough ({_people(_people_for(needed, plan))} people)"


def _people_for(needed: float, plan: Plan) -> float:
    """The number of people like those at hand whose budgets add up to `needed`."""
    return math.inf if needed == math.inf else plan.people * (needed / plan.total)


def _amount(total: float) -> str:
    return f"{total:,.0f}" if total >= 10 else f"{total:.3g}"


def _people(number: float) -> str:
    """A number of people in words, rounded up to three digits."""
    if number == math.inf:
        return "infinitely many"
    unit = 10 ** max(len(str(int(number))) - 3, 0)
    return f"{math.ceil(number / unit) * unit:,}"


def plan_groups(censuses: Sequence[Census], options: Options) -> list[Plan | InsufficientBudgetError]:
    """The best plan of each group, or the error that says why it is refused."""
    outcomes: dict[int, Plan | InsufficientBudgetError] = {}
    earlier = EarlierGroups()
    room = min(max(PLANNERS[options.shape].sampled_in_groups // len(censuses), _LEAST_SAMPLE), LARGEST_SAMPLE)
    most_levels = min(max(_MOST_LEVELS_OF_ALL_GROUPS // len(censuses), _LEAST_LEVELS), MOST_LEVELS)
    # In descending order of the total budget, so that groups much like each other follow each other and share a plan.
    for group in sorted(range(len(censuses)), key=lambda group: -censuses[group].profile.total):
        try:
            outcomes[group] = make_plan(censuses[group], options, earlier=earlier, room=room, most_levels=most_levels)
        except InsufficientBudgetError as refusal:
            outcomes[group] = refusal
    return [outcomes[group] for group in range(len(censuses))]


def plan_or_none(outcome: Plan | InsufficientBudgetError) -> Plan | None:
    """The plan of a group, or None where it was refused."""
    return outcome if isinstance(outcome, Plan) else None


@quietly
def with_people(plan: Plan, factor: float) -> Plan | None:
    """The plan for `factor` times as many people who grant the same budgets; None where it would be refused."""
    return plan_like(plan, plan.census.times(factor), plan.model, plan.whose)


def plan_like(plan: Plan, census: Census, model: Model, whose: Whose) -> Plan | None:
    """The plan for another census, to be compared with this one; None where it would be refused.

    What "auto" had decided for the given plan, such as its weighting, stays decided. Otherwise the error could seem to
    grow with more people or larger budgets, namely where these let everyone count the same.
    """
    share = sum(plan.shares.values(), Fraction(0))
    settled = replace(whose, weighting=plan.weighting)
    shapes = dict.fromkeys((plan.shape, check_shape(plan.given_shape, plan.bounds)))
    planners = (
        PLANNERS[shape](
            census=census,
            model=model,
            bounds=plan.bounds,
            choices=plan.choices,
            room=LARGEST_SAMPLE,
            share=share,
            whose=settled,
        )
        for shape in shapes
    )
    plans = (planner.with_people(1) for planner in planners)
    return next(filter(None, plans), None)
