"""Everything that can be seen of an estimate, and tables with nothing in common but what is released about them."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
from scripted import Scripted
from typer.testing import CliRunner, Result

from pdpmean import Randomness, estimate, estimate_mean
from pdpmean.cli import app
from pdpmean.core import run
from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.passes.source import Source
from pdpmean.release import private_median
from pdpmean.sources.read import read

SIGNALLING = float(np.array([0x7FF4000000000000], np.uint64).view(np.float64)[0])
GROUPS = ["north", "south"]

Table = dict[str, Any]  # columns: income, epsilon, region


def table(incomes: Any, budgets: Any, regions: Any) -> Table:
    return {"income": incomes, "epsilon": budgets, "region": regions}


def many(count: int) -> Table:
    rng = np.random.default_rng(count)
    return table(rng.normal(size=count), rng.uniform(0.5, 70.0, count), rng.choice(["north", "south", "x"], count))


MANY = "so many that loops are compiled"
# Columns of one type each: types are public.
TABLES: dict[str, Table] = {
    "nobody": table(np.array([]), np.array([]), np.array([], dtype="U5")),
    "one": table(np.array([1e300]), np.array([64.0]), np.array(["south"])),
    "some": many(500),
    "strange": table(
        np.array([math.nan, SIGNALLING, math.inf, -math.inf, 5e-324, 1.8e308]),
        np.array([SIGNALLING, 1.0, math.nan, math.inf, -1.0, 5e-324]),
        np.array(["north", "north", "south", "", "é\n\"';,", "north"]),
    ),
    MANY: many(SMALLEST_BATCH + 3),
}


# What is released


@dataclass(frozen=True)
class Release:
    """What is asked for in the unbounded model, and what is released then, whatever the data.

    The script is in noise scales: the census, of each group; then, of the one that is not refused, the squares of the
    weights, of any shape the last cell of its histogram, and what the average releases. The medians are those of that
    one: its centre, unless a bound is known, and the spread of a bell.
    """

    script: Sequence[float]
    medians: Sequence[Sequence[float]] = ((3.5,), (0.7,))
    grouped: bool = False
    budget_range: tuple[float, float] = (1.0, 64.0)
    options: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def scripted(self, *, private: bool = False) -> Iterator[Scripted]:
        """What releases it, in place of all that is drawn."""
        with mock.patch.object(private_median, "private_medians", side_effect=[list(found) for found in self.medians]):
            yield Scripted(self.script, private=private)


NORTH, SOUTH, SQUARES, AVERAGED = [60.0, 140.0, 200.0], [0.25, 0.5, 0.125], [6.0], [130.0, 90.0, 5.0]
FEWEST = [0.125, 0.125, 0.0]  # so few that even known bounds do not help
SOME = [number / 10 for number in NORTH]  # enough to be located from a bound, and too few for a centre as well
FEW = [number / 20 for number in NORTH]  # of whom nothing is known but by bounds
SO_MANY = [100 * number for number in NORTH]  # that `locate` does not look at all of them
BELL: dict[str, Any] = {"shape": "gaussian"}
BY_BUDGETS: dict[str, Any] = {"weighting": "budgets"}  # one sum of all, unless something else is asked for
LEVELS = 8  # of the range of budgets
HISTOGRAM, FAR_CELLS, MISSING = [3.0], [0.5], [1.5]
CENTER = ((3.5,),)
OF_ANY = [*HISTOGRAM, *AVERAGED, *FAR_CELLS, *MISSING]
OF_BOUNDS = [*AVERAGED, 0.0, *MISSING]  # there are no far cells
RELEASES: dict[str, Release] = {
    "groups": Release([*NORTH, *SOUTH, *SQUARES, *AVERAGED], grouped=True, options=BELL),
    "no groups": Release([*NORTH, *SQUARES, *AVERAGED], options=BELL),
    "so many that few are located": Release([*SO_MANY, *SQUARES, *AVERAGED], options=BELL),
    "groups, so many that few are located": Release(
        [*SO_MANY, *SOUTH, *SQUARES, *AVERAGED], grouped=True, options=BELL
    ),
    "any shape": Release([*NORTH, *SQUARES, *OF_ANY], medians=CENTER),
    "any shape of groups": Release([*NORTH, *FEWEST, *SQUARES, *OF_ANY], medians=CENTER, grouped=True),
    "one bound": Release([*NORTH, *SQUARES, *OF_ANY], medians=CENTER, options={"bounds": (0.0, math.inf)}),
    "one bound of some": Release([*SOME, *SQUARES, *OF_ANY], medians=(), options={"bounds": (0.0, math.inf)}),
    "one budget alone": Release([400.0, *AVERAGED], budget_range=(2.0, 2.0), options=BELL),
    "known bounds": Release([*FEW, *SQUARES, *OF_BOUNDS], medians=(), options={"bounds": (0.0, 1.0)}),
    "known bounds of so many that they are located": Release(
        [*NORTH, *SQUARES, *OF_ANY], medians=CENTER, options={"bounds": (0.0, 9.0)}
    ),
    "equal to an entry": Release([*FEW, *SQUARES, *OF_BOUNDS], medians=(), options={"equals": "1"}),
    "levels of a bell": Release([*NORTH, *LEVELS * AVERAGED], options={**BELL, "weighting": "auto"}),
    "levels of groups": Release(
        [*NORTH, *SOUTH, *LEVELS * AVERAGED], grouped=True, options={**BELL, "weighting": "everyone"}
    ),
    "levels of any shape": Release(
        [*NORTH, *HISTOGRAM, *LEVELS * [*AVERAGED, *FAR_CELLS, *MISSING]],
        medians=CENTER,
        options={"weighting": "everyone"},
    ),
    "known bounds of groups": Release(
        [*FEW, *FEWEST, *SQUARES, *OF_BOUNDS], medians=(), grouped=True, options={"bounds": (-1.0, 4.0)}
    ),
}


# Where records come from


@dataclass(frozen=True)
class Handed:
    """Records as `estimate_mean` takes them: columns or a table, the names of its columns, and that of groups."""

    data: tuple[Any, ...]
    by: Any
    names: dict[str, str] = field(default_factory=dict)
    groups: Sequence[Any] = tuple(GROUPS)

    def asked_for(self, release: Release) -> dict[str, Any]:
        """All options."""
        groups = {"by": self.by, "groups": self.groups} if release.grouped else {}
        model = {"model": "unbounded", "budget_range": release.budget_range}
        return {**self.names, **groups, **model, **BY_BUDGETS, **release.options}


def columns_by(convert: Callable[[Any], Any]) -> Callable[[Table, Path], Handed]:
    """Three columns, each converted."""

    def hand(columns: Table, _: Path) -> Handed:
        values, budgets, regions = (convert(column) for column in columns.values())
        return Handed((values, budgets), regions)

    return hand


def named(data: Any) -> Handed:
    """A table with these three columns."""
    return Handed((data,), "region", {"value": "income", "budget": "epsilon"})


def duckdb_relation(columns: Table, _: Path) -> Handed:
    people = pa.table(columns)  # noqa: F841 (named in the query)
    return named(duckdb.sql("select * from people"))


def csv(columns: Table, folder: Path) -> Handed:
    pd.DataFrame(columns).to_csv(folder / "people.csv", index=False)
    return named(folder / "people.csv")


def parquet(columns: Table, folder: Path) -> Handed:
    pq.write_table(pa.table(columns), folder / "people.parquet", row_group_size=2**16)
    return named(folder / "people.parquet")


def arrow_file(columns: Table, folder: Path) -> Handed:
    pyarrow.feather.write_feather(pa.table(columns), folder / "people.arrow", compression="uncompressed")
    return named(folder / "people.arrow")


SOURCES: dict[str, Callable[[Table, Path], Handed]] = {
    "arrays": columns_by(np.asarray),
    "lists": columns_by(lambda column: column.tolist()),
    "pandas columns": columns_by(pd.Series),
    "Arrow": lambda columns, _: named(pa.table(columns)),
    "pandas": lambda columns, _: named(pd.DataFrame(columns)),
    "polars": lambda columns, _: named(pl.DataFrame(columns)),
    "DuckDB": duckdb_relation,
    "CSV": csv,
    "Parquet": parquet,
    "Arrow file": arrow_file,
}


# What is seen


@contextmanager
def recorded_rules() -> Iterator[list[Any]]:
    """The rules of all passes: they decide what is released, and may rest on nothing but what was before."""
    rules: list[Any] = []

    def recorded(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def record(rule: Any, *others: Any) -> Any:
            rules.append((name, pickle.dumps(rule)))
            return work(rule, *others)

        return record

    def read_and_record(*arguments: Any) -> Source:
        source = read(*arguments)
        for name in ("census", "sample", "sum"):
            setattr(source, name, recorded(name, getattr(source, name)))
        return source

    with mock.patch.object(estimate, "read", read_and_record):
        yield rules


def run_command(release: Release) -> Result:
    """What becomes of a command that asks for it of people.csv, in the current folder, and writes page.html there."""
    with (
        release.scripted(private=True) as randomness,
        mock.patch.object(Randomness, "secure", return_value=randomness),
        mock.patch.object(estimate, "new_run_id", return_value="0" * 32),  # which, as the time, was there before data
        mock.patch.object(run, "_now", return_value="2026-01-01T00:00:00+00:00"),
    ):
        return CliRunner().invoke(app, _words_for(release), prog_name="pdpmean")


def _words_for(release: Release) -> list[str]:
    low, high = release.budget_range
    words = ["estimate people.csv --value income --budget epsilon --report page.html --force"]
    words += [f"--model unbounded --budget-min {low} --budget-max {high}"]
    words += [f"--by region --groups {','.join(GROUPS)}"] if release.grouped else []
    words += [f"--{name} {_written(value)}" for name, value in {**BY_BUDGETS, **release.options}.items()]
    return " ".join(words).split()


def _written(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def seen(handed: Handed, release: Release) -> list[Any]:
    """All there is to see of an estimate."""
    return all_of(release, *handed.data, **handed.asked_for(release))


def all_of(release: Release, *data: Any, **options: Any) -> list[Any]:
    """The same, of whatever `estimate_mean` takes."""
    told: list[Any] = []
    with (
        warnings.catch_warnings(record=True) as caught,
        release.scripted() as randomness,
        recorded_rules() as rules,
    ):
        warnings.simplefilter("always")
        result = estimate_mean(*data, **options, randomness=randomness, progress=lambda *call: told.append(call))
    texts = [str(result), repr(result), result._repr_html_()]
    return [
        pickle.dumps(result),
        result.to_dict(),
        *texts,
        told,
        [str(warning.message) for warning in caught],
        rules,
    ]
