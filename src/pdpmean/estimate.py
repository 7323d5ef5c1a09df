"""The whole method on one page, one call per step: read, census, plan, weight squares, locate, average, conclude.

May import: every room but show, study, paper and cli.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, Unpack, overload

from pdpmean.core.bounds import GivenBounds
from pdpmean.core.checks import tier_budgets
from pdpmean.core.choices import Choices, GivenShape, MissingName
from pdpmean.core.likely_budgets import doubtful_budgets
from pdpmean.core.losses import Loss, losses_of
from pdpmean.core.model import ModelName
from pdpmean.core.options import GivenOptions, Options, check_options
from pdpmean.core.progress import Progress, Watch
from pdpmean.core.promise import Promise
from pdpmean.core.quiet import quiet
from pdpmean.core.run import Run
from pdpmean.core.traces import leave_no_trace
from pdpmean.core.whose import Target, Weighting
from pdpmean.errors import BudgetWarning, InsufficientBudgetError, PopulationWarning
from pdpmean.inference.conclude import conclude
from pdpmean.ledger.charge import Charge, check_ledger
from pdpmean.ledger.ledger import Ledger
from pdpmean.passes.cells import Held, count_budgets
from pdpmean.planning.census import CENSUS_PART, Census
from pdpmean.planning.make import plan_groups, plan_or_none
from pdpmean.planning.plan import Plan
from pdpmean.randomness import Randomness, check_randomness, new_run_id
from pdpmean.release.average import average
from pdpmean.release.census import take_census
from pdpmean.release.group import Group
from pdpmean.release.locate import locate
from pdpmean.release.weight_squares import weight_squares
from pdpmean.results.grouped_estimate import GroupedEstimate
from pdpmean.results.mean_estimate import MeanEstimate
from pdpmean.sources.read import read

__all__ = ["estimate_mean"]


@overload
def estimate_mean(
    values: Any, budgets: Any = None, *, by: None = None, groups: None = None, **options: Unpack[GivenOptions]
) -> MeanEstimate: ...


@overload
def estimate_mean(
    values: Any, budgets: Any = None, *, by: Any, groups: Iterable[Hashable], **options: Unpack[GivenOptions]
) -> GroupedEstimate: ...


def estimate_mean(
    values: Any,
    budgets: Any = None,
    *,
    value: str | None = None,
    equals: str | float | None = None,
    budget: str | None = None,
    tiers: Mapping[Any, float] | None = None,
    by: Any = None,
    groups: Iterable[Hashable] | None = None,
    person: Any = None,
    rows: Literal["mean"] | None = None,
    ledger: Ledger | None = None,
    purpose: str | None = None,
    analyst: str | None = None,
    spend: Any = None,
    model: ModelName = "bounded",
    budget_range: tuple[float, float] | None = None,
    shape: GivenShape = "any",
    bounds: GivenBounds | None = None,
    missing: MissingName = "some",
    share: float | Fraction = 1,
    choices: Choices | None = None,
    weighting: Weighting = "auto",
    target: Target = "population",
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> MeanEstimate | GroupedEstimate:
    """The mean of the population behind `values`, at every person's own budget, with an interval.

    Parameters
    ----------
    values
        One number per person. Missing and infinite ones are data like any other; what is no number (text is not read as
        one) counts as missing. Missing ones are left out: the mean is that of the others. Yes and no are True and
        False, or 1 and 0 (in CSV, 1 and 0). Or a table: the path of a Parquet, CSV or Arrow file (a glob,
        a list of them), an Arrow table, a pandas or polars frame, a DuckDB relation, a Spark DataFrame.
    budgets
        One budget per person, or one for all: 0 leaves a person out, inf makes them public. With `tiers`, a column
        of tier names instead.
    value, budget
        The names of the two columns, if a table is given.
    equals
        The mean is then the share of this entry: a value is 1 where the entry is this one, 0 where it is another, and
        missing where it is missing. The column's type decides how entries are compared: numbers and dates as such,
        text letter by letter. In CSV, which has no types, 1.0 is 1 as well, and empty entries and NA are missing.
        The entry is public, and must not be read off the data. Bounds are then (0, 1).
    tiers
        The budget of each tier.
    by, groups
        A column (in a table, its name), and which of its entries to report: one estimate per group, everybody's whole
        budget spent in their own. The list is public; records of other groups are left out.
    person
        A column (in a table, its name) of ids, checked to be unique; in the bounded model alone, unless there is a
        ledger, or `rows`.
    rows
        "mean" if people have several rows: each person is then one record, the mean of their rows that are numbers, at
        the smallest of their rows' budgets. With groups, a person is in the first of the list that they have rows in,
        and the mean is of these. How many rows a person has is protected as well.
    ledger
        Who grants what, and has spent how much. Budgets come from there, or from the data and are checked against it;
        nobody spends more than is left. Everybody's cost is reserved before anything is drawn.
    purpose, analyst
        What the release is for, which a ledger must know, and who makes it: reports and JSON say so.
    spend
        With a ledger, the most that the release may cost anybody, in nats; instead of `share`.
    model
        "bounded": replacing a value is protected; who takes part, and everybody's budget, are public. "unbounded":
        taking part is protected, too.
    budget_range
        All that is public in the unbounded model: (smallest, largest). A budget below it leaves its record out, one
        above it counts as its upper end.
    shape
        "any", unless you know that the population is bell-shaped: "gaussian" then needs somewhat less budget. On
        other populations it is wrong, which is not always noticed.
    bounds
        (low, high): what every value is publicly known to lie between, such as (0, 1) for yes and no, (1, 5) for a
        rating, or (0, None) for money, counts and durations. Values beyond count as the bound. They must be known
        beforehand: bounds that are read off the data tell of it. The more is known, the less budget is needed.
    missing
        "none" if everybody is publicly known to have a value, which makes the answer a little more exact where the
        budget is small; a value that is missing nevertheless counts as the middle of the clip.
    share
        Use only this part of every budget; with a ledger, of what was granted, up to what is left of it.
    choices
        What to decide instead of the plan.
    weighting
        "everyone": all who grant anything count the same, so that the mean is theirs even if values go with budgets, as
        when the well paid grant less. "budgets": people count by their budgets, which has the least error, but is right
        only if budgets and values are independent. "auto": everyone, where that costs next to nothing; otherwise both
        are weighed against each other, by what the released numbers say (`plan_mean` says which).
    target
        "population": the mean of the population that people come from. "people": the mean of the people in the table,
        for whom there is no sampling error.
    randomness
        Secure unless given; `Randomness.seeded(...)` is for simulations and protects nobody.
    progress
        Called as ``progress(step, done, total)`` now and then, with the step ("census", "sample" or "sum") and how many
        records it has seen of how many (None while unknown); in the unbounded model, how many hundredths of 100.

    Raises
    ------
    InvalidInputError
        Something public is wrong. Values never raise.
    LedgerError
        The ledger cannot be used; where it could not record a release that was made, `result` has the estimate.
    InsufficientBudgetError
        The budgets are not enough for an answer; says what would be. In the unbounded model the noisy census, a
        sixteenth of the share, has then been used. With groups, those refused are listed in the result instead.

    """
    with quiet(), Charge() as charge:
        options = check_options(
            value=value,
            equals=equals,
            budget=budget,
            tiers=tiers,
            by=by,
            groups=groups,
            person=person,
            rows=rows,
            model=model,
            budget_range=budget_range,
            shape=shape,
            bounds=bounds,
            missing=missing,
            share=share,
            choices=choices,
            weighting=weighting,
            target=target,
            budgets_given=budgets is not None or budget is not None,
            ledger=ledger,
            purpose=purpose,
            analyst=analyst,
            spend=spend,
        )
        randomness = check_randomness(randomness)
        check_ledger(options, private=randomness.private)
        if not options.model.budgets_are_public:
            leave_no_trace()
        run = Run.begun(new_run_id(), values, options) if randomness.private else None
        source = charge.reserve(read(values, budgets, options), run, options, share)
        options = replace(options, share=Fraction(1)) if ledger else options  # all of what was reserved
        source.watch = progress and Watch(progress, counted=options.model.budgets_are_public)
        source.prepare_sample(randomness.spawn())  # one draw, whatever the source: a seed gives the same answer

        counted = count_budgets(source, options.model)
        _warn_of_budgets(counted, options)
        charge.will_draw(Fraction(0) if options.model.budgets_are_public else CENSUS_PART)
        censuses = take_census(counted, options, randomness)
        outcomes = plan_groups(censuses, options)
        _raise_if_refused(outcomes, censuses, options)
        planned = [Group(held, plan_or_none(outcome)) for held, outcome in zip(counted, outcomes, strict=True)]
        charge.spare(source, [group.plan is None for group in planned])
        charge.will_draw()
        squared = weight_squares(planned, randomness)
        located = locate(source, squared, randomness)
        averaged = average(source, located, randomness)
        promise = Promise(
            options.model,
            options.share,
            randomness.private,
            source.groups,
            unique=person is not None,
            merged=rows is not None,
            release=charge.release,
            run=run and run.made(options, source.columns, _losses(planned, options, budgets, charge.levels.tolist())),
        )
        estimates = conclude([group.released for group in averaged], promise)
        result = _result(estimates, outcomes, promise, options)
        charge.commit(result)
    for text in result.contradictions:
        warnings.warn(f"no answer: {text}", PopulationWarning, stacklevel=2)
    for text in result.warnings:
        warnings.warn(text, PopulationWarning, stacklevel=2)
    return result


def _warn_of_budgets(counted: Sequence[Held], options: Options) -> None:
    """Say, before anything is drawn, if public budgets do not look like budgets."""
    doubts = (doubtful_budgets(options.model, held.levels, held.counts) for held in counted)
    text = next((doubt for doubt in doubts if doubt), None)
    if text:
        warnings.warn(text, BudgetWarning, stacklevel=3)


def _losses(
    planned: Sequence[Group], options: Options, budgets: Any, charged: Sequence[float]
) -> tuple[Loss, ...] | None:
    """What the release costs whom, where that is public; nothing is drawn for groups that are refused."""
    if not options.model.budgets_are_public:
        return None
    cells = [cell for group in planned if group.plan for cell in group.held.cells(options.model)]
    tiers = None if options.tiers is None or charged else tier_budgets(options.tiers)
    known = charged or ([float(budgets)] if isinstance(budgets, Real) else [])
    return losses_of(cells, options.share, known, tiers)


def _raise_if_refused(
    outcomes: Sequence[Plan | InsufficientBudgetError], censuses: Sequence[Census], options: Options
) -> None:
    """Raise the refusal of everybody together; those of groups are told in the result."""
    refusal = outcomes[0]
    if options.groups is None and isinstance(refusal, InsufficientBudgetError):
        raise refusal.having_spent(float(censuses[0].share))


def _result(
    estimates: Sequence[MeanEstimate | None],
    outcomes: Sequence[Plan | InsufficientBudgetError],
    promise: Promise,
    options: Options,
) -> MeanEstimate | GroupedEstimate:
    if options.groups is not None:
        return GroupedEstimate.of(options.groups, estimates, outcomes, promise)
    (estimate,) = estimates
    assert estimate is not None
    return estimate
