"""The whole method on one page: census, plan, locate, average, result; one call a step."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pdpmean.average import average
from pdpmean.census import CENSUS_PART, Cells, Census, Held, noisy_census, public_census
from pdpmean.choices import Choices, ShapeName, check_choices, check_shape, check_share, check_support, floor_share
from pdpmean.diffusion import Thinning
from pdpmean.errors import PopulationWarning
from pdpmean.inputs import budgets_of_tiers
from pdpmean.locate import Location, locate
from pdpmean.model import Model, make_model
from pdpmean.plan import Plan, make_plan
from pdpmean.randomness import Randomness, check_randomness
from pdpmean.result import MeanEstimate, conclude
from pdpmean.sources import Source
from pdpmean.sources.arrays import ArraySource
from pdpmean.squares import weight_squares

__all__ = ["estimate_mean"]


def estimate_mean(
    values: Any,
    budgets: Any,
    *,
    tiers: Mapping[Any, float] | None = None,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    shape: ShapeName = "gaussian",
    support: tuple[float, float] | None = None,
    share: float | Fraction = 1,
    choices: Choices | None = None,
    randomness: Randomness | None = None,
) -> MeanEstimate:
    """The mean of the population behind `values`, at every person's own budget, with an interval.

    Parameters
    ----------
    values
        One number a person. Missing and infinite ones are data like any other; what is no number (text is not read as
        one) counts as missing, and missing as the located centre.
    budgets
        One budget a person, or one for all: 0 leaves a person out, inf makes them public. With `tiers`, a column
        of tier names instead.
    tiers
        The budget of each tier.
    model
        "bounded": replacing a value is protected; who takes part, and everybody's budget, are public. "unbounded":
        taking part is protected, too.
    budget_range
        All that is public in the unbounded model: (smallest, largest). A budget below it leaves its record out, one
        above it counts as its upper end.
    shape
        "gaussian" for a bell-shaped population; "any" for skewed and heavy-tailed ones, which needs more budget.
    support
        An interval publicly known to hold the mean and most values; with it somewhat less budget is needed.
    share
        Use only this part of every budget.
    choices
        What to decide instead of the plan.
    randomness
        Secure unless given; `Randomness.seeded(...)` is for simulations and protects nobody.

    Raises
    ------
    InvalidInputError
        Something public is wrong. Values never raise.
    InsufficientBudgetError
        The budgets cannot carry an answer; says what would. In the unbounded model the noisy census, a sixteenth of
        the share, has then been used.

    """
    chosen, whole = make_model(model, budget_range), check_share(share)
    kind, interval = check_shape(shape), check_support(support)
    randomness = check_randomness(randomness)
    if tiers is not None:
        budgets = budgets_of_tiers(budgets, tiers, public=chosen.budget_range is None)
    source = ArraySource(*chosen.records(values, budgets))

    held = Cells(chosen).census(source)
    census = take_census(held, chosen, whole, randomness)
    plan = make_plan(census, chosen, kind, interval, whole, check_choices(choices))
    squares = weight_squares(held, plan, randomness)
    location, half = locate_in(source, plan, randomness)
    averaged = average(source, plan, location.center, half, randomness)
    result = conclude(plan, location, half, averaged, census.profile, squares, private=randomness.private)
    for text in result.warnings:
        warnings.warn(text, PopulationWarning, stacklevel=2)
    return result


def take_census(held: Held, model: Model, share: Fraction, randomness: Randomness) -> Census:
    """Who holds which budget: counted where it is public, noisily where it is not."""
    if model.budget_range is None:
        return public_census(held)
    return noisy_census(held, model, floor_share(CENSUS_PART * share), randomness)


def locate_in(source: Source, plan: Plan, randomness: Randomness) -> tuple[Location, float]:
    """Where the population lies, and half the width to clip to."""
    thinning = Thinning(plan.model, plan.shares["center"] + plan.shares["scale"], plan.locate_cap, plan.thinning)
    values, budgets = source.sample(thinning.keep, randomness)
    return locate(values, thinning.kept_weights(budgets), plan, randomness)
