"""Plan: every choice of an estimate, made from public numbers before a value is read."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pdpmean.core.choices import Choices, ShapeName, check_choices, check_shape, check_share, check_support, floor_share
from pdpmean.core.model import make_model
from pdpmean.core.progress import Progress, Watch
from pdpmean.passes.source import Source
from pdpmean.planning.census import CENSUS_PART, expected_census
from pdpmean.planning.make import PlanOptions, make_plan
from pdpmean.planning.plan import Plan
from pdpmean.sources.read import Columns, read_people

__all__ = ["plan_mean"]


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
