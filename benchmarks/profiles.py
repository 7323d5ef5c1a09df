"""Profiles: the distributions of budgets that the benchmarks use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Profile = Callable[[int, np.random.Generator], Floats]

TIERS = (0.1, 0.5, 1.0)
"""The budgets of three tiers, as in most benchmarks."""
TIER_FRACTIONS = (0.54, 0.37, 0.09)
"""The fraction of people in each tier."""


def constant(budget: float) -> Profile:
    return lambda n, _: np.full(n, budget)


def tiers(levels: dict[float, float]) -> Profile:
    """Each budget is granted by the given fraction of people, in random order."""
    return lambda n, rng: rng.choice(list(levels), size=n, p=list(levels.values()))


def uniform(low: float, high: float) -> Profile:
    return lambda n, rng: rng.uniform(low, high, n)


def log_uniform(low: float, high: float) -> Profile:
    return lambda n, rng: np.exp(rng.uniform(np.log(low), np.log(high), n))


def pareto(least: float, shape: float, most: float) -> Profile:
    """A Pareto distribution, capped at `most`: a few people grant far more than the others."""
    return lambda n, rng: np.minimum(least * (1 + rng.pareto(shape, n)), most)


def mixed(levels: dict[float, float]) -> Profile:
    """Each budget is granted by exactly the given fraction of people, up to rounding; the last one by all the rest."""

    def draw(n: int, rng: np.random.Generator) -> Floats:
        counts = [round(n * part) for part in levels.values()][:-1]
        return rng.permutation(np.repeat(list(levels), [*counts, n - sum(counts)]))

    return draw


PROFILES: dict[str, Profile] = {
    "all 0.1": constant(0.1),
    "tiers 0.1/0.5/1": tiers(dict(zip(TIERS, TIER_FRACTIONS, strict=True))),
    "uniform [0.01, 1]": uniform(0.01, 1.0),
    "log-uniform [0.01, 1]": log_uniform(0.01, 1.0),
    "all 0.01": constant(0.01),
}
"""The profiles of the main table, by name."""

MORE_PROFILES: dict[str, Profile] = {
    "all 1": constant(1.0),
    "1 % at 5, 99 % at 0.02": mixed({5.0: 0.01, 0.02: 0.99}),
    "Pareto from 0.02": pareto(0.02, 1.2, 10.0),
    "2 % public, 98 % at 0.1": mixed({np.inf: 0.02, 0.1: 0.98}),
    "70 % zeros, 0.2 and 1": mixed({0.0: 0.7, 0.2: 0.15, 1.0: 0.15}),
}
"""Harder profiles, by name: a few generous people, people whose value is public, or many who take no part."""
