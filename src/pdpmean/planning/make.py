"""Make a plan: the best one for a census, or a refusal that says what would help."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from pdpmean.core.choices import SMALLEST_SHARE, ShapeName, check_shape
from pdpmean.core.options import Options
from pdpmean.core.profile import Profile
from pdpmean.core.quiet import quietly
from pdpmean.errors import InsufficientBudgetError, InvalidInputError
from pdpmean.planning.any_shape import AnyShapePlanner
from pdpmean.planning.census import Census
from pdpmean.planning.forecast import LARGEST_SAMPLE, LARGEST_WEIGHT
from pdpmean.planning.gaussian import GaussianPlanner
from pdpmean.planning.known_bounds import KnownBoundsPlanner
from pdpmean.planning.levels import MOST_LEVELS
from pdpmean.planning.plan import Plan
from pdpmean.planning.planner import Planner

__all__ = ["PLANNERS", "Earlier", "make_plan", "plan_groups", "plan_or_none", "with_people"]

PLANNERS: dict[ShapeName, type[Planner]] = {
    "gaussian": GaussianPlanner,
    "any": AnyShapePlanner,
    "bounds": KnownBoundsPlanner,
}

_LEVELS_OF_GROUPS, _LEAST_LEVELS = 4096, 3  # of all groups together, and of each: every level has a row of sums
_LEAST_SAMPLE = 500  # records that `locate` may look at in each of many groups


@dataclass
class Earlier:
    """What was found for earlier groups: it will do for later ones much like them."""

    plan: Plan | None = None
    refused: list[tuple[Profile, float]] = field(default_factory=list)
    """Profiles that were refused, and the total budget that each would have needed."""

    def near(self, census: Census) -> Plan | None:
        """The plan of an earlier group much like this one."""
        return self.plan if self.plan and self.plan.is_like(census.profile) else None

    def needed_total(self, planner: Planner) -> float:
        """About the total budget that would not be refused, with this profile and more people."""
        own = planner.census.profile
        for profile, needed in self.refused:
            if profile.is_shaped_like(own, LARGEST_WEIGHT):
                return needed
        self.refused.append((own, planner.needed_total()))
        return self.refused[-1][1]


def make_plan(
    census: Census,
    options: Options,
    *,
    earlier: Earlier | None = None,
    room: int = LARGEST_SAMPLE,
    most_levels: int = MOST_LEVELS,
) -> Plan:
    """The best plan for a census, refused where `locate` would miss too often; it will look at about `room` records."""
    _check(census, options)
    earlier = earlier or Earlier()
    planner = _planner(census, options, room, most_levels)
    near = earlier.near(census) if planner.needs_locating else None
    plan = planner.best(near)
    earlier.plan = near or plan
    if not planner.accepts(plan):
        raise _refusal(plan, options, earlier.needed_total(planner))
    return replace(plan, nothing_missing=options.nothing_missing)


def _planner(census: Census, options: Options, room: int = LARGEST_SAMPLE, most_levels: int = MOST_LEVELS) -> Planner:
    planner = PLANNERS[options.shape]
    given = census, options.model, options.bounds, options.choices, room, options.share, options.whose, most_levels
    return planner(*given).or_better()


def _check(census: Census, options: Options) -> None:
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
    PLANNERS[options.shape].check(options)


def _refusal(plan: Plan, options: Options, needed: float) -> InsufficientBudgetError:
    """Why the plan is not followed, and what would help."""
    chance, allowed = plan.failure_probability(options.choices.max_ratio), options.choices.max_failure
    reason = (
        f"the probability of missing the population is {chance:.2g}; at most {allowed:g} is allowed"
        if chance > allowed
        else PLANNERS[options.shape].too_little
    )
    may_help = not plan.bounds.are_both_known
    bounds = "bounds=(low, high) that all values are publicly known to lie between" if may_help else ""
    share = f", a share above {float(options.share):.3g}" if options.share < 1 else ""
    people = math.inf if needed == math.inf else plan.people * (needed / plan.total)
    ways = [f"about {_people(people)} people like these", f"larger budgets{share}", *([bounds] if bounds else [])]
    helps = f"About {_amount(needed)} would be: {', '.join(ways[:-1])}, or {ways[-1]}"
    if needed == math.inf:
        helps = "No budget would be" + f", but {bounds} may" * bool(bounds)
    about = "about " if plan.census.is_noisy else ""
    return InsufficientBudgetError(
        f"a total budget of {about}{_amount(plan.total)} is not enough for an answer ({reason}). {helps}",
        total=plan.total,
        needed=needed,
        failure_probability=chance,
        people_needed=people,
    )


def _amount(total: float) -> str:
    return f"{total:,.0f}" if total >= 10 else f"{total:.3g}"


def _people(number: float) -> str:
    """About so many people, to three digits, and enough of them."""
    if number == math.inf:
        return "infinitely many"
    unit = 10 ** max(len(str(int(number))) - 3, 0)
    return f"{math.ceil(number / unit) * unit:,}"


def plan_groups(censuses: Sequence[Census], options: Options) -> list[Plan | InsufficientBudgetError]:
    """The best plan of each group, or why it is refused."""
    outcomes: dict[int, Plan | InsufficientBudgetError] = {}
    earlier = Earlier()
    room = min(max(PLANNERS[options.shape].sampled_in_groups // len(censuses), _LEAST_SAMPLE), LARGEST_SAMPLE)
    most_levels = min(max(_LEVELS_OF_GROUPS // len(censuses), _LEAST_LEVELS), MOST_LEVELS)
    # From the largest down, so that many find what was found for one much like them.
    for place in sorted(range(len(censuses)), key=lambda place: -censuses[place].profile.total):
        try:
            outcomes[place] = make_plan(censuses[place], options, earlier=earlier, room=room, most_levels=most_levels)
        except InsufficientBudgetError as refusal:
            outcomes[place] = refusal
    return [outcomes[place] for place in range(len(censuses))]


def plan_or_none(outcome: Plan | InsufficientBudgetError) -> Plan | None:
    """The plan of a group, or None where it was refused."""
    return outcome if isinstance(outcome, Plan) else None


@quietly
def with_people(plan: Plan, factor: float) -> Plan | None:
    """The plan for `factor` times as many people who grant the same budgets; None where it would be refused."""
    share = sum(plan.shares.values(), Fraction(0))
    goes_by = check_shape(plan.given_shape, plan.bounds)
    options = Options(plan.model, goes_by, plan.bounds, share, plan.choices, plan.whose)
    return _planner(plan.census.times(factor), options).with_people(1)
