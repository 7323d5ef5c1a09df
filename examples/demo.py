"""A first look: the mean of people who chose their own privacy, in both models, on data made up here."""

from __future__ import annotations

import numpy as np

import pdpmean
from pdpmean import paper

N, TRUE_MEAN, STD = 200_000, 52.0, 9.0
TIERS = {"strict": 0.1, "standard": 0.5, "open": 1.0}
PARTS = [0.54, 0.37, 0.09]


def main() -> None:
    """Make a population, estimate its mean twice, and set the errors against the best possible one."""
    rng = np.random.default_rng(2024)
    hours = rng.normal(TRUE_MEAN, STD, N)
    budgets = rng.choice(list(TIERS.values()), size=N, p=PARTS)
    print(f"{N:,} people, budgets " + ", ".join(f"{name} {budget:g}" for name, budget in TIERS.items()))
    print(f"true mean {TRUE_MEAN:g}, standard deviation {STD:g}; the estimators are told neither\n")
    print(f"{'model':<11}{'estimate':>10}{'error':>9}{'  no private estimator beats':>30}")
    answers = {
        "bounded": paper.mean_bounded(hours, budgets),
        "unbounded": paper.mean_unbounded(hours, budgets, budget_range=(0.1, 1.0)),
    }
    for model, answer in answers.items():
        floor = pdpmean.lower_bound(budgets, STD, model=model)
        print(f"{model:<11}{answer:>10.3f}{answer - TRUE_MEAN:>+9.3f}{floor:>30.3f}")
    print("\nEvery run differs: the noise is real. In the last column, the error that every private estimator")
    print("exceeds at least one time in four.")


if __name__ == "__main__":
    main()
