"""A first look: the mean of people who chose their own privacy, on data made up here."""

from __future__ import annotations

import numpy as np

import pdpmean

PEOPLE, TRUE_MEAN, STD = 20_000, 52.0, 9.0
TIERS = {"strict": 0.1, "standard": 0.5, "open": 1.0}
PARTS = [0.54, 0.37, 0.09]


def main() -> None:
    """Make a population, plan, estimate in both models, and compare with the paper's algorithms."""
    rng = np.random.default_rng(2024)
    hours = rng.normal(TRUE_MEAN, STD, PEOPLE)
    tier = rng.choice(list(TIERS), size=PEOPLE, p=PARTS)
    budgets = np.array([TIERS[name] for name in tier])
    print(f"{PEOPLE:,} people; budgets: " + ", ".join(f"{name} {budget:g}" for name, budget in TIERS.items()))
    print(f"true mean {TRUE_MEAN:g}, standard deviation {STD:g}: the estimators are told neither\n")

    plan = pdpmean.plan_mean(budgets)
    print("Plan, before any value is read:")
    print("  " + str(plan).replace("\n", "\n  ") + "\n")

    print("Estimate, bounded model:")
    estimate = pdpmean.estimate_mean(hours, tier, tiers=TIERS)
    print("  " + str(estimate).replace("\n", "\n  ") + "\n")

    unbounded = pdpmean.estimate_mean(hours, budgets, model="unbounded", budget_range=(0.1, 1.0))
    answers = {
        "this library, bounded": estimate.mean,
        "this library, unbounded": unbounded.mean,
        "the paper, bounded": pdpmean.paper.mean_bounded(hours, budgets),
        "the paper, unbounded": pdpmean.paper.mean_unbounded(hours, budgets, budget_range=(0.1, 1.0)),
    }
    print(f"{'':<26}{'answer':>10}{'error':>10}")
    for name, answer in answers.items():
        print(f"{name:<26}{answer:>10.3f}{answer - TRUE_MEAN:>+10.3f}")
    print("\nEvery run differs: the noise is real.")


if __name__ == "__main__":
    main()
