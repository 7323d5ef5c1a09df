"""Algorithm 7, PDPMeanEstimation: the mean if the number of records and all budgets are public."""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from pdpmean.core.checks import check_probability
from pdpmean.core.quiet import quietly
from pdpmean.paper.adpm import adpm
from pdpmean.paper.estimate_range import estimate_range
from pdpmean.randomness import Randomness
from pdpmean.sources.private_columns import public_records

__all__ = ["mean_bounded"]


@quietly
def mean_bounded(
    values: ArrayLike, budgets: ArrayLike, *, beta: float = 0.05, randomness: Randomness | None = None
) -> float:
    """The paper's estimate of a Gaussian mean, private in the bounded model (Definition 3).

    Algorithm 7 (Theorem 11): half of every budget is spent on finding a range, the other half on averaging the values
    clipped to it. `beta` is the probability with which the error may exceed the theorem's bound. By default the
    randomness is secure. NaN if nobody grants any budget, as in an empty table.
    """
    check_probability("beta", beta)
    randomness = randomness or Randomness.secure()
    numbers, granted = public_records(values, budgets)
    half = granted / 2
    bounds = estimate_range(numbers, half, beta=beta / 6, randomness=randomness)
    if bounds is None:
        return math.nan
    lower, upper = bounds
    return adpm(numbers, half, lower=lower, upper=upper, randomness=randomness)
