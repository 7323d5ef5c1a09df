"""Batches of records, and what a pass does to one."""

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
    """Some records: values (none where a pass needs none), budgets and, if they are grouped, the group of each.

    Groups are numbered in the order in which they were asked for; one beyond the last means a group not asked for.
    """

    values: Floats
    budgets: Floats
    groups: NDArray[np.int32] | None = None
    first: int = 0
    """The number of the first record."""

    def at(self, where: NDArray[np.intp]) -> Batch:
        """Some of the records, copied."""
        groups = None if self.groups is None else self.groups[where]
        return Batch(self.values[where], self.budgets[where], groups)

    def by_group(self, groups: int) -> list[NDArray[np.intp]]:
        """Where the records of each group are; all are of the first where there are none."""
        if self.groups is None:
            return [np.arange(self.budgets.size)]
        order = np.argsort(self.groups.astype(np.uint16), kind="stable")  # so few bits are sorted much faster
        ends = np.cumsum(np.bincount(self.groups, minlength=groups + 1))[:groups].tolist()
        return [order[start:end] for start, end in itertools.pairwise([0, *ends])]


class Tallying(Protocol):
    """What the passes census and sum do to a batch: add small integers to a table of this shape."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, one per group, and columns of the table."""

    def tally(self, batch: Batch, table: Counts) -> None:
        """Add what the batch contributes."""


class Keeping(Protocol):
    """What the pass sample does to a batch: keep some records, by their budgets and groups."""

    def keep(self, batch: Batch, randomness: Randomness) -> NDArray[np.intp]:
        """Which records are kept."""

    @property
    def largest(self) -> Floats:
        """No record is kept with a larger probability, by its group."""

    def decide(
        self, budgets: Floats, groups: NDArray[np.int32] | None, first: FirstBits, randomness: Randomness
    ) -> NDArray[np.bool_]:
        """Whether each record is kept, given the first bits of its coin."""


def joined(parts: list[Batch], *, grouped: bool) -> Batch:
    """The records of all parts."""
    if len(parts) == 1:
        return parts[0]
    return Batch(
        np.concatenate([np.empty(0), *(part.values for part in parts)]),
        np.concatenate([np.empty(0), *(part.budgets for part in parts)]),
        np.concatenate([np.empty(0, np.int32), *(part.groups for part in parts if part.groups is not None)])
        if grouped
        else None,
    )
