"""Make a plan: the best one for a census, or a refusal that says what would help."""

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

__all__ = ["PLANNERS", "Earlier", "make_plan", "plan_groups", "plan_like", "plan_or_none", "with_people"]

PLANNERS: dict[ShapeName, type[Planner]] = {
    "gaussian": GaussianPlanner,
    "any": AnyShapePlanner,
    "bounds": KnownBoundsPlanner,
}

_LEVELS_OF_GROUPS, _LEAST_LEVELS = 4096, 3  # of all groups together, and of each: every level has a row of sums
_BOUNDS_TO_SAY = {  # what may be known of all values, how to say so, and bounds as good as any to plan with
    "one, bounds=(low, None)": Bounds(low=0.0),
    "two narrow ones, bounds=(low, high)": Bounds(0.0, 1.0),
}
_MUCH_LESS = 0.8  # of the needed total, to be worth saying
_LEAST_SAMPLE = 500  # records that `locate` may look at in each of many groups


class Needed(NamedTuple):
    """About the total budget that would not be refused, with the same profile and more people; it may be infinite."""

    total: float
    with_bounds: dict[str, float]
    """The same if bounds are publicly known, by how to say so; where that is much less."""


@dataclass
class Earlier:
    """What was found for earlier groups: it will do for later ones much like them."""

    plan: Plan | None = None
    refused: list[tuple[Profile, Needed]] = field(default_factory=list)
    """Profiles that were refused, and the total budget that each would have needed."""

    def near(self, census: Census) -> Plan | None:
        """The plan of an earlier group much like this one."""
        return self.plan if self.plan and self.plan.is_like(census.profile) else None

    def needed(self, planner: Planner, options: Options) -> Needed:
        """What would not be refused, with this profile and more people."""
        own = planner.census.profile
        for profile, needed in self.refused:
            if profile.is_shaped_like(own, LARGEST_WEIGHT):
                return needed
        self.refused.append((own, _needed(planner, options)))
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
        raise _refusal(plan, options, earlier.needed(planner, options))
    return replace(plan, nothing_missing=options.nothing_missing)


def _planner(census: Census, options: Options, room: int = LARGEST_SAMPLE, most_levels: int = MOST_LEVELS) -> Planner:
    planner = PLANNERS[options.shape]
    given = census, options.model, options.bounds, options.choices, room, options.share, options.whose, most_levels
    direct = planner(*given)
    fill_their_bounds = options.equals is not None  # all values are 0 or 1
    return direct if fill_their_bounds else direct.or_better()


def _check(census: Census, options: Options) -> None:
    """Raise if there is nothing to plan for, or if choices do not go together."""
    share, choices = options.share, options.choices
    if census.profile.levels.size == 0:
        has_ledger = options.ledger is not None
        nobody = "nobody in the data has budget left in the ledger" if has_ledger else "nobody grants any budget"
        who = nobody if census.left_out else "there are no records"
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
            f"center_share and scale_share must leave a share for the average; together at most {float(left):g}",
            name="center_share",
        )
    PLANNERS[options.shape].check(options)


def _needed(planner: Planner, options: Options) -> Needed:
    """What would be enough for an answer, as it was asked for and with more known of the values."""
    total = planner.needed_total()
    known = sum(map(math.isfinite, options.bounds))
    wider = {
        words: _planner(planner.census, _with_bounds(options, bounds)).needed_total()
        for words, bounds in _BOUNDS_TO_SAY.items()
        if known < sum(map(math.isfinite, bounds))
    }
    return Needed(total, {words: less for words, less in wider.items() if less < _MUCH_LESS * total})


def _with_bounds(options: Options, bounds: Bounds) -> Options:
    return replace(options, bounds=bounds, shape=check_shape(given_shape(options.shape), bounds))


def _refusal(plan: Plan, options: Options, needed: Needed) -> InsufficientBudgetError:
    """Why the plan is not followed, and what would help."""
    chance, allowed = plan.failure_probability(options.choices.max_ratio), options.choices.max_failure
    reason = (
        f"finding where the values lie may fail in {100 * chance:.3g} % of runs, and {100 * allowed:.3g} % is the limit"
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
    """What would be enough, if no more is known of the values."""
    if needed == math.inf:
        return "No budget would be enough"
    share = f", a share above {float(options.share):.3g}" if options.share < 1 else ""
    people = _people(_people_for(needed, plan))
    return f"About {_amount(needed)} would be enough: about {people} people like these{share}, or larger budgets"


def _what_bounds_help(plan: Plan, needed: Needed) -> str:
    """What would be enough, if bounds are publicly known."""
    texts = [
        f"{_amount_and_people(plan, less)} with {words}"
        for words, less in needed.with_bounds.items()
        if less < math.inf
    ]
    return f". If bounds are publicly known, less is enough: {'; '.join(texts)}" if texts else ""


def _amount_and_people(plan: Plan, needed: float) -> str:
    if needed <= plan.total:
        return "this budget"
    return f"about {_amount(needed)} ({_people(_people_for(needed, plan))} people)"


def _people_for(needed: float, plan: Plan) -> float:
    """How many people like those at hand grant so much in all."""
    return math.inf if needed == math.inf else plan.people * (needed / plan.total)


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
    return plan_like(plan, plan.census.times(factor), plan.model, plan.whose)


def plan_like(plan: Plan, census: Census, model: Model, whose: Whose) -> Plan | None:
    """The plan for another census, to be compared with this one; None where it would be refused.

    What was left to the plan, such as who counts how much, stays as it is. Otherwise the error would seem to grow where
    more people or larger budgets let everyone count the same.
    """
    share = sum(plan.shares.values(), Fraction(0))
    settled = replace(whose, weighting=plan.weighting)
    shapes = dict.fromkeys((plan.shape, check_shape(plan.given_shape, plan.bounds)))
    planners = (
        PLANNERS[shape](census, model, plan.bounds, plan.choices, LARGEST_SAMPLE, share, settled) for shape in shapes
    )
    found = (planner.with_people(1) for planner in planners)
    return next(filter(None, found), None)
