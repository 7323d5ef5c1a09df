"""Census: how many people hold which budget, exact where budgets are public and noisy where they are private.

The plan is made from the census. In the unbounded model the census is the first release, and its noise is paid for with
a share of every budget (docs/guarantee.md, "Census").
"""

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
from pdpmean.passes.cells import CellCounts
from pdpmean.planning.census import CENSUS_PART, Census, bucket_edges, bucket_of, census_of_sums
from pdpmean.randomness import Randomness, laplace_scale

__all__ = ["noisy_census", "noisy_sum", "public_census", "take_census"]

# Bits of the integer that the largest summand becomes: its rounding is far below the noise.
_SUM_BITS = 40


def public_census(cells: CellCounts) -> Census:
    """The census of public budgets: exact counts, with every budget at the middle of its cell.

    It costs nothing. A cell is narrow enough for the choices that a plan makes.
    """
    people = cells.counts.astype(np.float64)
    is_granting = cells.middles > 0
    profile = Profile(cells.middles[is_granting], people[is_granting])
    return Census(profile, Fraction(0), 0.0, left_out=float(people[~is_granting].sum()), granted=cells.total)


def noisy_census(cells: CellCounts, model: Model, share: Fraction, randomness: Randomness) -> Census:
    """The census of private budgets, from one noisy sum of allowances per bucket of the public range.

    Let a_i be the allowance of person i, rounded down to the lower end of its cell. The person adds
    ``floor(a_i 2**q)`` to the sum of one bucket, and every sum gets discrete Laplace noise of scale ``2**q / share``.
    So the loss is at most ``share * a_i``.
    """
    edges = bucket_edges(model.public_range)
    bucket = bucket_of(cells.lows, edges)
    noisy_sums = [
        noisy_sum(np.where(bucket == j, cells.lows, 0.0), cells.counts, model.public_range[1], share, randomness)
        for j in range(edges.size - 1)
    ]
    return census_of_sums(np.array(noisy_sums), edges, share)


def noisy_sum(sizes: Floats, counts: Counts, largest: float, share: Fraction, randomness: Randomness) -> float:
    """The sum of ``counts * sizes`` with discrete Laplace noise: a person's loss is at most `share` times their size.

    No size exceeds `largest`, which is public.
    """
    # The unit is 2**-shift. It resolves the largest size, and keeps the noise scale, 2**shift / share, below 2**60.
    shift = min(_SUM_BITS - math.frexp(largest)[1], 59 - math.ceil(math.log2(1 / share)))
    units = np.floor(np.ldexp(sizes, shift)).astype(np.int64)
    total = sum(count * unit for count, unit in zip(counts.tolist(), units.tolist(), strict=True))
    return math.ldexp(randomness.add_laplace(total, laplace_scale(2**shift, share)), -shift)


def take_census(counted: Sequence[CellCounts], options: Options, randomness: Randomness) -> list[Census]:
    """The census of each group: exact in the bounded model, noisy in the unbounded model."""
    if options.model.budgets_are_public:
        return [public_census(cells) for cells in counted]
    share = floor_share(CENSUS_PART * options.share)
    return [noisy_census(cells, options.model, share, randomness) for cells in counted]
