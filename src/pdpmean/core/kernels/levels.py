"""Levels: how a loop sums three neighbouring levels of budgets at once.

A loop that asked for the level of every record would not vectorise. So it computes three sums, over all three levels,
over the upper two, and over the third alone; differences of these are the sums of each level.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from pdpmean.core.kernels.tables import CAP, SHARE, add_words

__all__ = ["TOGETHER", "Three", "add_levels", "level_of", "three_levels", "weight_in"]

# Levels that are summed together. There are seldom more, and more would not fit into the processor's registers.
TOGETHER = 3


class Three(NamedTuple):
    """The allowances at which three levels begin and the third ends, with the share and cap of each.

    A level that does not exist begins at NaN, and a third level without an end ends there: no allowance is at least
    NaN.
    """

    first: float
    second: float
    third: float
    end: float
    first_share: float
    second_share: float
    third_share: float
    first_cap: float
    second_cap: float
    third_cap: float


@numba.njit(nogil=True)
def three_levels(starts, rules, level):
    """The three levels from `level` on, of which there may be fewer."""
    last = starts.size - 1
    second, third, end = level + 1, level + 2, level + 3
    return Three(
        starts[level],
        starts[second] if second <= last else np.nan,
        starts[third] if third <= last else np.nan,
        starts[end] if end <= last else np.nan,
        rules[level, SHARE],
        rules[min(second, last), SHARE],
        rules[min(third, last), SHARE],
        rules[level, CAP],
        rules[min(second, last), CAP],
        rules[min(third, last), CAP],
    )


@numba.njit(nogil=True, inline="always")
def weight_in(levels, allowance, is_upper, is_third):
    """The integer weight of an allowance in its level, which is the third, one of the upper two, or the first."""
    share = levels.second_share if is_upper else levels.first_share
    cap = levels.second_cap if is_upper else levels.first_cap
    share = levels.third_share if is_third else share
    cap = levels.third_cap if is_third else cap
    return np.int64(min(allowance * share, cap))


@numba.njit(nogil=True)
def level_of(starts, allowance):
    """The level of an allowance: the last one that begins at most there."""
    level = 0
    while level + 1 < starts.size and allowance >= starts[level + 1]:
        level += 1
    return level


@numba.njit(nogil=True, inline="always")
def _add_difference(sums, level, from_level, from_next):
    """Add what the sums from this level on have more than those from the next one on."""
    add_words(sums, level, from_level[0] - from_next[0], from_level[1] - from_next[1], from_level[2] - from_next[2])


@numba.njit(nogil=True)
def add_levels(sums, level, of_all, of_upper, of_third):
    """Add to the rows of up to three levels, given the sums over all three, over the upper two, and over the third."""
    _add_difference(sums, level, of_all, of_upper)
    if level + 1 < sums.shape[0]:
        _add_difference(sums, level + 1, of_upper, of_third)
    if level + 2 < sums.shape[0]:
        _add_difference(sums, level + 2, of_third, (0, 0, 0))
