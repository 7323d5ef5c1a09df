"""Group sums: the sums of many groups at once, each by its own rule; compiled twins of `passes/summing.py`."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from pdpmean.core.compiled import compiled
from pdpmean.core.integers import STEP_BITS
from pdpmean.core.kernels.records import allowance_of, between, clipped, place_of
from pdpmean.core.kernels.signatures import CODES, DOUBLES, EDGES, LIMITS, RULES, TABLE
from pdpmean.core.kernels.tables import (
    CAP,
    HIGHEST,
    LIFT,
    LOWEST,
    MIDDLE,
    NEAR,
    PER_UNIT,
    SHARE,
    add_far,
    add_words,
)
from pdpmean.core.rules import FAR_FROM, MISSING_WEIGHT

__all__ = ["find_rows", "sum_groups"]


@numba.njit(nogil=True)
def _sum_block(values, budgets, groups, low, high, factor, rules, squares, words, sums):
    """Add a block of records to the four words of their groups; blocks are so small that no word overflows.

    The words are the sums of values, counted, extra and missing. Far values go to `sums` at once.
    """
    for i in range(values.size):
        g = np.uint64(np.uint32(groups[i]))
        r, w = g << np.uint64(3), g << np.uint64(2)  # where its rule of 8 numbers and its 4 words begin
        share, cap, near = rules[r + SHARE], rules[r + CAP], rules[r + NEAR]
        middle, lift, per_unit = rules[r + MIDDLE], rules[r + LIFT], rules[r + PER_UNIT]
        granted = np.int64(min(allowance_of(budgets[i], low, high, factor) * share, cap))
        place = between(place_of(values[i], middle, lift, per_unit), rules[r + LOWEST], rules[r + HIGHEST])
        if abs(place) > FAR_FROM:
            add_far(place, granted, sums[g])
            continue
        inside = clipped(place)
        weight = granted if place == place else np.int64(0)  # a NaN, for a missing value, does not equal itself
        step = np.int64(inside if inside == inside else 0.0)
        number = weight * step
        if squares:
            counted, extra = weight, weight * (step * step >> STEP_BITS)
            words[w + np.uint64(3)] += granted - weight
        else:
            counted, extra = weight if abs(inside) < near else np.int64(0), (weight << STEP_BITS) - abs(number)
        words[w] += number
        words[w + np.uint64(1)] += counted
        words[w + np.uint64(2)] += extra


@compiled((DOUBLES, DOUBLES, CODES, *LIMITS, RULES, types.boolean, types.int64, TABLE))
def sum_groups(values, budgets, groups, low, high, factor, rules, squares, block, sums):
    """Add all records to `sums`, which has a row for each group, as `rules` has; `block` records at a time."""
    words = np.zeros((sums.shape[0], 4), np.int64)
    for start in range(0, values.size, block):
        v, b, g = values[start : start + block], budgets[start : start + block], groups[start : start + block]
        _sum_block(v, b, g, low, high, factor, rules.ravel(), squares, words.ravel(), sums)
        for k in range(sums.shape[0]):
            add_words(sums, k, words[k, 0], words[k, 1], words[k, 2])
            sums[k, MISSING_WEIGHT] += words[k, 3]
            words[k] = 0


@compiled((DOUBLES, CODES, *LIMITS, EDGES, CODES))
def find_rows(budgets, groups, low, high, factor, edges, first_rows):
    """The row of sums that each record belongs to, by its group, if there are groups, and its level of budgets."""
    rows = np.empty(budgets.size, np.int32)
    for i in range(budgets.size):
        group = groups[i] if groups.size else 0
        allowance = allowance_of(budgets[i], low, high, factor)
        row = first_rows[group]
        for k in range(edges.shape[1]):
            row += edges[group, k] <= allowance
        rows[i] = row
    return rows
