"""Counting: the number of budgets in each cell, and their sum; the compiled twins of `passes/cells.py`.

A cell is given by the leading bits of an allowance: ``(bits >> shift) - base``, at most `top`, and one more for
infinity. `low`, `high` and `factor` turn a budget into an allowance (`Model.limits`).
"""

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

# Budgets that are processed together, so that what is known of them stays in the cache.
_BLOCK = 2048
_SMALL_BLOCK = 256
# The double to add so that a number below 2**51 is rounded to an integer, which its last bits then hold.
_LARGE = 1.5 * 2.0**52
_LARGE_BITS = int(np.float64(_LARGE).view(np.int64))
_CELLS = (*LIMITS, types.uint64, types.int64, types.int64)  # low, high, factor; shift, base, top


@numba.njit(nogil=True, inline="always")
def _cell(allowance, bits, shift, base, top):
    return max(min(np.int64(bits >> shift) - base, top) + (allowance == np.inf), 0)


@numba.njit(nogil=True)
def _scan_block(budgets, low, high, units, shift, base, lifted, cells):
    """The number of ordinary budgets, from `low` to `high`, and the sum of all in units; writes their cells.

    The sum and the cells are right only if all budgets are ordinary. This vectorises. Adding a large double rounds an
    allowance to a unit, and leaves it in the last bits.
    """
    ordinary = 0
    total = -budgets.size * _LARGE_BITS
    bits = budgets.view(np.int64)
    lifted_bits = lifted.view(np.int64)
    for i in range(budgets.size):
        ordinary += (budgets[i] >= low) & (budgets[i] <= high)
        lifted[i] = budgets[i] * units + _LARGE
        cells[i] = np.uint16((bits[i] >> shift) - base)
    for i in range(budgets.size):
        total += lifted_bits[i]
    return ordinary, total


@numba.njit(nogil=True)
def _count_block(cells, size, tables):
    """Count cells in four tables in turn: in a single one, equal cells in succession would wait for each other."""
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
    """Count any budgets, one by one; returns how many are negative or missing, and the sum of allowances in units."""
    wrong, total = 0, 0
    allowance = np.empty(1, np.float64)  # an array of one, so that its bits can be read
    bits = allowance.view(np.uint64)
    for i in range(budgets.size):
        wrong += not budgets[i] >= 0.0
        allowance[0] = allowance_of(budgets[i], low, high, factor)
        counts[_cell(allowance[0], bits[0], shift, base, top)] += 1
        total += np.int64(np.rint(allowance[0] * TOTAL_UNIT)) if allowance[0] < TOTAL_LIMIT else 0
    return wrong, total


@compiled((DOUBLES, *_CELLS, ROW, ROW))
def count_cells(budgets, low, high, factor, shift, base, top, counts, total):
    """Count each allowance in its cell of `counts`; returns how many budgets are negative or missing.

    Allowances below TOTAL_LIMIT are also added to the two words of `total`, in units. The factor is a power of two, so
    that an allowance has the bits of its budget, except for the exponent: cells are found from budgets, with another
    base.
    """
    wrong = 0
    lifted, cells = np.empty(_SMALL_BLOCK, np.float64), np.empty(_SMALL_BLOCK, np.uint16)
    tables = np.zeros((4, counts.size), np.uint32)
    # One, the factor, and the allowances at which the first cell begins and the last finite one ends.
    numbers = np.array([1.0, factor, 0.0, 0.0])
    bits, places = numbers.view(np.int64), np.int64(shift)
    bits[2], bits[3] = base << places, (base + top + 1) << places
    budget_base = base + ((bits[0] - bits[1]) >> places)
    # An ordinary budget is within all limits, so that its cell and its part of the total need no further check.
    least = max(low, numbers[2] / factor)
    most = min(high, np.nextafter(min(numbers[3], TOTAL_LIMIT) / factor, 0.0))
    for start in range(0, budgets.size, _SMALL_BLOCK):
        block = budgets[start : start + _SMALL_BLOCK]
        ordinary, block_total = _scan_block(block, least, most, factor * TOTAL_UNIT, places, budget_base, lifted, cells)
        if ordinary == block.size:
            _count_block(cells, block.size, tables)
        else:
            block_wrong, block_total = _count_with_care(block, low, high, factor, shift, base, top, counts)
            wrong += block_wrong
        total[0] += block_total >> LOW_BITS
        total[1] += block_total & (2**LOW_BITS - 1)
    for c in range(counts.size):
        for k in range(4):
            counts[c] += tables[k, c]
    return wrong


@numba.njit(nogil=True)
def _find_cells(budgets, low, high, factor, shift, base, top, cells):
    """Write each allowance's cell; returns how many budgets are negative or missing, and the least and largest cell."""
    wrong, least, most = 0, top + 1, 0
    allowances = np.empty(_BLOCK, np.float64)
    bits = allowances.view(np.uint64)
    for start in range(0, budgets.size, _BLOCK):
        block, block_cells = budgets[start : start + _BLOCK], cells[start : start + _BLOCK]
        for i in range(block.size):
            wrong += not block[i] >= 0.0
            allowances[i] = allowance_of(block[i], low, high, factor)
        for i in range(block.size):
            cell = _cell(allowances[i], bits[i], shift, base, top)
            least, most = min(least, cell), max(most, cell)
            block_cells[i] = cell
    return wrong, least, most


@compiled((DOUBLES, CODES, *_CELLS, TABLE))
def count_group_cells(budgets, groups, low, high, factor, shift, base, top, counts):
    """Count each allowance in its cell of its group's row; returns how many budgets are negative or missing.

    Budgets usually lie in a few octaves. They are first counted in a table of only those, which stays in the cache.
    """
    cells = np.empty(budgets.size, np.uint16)
    wrong, least, most = _find_cells(budgets, low, high, factor, shift, base, top, cells)
    width = np.uint64(max(most - least + 1, 0))
    if width * counts.shape[0] > budgets.size:
        for i in range(budgets.size):
            counts[np.uint32(groups[i]), cells[i]] += 1
        return wrong
    narrow = np.zeros(counts.shape[0] * width, np.uint32)
    for i in range(budgets.size):
        narrow[np.uint32(groups[i]) * width + cells[i] - np.uint64(least)] += np.uint32(1)
    for g in range(counts.shape[0]):
        row, narrow_row = counts[g, least : most + 1], narrow[g * width : (g + 1) * width]
        for c in range(row.size):
            row[c] += narrow_row[c]
    return wrong


@compiled((DOUBLES, DOUBLES))
def find_other(budgets, known):
    """The index of the first budget that is not one of `known`, which are distinct; the size if there is none."""
    for start in range(0, budgets.size, _SMALL_BLOCK):
        block = budgets[start : start + _SMALL_BLOCK]
        matches = 0
        for budget in known:
            for i in range(block.size):  # this vectorises
                matches += block[i] == budget
        if matches < block.size:
            for i in range(block.size):
                if not np.any(known == block[i]):
                    return start + i
    return budgets.size
