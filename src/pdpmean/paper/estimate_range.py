"""Algorithm 6, PDPEstimateRange: an interval that contains nearly all values, private at everyone's own budget."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from pdpmean.core.checks import check_probability
from pdpmean.paper.diffusion import diffuse, diffusion_rates
from pdpmean.paper.discretize import LARGEST_POWER, SMALLEST_POWER, discretize
from pdpmean.paper.estimate_radius import estimate_radius
from pdpmean.paper.find_quantile import find_quantile
from pdpmean.randomness import Randomness
from pdpmean.sources.private_columns import public_records

__all__ = ["estimate_range"]

_FINER = 8  # how many times as fine as the printed grid the median's grid is


def estimate_range(
    values: ArrayLike,
    budgets: ArrayLike,
    *,
    beta: float = 0.05,
    powers: tuple[int, int] = (SMALLEST_POWER + 4, LARGEST_POWER),
    randomness: Randomness | None = None,
) -> tuple[float, float] | None:
    """An interval around a private median that contains nearly all values; None if nobody grants any budget.

    Algorithm 6 (Lemma 17): diffuse, such that the kept records may be used at tau. Then spend a quarter of tau each on
    the grid (Algorithm 4), a coarse radius (5), the median (2) and the radius around it (5). The grid for the median is
    eight times as fine as the printed one, which would shift the median (docs/errata.md, 24). Spreads and radii are
    powers of two from ``2**powers[0]`` to ``2**powers[1]``.
    """
    check_probability("beta", beta)
    randomness = randomness or Randomness.secure()
    numbers, granted = public_records(values, budgets)
    diffusion = diffusion_rates(granted)
    if diffusion.tau == 0:
        return None
    kept = numbers[diffuse(diffusion.rates, randomness=randomness)]
    share = diffusion.tau / 4
    miss = beta / 4

    grid = discretize(kept, budget=share, powers=powers, randomness=randomness)
    spacing = grid.spacing
    highest = powers[1]
    reach = estimate_radius(
        grid.values, budget=share, spacing=spacing, beta=miss, largest_power=highest, randomness=randomness
    )
    median = find_quantile(kept, budget=share, spacing=spacing / _FINER, radius=reach, randomness=randomness)
    with np.errstate(all="ignore"):
        centred = kept - median
    radius = estimate_radius(
        centred, budget=share, spacing=spacing, beta=miss, largest_power=highest, randomness=randomness
    )
    # Never empty: the ends are at least the doubles next to the median. Never infinite either.
    largest = float(np.finfo(np.float64).max)
    lower = min(median - radius, math.nextafter(median, -math.inf))
    upper = max(median + radius, math.nextafter(median, math.inf))
    return max(lower, -largest), min(upper, largest)
