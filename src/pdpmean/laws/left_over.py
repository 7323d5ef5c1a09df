"""The weight that a noisy histogram leaves unaccounted for, and a penalty for claims that exceed it.

Every cell of a released histogram has Laplace noise, so among a few hundred empty cells some seem to hold a little
weight. But the total weight is known. If the weight at the anchor and in the clearly occupied cells adds up to the
total, nothing can lie elsewhere, whatever a single noisy cell suggests. `LeftOver` turns that argument into numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.two_point import Bools

__all__ = ["OCCUPIED_NATS", "LeftOver"]

OCCUPIED_NATS = 9.0
"""A cell with more weight than this, in nats, is clearly occupied.

The noise alone lifts any of some hundred empty cells above it in about one histogram out of a hundred.
"""

# Noisy numbers besides the cells that enter the balance: the weight at the anchor and the weight of missing values.
_OTHER_NOISY_NUMBERS = 2.0

_LEAST_EXCESS = 1e-9  # nats; avoids a division by zero


class LeftOver(NamedTuple):
    """The weight of each group that no clearly occupied cell accounts for, and the noise in that number."""

    nats: Floats
    """By group: total weight minus the weight at the anchor and in occupied cells, in nats, at least 0."""

    is_occupied: Bools
    """By group, side and cell: whether the cell clearly holds something."""

    cells: Floats
    """By group, side and cell: the noisy weight, in nats."""

    noise_count: Floats
    """By group: how many Laplace variables of scale 1 `nats` contains; an uncertain total counts by its variance."""

    @classmethod
    def from_cells(cls, cells: Floats, rest: Floats, nats: Floats, nats_std: Floats) -> LeftOver:
        """The balance of each group: `nats` in total, of which `rest` lies at the anchor.

        `nats_std` is the standard deviation of the total, 0 where it is public.
        """
        is_occupied = cells > OCCUPIED_NATS
        noise_count = is_occupied.sum(axis=(1, 2)) + _OTHER_NOISY_NUMBERS + nats_std**2 / 2
        left_over = nats - rest - np.where(is_occupied, cells, 0.0).sum(axis=(1, 2))
        return cls(np.maximum(left_over, 0.0), is_occupied, cells, noise_count)

    @property
    def unoccupied_cells(self) -> Floats:
        """By group, side and cell: the noisy weight, with 0 in place of clearly occupied cells."""
        return np.where(self.is_occupied, 0.0, self.cells)

    def available_to_sides(self) -> Floats:
        """By group and side: the most weight the side can hold, its occupied cells plus everything left over."""
        available: Floats = self.nats[:, None] + np.where(self.is_occupied, self.cells, 0.0).sum(axis=-1)
        return available

    def penalty(self, excess: Floats) -> Floats:
        """How much the balance speaks against weight that exceeds what is left over by `excess`; both in nats.

        The first axis of `excess` is the group. This is Chernoff's bound: noise makes a sum of Laplace variables as
        large as the excess with probability at most ``exp(-penalty)``.
        """
        positive = np.maximum(excess, _LEAST_EXCESS)
        count = self.noise_count.reshape(-1, *(1,) * (excess.ndim - 1))
        rate = (np.sqrt(count**2 + positive**2) - count) / positive
        penalty: Floats = rate * positive + count * np.log1p(-(rate**2))
        return np.where(excess > 0, penalty, 0.0)
