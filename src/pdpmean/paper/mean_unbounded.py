"""Algorithm 8, PDPMeanEstimationUnknownPrivacy: the mean if the number of records and the budgets are private, too."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.core.checks import check_budget_range, check_probability
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.paper.mean_bounded import mean_bounded
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.sources.private_columns import private_records

__all__ = ["bucket_counts", "bucket_ends", "bucket_of", "mean_unbounded", "sample_or_pad"]

# The smallest lower end of a budget range. A noisy count, and so the padding of a bucket, may exceed the true size by
# about 2 / eps_min records; with this limit the padding fits into memory.
_SMALLEST_LOW_END = 2.0**-20


@quietly
def mean_unbounded(
    values: ArrayLike,
    budgets: ArrayLike,
    *,
    budget_range: tuple[float, float],
    beta: float = 0.05,
    divisor: Literal[2, 4] = 2,
    randomness: Randomness | None = None,
) -> float:
    """The paper's estimate of a Gaussian mean, private in the unbounded model (Definition 4).

    Algorithm 8 (Theorem 13): half of every budget is spent on a noisy count of the people in each bucket of budgets,
    ``[eps_min 2**j, eps_min 2**(j+1))``. A random subset of that size is drawn from each bucket and passed to
    Algorithm 7, with the bucket's left end divided by `divisor` as everyone's budget. A divisor of 2 suffices; 4 is the
    printed, more cautious form (docs/errata.md, 11). `budget_range` is public: a record with a budget below it is left
    out, and a budget above it counts as its upper end. NaN if the noisy counts leave nobody.
    """
    check_probability("beta", beta)
    lefts = bucket_ends(budget_range)
    if divisor not in (2, 4):
        raise InvalidInputError(f"divisor must be 2 or 4; got {divisor!r}", name="divisor", value=divisor)
    randomness = randomness or Randomness.secure()
    numbers, private_budgets = private_records(values, budgets)
    bucket = bucket_of(private_budgets, lefts)
    members = [numbers[bucket == index] for index in range(lefts.size)]
    counts = bucket_counts([part.size for part in members], lefts, beta=beta, randomness=randomness)
    shrunk = [sample_or_pad(part, count, randomness=randomness) for part, count in zip(members, counts, strict=True)]
    return mean_bounded(
        np.concatenate(shrunk), np.repeat(lefts, counts) / divisor, beta=beta / 2, randomness=randomness
    )


def bucket_ends(budget_range: tuple[float, float]) -> Floats:
    """The left ends ``eps_min 2**j`` of the buckets, up to eps_max.

    There are ``floor(log2(eps_max / eps_min)) + 1`` of them (docs/errata.md, 10).
    """
    low, high = check_budget_range(budget_range)
    if low < _SMALLEST_LOW_END:
        raise InvalidInputError(
            f"budget_range must start at 2**-20 or above; got {low!r}. Records below it are left out",
            name="budget_range",
            value=budget_range,
        )
    doublings = math.frexp(high)[1] - math.frexp(low)[1]
    lefts = np.ldexp(low, np.arange(doublings + 1))
    return lefts[lefts <= high]


def bucket_of(budgets: Floats, lefts: Floats) -> NDArray[np.intp]:
    """The bucket of each budget; -1 if it is below the range or no number, so that its record is left out."""
    usable = np.where(np.isnan(budgets), -math.inf, budgets)
    return np.searchsorted(lefts, usable, side="right") - 1


def bucket_counts(sizes: list[int], lefts: Floats, *, beta: float, randomness: Randomness) -> list[int]:
    """Noisy sizes of the buckets, none negative. With probability 1 - beta / 2, none exceeds the true size.

    Noise of scale ``2 / left end`` costs a record at most half of its budget. The printed scale is half of that, and
    would cost the whole budget (docs/errata.md, 3).
    """
    counts = []
    for size, left in zip(sizes, lefts.tolist(), strict=True):
        scale = laplace_scale(2, left)
        offset = math.ceil(scale * math.log(2 * len(sizes) / beta))
        counts.append(max(0, randomness.add_laplace(size, scale) - offset))
    return counts


def sample_or_pad(values: Floats, size: int, *, randomness: Randomness) -> Floats:
    """WORSample: `size` of the values, drawn without replacement, padded with missing values if there are fewer.

    The printed form pads with 0, which would enter the mean as data (docs/errata.md, 13).
    """
    drawn = values[randomness.permutation(values.size)[:size]]
    return np.concatenate([drawn, np.full(size - drawn.size, math.nan)])
