"""Plan: every choice of an estimate, made from public numbers before a value is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from pdpmean.core.bounds import GivenBounds
from pdpmean.core.choices import Choices, GivenShape, floor_share
from pdpmean.core.model import ModelName
from pdpmean.core.options import Options, check_options
from pdpmean.core.progress import Progress, Watch
from pdpmean.core.quiet import quietly
from pdpmean.core.whose import Target, Weighting
from pdpmean.errors import InvalidInputError
from pdpmean.ledger.ledger import Ledger
from pdpmean.ledger.request import PeopleAsked
from pdpmean.passes.cells import count_budgets
from pdpmean.passes.source import Source
from pdpmean.planning.census import CENSUS_PART, Census, census_of_tiers, expected_census
from pdpmean.planning.make import make_plan
from pdpmean.planning.plan import Plan
from pdpmean.sources.read import read_ids, read_people

__all__ = ["plan_mean"]


@quietly
def plan_mean(
    budgets: Any = None,
    *,
    budget: str | None = None,
    tiers: Mapping[Any, float] | None = None,
    person: str | None = None,
    rows: Literal["mean"] | None = None,
    ledger: Ledger | None = None,
    spend: Any = None,
    model: ModelName = "bounded",
    budget_range: tuple[float, float] | None = None,
    shape: GivenShape = "any",
    bounds: GivenBounds | None = None,
    share: float | Fraction = 1,
    choices: Choices | None = None,
    weighting: Weighting = "auto",
    target: Target = "population",
    progress: Progress | None = None,
) -> Plan:
    """The plan for these budgets: what to expect before any value is read.

    Errors are in standard deviations or, between known bounds, in the values' own unit. The plan
    tells the budgets it is given: where they are private (unbounded), give those of the people you expect.

    Parameters
    ----------
    budgets
        One budget per person, or how many people hold which: ``{0.1: 5400, 0.5: 3700, 1.0: 900}``. With `tiers`, names
        stand for budgets in either. Or a table, as for `estimate_mean`.
    budget
        The name of the column of budgets, if a table is given; no other is read.
    tiers
        The budget of each tier, by name.
    ledger, spend, person
        Instead of budgets: plan for everybody in a ledger or, with a table whose column of ids is `person`, for those
        in it, at what a next release could cost them; `spend` and `share` as for `estimate_mean`. In the bounded model
        alone, since balances are private in the unbounded one.
    rows
        "mean" if people have several rows in the table, whose column of ids is `person`: each counts once.
    model, budget_range, shape, bounds, share, choices, weighting, target, progress
        As for `estimate_mean`.

    Raises
    ------
    InsufficientBudgetError
        No answer can be expected; says what would suffice.

    """
    options = check_options(
        budget=budget,
        tiers=tiers,
        model=model,
        budget_range=budget_range,
        shape=shape,
        bounds=bounds,
        share=share,
        choices=choices,
        weighting=weighting,
        target=target,
        person=person,
        rows=rows,
        ledger=ledger,
        spend=spend,
    )
    if ledger is not None or spend is not None or (person is not None and rows is None):
        budgets = _remaining(budgets, person, options, share)
        options = replace(options, share=Fraction(1), rows=None)  # all of what would be reserved, each person once
    return make_plan(_expected_census(budgets, options, progress), options)


def _remaining(budgets: Any, person: str | None, options: Options, share: float | Fraction) -> Mapping[float, float]:
    """How many people could take part in a next release, at which budget: all of a ledger, or those in a table."""
    ledger = options.ledger
    if ledger is None:
        raise InvalidInputError("spend and person go with a ledger; without one, use share", name="spend")
    if options.budget is not None or (budgets is None) != (person is None):
        raise InvalidInputError(
            "a plan is for everybody in a ledger, or for those in a table, whose column of ids is person='...'",
            name="ledger",
        )
    if not options.model.budgets_are_public:
        raise InvalidInputError(
            "in the unbounded model what people have left is private: plan with the budgets that you expect",
            name="ledger",
        )
    people = None if person is None else (PeopleAsked(ids) for ids, _ in read_ids(budgets, options).people())
    found: Mapping[float, float] = ledger.remaining(share=share, spend=options.spend, people=people)
    return found


def _expected_census(budgets: Any, options: Options, progress: Progress | None) -> Census:
    """The census to expect of budgets that the caller knows."""
    people = read_people(budgets, options)
    share = floor_share(CENSUS_PART * options.share)
    if not isinstance(people, Source):
        return census_of_tiers(people, options.model, share)
    people.watch = progress and Watch(progress, counted=options.model.budgets_are_public)
    (held,) = count_budgets(people, options.model, public=True)
    census = expected_census(held.middles, held.counts.astype(np.float64), options.model, share)
    return replace(census, granted=held.total)
