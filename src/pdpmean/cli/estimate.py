"""``pdpmean estimate``: estimates the mean of a column, with everybody protected at their own budget."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from pdpmean.cli import options as given
from pdpmean.cli.console import CONTRADICTED, REFUSED, WARNED, in_options, note, printed_warnings, warn
from pdpmean.cli.output import as_csv, as_json, optional_file
from pdpmean.cli.progress import Hook, progress
from pdpmean.cli.tiers import read_groups, read_tiers, tier_budgets
from pdpmean.core.files import PAGE_SUFFIXES, check_is_new
from pdpmean.core.text import without_password
from pdpmean.errors import InvalidInputError, LedgerError

if TYPE_CHECKING:
    from pdpmean import GroupedEstimate, MeanEstimate

__all__ = ["estimate"]

_CSV_NUMBERS = ("std", "noise_std", "sampling_std", "tails_std", "scale", "missing")  # columns beside mean and interval


@given.with_planning
def estimate(
    *,
    context: typer.Context,
    files: given.Files,
    value: given.Value,
    equals: given.Equals = None,
    budget: given.Budget = None,
    budget_for_all: given.BudgetForAll = None,
    tiers: given.Tiers = None,
    person: given.Person = None,
    rows: given.Rows = None,
    by: given.By = None,
    groups: given.Groups = None,
    ledger: given.LedgerAt = None,
    purpose: given.Purpose = None,
    analyst: given.Analyst = None,
    spend: given.Spend = None,
    planning: given.Planning,
    missing: given.Missing = "some",
    seed: given.Seed = None,
    level: given.Level = 0.95,
    json: given.Json = False,
    csv: given.Csv = False,
    report: given.Report = None,
    overwrite: given.Overwrite = False,
    strict: given.Strict = False,
    force: given.Force = False,
    quiet: given.Quiet = False,
    debug: given.Debug = False,  # noqa: ARG001  read by Commands.main
) -> None:
    """Estimate the mean of a column, at every person's own privacy budget, with a confidence interval.

    Every run spends the budgets again: --share spends only part of them, and a --ledger records the cost. The exit code
    is 1 if the budgets are not enough, and 3 if the released numbers contradict the assumptions, so there is no answer.

    Example: pdpmean estimate people.csv --value hours --budget epsilon
    """
    check_is_new(report, overwrite=overwrite, name="report")
    _check_output(level, json=json, csv=csv)
    listed = read_tiers(tiers)
    options = {
        "value": value,
        "equals": equals,
        "missing": missing,
        **_budgets(budget, budget_for_all, in_ledger=ledger is not None),
        "tiers": tier_budgets(listed),
        "person": person,
        "rows": rows,
        **read_groups(by, groups),
        **_ledger(ledger),
        "purpose": purpose,
        "analyst": analyst,
        "spend": spend,
        **planning(tiers=listed),
    }
    with optional_file(report, PAGE_SUFFIXES) as page:
        with (
            progress(quiet=quiet, counts=options["model"] == "bounded") as hook,
            _shown_if_not_recorded(level, json, csv),
        ):
            result = _estimate(files, options, seed, hook, force=force)
        _show(result, level, json=json, csv=csv)  # before the report, which may fail: the answer is paid for
        if not ledger and not quiet and result.private and is_terminal():
            note("this cost is not recorded; to record it, use --ledger people.db --person COLUMN --purpose TEXT")
        if page:
            from pdpmean.show.report import write_report

            command = without_password(shlex.join(["pdpmean", *context.obj]))
            write_report(result, page, command=command, level=level, overwrite=True)
    if code := _exit_code(result, strict=strict):
        raise typer.Exit(code)


def _exit_code(result: MeanEstimate | GroupedEstimate, *, strict: bool) -> int:
    """The exit code: 0 if there is an answer, for at least one group; with `strict`, only if there are no warnings."""
    from pdpmean import GroupedEstimate

    if isinstance(result, GroupedEstimate) and not result.estimates:
        return REFUSED
    has_answer = result.answered if isinstance(result, GroupedEstimate) else not result.contradictions
    if not has_answer:
        return CONTRADICTED
    return WARNED if strict and (result.warnings or result.contradictions) else 0


def _check_output(level: float, *, json: bool, csv: bool) -> None:
    """Raise if the options about output are wrong, now rather than after the budgets are spent."""
    if json and csv:
        raise InvalidInputError("--json and --csv cannot be combined", name="csv")
    if not 0 < level < 1:
        raise InvalidInputError(
            f"--level must lie strictly between 0 and 1, such as 0.95 for 95 %; got {level:g}",
            name="level",
            value=level,
        )


def is_terminal() -> bool:
    """Whether notes on standard error go to a terminal, where somebody reads them."""
    return sys.stderr.isatty()


@contextmanager
def _shown_if_not_recorded(level: float, json: bool, csv: bool) -> Iterator[None]:
    """A context that shows an estimate even if the ledger could not record it, since it is paid for."""
    try:
        yield
    except LedgerError as error:
        if error.result is not None:
            _show(error.result, level, json=json, csv=csv)
        raise


def _ledger(where: str | None) -> dict[str, Any]:
    """The argument `ledger` of `estimate_mean`, if there is a ledger."""
    from pdpmean.cli.ledger import open_ledger

    return {} if where is None else {"ledger": open_ledger(where)}


def _budgets(column: str | None, for_all: float | None, *, in_ledger: bool) -> dict[str, Any]:
    """The argument `budget` or `budgets` of `estimate_mean`; a ledger knows the budgets itself."""
    if column is None and for_all is None and in_ledger:
        return {}
    if (column is None) == (for_all is None):
        both = "" if column is None else ", not both"
        raise InvalidInputError(f"give a --budget column or --budget-for-all{both}", name="budget")
    return {"budgets": for_all} if column is None else {"budget": column}


def _estimate(
    files: list[str], options: dict[str, Any], seed: int | None, hook: Hook | None, *, force: bool
) -> MeanEstimate | GroupedEstimate:
    from pdpmean import Randomness, estimate_mean

    randomness = None if seed is None else Randomness.seeded(seed)
    with printed_warnings("ignore" if force else "error"):  # the result has the warning as well
        result: MeanEstimate | GroupedEstimate = estimate_mean(files, **options, randomness=randomness, progress=hook)
    return result


def _show(result: MeanEstimate | GroupedEstimate, level: float, *, json: bool, csv: bool) -> None:
    """Print the answer on standard output, and its warnings on standard error unless that is the same terminal."""
    if not result.private:
        warn("NOT PRIVATE: --seed is for simulations. Do not publish.")
    rows, content = _rows_and_content(result, level)
    if csv:
        typer.echo(as_csv(rows))
    else:
        typer.echo(as_json(content) if json else in_options(result.text(level)))
    if not (json or csv) and sys.stdout.isatty() and sys.stderr.isatty():
        return  # the text has them, and both would appear on one terminal
    for text in result.contradictions:
        warn(f"no answer: {text}")
    for text in result.advice:
        note(f"what to do next: {text}")
    for text in result.warnings:
        note(f"warning: {text}")
    refused = [row for row in rows if row.get("refused")]
    if refused:
        note(f"refused: {len(refused)} of {len(rows)} groups")


def _rows_and_content(
    result: MeanEstimate | GroupedEstimate, level: float
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows for CSV, one per group (or a single one), and the content for JSON, which has everything."""
    from pdpmean import GroupedEstimate

    common = {"level": level, "private": result.private}
    if isinstance(result, GroupedEstimate):
        return [row | common for row in result.rows(level)], result.to_dict(level)
    low, high = (None, None) if result.contradicted else result.interval(level)
    numbers = {name: getattr(result, name) for name in _CSV_NUMBERS}
    texts = {
        "contradiction": "; ".join(result.contradictions),
        "advice": "; ".join(result.advice),
        "warning": "; ".join(result.warnings),
    }
    content = result.to_dict(level)
    row = {"mean": content["mean"], "low": low, "high": high, **numbers, **texts}
    return [row | common], content
