"""Paper: the error of the paper's estimators, as the 75 % quantile over the sharper lower bound.

    python benchmarks/paper.py [--quick] [--write]

Normal data with mean 10 and standard deviation 1, fresh for every run; each estimator gets the same data. The last
columns time one run at secure randomness. `--write` keeps the table in benchmarks/results/paper.md.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from profiles import PROFILES, Floats

import pdpmean
from pdpmean import Randomness, paper

MEAN, STD = 10.0, 1.0
BUDGET_RANGE = (0.01, 1.0)
RESULTS = Path(__file__).parent / "results" / "paper.md"


def error_quantiles(profile: str, n: int, runs: int) -> tuple[float, float, float, float]:
    """The error over the lower bound in the bounded and in the unbounded model, then the two lower bounds."""
    rng = np.random.default_rng(n)
    errors = np.empty((runs, 2))
    bounds = np.empty((runs, 2))
    for run in range(runs):
        budgets = PROFILES[profile](n, rng)
        values = rng.normal(MEAN, STD, n)
        randomness = Randomness.seeded(run)
        bounded = paper.mean_bounded(values, budgets, randomness=randomness)
        unbounded = paper.mean_unbounded(values, budgets, budget_range=BUDGET_RANGE, randomness=randomness)
        errors[run] = abs(bounded - MEAN), abs(unbounded - MEAN)
        if run < 3:  # the bound hardly varies between draws of the same profile
            bounds[run] = [pdpmean.lower_bound(budgets, STD, model=model) for model in ("bounded", "unbounded")]
    bound = np.median(bounds[: min(3, runs)], axis=0)
    # NaN, the answer if nobody counts, is an infinite error.
    quantile = np.quantile(np.where(np.isnan(errors), np.inf, errors), 0.75, axis=0, method="higher")
    return float(quantile[0] / bound[0]), float(quantile[1] / bound[1]), float(bound[0]), float(bound[1])


def seconds(profile: str, n: int, repeats: int = 3) -> tuple[float, float]:
    rng = np.random.default_rng(0)
    budgets: Floats = PROFILES[profile](n, rng)
    values = rng.normal(MEAN, STD, n)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        paper.mean_bounded(values, budgets)
        middle = time.perf_counter()
        paper.mean_unbounded(values, budgets, budget_range=BUDGET_RANGE)
        times.append((middle - start, time.perf_counter() - middle))
    bounded, unbounded = np.median(times, axis=0)
    return float(bounded), float(unbounded)


def show(ratio: float, bound: float) -> str:
    """The ratio as text, unless the error is so large that the method has not located the data at all."""
    return "no answer" if not ratio * bound < STD else f"{ratio:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="n up to 1e5, 40 runs per cell")
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    options = parser.parse_args()
    sizes = [1_000, 10_000, 100_000] + ([] if options.quick else [1_000_000])
    lines = [
        "| budgets | n | bounded | unbounded | bounded, s | unbounded, s |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for profile in PROFILES:
        for n in sizes:
            runs = 40 if options.quick or n > 100_000 else 200
            bounded, unbounded, *bounds = error_quantiles(profile, n, runs)
            time_bounded, time_unbounded = seconds(profile, n)
            cells = [
                show(bounded, bounds[0]),
                show(unbounded, bounds[1]),
                f"{time_bounded:.3f}",
                f"{time_unbounded:.3f}",
            ]
            lines.append(f"| {profile} | {n:,} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    if options.write:
        heading = (
            f"75 % quantile of |error| over the lower bound, normal data, mean {MEAN:g}, std {STD:g}; "
            "'no answer': that error is a standard deviation or more. Made by benchmarks/paper.py.\n"
        )
        RESULTS.write_text(heading + "\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
