"""The two models of who is protected from what, and the allowance each gives a record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pdpmean.core.checks import LARGEST_BUDGET, SMALLEST_BUDGET, check_budget_range
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError

__all__ = ["BOUNDED", "Model", "ModelName", "check_model_name", "make_model"]

ModelName = Literal["bounded", "unbounded"]


@dataclass(frozen=True)
class Model:
    """Which neighbours are protected: "bounded" ones replace a record, "unbounded" ones add or remove one.

    Every step is proved for adding or removing a record at its *allowance*: the budget itself if unbounded, half of
    it if bounded, since replacing is removing and then adding.
    """

    name: ModelName
    budget_range: tuple[float, float] | None = None

    @property
    def budgets_are_public(self) -> bool:
        """Whether everybody may know who takes part and what each of them grants."""
        return self.budget_range is None

    @property
    def public_range(self) -> tuple[float, float]:
        """All that is public of budgets that are private: the ends of their range."""
        assert self.budget_range is not None
        return self.budget_range

    @property
    def limits(self) -> tuple[float, float, float]:
        """Low, high, factor. Below `low` a record is left out, above `high` counts as `high`. Times `factor`."""
        return (SMALLEST_BUDGET, math.inf, 0.5) if self.budgets_are_public else (*self.public_range, 1.0)

    def allowances(self, budgets: Floats) -> Floats:
        """What each record may cost for being added or removed; 0 leaves it out."""
        low, high, factor = self.limits
        with np.errstate(all="ignore"):  # a NaN that signals would be told of
            return np.where(budgets >= low, np.minimum(budgets, high) * factor, 0.0)

    @property
    def budget_per_allowance(self) -> int:
        """How many units of budget one unit of allowance is."""
        return 2 if self.budgets_are_public else 1

    @property
    def largest_allowance(self) -> float:
        """No allowance is above this, publicly."""
        return math.inf if self.budgets_are_public else self.public_range[1]


BOUNDED = Model("bounded")


def check_model_name(name: str) -> ModelName:
    """One of the two models, by its name."""
    names: dict[str, ModelName] = {"bounded": "bounded", "unbounded": "unbounded"}
    if name in names:
        return names[name]
    raise InvalidInputError(f"model must be 'bounded' or 'unbounded'; got {name!r}", name="model", value=name)


def make_model(name: str, budget_range: tuple[float, float] | None) -> Model:
    """The model of that name; `budget_range` goes with the unbounded one, and must."""
    if name == "bounded" and budget_range is None:
        return BOUNDED
    if name == "unbounded" and budget_range is not None:
        low, high = check_budget_range(budget_range)
        high = min(high, LARGEST_BUDGET)
        if not SMALLEST_BUDGET <= low <= LARGEST_BUDGET:
            raise InvalidInputError(
                f"budget_range must start between 2**-40 and 2**40; got {low!r}",
                name="budget_range",
                value=budget_range,
            )
        return Model("unbounded", (low, high))
    problem = (
        "the unbounded model needs budget_range=(smallest, largest), the public range that people could choose from"
        if check_model_name(name) == "unbounded"
        else "budget_range goes with model='unbounded'; in the bounded model the budgets themselves are public"
    )
    raise InvalidInputError(problem, name="budget_range", value=budget_range)
