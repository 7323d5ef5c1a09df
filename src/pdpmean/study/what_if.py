"""What if: the expected error if people granted more, or if there were more people.

It plans again for changed budgets. This is arithmetic on public numbers: no value is read, and no budget is spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from pdpmean.core.choices import floor_share
from pdpmean.core.html import as_html
from pdpmean.core.model import make_model
from pdpmean.core.quiet import quietly
from pdpmean.core.text import as_table, budget_in_words
from pdpmean.errors import InvalidInputError
from pdpmean.planning.census import CENSUS_PART, census_of_tiers
from pdpmean.planning.make import plan_like
from pdpmean.planning.named_shapes import BELL
from pdpmean.planning.plan import Plan

__all__ = ["Scenario", "WhatIf", "what_if"]

People = dict[float, float]  # the number of people by budget, ascending

_CHANGE_WIDTH = 5  # characters of a change, such as "-19 %"
_FEW_TIERS = 6  # with more tiers than this, changes are not listed tier by tier


@dataclass(frozen=True)
class Scenario:
    """A change in budgets or people, and the plan after it."""

    name: str
    plan: Plan | None
    """None if an estimate would be refused."""


@dataclass(frozen=True, repr=False)
class WhatIf(Sequence[Scenario]):
    """A plan and the effect of several changes on it. Prints as a table, with all errors in the plan's unit.

    The price of everyone is the expected error if everyone counts the same, relative to that if people count by their
    budgets.
    """

    plan: Plan
    scenarios: tuple[Scenario, ...]

    @overload
    def __getitem__(self, place: int) -> Scenario: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Scenario, ...]: ...

    def __getitem__(self, place: int | slice) -> Scenario | tuple[Scenario, ...]:
        return self.scenarios[place]

    def __len__(self) -> int:
        return len(self.scenarios)

    def to_list(self) -> list[dict[str, Any]]:
        """One row per change, ready for JSON; numbers are None where an estimate would be refused."""
        return [
            {
                "change": scenario.name,
                "expected_std": scenario.plan and scenario.plan.expected_std,
                "expected_std_by_shape": (scenario.plan and scenario.plan.expected_by_shape) or None,
                "price_of_everyone": scenario.plan and scenario.plan.price_of_everyone,
            }
            for scenario in self
        ]

    @property
    def _title(self) -> str:
        """What the numbers in the table are."""
        return f"expected error (std) for each shape of the values, in {self.plan.errors_in}, with its change"

    def _cells(self) -> list[tuple[str, ...]]:
        """The table: a header, the plan as it is, and one row per change."""
        before = _errors_by_shape(self.plan)
        head = ("what if", *before, "price of everyone")
        room_for_change = " " * (1 + _CHANGE_WIDTH)
        as_it_is = [f"{error:.4g}{room_for_change}" for error in before.values()]
        unchanged = ("no change", *as_it_is, _price_of_everyone(self.plan))
        return [head, unchanged, *((scenario.name, *self._changed(scenario.plan)) for scenario in self)]

    def _changed(self, changed: Plan | None) -> list[str]:
        """The expected error of the changed plan by shape, with the change in percent, and its price of everyone."""
        before = _errors_by_shape(self.plan)
        if changed is None:
            return ["refused", *([""] * len(before))]
        errors = [
            f"{error:.4g} {_change_in_words(before[shape], error):>{_CHANGE_WIDTH}}"
            for shape, error in _errors_by_shape(changed).items()
        ]
        return [*errors, _price_of_everyone(changed)]

    def __repr__(self) -> str:
        return f"<WhatIf of {len(self)} changes to {self.plan!r}>"

    def __str__(self) -> str:
        return f"{self._title}\n{as_table(self._cells())}"

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        return as_html(body, head, self._title)


def _errors_by_shape(plan: Plan) -> dict[str, float]:
    """The expected error for each named shape; for the bell alone if that shape was given."""
    return plan.expected_by_shape or {BELL.words: plan.expected_std}


def _change_in_words(before: float, after: float) -> str:
    """By how many percent an error has changed, such as "-19 %"."""
    percent = round(100 * (after / before - 1))
    return f"{percent:+} %" if percent else "0 %"


def _price_of_everyone(plan: Plan) -> str:
    return f"{plan.price_of_everyone:.2f} times"


@quietly
def what_if(plan: Plan) -> WhatIf:
    """The plans if budgets were raised, if tiers had 25 % more people, or if there were twice as many people.

    The weighting stays as it is in the plan. This is public arithmetic: no value is read and nothing is spent.
    """
    if not isinstance(plan, Plan):
        raise InvalidInputError(
            f"what_if takes a plan, such as plan_mean(...) returns; got {type(plan).__name__}", name="plan", value=plan
        )
    return WhatIf(plan, tuple(Scenario(name, _planned(plan, people)) for name, people in _changes(_people(plan))))


def _people(plan: Plan) -> People:
    """The number of people by budget, from the plan's census."""
    profile = plan.census.profile
    budgets = (profile.allowances * plan.model.budget_per_allowance).tolist()
    people = dict(zip(budgets, profile.counts.tolist(), strict=True))
    return ({0.0: plan.census.left_out} if plan.census.left_out else {}) | people


def _changes(people: People) -> Iterator[tuple[str, People]]:
    """The changes to consider: a name, and the number of people by budget after the change."""
    yield from _raised_by_tier(people) if len(people) <= _FEW_TIERS else _raised_to_median(people)
    for budget in people if 1 < len(people) <= _FEW_TIERS else ():
        if budget:
            yield f"25 % more people at {budget_in_words(budget)}", people | {budget: 1.25 * people[budget]}
    yield "25 % more people", {budget: 1.25 * count for budget, count in people.items()}
    yield "twice as many people", {budget: 2 * count for budget, count in people.items()}


def _raised_by_tier(people: People) -> Iterator[tuple[str, People]]:
    """Everyone in a tier raised to the next one (the last tier: doubled), for each tier; and every budget doubled."""
    budgets = list(people)
    for budget, more in zip(budgets, [*budgets[1:], 2 * budgets[-1]], strict=True):
        if budget < more:
            moved = people | {budget: 0.0, more: people.get(more, 0.0) + people[budget]}
            yield f"everyone at {budget_in_words(budget)} raised to {budget_in_words(more)}", moved
    if len(people) > 1:
        yield _doubled(people)


def _raised_to_median(people: People) -> Iterator[tuple[str, People]]:
    """Everyone below the median budget raised to it; and every budget doubled."""
    counts = np.cumsum(list(people.values()))
    median = list(people)[int(np.searchsorted(counts, counts[-1] / 2))]
    raised = {budget: count for budget, count in people.items() if budget > median}
    below = sum(count for budget, count in people.items() if budget <= median)
    yield f"everyone below the median, {budget_in_words(median)}, raised to it", {median: below} | raised
    yield _doubled(people)


def _doubled(people: People) -> tuple[str, People]:
    return "every budget doubled", {2 * budget: count for budget, count in people.items()}


def _planned(plan: Plan, people: People) -> Plan | None:
    """The plan for these people, all else being equal; None if it is refused.

    The public range of budgets is widened if need be.
    """
    model = plan.model
    whose = plan.whose
    if model.budget_range is not None:
        low, high = model.budget_range
        model = make_model(model.name, (low, max(high, *people)))
    if whose.tiers:
        whose = replace(whose, tiers=tuple(sorted(filter(None, people))))
    share = floor_share(CENSUS_PART * sum(plan.shares.values()))
    return plan_like(plan, census_of_tiers(people, model, share), model, whose)
