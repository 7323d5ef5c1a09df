"""Speed: the time of an estimate, over that of the same mean without privacy. Medians of ratios within a run.

    python benchmarks/speed.py [--rows 1e8] [--repeats 5] [--write]

`np.average(values, weights=budgets)` and `estimate_mean` in both models take turns on the same arrays. Peak memory is
what the process grew by over the arrays.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
from timing import seconds

import pdpmean

RESULTS = Path(__file__).parent / "results" / "speed.md"


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(rows: int, repeats: int) -> str:
    rng = np.random.default_rng(1)
    values, budgets = rng.normal(10.0, 2.0, rows), rng.uniform(0.01, 1.0, rows)
    tasks: dict[str, Callable[[], object]] = {
        "np.average": lambda: np.average(values, weights=budgets),
        "bounded": lambda: pdpmean.estimate_mean(values, budgets),
        "unbounded": lambda: pdpmean.estimate_mean(values, budgets, model="unbounded", budget_range=(0.01, 1.0)),
    }
    for name in ("bounded", "unbounded"):
        tasks[name]()  # so that compiling, or loading compiled code, is not measured
    before = peak_megabytes()
    times = np.array([[seconds(task) for task in list(tasks.values())[1:]] for _ in range(repeats)])
    grown = peak_megabytes() - before
    plain = np.array([seconds(tasks["np.average"]) for _ in range(repeats)])
    ratios = np.median(times / plain[:, None], axis=0)
    per_row = np.median(np.column_stack([plain, times]), axis=0) / rows * 1e9
    cells = [f"{rows:.0e}", *(f"{value:.2f}" for value in [*per_row, *ratios]), f"{grown:.0f}"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 1e7, 1e8])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true", help=f"keep the table in {RESULTS.name}")
    options = parser.parse_args()
    lines = [
        "| rows | np.average, ns per row | bounded | unbounded | bounded, ratio | unbounded, ratio | more memory, MB |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for rows in options.rows:
        lines.append(measure(int(rows), options.repeats))
        print(lines[-1], flush=True)
    if options.write:
        RESULTS.write_text("In memory, doubles; made by benchmarks/speed.py.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
