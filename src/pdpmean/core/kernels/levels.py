"""Levels: neighbouring levels of budgets that one loop sums together, a record in one of them."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from pdpmean.core.kernels.tables import CAP, SHARE, add_words

__all__ = ["TOGETHER", "Three", "add_levels", "level_of", "three_levels", "weight_in"]

TOGETHER = 3  # so many as there mostly are; more would need more registers than there are


class Three(NamedTuple):
    """Where three levels begin, where the last one ends, and how the records of each are weighed.

    No number where there is no such level, and where the last one ends nowhere: no allowance is beyond.
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
    """The levels from this one on, of which there may be fewer."""
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
    """What an allowance weighs in its level, one of three."""
    share = levels.second_share if is_upper else levels.first_share
    cap = levels.second_cap if is_upper else levels.first_cap
    share = levels.third_share if is_third else share
    cap = levels.third_cap if is_third else cap
    return np.int64(min(allowance * share, cap))


@numba.njit(nogil=True)
def level_of(starts, allowance):
    """The level that an allowance is in: the last one that begins there or before."""
    level = 0
    while level + 1 < starts.size and allowance >= starts[level + 1]:
        level += 1
    return level


@numba.njit(nogil=True, inline="always")
def _add_difference(sums, level, some, above):
    add_words(sums, level, some[0] - above[0], some[1] - above[1], some[2] - above[2])


@numba.njit(nogil=True)
def add_levels(sums, level, of_all, of_upper, of_third):
    """Add the sums of three levels, of the upper two and of the third to the row of each level that there is."""
    _add_difference(sums, level, of_all, of_upper)
    if level + 1 < sums.shape[0]:
        _add_difference(sums, level + 1, of_upper, of_third)
    if level + 2 < sums.shape[0]:
        _add_difference(sums, level + 2, of_third, (0, 0, 0))
