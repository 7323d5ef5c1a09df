"""The saturation threshold of Algorithm 3: the budget above which more budget of the same person does not help."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pdpmean.core.checks import check_budgets, check_positive
from pdpmean.core.profile import Profile

__all__ = ["Saturation", "saturation"]


@dataclass(frozen=True)
class Saturation:
    """The threshold `tau`, as which all larger budgets count, and the number `k` of budgets that do not reach it."""

    tau: float
    k: int


def saturation(budgets: ArrayLike, constant: float = 8.0) -> Saturation:
    """The threshold tau of Algorithm 3 and of the diffusion rates, with the number k of budgets below it.

    With budgets in ascending order, k is the smallest index with ``eps_{k+1} >= tau_k``, where
    ``tau_k = (sum_{i<=k} eps_i**2 + constant) / sum_{i<=k} eps_i``; if there is none, k is the number of budgets. tau
    is tau_k (docs/errata.md, 8 and 9). It is infinite if no finite budget is above 0. The constant 8 is that for values
    in an interval of length 1.
    """
    check_positive("constant", constant)
    granted = check_budgets(budgets)
    profile = Profile.of(granted)
    tau, distinct = profile.saturation(constant)
    below = profile.counts[:distinct].sum() + np.count_nonzero(granted == 0)
    return Saturation(tau, int(below))
