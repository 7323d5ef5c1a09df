"""Geometry of the far cells, and the probability that each of them holds more than noise.

A value far beyond the clip is not in the clipped sum but in one of `FAR_CELLS` *far cells* on its side, each half an
octave wide. They are released with the whole budget of the sum, and show rare, large values that the histogram
missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from pdpmean.core import rules
from pdpmean.core.integers import STEPS
from pdpmean.core.types import Floats
from pdpmean.laws.histogram import CELLS
from pdpmean.laws.outliers import evidence, sums_of_runs
from pdpmean.laws.reading import Reading
from pdpmean.laws.tail_atoms import half_octaves

__all__ = ["FAR_CELLS", "FAR_EDGES", "FAR_PLACE", "Geometry", "occupied_probabilities"]

FAR_CELLS = rules.FAR_CELLS
"""Far cells per side."""

FAR_EDGES = np.array([rules.FAR_FROM, *rules.FAR_EDGES]) / STEPS
"""Edges of the far cells, as distances from the middle of the clip in half widths of the clip (`core/rules.py`)."""

FAR_PLACE = 0.85
"""Where the values of a far cell lie on average, as a fraction of its outer edge."""

# Log odds, in nats, at which a far cell is as likely as not to hold something. They stand for this prior: one side in
# fifty has a second population far out, half as often for every two octaves farther, and of anything from one nat to
# thirty. If it were one side in ten, noise in some far cell would make every fifth interval several times as wide, on
# columns without such a population.
_NEEDED = 7.5
_NEEDED_PER_CELL_OUT = 0.4
_NEEDED_PER_CELL_OF_RUN = 0.4  # for each further cell of a run

_EXPLAINED_BY_TAILS = 1.5  # a tail may leave this many times the expected weight in a far cell
_NOISE_OF_TWO_CELLS = 1.4  # scale of the noise, as a far cell lies across two cells of the histogram


class Geometry(NamedTuple):
    """Where the clip, its bounds and the histogram's cells lie, by group, in half widths of the clip."""

    ends: Floats
    """By side: the distance of the clip's end from the anchor; negative where the anchor lies outside the clip."""

    limit: Floats
    """By side: the distance of the bound from the anchor; may be infinite."""

    log_unit: Floats
    """The half width itself, in half octaves from the histogram's first cell."""

    @classmethod
    def from_clips(
        cls, readings: Sequence[Reading], clips: Sequence[tuple[float, float]], bounds: tuple[float, float]
    ) -> Geometry:
        """The geometry of each group's clip."""
        low, high = np.array(clips).T
        anchor = np.array([reading.anchor for reading in readings])
        half = high / 2 - low / 2  # all numbers are halved before they are subtracted, so that nothing overflows
        half_bounds = np.array([bounds[0] / 2, bounds[1] / 2])
        limit = np.stack([anchor / 2 - half_bounds[0], half_bounds[1] - anchor / 2], axis=1) / half[:, None] * 2
        ends = np.stack([anchor / 2 - low / 2, high / 2 - anchor / 2], axis=1) / half[:, None] * 2
        first = np.array([reading.first for reading in readings])
        return cls(ends, np.maximum(limit, 0), half_octaves(half) - first)


def _evidence_of_histogram(readings: Sequence[Reading], geometry: Geometry, far: Floats, total: Floats) -> Floats:
    """By group, side and far cell: the log odds, in nats, that the histogram adds to what the cell seems to hold.

    If the weight in the far cell is real, the histogram should show its part of it at the same place. Where the clip
    leaves the anchor outside the log odds are 0, since far cells there lie across the anchor.
    """
    edges = np.maximum(geometry.ends[..., None] + FAR_EDGES - 1, 0)
    position = np.clip(half_octaves(edges) + geometry.log_unit[:, None, None], 0, CELLS - 0.001)
    whole = position.astype(np.int64)
    cells = np.array([reading.cells for reading in readings])
    below = np.concatenate([np.zeros_like(cells[..., :1]), np.cumsum(cells, axis=-1)], axis=-1)
    fraction = (position - whole) * np.take_along_axis(cells, whole, axis=-1)
    in_histogram = np.diff(np.take_along_axis(below, whole, axis=-1) + fraction, axis=-1)
    nats = np.array([reading.nats for reading in readings])
    expected = np.maximum(far, 0) / FAR_PLACE * (nats / total)[:, None, None]
    log_odds = (np.abs(in_histogram) - np.abs(in_histogram - expected)) / _NOISE_OF_TWO_CELLS
    return np.where(geometry.ends[..., None] < 0, 0.0, log_odds)


def occupied_probabilities(
    readings: Sequence[Reading], geometry: Geometry, far: Floats, present: Floats, expected: Floats
) -> Floats:
    """By group, side and far cell: the probability that the cell holds something besides tails, alone or in a run.

    `far` is the released weight of the cells in nats, `expected` what tails leave in them on average. `present` is the
    weight of each group that is not missing.
    """
    besides_tails = np.minimum(far, np.maximum(far - _EXPLAINED_BY_TAILS * expected, 0))
    from_histogram = _evidence_of_histogram(readings, geometry, besides_tails, present)
    odds = evidence(besides_tails).log_odds + sums_of_runs(from_histogram)
    cells_out = np.arange(FAR_CELLS)[:, None]
    further_cells = np.arange(odds.shape[-1])
    odds -= _NEEDED + _NEEDED_PER_CELL_OUT * cells_out + _NEEDED_PER_CELL_OF_RUN * further_cells
    # A cell counts with the best run that it is part of; runs are listed by their last cell.
    best = odds[..., 0].copy()
    for length in range(2, odds.shape[-1] + 1):
        for back in range(length):
            best[..., : FAR_CELLS - back] = np.maximum(best[..., : FAR_CELLS - back], odds[..., back:, length - 1])
    probabilities: Floats = expit(best)
    return probabilities
