"""Census: who holds which budget, counted exactly where that is public and noisily where it is not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from pdpmean.core.choices import floor_share
from pdpmean.core.model import Model
from pdpmean.core.options import Options
from pdpmean.core.profile import Profile
from pdpmean.core.types import Counts, Floats
from pdpmean.passes.cells import Held
from pdpmean.planning.census import CENSUS_PART, Census, bucket_edges, bucket_of, census_of_sums
from pdpmean.randomness import Randomness, laplace_scale

__all__ = ["noisy_census", "noisy_sum", "public_census", "take_census"]

_SUM_BITS = 40


def public_census(held: Held) -> Census:
    """The exact profile, on the grid of the cells: enough to steer public choices."""
    people, granting = held.counts.astype(np.float64), held.middles > 0  # of one cell each
    profile = Profile(held.middles[granting], people[granting])
    return Census(profile, Fraction(0), 0.0, left_out=float(people[~granting].sum()), granted=held.total)


def noisy_census(held: Held, model: Model, share: Fraction, randomness: Randomness) -> Census:
    """The profile from noisy sums of budgets, one per bucket of the public range: costs everyone `share` of theirs.

    Person i adds ``floor(a_i 2**q)``, a_i rounded down to its cell, to one sum, and every sum gets discrete Laplace
    noise of scale ``2**q / share``: loss at most ``share * a_i``.
    """
    edges = bucket_edges(model.public_range)
    levels = held.levels
    bucket = bucket_of(levels, edges)
    noisy = [
        noisy_sum(np.where(bucket == j, levels, 0.0), held.counts, model.public_range[1], share, randomness)
        for j in range(edges.size - 1)
    ]
    return census_of_sums(np.array(noisy), edges, share)


def noisy_sum(sizes: Floats, counts: Counts, largest: float, share: Fraction, randomness: Randomness) -> float:
    """The sum of ``counts * sizes``, at a loss of at most `share` times a person's size."""
    # Fine enough for the largest, and no finer than noise of scale 2**shift / share allows: at most 2**60.
    shift = min(_SUM_BITS - math.frexp(largest)[1], 59 - math.ceil(math.log2(1 / share)))
    units = np.floor(np.ldexp(sizes, shift)).astype(np.int64)
    total = sum(count * unit for count, unit in zip(counts.tolist(), units.tolist(), strict=True))
    return math.ldexp(randomness.add_laplace(total, laplace_scale(2**shift, share)), -shift)


def take_census(counted: Sequence[Held], options: Options, randomness: Randomness) -> list[Census]:
    """The census of each group: as counted where budgets are public, noisily where they are not."""
    if options.model.budgets_are_public:
        return [public_census(held) for held in counted]
    share = floor_share(CENSUS_PART * options.share)
    return [noisy_census(held, options.model, share, randomness) for held in counted]
