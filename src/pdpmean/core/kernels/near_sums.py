"""Near sums: the sums of values, of the weight near the middle and of tents, without groups.

These are the sums for bell-shaped populations: the compiled twin of `Summing.tally` without squares.
"""

from __future__ import annotations

import numba
import numpy as np

from pdpmean.core.compiled import compiled
from pdpmean.core.integers import STEP_BITS
from pdpmean.core.kernels.levels import TOGETHER, add_levels, three_levels, weight_in
from pdpmean.core.kernels.records import allowance_of, clipped, place_of
from pdpmean.core.kernels.signatures import DOUBLES, LIMITS, RULES, TABLE
from pdpmean.core.kernels.tables import CAP, LIFT, MIDDLE, NEAR, PER_UNIT, RUN, SHARE, add_words

__all__ = ["sum_near"]


@numba.njit(nogil=True)
def _sum_one(values, budgets, low, high, factor, share, cap, middle, lift, per_unit, near):
    """The sums of W z, of W where ``|z| < near``, and of tents W (STEPS - |z|); missing values add nothing."""
    total, close, tents = 0, 0, 0
    for i in range(values.size):
        place = clipped(place_of(values[i], middle, lift, per_unit))
        weight = np.int64(min(allowance_of(budgets[i], low, high, factor) * share, cap))
        weight = weight if place == place else np.int64(0)  # a NaN, for a missing value, does not equal itself
        number = weight * np.int64(place if place == place else 0.0)
        total += number
        close += weight if abs(place) < near else np.int64(0)
        tents += (weight << STEP_BITS) - abs(number)
    return total, close, tents


@numba.njit(nogil=True)
def _sum_three(values, budgets, low, high, factor, levels, middle, lift, per_unit, near):
    """The same sums over three levels of budgets, over the upper two, and over the third alone: this vectorises."""
    total, close, tents = 0, 0, 0
    upper_total, upper_close, upper_tents = 0, 0, 0
    third_total, third_close, third_tents = 0, 0, 0
    for i in range(values.size):
        allowance = allowance_of(budgets[i], low, high, factor)
        place = clipped(place_of(values[i], middle, lift, per_unit))
        is_summed = (place == place) & (allowance >= levels.first) & (not allowance >= levels.end)
        is_upper = allowance >= levels.second
        is_third = allowance >= levels.third
        weight = weight_in(levels, allowance, is_upper, is_third) if is_summed else np.int64(0)
        number = weight * (np.int64(place) if is_summed else np.int64(0))
        counted = weight if abs(place) < near else np.int64(0)
        tent = (weight << STEP_BITS) - abs(number)
        total += number
        close += counted
        tents += tent
        upper_total += number if is_upper else 0
        upper_close += counted if is_upper else 0
        upper_tents += tent if is_upper else 0
        third_total += number if is_third else 0
        third_close += counted if is_third else 0
        third_tents += tent if is_third else 0
    return (total, close, tents), (upper_total, upper_close, upper_tents), (third_total, third_close, third_tents)


@compiled((DOUBLES, DOUBLES, *LIMITS, DOUBLES, RULES, TABLE))
def sum_near(values, budgets, low, high, factor, starts, rules, sums):
    """Add all records to `sums`, which has a row for each level of budgets; all levels have the same clip.

    `starts` are the allowances at which the levels begin.
    """
    middle, lift, per_unit, near = rules[0, MIDDLE], rules[0, LIFT], rules[0, PER_UNIT], rules[0, NEAR]
    for first in range(0, values.size, RUN):
        v, b = values[first : first + RUN], budgets[first : first + RUN]
        if starts.size == 1:  # a single level takes half the time
            share, cap = rules[0, SHARE], rules[0, CAP]
            total, close, tents = _sum_one(v, b, low, high, factor, share, cap, middle, lift, per_unit, near)
            add_words(sums, 0, total, close, tents)
            continue
        for level in range(0, starts.size, TOGETHER):
            levels = three_levels(starts, rules, level)
            of_all, of_upper, of_third = _sum_three(v, b, low, high, factor, levels, middle, lift, per_unit, near)
            add_levels(sums, level, of_all, of_upper, of_third)
