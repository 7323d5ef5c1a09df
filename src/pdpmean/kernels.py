"""The compiled loops: what each pass does to a large batch, without copies and without the interpreter.

Each has a plain NumPy twin beside the rule it serves (`census.Cells`, `diffusion.Thinning`, `average.Summing`), which
takes small batches and is the reference in the tests. Twins are the same IEEE operations in the same order, so that
their integers are equal. The loops release the interpreter's lock, so that threads run them side by side.
"""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["count_cells", "find_candidates", "sum_blocks"]


@numba.njit(nogil=True, cache=True)
def count_cells(budgets, low, high, factor, shift, counts):
    """Add each allowance's cell to `counts`; returns how many budgets are negative or missing."""
    wrong = 0
    one = np.empty(1, np.float64)
    bits = one.view(np.uint64)
    for i in range(budgets.size):
        budget = budgets[i]
        if not budget >= 0.0:
            wrong += 1
        one[0] = min(budget, high) * factor if budget >= low else 0.0
        counts[bits[0] >> shift] += 1
    return wrong


@numba.njit(nogil=True, cache=True)
def find_candidates(budgets, first, low, high, factor, share, cap, density, found):
    """Write to `found` where a coin may be heads, judging by the first byte of its word; returns how many."""
    count = 0
    for i in range(budgets.size):
        budget = budgets[i]
        allowance = min(budget, high) * factor if budget >= low else 0.0
        weight = min(allowance * share, cap)
        if first[i] < min(weight * density, 1.0) * 256.0:
            found[count] = i
            count += 1
    return count


@numba.njit(nogil=True, cache=True)
def _sum_near(values, budgets, low, high, factor, share, cap, unit, middle, lift, per_unit, steps, near):
    """The sums of W z, of W, and of W where z is within `near`, over so few records that none overflows a word."""
    total, weights, close = 0, 0, 0
    for i in range(values.size):
        budget = budgets[i]
        allowance = min(budget, high) * factor if budget >= low else 0.0
        weight = np.int64(min(allowance * share, cap) * unit)
        place = min(max((values[i] - middle) * lift * per_unit, -steps), steps)
        step = np.int64(np.rint(place)) if place == place else np.int64(0)
        total += weight * step
        weights += weight
        close += weight if abs(np.rint(place)) < near else np.int64(0)
    return total, weights, close


@numba.njit(nogil=True, cache=True)
def _sum_squares(values, budgets, low, high, factor, share, cap, unit, middle, lift, per_unit, steps):
    """The sums of W z, of W, and of W z**2 / 2**24, over so few records that none overflows a word."""
    total, weights, squares = 0, 0, 0
    for i in range(values.size):
        budget = budgets[i]
        allowance = min(budget, high) * factor if budget >= low else 0.0
        weight = np.int64(min(allowance * share, cap) * unit)
        place = min(max((values[i] - middle) * lift * per_unit, -steps), steps)
        step = np.int64(np.rint(place)) if place == place else np.int64(0)
        total += weight * step
        weights += weight
        squares += weight * (step * step >> 24)
    return total, weights, squares


@numba.njit(nogil=True, cache=True)
def sum_blocks(values, budgets, low, high, factor, share, cap, unit, middle, lift, per_unit, steps, near, block):
    """The three sums over each block of so many records that none overflows a word; squares where `near` is 0."""
    count = (values.size + block - 1) // block
    sums = np.empty((3, count), np.int64)
    for i in range(count):
        v, b = values[i * block : (i + 1) * block], budgets[i * block : (i + 1) * block]
        if near > 0:
            found = _sum_near(v, b, low, high, factor, share, cap, unit, middle, lift, per_unit, steps, near)
        else:
            found = _sum_squares(v, b, low, high, factor, share, cap, unit, middle, lift, per_unit, steps)
        sums[0, i], sums[1, i], sums[2, i] = found
    return sums
