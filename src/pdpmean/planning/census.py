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
from pdpmean.passes.cells import Cells
from pdpmean.passes.source import Source

__all__ = ["CENSUS_PART", "Buckets", "Census", "bucket_edges", "expected_census"]

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
    buckets: Buckets | None = None
    """What the profile was made from, where budgets are private."""

    def largest(self, model: Model) -> float:
        """No allowance is above this, publicly: a level may be the middle of a cell, at most a 16th wide."""
        return model.largest_allowance if self.share else float(self.profile.levels[-1]) * (1 + 2.0**-4)

    def times(self, factor: float) -> Census:
        """The census of so many times the people."""
        buckets = self.buckets and self.buckets.times(factor)
        left_out = self.left_out * factor
        return replace(self, profile=self.profile.times(factor), left_out=left_out, buckets=buckets)


def expected_census(budgets: Source | Mapping[float, float], model: Model, share: Fraction) -> Census:
    """The census of budgets that are known, or of tiers ``{budget: people}``: for planning ahead."""
    if isinstance(budgets, Mapping):
        levels = model.allowances(check_budgets(list(budgets)))
        counts = np.array(list(budgets.values()), dtype=np.float64)
        if not ((counts >= 0) & np.isfinite(counts)).all():
            raise InvalidInputError("a tier must have 0 or more people", name="budgets")
    else:
        (held,) = Cells(model).census(budgets)
        levels, counts = held.middles, held.counts.astype(np.float64)
    profile = Profile.of(levels, counts)
    if model.budget_range is None:
        return Census(profile, Fraction(0), 0.0, left_out=float(counts[levels == 0].sum()))
    edges = bucket_edges(model.budget_range)
    granted = profile.counts * profile.levels
    sums = np.bincount(_bucket_of(profile.levels, edges), granted, edges.size - 1).astype(np.float64)
    return Census(profile, share, _doubt(sums.size, share), buckets=Buckets(edges[:-1], edges[1:], sums))


def bucket_edges(budget_range: tuple[float, float]) -> Floats:
    """The ends of the buckets, each four times as wide as its left end, that the noisy census tells apart."""
    low, high = budget_range
    count = max(1, math.ceil(math.log(high / low) / math.log(_BUCKET_WIDTH) - 1e-9))
    return np.array([*(low * _BUCKET_WIDTH**j for j in range(count)), max(high, low * (1 + 2.0**-20))])


def _bucket_of(levels: Floats, edges: Floats) -> NDArray[np.intp]:
    return np.searchsorted(edges[1:-1], levels, side="right")


def _doubt(buckets: int, share: Fraction) -> float:
    """One standard deviation of the noisy total."""
    return math.sqrt(2 * buckets) / float(share)


def _census_of(sums: Floats, edges: Floats, share: Fraction) -> Census:
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
