"""Which columns of a table hold what, and batches made of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
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
from pdpmean.sources.arrow_columns import Places, check_numeric, equal_to, listed, numbers
from pdpmean.sources.people import ids_as_text, known_ids

__all__ = ["Layout"]

_NAMED = 12  # columns that a message lists


@dataclass(frozen=True)
class Layout:
    """The names of the columns, the public lists that go with them, and whether budgets are public.

    Without `value`, batches have no values; with `equals`, they are 1 or 0. A number as `budget` is everyone's.
    """

    value: str | None
    budget: str | float
    tiers: Mapping[Any, float] | None = None
    by: str | None = None
    groups: Sequence[Hashable] | None = None
    person: str | None = None
    equals: str | None = None
    public: bool = True
    merged: bool = False
    """Whether all rows of a person become one record; how many rows there are is private then."""

    @property
    def roles(self) -> dict[str, str]:
        """The column of each role."""
        columns = {"value": self.value, "budget": self.budget, "by": self.by, "person": self.person}
        return {role: name for role, name in columns.items() if isinstance(name, str)}

    @property
    def numeric(self) -> dict[str, str]:
        """The roles that need numbers, and their columns."""
        plain = {"value": self.equals is None, "budget": self.tiers is None}
        return {role: name for role, name in self.roles.items() if plain.get(role)}

    @property
    def names_of_people(self) -> list[str]:
        """The columns that tell who takes part, and at which budget."""
        return list(dict.fromkeys(name for role, name in self.roles.items() if role != "value"))

    def names(self, *, values: bool) -> list[str]:
        """The columns that a pass reads: one at least, since even one budget for all must be counted."""
        needed = {"value", "budget", "by"} if values else {"budget", "by"}
        names = [name for role, name in self.roles.items() if role in needed]
        return list(dict.fromkeys(names)) or list(self.roles.values())[:1]

    @cached_property
    def tier_budgets(self) -> dict[str, float]:
        """The budget of each tier, by its name as text."""
        return {} if self.tiers is None else tier_budgets(self.tiers)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The groups asked for, as text."""
        return tuple(str(group) for group in self.groups or ())

    def check_names(self, present: Sequence[str], table: str = "the table") -> None:
        """Raise unless every column is there, once."""
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

    def is_yes_or_no(self, schema: pa.Schema) -> bool:
        """Whether values are of the type of yes and no; not where they are compared with an entry."""
        return self.value is not None and self.equals is None and pa.types.is_boolean(schema.field(self.value).type)

    def budget_column(self, *, has_header: bool = False) -> BudgetColumn | None:
        """Where budgets are, where they have a column of their own."""
        return BudgetColumn(self.budget, has_header) if isinstance(self.budget, str) else None

    def check_types(self, schema: pa.Schema) -> None:
        """Raise unless every column can hold what it is said to."""
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
        """What finds entries of this type in a public list; raises if it cannot. Every batch asks, so it is kept."""
        if (role, kind) not in self._known_places:
            labels, name = (self.labels, self.by) if role == "groups" else (tuple(self.tier_budgets), self.budget)
            self._known_places[role, kind] = Places(listed(labels, kind, role, str(name)))
        return self._known_places[role, kind]

    def people(self, records: pa.RecordBatch) -> tuple[list[str | None], Floats]:
        """The id of each record, None for one that takes no part, and its budget."""
        assert self.person is not None
        groups = self._groups(records)
        taking_part = None if groups is None else groups < len(self.labels)
        ids = ids_as_text(records.column(self.person), self.person, taking_part, public=self.public)
        return ids, self._budgets(records)

    def identified(self, records: pa.RecordBatch) -> tuple[pa.Array, Batch]:
        """The ids as text, null for nobody's, and the records."""
        assert self.person is not None
        ids = known_ids(records.column(self.person), self.person, None, public=self.public)
        return ids, self.batch(records, values=True)

    def batch(self, records: pa.RecordBatch, *, values: bool) -> Batch:
        """The records as arrays."""
        found = self._values(records.column(self.value)) if values and self.value is not None else np.empty(0)
        return Batch(found, self._budgets(records), self._groups(records))

    def _values(self, column: pa.Array) -> Floats:
        return numbers(column) if self.equals is None else equal_to(column, self._category(column.type))

    def _category(self, kind: pa.DataType) -> pa.Scalar:
        """The entry that counts as 1, in the type of the column; raises if that has none like it."""
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
    """The closest column and the list of them, in a few words."""
    meant = did_you_mean(name, present)
    if role == "budget" and name.replace(".", "").isdigit():
        meant = f"; {ONE_FOR_ALL_HINT}"
    names = ", ".join(map(str, present[:_NAMED])) + f" and {len(present) - _NAMED} more" * (len(present) > _NAMED)
    return f"{meant}\nIts columns: {names}"
