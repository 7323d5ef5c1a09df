"""The whole method on one page: read, census, plan, locate, average, result; one call a step."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Unpack, overload

from pdpmean.average import average
from pdpmean.cells import Cells, Held
from pdpmean.census import CENSUS_PART, Census, noisy_census, public_census
from pdpmean.choices import Choices, ShapeName, check_choices, check_shape, check_share, check_support, floor_share
from pdpmean.diffusion import Thinning
from pdpmean.errors import InsufficientBudgetError, PopulationWarning
from pdpmean.grouped import GroupedEstimate
from pdpmean.grouping import check_groups
from pdpmean.guarantee import Promise
from pdpmean.locate import Location, locate
from pdpmean.model import Model, make_model
from pdpmean.options import Options
from pdpmean.plan import Plan, PlanOptions, plan_groups
from pdpmean.progress import Progress, Watch
from pdpmean.quiet import quiet
from pdpmean.randomness import Randomness, check_randomness
from pdpmean.read import Columns, read
from pdpmean.result import MeanEstimate, conclude
from pdpmean.sources import Source
from pdpmean.squares import weight_squares
from pdpmean.traces import leave_no_trace

__all__ = ["estimate_mean"]


@overload
def estimate_mean(
    values: Any, budgets: Any = None, *, by: None = None, groups: None = None, **options: Unpack[Options]
) -> MeanEstimate: ...
@overload
def estimate_mean(
    values: Any, budgets: Any = None, *, by: Any, groups: Iterable[Hashable], **options: Unpack[Options]
) -> GroupedEstimate: ...
def estimate_mean(
    values: Any,
    budgets: Any = None,
    *,
    value: str | None = None,
    budget: str | None = None,
    tiers: Mapping[Any, float] | None = None,
    by: Any = None,
    groups: Iterable[Hashable] | None = None,
    person: Any = None,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    shape: ShapeName = "gaussian",
    support: tuple[float, float] | None = None,
    share: float | Fraction = 1,
    choices: Choices | None = None,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> MeanEstimate | GroupedEstimate:
    """The mean of the population behind `values`, at every person's own budget, with an interval.

    Parameters
    ----------
    values
        One number a person. Missing and infinite ones are data like any other; what is no number (text is not read as
        one) counts as missing. Missing ones are left out or, if shape is "any", count as the located centre. Or a
        table: the path of a Parquet, CSV or Arrow file (a glob, a list of them), an Arrow table, a pandas or polars
        frame, a DuckDB relation, a Spark DataFrame.
    budgets
        One budget a person, or one for all: 0 leaves a person out, inf makes them public. With `tiers`, a column
        of tier names instead.
    value, budget
        The names of the two columns, if a table is given.
    tiers
        The budget of each tier.
    by, groups
        A column (in a table, its name), and which of its entries to report: one estimate a group, everybody's whole
        budget spent in their own. The list is public; records of other groups are left out.
    person
        A column (in a table, its name) of ids, checked to be unique; in the bounded model alone.
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
    progress
        Called as ``progress(step, done, total)`` now and then, with the step ("census", "sample" or "sum") and how many
        records it has seen of how many (None while unknown); in the unbounded model, how many hundredths of 100.

    Raises
    ------
    InvalidInputError
        Something public is wrong. Values never raise.
    InsufficientBudgetError
        The budgets cannot carry an answer; says what would. In the unbounded model the noisy census, a sixteenth of
        the share, has then been used. With groups, those refused are listed in the result instead.

    """
    with quiet():
        chosen, whole, labels = make_model(model, budget_range), check_share(share), check_groups(by, groups)
        options = PlanOptions(chosen, check_shape(shape), check_support(support), whole, check_choices(choices))
        randomness = check_randomness(randomness)
        if chosen.budget_range is not None:
            leave_no_trace()
        source = read(values, budgets, Columns(value, budget, tiers, by, labels, person), chosen)
        source.watch = progress and Watch(progress, counted=chosen.budget_range is None)

        source.prepare_sample(randomness.spawn())  # one draw, whatever the source: a seed gives the same answer
        held = Cells(chosen, source.groups).census(source)
        censuses = [take_census(one, chosen, whole, randomness) for one in held]
        outcomes = plan_groups(censuses, options)
        plans = [outcome if isinstance(outcome, Plan) else None for outcome in outcomes]
        if labels is None and isinstance(outcomes[0], InsufficientBudgetError):
            raise outcomes[0].having_spent(float(censuses[0].share))
        squares = [weight_squares(one, plan, randomness) for one, plan in zip(held, plans, strict=True)]
        located = locate_groups(source, plans, randomness)
        averaged = average(source, plans, located, randomness)
        promise = Promise(chosen, whole, randomness.private, source.groups, unique=person is not None)
        estimates = conclude(plans, located, averaged, squares, promise)
        result = estimates[0] if labels is None else GroupedEstimate.of(labels, estimates, outcomes, promise)
        assert result is not None
    for text in result.warnings:
        warnings.warn(text, PopulationWarning, stacklevel=2)
    return result


def take_census(held: Held, model: Model, share: Fraction, randomness: Randomness) -> Census:
    """Who holds which budget: counted where it is public, noisily where it is not."""
    if model.budget_range is None:
        return public_census(held)
    return noisy_census(held, model, floor_share(CENSUS_PART * share), randomness)


def locate_groups(
    source: Source, plans: Sequence[Plan | None], randomness: Randomness
) -> list[tuple[Location, float] | None]:
    """Where each group lies, and half the width to clip it to; all in one pass."""
    if not any(plans):
        return [None] * len(plans)
    thinning = Thinning.of(plans, grouped=source.groups is not None)
    kept = source.sample(thinning, randomness)
    return locate(kept, thinning.kept_weights, plans, randomness)
