"""What if: the error to expect if people granted more, or were more. Public arithmetic; no value is read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pdpmean.core.quiet import quietly
from pdpmean.errors import InsufficientBudgetError
from pdpmean.plan import plan_mean
from pdpmean.planning.plan import Plan

__all__ = ["Scenario", "what_if"]

People = dict[float, float]  # how many hold which budget

_FEW = 6  # tiers; above, they are not told one by one
_CELL = 0.008  # how far off a budget may be that was counted in a cell, relatively


@dataclass(frozen=True)
class Scenario:
    """A change in who grants what, and the plan after it; None where it would be refused."""

    name: str
    plan: Plan | None


@quietly
def what_if(plan: Plan) -> list[Scenario]:
    """Each tier relaxed to the next one or doubled, each with a quarter more people, and everybody twice."""
    return [Scenario(name, _planned(plan, people)) for name, people in _changes(_people(plan))]


def _people(plan: Plan) -> People:
    """Who grants what, by the plan's census."""
    profile = plan.census.profile
    budgets = (profile.levels * plan.model.budget_per_allowance).tolist()
    held = dict(zip(budgets, profile.counts.tolist(), strict=True))
    return ({0.0: plan.census.left_out} if plan.census.left_out else {}) | held


def _changes(people: People) -> Iterator[tuple[str, People]]:
    """What might change, in words and as who grants what."""
    yield from _relaxed(people) if len(people) <= _FEW else _many_relaxed(people)
    for budget in people if 1 < len(people) <= _FEW else ():
        if budget:
            yield f"25 % more people at {_written(budget)}", people | {budget: 1.25 * people[budget]}
    yield "25 % more people", {budget: 1.25 * count for budget, count in people.items()}
    yield "twice as many people", {budget: 2 * count for budget, count in people.items()}


def _relaxed(people: People) -> Iterator[tuple[str, People]]:
    budgets = list(people)
    for budget, more in zip(budgets, [*budgets[1:], 2 * budgets[-1]], strict=True):
        if budget < more:
            moved = people | {budget: 0.0, more: people.get(more, 0.0) + people[budget]}
            yield f"everyone at {_written(budget)} raised to {_written(more)}", moved
    if len(people) > 1:
        yield _doubled(people)


def _many_relaxed(people: People) -> Iterator[tuple[str, People]]:
    counts = np.cumsum(list(people.values()))
    median = list(people)[int(np.searchsorted(counts, counts[-1] / 2))]
    raised = {budget: count for budget, count in people.items() if budget > median}
    below = sum(count for budget, count in people.items() if budget <= median)
    yield f"everyone below the median, {_written(median)}, raised to it", {median: below} | raised
    yield _doubled(people)


def _doubled(people: People) -> tuple[str, People]:
    return "every budget doubled", {2 * budget: count for budget, count in people.items()}


def _planned(plan: Plan, people: People) -> Plan | None:
    """The plan for these people, all else being equal; the public range of budgets grows where it must."""
    public = plan.model.budget_range
    if public is not None:
        public = public[0], max(public[1], *people)
    try:
        return plan_mean(
            people,
            model=plan.model.name,
            budget_range=public,
            shape=plan.given_shape,
            bounds=plan.bounds,
            share=sum(plan.shares.values(), Fraction(0)),
            choices=plan.choices,
            weighting=plan.whose.weighting,
            target=plan.whose.target,
        )
    except InsufficientBudgetError:
        return None


def _written(budget: float) -> str:
    """The budget in as few digits as are within the grid it may have been counted on."""
    texts = (f"{budget:.{digits}g}" for digits in (1, 2, 3, 17))
    return next(text for text in texts if math.isinf(budget) or abs(float(text) - budget) <= _CELL * budget)
