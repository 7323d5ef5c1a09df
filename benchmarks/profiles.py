"""Budget profiles that the benchmarks share: how a population of n people might grant privacy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Profile = Callable[[int, np.random.Generator], Floats]


def constant(budget: float) -> Profile:
    return lambda n, _: np.full(n, budget)


def tiers(levels: dict[float, float]) -> Profile:
    """Each budget held by the given part of the people, in a random order."""
    return lambda n, rng: rng.choice(list(levels), size=n, p=list(levels.values()))


def uniform(low: float, high: float) -> Profile:
    return lambda n, rng: rng.uniform(low, high, n)


def log_uniform(low: float, high: float) -> Profile:
    return lambda n, rng: np.exp(rng.uniform(np.log(low), np.log(high), n))


PROFILES: dict[str, Profile] = {
    "all 0.1": constant(0.1),
    "tiers 0.1/0.5/1": tiers({0.1: 0.54, 0.5: 0.37, 1.0: 0.09}),
    "uniform [0.01, 1]": uniform(0.01, 1.0),
    "log-uniform [0.01, 1]": log_uniform(0.01, 1.0),
    "all 0.01": constant(0.01),
}
"""Name -> profile: the ones of the design's table."""
