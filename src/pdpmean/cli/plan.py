"""``pdpmean plan``: shows the expected error before any budget is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from pdpmean.cli import options as given
from pdpmean.cli.console import printed_warnings
from pdpmean.cli.output import as_json, optional_file
from pdpmean.cli.progress import progress
from pdpmean.cli.tiers import Tier, people_of, read_groups, read_tiers, tier_budgets
from pdpmean.core.files import FIGURE_SUFFIXES, check_is_new
from pdpmean.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from pdpmean.planning.grouped_plan import GroupedPlan
    from pdpmean.planning.plan import Plan

__all__ = ["plan"]


@given.with_planning
def plan(
    *,
    files: given.BudgetFiles = None,
    value: given.ValueToCome = None,  # noqa: ARG001  so that a plan takes what its estimate will
    equals: given.Equals = None,
    budget: given.Budget = None,
    tiers: given.TiersOrPeople = None,
    person: given.PersonInFile = None,
    rows: given.Rows = None,
    by: given.By = None,
    groups: given.Groups = None,
    ledger: given.LedgerAt = None,
    purpose: given.Purpose = None,  # noqa: ARG001  so that a plan takes what its estimate will
    spend: given.Spend = None,
    planning: given.Planning,
    json: given.Json = False,
    plot: given.Plot = None,
    overwrite: given.OverwritePlot = False,
    quiet: given.Quiet = False,
    debug: given.Debug = False,  # noqa: ARG001  read by Commands.main
) -> None:
    """Show the expected error, its main source and what would reduce it, before anything is spent.

    It reads only budgets, never values; with a --ledger, what its people have left. Errors are in standard deviations
    of the population or, with two --bounds or --equals, in the unit of the values.

    Example: pdpmean plan --tiers 0.1:5400,0.5:3700,1:900
    """
    check_is_new(plot, overwrite=overwrite, name="plot")
    listed = read_tiers(tiers)
    options = {"equals": equals, "person": person, "rows": rows, **read_groups(by, groups), **planning(tiers=listed)}
    _check_plot(plot, options)
    with optional_file(plot, FIGURE_SUFFIXES) as figure, printed_warnings("always"):
        made: Plan | GroupedPlan
        if ledger or spend:
            made = _plan_from_ledger(files, ledger, options | {"spend": spend, "budget": budget})
        else:
            made = (
                _plan_from_files(files, budget, listed, options, quiet)
                if files
                else _plan_from_tiers(budget, listed, options)
            )
        if figure:
            from pdpmean import plot as draw

            draw(made).savefig(figure)
    typer.echo(as_json(_content(made)) if json else _text(made))


def _check_plot(plot: Path | None, options: dict[str, Any]) -> None:
    """Raise if a figure of several groups is asked for."""
    if plot is not None and "groups" in options:
        raise InvalidInputError("--plot draws one plan; leave out --by and --groups", name="plot", value=plot)


def _content(made: Plan | GroupedPlan) -> dict[str, Any]:
    """The plan for JSON; a single plan also says what would change its error."""
    from pdpmean import Plan, what_if

    return made.to_dict() | ({"what_if": what_if(made).to_list()} if isinstance(made, Plan) else {})


def _text(made: Plan | GroupedPlan) -> str:
    """The plan as text; a single plan also says what would change its error."""
    from pdpmean import Plan, what_if

    return f"{made}\n\n{what_if(made)}" if isinstance(made, Plan) else str(made)


def _plan_from_tiers(budget: str | None, listed: list[Tier], options: dict[str, Any]) -> Plan:
    """The plan for the numbers of people in ``--tiers``."""
    from pdpmean import plan_mean

    for name in ("person", "rows", "by"):
        if options.get(name) is not None:
            raise InvalidInputError(f"--{name} goes with a FILE and its --budget column", name=name)
    if budget is not None or not listed:
        raise InvalidInputError(
            "plan needs a FILE and its --budget column, or --tiers with people: 0.1:5400,1:900", name="files"
        )
    made: Plan = plan_mean(people_of(listed), **options)
    return made


def _plan_from_ledger(files: list[str] | None, ledger: str | None, options: dict[str, Any]) -> Plan:
    """The plan for what people in the ledger have left: everybody, or the people in the files."""
    from pdpmean import plan_mean
    from pdpmean.cli.ledger import open_ledger

    made: Plan = plan_mean(files, ledger=None if ledger is None else open_ledger(ledger), **options)
    return made


def _plan_from_files(
    files: list[str], budget: str | None, listed: list[Tier], options: dict[str, Any], quiet: bool
) -> Plan | GroupedPlan:
    """The plan for the column of budgets in the files."""
    if options["model"] == "unbounded":
        raise InvalidInputError(
            "in the unbounded model the budgets in a file are private: use --tiers with the people you expect",
            name="model",
        )
    if budget is None:
        raise InvalidInputError("--budget must name the column of budgets", name="budget")
    from pdpmean import plan_mean

    with progress(quiet=quiet) as hook:
        made: Plan | GroupedPlan = plan_mean(files, budget=budget, tiers=tier_budgets(listed), progress=hook, **options)
    return made
