"""``pdpmean demo``: a tour of the commands, on simulated people."""

from __future__ import annotations

import contextlib
import csv
import shlex
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from pdpmean.cli.options import Debug
from pdpmean.errors import InvalidInputError

__all__ = ["demo"]

_PEOPLE = 20_000
_STD = 6.0  # hours per week, within a region
_REGIONS = {"north": 36.0, "south": 38.0, "west": 41.0}  # mean hours per week
_TIERS = {"strict": (0.1, 0.54), "standard": (0.5, 0.37), "open": (1.0, 0.09)}  # budget, fraction of people

# The commands of the tour, by their titles.
_TOUR = {
    "What to expect, before anything is spent": "plan people.csv --budget epsilon",
    "The mean, where participation is public and the answers are secret": (
        "estimate people.csv --value hours --budget epsilon --share 0.25"
    ),
    "The same with tier names, where participation is secret too": (
        "estimate people.csv --value hours --budget tier --tiers strict=0.1,standard=0.5,open=1 --model unbounded "
        "--share 0.25"
    ),
    "One mean per region": "estimate people.csv --value hours --budget epsilon --by region --groups north,south,west "
    "--share 0.5",
    "A comparison with the paper and other methods, for a tenth of these people": (
        "compare --tiers 0.1:1080,0.5:740,1:180 --runs 100"
    ),
    "The same comparison, where participation is secret": (
        "compare --tiers 0.1:1080,0.5:740,1:180 --runs 100 --model unbounded"
    ),
}


def demo(
    context: typer.Context,
    directory: Annotated[
        Path | None,
        typer.Option("--directory", metavar="DIR", help="Keep the simulated file in this folder."),
    ] = None,
    debug: Debug = False,  # noqa: ARG001  read by Commands.main
) -> None:
    """Take a tour: simulate people, plan, estimate in both models and by group, compare with the paper.

    Takes less than a minute.

    Example: pdpmean demo --directory /tmp/tour
    """
    with contextlib.ExitStack() as stack:
        place = directory or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pdpmean-")))
        if (place / "people.csv").exists():
            raise InvalidInputError(f"{place / 'people.csv'} already exists; choose another --directory", name="path")
        _write(place / "people.csv")
        stack.enter_context(contextlib.chdir(place))
        kept = f"in {place / 'people.csv'}" if directory else "in a temporary file (--directory keeps it)"
        typer.echo(f"{_PEOPLE:,} simulated people, {kept}: weekly hours and a budget for each")
        typer.echo(f"true means {_truth()}; standard deviation within a region {_STD:g}")
        for title, command in _TOUR.items():
            typer.secho(f"\n{title}", bold=True)
            typer.secho(f"$ pdpmean {command}\n", fg="cyan")
            _run(context, shlex.split(command))
    typer.echo("\nThe noise is random, so results differ from run to run. Each question used part of every budget.")


def _truth() -> str:
    """The true means, overall and by region, as text."""
    overall = sum(_REGIONS.values()) / len(_REGIONS)
    return ", ".join([f"{overall:.4g} overall", *(f"{mean:g} in the {region}" for region, mean in _REGIONS.items())])


def _write(path: Path) -> None:
    """Write a CSV file of simulated people, with hours, region, tier and the tier's budget."""
    from pdpmean import Randomness
    from pdpmean.study.compare import standard_normals

    source = Randomness.seeded(2024)
    hours = (standard_normals(source, _PEOPLE) * _STD).round(2)
    tiers = [name for name, (_, part) in _TIERS.items() for _ in range(round(part * _PEOPLE))]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["person", "region", "tier", "epsilon", "hours"])
        for person, (place, noise) in enumerate(zip(source.permutation(_PEOPLE), hours, strict=True)):
            region = list(_REGIONS)[person % len(_REGIONS)]
            tier = tiers[place]
            writer.writerow([person, region, tier, _TIERS[tier][0], f"{_REGIONS[region] + noise:.2f}"])


def _run(context: typer.Context, words: list[str]) -> None:
    """Run one command of the tour, as the command line would."""
    commands = context.find_root().command
    with commands.make_context("pdpmean", list(words), obj=words) as inner:
        commands.invoke(inner)
