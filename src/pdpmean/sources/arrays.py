"""Columns in memory."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch
from pdpmean.passes.source import BatchSource

__all__ = ["ArraySource"]

_BATCH = 2**20


class ArraySource(BatchSource):
    """Arrays of one length."""

    def __init__(
        self,
        values: Floats,
        budgets: Floats,
        codes: NDArray[np.int32] | None = None,
        groups: int | None = None,
        people: Sequence[Hashable] = (),
        *,
        public: bool = True,
    ) -> None:
        self._values, self._budgets, self._codes, self._people = values, budgets, codes, people
        self.groups, self.rows, self._public = groups, budgets.size, public

    def batches(self, *, values: bool = True) -> Iterator[Batch]:  # noqa: ARG002 (leaving them out saves nothing)
        """Slices of the arrays; nothing is copied."""
        for start in range(0, self._budgets.size, _BATCH):
            part = slice(start, start + _BATCH)
            codes = None if self._codes is None else self._codes[part]
            yield Batch(self._values[part], self._budgets[part], codes)

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The id of each record, and its budget."""
        from pdpmean.sources.people import ids_as_text

        for start in range(0, self._budgets.size, _BATCH):
            part = slice(start, start + _BATCH)
            taking_part = None if self._codes is None else self._codes[part] < (self.groups or 0)
            yield ids_as_text(self._texts(part), "person", taking_part, public=self._public), self._budgets[part]

    def identified(self) -> Iterator[tuple[Any, Batch]]:
        """Ids as text, null for nobody's, and the records that they belong to."""
        from pdpmean.sources.people import known_ids

        for place, batch in enumerate(self.batches()):
            texts = self._texts(slice(place * _BATCH, (place + 1) * _BATCH))
            yield known_ids(texts, "person", None, public=self._public), batch

    def _texts(self, part: slice) -> Any:
        import pyarrow as pa

        from pdpmean.sources.people import id_as_text

        return pa.array([id_as_text(entry) for entry in self._people[part]], pa.large_string())

    def duplicate_person(self) -> bool:
        """Whether two records have the same id."""
        with suppress(Exception):  # whatever an id raises when it is compared
            return len(set(self._people)) < len(self._people)
        raise InvalidInputError("person must be a column of numbers or text", name="person")
