"""The two privacy models, bounded and unbounded, and the allowance that each gives a record."""

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
    """How neighbouring data sets differ: "bounded" replaces a record, "unbounded" adds or removes one.

    It exists so that each step needs only one proof: of what adding or removing a record costs, at most its
    *allowance*. That is the budget in the unbounded model, and half of it in the bounded model, because replacing a
    record is removing one and adding another.
    """

    name: ModelName
    budget_range: tuple[float, float] | None = None
    """The public range of private budgets; None in the bounded model, where budgets are public."""

    @property
    def budgets_are_public(self) -> bool:
        """Whether it is public who takes part and what each of them grants: in the bounded model."""
        return self.budget_range is None

    @property
    def public_range(self) -> tuple[float, float]:
        """The range of budgets in the unbounded model, the only thing that is public about them."""
        assert self.budget_range is not None
        return self.budget_range

    @property
    def limits(self) -> tuple[float, float, float]:
        """The numbers `low`, `high` and `factor` that turn a budget into an allowance.

        Below `low`, the allowance is 0. From there on, it is the budget, at most `high`, times `factor`.
        """
        return (SMALLEST_BUDGET, math.inf, 0.5) if self.budgets_are_public else (*self.public_range, 1.0)

    def allowances(self, budgets: Floats) -> Floats:
        """What adding or removing each record may cost, in nats; 0 for records that are left out."""
        low, high, factor = self.limits
        with np.errstate(all="ignore"):  # a signalling NaN would otherwise cause a warning
            return np.where(budgets >= low, np.minimum(budgets, high) * factor, 0.0)

    @property
    def budget_per_allowance(self) -> int:
        """The ratio of a budget to its allowance."""
        return 2 if self.budgets_are_public else 1

    @property
    def largest_allowance(self) -> float:
        """The largest allowance that anybody can have, by what is public."""
        return math.inf if self.budgets_are_public else self.public_range[1]


BOUNDED = Model("bounded")


def check_model_name(name: str) -> ModelName:
    """The name of a model, checked."""
    names: dict[str, ModelName] = {"bounded": "bounded", "unbounded": "unbounded"}
    if name in names:
        return names[name]
    raise InvalidInputError(f"model must be 'bounded' or 'unbounded'; got {name!r}", name="model", value=name)


def make_model(name: str, budget_range: tuple[float, float] | None) -> Model:
    """The model of that name, checked. The unbounded model needs a `budget_range`; the bounded model takes none."""
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
