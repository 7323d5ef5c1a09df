"""Whose mean is estimated: how much people count, and whether it is that of these people or of their population."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from pdpmean.core.checks import tier_budgets
from pdpmean.errors import InvalidInputError

__all__ = ["AUTO", "Target", "Weighting", "Whose", "check_whose"]

Weighting = Literal["auto", "everyone", "budgets"]
"""How much people count: all the same, in proportion to their budgets, or as the plan decides."""
SettledWeighting = Literal["auto", "everyone", "budgets", "pooled"]
"""The weighting after planning: "pooled" combines levels of budgets by how well their released means agree."""
Target = Literal["population", "people"]
"""The mean of the population that people come from, or of the people in the data themselves."""


@dataclass(frozen=True)
class Whose:
    """How much people count, and whose mean is estimated."""

    weighting: SettledWeighting = "auto"
    target: Target = "population"
    tiers: tuple[float, ...] = field(default=(), compare=False)
    """The budgets of the public tiers, ascending and without 0; empty if there are no tiers."""

    @property
    def are_these_people(self) -> bool:
        """Whether the mean is that of the people in the data, rather than of their population."""
        return self.target == "people"

    @property
    def in_words(self) -> str:
        """Those whose mean is estimated, in words."""
        return "the people in the table" if self.are_these_people else "the population"


AUTO = Whose()


def check_whose(weighting: str, target: str, tiers: Mapping[Any, float] | None) -> Whose:
    """The options on whose mean is estimated, checked."""
    _check_word("weighting", weighting, get_args(Weighting))
    _check_word("target", target, get_args(Target))
    granting = {budget for budget in tier_budgets(tiers).values() if budget > 0} if tiers else set()
    return Whose(weighting, target, tuple(sorted(granting)))  # type: ignore[arg-type]


def _check_word(name: str, word: str, words: tuple[str, ...]) -> None:
    if word not in words:
        listed = ", ".join(repr(allowed) for allowed in words[:-1]) + f" or {words[-1]!r}"
        raise InvalidInputError(f"{name} must be {listed}; got {word!r}", name=name, value=word)
