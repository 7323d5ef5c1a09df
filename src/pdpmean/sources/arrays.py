"""Columns in memory."""

from __future__ import annotations

from collections.abc import Iterator

from pdpmean.inputs import Floats
from pdpmean.sources import Batch, Source

__all__ = ["ArraySource"]

_BATCH = 2**20


class ArraySource(Source):
    """Two arrays of one length."""

    def __init__(self, values: Floats, budgets: Floats) -> None:
        self._values, self._budgets = values, budgets

    def batches(self) -> Iterator[Batch]:
        """Slices of the arrays; nothing is copied."""
        for start in range(0, self._values.size, _BATCH):
            yield self._values[start : start + _BATCH], self._budgets[start : start + _BATCH]
