"""Options: everything public that a caller decides, checked once and passed on as one object.

To add an option, add a field here with its check, a keyword to `estimate_mean` (and to `plan_mean`, if plans depend on
it), and a row to `cli/options.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypedDict

from pdpmean.core.bounds import UNKNOWN, Bounds, GivenBounds, check_bounds
from pdpmean.core.checks import check_equals
from pdpmean.core.choices import (
    Choices,
    GivenShape,
    MissingName,
    ShapeName,
    check_choices,
    check_missing,
    check_shape,
    check_share,
    given_shape,
)
from pdpmean.core.groups import check_groups
from pdpmean.core.model import BOUNDED, Model, ModelName, make_model
from pdpmean.core.progress import Progress
from pdpmean.core.whose import AUTO, Target, Weighting, Whose, check_whose
from pdpmean.errors import InvalidInputError

__all__ = ["GivenOptions", "GivenPlanOptions", "Options", "check_options"]

_YES_AND_NO = Bounds(0.0, 1.0)


@dataclass(frozen=True)
class Options:
    """The checked options of an estimate or a plan, which `estimate_mean` documents.

    It exists so that options are checked in one place, and functions take one argument instead of twenty. `value`,
    `budget`, `by` and `person` are the names of columns if a table is given; beside arrays, `by` and `person` are the
    columns themselves.
    """

    model: Model = BOUNDED
    shape: ShapeName = "any"
    bounds: Bounds = UNKNOWN
    share: Fraction = Fraction(1)
    choices: Choices = field(default_factory=Choices)
    whose: Whose = AUTO
    nothing_missing: bool = False
    """Whether it is public knowledge that no value is missing."""
    value: str | None = None
    equals: str | None = None
    """The entry that counts as 1, while every other counts as 0; None if values are numbers."""
    is_boolean: bool = False
    """Whether the column of values is boolean, by its type."""
    budget: str | None = None
    tiers: Mapping[Any, float] | None = None
    by: Any = None
    groups: tuple[Hashable, ...] | None = None
    """The groups to report, in this order."""
    person: Any = None
    rows: str | None = None
    """What becomes of a person's rows: "mean" merges them into one record; None makes each a record."""
    budgets_given: bool = False
    """Whether budgets come with the data, rather than from the ledger."""
    ledger: Any = None
    """A `pdpmean.Ledger`; untyped, because this room may not import ledgers."""
    purpose: str | None = None
    analyst: str | None = None
    spend: Any = None

    @property
    def ids_are_checked(self) -> bool:
        """Whether to check that no id occurs twice: if ids serve neither to merge rows nor to charge a ledger."""
        return self.person is not None and self.rows is None and self.ledger is None

    def for_booleans(self) -> Options:
        """The options for a boolean column: its bounds are 0 and 1, unless the caller gave others, or a shape."""
        if self.bounds.are_given or given_shape(self.shape) != "any":
            return replace(self, is_boolean=True)
        return replace(self, is_boolean=True, bounds=_YES_AND_NO, shape=check_shape("any", _YES_AND_NO))

    @property
    def size_is_private(self) -> bool:
        """Whether the number of rows is private: in the unbounded model, and wherever a person's rows are merged."""
        return self.rows is not None or not self.model.budgets_are_public


def check_options(
    *,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    shape: str = "any",
    bounds: GivenBounds | None = None,
    share: float | Fraction = 1,
    choices: Choices | None = None,
    weighting: str = "auto",
    target: str = "population",
    tiers: Mapping[Any, float] | None = None,
    missing: str = "some",
    equals: Any = None,
    by: Any = None,
    groups: Any = None,
    person: Any = None,
    rows: Any = None,
    **columns: Any,
) -> Options:
    """The checked options. All of them are public, so that an error may say what is wrong."""
    category = check_equals(equals)
    limits = check_bounds(bounds) if category is None else _bounds_of_category(bounds)
    return Options(
        model=make_model(model, budget_range),
        shape=check_shape(shape, limits),
        bounds=limits,
        share=check_share(share),
        choices=check_choices(choices),
        whose=check_whose(weighting, target, tiers),
        tiers=tiers,
        nothing_missing=check_missing(missing),
        equals=category,
        by=by,
        groups=check_groups(by, groups),
        person=person,
        rows=_check_rows(rows, person),
        **columns,
    )


def _check_rows(rows: Any, person: Any) -> str | None:
    """The checked option `rows`, which needs a column of ids."""
    if rows not in (None, "mean"):
        raise InvalidInputError(f"rows must be 'mean', or left out; got {rows!r}", name="rows", value=rows)
    if rows is not None and person is None:
        raise InvalidInputError("rows needs person='...', the column of ids", name="person")
    return None if rows is None else "mean"


def _bounds_of_category(bounds: Any) -> Bounds:
    """The bounds of values that are 1 or 0 because `equals` was given; raises if others were given as well."""
    if bounds is not None and check_bounds(bounds) != _YES_AND_NO:
        raise InvalidInputError(
            f"equals makes every value 1 or 0, so the bounds are (0, 1); leave them out; got {bounds!r}",
            name="bounds",
            value=bounds,
        )
    return _YES_AND_NO


class GivenPlanOptions(TypedDict, total=False):
    """The keywords of `plan_mean` beside groups, for type checkers; described there."""

    equals: str | float | None
    budget: str | None
    tiers: Mapping[Any, float] | None
    person: Any
    rows: Literal["mean"] | None
    ledger: Any
    spend: Any
    model: ModelName
    budget_range: tuple[float, float] | None
    shape: GivenShape
    bounds: GivenBounds | None
    share: float | Fraction
    choices: Choices | None
    weighting: Weighting
    target: Target
    progress: Progress | None


class GivenOptions(GivenPlanOptions, total=False):
    """The keywords of `estimate_mean` beside columns and groups, for type checkers; described there."""

    value: str | None
    purpose: str | None
    analyst: str | None
    missing: MissingName
    randomness: Any
