"""Algorithm 5, EstimateRadius: a radius around zero that holds nearly all values."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from pdpmean.core.checks import check_budget, check_probability
from pdpmean.paper.discretize import LARGEST_POWER, check_grid, count_within_powers
from pdpmean.paper.sparse_vector import sparse_vector
from pdpmean.randomness import Randomness
from pdpmean.sources.private_columns import private_numbers

__all__ = ["estimate_radius"]


def estimate_radius(
    values: ArrayLike,
    *,
    budget: float,
    spacing: float,
    beta: float,
    largest_power: int = LARGEST_POWER,
    randomness: Randomness | None = None,
) -> float:
    """The first radius of ``spacing * (1, 2, 4, ...)`` outside which few values lie.

    Algorithm 5; few is some ``(6 / budget) ln(2 / beta)``. It returns the radius that passed the test, where the
    printed form returns half of it (docs/errata.md, 6). The number of values is private after diffusion, so it
    stands in the query, ``Count(values, radius) - |values|``, which one value changes by at most 1. Missing
    values take no part.
    """
    check_budget(budget)
    check_probability("beta", beta)
    check_grid(spacing, 2.0**largest_power)
    numbers = np.abs(private_numbers(values))
    numbers = numbers[~np.isnan(numbers)]
    power = math.frexp(spacing)[1] - 1
    # Minus the number of values outside each radius. The half lets a count of none pass when there is no noise.
    outside = count_within_powers(numbers, power, largest_power) - numbers.size
    passed = sparse_vector(
        outside.tolist(),
        threshold=-6 / budget * math.log(2 / beta) - 0.5,
        budget=budget,
        randomness=randomness,
    )
    return math.ldexp(spacing, passed)
