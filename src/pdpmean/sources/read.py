"""Read: whatever data the caller passes in, as a source of records.

This is where an estimate begins: it finds out whether the data are arrays, a table, files or a Spark DataFrame, checks
what is public about them, and opens the source for that kind. Modules for tables are imported only if there is one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from pdpmean.core.checks import ONE_FOR_ALL_HINT, check_budgets
from pdpmean.core.options import Options
from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.errors import InvalidInputError
from pdpmean.passes.source import Source
from pdpmean.sources.arrays import ArraySource
from pdpmean.sources.categories import Category
from pdpmean.sources.labels import codes_of, entries_of
from pdpmean.sources.private_columns import (
    budgets_of_tiers,
    has_boolean_type,
    people_of_tiers,
    private_records,
    records,
)

__all__ = ["read", "read_ids", "read_people"]


def read(data: Any, budgets: Any, options: Options) -> Source:
    """The source of records: a table if the options name its columns, otherwise arrays."""
    if options.ids_are_checked and not options.model.budgets_are_public:
        raise InvalidInputError(
            "person can be checked only in the bounded model, since participation is private in the unbounded model. "
            "Pass rows='mean' to merge each person's rows into one record, or use a ledger",
            name="person",
        )
    if options.value is None and options.budget is not None:
        raise InvalidInputError("name the column of values, value='...', as well", name="value")
    if options.value is not None and options.value == options.budget:
        raise InvalidInputError(f"value and budget name the same column, {options.value!r}", name="budget")
    source = (_read_arrays if options.value is None else _read_table)(data, budgets, options)
    return _each_person_once(source, options)


def _each_person_once(source: Source, options: Options) -> Source:
    """The source, after checking that no id occurs twice, if the options ask for that."""
    if options.ids_are_checked and source.duplicate_person():
        raise InvalidInputError(
            "a person has more than one record; the guarantee is for one record per person. Pass rows='mean' to merge "
            "them",
            name="person",
        )
    return source


def read_people(budgets: Any, options: Options) -> Source | Mapping[float, float]:
    """The budgets that a plan is made for: a source of records with budgets, or the number of people per budget."""
    if options.budget is not None:
        return _each_person_once(_read_table(budgets, None, options), options)
    for name in ("rows", "person", "by"):
        if getattr(options, name) is not None:
            raise InvalidInputError(
                f"{name} goes with a table: plan_mean(table, budget='...', {name}='...')", name=name
            )
    if isinstance(budgets, (str, os.PathLike)) or hasattr(budgets, "columns"):
        raise InvalidInputError("name the column of budgets: plan_mean(table, budget='...')", name="budget")
    if np.ndim(budgets) == 0 and not isinstance(budgets, Mapping):
        raise InvalidInputError(
            f"plan_mean needs to know how many people there are: {{{budgets!r}: people}}, or one budget per person",
            name="budgets",
            value=budgets,
        )
    if options.tiers is not None:
        budgets = people_of_tiers(budgets, options.tiers)
    if isinstance(budgets, Mapping):
        return budgets
    granted = check_budgets(budgets)
    if granted.size >= SMALLEST_BATCH:
        return ArraySource(granted, granted)
    levels, counts = np.unique(granted, return_counts=True)
    return dict(zip(levels.tolist(), counts.tolist(), strict=True))


def read_ids(data: Any, options: Options) -> Source:
    """A table as a source of records, of which only the column of ids will be read."""
    return _read_table(data, None, options)


def _read_arrays(values: Any, budgets: Any, options: Options) -> Source:
    """Columns in memory, as a source."""
    if budgets is None and options.ledger is not None:
        budgets = 0.0  # a placeholder, until the ledger provides them
    if budgets is None or isinstance(values, (str, os.PathLike)):
        raise InvalidInputError(
            "estimate_mean takes two columns, (values, budgets), or a table with the names of two, "
            "(table, value='...', budget='...')",
            name="budgets",
        )
    if hasattr(values, "columns"):
        raise InvalidInputError(
            "values is a table: name its columns, estimate_mean(table, value='...', budget='...')", name="values"
        )
    _check_indexes({"values": values, "budgets": budgets, "by": options.by, "person": options.person})
    if options.tiers is not None:
        budgets = budgets_of_tiers(budgets, options.tiers, public=options.model.budgets_are_public)
    is_boolean = options.equals is None and has_boolean_type(values)
    if options.equals is not None:
        values = Category(options.equals).values(values)
    # Where rows are merged, their number is private, and no message may mention it.
    numbers, granted = private_records(values, budgets) if options.rows else records(options.model, values, budgets)
    codes = None
    if options.groups is not None:
        codes = codes_of(_column("by", options.by), options.groups)
        _check_length("by", codes.size, numbers.size)
    people: list[Any] = []
    if options.person is not None:
        people = entries_of(_column("person", options.person), "person")
        _check_length("person", len(people), numbers.size)
    groups = None if options.groups is None else len(options.groups)
    source = ArraySource(numbers, granted, codes, groups, people, public=options.model.budgets_are_public)
    source.is_boolean = is_boolean
    source.by = () if options.by is None else options.by
    return _merged(source, options) if options.rows else source


def _merged(source: Any, options: Options) -> Source:
    """The source with the rows of each person merged into one record."""
    from pdpmean.sources.merge import MergedSource

    return MergedSource(source, public=options.model.budgets_are_public)


def _check_indexes(columns: Mapping[str, Any]) -> None:
    """Raise if pandas columns have different indexes: pairing them by position would mix up people."""
    indexed = {name: column for name, column in columns.items() if _has_index(column)}
    (first_name, first_column), *others = [*indexed.items()] or [("", None)]
    for name, column in others:
        if len(column) == len(first_column) and not column.index.equals(first_column.index):
            raise InvalidInputError(
                f"{first_name} and {name} are pandas columns whose indexes differ, so people would be mixed up. Align "
                "them, or take them from one frame; to match them by position, pass .to_numpy() of both",
                name=name,
            )


def _has_index(column: Any) -> bool:
    return type(column).__module__.split(".")[0] == "pandas" and hasattr(column, "index")


def _column(name: str, column: Any) -> Any:
    """The column, if it is one; `name` is the argument that it was passed as."""
    if isinstance(column, str):
        raise InvalidInputError(f"{name}={column!r} names a column, but no table was given", name=name, value=column)
    if not isinstance(column, Iterable) or getattr(column, "ndim", 1) != 1:
        raise InvalidInputError(f"{name} must be one column, with an entry for each value", name=name)
    return column


def _check_length(name: str, length: int, expected: int) -> None:
    """Raise if a column is not as long as the values; the lengths themselves may be private."""
    if length != expected:
        raise InvalidInputError(
            f"values and {name} must go together, one entry per value; their lengths differ", name=name
        )


def _read_table(data: Any, budgets: Any, options: Options) -> Source:
    """A table, file or Spark DataFrame, as a source; Arrow and Spark are imported only here."""
    from pdpmean.sources.layout import Layout
    from pdpmean.sources.opening import open_table

    for name in ("value", "budget", "by", "person"):
        column = getattr(options, name)
        if column is not None and not isinstance(column, str):
            hint = f"; {ONE_FOR_ALL_HINT}" if name == "budget" else ""
            raise InvalidInputError(f"{name} must be the name of a column of the table{hint}", name=name)
    layout = Layout(
        value=options.value,
        budget=_budget_of(budgets, options),
        tiers=options.tiers,
        by=options.by,
        groups=options.groups,
        person=options.person,
        equals=options.equals,
        public=options.model.budgets_are_public,
        merged=options.rows is not None,
    )
    if type(data).__module__.startswith("pyspark."):
        from pdpmean.sources.spark.source import SparkSource

        return SparkSource(data, layout)
    source = open_table(data, layout)
    return _merged(source, options) if options.rows else source


def _budget_of(budgets: Any, options: Options) -> str | float:
    """The name of the column of budgets, or the one budget for everybody."""
    if budgets is None and options.budget is None and options.ledger is not None:
        return 0.0  # a placeholder, until the ledger provides them
    if (budgets is None) == (options.budget is None):
        raise InvalidInputError(
            "name the column of budgets, budget='...', or give one budget for everybody", name="budget"
        )
    if options.budget is not None:
        return options.budget
    if options.tiers is not None:
        raise InvalidInputError("tiers go with a column of tier names, budget='...'", name="tiers")
    if not isinstance(budgets, Real):
        raise InvalidInputError(
            "with a table, budgets must be one number for everybody; for a column, pass budget='its name'",
            name="budgets",
        )
    everyones = float(budgets)
    return float(check_budgets(everyones)[0]) if options.model.budgets_are_public else everyones
