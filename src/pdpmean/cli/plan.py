"""``pdpmean plan``: what to expect before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from pdpmean.cli import options as given
from pdpmean.cli.output import as_json, wanted
from pdpmean.cli.progress import progress
from pdpmean.cli.tiers import Tier, people_of, read_tiers, tier_budgets
from pdpmean.core.files import FIGURES
from pdpmean.core.text import as_facts, as_table
from pdpmean.errors import InvalidInputError

if TYPE_CHECKING:
    from pdpmean.planning.plan import Plan
    from pdpmean.study.what_if import Scenario

__all__ = ["plan"]


@given.with_planning
def plan(
    *,
    files: given.BudgetFiles = None,
    budget: given.Budget = None,
    tiers: given.TiersOrPeople = None,
    person: given.PersonInFile = None,
    rows: given.Rows = None,
    ledger: given.LedgerAt = None,
    purpose: given.Purpose = None,  # noqa: ARG001  so that a plan takes what its estimate will
    spend: given.Spend = None,
    planning: given.Planning,
    json: given.Json = False,
    plot: given.Plot = None,
    quiet: given.Quiet = False,
    debug: given.Debug = False,  # noqa: ARG001  read by Commands.main
) -> None:
    """Show what error to expect, what dominates it and what would help, before anything is spent.

    Only budgets are read, no values; with a --ledger, what its people have left. Errors are in standard deviations of
    the population or, with --bounds, in the values' own unit.

    Example: pdpmean plan --tiers 0.1:5400,0.5:3700,1:900
    """
    listed = read_tiers(tiers)
    options = planning(tiers=listed) | {"person": person, "rows": rows}
    with wanted(plot, FIGURES) as figure:
        if ledger or spend or (person and not rows):
            made = _of_ledger(files, ledger, options | {"spend": spend, "budget": budget})
        else:
            made = _of_files(files, budget, listed, options, quiet) if files else _of_tiers(budget, listed, options)
        if figure:
            from pdpmean import plot as draw

            draw(made).savefig(figure)
    from pdpmean.study.what_if import what_if

    scenarios = what_if(made)
    typer.echo(as_json(_content(made, scenarios)) if json else _text(made, scenarios))


def _of_tiers(budget: str | None, listed: list[Tier], options: dict[str, Any]) -> Plan:
    from pdpmean import plan_mean

    if budget is not None or not listed:
        raise InvalidInputError(
            "plan needs a FILE with its --budget column, or --tiers with people: 0.1:5400,1:900", name="files"
        )
    return plan_mean(people_of(listed), **options)


def _of_ledger(files: list[str] | None, ledger: str | None, options: dict[str, Any]) -> Plan:
    from pdpmean import plan_mean
    from pdpmean.cli.ledger import open_ledger

    return plan_mean(files, ledger=None if ledger is None else open_ledger(ledger), **options)


def _of_files(files: list[str], budget: str | None, listed: list[Tier], options: dict[str, Any], quiet: bool) -> Plan:
    if options["model"] == "unbounded":
        raise InvalidInputError(
            "in the unbounded model the budgets in a file are private: plan with --tiers and the people you expect",
            name="model",
        )
    if budget is None:
        raise InvalidInputError("--budget must name the column of budgets", name="budget")
    from pdpmean import plan_mean

    with progress(quiet=quiet) as hook:
        return plan_mean(files, budget=budget, tiers=tier_budgets(listed), progress=hook, **options)


def _limit(made: Plan) -> tuple[str, float]:
    """What the larger part of the squared error is due to, and how large a part."""
    noise = made.noise_std**2 / made.expected_std**2
    return ("noise", noise) if noise > 0.5 else ("sampling", 1 - noise)


def _beyond(made: Plan) -> float:
    """The part of the people who grant more than counts."""
    profile = made.census.profile
    budgets = profile.levels * made.model.budget_per_allowance
    return float(profile.counts[budgets > made.saturation].sum()) / made.people


def _content(made: Plan, scenarios: list[Scenario]) -> dict[str, Any]:
    return made.to_dict() | {
        "limited_by": _limit(made)[0],
        "people_beyond_saturation": _beyond(made),
        "without_privacy": made.without_privacy,
        "what_if": [
            {
                "change": scenario.name,
                "expected_std": scenario.plan and scenario.plan.expected_std,
                "price_of_everyone": scenario.plan and scenario.plan.weighed.price,
            }
            for scenario in scenarios
        ],
    }


def _text(made: Plan, scenarios: list[Scenario]) -> str:
    limit, part = _limit(made)
    more = f"helps up to {made.saturation:.3g} per person; {100 * _beyond(made):.0f} % of the people grant more"
    rows = [
        ("limited by", f"{limit}, {100 * part:.0f} % of the squared error"),
        ("more budget", more),
        ("without privacy", f"the error (std) would be {made.at_most}{made.without_privacy:.4g}"),
    ]
    table = [("what if", "expected error", "change"), ("as it is", f"{made.expected_std:.4g}", "")]
    table += [(scenario.name, *_change(made, scenario.plan)) for scenario in scenarios]
    return f"{as_facts([*made.rows(), *rows])}\n\n{as_table(table)}"


def _change(made: Plan, changed: Plan | None) -> tuple[str, str]:
    if changed is None:
        return "refused", ""
    percent = round(100 * (changed.expected_std / made.expected_std - 1))
    return f"{changed.expected_std:.4g}", f"{percent:+} %" if percent else "none"
