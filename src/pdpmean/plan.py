"""`plan_mean`: what to expect of an estimate, from public numbers, before any value is read.

A plan cannot leak values, but it reveals the budgets that it is given. `estimate_mean` makes its own plan in the same
way; if budgets are private, from a noisy census.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal, Unpack, overload

import numpy as np

from pdpmean.core.bounds import GivenBounds
from pdpmean.core.choices import Choices, GivenShape, floor_share
from pdpmean.core.likely_budgets import warning_of_budgets
from pdpmean.core.model import Model, ModelName
from pdpmean.core.options import GivenPlanOptions, Options, check_options
from pdpmean.core.progress import Progress, Watch
from pdpmean.core.quiet import quietly
from pdpmean.core.traces import leave_no_trace
from pdpmean.core.whose import Target, Weighting
from pdpmean.errors import BudgetWarning, InvalidInputError
from pdpmean.ledger.ledger import Ledger
from pdpmean.ledger.request import PeopleAsked
from pdpmean.passes.cells import CellCounts, count_budgets
from pdpmean.passes.source import Source
from pdpmean.planning.census import CENSUS_PART, Census, census_of_tiers, expected_census
from pdpmean.planning.grouped_plan import GroupedPlan
from pdpmean.planning.make import make_plan, plan_groups
from pdpmean.planning.plan import Plan
from pdpmean.sources.misspelt import check_spelling
from pdpmean.sources.read import read_ids, read_people

__all__ = ["plan_mean"]


@overload
def plan_mean(
    budgets: Any = None, *, by: None = None, groups: None = None, **options: Unpack[GivenPlanOptions]
) -> Plan: ...


@overload
def plan_mean(
    budgets: Any = None, *, by: Any, groups: Iterable[Hashable], **options: Unpack[GivenPlanOptions]
) -> GroupedPlan: ...


@quietly
def plan_mean(
    budgets: Any = None,
    *,
    equals: str | float | None = None,
    budget: str | None = None,
    tiers: Mapping[Any, float] | None = None,
    by: str | None = None,
    groups: Iterable[Hashable] | None = None,
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
) -> Plan | GroupedPlan:
    """The plan for these budgets: what to expect before any value is read.

    Errors are in standard deviations of the population or, if two bounds are known, in the unit of the values. The plan
    reveals the budgets it is given. Where budgets are private (unbounded), pass those of the people you expect.

    Parameters
    ----------
    budgets
        One budget per person, or the number of people at each: ``{0.1: 5400, 0.5: 3700, 1.0: 900}``. With `tiers`,
        either may have tier names instead of budgets. Or a table, as for `estimate_mean`.
    budget
        The name of the column of budgets, if a table is given; no other column is read.
    tiers
        The budget of each tier, by name.
    equals
        As for `estimate_mean`: plan for the share of an entry, whose bounds are (0, 1). The entry itself is not looked
        for.
    by, groups
        The name of a column of the table, and which of its entries to plan for: one plan per group.
    ledger, spend, person
        Instead of budgets: plan for everybody in a ledger or, given a table whose column of ids is `person`, for the
        people in it. Budgets are what the next release could cost them; `spend` and `share` are as for
        `estimate_mean`. Only in the bounded model, since balances are private in the unbounded model.
    rows
        "mean" if people have several rows in the table, whose column of ids is `person`: each person counts once. With
        `person` alone, ids are checked to be unique.
    model, budget_range, shape, bounds, share, choices, weighting, target, progress
        As for `estimate_mean`.

    Raises
    ------
    InsufficientBudgetError
        The budgets are not enough for an answer; the message says what would be. With groups, the result says so.

    Warns
    -----
    BudgetWarning
        The budgets do not look like budgets, as in percent.

    """
    options = check_options(
        equals=equals,
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
        by=by,
        groups=groups,
        person=person,
        rows=rows,
        ledger=ledger,
        spend=spend,
    )
    if rows is not None:  # the number of rows of a person is private, even where budgets are public
        leave_no_trace()
    if ledger is not None or spend is not None:
        budgets = _remaining(budgets, person, options, share)
        # The ledger has already applied the share, and counts each person once.
        options = replace(options, share=Fraction(1), person=None, rows=None)
    censuses, unlikely = _expected_censuses(budgets, options, progress)
    if unlikely:
        warnings.warn(unlikely, BudgetWarning, stacklevel=3)  # above the wrapper that makes this function quiet
    if options.groups is None:
        return make_plan(censuses[0], options)
    return GroupedPlan.of(options.groups, plan_groups(censuses, options))


def _remaining(budgets: Any, person: str | None, options: Options, share: float | Fraction) -> Mapping[float, float]:
    """The number of people by what the next release could charge them: of all in a ledger, or of those in a table."""
    ledger = options.ledger
    if ledger is None:
        raise InvalidInputError("spend goes with a ledger; without one, use share", name="spend")
    if options.groups is not None:
        raise InvalidInputError(
            "a plan for groups needs a table with a column of budgets; with a ledger, plan for everybody",
            name="groups",
        )
    if options.budget is not None or (budgets is None) != (person is None):
        raise InvalidInputError(
            "with a ledger, plan for everybody in it, or for the people in a table whose column of ids is person='...'",
            name="ledger",
        )
    if not options.model.budgets_are_public:
        raise InvalidInputError(
            "in the unbounded model what people have left is private: pass the budgets that you expect",
            name="ledger",
        )
    ledger.check_balances_are_public()
    people = None if person is None else (PeopleAsked(ids) for ids, _ in read_ids(budgets, options).people())
    remaining: Mapping[float, float] = ledger.remaining(share=share, spend=options.spend, people=people)
    return remaining


def _expected_censuses(budgets: Any, options: Options, progress: Progress | None) -> tuple[list[Census], str | None]:
    """The census to expect for each group, from budgets that the caller knows, and a warning if these look wrong."""
    people = read_people(budgets, options)
    share = floor_share(CENSUS_PART * options.share)
    if not isinstance(people, Source):
        census = census_of_tiers(people, options.model, share)
        profile = census.profile
        everybody = np.append(profile.allowances, 0.0), np.append(profile.counts, census.left_out)
        return [census], warning_of_budgets(options.model, float(options.share), [everybody])
    people.watch = progress and Watch(progress, counted=options.model.budgets_are_public)
    counted = count_budgets(people, options.model, public=True)
    check_spelling(people, counted, options)
    held = [(cells.smallest, cells.counts) for cells in counted]
    unlikely = warning_of_budgets(options.model, float(options.share), held)
    return [_expected_census(cells, options.model, share) for cells in counted], unlikely


def _expected_census(cells: CellCounts, model: Model, share: Fraction) -> Census:
    """The census to expect for one group, given how many people hold which budget."""
    census = expected_census(cells.middles, cells.counts.astype(np.float64), model, share)
    return replace(census, granted=cells.total)
