"""What is left over: the total is known, so what plainly lies in some cells cannot lie elsewhere.

Noise in one of some hundred empty cells looks like a little weight. But the weight of all cells adds up to the total:
where what plainly is there leaves nothing over, there is nothing more, whatever a single cell seems to hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.two_point import Bools

__all__ = ["PLAIN", "LeftOver"]

PLAIN = 9.0
"""Nats: what no empty cell of some hundred reaches but once in a hundred histograms."""

_TWO_MORE = 2.0  # noisy numbers besides the cells: the weight at the anchor, and that of missing values
_LEAST = 1e-9


class LeftOver(NamedTuple):
    """By group: the weight that is not plainly anywhere, and how much noise there is in it."""

    nats: Floats
    plain: Bools
    """By group, side and cell: which of them plainly hold something."""

    cells: Floats
    """Weight by group, side and cell."""

    noises: Floats
    """How many Laplace variables of scale 1 there are in it."""

    @classmethod
    def of(cls, cells: Floats, rest: Floats, nats: Floats, nats_std: Floats) -> LeftOver:
        """Of a total, of which the rest is at the anchor; the total may itself be known with an error."""
        plain = cells > PLAIN
        noises = plain.sum(axis=(1, 2)) + _TWO_MORE + nats_std**2 / 2
        left = np.maximum(nats - rest - np.where(plain, cells, 0.0).sum(axis=(1, 2)), 0.0)
        return cls(left, plain, cells, noises)

    @property
    def elsewhere(self) -> Floats:
        """By group, side and cell: the weight in cells that do not plainly hold something."""
        return np.where(self.plain, 0.0, self.cells)

    def for_sides(self) -> Floats:
        """By group and side: all that can lie there."""
        own: Floats = self.nats[:, None] + np.where(self.plain, self.cells, 0.0).sum(axis=-1)
        return own

    def against(self, beyond: Floats) -> Floats:
        """How much speaks against weight that exceeds what is left over by so much, in nats; groups come first.

        Chernoff's bound for a sum of Laplace variables.
        """
        over = np.maximum(beyond, _LEAST)
        count = self.noises.reshape(-1, *(1,) * (beyond.ndim - 1))
        rate = (np.sqrt(count**2 + over**2) - count) / over
        against: Floats = rate * over + count * np.log1p(-(rate**2))
        return np.where(beyond > 0, against, 0.0)
