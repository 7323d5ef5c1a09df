"""Budgets that are none: public numbers so large, or so varied, that they are something else."""

from __future__ import annotations

import math

import numpy as np

from pdpmean.core.model import Model
from pdpmean.core.types import Counts, Floats

__all__ = ["LARGE_GRANT", "doubt", "doubtful_budgets"]

LARGE_GRANT = 20
"""In nats. More than people grant for all releases of a ledger together, if it protects them."""

_LARGE = 5  # the same for one release: whoever sees its result guesses a value right in 99 of 100 cases
_TIERS = 12  # whole numbers, more than which nobody offers to choose from
_VARIED = 30  # different budgets above 1: those who choose freely rarely choose so many, values often are so many


def doubtful_budgets(model: Model, levels: Floats, counts: Counts) -> str | None:
    """What is odd about public budgets, counted by their allowance; of private ones, about their range."""
    if not model.budgets_are_public:
        low, high = model.public_range
        return None if high <= _LARGE else _told(f"budget_range {low:g} to {high:g} reaches above {_LARGE}", _LARGE)
    budgets = levels * model.budget_per_allowance
    finite = np.isfinite(budgets)
    granted = budgets[finite & (budgets > 0)]
    large = int(counts[finite & (budgets > _LARGE)].sum())
    varied = int((granted > 1).sum())
    found = doubt(large, int(counts.sum()), whole_numbers=0, limit=_LARGE)
    if found is None and varied > _VARIED:
        return f"budgets look wrong: they are more than {_VARIED} different numbers above 1. {_WHICH_COLUMN}"
    return found


def doubt(large: int, people: int, whole_numbers: int, limit: int = LARGE_GRANT) -> str | None:
    """What is odd about budgets of which so many are above the limit, or which are so many different whole numbers."""
    if large:
        return _told(f"{large:,} of {people:,} are above {limit}", limit)
    if whole_numbers > _TIERS:
        return f"budgets look wrong: they are {whole_numbers:,} different whole numbers. {_WHICH_COLUMN}"
    return None


def _told(what: str, limit: int) -> str:
    guesses = 100 / (1 + math.exp(-limit))
    protects = "protects nobody" if guesses > 99.9 else f"lets others guess right {guesses:.0f} times in 100"
    return f"budgets look wrong: {what}. A privacy loss of {limit} {protects}; is this the wrong column?"


_WHICH_COLUMN = "Is this a column of ids, or of values?"
