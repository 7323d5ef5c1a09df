"""Skewed salaries, privacy tiers by name, one mean a department: on data made up here."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pdpmean

TIERS = {"strict": 0.1, "standard": 0.5, "open": 1.0}
# Part of the staff, and mean and standard deviation of the logarithm of a salary: many earn a little, few a lot.
DEPARTMENTS = {
    "care": (0.55, 10.5, 0.35),
    "sales": (0.3, 10.7, 0.6),
    "research": (0.148, 11.1, 0.4),
    "legal": (0.002, 11.4, 0.5),
}


def main() -> None:
    """Make a staff, estimate each department's mean and median salary, and compare with the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=200_000)
    salaries, tiers, departments = staff(parser.parse_args().people)

    # Salaries are skewed, so shape="any". A department too small to answer for is refused, the others are not.
    means = pdpmean.estimate_mean(
        salaries, tiers, tiers=TIERS, by=departments, groups=DEPARTMENTS, shape="any", share=0.5
    )
    print(f"Mean salary\n\n{means}\n")

    # These salaries have symmetric logarithms, so the exponential of the mean logarithm is the median salary.
    # Each of the two releases uses half of every budget, so that both together overdraw nobody's.
    logs = pdpmean.estimate_mean(np.log(salaries), tiers, tiers=TIERS, by=departments, groups=DEPARTMENTS, share=0.5)

    print(f"{'department':<12}{'mean':>10}{'truth':>10}{'median':>12}{'truth':>10}")
    for department, (_, center, width) in DEPARTMENTS.items():
        if department in means.refused:
            continue
        mean, median = means[department].mean, np.exp(logs[department].mean)
        print(f"{department:<12}{mean:>10,.0f}{np.exp(center + width**2 / 2):>10,.0f}", end="")
        print(f"{median:>12,.0f}{np.exp(center):>10,.0f}")


def staff(people: int) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any]]:
    """Salaries, tiers and departments, one entry a person."""
    rng = np.random.default_rng(2024)
    parts, centers, widths = (np.array(column) for column in zip(*DEPARTMENTS.values(), strict=True))
    where = rng.choice(len(DEPARTMENTS), size=people, p=parts)
    salaries = rng.lognormal(centers[where], widths[where]).round(2)
    return salaries, rng.choice(list(TIERS), size=people, p=[0.54, 0.37, 0.09]), np.array(list(DEPARTMENTS))[where]


if __name__ == "__main__":
    main()
