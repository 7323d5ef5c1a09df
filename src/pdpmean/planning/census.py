"""Census: the profile of allowances that a plan is made from, known exactly or by noisy sums."""

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

CENSUS_PART = Fraction(1, 16)  # of the share, in the unbounded model

_BUCKET_WIDTH = 4.0

_LEAST = 1.5  # buckets below this many noise scales are taken for empty


class Buckets(NamedTuple):
    """What the allowances from `lows[j]` to `highs[j]` add up to: all that is known of private ones, noisily."""

    lows: Floats
    highs: Floats
    sums: Floats

    def times(self, factor: float) -> Buckets:
        """Of so many times the people."""
        return self._replace(sums=self.sums * factor)


@dataclass(frozen=True)
class Census:
    """The profile of allowances a plan is made from, what it cost, and how far its total may be off."""

    profile: Profile
    share: Fraction
    doubt: float
    left_out: float = 0.0
    """People who publicly grant nothing."""
    granted: float | None = None
    """What all allowances add up to, where the profile has them by cells alone and budgets are public."""
    buckets: Buckets | None = None
    """What the profile was made from, where budgets are private."""

    @property
    def is_noisy(self) -> bool:
        """Whether it was released with noise, as private budgets are, and so has cost everyone a share."""
        return self.share > 0

    @property
    def total(self) -> float:
        """What all allowances add up to."""
        return self.profile.total if self.granted is None else self.granted

    def largest(self, model: Model) -> float:
        """No allowance is above this, publicly: a level may be the middle of a cell, at most a 16th wide."""
        return model.largest_allowance if self.is_noisy else float(self.profile.levels[-1]) * (1 + 2.0**-4)

    def times(self, factor: float) -> Census:
        """The census of so many times the people."""
        buckets = self.buckets and self.buckets.times(factor)
        left_out = self.left_out * factor
        granted = None if self.granted is None else self.granted * factor
        return replace(self, profile=self.profile.times(factor), left_out=left_out, granted=granted, buckets=buckets)


def census_of_tiers(people: Mapping[float, float], model: Model, share: Fraction) -> Census:
    """The census to expect of tiers, ``{budget: people}``: for planning ahead."""
    counts = np.array(list(people.values()), dtype=np.float64)
    if not ((counts >= 0) & np.isfinite(counts)).all():
        raise InvalidInputError("a tier must have 0 or more people", name="budgets")
    return expected_census(model.allowances(check_budgets(list(people))), counts, model, share)


def expected_census(levels: Floats, counts: Floats, model: Model, share: Fraction) -> Census:
    """The census to expect where so many people are known to have each of these allowances."""
    profile = Profile.of(levels, counts)
    if model.budgets_are_public:
        return Census(profile, Fraction(0), 0.0, left_out=float(counts[levels == 0].sum()))
    edges = bucket_edges(model.public_range)
    granted = profile.counts * profile.levels
    sums = np.bincount(bucket_of(profile.levels, edges), granted, edges.size - 1).astype(np.float64)
    return Census(profile, share, _doubt(sums.size, share), buckets=Buckets(edges[:-1], edges[1:], sums))


def bucket_edges(budget_range: tuple[float, float]) -> Floats:
    """The ends of the buckets, each four times as wide as its left end, that the noisy census tells apart."""
    low, high = budget_range
    count = max(1, math.ceil(math.log(high / low) / math.log(_BUCKET_WIDTH) - 1e-9))
    return np.array([*(low * _BUCKET_WIDTH**j for j in range(count)), max(high, low * (1 + 2.0**-20))])


def bucket_of(levels: Floats, edges: Floats) -> NDArray[np.intp]:
    """The bucket of each allowance."""
    return np.searchsorted(edges[1:-1], levels, side="right")


def _doubt(buckets: int, share: Fraction) -> float:
    """One standard deviation of the noisy total."""
    return math.sqrt(2 * buckets) / float(share)


def census_of_sums(sums: Floats, edges: Floats, share: Fraction) -> Census:
    """A profile that fits the noisy sums: what looks empty is, and the total stays what it was."""
    total = max(float(sums.sum()), 1.0)
    least = _LEAST / float(share)
    if (sums >= least).any():
        sums = np.where(sums < least, 0.0, sums)
    sums = np.maximum(sums, 0.0)
    sums = sums * (total / sums.sum()) if sums.sum() > 0 else np.full(sums.size, total / sums.size)
    middles = np.diff(edges) / np.log(edges[1:] / edges[:-1])
    buckets = Buckets(edges[:-1], edges[1:], sums)
    return Census(Profile.of(middles, sums / middles), share, _doubt(sums.size, share), buckets=buckets)
