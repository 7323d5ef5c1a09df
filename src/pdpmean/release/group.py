"""Groups on their way through the steps: one record each, to which every step adds what it released."""

from __future__ import annotations

from dataclasses import dataclass

from pdpmean.passes.cells import Held
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, Released, ReleasedSums

__all__ = ["Group"]


@dataclass(frozen=True)
class Group:
    """The budgets of a group, its plan (none where it was refused), and what has been released of it so far."""

    held: Held
    plan: Plan | None
    weight_squares: float | None = None
    location: Location | None = None
    averaged: ReleasedSums | None = None

    @property
    def released(self) -> Released | None:
        """All that was released, once every step is done; None for a group that was refused."""
        if self.plan is None or self.location is None or self.averaged is None:
            return None
        return Released(self.plan, self.location, self.averaged, self.weight_squares)
