"""Known bounds: the error of the mean and the coverage of its intervals: ``python benchmarks/bounds.py --write``.

Errors are compared with those of a direct sum, which is told that no value is missing and spends every budget on the
sum. Where the total weight is private, it releases the sums of both halves. Coverage is that of the population mean.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.random import Generator
from profiles import TIER_FRACTIONS, TIERS

from pdpmean import InsufficientBudgetError, Randomness, estimate_mean, plan_mean
from pdpmean.core.model import ModelName
from pdpmean.core.types import Floats
from pdpmean.laws.error_law import half_width
from pdpmean.results.mean_estimate import LEVELS

RESULTS = Path(__file__).parent / "results" / "bounds.md"
TOTALS = (20, 100, 1_000, 10_000)

Draw = Callable[[Generator, int], Floats]


@dataclass(frozen=True)
class Population:
    """Values between public bounds, some of them missing."""

    bounds: tuple[float, float]
    draw: Draw
    missing: float = 0.0

    def values(self, rng: Generator, people: int) -> Floats:
        """The values of `people` people."""
        values = self.draw(rng, people)
        return np.where(rng.random(people) < self.missing, np.nan, values)


def yes(part: float) -> Draw:
    return lambda rng, people: (rng.random(people) < part).astype(np.float64)


def ratings(rng: Generator, people: int) -> Floats:
    return rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], people, p=[0.1, 0.1, 0.2, 0.35, 0.25])


POPULATIONS = {
    "yes 2 %": Population((0, 1), yes(0.02)),
    "yes 30 %": Population((0, 1), yes(0.3)),
    "yes 50 %": Population((0, 1), yes(0.5)),
    "ratings": Population((1, 5), ratings),
    "ratings, 5 % missing": Population((1, 5), ratings, 0.05),
    "ratings, 30 % missing": Population((1, 5), ratings, 0.3),
    "evenly in the bounds": Population((0, 10), lambda rng, people: rng.uniform(0, 10, people)),
    "beta(2, 5)": Population((0, 1), lambda rng, people: rng.beta(2, 5, people)),
    "ages in (0, 120)": Population((0, 120), lambda rng, people: np.clip(18 + rng.gamma(2.2, 12, people), 18, 95)),
    "all equal": Population((0, 1), lambda _, people: np.full(people, 0.25)),
}


@dataclass(frozen=True)
class Cell:
    """One case to run: a population, a total budget, how it is distributed over people, and a model."""

    population: str
    total: int
    tiers: bool
    model: ModelName

    def run(self, runs: int) -> list[object]:
        """A row of the table."""
        warnings.simplefilter("ignore")
        population = POPULATIONS[self.population]
        truth = population.draw(np.random.default_rng(0), 1_000_000)
        outcomes = [self._estimate(population, seed) for seed in range(runs)]
        answers = [outcome for outcome in outcomes if outcome]
        mean = float(truth.mean())
        error = float(np.quantile([abs(estimate - mean) for estimate, _ in answers], 0.75))
        ratio = error / self._direct(population, float(truth.std()))
        intervals_by_level = zip(*(intervals for _, intervals in answers), strict=True)
        coverages = [np.mean([low <= mean <= high for low, high in intervals]) for intervals in intervals_by_level]
        granted = "tiers" if self.tiers else "all 0.1"
        return [
            self.model,
            granted,
            self.total,
            self.population,
            ratio,
            *(100 * coverage for coverage in coverages),
        ]

    def budgets(self, rng: Generator) -> Floats:
        """The budget of each person."""
        if not self.tiers:
            return np.full(round(self.total / 0.1), 0.1)
        people = round(self.total / np.dot(TIERS, TIER_FRACTIONS))
        return np.array(rng.choice(TIERS, people, p=TIER_FRACTIONS), dtype=np.float64)

    def _estimate(self, population: Population, seed: int) -> tuple[float, list[tuple[float, float]]] | None:
        """The mean and its intervals; None if there is no answer, as the budgets drawn are not enough."""
        rng = np.random.default_rng(seed)
        budgets = self.budgets(rng)
        public = (TIERS[0], TIERS[-1]) if self.model == "unbounded" else None
        try:
            estimate = estimate_mean(
                population.values(rng, budgets.size),
                budgets,
                bounds=population.bounds,
                model=self.model,
                budget_range=public,
                randomness=Randomness.seeded(seed),
            )
        except InsufficientBudgetError:
            return None
        if estimate.contradicted:
            return None
        return estimate.mean, [estimate.interval(level) for level in LEVELS]

    def _direct(self, population: Population, deviation: float) -> float:
        """The error that a direct sum exceeds in one run out of four, with the weights of the bounded model's plan."""
        plan = plan_mean(self.budgets(np.random.default_rng(1)), bounds=population.bounds)
        half = (population.bounds[1] - population.bounds[0]) / 2
        # In the bounded model, replacing a value removes one record and adds another, so weights are half as large.
        weight = plan.mean.weight * (1 if self.model == "bounded" else 2)
        noise = half / weight * (1 if self.model == "bounded" else math.sqrt(2))
        return half_width(0.75, noise, deviation * math.sqrt(plan.mean.square) / plan.mean.weight)


def table(rows: list[list[object]]) -> str:
    head = [
        "model",
        "budgets",
        "total",
        "population",
        "error over the direct sum's",
        *(f"{100 * x:g} %" for x in LEVELS),
    ]
    lines = [head, ["---"] * len(head)]
    lines += [[f"{entry:.4g}" if isinstance(entry, float) else str(entry) for entry in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def summary(rows: list[list[object]]) -> str:
    """The main findings over all cells."""
    ratios, held = np.array([[row[4], row[6]] for row in rows], dtype=float).T
    return (
        f"Error over the direct sum's: median {np.median(ratios):.2f}, largest {ratios.max():.2f}. "
        f"95 % intervals hold {np.mean(held):.1f} % of all runs, {held.min():.1f} to {held.max():.1f} % per cell.\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name} as well")
    options = parser.parse_args()
    models: tuple[ModelName, ...] = ("bounded", "unbounded")
    cells = [
        Cell(name, total, tiers, model)
        for model, tiers, total, name in product(models, (False, True), TOTALS, POPULATIONS)
    ]
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(Cell.run, cells, [options.runs] * len(cells)))
    text = f"{summary(rows)}\nMade by benchmarks/bounds.py, {options.runs} runs per cell.\n\n{table(rows)}\n"
    print(text)
    if options.write:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
