"""Cost: the sections of a report that say what a release cost, what a privacy loss means, and which release it was."""

from __future__ import annotations

from typing import Any

from pdpmean.core.losses import Loss, guesses_right, what_losses_mean
from pdpmean.core.promise import Promise
from pdpmean.core.text import short

__all__ = ["cost_of", "run_of"]


def run_of(promise: Promise) -> list[tuple[str, str]]:
    """Pairs of name and text that identify the release; empty for a simulation."""
    run = promise.run
    if run is None:
        return []
    entries = {
        "run": run.id,
        "date": run.at.replace("T", " ").replace("+00:00", " UTC"),
        "purpose": run.purpose,
        "made by": run.analyst,
        "data": run.dataset,
        "fingerprint": run.fingerprint,
        "release in the ledger": None if promise.release is None else str(promise.release),
        "cost": promise.spending and str(promise.spending),
    }
    return [(name, text) for name, text in entries.items() if text]


def cost_of(promise: Promise) -> dict[str, Any] | None:
    """The variables of the template for the tables of losses and their meaning; None for a simulation."""
    if promise.run is None:
        return None
    sentence, meanings = what_losses_mean(bounded=promise.model.budgets_are_public)
    return {
        "sentence": sentence,
        "meanings": meanings,
        "losses": [_row(loss) for loss in promise.run.losses or ()],
        "private": promise.run.losses is None,
    }


def _row(loss: Loss) -> list[str]:
    """A line of the table: budget (with tier names), people, privacy loss, and right guesses of an attacker in 100."""
    name = ", ".join(loss.tiers)
    budget = f"{name} ({loss.budget})" if name else loss.budget
    return [budget, f"{loss.people:,}", short(loss.loss), f"{guesses_right(loss.loss):.1f}"]
