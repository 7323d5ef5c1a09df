"""Algorithm 5, EstimateRadius: a radius around zero within which nearly all values lie."""

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
    """The first radius of ``spacing * (1, 2, 4, ...)`` outside which only few values lie.

    Algorithm 5, where "few" is about ``(6 / budget) ln(2 / beta)``. It returns the radius that passed the test; the
    printed form returns half of it (docs/errata.md, 6). The number of values is private after diffusion, so it is part
    of the query, ``Count(values, radius) - |values|``, which one value changes by at most 1. Missing values are left
    out.
    """
    check_budget(budget)
    check_probability("beta", beta)
    check_grid(spacing, 2.0**largest_power)
    numbers = np.abs(private_numbers(values))
    numbers = numbers[~np.isnan(numbers)]
    power = math.frexp(spacing)[1] - 1
    # Minus the number of values outside each radius. Lowering the threshold by 0.5 lets a count of 0 pass without
    # noise.
    outside = count_within_powers(numbers, power, largest_power) - numbers.size
    passed = sparse_vector(
        outside.tolist(),
        threshold=-6 / budget * math.log(2 / beta) - 0.5,
        budget=budget,
        randomness=randomness,
    )
    return math.ldexp(spacing, passed)
