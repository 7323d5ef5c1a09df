"""The saturation threshold: above it, more budget no longer helps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pdpmean.core.checks import check_budgets, check_positive
from pdpmean.core.profile import Profile

__all__ = ["Saturation", "saturation"]


@dataclass(frozen=True)
class Saturation:
    """Budgets above `tau` count as `tau`; the `k` smallest ones do not reach it."""

    tau: float
    k: int


def saturation(budgets: ArrayLike, constant: float = 8.0) -> Saturation:
    """The threshold tau of Algorithm 3 and of the diffusing rates, with the number k of budgets below it.

    With budgets ascending, k is the smallest index with ``eps_{k+1} >= tau_k`` where
    ``tau_k = (sum_{i<=k} eps_i**2 + constant) / sum_{i<=k} eps_i``, or all of them if there is none, and tau
    is tau_k (docs/errata.md, 8 and 9). It is infinite where no finite budget is above 0. The constant 8 is
    the one for values in an interval of length 1.
    """
    check_positive("constant", constant)
    granted = check_budgets(budgets)
    profile = Profile.of(granted)
    tau, levels = profile.saturation(constant)
    below = profile.counts[:levels].sum() + np.count_nonzero(granted == 0)
    return Saturation(tau, int(below))
