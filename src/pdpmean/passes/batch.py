"""Batches of records, and the two kinds of work that a pass does on them: tally into a table, or keep a sample.

A source yields batches, whatever holds the data; the rules of a pass see nothing else of it.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Counts, Floats
from pdpmean.randomness import FirstBits, Randomness

__all__ = ["Batch", "Keeping", "Tallying", "joined"]


@dataclass(frozen=True)
class Batch:
    """Consecutive records, as columns of equal length."""

    values: Floats
    """NaN where a value is missing; empty if the pass needs no values."""
    budgets: Floats
    groups: NDArray[np.int32] | None = None
    """The group of each record, by its position in the list of groups; one beyond the last for any other group.

    None if there are no groups.
    """
    first: int = 0
    """The position of the first record in the data, for messages about public budgets."""

    def at(self, where: NDArray[np.intp]) -> Batch:
        """A copy of the records at these indices."""
        groups = None if self.groups is None else self.groups[where]
        return Batch(self.values[where], self.budgets[where], groups)

    def by_group(self, groups: int) -> list[NDArray[np.intp]]:
        """The indices of the records of each of `groups` groups; if records have no groups, those of all records."""
        if self.groups is None:
            return [np.arange(self.budgets.size)]
        order = np.argsort(self.groups.astype(np.uint16), kind="stable")  # a radix sort: 16 bits are much faster
        ends = np.cumsum(np.bincount(self.groups, minlength=groups + 1))[:groups].tolist()
        return [order[start:end] for start, end in itertools.pairwise([0, *ends])]


class Tallying(Protocol):
    """A rule that adds integers to a table, batch by batch: the passes "census" and "sum".

    Integers add up to the same table in any order, so batches can be tallied in parallel.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the table."""

    def tally(self, batch: Batch, table: Counts) -> None:
        """Add what the records of a batch contribute."""


class Keeping(Protocol):
    """A rule that keeps each record with some probability, by its budget and group: the pass "sample"."""

    def keep(self, batch: Batch, randomness: Randomness) -> NDArray[np.intp]:
        """The indices of the records that are kept."""

    @property
    def largest(self) -> Floats:
        """The largest probability with which any record of each group is kept."""

    def decide(
        self, budgets: Floats, groups: NDArray[np.int32] | None, first: FirstBits, randomness: Randomness
    ) -> NDArray[np.bool_]:
        """Whether each record is kept, given the first bits of its coin; the rest of the coin is drawn here."""


def joined(parts: list[Batch], *, grouped: bool) -> Batch:
    """The records of all parts, as one batch."""
    if len(parts) == 1:
        return parts[0]
    return Batch(
        np.concatenate([np.empty(0), *(part.values for part in parts)]),
        np.concatenate([np.empty(0), *(part.budgets for part in parts)]),
        np.concatenate([np.empty(0, np.int32), *(part.groups for part in parts if part.groups is not None)])
        if grouped
        else None,
    )
