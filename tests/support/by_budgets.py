"""The estimator with people counted by their budgets: one sum of all, which tests of single steps are about."""

from __future__ import annotations

from functools import partial
from typing import Any

import pdpmean
from pdpmean.planning.plan import Plan

__all__ = ["estimate_mean", "plan_mean"]

estimate_mean: Any = partial(pdpmean.estimate_mean, weighting="budgets")


def plan_mean(budgets: Any, **options: Any) -> Plan:
    """A plan with a single sum."""
    plan: Plan = pdpmean.plan_mean(budgets, weighting="budgets", **options)
    return plan
