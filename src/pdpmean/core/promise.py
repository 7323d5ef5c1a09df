"""Promise: the privacy guarantee of a release in words, with what it assumes to be public."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pdpmean.core.losses import what_losses_mean
from pdpmean.core.model import Model
from pdpmean.core.run import Run
from pdpmean.core.spending import Spending

__all__ = ["Promise"]


@dataclass(frozen=True)
class Promise:
    """The guarantee of a release. `str` puts it into words; it exists so that every result can state it."""

    model: Model
    spent: Fraction
    """The share of every budget that was used."""
    private: bool = True
    """False if randomness was seeded: then nobody is protected."""
    groups: int | None = None
    """The number of groups; None if there are none."""
    unique: bool = False
    """Whether it was checked that no two records have the same person's id."""
    merged: bool = False
    """Whether the rows of each person were merged into one record."""
    release: int | None = None
    """The number of the release in the ledger, if one was charged."""
    spending: Spending | None = None
    """What the ledger has charged, if there is one."""
    run: Run | None = None
    """Which release it is; None for a simulation."""

    @property
    def cost_of_another(self) -> str:
        """What to know before another run, in words."""
        if self.release is not None:
            return "the ledger has charged everybody for this run; another run would be charged on top of it"
        spent = "all of every budget" if self.spent == 1 else f"{float(self.spent):.3g} of every budget"
        return f"this run has spent {spent}; another run would spend as much again"

    def to_dict(self) -> dict[str, Any]:
        """The release and its losses, ready for JSON."""
        if self.run is None:
            return {"run": None, "losses": None, "what_a_loss_means": None, "spending": None}
        losses = self.run.losses
        sentence, rows = what_losses_mean(bounded=self._bounded)
        return {
            "run": {**self.run.to_dict(), "release": self.release},
            "losses": None if losses is None else [loss.to_dict() for loss in losses],
            "what_a_loss_means": {"in_words": sentence, **dict(rows)},
            "spending": self.spending and self.spending.to_dict(),
        }

    def __str__(self) -> str:
        if not self.private:
            return "NOT PRIVATE: made with seeded randomness, for simulation only. Do not publish."
        return " ".join([self._bound, self._public, self._one_record])

    @property
    def _bound(self) -> str:
        factor = "exp(budget)" if self.spent == 1 else f"exp({float(self.spent):.6g} * budget)"
        if self.release is not None:
            factor = f"exp(cost), where cost is what the ledger charged them for release {self.release}"
        change = "replacing one person's value" if self._bounded else "adding or removing one person"
        if self.merged:
            change = f"{'replacing' if self._bounded else 'adding or removing'} all rows of one person"
        return (
            f"Pure personalized differential privacy, at every person's own budget: {change} changes the probability "
            f"of any output by a factor of at most {factor}{', all groups together' if self.groups else ''}."
        )

    @property
    def _public(self) -> str:
        if self._bounded:
            group = " and group" if self.groups else ""
            return f"Who takes part and everybody's budget{group} are assumed to be public."
        low, high = self.model.public_range
        groups = " and the list of groups are" if self.groups else " is"
        what = "budgets" if self.release is None else "costs"
        return f"Only the range of {what}, {low:g} to {high:g},{groups} assumed to be public."

    @property
    def _one_record(self) -> str:
        if self.merged:
            budget = ", at the smallest of their budgets" if self.release is None else ""
            return f"All rows of a person are one record{budget}."
        if self.unique:
            return "No two records have the same person's id."
        return f"Assumes one record per person{', in one group' if self.groups else ''}."

    @property
    def _bounded(self) -> bool:
        return self.model.budgets_are_public
