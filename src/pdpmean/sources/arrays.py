"""Arrays: columns in memory, as a source of batches."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch
from pdpmean.passes.source import SEARCHED, BatchSource
from pdpmean.sources.labels import text_or_missing

__all__ = ["ArraySource"]

_BATCH = 2**20  # records


class ArraySource(BatchSource):
    """Records in arrays of equal length.

    `codes` are the positions of the records' groups in the list of groups, and `people` their ids. `public` says
    whether participation is.
    """

    by: Iterable[Any] = ()
    """The column of groups itself, to look for misspelt groups."""

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
        self._values = values
        self._budgets = budgets
        self._codes = codes
        self._people = people
        self._public = public
        self.groups = groups
        self.rows = budgets.size

    def batches(self, *, values: bool = True) -> Iterator[Batch]:  # noqa: ARG002 (leaving them out saves nothing)
        """Slices of the arrays; nothing is copied."""
        for start in range(0, self._budgets.size, _BATCH):
            part = slice(start, start + _BATCH)
            codes = None if self._codes is None else self._codes[part]
            yield Batch(self._values[part], self._budgets[part], codes)

    def group_entries(self) -> set[str]:
        """The distinct entries in the column of groups, of the first records."""
        with suppress(Exception):  # the column may be any object, whose own code makes the entries
            texts = map(text_or_missing, islice(self.by, SEARCHED))
            return {text for text in texts if text is not None}
        return set()

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The ids of the records, and their budgets."""
        from pdpmean.sources.people import ids_as_text

        for start in range(0, self._budgets.size, _BATCH):
            part = slice(start, start + _BATCH)
            taking_part = None if self._codes is None else self._codes[part] < (self.groups or 0)
            yield ids_as_text(self._texts(part), "person", taking_part, public=self._public), self._budgets[part]

    def identified(self) -> Iterator[tuple[Any, Batch]]:
        """The ids as text, null where a record names nobody, and the records that they belong to."""
        from pdpmean.sources.people import known_ids

        for number, batch in enumerate(self.batches()):
            texts = self._texts(slice(number * _BATCH, (number + 1) * _BATCH))
            yield known_ids(texts, "person", None, public=self._public), batch

    def _texts(self, part: slice) -> Any:
        """The ids of some records as an Arrow array of text; null for an entry that names nobody."""
        import pyarrow as pa

        from pdpmean.sources.people import id_as_text

        return pa.array([id_as_text(entry) for entry in self._people[part]], pa.large_string())

    def duplicate_person(self) -> bool:
        """Whether two records have the same id."""
        with suppress(Exception):  # comparing ids may raise anything
            return len(set(self._people)) < len(self._people)
        raise InvalidInputError("person must be a column of numbers or text", name="person")
