"""Shape warnings: how often an estimate warns of the shape of the population or gives no answer, rightly or wrongly.

    python benchmarks/shape_warnings.py [--runs 400] [--write]

Values of standard deviation 1 about: bell-shaped ones, the same rounded to steps, at a mean anywhere between two of
them, with half of them missing or no number at all, and skewed ones. The bell-shaped ones, which are warned of rarely,
run five times as often. `--write` keeps the table in benchmarks/results/shape_warnings.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from profiles import TIER_FRACTIONS, TIERS
from tables import print_and_keep

from pdpmean import InsufficientBudgetError, MeanEstimate, PopulationWarning, Randomness, estimate_mean
from pdpmean.core.model import ModelName

Floats = NDArray[np.float64]
Draw = Callable[[Generator, int], Floats]

RESULTS = Path(__file__).parent / "results/shape_warnings.md"
TOTALS = (300, 1_000, 5_000, 50_000)
BELL = "bell-shaped"


def bell(source: Generator, people: int) -> Floats:
    return source.normal(10, 1, people)


def rounded(step: float) -> Draw:
    return lambda source, people: np.round(source.normal(10 + step * source.random(), 1, people) / step) * step


def missing(part: float) -> Draw:
    return lambda source, people: np.where(source.random(people) < part, np.nan, bell(source, people))


def skewed(parameter: float) -> Draw:
    return lambda source, people: source.lognormal(0, parameter, people)


POPULATIONS: dict[str, Draw] = {
    BELL: bell,
    **{f"rounded to 1/{parts}": rounded(1 / parts) for parts in (6, 4, 3, 2)},
    "half missing": missing(0.5),
    "no numbers": missing(1.0),
    **{f"log-normal {parameter}": skewed(parameter) for parameter in (0.4, 0.8)},
}


def percentages(draw: Draw, total: int, model: ModelName, runs: int) -> tuple[float, float]:
    """The percentage of runs with a warning or no answer, and of runs with no answer."""
    found = [estimate for seed in range(runs) if (estimate := run(draw, total, model, seed))]
    without_answer = sum(estimate.contradicted for estimate in found)
    warned = sum(bool(estimate.warnings) and not estimate.contradicted for estimate in found)
    return 100 * (warned + without_answer) / runs, 100 * without_answer / runs


def run(draw: Draw, total: int, model: ModelName, seed: int) -> MeanEstimate | None:
    source = np.random.default_rng(seed)
    people = round(total / np.dot(TIERS, TIER_FRACTIONS))
    budgets = source.choice(TIERS, size=people, p=TIER_FRACTIONS)
    public = (TIERS[0], TIERS[-1]) if model == "unbounded" else None
    try:
        return estimate_mean(
            draw(source, people),
            budgets,
            shape="gaussian",
            model=model,
            budget_range=public,
            randomness=Randomness.seeded(seed),
        )
    except InsufficientBudgetError:
        return None


def table(runs: int) -> Iterator[str]:
    yield f"Percent of {runs} runs ({5 * runs} for {BELL}) with a warning or no answer; in brackets, with no answer.\n"
    yield "| values | model | " + " | ".join(f"total {total:,}" for total in TOTALS) + " |"
    yield "|---" * (2 + len(TOTALS)) + "|"
    for name, draw in POPULATIONS.items():
        for model in ("bounded", "unbounded"):
            found = [percentages(draw, total, model, 5 * runs if name == BELL else runs) for total in TOTALS]
            yield f"| {name} | {model} | " + " | ".join(f"{either:.2f} ({none:.2f})" for either, none in found) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", PopulationWarning)
    print_and_keep(table(options.runs), RESULTS if options.write else None)


if __name__ == "__main__":
    main()
