"""Plans: how much wider the interval of an estimate is than its plan predicts.

    python benchmarks/plans.py [--runs 100] [--write]

A plan predicts the 95 % interval in standard deviations of a bell-shaped population. The interval of an estimate also
allows for tails that the budget cannot show. Budgets are tiers of 0.1, 0.5 and 1 for 54, 37 and 9 % of the people, and
nothing is known of the values. `--write` keeps the table in benchmarks/results/plans.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from profiles import tiers
from shapes import Draw, lognormal, normal

from pdpmean import PopulationWarning, Randomness, estimate_mean, plan_mean
from pdpmean.core.types import Floats

RESULTS = Path(__file__).parent / "results/plans.md"
TIERS = {0.1: 0.54, 0.5: 0.37, 1.0: 0.09}
TOTALS = (500, 2_000, 10_000, 50_000)
MANY = 1_000_000  # values from which the standard deviation of a population is computed

POPULATIONS: dict[str, Draw] = {
    "bell-shaped": normal(38, 6),
    "exponential, like waiting times": lambda rng, n: rng.exponential(10, n),
    "log-normal 0.6, like wages": lognormal(3, 0.6),
    "log-normal 1, like prices": lognormal(3, 1),
}


def ratios(draw: Draw, total: int, runs: int) -> Floats:
    """The width of the interval over the planned width, for each run."""
    std = float(np.std(draw(np.random.default_rng(0), MANY)))
    people = round(total / sum(budget * part for budget, part in TIERS.items()))
    found = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        budgets = tiers(TIERS)(people, rng)
        estimate = estimate_mean(draw(rng, people), budgets, randomness=Randomness.seeded(seed))
        if estimate.contradicted:
            continue
        low, high = estimate.interval()
        found.append((high - low) / (2 * std * plan_mean(budgets).half_width()))
    return np.array(found)


def table(runs: int) -> Iterator[str]:
    yield f"Width of the 95 % interval over the planned width, in {runs} runs: median / 95th percentile.\n"
    yield "| values | " + " | ".join(f"total {total:,}" for total in TOTALS) + " |"
    yield "|---" * (1 + len(TOTALS)) + "|"
    for name, draw in POPULATIONS.items():
        cells = [np.quantile(ratios(draw, total, runs), (0.5, 0.95)) for total in TOTALS]
        yield f"| {name} | " + " | ".join(f"{often:.2f} / {rarely:.2f}" for often, rarely in cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore", PopulationWarning)
    lines = []
    for line in table(given.runs):
        print(line, flush=True)
        lines.append(line)
    if given.write:
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
