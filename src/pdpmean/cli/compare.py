"""``pdpmean compare``: simulates this estimator, the paper's and others on the same samples, and compares errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import typer

from pdpmean.cli import options as given
from pdpmean.cli.console import printed_warnings
from pdpmean.cli.output import as_json, optional_file
from pdpmean.cli.progress import progress
from pdpmean.cli.tiers import budget_range, people_of, read_tiers
from pdpmean.core.files import FIGURE_SUFFIXES, check_is_new
from pdpmean.core.text import as_table

if TYPE_CHECKING:
    from pdpmean.results.comparison import Comparison

__all__ = ["compare"]


def compare(
    tiers: given.People,
    runs: given.Runs = 200,
    mean: given.Mean = 10.0,
    seed: given.SampleSeed = 0,
    model: given.Model = "bounded",
    budget_min: given.BudgetMin = None,
    budget_max: given.BudgetMax = None,
    json: given.Json = False,
    plot: given.Plot = None,
    overwrite: given.OverwritePlot = False,
    quiet: given.Quiet = False,
    debug: given.Debug = False,  # noqa: ARG001  read by Commands.main
) -> None:
    """Simulate this estimator, the paper's and others on the same samples, and compare their errors.

    The simulated data is bell-shaped, with standard deviation 1. The same seed gives the same table.

    Example: pdpmean compare --tiers 0.1:5400,0.5:3700,1:900 --runs 200
    """
    check_is_new(plot, overwrite=overwrite, name="plot")
    listed = read_tiers(tiers)
    people = people_of(listed)
    public = budget_range(model, budget_min, budget_max, listed)
    with (
        optional_file(plot, FIGURE_SUFFIXES) as figure,
        progress(quiet=quiet, unit="runs") as hook,
        printed_warnings("always"),
    ):
        from pdpmean.study.compare import compare as simulate

        comparison = simulate(people, runs=runs, model=model, budget_range=public, mean=mean, seed=seed, progress=hook)
        if figure:
            from pdpmean import plot as draw

            draw(comparison).savefig(figure)
    typer.echo(as_json(comparison.to_dict()) if json else _text(comparison))


def _text(comparison: Comparison) -> str:
    """The comparison as a table, one line per method."""
    from pdpmean.study.compare import METHODS

    head = ("", "error", "95 % interval", "over bound", "misses", "refused")
    rows = [
        (
            f"{row['method']}: {METHODS[row['method']]}",
            _number(row["error"], ".4g"),
            " to ".join(f"{end:.3g}" for end in row["error_interval"]) if math.isfinite(row["error"]) else "",
            _number(row["over_bound"], ".2f"),
            _percent(row["misses"]),
            _percent(row["refused"]),
        )
        for row in comparison.rows()
    ]
    bound = ("lower bound: no private method does better", _number(comparison.lower_bound, ".4g"), "", "1.00", "", "")
    return "\n".join(
        [
            f"{comparison.runs:,} simulated samples of {comparison.people:,} people, {comparison.model} model, "
            f"seed {comparison.seed}",
            "error: exceeded in one run out of four, in standard deviations; a miss is an error above 1",
            "interval: the uncertainty of that error; where intervals overlap, more --runs may change the order",
            "",
            as_table([head, *rows, bound]),
        ]
    )


def _number(number: float, form: str) -> str:
    """A number as text; an error is infinite if more than a quarter of the runs were refused."""
    if math.isnan(number):
        return "-"
    return "no answer" if math.isinf(number) else format(number, form)


def _percent(part: float) -> str:
    return "-" if math.isnan(part) else f"{100 * part:.1f} %"
