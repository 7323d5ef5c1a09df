"""Diffusion (Definition 6): keep each record with a probability of its own, so that its loss is its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.core.checks import check_budgets
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.paper.saturation import saturation
from pdpmean.randomness import Randomness

__all__ = ["DiffusionRates", "diffuse", "diffusion_rates", "exact_rates"]

# exp(eps - tau) is off by a relative 745 * 2**-52 at most, the other factors by a few 2**-53: this covers them.
_ROUND_DOWN = 1 - 2.0**-40


@dataclass(frozen=True)
class DiffusionRates:
    """Record i is kept with probability `rates[i]`; what is kept may be used at budget `tau`."""

    rates: Floats
    tau: float
    k: int


def diffusion_rates(budgets: ArrayLike) -> DiffusionRates:
    """The rates at which records are kept so that a tau-private step costs record i at most its budget.

    Theorem 10 gives the loss ``ln(1 + p (e**tau - 1))`` at rate p, so the rate that spends all of eps_i and no
    more is ``(e**eps_i - 1) / (e**tau - 1)``, or 1 from tau on. The printed rates, proportional to the budget,
    overspend (docs/errata.md, 1). tau is the saturation threshold, at most the largest budget.
    """
    granted = check_budgets(budgets)
    found = saturation(granted)
    tau = min(found.tau, float(granted.max(initial=0.0)))
    return DiffusionRates(exact_rates(granted, tau), tau, found.k)


def exact_rates(budgets: Floats, tau: float) -> Floats:
    """``(e**budget - 1) / (e**tau - 1)``, 1 from tau on, never above the exact value."""
    if tau == 0:
        return np.zeros_like(budgets)
    with np.errstate(invalid="ignore"):
        ratios = np.exp(np.minimum(budgets, tau) - tau) * (-np.expm1(-budgets) / -math.expm1(-tau)) * _ROUND_DOWN
    return np.where(budgets >= tau, 1.0, ratios)


def diffuse(rates: ArrayLike, *, randomness: Randomness | None = None) -> NDArray[np.bool_]:
    """Which records are kept, True with each one's rate, as a mask.

    Definition 6 replaces the others by a placeholder. A mask is that placeholder: it collides with no datum,
    as the printed 0 does (docs/errata.md, 5).
    """
    probabilities = np.asarray(rates, dtype=np.float64)
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InvalidInputError("rates must lie in [0, 1]", name="rates")
    return (randomness or Randomness.secure()).coins(probabilities)
