"""Far cells: where they lie, and whether what they seem to hold is more than noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from pdpmean.core.types import Floats
from pdpmean.laws.histogram import CELLS
from pdpmean.laws.outliers import evidence, sums_of_runs
from pdpmean.laws.reading import Reading
from pdpmean.laws.tail_atoms import half_octaves

__all__ = ["FAR_CELLS", "FAR_EDGES", "FAR_PLACE", "Geometry", "reality"]

FAR_CELLS = 24
FAR_EDGES = 2.0 ** ((np.arange(FAR_CELLS + 1) + 1) / 2)
"""Where far cells begin, as distances from the middle of the clip over its half width."""

FAR_PLACE = 0.85
"""Where values of a far cell lie on average, over its end."""

# Nats at which a far cell holds something as likely as not. Of fifty sides one has a second population far out; half
# as often for each two octaves farther, and with anything from one nat to thirty. If it were one of ten, noise in some
# far cell would make every fifth interval several times as wide, on columns that have no such population.
_REAL = 7.5
_FARTHER = 0.4
_LONGER = 0.4  # and for each further cell of a run
_BY_TAILS = 1.5  # as many times as much as expected may be due to a tail
_TWO_CELLS = 1.4  # scale of the noise where a far cell lies across two cells of the histogram


class Geometry(NamedTuple):
    """Where things are, in half widths of the clip."""

    ends: Floats
    """Distances of the clip's ends from the anchor, by group and side; negative where that lies outside."""

    limit: Floats
    """Distances of the bounds."""

    log_unit: Floats
    """A half width in half octaves from the first cell."""

    @classmethod
    def of(
        cls, readings: Sequence[Reading], clips: Sequence[tuple[float, float]], bounds: tuple[float, float]
    ) -> Geometry:
        """Of each group."""
        low, high = np.array(clips).T
        anchor = np.array([reading.anchor for reading in readings])
        half = high / 2 - low / 2
        outer = np.array([bounds[0] / 2, bounds[1] / 2])
        limit = np.stack([anchor / 2 - outer[0], outer[1] - anchor / 2], axis=1) / half[:, None] * 2
        ends = np.stack([anchor / 2 - low / 2, high / 2 - anchor / 2], axis=1) / half[:, None] * 2
        first = np.array([reading.first for reading in readings])
        return cls(ends, np.maximum(limit, 0), half_octaves(half) - first)


def _seen_before(readings: Sequence[Reading], geometry: Geometry, far: Floats, total: Floats) -> Floats:
    """What the histogram says for each far cell, in nats: it should have seen some of what that seems to hold.

    Nothing, where a clip begins beyond the anchor: far cells there lie across that.
    """
    edges = np.maximum(geometry.ends[..., None] + FAR_EDGES - 1, 0)
    position = np.clip(half_octaves(edges) + geometry.log_unit[:, None, None], 0, CELLS - 0.001)
    whole = position.astype(np.int64)
    cells = np.array([reading.cells for reading in readings])
    below = np.concatenate([np.zeros_like(cells[..., :1]), np.cumsum(cells, axis=-1)], axis=-1)
    part = (position - whole) * np.take_along_axis(cells, whole, axis=-1)
    held = np.diff(np.take_along_axis(below, whole, axis=-1) + part, axis=-1)
    nats = np.array([reading.nats for reading in readings])
    expected = np.maximum(far, 0) / FAR_PLACE * (nats / total)[:, None, None]
    log_odds = (np.abs(held) - np.abs(held - expected)) / _TWO_CELLS
    return np.where(geometry.ends[..., None] < 0, 0.0, log_odds)


def reality(readings: Sequence[Reading], geometry: Geometry, far: Floats, present: Floats, expected: Floats) -> Floats:
    """The chance that each far cell holds something, alone or in a run, beside what tails are expected to leave there.

    Of the weight that is present, by group.
    """
    beside = np.minimum(far, np.maximum(far - _BY_TAILS * expected, 0))
    odds = evidence(beside).log_odds + sums_of_runs(_seen_before(readings, geometry, beside, present))
    odds -= _REAL + _FARTHER * np.arange(FAR_CELLS)[:, None] + _LONGER * np.arange(odds.shape[-1])
    best = odds[..., 0].copy()
    for length in range(2, odds.shape[-1] + 1):
        for back in range(length):
            best[..., : FAR_CELLS - back] = np.maximum(best[..., : FAR_CELLS - back], odds[..., back:, length - 1])
    chances: Floats = expit(best)
    return chances
