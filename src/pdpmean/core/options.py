"""Options: everything public that a caller decides, checked once and handed on as one object.

A new option is a field here, with its check; a keyword of `estimate_mean` (and of `plan_mean`, if plans depend on it);
and a row in `cli/options.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypedDict

from pdpmean.core.choices import Choices, ShapeName, check_bounds, check_choices, check_shape, check_share
from pdpmean.core.groups import check_groups
from pdpmean.core.model import BOUNDED, Model, ModelName, make_model
from pdpmean.core.progress import Progress

__all__ = ["GivenOptions", "Options", "check_options"]


@dataclass(frozen=True)
class Options:
    """What was decided, ready for use, from the command line to the planner: it exists so that nothing is passed twice.

    `value`, `budget`, `by` and `person` are names of columns in a table, or columns beside arrays.
    """

    model: Model = BOUNDED
    shape: ShapeName = "gaussian"
    bounds: tuple[float, float] | None = None
    share: Fraction = Fraction(1)
    choices: Choices = field(default_factory=Choices)
    value: str | None = None
    budget: str | None = None
    tiers: Mapping[Any, float] | None = None
    by: Any = None
    groups: tuple[Hashable, ...] | None = None
    """The groups that are asked for, in their order."""
    person: Any = None
    budgets_given: bool = False
    """Whether the data says what people grant."""
    ledger: Any = None
    """A `pdpmean.Ledger`, which this room cannot know."""
    purpose: str | None = None
    analyst: str | None = None
    spend: Any = None


def check_options(
    *,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    shape: str | None = None,
    bounds: tuple[float, float] | None = None,
    share: float | Fraction = 1,
    choices: Choices | None = None,
    by: Any = None,
    groups: Any = None,
    **columns: Any,
) -> Options:
    """The options, checked: all of them are public, so whatever is wrong may be told."""
    limits = check_bounds(bounds)
    return Options(
        model=make_model(model, budget_range),
        shape=check_shape(shape, limits),
        bounds=limits,
        share=check_share(share),
        choices=check_choices(choices),
        by=by,
        groups=check_groups(by, groups),
        **columns,
    )


class GivenOptions(TypedDict, total=False):
    """The keywords of `estimate_mean` beside columns and groups, for type checkers; described there."""

    value: str | None
    budget: str | None
    tiers: Mapping[Any, float] | None
    person: Any
    ledger: Any
    purpose: str | None
    analyst: str | None
    spend: Any
    model: ModelName
    budget_range: tuple[float, float] | None
    shape: ShapeName | None
    bounds: tuple[float, float] | None
    share: float | Fraction
    choices: Choices | None
    randomness: Any
    progress: Progress | None
