"""Weight squares: the noisy sum of the squared weights, where budgets are private.

The sampling error of a weighted mean depends on the sum of the squared weights. In the bounded model it follows from
the public budgets; in the unbounded model it has to be released (docs/guarantee.md, "Weight squares").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pdpmean.core.weights import round_down
from pdpmean.passes.cells import CellCounts
from pdpmean.planning.plan import Plan
from pdpmean.randomness import Randomness
from pdpmean.release.census import noisy_sum
from pdpmean.release.group import Group

__all__ = ["noisy_squares", "weight_squares"]


def weight_squares(groups: Sequence[Group], randomness: Randomness) -> list[Group]:
    """Each group with the noisy sum of its squared weights, if its plan has a share for that."""
    return [
        replace(group, weight_squares=noisy_squares(group.cells, group.plan, randomness))
        if group.plan and "weight_squares" in group.plan.shares
        else group
        for group in groups
    ]


def noisy_squares(cells: CellCounts, plan: Plan, randomness: Randomness) -> float:
    """The noisy sum of the squares of the weights that records have in `average`, in nats squared.

    Let s be the share of the sum, s' the share of this step, and a_i the allowance of person i. Their weight w_i is at
    most ``s a_i``, and at most the cap. They add ``floor(w_i**2 / cap * 2**q)``, which is at most ``s a_i 2**q``. The
    noise has scale ``2**q s / s'``, so the loss is at most ``s' a_i``.
    """
    share = plan.shares["sum"]
    cap = plan.largest_weight
    weights = np.minimum(cells.lows * round_down(float(share)), cap)
    # The quotient rounds to at most 1, so the product rounds to at most the weight.
    squares_over_cap = weights * (weights / cap)
    noisy = noisy_sum(squares_over_cap, cells.counts, cap, plan.shares["weight_squares"] / share, randomness)
    return cap * noisy * cells.middle_over_low**2  # from the lower ends of the cells to their middles
