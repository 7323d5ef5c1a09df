"""Budgets that are none: public numbers so large, or so many different whole ones, that they are something else."""

from __future__ import annotations

import numpy as np

from pdpmean.core.model import Model
from pdpmean.core.types import Counts, Floats

__all__ = ["doubtful_budgets"]

_LARGE = 20.0  # nats: exp(20) is 500 million, and whoever sees the result may be that sure of a value
_TIERS = 12  # whole numbers, more than which nobody offers to choose from


def doubtful_budgets(model: Model, levels: Floats, counts: Counts) -> str | None:
    """What is odd about public budgets, counted by their allowance; of private ones, about their range."""
    if not model.budgets_are_public:
        low, high = model.public_range
        return (
            None if high <= _LARGE else f"budgets look wrong: budget_range {low:g} to {high:g} reaches above 20. {_WHY}"
        )
    budgets = levels * model.budget_per_allowance
    finite = np.isfinite(budgets)
    large = int(counts[finite & (budgets > _LARGE)].sum())
    if large:
        return f"budgets look wrong: {large:,} are above 20. {_WHY}"
    granted = budgets[finite & (budgets > 0)]
    if granted.size > _TIERS and np.array_equal(granted, np.floor(granted)):
        return (
            f"budgets look wrong: they are {granted.size} different whole numbers. "
            "Is this a column of ids, or of values?"
        )
    return None


_WHY = "A loss of 20 protects nobody; is this another column?"
