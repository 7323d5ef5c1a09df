"""Census: how many people grant which allowance, which is all that a plan is made from.

If budgets are public, the census is exact and costs nothing. If they are private, allowances are added up in a few wide
buckets, and the sums are released with noise (`release/census.py`); a profile that fits the noisy sums stands for the
true one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.checks import check_budgets
from pdpmean.core.model import Model
from pdpmean.core.profile import Profile
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError

__all__ = [
    "CENSUS_PART",
    "Buckets",
    "Census",
    "bucket_edges",
    "bucket_of",
    "census_of_sums",
    "census_of_tiers",
    "expected_census",
]

CENSUS_PART = Fraction(1, 16)  # the part of the share that the noisy census gets, in the unbounded model

_BUCKET_WIDTH = 4.0  # the ratio of the two ends of a bucket

_LEAST_NOISE_SCALES = 1.5  # a bucket whose noisy sum is below this many noise scales is taken for empty


class Buckets(NamedTuple):
    """The sums of the allowances from `lows[j]` to `highs[j]`: all that is known about private ones, with noise."""

    lows: Floats
    highs: Floats
    sums: Floats

    def times(self, factor: float) -> Buckets:
        """The buckets of `factor` times as many people."""
        return self._replace(sums=self.sums * factor)


@dataclass(frozen=True)
class Census:
    """The profile of allowances that a plan is made from, with its cost and its error."""

    profile: Profile
    share: Fraction
    """The share of every budget that the census has cost; 0 if budgets are public."""
    total_noise_std: float
    """The standard deviation of the noise in the total allowance, in nats; 0 if budgets are public."""
    left_out: float = 0.0
    """The number of people who publicly grant nothing."""
    granted: float | None = None
    """The exact sum of all allowances, if budgets are public; the profile alone has them rounded to cells."""
    buckets: Buckets | None = None
    """The noisy sums that the profile was made from, if budgets are private."""

    @property
    def is_noisy(self) -> bool:
        """Whether the census was released with noise, because budgets are private, and so has cost a share."""
        return self.share > 0

    @property
    def noise_of_sums(self) -> float:
        """The noise scale of the mean of one nat, in half widths of the clip, for any shape but a bell.

        If the total is private, it is released as the sum of two sides of the clip, and the mean has the noise of both.
        """
        return math.sqrt(2) if self.is_noisy else 1.0

    @property
    def total(self) -> float:
        """The sum of all allowances, in nats."""
        return self.profile.total if self.granted is None else self.granted

    def largest(self, model: Model) -> float:
        """A public upper bound on all allowances.

        An allowance of the profile may be the middle of a cell, whose upper end is less than a 16th above it.
        """
        return model.largest_allowance if self.is_noisy else float(self.profile.allowances[-1]) * (1 + 2.0**-4)

    def weight_within_buckets(self, share: float, cap: float) -> float:
        """How far the total of the weights ``min(share * allowance, cap)`` may be off in nats, if budgets are private.

        A bucket has a sum but no single budgets. The total is largest if all budgets are at the lower ends of their
        buckets, where the cap cuts least, and smallest if all are at the upper ends.
        """
        if self.buckets is None:
            return 0.0
        per_allowance = np.minimum(share, cap / np.array([self.buckets.lows, self.buckets.highs]))
        most, least = (per_allowance * self.buckets.sums).sum(axis=1).tolist()
        return float(most - least) / 2

    def times(self, factor: float) -> Census:
        """The census of `factor` times as many people."""
        buckets = self.buckets and self.buckets.times(factor)
        left_out = self.left_out * factor
        granted = None if self.granted is None else self.granted * factor
        return replace(self, profile=self.profile.times(factor), left_out=left_out, granted=granted, buckets=buckets)


def census_of_tiers(people: Mapping[float, float], model: Model, share: Fraction) -> Census:
    """The census to expect for the given tiers, ``{budget: people}``, to plan ahead; `share` is what it will cost."""
    counts = np.array(list(people.values()), dtype=np.float64)
    if not ((counts >= 0) & np.isfinite(counts)).all():
        raise InvalidInputError("a tier must have 0 or more people", name="budgets")
    return expected_census(model.allowances(check_budgets(list(people))), counts, model, share)


def expected_census(allowances: Floats, counts: Floats, model: Model, share: Fraction) -> Census:
    """The census to expect, without noise, if `counts[j]` people have the allowance `allowances[j]`."""
    profile = Profile.of(allowances, counts)
    if model.budgets_are_public:
        return Census(profile, Fraction(0), 0.0, left_out=float(counts[allowances == 0].sum()))
    edges = bucket_edges(model.public_range)
    granted = profile.counts * profile.allowances
    sums = np.bincount(bucket_of(profile.allowances, edges), granted, edges.size - 1).astype(np.float64)
    return Census(profile, share, _total_noise_std(sums.size, share), buckets=Buckets(edges[:-1], edges[1:], sums))


def bucket_edges(budget_range: tuple[float, float]) -> Floats:
    """The edges of the buckets of the noisy census, in ascending order: each is four times the previous one."""
    low, high = budget_range
    count = max(1, math.ceil(math.log(high / low) / math.log(_BUCKET_WIDTH) - 1e-9))
    return np.array([*(low * _BUCKET_WIDTH**j for j in range(count)), max(high, low * (1 + 2.0**-20))])


def bucket_of(allowances: Floats, edges: Floats) -> NDArray[np.intp]:
    """The index of each allowance's bucket."""
    return np.searchsorted(edges[1:-1], allowances, side="right")


def _total_noise_std(buckets: int, share: Fraction) -> float:
    """The standard deviation of the sum of all noisy buckets, each with Laplace noise of scale ``1 / share``."""
    return math.sqrt(2 * buckets) / float(share)


def census_of_sums(sums: Floats, edges: Floats, share: Fraction) -> Census:
    """The census with a profile that fits these noisy sums of buckets.

    Buckets that are not clearly above the noise count as empty, and the others are scaled to keep the noisy total,
    which is unbiased.
    """
    total = max(float(sums.sum()), 1.0)
    least = _LEAST_NOISE_SCALES / float(share)
    if (sums >= least).any():
        sums = np.where(sums < least, 0.0, sums)
    sums = np.maximum(sums, 0.0)
    sums = sums * (total / sums.sum()) if sums.sum() > 0 else np.full(sums.size, total / sums.size)
    # Everybody in a bucket is taken to have its logarithmic mean: the mean if logarithms are spread evenly.
    middles = np.diff(edges) / np.log(edges[1:] / edges[:-1])
    buckets = Buckets(edges[:-1], edges[1:], sums)
    return Census(Profile.of(middles, sums / middles), share, _total_noise_std(sums.size, share), buckets=buckets)
