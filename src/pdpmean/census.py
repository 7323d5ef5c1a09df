"""Census: how many people hold which budget, exactly where that is public and noisily where it is not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.errors import InvalidInputError
from pdpmean.inputs import LARGEST_BUDGET, Floats, check_budgets
from pdpmean.model import Model
from pdpmean.profile import Profile
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.sources import Source
from pdpmean.threads import SMALLEST_BATCH

__all__ = [
    "CENSUS_PART",
    "Cells",
    "Census",
    "Held",
    "expected_census",
    "noisy_census",
    "noisy_sum",
    "public_census",
]

Held = tuple[Floats, NDArray[np.int64]]  # allowances and how many hold each: as private as the budgets are

CENSUS_PART = Fraction(1, 16)  # of the share, in the unbounded model
_CELL_SHIFT = 46  # a cell is a double's exponent and first six bits: 64 cells an octave
_CELLS = (0x7FF << 6) + 1  # the last one is infinity
_BUCKET_WIDTH = 4.0
_LEAST = 1.5  # buckets below this many noise scales are taken for empty
_SUM_BITS = 40


@dataclass(frozen=True)
class Census:
    """The profile of allowances a plan is made from, what it cost, and how far its total may be off."""

    profile: Profile
    share: Fraction
    doubt: float
    left_out: float = 0.0
    """People who publicly grant nothing."""
    cautious: Profile | None = None
    """The same sums held by as few people as there may be, where it is not known how many."""

    def times(self, factor: float) -> Census:
        """The census of so many times the people."""
        cautious = self.cautious and self.cautious.times(factor)
        left_out = self.left_out * factor
        return replace(self, profile=self.profile.times(factor), left_out=left_out, cautious=cautious)


@dataclass(frozen=True)
class Cells:
    """Budgets to cells, by the bits of their allowance alone, so that every engine agrees; cell 0 is left out."""

    model: Model

    def count(self, budgets: Floats, first: int = 0) -> NDArray[np.int64]:
        """How many records of a batch, of which `first` is the first, are in each cell; checks public budgets."""
        if budgets.size >= SMALLEST_BATCH:
            return self._count_compiled(budgets, first)
        if self.model.budget_range is None:
            check_budgets(budgets, first)
        cells = np.ascontiguousarray(self.model.allowances(budgets)).view(np.int64) >> _CELL_SHIFT
        return np.bincount(cells)

    def _count_compiled(self, budgets: Floats, first: int) -> NDArray[np.int64]:
        from pdpmean.kernels import count_cells

        counts = np.zeros(_CELLS, dtype=np.int64)
        wrong = count_cells(budgets, *self.model.limits, np.uint64(_CELL_SHIFT), counts)
        if wrong and self.model.budget_range is None:
            check_budgets(budgets, first)
        return counts

    def census(self, source: Source) -> Held:
        """The lower ends of the cells that hold anyone, below which none of their allowances is, and their counts."""
        counts = source.census(self.count)
        held = np.flatnonzero(counts)
        return (held << _CELL_SHIFT).view(np.float64), counts[held]


def public_census(held: Held) -> Census:
    """The exact profile, on a grid of 64 cells an octave: enough to steer public choices."""
    levels, counts = held
    people = counts.astype(np.float64)
    middles = np.where(np.isfinite(levels), np.minimum(levels * (1 + 2.0**-8), LARGEST_BUDGET), levels)
    return Census(Profile.of(middles, people), Fraction(0), 0.0, left_out=float(people[levels == 0].sum()))


def noisy_census(held: Held, model: Model, share: Fraction, randomness: Randomness) -> Census:
    """The profile from noisy sums of budgets, one a bucket of the public range: costs everyone `share` of theirs.

    Person i adds ``floor(a_i 2**q)``, a_i rounded down to its cell, to one sum, and every sum gets discrete Laplace
    noise of scale ``2**q / share``: loss at most ``share * a_i``.
    """
    assert model.budget_range is not None
    edges = bucket_edges(model.budget_range)
    levels, counts = held
    bucket = _bucket_of(levels, edges)
    noisy = [
        noisy_sum(np.where(bucket == j, levels, 0.0), counts, model.budget_range[1], share, randomness)
        for j in range(edges.size - 1)
    ]
    return _census_of(np.array(noisy), edges, share)


def noisy_sum(
    sizes: Floats, counts: NDArray[np.int64], largest: float, share: Fraction, randomness: Randomness
) -> float:
    """The sum of ``counts * sizes``, at a loss of at most `share` times a person's size."""
    # Fine enough for the largest, and no finer than noise of scale 2**shift / share allows: at most 2**60.
    shift = min(_SUM_BITS - math.frexp(largest)[1], 59 - math.ceil(math.log2(1 / share)))
    units = np.floor(np.ldexp(sizes, shift)).astype(np.int64)
    total = sum(count * unit for count, unit in zip(counts.tolist(), units.tolist(), strict=True))
    return math.ldexp(randomness.add_laplace(total, laplace_scale(2**shift, share)), -shift)


def expected_census(budgets: ArrayLike | Mapping[float, int], model: Model, share: Fraction) -> Census:
    """The census of budgets that are known, or of tiers ``{budget: people}``: for planning ahead."""
    if isinstance(budgets, Mapping):
        levels = model.allowances(check_budgets(list(budgets)))
        counts = np.array(list(budgets.values()), dtype=np.float64)
        if not ((counts >= 0) & np.isfinite(counts)).all():
            raise InvalidInputError("a tier must have 0 or more people", name="budgets")
    else:
        levels = model.allowances(check_budgets(budgets))
        counts = np.ones(levels.size)
        if levels.size >= SMALLEST_BATCH:
            levels, counts = _histogram(levels)
    profile = Profile.of(levels, counts)
    if model.budget_range is None:
        return Census(profile, Fraction(0), 0.0, left_out=float(counts[levels == 0].sum()))
    edges = bucket_edges(model.budget_range)
    most = edges[1:][_bucket_of(profile.levels, edges)]
    cautious = Profile.of(most, profile.counts * profile.levels / most)
    return Census(profile, share, _doubt(edges.size - 1, share), cautious=cautious)


def _histogram(allowances: Floats) -> tuple[Floats, Floats]:
    """Few levels instead of many allowances: 64 an octave, each at the middle of its cell."""
    cells = np.bincount(allowances.view(np.int64) >> _CELL_SHIFT)
    held = np.flatnonzero(cells)
    levels = (held << _CELL_SHIFT).view(np.float64)
    return np.where(np.isfinite(levels), levels * (1 + 2.0**-8), levels), cells[held].astype(np.float64)


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
    cautious = Profile.of(edges[1:], sums / edges[1:])
    return Census(Profile.of(middles, sums / middles), share, _doubt(sums.size, share), cautious=cautious)
