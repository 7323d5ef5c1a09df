"""Tables: how the loops add to a row of the table of sums, and read a row of rules."""

from __future__ import annotations

import numba
import numpy as np

from pdpmean.core.integers import LOW_BITS, STEPS
from pdpmean.core.rules import FAR_CELLS, FAR_EDGES, FAR_WEIGHT, FIRST_FAR, SumRule

__all__ = [
    "CAP",
    "HIGHEST",
    "LIFT",
    "LOWEST",
    "MIDDLE",
    "NEAR",
    "PER_UNIT",
    "RUN",
    "SHARE",
    "add_far",
    "add_words",
]

# The column of each number of a `SumRule`.
SHARE, CAP, MIDDLE, LIFT, PER_UNIT, NEAR, LOWEST, HIGHEST = (np.uint64(place) for place in range(len(SumRule._fields)))
RUN = 1024  # records that are summed before anything is added to the table; so few that no word overflows
_FAR_ENDS = np.array(FAR_EDGES)


@numba.njit(nogil=True, inline="always")
def add_words(sums, row, total, weights, extra):
    """Add three sums to a row of the table; the first and the last are split into a high and a low word."""
    low = (np.int64(1) << LOW_BITS) - 1
    sums[row, 0] += total >> LOW_BITS
    sums[row, 1] += total & low
    sums[row, 2] += weights
    sums[row, 3] += extra >> LOW_BITS
    sums[row, 4] += extra & low


@numba.njit(nogil=True, inline="always")
def add_far(place, weight, sums):
    """Add a far value, `place` steps from the middle, to the far cell of its distance."""
    distance = abs(place)
    cell = 0
    while cell < FAR_CELLS - 1 and distance >= _FAR_ENDS[cell]:
        cell += 1
    number = weight * np.int64(min(np.rint(distance / _FAR_ENDS[cell] * STEPS), float(STEPS)))
    column = FIRST_FAR + 2 * (cell + FAR_CELLS * (place > 0.0))
    sums[FAR_WEIGHT] += weight
    sums[column] += number >> LOW_BITS
    sums[column + 1] += number & ((np.int64(1) << LOW_BITS) - 1)
