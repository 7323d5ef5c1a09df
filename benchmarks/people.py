"""People: the error of the mean of the people in a table, against a library with one epsilon for everybody.

    python benchmarks/people.py [--runs 400] [--write]

Values have known bounds. With one epsilon for all it must be that of the strictest person, 0.1: a sum of values between
the bounds, with Laplace noise, over the public number of people. Here everybody has a tier: 0.1, 0.5 or 1 for 54, 37
and 9 % of the people, drawn anew in every run. `--write` keeps the table in benchmarks/results/people.md. The columns
come with packages: pip install 'pdpmean[benchmarks]'.
"""

from __future__ import annotations

import argparse
import math
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from columns import flights, marriages, pydataset
from profiles import TIER_FRACTIONS, TIERS

from pdpmean import Randomness, estimate_mean
from pdpmean.core.types import Floats

RESULTS = Path(__file__).parent / "results"
ONE_IN_FOUR = 0.75


def late_flights() -> Any:
    """Whether a flight was more than a quarter of an hour late."""
    return flights("arr_delay")().dropna() > 15


def affairs() -> Any:
    """Whether there was any affair."""
    return marriages("affairs")() > 0


COLUMNS: dict[str, tuple[Any, tuple[float, float]]] = {
    "late or not": (late_flights, (0, 1)),
    "prices": (pydataset("diamonds", "price"), (0, 20_000)),
    "ratings of films": (pydataset("movies", "rating"), (1, 10)),
    "hours per week": (pydataset("HI", "whrswk"), (0, 168)),
    "doctor visits": (pydataset("DoctorContacts", "mdu"), (0, 100)),
    "ages": (pydataset("SLID", "age"), (0, 120)),
    "affairs or not": (affairs, (0, 1)),
}


def row(name: str, runs: int) -> str:
    """The row of one column: errors in thousandths of a standard deviation of its values, and the coverage."""
    load, bounds = COLUMNS[name]
    values: Floats = np.asarray(load().dropna(), dtype=np.float64)
    truth, unit = float(values.mean()), float(values.std()) / 1000
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    errors, covered = [], []
    for seed in rng.integers(0, 2**31, runs).tolist():
        budgets = rng.choice(TIERS, values.size, p=TIER_FRACTIONS)
        found = estimate_mean(
            values, budgets, bounds=bounds, target="people", missing="none", randomness=Randomness.seeded(seed)
        )
        low, high = found.interval()
        errors.append(abs(found.mean - truth) / unit)
        covered.append(low <= truth <= high)
    noise = (bounds[1] - bounds[0]) / (TIERS[0] * values.size)
    others = noise * math.log(1 / (1 - ONE_IN_FOUR)) / unit
    ours = float(np.quantile(errors, ONE_IN_FOUR))
    return (
        f"| {name}, {values.size:,} | {bounds} | {others:.3g} | {ours:.3g} | {ours / others:.2f} | "
        f"{100 * np.mean(covered):.1f} % |"
    )


def main() -> None:
    """Run all columns, and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "# The mean of the people in the table",
        "",
        f"{options.runs} runs per row. Errors that one run in four exceeds, in thousandths of a standard deviation;",
        "*others*: everybody at the lowest budget, 0.1, with the same bounds.",
        "",
        "| column, people | bounds | others | ours | ours over others | 95 % intervals hold |",
        "|---|---|---|---|---|---|",
    ]
    for name in COLUMNS:
        lines.append(row(name, options.runs))
        print(lines[-1], flush=True)
    if options.write:
        (RESULTS / "people.md").write_text("\n".join([*lines, "", "Made by `benchmarks/people.py`.", ""]))


if __name__ == "__main__":
    main()
