"""Whose mean is asked for: who counts how much, and whether it is that of these people or of where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pdpmean.core.checks import tier_budgets
from pdpmean.errors import InvalidInputError

__all__ = ["AUTO", "SettledWeighting", "Target", "Weighting", "Whose", "check_whose"]

Weighting = Literal["auto", "everyone", "budgets"]
"""How much people count: all the same, by their budgets, or as the plan says."""
SettledWeighting = Literal["auto", "everyone", "budgets", "pooled"]
"""The same, or what a plan has settled on: by budgets as far as values do not go with them."""
Target = Literal["population", "people"]
"""The mean of the population that people come from, or of these people themselves."""


@dataclass(frozen=True)
class Whose:
    """Who counts how much, and what for; and the budgets that people publicly choose from, where these are tiers."""

    weighting: SettledWeighting = "auto"
    target: Target = "population"
    tiers: tuple[float, ...] = field(default=(), compare=False)

    @property
    def are_these_people(self) -> bool:
        """Whether the mean is that of the people in the table."""
        return self.target == "people"


AUTO = Whose()


def check_whose(weighting: str, target: str, tiers: Mapping[Any, float] | None) -> Whose:
    """Whose mean is asked for, checked."""
    _check_word("weighting", weighting, get_args(Weighting))
    _check_word("target", target, get_args(Target))
    granting = {budget for budget in tier_budgets(tiers).values() if budget > 0} if tiers else set()
    return Whose(weighting, target, tuple(sorted(granting)))  # type: ignore[arg-type]


def _check_word(name: str, word: str, words: tuple[str, ...]) -> None:
    if word not in words:
        listed = ", ".join(repr(one) for one in words[:-1]) + f" or {words[-1]!r}"
        raise InvalidInputError(f"{name} must be {listed}; got {word!r}", name=name, value=word)
