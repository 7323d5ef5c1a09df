"""Counting: how many budgets lie in each cell, and what they add up to."""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from pdpmean.core.compiled import compiled
from pdpmean.core.integers import LOW_BITS
from pdpmean.core.kernels.records import allowance_of
from pdpmean.core.kernels.signatures import CODES, DOUBLES, LIMITS, ROW, TABLE
from pdpmean.core.rules import TOTAL_LIMIT, TOTAL_UNIT

__all__ = ["count_cells", "count_group_cells", "find_other"]

_FEW, _FEWER = 2048, 256  # budgets looked at together
_LARGE = 1.5 * 2.0**52
_LARGE_BITS = int(np.float64(_LARGE).view(np.int64))
_CELLS = (*LIMITS, types.uint64, types.int64, types.int64)


@numba.njit(nogil=True, inline="always")
def _cell(allowance, bits, shift, base, top):
    return max(min(np.int64(bits >> shift) - base, top) + (allowance == np.inf), 0)


@numba.njit(nogil=True)
def _look_at_few(budgets, low, high, units, shift, base, lifted, cells):
    """How many budgets are ordinary, and what all add up to in units if they are; their cells are written.

    This vectorises. Adding a large double rounds an allowance to a unit and leaves it in the last bits.
    """
    ordinary = 0
    total = -budgets.size * _LARGE_BITS
    bits = budgets.view(np.int64)
    found = lifted.view(np.int64)
    for i in range(budgets.size):
        ordinary += (budgets[i] >= low) & (budgets[i] <= high)
        lifted[i] = budgets[i] * units + _LARGE
        cells[i] = np.uint16((bits[i] >> shift) - base)
    for i in range(budgets.size):
        total += found[i]
    return ordinary, total


@numba.njit(nogil=True)
def _count_few(cells, size, tables):
    """Count cells in four tables by turns: in one, a cell would have to wait where the one before is the same."""
    whole = size // 4 * 4
    for i in range(0, whole, 4):
        tables[0, cells[i]] += np.uint32(1)
        tables[1, cells[i + 1]] += np.uint32(1)
        tables[2, cells[i + 2]] += np.uint32(1)
        tables[3, cells[i + 3]] += np.uint32(1)
    for i in range(whole, size):
        tables[0, cells[i]] += np.uint32(1)


@numba.njit(nogil=True)
def _count_with_care(budgets, low, high, factor, shift, base, top, counts):
    """Count any budgets, one by one: how many are negative or missing, and what allowances add up to in units."""
    wrong, total = 0, 0
    one = np.empty(1, np.float64)
    bits = one.view(np.uint64)
    for i in range(budgets.size):
        wrong += not budgets[i] >= 0.0
        one[0] = allowance_of(budgets[i], low, high, factor)
        counts[_cell(one[0], bits[0], shift, base, top)] += 1
        total += np.int64(np.rint(one[0] * TOTAL_UNIT)) if one[0] < TOTAL_LIMIT else 0
    return wrong, total


@compiled((DOUBLES, *_CELLS, ROW, ROW))
def count_cells(budgets, low, high, factor, shift, base, top, counts, total):
    """Add each allowance's cell to `counts`; returns how many budgets are negative or missing.

    And add those that are small enough to the two words of `total`, in units. The factor is a power of two, so that an
    allowance has the bits of its budget but for its octave.
    """
    wrong = 0
    lifted, cells = np.empty(_FEWER, np.float64), np.empty(_FEWER, np.uint16)
    tables = np.zeros((4, counts.size), np.uint32)
    numbers = np.array([1.0, factor, 0.0, 0.0])
    bits, places = numbers.view(np.int64), np.int64(shift)
    bits[2], bits[3] = base << places, (base + top + 1) << places
    own_base = base + ((bits[0] - bits[1]) >> places)
    # Ordinary budgets have a cell without further ado, and their allowances count in the total.
    least = max(low, numbers[2] / factor)
    most = min(high, np.nextafter(min(numbers[3], TOTAL_LIMIT) / factor, 0.0))
    for start in range(0, budgets.size, _FEWER):
        few = budgets[start : start + _FEWER]
        ordinary, found = _look_at_few(few, least, most, factor * TOTAL_UNIT, places, own_base, lifted, cells)
        if ordinary == few.size:
            _count_few(cells, few.size, tables)
        else:
            more, found = _count_with_care(few, low, high, factor, shift, base, top, counts)
            wrong += more
        total[0] += found >> LOW_BITS
        total[1] += found & (2**LOW_BITS - 1)
    for c in range(counts.size):
        for k in range(4):
            counts[c] += tables[k, c]
    return wrong


@numba.njit(nogil=True)
def _find_cells(budgets, low, high, factor, shift, base, top, cells):
    """Write each allowance's cell; returns the first and the last of them, and how many budgets are wrong."""
    wrong, least, most = 0, top + 1, 0
    allowances = np.empty(_FEW, np.float64)
    bits = allowances.view(np.uint64)
    for start in range(0, budgets.size, _FEW):
        few, found = budgets[start : start + _FEW], cells[start : start + _FEW]
        for i in range(few.size):
            wrong += not few[i] >= 0.0
            allowances[i] = allowance_of(few[i], low, high, factor)
        for i in range(few.size):
            cell = _cell(allowances[i], bits[i], shift, base, top)
            least, most = min(least, cell), max(most, cell)
            found[i] = cell
    return wrong, least, most


@compiled((DOUBLES, CODES, *_CELLS, TABLE))
def count_group_cells(budgets, groups, low, high, factor, shift, base, top, counts):
    """Add each allowance's cell to its group's row of `counts`; returns how many budgets are negative or missing.

    Budgets mostly lie in few octaves: they are first counted in a table of these alone, which stays in the cache.
    """
    cells = np.empty(budgets.size, np.uint16)
    wrong, least, most = _find_cells(budgets, low, high, factor, shift, base, top, cells)
    width = np.uint64(max(most - least + 1, 0))
    if width * counts.shape[0] > budgets.size:
        for i in range(budgets.size):
            counts[np.uint32(groups[i]), cells[i]] += 1
        return wrong
    few = np.zeros(counts.shape[0] * width, np.uint32)
    for i in range(budgets.size):
        few[np.uint32(groups[i]) * width + cells[i] - np.uint64(least)] += np.uint32(1)
    for g in range(counts.shape[0]):
        row, found = counts[g, least : most + 1], few[g * width : (g + 1) * width]
        for c in range(row.size):
            row[c] += found[c]
    return wrong


@compiled((DOUBLES, DOUBLES))
def find_other(budgets, known):
    """Where the first budget is that is none of the known ones, all different; behind the last if all are known."""
    for start in range(0, budgets.size, _FEWER):
        few = budgets[start : start + _FEWER]
        met = 0
        for budget in known:
            for i in range(few.size):  # this vectorises
                met += few[i] == budget
        if met < few.size:
            for i in range(few.size):
                if not np.any(known == few[i]):
                    return start + i
    return budgets.size
