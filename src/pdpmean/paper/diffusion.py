"""Diffusion (Definition 6): keep each record with its own probability, such that its privacy loss fits its budget."""

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

# A factor that makes computed rates lower than the exact ones. exp(eps - tau) has a relative error of at most
# 745 * 2**-52, and the other factors of a few 2**-53.
_ROUND_DOWN = 1 - 2.0**-40


@dataclass(frozen=True)
class DiffusionRates:
    """The probability `rates[i]` of keeping record i, such that all kept records may be used at the budget `tau`."""

    rates: Floats
    tau: float
    k: int
    """The number of budgets below the saturation threshold."""


def diffusion_rates(budgets: ArrayLike) -> DiffusionRates:
    """The rates at which to keep records, such that a tau-private step costs record i at most its budget.

    At rate p the loss is ``ln(1 + p (e**tau - 1))`` (Theorem 10), so the rate that spends exactly eps_i is
    ``(e**eps_i - 1) / (e**tau - 1)``, or 1 for budgets from tau on. The printed rates, proportional to the budget,
    overspend (docs/errata.md, 1). tau is the saturation threshold, but at most the largest budget.
    """
    granted = check_budgets(budgets)
    threshold = saturation(granted)
    tau = min(threshold.tau, float(granted.max(initial=0.0)))
    return DiffusionRates(exact_rates(granted, tau), tau, threshold.k)


def exact_rates(budgets: Floats, tau: float) -> Floats:
    """``(e**budget - 1) / (e**tau - 1)``, or 1 for budgets from tau on; rounding never makes it too large."""
    if tau == 0:
        return np.zeros_like(budgets)
    with np.errstate(invalid="ignore"):
        ratios = np.exp(np.minimum(budgets, tau) - tau) * (-np.expm1(-budgets) / -math.expm1(-tau)) * _ROUND_DOWN
    return np.where(budgets >= tau, 1.0, ratios)


def diffuse(rates: ArrayLike, *, randomness: Randomness | None = None) -> NDArray[np.bool_]:
    """A mask of the records to keep, which is True for each record with the probability given by its rate.

    Definition 6 replaces all others by the placeholder 0. A mask cannot be confused with data, as 0 can
    (docs/errata.md, 5).
    """
    probabilities = np.asarray(rates, dtype=np.float64)
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InvalidInputError("rates must lie in [0, 1]", name="rates")
    return (randomness or Randomness.secure()).coins(probabilities)
