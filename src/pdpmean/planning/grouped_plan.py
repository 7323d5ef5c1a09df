"""`GroupedPlan`: one plan per group, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pdpmean.core.html import as_html
from pdpmean.core.text import as_table, short
from pdpmean.errors import InsufficientBudgetError
from pdpmean.planning.plan import Plan

__all__ = ["GroupedPlan"]


@dataclass(frozen=True, repr=False)
class GroupedPlan(Mapping[Any, Plan]):
    """The plans of the requested groups, in the order of the request; `refused` says why some have none.

    A mapping from group to `Plan`. Prints itself as a table.
    """

    groups: tuple[Hashable, ...]
    """The requested groups."""
    plans: dict[Hashable, Plan]
    """The plan of each group that has one."""
    refused: dict[Hashable, InsufficientBudgetError]
    """Why each of the other groups was refused."""

    @classmethod
    def of(cls, groups: tuple[Hashable, ...], outcomes: Sequence[Plan | InsufficientBudgetError]) -> GroupedPlan:
        """The result for these groups, given the plan or the refusal of each."""
        plans = {group: outcome for group, outcome in zip(groups, outcomes, strict=True) if isinstance(outcome, Plan)}
        refused = {
            group: outcome
            for group, outcome in zip(groups, outcomes, strict=True)
            if isinstance(outcome, InsufficientBudgetError)
        }
        return cls(groups, plans, refused)

    def __getitem__(self, group: Any) -> Plan:
        if group in self.refused:
            raise KeyError(f"{group!r} has no plan: {self.refused[group]}")
        return self.plans[group]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON."""
        return {"groups": [self._content(group) for group in self.groups]}

    def _content(self, group: Hashable) -> dict[str, Any]:
        refusal = self.refused.get(group)
        about: dict[str, Any] = {"group": group, "refused": None if refusal is None else str(refusal)}
        return about | (self.plans[group].to_dict() if refusal is None else {})

    def _cells(self) -> list[tuple[str, ...]]:
        """The table that is printed: a head, and one row of texts per group."""
        unit = next((f", in {plan.errors_in}" for plan in self.plans.values()), "")
        head = ("group", "people", "total budget", f"expected error (std){unit}", "95 % interval", "")
        return [head, *(self._line(group) for group in self.groups)]

    def _line(self, group: Hashable) -> tuple[str, ...]:
        if group in self.refused:
            refusal = self.refused[group]
            return str(group), "-", short(refusal.total), "", "", refusal.in_brief
        plan = self.plans[group]
        interval = f"+- {plan.half_width():.4g}"
        return str(group), f"{plan.people:,.0f}", short(plan.total), f"{plan.expected_std:.4g}", interval, ""

    def __repr__(self) -> str:
        refused = f", {len(self.refused)} refused" * bool(self.refused)
        return f"<GroupedPlan of {len(self.groups)} groups{refused}>"

    def __str__(self) -> str:
        return as_table(self._cells(), right_from=6)

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        return as_html(body, head)
