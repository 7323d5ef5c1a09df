"""Weight squares: the sum of the squared weights, on which the sampling error rests, where budgets are private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pdpmean.core.weights import round_down
from pdpmean.passes.cells import Held
from pdpmean.planning.plan import Plan
from pdpmean.randomness import Randomness
from pdpmean.release.census import noisy_sum
from pdpmean.release.group import Group

__all__ = ["noisy_squares", "weight_squares"]


def weight_squares(groups: Sequence[Group], randomness: Randomness) -> list[Group]:
    """Each group with the noisy sum of its squared weights, where its plan has a share for that."""
    return [
        replace(group, weight_squares=noisy_squares(group.held, group.plan, randomness))
        if group.plan and "weight_squares" in group.plan.shares
        else group
        for group in groups
    ]


def noisy_squares(held: Held, plan: Plan, randomness: Randomness) -> float:
    """The noisy sum of the squares of the weights that `average` gives.

    Person i adds ``floor(w_i**2 / cap * 2**q)``, for a weight w_i of at most its share s of the allowance and at most
    the cap, so at most ``s a_i 2**q``; noise of scale ``2**q s / s'`` makes that a loss of at most ``s' a_i``.
    """
    share, cap = plan.shares["sum"], plan.largest_weight
    weights = np.minimum(held.levels * round_down(float(share)), cap)
    parts = weights * (weights / cap)  # the quotient rounds to at most 1, and so the product to at most the weight
    noisy = noisy_sum(parts, held.counts, cap, plan.shares["weight_squares"] / share, randomness)
    return cap * noisy * held.middle_over_low**2  # from the lower ends of cells to their middles
