"""Likely budgets: whether public numbers look like budgets, or are so large or varied that they must be wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pdpmean.core.model import Model
from pdpmean.core.types import Counts, Floats

__all__ = ["LARGE_GRANT", "warning_of_budgets", "warning_of_counts", "warning_of_range"]

LARGE_GRANT = 20
"""In nats: more than anybody who wants to be protected grants for all releases of a ledger together."""

_LARGE_BUDGET = 5  # nats, the same for one release: whoever sees its result can guess a value right 99 times in 100
_MOST_TIERS = 12  # whole numbers: nobody offers more tiers to choose from
_MOST_DISTINCT = 30  # distinct budgets above 1: people who choose freely rarely choose more, but values often are more

_QUESTION_OF_GRANTS = "Is this what people grant?"
_QUESTION_OF_COLUMN = "Are these ids, or values?"


def warning_of_range(model: Model, share: float) -> str | None:
    """A warning if the public range of private budgets, times the share, does not look like one; otherwise None."""
    if model.budgets_are_public:
        return None
    low, high = model.public_range
    at_share = f" at a share of {share:g}" if share < 1 else ""
    what = f"the range of budgets, {low:g} to {high:g}{at_share}, reaches above {_LARGE_BUDGET}"
    return None if high * share <= _LARGE_BUDGET else _too_large(what, high, _LARGE_BUDGET)


def warning_of_budgets(model: Model, share: float, groups: Sequence[tuple[Floats, Counts | Floats]]) -> str | None:
    """A warning if budgets, times the share, do not look like budgets; otherwise None.

    Each group has its allowances, and how many people hold each of them. If budgets are private, only their public
    range is checked.
    """
    if not model.budgets_are_public:
        return warning_of_range(model, share)
    budgets = np.concatenate([allowances for allowances, _ in groups]) * (model.budget_per_allowance * share)
    counts = np.concatenate([people for _, people in groups])
    granted = budgets[np.isfinite(budgets) & (counts > 0)]
    large = int(counts[np.isfinite(budgets) & (budgets > _LARGE_BUDGET)].sum())
    varied = np.unique(granted[granted > 1]).size
    largest = float(granted.max(initial=0))
    warning = warning_of_counts(large, int(counts.sum()), whole_numbers=0, largest=largest, limit=_LARGE_BUDGET)
    if warning is None and varied > _MOST_DISTINCT:
        return (
            f"budgets look wrong: there are more than {_MOST_DISTINCT} different numbers above 1. {_QUESTION_OF_COLUMN}"
        )
    return warning


def warning_of_counts(
    large: int, people: int, whole_numbers: int, largest: float, limit: int = LARGE_GRANT
) -> str | None:
    """A warning if `large` of the budgets of all people are above the limit, or if they are too many whole numbers.

    `whole_numbers` is the number of distinct budgets, if all of them are whole numbers. `largest` is the largest finite
    budget.
    """
    if large:
        which = f"{large:,} of {people:,} are" if people > 1 else f"{largest:g} is"
        return _too_large(f"{which} above {limit}", largest, limit)
    if whole_numbers > _MOST_TIERS:
        return f"budgets look wrong: there are {whole_numbers:,} different whole numbers. {_QUESTION_OF_COLUMN}"
    return None


def _too_large(what: str, largest: float, limit: int) -> str:
    guesses = 100 / (1 + math.exp(-limit))
    protects = "protects nobody" if guesses > 99.9 else f"lets others guess right {guesses:.0f} times in 100"
    percent = "If these are percent, divide by 100. " if largest <= 100 else ""
    return f"budgets look wrong: {what}. A privacy loss of {limit} {protects}. {percent}{_QUESTION_OF_GRANTS}"
