"""Shapes: error and coverage for many populations, with and without bounds: ``python benchmarks/shapes.py --write``.

Errors are the 75 % quantile of the absolute error, over that of the best clip in hindsight, on the same values. That
clip is told the population and spends every budget on the sum, but the biases of its two ends may not cancel. Budgets
and values are independent here, and the best clip weights people by their budgets, so the estimates do the same;
`benchmarks/selection.py` measures what ``weighting="auto"`` costs besides. The method was tuned only on the first
populations (`TUNED`); nothing was changed after looking at the second (`FRESH`). The third (`RARE`) have a small group
far from the others, which a budget may be too small to show; they were looked at for tails and clips.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from runs import LEVELS, Runs

from pdpmean import InsufficientBudgetError, Randomness, estimate_mean
from pdpmean.core.model import BOUNDED, Model, ModelName, make_model
from pdpmean.core.profile import Profile
from pdpmean.core.types import Floats
from pdpmean.laws.error_law import half_width

RESULTS = Path(__file__).parent / "results" / "shapes.md"
TIERS, PARTS = (0.1, 0.5, 1.0), (0.54, 0.37, 0.09)
EQUAL = 0.5  # the budget of everybody, where all grant the same
TOTALS = {"none": (500, 1_000, 5_000, 50_000), "one": (250, 500, 1_000, 5_000, 50_000), "two": (250, 1_000, 5_000)}
# The fractions of a tail that the best clip may cut off.
CUTS = np.array([0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.02, 0.05, 0.1])

_DRAWS = 20
_NOISES = 20  # draws of the best clip's noise per run: more than one, so that its error is known well

Draw = Callable[[Generator, int], Any]  # returns an array of doubles
MODELS: tuple[ModelName, ...] = ("bounded", "unbounded")


@dataclass(frozen=True)
class Population:
    """How values are drawn, and which bounds of them are publicly known."""

    draw: Draw
    low: float | None = None
    high: float | None = None

    def bounds(self, known: str) -> tuple[float | None, float | None] | None:
        """The bounds that the estimate is given: none, the lower one, or both."""
        return {"none": None, "one": (self.low, None), "two": (self.low, self.high)}[known]

    def has(self, known: str) -> bool:
        """Whether the population has these bounds."""
        needed = {"none": (), "one": (self.low,), "two": (self.low, self.high)}[known]
        return None not in needed


def mixed(part: float, some: Draw, others: Draw) -> Draw:
    """A mixture: the fraction `part` of values drawn by `some`, all others by `others`."""
    return lambda rng, n: np.where(rng.random(n) < part, some(rng, n), others(rng, n))


def at(value: float) -> Draw:
    return lambda _, n: np.full(n, value)


def normal(mean: float, std: float) -> Draw:
    return lambda rng, n: rng.normal(mean, std, n)


TUNED: dict[str, Population] = {
    "normal": Population(normal(3, 1)),
    "exponential": Population(lambda rng, n: rng.exponential(size=n), 0.0),
    "log-normal 0.5": Population(lambda rng, n: rng.lognormal(0, 0.5, n), 0.0),
    "log-normal 1": Population(lambda rng, n: rng.lognormal(0, 1, n), 0.0),
    "Student t3": Population(lambda rng, n: rng.standard_t(3, n)),
    "30 % ones": Population(lambda rng, n: (rng.random(n) < 0.3) * 1.0, 0.0, 1.0),
    "70 % zeros": Population(mixed(0.7, at(0.0), lambda rng, n: rng.lognormal(0, 1, n)), 0.0),
    "hours, 55 % at 40": Population(
        lambda rng, n: np.round(np.clip(mixed(0.55, at(40.0), normal(40, 13))(rng, n), 1, 99)), 0.0, 168.0
    ),
    "delays": Population(lambda rng, n: np.round(mixed(0.6, normal(-4, 8), lambda r, k: r.exponential(30, k))(rng, n))),
    "visits": Population(lambda rng, n: rng.negative_binomial(0.6, 0.15, n) * 1.0, 0.0),
    "ratings": Population(lambda rng, n: rng.choice([1.0, 2, 3, 4, 5], n, p=[0.1, 0.1, 0.2, 0.35, 0.25]), 1.0, 5.0),
    "heights": Population(lambda rng, n: np.round(mixed(0.5, normal(178, 7), normal(165, 7))(rng, n), 1), 0.0, 300.0),
}
FRESH: dict[str, Population] = {
    "gamma 3": Population(lambda rng, n: rng.gamma(3, 12, n), 0.0),
    "left-skewed": Population(lambda rng, n: 100 - rng.gamma(2, 9, n)),
    "Weibull 2.5": Population(lambda rng, n: 6 * rng.weibull(2.5, n), 0.0),
    "log-normal 0.9 less 5": Population(lambda rng, n: rng.lognormal(1.5, 0.9, n) - 5),
    "Student t6": Population(lambda rng, n: 400 + 30 * rng.standard_t(6, n)),
    "Pareto 4": Population(lambda rng, n: 2 * rng.pareto(4, n), 0.0),
    "triangular": Population(lambda rng, n: rng.triangular(0, 20, 50, n), 0.0, 50.0),
    "beta(5, 1.5)": Population(lambda rng, n: rng.beta(5, 1.5, n), 0.0, 1.0),
    "Poisson 12": Population(lambda rng, n: rng.poisson(12, n) * 1.0, 0.0),
    "a die": Population(lambda rng, n: rng.integers(1, 7, n) * 1.0, 1.0, 6.0),
    "40 % ones": Population(lambda rng, n: (rng.random(n) < 0.4) * 1.0, 0.0, 1.0),
    "35 % zeros, even above": Population(mixed(0.35, at(0.0), lambda rng, n: rng.uniform(0, 60, n)), 0.0, 100.0),
    "80/20 bells": Population(mixed(0.2, normal(14, 2), normal(0, 1.5))),
    "bunched at 100": Population(
        lambda rng, n: np.round(np.minimum(mixed(0.3, at(100.0), normal(75, 18))(rng, n), 100)), None, 100.0
    ),
    "wages to the dollar": Population(lambda rng, n: np.round(rng.lognormal(10.3, 0.6, n)), 0.0, 1e6),
    "logistic": Population(lambda rng, n: rng.logistic(-20, 4, n)),
}


def lognormal(mean_log: float, std_log: float) -> Draw:
    return lambda rng, n: rng.lognormal(mean_log, std_log, n)


DONATIONS = np.array([5.0, 10, 20, 25, 50, 100, 250])
RARE: dict[str, Population] = {
    "exam, 2 % absent": Population(
        mixed(0.02, at(0.0), lambda rng, n: np.round(np.minimum(rng.normal(82, 9, n), 100))), 0.0, 100.0
    ),
    "hours, 3 % part-time": Population(
        lambda rng, n: np.round(mixed(0.03, lambda r, k: r.uniform(2, 12, k), normal(40, 3))(rng, n)), 0.0, 168.0
    ),
    "seconds, 5 % time out": Population(
        lambda rng, n: np.round(mixed(0.05, at(3600.0), lognormal(4, 0.8))(rng, n)), 0.0, 3600.0
    ),
    "salaries, 3 % executives": Population(mixed(0.03, lognormal(12.2, 0.7), lognormal(10.5, 0.35)), 0.0),
    "rents, 2 % shops": Population(mixed(0.02, lognormal(8.6, 0.5), lognormal(6.8, 0.3)), 0.0),
    "prices, 10 % in yen": Population(mixed(0.1, lognormal(8.5, 0.7), lognormal(3.5, 0.7)), 0.0),
    "glucose, 4 % diabetic": Population(mixed(0.04, normal(210, 40), normal(92, 9)), 0.0),
    "donations, 1 % large": Population(
        lambda rng, n: rng.choice(DONATIONS, n, p=[0.15, 0.27, 0.25, 0.1, 0.14, 0.08, 0.01]), 0.0
    ),
}
SETS = {"tuned on": TUNED, "fresh": FRESH, "with a rare group": RARE}
POPULATIONS = TUNED | FRESH | RARE


@lru_cache(maxsize=32)  # all of them: each takes seconds to draw
def truth(name: str) -> tuple[float, float, Floats]:
    """The mean, the standard deviation, and many sorted values of a population."""
    rng = np.random.default_rng(5)
    draws = [POPULATIONS[name].draw(rng, 1_000_000) for _ in range(_DRAWS)]
    # So many draws that their own sampling error is small compared with that of half a million people.
    return float(np.mean([values.mean() for values in draws])), float(draws[0].std()), np.sort(draws[0])


@dataclass(frozen=True)
class BestClip:
    """A clip that is told the population: the best of them is what an estimate is compared with."""

    low: float
    high: float
    mean: float
    """The mean of the clipped population."""
    bias: float
    """What is cut off on both sides together."""
    noise: float
    """The scale of the noise of the sum."""
    largest_weight: float
    expected: float
    """The error that one run in four is expected to exceed."""

    @classmethod
    def of(cls, profile: Profile, values: Floats, low: float, high: float, noise_of_half: float) -> BestClip:
        """The clip between two ends, with the best weights for it."""
        clipped = np.clip(values, low, high)
        variance = float(clipped.var())
        bias = float(np.maximum(values - high, 0).mean() + np.maximum(low - values, 0).mean())
        noise = noise_of_half * (high - low) / 2
        largest_weight, _ = profile.saturation(2 * noise**2 / variance)
        weight, square = profile.capped_sums(largest_weight)
        inside = half_width(0.75, noise / weight, math.sqrt(variance * square) / weight)
        return cls(low, high, float(clipped.mean()), bias, noise, largest_weight, math.hypot(inside, bias))

    def errors(self, values: Floats, allowances: Floats, rng: Generator) -> Floats:
        """The errors besides bias on these values, under some draws of the noise."""
        weights = np.minimum(allowances, self.largest_weight)
        clipped = np.clip(values, self.low, self.high)
        noise = rng.laplace(scale=self.noise, size=_NOISES)
        errors: Floats = (weights @ clipped + noise) / weights.sum() - self.mean
        return errors


@dataclass(frozen=True)
class Cell:
    """One case to run: a population, known bounds, a total budget, how it is distributed over people, and a model."""

    population: str
    known: str
    total: int
    tiers: bool
    model: ModelName

    @property
    def description(self) -> str:
        """The cell in words, as in the table."""
        budgets = "tiers" if self.tiers else f"all {EQUAL:g}"
        return f"{self.known} | {self.total:,} | {self.model} | {budgets} | {self.population}"

    def run(self, runs: int) -> dict[str, Any]:
        """The results of this cell."""
        warnings.simplefilter("ignore")
        mean, std, _ = truth(self.population)
        found, contradicted, seconds = Runs(), 0, 0.0
        best, best_errors = self.in_hindsight(), []
        for seed in range(runs):
            rng = np.random.default_rng([seed, self._key])
            budgets = self.budgets(rng)
            values = POPULATIONS[self.population].draw(rng, budgets.size)
            best_errors.append(best.errors(values, self._chosen.allowances(budgets), rng))
            start = time.process_time()
            try:
                estimate = estimate_mean(
                    values,
                    budgets,
                    bounds=POPULATIONS[self.population].bounds(self.known),
                    model=self.model,
                    budget_range=self._chosen.budget_range,
                    weighting="budgets",
                    randomness=Randomness.seeded(self._key + seed),
                )
            except InsufficientBudgetError:
                found.refuse()
                continue
            seconds += time.process_time() - start
            if estimate.contradicted:
                contradicted += 1
            else:
                found.add(estimate, mean)
        answered = len(found.errors)
        error_of_best = math.hypot(float(np.quantile(np.abs(best_errors), 0.75)), best.bias)
        return {
            "ratio": float(np.quantile(found.errors, 0.75)) / error_of_best if answered else math.nan,
            "worst": max(found.errors, default=math.nan) / std,
            "coverage": found.coverage,
            "answered": answered / runs,
            "contradicted": contradicted / runs,
            "ms": 1000 * seconds / max(answered, 1),
        }

    def budgets(self, rng: Generator) -> Floats:
        """The budget of each person."""
        if not self.tiers:
            return np.full(round(self.total / EQUAL), EQUAL)
        people = round(self.total / np.dot(TIERS, PARTS))
        return np.array(rng.choice(TIERS, people, p=PARTS), dtype=np.float64)

    @property
    def _chosen(self) -> Model:
        return make_model(self.model, (TIERS[0], TIERS[-1])) if self.model == "unbounded" else BOUNDED

    @property
    def _key(self) -> int:
        """A seed of its own for each cell, so that cells are independent; equal for the bounds that may be known."""
        return zlib.crc32(f"{self.population}, {self.total}, {self.tiers}, {self.model}".encode())

    def in_hindsight(self) -> BestClip:
        """The clip with the least error, among those that cut off some fraction of each tail."""
        _, _, values = truth(self.population)
        levels, counts = np.unique(self._chosen.allowances(self.budgets(np.random.default_rng(1))), return_counts=True)
        profile = Profile.of(levels, counts.astype(np.float64))
        noise_of_half = 1.0 if self.model == "bounded" else math.sqrt(2)
        lows, highs = np.unique(np.quantile(values, CUTS)), np.unique(np.quantile(values, 1 - CUTS))
        clips = [
            BestClip.of(profile, values, low, high, noise_of_half) for low, high in product(lows, highs) if low < high
        ]
        return min(clips, key=lambda clip: clip.expected)


def cells(quick: bool) -> Iterable[Cell]:
    """All cells to run."""
    for known, totals in TOTALS.items():
        for total, tiers, model, name in product(totals, (False, True), MODELS, POPULATIONS):
            if not POPULATIONS[name].has(known) or (quick and (tiers or total > 5_000)):
                continue
            yield Cell(name, known, total, tiers, model)


def _of(ratios: Sequence[float], covered: Sequence[float]) -> str:
    return (
        f"{np.median(ratios):.2f} / {max(ratios):.2f} | "
        f"{100 * min(covered):.0f} to {100 * max(covered):.0f}, mean {100 * np.mean(covered):.1f}"
    )


def summary(found: dict[Cell, dict[str, Any]]) -> list[str]:
    """A summary over the populations of each set that get an answer in at least half of the runs."""
    lines = [
        "| bounds known | total | model | set | error over the best clip's: median / largest | 95 % intervals hold, % "
        "| not answered |\n|" + "---|" * 7
    ]
    for known, totals in TOTALS.items():
        for total, model, (title, names) in product(totals, MODELS, SETS.items()):
            group = {
                cell: result
                for cell, result in found.items()
                if (cell.known, cell.total, cell.model) == (known, total, model) and cell.population in names
            }
            seen = [result for result in group.values() if result["answered"] >= 0.5]
            if not seen:
                continue
            stats = _of([each["ratio"] for each in seen], [each["coverage"][1] for each in seen])
            rest = sorted({cell.population for cell, result in group.items() if result["answered"] < 0.5})
            lines.append(f"| {known} | {total:,} | {model} | {title} | {stats} | {', '.join(rest) or '-'} |")
    return lines


def table(found: dict[Cell, dict[str, Any]]) -> list[str]:
    """The table of all cells."""
    lines = [
        "| bounds | total | model | budgets | population | error over the best clip's | 80 / 95 / 99 % | worst, std "
        "| answered | contradicted |\n|" + "---|" * 10
    ]
    for cell, result in found.items():
        held = " / ".join(f"{100 * part:.0f}" for part in result["coverage"])
        lines.append(
            f"| {cell.description} | {result['ratio']:.2f} | {held} | {result['worst']:.2g} "
            f"| {100 * result['answered']:.0f} % | {100 * result['contradicted']:.0f} % |"
        )
    return lines


def _run(job: tuple[Cell, int]) -> dict[str, Any]:
    cell, runs = job
    return cell.run(runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help=f"per cell; intervals of {LEVELS} are counted")
    parser.add_argument("--quick", action="store_true", help="equal budgets, totals up to 5,000")
    parser.add_argument("--only", default="", help="cells whose description contains all these words, comma-separated")
    parser.add_argument("--write", action="store_true", help="keep the tables in benchmarks/results")
    options = parser.parse_args()
    words = [word for word in options.only.split(",") if word]
    wanted = [cell for cell in cells(options.quick) if all(word in cell.description for word in words)]
    start = time.perf_counter()
    with ProcessPoolExecutor() as pool:
        found = dict(zip(wanted, pool.map(_run, [(cell, options.runs) for cell in wanted]), strict=True))
    lines = [*summary(found), "", f"{options.runs} runs per cell, made by benchmarks/shapes.py.", "", *table(found)]
    print("\n".join(lines))
    print(f"\n{time.perf_counter() - start:.0f} s")
    if options.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
