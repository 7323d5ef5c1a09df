"""The options of an estimate, for type checkers: what `estimate_mean` takes beside columns and groups."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypedDict

from pdpmean.core.choices import Choices, ShapeName
from pdpmean.core.progress import Progress
from pdpmean.randomness import Randomness

__all__ = ["Options"]


class Options(TypedDict, total=False):
    """Described in `estimate_mean`."""

    value: str | None
    budget: str | None
    tiers: Mapping[Any, float] | None
    person: Any
    model: str
    budget_range: tuple[float, float] | None
    shape: ShapeName
    support: tuple[float, float] | None
    share: float | Fraction
    choices: Choices | None
    randomness: Randomness | None
    progress: Progress | None
