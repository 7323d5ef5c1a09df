"""`estimate_mean`, the whole method on one page with one call per step.

The steps are those of docs/how-it-works.md: census, plan, weight squares, locate, average, conclude. Every step that
releases a number takes `randomness`. It is in the file of its name in `release/`, which cites the step's proof in
docs/guarantee.md. What follows from the released numbers (`conclude`) is post-processing and costs no privacy.

May import: every room but show, study, paper and cli.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from numbers import Real
from typing import Any, Literal, Unpack, overload

from pdpmean.core.bounds import GivenBounds
from pdpmean.core.checks import TIERS_HINT, BudgetColumn, tier_budgets
from pdpmean.core.choices import Choices, GivenShape, MissingName
from pdpmean.core.likely_budgets import warning_of_budgets, warning_of_range
from pdpmean.core.losses import Loss, losses_of
from pdpmean.core.model import ModelName
from pdpmean.core.options import GivenOptions, Options, check_options
from pdpmean.core.progress import Progress, Watch
from pdpmean.core.promise import Promise
from pdpmean.core.question import Question
from pdpmean.core.quiet import quiet
from pdpmean.core.run import Run
from pdpmean.core.traces import leave_no_trace
from pdpmean.core.whose import Target, Weighting
from pdpmean.errors import BudgetWarning, InsufficientBudgetError, PopulationWarning
from pdpmean.inference.conclude import conclude
from pdpmean.ledger.charge import Charge, as_charged, check_ledger
from pdpmean.ledger.ledger import Ledger
from pdpmean.passes.cells import count_budgets
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
from pdpmean.sources.misspelt import check_spelling
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
    """The mean of the population behind `values`, at every person's own budget, with a confidence interval.

    Parameters
    ----------
    values
        One number per person. Missing and infinite values are allowed. Entries that are not numbers, including all
        text, count as missing. Missing values are left out: the mean is that of the rest. For yes or no, use True and
        False, or 1 and 0. Or a table: the path of a Parquet, CSV or Arrow file (or a glob, or a list of paths), an
        Arrow table, a pandas or polars frame, a DuckDB relation, or a Spark DataFrame.
    budgets
        One budget per person, or one for everybody: 0 leaves a person out, inf makes their value public. With `tiers`,
        a column of tier names instead.
    value, budget
        The names of the two columns, if a table is given.
    equals
        Estimate the share of this entry: a value is 1 if the entry is this one, 0 if it is another, and missing if it
        is missing. The column's type decides how entries are compared: numbers and dates as such, text letter by
        letter. In CSV, which has no types, 1.0 also equals 1, and empty entries and NA are missing. The entry is
        public, and must not be read off the data. The bounds are then (0, 1).
    tiers
        The budget of each tier.
    by, groups
        A column (in a table, its name), and which of its entries to report. There is one estimate per group, and each
        may use its members' whole budgets. The list is public; records of other groups are left out.
    person
        A column (in a table, its name) of ids, which must be unique unless `rows` is given. In the unbounded model,
        only with `rows` or a ledger.
    rows
        "mean" if people have several rows: each person then becomes one record, the mean of their rows that are
        numbers, at the smallest of their rows' budgets. With groups, a person is in the first listed group in which
        they have a row, and only their rows in it count. The number of rows of a person is protected as well.
    ledger
        A record of what people grant and have spent. Budgets come from the ledger, or from the data and are checked
        against it. Nobody spends more than is left. Everybody's cost is reserved before anything is drawn.
    purpose, analyst
        What the release is for, which a ledger requires, and who makes it. Reports and JSON contain both.
    spend
        With a ledger, the most that the release may cost anybody, in nats; instead of `share`.
    model
        "bounded": values are protected; participation and budgets are public. "unbounded": participation and budgets
        are protected too.
    budget_range
        In the unbounded model, the public range of budgets: (smallest, largest). A record with a budget below it is
        left out; a budget above it counts as its upper end. With a ledger, the range of what people could grant.
    shape
        "any" assumes no shape. "gaussian" needs somewhat less budget if you know that the population is bell-shaped.
        For other populations it is wrong, and not always with a warning.
    bounds
        (low, high): publicly known bounds of all values, such as (0, 1) for yes or no, (1, 5) for a rating, or
        (0, None) for money, counts and durations. Values beyond a bound count as the bound. Bounds must be known
        beforehand: bounds that are read off the data reveal something about it. With bounds, less budget is needed. A
        boolean column has the bounds (0, 1) by its type, unless others are given.
    missing
        "none" if it is public knowledge that no value is missing. This makes the answer slightly more accurate where
        the budget is small. A value that is missing nevertheless counts as the middle of the clipping bounds.
    share
        Use only this fraction of every budget; with a ledger, of every grant, up to what is left of it.
    choices
        Parameters to choose yourself, instead of the plan.
    weighting
        "everyone": everybody who grants anything counts the same. The mean is then right even if values correlate with
        budgets, as when the well paid grant less. "budgets": people count in proportion to their budgets. This has the
        least error, but is right only if values do not correlate with budgets. "auto": as "everyone" where that costs
        next to nothing; otherwise levels of budgets are pooled, by how well they agree (`plan_mean` says which).
    target
        "population": the mean of the population that people come from. "people": the mean of the people in the table
        themselves, which has no sampling error if everyone counts the same.
    randomness
        Secure unless given; `Randomness.seeded(...)` is for simulations and protects nobody.
    progress
        Called from time to time as ``progress(step, done, total)``. The step is "census", "sample" or "sum"; `done` and
        `total` are numbers of records (`total` is None while unknown) or, in the unbounded model, percentages.

    Raises
    ------
    InvalidInputError
        Something public is wrong. Values never raise.
    LedgerError
        The ledger cannot be used. If it could not record a release that was made, `result` has the estimate.
    InsufficientBudgetError
        The budgets are not enough for an answer; the message says what would be. In the unbounded model, the noisy
        census has then used a sixteenth of the share. With groups, the result lists refused groups instead.

    Warns
    -----
    BudgetWarning
        The budgets do not look like budgets, as in percent. It comes before anything is drawn.
    PopulationWarning
        What to know about the answer, also in `warnings` of the result; or why there is none.

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
        if options.size_is_private:
            leave_no_trace()
        run = Run.begun(new_run_id(), values, options) if randomness.private else None

        # Read the records. A ledger replaces their budgets by what it has reserved for them.
        source = read(values, budgets, options)
        budget_column = source.budget_column
        options = options.for_booleans() if source.is_boolean else options
        unlikely = warning_of_range(options.model, float(options.share))
        _warn_of_budgets(unlikely)  # before anything is reserved: a range is public
        source = charge.reserve(source, run, options, share)
        options = as_charged(options, share)
        source.watch = progress and Watch(progress, counted=options.model.budgets_are_public)
        # Every kind of source draws from `randomness` exactly once here, so that a seed gives the same answer for all.
        source.prepare_sample(randomness.spawn())

        # Census and plan: from the budgets alone, before any value is used. A census of private budgets is noisy.
        counted = count_budgets(source, options.model)
        check_spelling(source, counted, options)
        if options.model.budgets_are_public:
            held = [(cells.smallest, cells.counts) for cells in counted]
            unlikely = warning_of_budgets(options.model, float(options.share), held)
            _warn_of_budgets(unlikely)
        charge.will_draw(Fraction(0) if options.model.budgets_are_public else CENSUS_PART)
        censuses = take_census(counted, options, randomness)
        outcomes = plan_groups(censuses, options)
        _explain_refusals(outcomes, budget_column, options)
        _raise_if_refused(outcomes, censuses, options)
        planned = [Group(cells, plan_or_none(outcome)) for cells, outcome in zip(counted, outcomes, strict=True)]
        charge.spare(source, [group.plan is None for group in planned])

        # Release: each step spends its share of every budget. The ledger counts everything as spent from here on.
        charge.will_draw()
        squared = weight_squares(planned, randomness)
        located = locate(source, squared, randomness)
        averaged = average(source, located, randomness)

        # Conclude: post-processing of the released numbers.
        promise = Promise(
            options.model,
            options.share,
            randomness.private,
            source.groups,
            unique=person is not None,
            merged=rows is not None,
            release=charge.release,
            spending=charge.spending(options),
            run=run
            and run.made(options, source.columns, _losses(planned, options, budgets, charge.distinct_budgets.tolist())),
        )
        budget_warnings = (*filter(None, [unlikely]), *charge.warnings)
        question = Question.of(values, options)
        released = [group.released for group in averaged]
        result: MeanEstimate | GroupedEstimate
        if options.groups is None:
            (estimate,) = conclude(released, promise, question, budget_warnings)
            assert estimate is not None
            result = estimate
        else:
            estimates = conclude(released, promise, question)
            result = GroupedEstimate.of(options.groups, estimates, outcomes, promise, budget_warnings)
        charge.commit(result)
    if result.contradictions:
        reasons = "; ".join(result.contradictions)
        advice = "; ".join(result.advice)
        warnings.warn(f"no answer: {reasons}. What to do next: {advice}", PopulationWarning, stacklevel=2)
    for text in result.warnings:
        if text != unlikely:  # which has been a warning already
            warnings.warn(text, PopulationWarning, stacklevel=2)
    return result


def _warn_of_budgets(text: str | None) -> None:
    """Warn that public budgets, or the range of private ones, do not look like budgets, if there is such a text."""
    if text:
        warnings.warn(text, BudgetWarning, stacklevel=3)


def _losses(
    planned: Sequence[Group], options: Options, budgets: Any, charged: Sequence[float]
) -> tuple[Loss, ...] | None:
    """The privacy loss by budget, where budgets are public; None in the unbounded model.

    Members of refused groups lose nothing, since nothing is drawn for them. Losses are listed at the exact budgets
    where these are `charged` by a ledger, or given as one number or by tier; otherwise by cells of budgets.
    """
    if not options.model.budgets_are_public:
        return None
    ranges = [row for group in planned if group.plan for row in group.cells.budget_ranges(options.model)]
    tiers = None if options.tiers is None or charged else tier_budgets(options.tiers)
    exact_budgets = charged or ([float(budgets)] if isinstance(budgets, Real) else [])
    return losses_of(ranges, options.share, exact_budgets, tiers)


def _explain_refusals(
    outcomes: Sequence[Plan | InsufficientBudgetError], column: BudgetColumn | None, options: Options
) -> None:
    """Say in every refusal that private budgets which are not numbers are left out; whether any are is private."""
    if options.model.budgets_are_public or options.tiers is not None or not (column and column.is_text):
        return
    for outcome in outcomes:
        if isinstance(outcome, InsufficientBudgetError):
            outcome.add_sentence(f"Budgets that are not numbers are left out; {TIERS_HINT}")


def _raise_if_refused(
    outcomes: Sequence[Plan | InsufficientBudgetError], censuses: Sequence[Census], options: Options
) -> None:
    """Raise if there are no groups and the plan is refused. The result lists refused groups instead."""
    refusal = outcomes[0]
    if options.groups is None and isinstance(refusal, InsufficientBudgetError):
        raise refusal.having_spent(float(censuses[0].share))
