"""The state of a group on its way through the steps of an estimate.

Every step takes groups and returns them with the numbers that it released. Without groups, there is one for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass

from pdpmean.passes.cells import CellCounts
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, Released, ReleasedSums

__all__ = ["Group"]


@dataclass(frozen=True)
class Group:
    """The budgets of a group, its plan, and what has been released about it so far.

    It exists so that every step has the same signature, whether there is one group or thousands.
    """

    cells: CellCounts
    """How many of its members hold which budget: as private as budgets are."""
    plan: Plan | None
    """None if the group was refused for lack of budget: nothing more is then released about it."""
    weight_squares: float | None = None
    """Noisy sum of the squared weights, in nats squared; None where the plan has no share for it."""
    location: Location | None = None
    averaged: ReleasedSums | None = None

    @property
    def released(self) -> Released | None:
        """Everything that was released, once every step is done; None for a group that was refused."""
        if self.plan is None or self.location is None or self.averaged is None:
            return None
        return Released(self.plan, self.location, self.averaged, self.weight_squares)
