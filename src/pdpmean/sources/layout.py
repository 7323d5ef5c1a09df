"""Layout: which columns of a table hold values, budgets, groups and ids, and how they become batches.

Files, tables in memory and Spark share it, so that columns are checked and converted in the same way everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pdpmean.core.checks import ONE_FOR_ALL_HINT, BudgetColumn, budgets_by_tier, tier_budgets
from pdpmean.core.text import did_you_mean
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch
from pdpmean.passes.source import SEARCHED
from pdpmean.sources.arrow_columns import Places, check_numeric, equal_to, listed, numbers
from pdpmean.sources.people import ids_as_text, known_ids

__all__ = ["Layout"]

_NAMED = 12  # the largest number of columns that a message lists


@dataclass(frozen=True)
class Layout:
    """The names of the columns in a table, and the public lists of tiers and groups.

    Without `value`, batches have no values; with `equals`, values are 1 or 0. If `budget` is a number, it is everyone's
    budget.
    """

    value: str | None
    budget: str | float
    tiers: Mapping[Any, float] | None = None
    by: str | None = None
    groups: Sequence[Hashable] | None = None
    person: str | None = None
    equals: str | None = None
    public: bool = True
    """Whether budgets and participation are public."""
    merged: bool = False
    """Whether the rows of a person are merged into one record; the number of rows is then private."""

    @property
    def roles(self) -> dict[str, str]:
        """The name of the column in each role: value, budget, by and person."""
        columns = {"value": self.value, "budget": self.budget, "by": self.by, "person": self.person}
        return {role: name for role, name in columns.items() if isinstance(name, str)}

    @property
    def numeric(self) -> dict[str, str]:
        """The roles whose columns must hold numbers, and the names of these columns."""
        needs_numbers = {"value": self.equals is None, "budget": self.tiers is None}
        return {role: name for role, name in self.roles.items() if needs_numbers.get(role)}

    @property
    def names_of_people(self) -> list[str]:
        """The columns that say who takes part, and with which budget: all but the values."""
        return list(dict.fromkeys(name for role, name in self.roles.items() if role != "value"))

    def names(self, *, values: bool) -> list[str]:
        """The columns that a pass reads; at least one, since records must be counted even if all have one budget."""
        needed = {"value", "budget", "by"} if values else {"budget", "by"}
        names = [name for role, name in self.roles.items() if role in needed]
        return list(dict.fromkeys(names)) or list(self.roles.values())[:1]

    @cached_property
    def tier_budgets(self) -> dict[str, float]:
        """The budget of each tier, by its name as text."""
        return {} if self.tiers is None else tier_budgets(self.tiers)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The groups to report, as text."""
        return tuple(str(group) for group in self.groups or ())

    def check_names(self, present: Sequence[str], table: str = "the table") -> None:
        """Raise unless the table has every named column exactly once."""
        for role, name in self.roles.items():
            if name not in present:
                raise InvalidInputError(
                    f"{table} has no column {name!r}{_hint(role, name, present)}", name=role, value=name
                )
            if list(present).count(name) > 1:
                raise InvalidInputError(f"{table} has two columns {name!r}; rename one", name=role, value=name)

    def types(self, schema: pa.Schema) -> dict[str, str]:
        """The type of each named column."""
        return {name: str(schema.field(name).type) for name in self.roles.values()}

    def is_boolean(self, schema: pa.Schema) -> bool:
        """Whether the column of values is boolean; False if its entries are compared with `equals`."""
        return self.value is not None and self.equals is None and pa.types.is_boolean(schema.field(self.value).type)

    def budget_column(
        self,
        *,
        has_header: bool = False,
        is_text: bool = False,
        text_of: Callable[[int], str | None] | None = None,
    ) -> BudgetColumn | None:
        """The column of budgets, for messages; None if everybody has the same budget.

        `is_text` says whether entries may be text. `text_of` reads the entry of a record; it is passed on only if
        budgets are public.
        """
        if not isinstance(self.budget, str):
            return None
        return BudgetColumn(self.budget, has_header, text_of if self.public else None, is_text)

    def check_types(self, schema: pa.Schema) -> None:
        """Raise unless the type of every column fits its role."""
        for role, name in self.numeric.items():
            check_numeric(schema.field(name).type, role, name)
        if self.equals is not None and self.value is not None:
            self._category(schema.field(self.value).type)
        if self.tiers is not None and isinstance(self.budget, str):
            self._places("tiers", schema.field(self.budget).type)
        if self.by is not None:
            self._places("groups", schema.field(self.by).type)

    @cached_property
    def _known_places(self) -> dict[tuple[str, pa.DataType], Places]:
        return {}

    def _places(self, role: str, kind: pa.DataType) -> Places:
        """The positions of entries of this type in the list of tiers or groups; raises if the list does not fit.

        Every batch needs it, so it is made once per type.
        """
        if (role, kind) not in self._known_places:
            labels, name = (self.labels, self.by) if role == "groups" else (tuple(self.tier_budgets), self.budget)
            self._known_places[role, kind] = Places(listed(labels, kind, role, str(name)))
        return self._known_places[role, kind]

    def people(self, records: pa.RecordBatch) -> tuple[list[str | None], Floats]:
        """The ids of the records, None for one that takes no part, and their budgets."""
        assert self.person is not None
        groups = self._groups(records)
        taking_part = None if groups is None else groups < len(self.labels)
        ids = ids_as_text(records.column(self.person), self.person, taking_part, public=self.public)
        return ids, self._budgets(records)

    def group_entries(self, parts: Iterable[pa.Array]) -> set[str]:
        """The distinct entries in parts of the column of groups, as text, until enough records have been seen."""
        texts: set[str] = set()
        seen = 0
        for part in parts:
            texts.update(str(entry) for entry in part.unique().to_pylist() if entry is not None)
            seen += len(part)
            if seen >= SEARCHED:
                break
        return texts

    def identified(self, records: pa.RecordBatch) -> tuple[pa.Array, Batch]:
        """The ids as text, null where a record names nobody, and the records."""
        assert self.person is not None
        ids = known_ids(records.column(self.person), self.person, None, public=self.public)
        return ids, self.batch(records, values=True)

    def batch(self, records: pa.RecordBatch, *, values: bool) -> Batch:
        """The records as a batch, without values if these are not needed."""
        doubles = self._values(records.column(self.value)) if values and self.value is not None else np.empty(0)
        return Batch(doubles, self._budgets(records), self._groups(records))

    def _values(self, column: pa.Array) -> Floats:
        if self.equals is not None:
            return equal_to(column, self._category(column.type))
        return numbers(column, reads_yes_and_no=True)

    def _category(self, kind: pa.DataType) -> pa.Scalar:
        """The entry that counts as 1, in the type of the column; raises if it cannot be an entry of that type."""
        assert self.equals is not None
        return listed((self.equals,), kind, "equals", str(self.value))[0]

    def _budgets(self, records: pa.RecordBatch) -> Floats:
        if not isinstance(self.budget, str):
            return np.broadcast_to(np.float64(self.budget), records.num_rows)
        column = records.column(self.budget)
        return numbers(column) if self.tiers is None else self._budgets_of_tiers(column)

    def _budgets_of_tiers(self, column: pa.Array) -> Floats:
        tiers = self._places("tiers", column.type).of(column)
        return budgets_by_tier(tiers, self.tier_budgets, lambda record: str(column[record].as_py()), public=self.public)

    def _groups(self, records: pa.RecordBatch) -> NDArray[np.int32] | None:
        if self.by is None:
            return None
        column = records.column(self.by)
        return self._places("groups", column.type).of(column)


def _hint(role: str, name: str, present: Sequence[str]) -> str:
    """The end of a message about a missing column: a suggestion, and the columns that there are."""
    suggestion = did_you_mean(name, present)
    if role == "budget" and name.replace(".", "").isdigit():
        suggestion = f"; {ONE_FOR_ALL_HINT}"
    names = ", ".join(map(str, present[:_NAMED])) + f" and {len(present) - _NAMED} more" * (len(present) > _NAMED)
    return f"{suggestion}\nIts columns: {names}"
