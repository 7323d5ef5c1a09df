"""Options: the type, name and help text of every command-line option, declared once and used by the commands.

The options that ``estimate`` and ``plan`` share are parameters of `_planning`; `with_planning` adds them to a command.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pdpmean.cli.tiers import Tier, budget_range
from pdpmean.errors import InvalidInputError

# What `with_planning` passes to a command: a function from the tiers to arguments of `estimate_mean` and `plan_mean`.
Planning = Callable[..., dict[str, Any]]

# The headings under which the help shows options.
COLUMNS = "Columns"
GROUPS = "Groups"
MODEL = "Who is protected"
POPULATION = "The population"
PLAN = "Override the plan"
OUTPUT = "Output"
LEDGER = "Ledger"

NATS_HINT = "Budgets and costs are in nats: a cost of c changes how likely a result is by at most a factor exp(c)."
BOUNDS_HINT = "--bounds takes two numbers, with a blank between them: --bounds 0 100, or --bounds 0 none"


def _option(name: str, help: str, panel: str | None = None, metavar: str | None = None) -> Any:  # noqa: A002
    """The declaration of an option; `panel` is its heading in the help."""
    return typer.Option(name, help=help, rich_help_panel=panel, metavar=metavar)


def column(name: str, help: str) -> Any:  # noqa: A002
    """The declaration of an option that names a column of the data."""
    return _option(name, help, COLUMNS, "COLUMN")


def _flag(name: str, help: str) -> Any:  # noqa: A002
    """The declaration of an output option that takes no value."""
    return _option(name, help, OUTPUT)


Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help="Parquet, CSV or Arrow files, or a quoted glob pattern.")
]
BudgetFiles = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="Files with a column of budgets; none if --tiers says how many people."),
]
Value = Annotated[str, column("--value", "The column to average.")]
ValueToCome = Annotated[str | None, column("--value", "The column to average later; a plan does not read it.")]
Equals = Annotated[
    str | None,
    _option(
        "--equals",
        "Estimate the share of this entry, such as yes. Other entries count as no; missing ones do not count.",
        COLUMNS,
        "ENTRY",
    ),
]
Missing = Annotated[
    Literal["some", "none"],
    _option("--missing", "none, if it is public knowledge that no value is missing.", POPULATION),
]
Budget = Annotated[
    str | None,
    column("--budget", "The column of budgets, one per person: 0 leaves a person out, inf makes their value public."),
]
BudgetForAll = Annotated[
    float | None, _option("--budget-for-all", "One budget for everybody, instead of a column.", COLUMNS)
]
Tiers = Annotated[
    list[str] | None,
    _option("--tiers", "Budgets for a column of tier names: strict=0.1,open=1.", COLUMNS, "NAME=BUDGET,..."),
]
TiersOrPeople = Annotated[
    list[str] | None,
    _option(
        "--tiers",
        "Without a file, budgets and numbers of people: 0.1:5400,0.5:3700,1:900. With a file, budgets for a column of "
        "tier names: strict=0.1,open=1.",
        COLUMNS,
        "BUDGET:PEOPLE,...",
    ),
]
People = Annotated[
    list[str],
    _option("--tiers", "Budgets and numbers of people: 0.1:5400,0.5:3700,1:900.", metavar="BUDGET:PEOPLE,..."),
]
Person = Annotated[
    str | None,
    column(
        "--person",
        "The column of ids, which must be unique unless --rows is given. In the unbounded model, only with --rows or a "
        "--ledger.",
    ),
]
Rows = Annotated[
    Literal["mean"] | None,
    _option("--rows", "mean, if people have several rows: each person becomes one record, the mean of them.", COLUMNS),
]
PersonInFile = Annotated[
    str | None,
    column("--person", "The column of ids, with FILE; checked to be unique unless there are --rows or a --ledger."),
]

LedgerAt = Annotated[
    str | None,
    _option("--ledger", "The ledger of what people grant and have spent: a file, or postgresql://...", LEDGER, "DB"),
]
Purpose = Annotated[
    str | None, _option("--purpose", "What the release is for, as recorded in reports and the ledger.", LEDGER, "TEXT")
]
Analyst = Annotated[
    str | None, _option("--analyst", "Who makes the release, as recorded in reports and the ledger.", LEDGER, "NAME")
]
Spend = Annotated[
    str | None,
    _option(
        "--spend",
        f"With a ledger, the most the release may cost anybody, instead of --share. {NATS_HINT}",
        LEDGER,
        "NATS",
    ),
]

By = Annotated[str | None, _option("--by", "The column of groups: one mean for each of --groups.", GROUPS, "COLUMN")]
Groups = Annotated[
    list[str] | None,
    _option("--groups", "The groups to report; the list is public. Quote names with a comma.", GROUPS, "A,B,..."),
]

Model = Annotated[
    Literal["bounded", "unbounded"],
    _option(
        "--model",
        "bounded: participation and budgets are public, values are secret. unbounded: participation and budgets are "
        "secret too.",
        MODEL,
    ),
]
BudgetMin = Annotated[
    float | None,
    _option("--budget-min", "Unbounded: the public lower end of all budgets. Default: the smallest of --tiers.", MODEL),
]
BudgetMax = Annotated[
    float | None,
    _option("--budget-max", "Unbounded: the public upper end of all budgets. Default: the largest of --tiers.", MODEL),
]
Share = Annotated[float, _option("--share", "Use only this fraction of every budget.", MODEL)]
Force = Annotated[bool, _option("--force", "Estimate even if budgets look wrong, as in percent.", MODEL)]
Seed = Annotated[int | None, _option("--seed", "Repeatable noise, for simulations: NOT PRIVATE.", MODEL)]

Shape = Annotated[
    Literal["any", "gaussian"],
    _option(
        "--shape",
        "any assumes no shape. gaussian needs less budget, but is wrong unless the population is bell-shaped.",
        POPULATION,
    ),
]
Bounds = Annotated[
    tuple[str, str] | None,
    _option(
        "--bounds",
        "Publicly known bounds of all values: 0 1 for yes or no, 0 none for money. Values beyond count as the bound. "
        "Never read them off the data.",
        POPULATION,
        "LOW HIGH",
    ),
]

Weighting = Annotated[
    Literal["auto", "everyone", "budgets"],
    _option(
        "--weighting",
        "everyone: all count the same, which is right even if values correlate with budgets. budgets: people count in "
        "proportion to their budgets, which is right only if values do not correlate with them. auto: everyone where "
        "that costs little, otherwise between the two.",
        POPULATION,
    ),
]
Target = Annotated[
    Literal["population", "people"],
    _option("--target", "The mean of the population that people come from, or of the people in the table.", POPULATION),
]

ClipHalfWidth = Annotated[
    float | None, _option("--clip-half-width", "Clip this many standard deviations from the centre.", PLAN)
]
Saturation = Annotated[float | None, _option("--saturation", "The budget above which more adds nothing.", PLAN)]
CenterShare = Annotated[float | None, _option("--center-share", "The fraction of every budget for the centre.", PLAN)]
ScaleShare = Annotated[float | None, _option("--scale-share", "The fraction of every budget for the scale.", PLAN)]
MaxFailure = Annotated[
    float | None,
    _option("--max-failure", "Refuse if the probability of missing the population exceeds this. Default: 0.05.", PLAN),
]
MaxRatio = Annotated[
    float | None,
    _option(
        "--max-ratio",
        "The distance of the mean from 0, in standard deviations, for which --max-failure is checked. Default: 10000.",
        PLAN,
    ),
]

Runs = Annotated[int, typer.Option("--runs", min=1, help="How many samples to simulate.")]
Mean = Annotated[float, _option("--mean", "The simulated mean, in standard deviations from 0.")]
SampleSeed = Annotated[int, _option("--seed", "The seed of the simulated samples.")]

Level = Annotated[float, _option("--level", "The confidence level of the interval: 0.99 for 99 %.", OUTPUT)]
Json = Annotated[bool, _flag("--json", "Print JSON.")]
Csv = Annotated[bool, _flag("--csv", "Print CSV, one line per group.")]
Report = Annotated[Path | None, _option("--report", "Write an HTML report, such as out.html.", OUTPUT, "FILE")]
Overwrite = Annotated[bool, _flag("--overwrite", "Let the report replace an existing file.")]
OverwriteTable = Annotated[bool, _flag("--overwrite", "Let the table replace an existing file.")]
OverwritePlot = Annotated[bool, _flag("--overwrite", "Let the figure replace an existing file.")]
Plot = Annotated[Path | None, _option("--plot", "Draw a figure, such as out.svg.", OUTPUT, "FILE")]
Strict = Annotated[bool, _flag("--strict", "Treat every warning as an error, with exit code 4.")]
Quiet = Annotated[bool, _flag("--quiet", "No progress bars.")]
Debug = Annotated[bool, _flag("--debug", "Show the traceback of an error; it may contain some of the data.")]


def _planning(
    model: Model = "bounded",
    budget_min: BudgetMin = None,
    budget_max: BudgetMax = None,
    share: Share = 1.0,
    shape: Shape = "any",
    bounds: Bounds = None,
    weighting: Weighting = "auto",
    target: Target = "population",
    clip_half_width: ClipHalfWidth = None,
    saturation: Saturation = None,
    center_share: CenterShare = None,
    scale_share: ScaleShare = None,
    max_failure: MaxFailure = None,
    max_ratio: MaxRatio = None,
    *,
    tiers: list[Tier],
) -> dict[str, Any]:
    """The arguments that `estimate_mean` and `plan_mean` have in common, from the options that the user gave."""
    from pdpmean import Choices

    choices = {
        "clip_half_width": clip_half_width,
        "saturation": saturation,
        "center_share": center_share,
        "scale_share": scale_share,
        "max_failure": max_failure,
        "max_ratio": max_ratio,
    }
    return {
        "model": model,
        "budget_range": budget_range(model, budget_min, budget_max, tiers),
        "share": share,
        "shape": shape,
        "bounds": _bounds(bounds),
        "weighting": weighting,
        "target": target,
        "choices": Choices(**{name: value for name, value in choices.items() if value is not None}),
    }


def _bounds(texts: tuple[str, str] | None) -> tuple[float | None, ...] | None:
    """The two bounds as numbers, or None for an open end.

    ``--bounds 0,100 --json`` would take ``--json`` for the upper bound; the error says to write a blank instead.
    """
    if texts is None:
        return None
    low, high = texts
    if "," in low or high.startswith("--"):
        raise InvalidInputError(BOUNDS_HINT, name="bounds", value=texts)
    ends = _bound(low, -math.inf), _bound(high, math.inf)
    if not ends[0] < ends[1]:
        wrong = [text for text, end in zip(texts, ends, strict=True) if math.isnan(end)]
        fault = f"; {wrong[0]!r} is not a number" if wrong else f"; did you mean {high} {low}?" * (ends[0] > ends[1])
        raise InvalidInputError(
            "--bounds must be LOW HIGH with LOW < HIGH, and none for an end that is not known; "
            f"got {low} {high}{fault}",
            name="bounds",
            value=texts,
        )
    return tuple(None if text.lower() == "none" else end for text, end in zip(texts, ends, strict=True))


def _bound(text: str, unknown: float) -> float:
    """One bound: `unknown` for "none", and NaN for a text that is no number."""
    try:
        return unknown if text.lower() == "none" else float(text)
    except ValueError:
        return math.nan


def with_planning(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command so that it has the options of `_planning` in place of its parameter `planning`.

    The command receives `planning` as a function, which it calls with the tiers to get the arguments.
    """
    shared = [
        parameter
        for parameter in inspect.signature(_planning, eval_str=True).parameters.values()
        if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def run(**given: Any) -> None:
        shared_values = {parameter.name: given.pop(parameter.name) for parameter in shared}
        command(**given, planning=partial(_planning, **shared_values))

    parameters = [
        parameter.replace(kind=parameter.KEYWORD_ONLY)
        for name, declared in signature.parameters.items()
        for parameter in (shared if name == "planning" else [declared])
    ]
    # Typer reads the options from these.
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
