"""Conclude: the estimates behind the released numbers, and what these say against the assumed shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pdpmean.core.promise import Promise
from pdpmean.core.types import Floats
from pdpmean.core.weights import locating_weights
from pdpmean.inference.population import Population, Released, find_populations
from pdpmean.laws.clipped_normal import centered
from pdpmean.laws.error_law import finite, half_width
from pdpmean.planning.plan import Plan
from pdpmean.planning.prediction import TENT_PART, center_error, scale_error
from pdpmean.release.average import NARROWEST, Average
from pdpmean.release.locate import Location
from pdpmean.results.mean_estimate import MeanEstimate

__all__ = ["conclude"]

# Standard deviations between mean and median. Values rounded to a sixth of one hardly ever move their median as far as
# the first, values rounded to a quarter hardly as far as the second.
_APART, _FAR_APART = 0.17, 0.26

# Within `average.NEAR` of the median distance lie 14 % of a normal population, and up to a fifth of other smooth ones;
# rounded to steps of a fifth of a standard deviation, up to 23 % of one.
_NEAR, _MOST_NEAR = 0.14, 0.24

# The tents of other smooth populations add up to more than this part of those of a normal one, unless there is a gap in
# the middle. Where budgets are private, so do those of half the people: a census may have overrated them so much.
_LEAST_FOUND, _LEAST_FOUND_UNBOUNDED = 0.7, 0.4

_FALSE_ALARM = 0.001

_ALL_EQUAL = "the values seem to be all equal, missing or no numbers"

_MANY_EQUAL = "many of the values seem to be equal, or nearly: use shape='any'"

_FEW_FOUND = (
    "too few of the values lie where the population was located: many may be missing or no numbers, or there is a gap "
    "in its middle, or it was missed"
)

_SKEWED = "mean and median differ by more than a bell-shaped population allows: use shape='any'"

_PERHAPS_SKEWED = (
    "mean and median differ: unless its values are rounded coarsely, the population is skewed: use shape='any'"
)


def conclude(
    plans: Sequence[Plan | None],
    located: Sequence[tuple[Location, float] | None],
    averaged: Sequence[Average | None],
    squares: Sequence[float | None],
    promise: Promise,
) -> list[MeanEstimate | None]:
    """The estimates behind the released numbers, one a group; `squares`, of the weights, where they are not planned."""
    released = [
        Released(plan, *where, sums, square) if plan and where and sums else None
        for plan, where, sums, square in zip(plans, located, averaged, squares, strict=True)
    ]
    populations = iter(find_populations([group for group in released if group]))
    return [_estimate(group, next(populations), promise) if group else None for group in released]


def _estimate(group: Released, population: Population, promise: Promise) -> MeanEstimate:
    return MeanEstimate(
        mean=population.mean,
        center=group.location.center,
        scale=population.scale,
        law=population.law,
        plan=group.plan,
        promise=promise,
        selection_bound=finite(2 * (group.half * _uneven(group.plan) / population.slope)),
        warnings=_warnings(group, population, 1 / (promise.groups or 1)),
    )


def _uneven(plan: Plan) -> float:
    """At most the total variation between the weights given and equal weights for everybody.

    For a gaussian also those in `locate`, since centre and scale reach the mean where they are not everybody's.
    """
    averaging = _variation(plan, lambda levels: np.minimum(levels * float(plan.shares["sum"]), plan.weight_cap))
    if plan.shape == "any":
        return averaging
    rule = plan.locating
    return max(averaging, _variation(plan, lambda levels: np.minimum(locating_weights(levels, *rule), plan.locate_cap)))


def _variation(plan: Plan, weigh: Callable[[Floats], Floats]) -> float:
    """Where budgets are private, the worst there is within the public range."""
    if plan.model.budget_range is not None:
        least, most = np.sqrt(weigh(np.array(plan.model.budget_range))).tolist()
        return float((most - least) / (most + least))
    profile, even = plan.census.profile, 1 / plan.people
    weights = weigh(profile.levels)
    differences = profile.counts * np.abs(weights / float((profile.counts * weights).sum()) - even)
    return float(differences.sum() + max(plan.people - profile.people, 0.0) * even) / 2


def _warnings(group: Released, population: Population, part: float) -> tuple[str, ...]:
    """What released numbers say against the assumed shape.

    Of all false alarms, which are rare over all groups together, this group may give the given part.
    """
    plan = group.plan
    if plan.shape == "any":
        return (_ALL_EQUAL,) if group.location.degenerate else ()
    rarely = 1 - part * _FALSE_ALARM
    if group.location.degenerate or _many_near(group, rarely):
        return (_MANY_EQUAL,)
    if _few_found(group, rarely):
        return (_FEW_FOUND,)
    gap = abs(population.mean - group.location.center) / population.scale
    noise, sampling = (error / min(group.grown, 1.0) for error in center_error(plan.center))
    own = max(plan.noise_std, math.hypot(population.law.noise_std, population.law.sampling_std) / population.scale)
    by_chance = half_width(rarely, noise, math.hypot(sampling, own))
    if gap > max(by_chance, _FAR_APART):
        return (_SKEWED,)
    return (_PERHAPS_SKEWED,) if gap > max(by_chance, _APART) else ()


def _many_near(group: Released, rarely: float) -> bool:
    """Whether more of the weight is near than a smooth population has there.

    That part errs by its noise and by who is in the sample, and follows the located scale.
    """
    plan, averaged = group.plan, group.averaged
    if averaged.near is None or plan.clip_width <= NARROWEST:
        return False
    part = averaged.total / group.weight
    noise, sampling = (_NEAR * error / min(group.grown, 1.0) for error in scale_error(plan.scale))
    counted = math.sqrt(_NEAR * group.square) / group.weight
    by_chance = half_width(rarely, math.hypot(noise, averaged.doubt * part), math.hypot(sampling, counted))
    return averaged.near * part > _MOST_NEAR + by_chance


def _few_found(group: Released, rarely: float) -> bool:
    """Whether the tents add up to far less than the plan had led to expect.

    They err by their noise and by who is in the sample, and follow the located scale; and the plan may rest on a noisy
    census.
    """
    plan, weight = group.plan, group.plan.mean.weight
    noise, sampling = (centered(plan.clip_width).tent_slope * error for error in scale_error(plan.scale))
    of_tents = 1 / (float(TENT_PART) * group.tent * weight)
    counted = math.sqrt(plan.mean.square / group.tent) / weight
    of_census = float(plan.shares["sum"]) * plan.census.doubt / weight
    by_chance = half_width(rarely, math.hypot(noise, of_tents), math.hypot(sampling, counted, of_census))
    least = _LEAST_FOUND_UNBOUNDED if plan.census.share else _LEAST_FOUND
    return group.averaged.total / (group.tent * weight) < least - by_chance
