"""Square sums: the sums of values, of weights and of squares, and of far and missing values, without groups.

These are the sums for any shape and for known bounds: the compiled twin of `Summing.tally` with squares.
"""

from __future__ import annotations

import numba
import numpy as np

from pdpmean.core.compiled import compiled
from pdpmean.core.integers import STEP_BITS
from pdpmean.core.kernels.levels import TOGETHER, add_levels, level_of, three_levels, weight_in
from pdpmean.core.kernels.records import allowance_of, between, clipped, place_of
from pdpmean.core.kernels.signatures import DOUBLES, LIMITS, RULES, TABLE
from pdpmean.core.kernels.tables import CAP, HIGHEST, LIFT, LOWEST, MIDDLE, PER_UNIT, RUN, SHARE, add_far
from pdpmean.core.rules import FAR_FROM, MISSING_WEIGHT

__all__ = ["sum_squares"]


@numba.njit(nogil=True)
def _sum_three(values, budgets, low, high, factor, levels, middle, lift, per_unit, far_below, far_above):
    """The number of values that are neither far nor missing, and their sums of W z, of W and of W z**2 / STEPS.

    The sums are over three levels of budgets, over the upper two, and over the third alone: this vectorises.
    """
    inside = 0
    total, weights, squares = 0, 0, 0
    upper_total, upper_weights, upper_squares = 0, 0, 0
    third_total, third_weights, third_squares = 0, 0, 0
    for i in range(values.size):
        allowance = allowance_of(budgets[i], low, high, factor)
        place = place_of(values[i], middle, lift, per_unit)
        is_inside = (place >= -far_below) & (place <= far_above)
        inside += is_inside
        is_summed = is_inside & (allowance >= levels.first) & (not allowance >= levels.end)
        is_upper = allowance >= levels.second
        is_third = allowance >= levels.third
        weight = weight_in(levels, allowance, is_upper, is_third) if is_summed else np.int64(0)
        step = np.int64(clipped(place)) if is_summed else np.int64(0)
        number = weight * step
        square = weight * (step * step >> STEP_BITS)
        total += number
        weights += weight
        squares += square
        upper_total += number if is_upper else 0
        upper_weights += weight if is_upper else 0
        upper_squares += square if is_upper else 0
        third_total += number if is_third else 0
        third_weights += weight if is_third else 0
        third_squares += square if is_third else 0
    upper = (upper_total, upper_weights, upper_squares)
    return inside, (total, weights, squares), upper, (third_total, third_weights, third_squares)


@numba.njit(nogil=True)
def _add_outside(
    values, budgets, low, high, factor, starts, rules, middle, lift, per_unit, far_below, far_above, sums
):  # fmt: skip
    """Add far values to their cells, and the weight of missing ones."""
    for i in range(values.size):
        place = place_of(values[i], middle, lift, per_unit)
        if not ((place >= -far_below) & (place <= far_above)):
            allowance = allowance_of(budgets[i], low, high, factor)
            level = level_of(starts, allowance)
            weight = np.int64(min(allowance * rules[level, SHARE], rules[level, CAP]))
            if place == place:
                add_far(between(place, rules[level, LOWEST], rules[level, HIGHEST]), weight, sums[level])
            else:
                sums[level, MISSING_WEIGHT] += weight


@compiled((DOUBLES, DOUBLES, *LIMITS, DOUBLES, RULES, TABLE))
def sum_squares(values, budgets, low, high, factor, starts, rules, sums):
    """Add all records to `sums`, which has a row for each level of budgets; all levels have the same clip.

    `starts` are the allowances at which the levels begin. Only runs of records with a far or missing value among them
    are looked at a second time.
    """
    middle, lift, per_unit = rules[0, MIDDLE], rules[0, LIFT], rules[0, PER_UNIT]
    # Values that are not far are clipped anyway, so that bounds matter only on a side where they are far themselves.
    far_below = FAR_FROM if rules[0, LOWEST] < -FAR_FROM else np.inf
    far_above = FAR_FROM if rules[0, HIGHEST] > FAR_FROM else np.inf
    for first in range(0, values.size, RUN):
        v, b = values[first : first + RUN], budgets[first : first + RUN]
        inside = 0
        for level in range(0, starts.size, TOGETHER):
            levels = three_levels(starts, rules, level)
            inside, of_all, of_upper, of_third = _sum_three(
                v, b, low, high, factor, levels, middle, lift, per_unit, far_below, far_above
            )
            add_levels(sums, level, of_all, of_upper, of_third)
        if inside < v.size:
            _add_outside(
                v, b, low, high, factor, starts, rules, middle, lift, per_unit, far_below, far_above, sums
            )  # fmt: skip
