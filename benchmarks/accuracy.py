"""Accuracy: the error of the estimate and the coverage of its intervals, next to other methods on the same data.

    python benchmarks/accuracy.py [--quick | --coverage] [--write]

Normal data with standard deviation 1, fresh for every run; all methods see the same values. The error that one run in
four exceeds is divided by that of the oracle, which is told mean and scale, and by the lower bound. A cell is one
population of budgets at one size. `--quick` runs a few cells, `--coverage` runs ten cells 1000 times each. `--write`
keeps the tables in benchmarks/results/accuracy.md and draws accuracy.svg.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from profiles import MORE_PROFILES, PROFILES, Floats
from runs import LEVELS, Runs

from pdpmean import InsufficientBudgetError, MeanEstimate, Randomness, estimate_mean, lower_bound
from pdpmean.core.model import BOUNDED, make_model
from pdpmean.core.options import Options
from pdpmean.core.promise import Promise
from pdpmean.inference.conclude import conclude
from pdpmean.passes.cells import count_budgets
from pdpmean.planning.make import make_plan
from pdpmean.release.average import average
from pdpmean.release.census import public_census
from pdpmean.release.group import Group
from pdpmean.release.locate import locate
from pdpmean.sources.arrays import ArraySource
from pdpmean.study.baselines import best_clip
from pdpmean.study.compare import method

RESULTS = Path(__file__).parent / "results"
ALL_PROFILES = PROFILES | MORE_PROFILES
RANGES = {
    "1 % at 5, 99 % at 0.02": (0.02, 5.0),
    "Pareto from 0.02": (0.02, 10.0),
    "2 % public, 98 % at 0.1": (0.02, 5.0),
}
RATIOS = (0.0, 1.0, 1e4)
TOTALS = {"bounded": (300, 500, 1_000, 5_000, 50_000, 100_000), "unbounded": (250, 500, 2_500, 25_000, 100_000)}
QUICK = ("all 0.1", "log-uniform [0.01, 1]", "1 % at 5, 99 % at 0.02", "70 % zeros, 0.2 and 1")
LIMITS = {
    "bounded": ((50_000, 1.05), (5_000, 1.15), (1_000, 1.4)),
    "unbounded": ((25_000, 1.05), (2_500, 1.15), (500, 1.4)),
}
OTHERS = ("paper", "threshold", "sampling", "minimum")
LARGE, LARGEST = 10_000, 100_000  # records: above, only one mean; only some profiles
LARGEST_PROFILES = ("all 0.1", "log-uniform [0.01, 1]", "all 0.01", "1 % at 5, 99 % at 0.02")


@dataclass
class Population:
    """People with fixed budgets, for whom any number of samples of values can be drawn."""

    model: str
    profile: str
    n: int

    @property
    def seed(self) -> int:
        """The seed: different for every cell, and the same in every run of this script."""
        return zlib.crc32(f"{self.model} {self.profile} {self.n}".encode())

    @cached_property
    def budgets(self) -> Floats:
        """One budget per person."""
        return ALL_PROFILES[self.profile](self.n, np.random.default_rng(self.seed))

    @property
    def budget_range(self) -> tuple[float, float] | None:
        """The public range of budgets in the unbounded model."""
        return RANGES.get(self.profile, (0.01, 1.0)) if self.model == "unbounded" else None

    @cached_property
    def total(self) -> float:
        """The total budget, without people whose value is public."""
        return float(self.budgets[np.isfinite(self.budgets)].sum())

    @cached_property
    def oracle(self) -> float:
        """The oracle's error, in closed form."""
        chosen = make_model(self.model, self.budget_range)
        return best_clip(public_census(*count_budgets(ArraySource(self.budgets, self.budgets), chosen)).profile).error

    @cached_property
    def bound(self) -> float:
        """The lower bound."""
        chosen = make_model(self.model, self.budget_range)
        return lower_bound(chosen.allowances(self.budgets) * chosen.budget_per_allowance, model=self.model)

    @cached_property
    def estimate(self) -> Callable[[Floats, Randomness], MeanEstimate]:
        """The result of `estimate_mean`; with public budgets the plan is made only once, since it does not change."""
        if self.model == "unbounded":
            return lambda values, randomness: estimate_mean(
                values,
                self.budgets,
                shape="gaussian",
                model="unbounded",
                budget_range=self.budget_range,
                randomness=randomness,
            )
        (cells,) = count_budgets(ArraySource(self.budgets, self.budgets), BOUNDED)
        planned = [Group(cells, make_plan(public_census(cells), Options(shape="gaussian")))]

        def run(values: Floats, randomness: Randomness) -> MeanEstimate:
            source = ArraySource(values, self.budgets)
            averaged = average(source, locate(source, planned, randomness), randomness)
            promise = Promise(BOUNDED, Fraction(1), private=False)
            (found,) = conclude([group.released for group in averaged], promise)
            assert found
            return found

        return run

    def other(self, name: str, values: Floats, randomness: Randomness) -> float:
        """The estimate of another method."""
        return method(name, self.budgets, make_model(self.model, self.budget_range), mean=math.nan)(values, randomness)


def simulate(people: Population, ratios: tuple[float, ...], runs: int, other_runs: int) -> dict[object, Runs]:
    """The runs at each ratio |mu|/sigma, and those of the other methods at the second-to-last ratio."""
    rng = np.random.default_rng((people.seed, runs))
    found: dict[object, Runs] = {key: Runs() for key in (*ratios, *OTHERS)}
    at = ratios[max(len(ratios) - 2, 0)]
    draws = (Randomness.seeded(people.seed + (number << 32) + (runs << 52)) for number in itertools.count())
    for run in range(runs):
        sample = rng.standard_normal(people.n)
        for ratio in ratios:
            try:
                found[ratio].add(people.estimate(sample + ratio, next(draws)), ratio)
            except InsufficientBudgetError:
                found[ratio].refuse()
        for name in OTHERS if run < other_runs else ():
            if found[name].refused == run >= 5:  # it has refused every run so far, and would refuse the others
                found[name].refuse()
                continue
            try:
                error = abs(people.other(name, sample + at, next(draws)) - at)
                found[name].all_errors.append(math.inf if math.isnan(error) else error)
            except InsufficientBudgetError:
                found[name].refuse()
    return found


def cells(quick: bool) -> Iterator[Population]:
    """The cells to run: profiles at sizes whose total budgets are close to `TOTALS`."""
    rng = np.random.default_rng(1)
    for model, totals in TOTALS.items():
        for profile, draw in ALL_PROFILES.items():
            if quick and profile not in QUICK:
                continue
            drawn = draw(200_000, rng)
            typical = float(drawn[np.isfinite(drawn)].mean())
            wanted = [max(300, round(total / typical, -2)) for total in totals]
            sizes = sorted({int(n) for n in wanted if n <= 1_000_000})
            if typical < 0.4:
                sizes = [n for n in sizes if n * typical < 75_000]
            for n in sizes:
                if n <= (20_000 if quick else LARGEST) or (not quick and profile in LARGEST_PROFILES):
                    yield Population(model, profile, n)


@dataclass
class Row:
    """A row of the main table."""

    people: Population
    ratio: float
    runs: Runs
    others: dict[str, Runs]

    @property
    def over_oracle(self) -> float:
        """The error, divided by the oracle's."""
        return self.runs.quantile / self.people.oracle

    def text(self) -> str:
        """The row in Markdown."""
        people, runs = self.people, self.runs
        others = [show(self.others[name].quantile / people.bound) if self.others else "" for name in OTHERS]
        parts = [
            people.model,
            people.profile,
            f"{people.n:,}",
            f"{people.total:,.0f}",
            f"{self.ratio:g}",
            f"{len(runs.all_errors)}",
            show(self.over_oracle, 2),
            show(runs.quantile / people.bound, 2),
            show(100 * runs.misses, 1) if runs.errors else "-",
            f"{runs.refused / len(runs.all_errors):.0%}",
            *(f"{100 * part:.1f}" if runs.errors else "-" for part in runs.coverage),
            *others,
        ]
        return "| " + " | ".join(parts) + " |"


HEAD = (
    "| model | budgets | n | total | mean/std | runs | over oracle | over bound | misses, % | refused "
    "| 80 % | 95 % | 99 % | paper | threshold | sampling | minimum |\n|" + "---|" * 17
)


def show(ratio: float, digits: int = 1) -> str:
    if math.isnan(ratio):
        return "-"
    return f"{ratio:.{digits}f}" if ratio < 1000 else "no answer"


def main_table(quick: bool) -> tuple[list[Row], list[str]]:
    lines = [HEAD]
    rows = []
    print(HEAD)
    with ProcessPoolExecutor() as pool:
        everyone = list(cells(quick))
        for row in itertools.chain.from_iterable(pool.map(partial(cell_rows, quick), everyone)):
            rows.append(row)
            lines.append(row.text())
            print(lines[-1], flush=True)
    return rows, lines


def cell_rows(quick: bool, people: Population) -> list[Row]:
    """The rows of one population; one of them also has the other methods."""
    warnings.simplefilter("ignore")
    ratios = RATIOS[2:] if people.n > LARGE else (RATIOS[1:] if quick else RATIOS)
    few = people.n > LARGEST
    found = simulate(people, ratios, 30 if quick else 200 if few else 600, 8 if quick else 20 if few else 40)
    compared = ratios[max(len(ratios) - 2, 0)]
    return [
        Row(
            Population(people.model, people.profile, people.n),
            ratio,
            found[ratio],
            {name: found[name] for name in OTHERS} if ratio == compared else {},
        )
        for ratio in ratios
    ]


def verdicts(rows: list[Row]) -> list[str]:
    """The accuracy targets, and the measured numbers."""
    lines = []
    for model in TOTALS:
        mine = [row for row in rows if row.people.model == model and row.runs.errors]
        upper = math.inf
        for least, limit in LIMITS[model]:
            band = [row for row in mine if 0.9 * least <= row.people.total < upper]
            upper = 0.9 * least
            if band:
                ratios = [row.over_oracle for row in band]
                above = sum(ratio > limit for ratio in ratios)
                beyond_doubt = sum(row.runs.quantile_at_least > limit * row.people.oracle for row in band)
                lines.append(
                    f"- {model}, total from {least:,}: error over the oracle's, mean {np.mean(ratios):.3f}, largest "
                    f"{max(ratios):.2f}, above {limit}: {above} of {len(band)} cells, beyond noise {beyond_doubt}"
                )
        least = 500 if model == "bounded" else 250
        errors = [np.array(row.runs.errors) for row in mine if row.people.total >= 0.9 * least]
        if errors:
            pooled = np.concatenate(errors)
            worst = max(float(np.mean(part > 1)) for part in errors)
            lines.append(
                f"- {model}, total from {least}: misses {np.mean(pooled > 1):.2%} of {pooled.size:,}, worst {worst:.1%}"
            )
        sides = np.abs(2 * np.concatenate([row.runs.chances_below_truth for row in mine]) - 1)
        covered = ", ".join(f"{np.mean(sides <= level):.1%} at {level:.0%}" for level in LEVELS)
        warned = sum(row.runs.warned for row in mine) / sides.size
        lines.append(f"- {model}: coverage {covered} of {sides.size:,}; false symmetry warnings {warned:.2%}")
    compared = [row for row in rows if row.others and row.runs.errors]
    for name in OTHERS:
        worse = [row for row in compared if beyond_noise(row, name)]
        cases = "".join(f"; {row.people.model}, {row.people.profile}, n = {row.people.n:,}" for row in worse)
        lines.append(f"- worse than {name}, beyond noise, in {len(worse)} of {len(compared)} cells{cases}")
    return lines


def beyond_noise(row: Row, name: str) -> bool:
    """Whether another method has a smaller error quantile on the same samples; a bootstrap test at the 1 % level."""
    other = np.array(row.others[name].all_errors)
    mine = np.array(row.runs.all_errors[: other.size])
    drawn = np.random.default_rng(0).integers(0, other.size, (2000, other.size))
    theirs, ours = (np.quantile(part[drawn], 0.75, axis=1, method="lower") for part in (other, mine))
    return bool(np.mean(ours > theirs) > 0.99)


COVERAGE_CELLS = (
    ("bounded", "all 0.1", 3_000),
    ("bounded", "all 0.1", 5_000),
    ("bounded", "tiers 0.1/0.5/1", 1_500),
    ("bounded", "log-uniform [0.01, 1]", 5_000),
    ("bounded", "1 % at 5, 99 % at 0.02", 15_000),
    ("bounded", "2 % public, 98 % at 0.1", 5_000),
    ("unbounded", "tiers 0.1/0.5/1", 800),
    ("unbounded", "all 0.1", 5_000),
    ("unbounded", "log-uniform [0.01, 1]", 2_400),
    ("unbounded", "1 % at 5, 99 % at 0.02", 7_500),
)


def coverage_table(runs: int) -> list[str]:
    lines = [HEAD]
    print(HEAD)
    with ProcessPoolExecutor() as pool:
        for line in pool.map(partial(coverage_line, runs), itertools.starmap(Population, COVERAGE_CELLS)):
            lines.append(line)
            print(line, flush=True)
    return lines


def coverage_line(runs: int, people: Population) -> str:
    warnings.simplefilter("ignore")
    return Row(people, 1e4, simulate(people, (1e4,), runs, 0)[1e4], {}).text()


def draw_figure(rows: list[Row], path: Path) -> None:
    """Draw the error over the lower bound against the total budget: per method, the median over the profiles."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    styles = {
        "pdpmean": ("o", "-", "black"),
        "sampling": ("s", "--", "0.35"),
        "threshold": ("^", "-.", "0.35"),
        "minimum": ("v", ":", "0.35"),
        "paper": ("x", (0, (6, 2)), "0.55"),
        "oracle": ("", (0, (1, 1)), "black"),
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    for panel, model in zip(axes, TOTALS, strict=True):
        mine = [row for row in rows if row.people.model == model and row.others]
        groups = {
            total: [row for row in mine if 0.75 * total <= row.people.total < 1.33 * total] for total in TOTALS[model]
        }
        for name, (marker, line, color) in styles.items():
            drawn = [
                (total, float(np.median([_over_bound(row, name) for row in group])))
                for total, group in groups.items()
                if group
            ]
            drawn = [(total, ratio) for total, ratio in drawn if ratio < 1000]
            panel.plot(*zip(*drawn, strict=True), marker=marker, linestyle=line, color=color, label=name)
        panel.set(xscale="log", yscale="log", title=model, xlabel="total budget")
        panel.set_yticks([2, 3, 5, 10, 20, 50], ["2", "3", "5", "10", "20", "50"])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("75 % error quantile over the lower bound")
    axes[1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path)


def _over_bound(row: Row, method: str) -> float:
    error = {"pdpmean": row.runs.quantile, "oracle": row.people.oracle}.get(method)
    return (row.others[method].quantile if error is None else error) / row.people.bound


def write(rows: list[Row], table: list[str], covered: list[str]) -> None:
    """Write the tables and the figure to benchmarks/results."""
    parts = [
        "75 % quantile of |error|, normal data; made by benchmarks/accuracy.py.\n",
        "![error over the lower bound against total budget](accuracy.svg)\n",
        *verdicts(rows),
        "\n## Coverage, 1000 runs a cell\n",
        *covered,
        "\n## All cells\n\nThe last four columns are other methods, over the bound.\n",
        *table,
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "accuracy.md").write_text("\n".join(parts) + "\n", encoding="utf-8")
    draw_figure(rows, RESULTS / "accuracy.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="four profiles, n up to 20,000, 30 runs per cell")
    parser.add_argument("--coverage", action="store_true", help="only the coverage of intervals, in ten cells")
    parser.add_argument("--write", action="store_true", help="keep tables and figure in benchmarks/results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    if options.coverage:
        coverage_table(1000)
        return
    rows, table = main_table(options.quick)
    summary = verdicts(rows)
    print("\n".join(["", *summary, ""]))
    covered = [] if options.quick else coverage_table(1000)
    print(f"\n{time.perf_counter() - start:.0f} s")
    if options.write:
        write(rows, table, covered)


if __name__ == "__main__":
    main()
