"""The compiled loops: what each pass does to a large batch, without copies and without the interpreter.

Each has a plain NumPy twin beside the rule it serves (`cells.Cells`, `average.Summing`), which takes small batches and
is the reference in the tests. Twins are the same IEEE operations in the same order, so that their integers are equal.
The loops release the interpreter's lock, so that threads run them side by side.

A large estimate whose number of records is public keeps what it compiles on disk, and others read it there
(`traces.py`). ``python -m pdpmean.core.kernels`` compiles all loops ahead of any estimate.
"""

from __future__ import annotations

import numba
import numpy as np
from numba import types

from pdpmean.core.compiled import Loop, compiled
from pdpmean.core.integers import LOW_BITS, STEP_BITS, STEPS
from pdpmean.core.rules import FAR_CELLS, FAR_EDGES, FAR_WEIGHT, FIRST_FAR, TOTAL_LIMIT, TOTAL_UNIT, SumRule

__all__ = [
    "compile_all",
    "count_cells",
    "count_group_cells",
    "find_at_most",
    "find_rows",
    "hash_texts",
    "look_up",
    "sum_groups",
    "sum_near",
    "sum_squares",
    "take_below",
]

_LOOK = 64  # bytes looked at together
_FEW, _FEWER = 2048, 256  # budgets looked at together
_LARGE = 1.5 * 2.0**52
_LARGE_BITS = int(np.float64(_LARGE).view(np.int64))
# Where each number of a rule is in its row.
_SHARE, _CAP, _MIDDLE, _LIFT, _PER_UNIT, _NEAR, _FAR_BELOW, _FAR_ABOVE = (
    np.uint64(place) for place in range(len(SumRule._fields))
)
_FAR_ENDS = np.array(FAR_EDGES)
_RUN = 512  # records whose sums are taken together: where one of them is far, all are looked at again


def _read_only(kind):
    """Arrays of this type that a loop reads; those that can be written to will do as well."""
    return types.Array(kind, 1, "C", readonly=True)


_DOUBLES = _read_only(types.float64)
_WORDS = _read_only(types.int64)
_CODES = _read_only(types.int32)
_ROW = types.int64[::1]
_TABLE = types.int64[:, ::1]
_LIMITS = (types.float64,) * 3
_RULE = types.NamedUniTuple(types.float64, len(SumRule._fields), SumRule)
_CELLS = (*_LIMITS, types.uint64, types.int64, types.int64)


@numba.njit(nogil=True, inline="always")
def _allowance(budget, low, high, factor):
    return min(budget, high) * factor if budget >= low else 0.0


@numba.njit(nogil=True, inline="always")
def _cell(allowance, bits, shift, base, top):
    return max(min(np.int64(bits >> shift) - base, top) + (allowance == np.inf), 0)


@numba.njit(nogil=True)
def _count_ordinary(budgets, low, high, factor, least, beyond, lifted):
    """How many budgets lie within their limits, and their allowances, too; and these in all, in units.

    This vectorises. Adding a large double rounds an allowance to a unit and leaves it in the last bits.
    """
    count = 0
    total = -budgets.size * _LARGE_BITS
    units = lifted.view(np.int64)
    for start in range(0, budgets.size, lifted.size):
        few = budgets[start : start + lifted.size]
        for i in range(few.size):
            allowance = few[i] * factor
            count += (few[i] >= low) & (few[i] <= high) & (allowance >= least) & (allowance < beyond)
            lifted[i] = allowance * TOTAL_UNIT + _LARGE
        for i in range(few.size):
            total += units[i]
    return count, total


@compiled((_DOUBLES, *_CELLS, _ROW, _ROW))
def count_cells(budgets, low, high, factor, shift, base, top, counts, total):
    """Add each allowance's cell to `counts`; returns how many budgets are negative or missing.

    And add those that are small enough to the two words of `total`, in units.
    """
    wrong = 0
    lifted = np.empty(_FEWER, np.float64)
    one = np.empty(2, np.float64)
    bits = one.view(np.uint64)
    bits[0], bits[1] = np.uint64(base) << shift, np.uint64(base + top + 1) << shift
    least, beyond = one[0], min(one[1], TOTAL_LIMIT)  # allowances between have a cell without further ado
    for start in range(0, budgets.size, _FEW):
        few = budgets[start : start + _FEW]
        ordinary, found = _count_ordinary(few, low, high, factor, least, beyond, lifted)
        if ordinary == few.size:
            for i in range(few.size):
                one[0] = few[i] * factor
                counts[np.int64(bits[0] >> shift) - base] += 1
        else:
            found = 0
            for i in range(few.size):
                wrong += not few[i] >= 0.0
                one[0] = _allowance(few[i], low, high, factor)
                counts[_cell(one[0], bits[0], shift, base, top)] += 1
                found += np.int64(np.rint(one[0] * TOTAL_UNIT)) if one[0] < TOTAL_LIMIT else 0
        total[0] += found >> LOW_BITS
        total[1] += found & (2**LOW_BITS - 1)
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
            allowances[i] = _allowance(few[i], low, high, factor)
        for i in range(few.size):
            cell = _cell(allowances[i], bits[i], shift, base, top)
            least, most = min(least, cell), max(most, cell)
            found[i] = cell
    return wrong, least, most


@compiled((_DOUBLES, _CODES, *_CELLS, _TABLE))
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


@compiled(*((_read_only(kind), kind) for kind in (types.uint8, types.uint16)))
def find_at_most(first, most):
    """Which entries are at most `most`: counted some at a time, which vectorises, and sought where there are any."""
    hits = np.zeros((first.size + _LOOK - 1) // _LOOK, np.uint8)
    for k in range(first.size // _LOOK):
        count = np.uint8(0)
        for i in range(_LOOK):
            count += np.uint8(first[k * _LOOK + i] <= most)
        hits[k] = count
    for i in range(first.size // _LOOK * _LOOK, first.size):
        hits[-1] += np.uint8(first[i] <= most)
    found = np.empty(hits.sum(), np.intp)
    count = 0
    for k in np.flatnonzero(hits):
        i, all_found = k * _LOOK, count + np.int64(hits[k])
        while count < all_found:
            if first[i] <= most:
                found[count] = i
                count += 1
            i += 1
    return found


@compiled((_DOUBLES, _DOUBLES, _CODES, _read_only(types.uint16), _WORDS, _ROW))
def take_below(values, budgets, groups, first, limits, seen):
    """The records whose first bits are below the limit of their group; counts how many each group has."""
    found = np.empty(first.size + 1, np.uint32)  # with room for one that does not count
    count = 0
    for i in range(first.size):
        g = np.uint32(groups[i])
        seen[g] += 1
        found[count] = i  # and again, unless it counts: there is no branch to foresee
        count += first[i] < limits[g]
    taken = np.empty(count), np.empty(count), np.empty(count, groups.dtype), np.empty(count, first.dtype)
    for k in range(count):
        i = found[k]
        taken[0][k], taken[1][k], taken[2][k], taken[3][k] = values[i], budgets[i], groups[i], first[i]
    return taken


@numba.njit(nogil=True, inline="always")
def _place(value, middle, lift, per_unit):
    return (value - middle) * lift * per_unit


@numba.njit(nogil=True, inline="always")
def _clipped(place):
    return np.rint(min(max(place, -float(STEPS)), float(STEPS)))


@numba.njit(nogil=True, inline="always")
def _granted(allowance, start, end, share, cap):
    """What an allowance of a level weighs; nothing, if it is below its start or from its end on."""
    return np.int64(min(allowance * share, cap)) if (allowance >= start) & (not allowance >= end) else np.int64(0)


@numba.njit(nogil=True)
def _sum_near(values, budgets, low, high, factor, start, end, share, cap, middle, lift, per_unit, near):
    """The sums of W z, of W where z is within `near`, and of tents; missing values add nothing.

    Over so few records that none overflows a word; so below.
    """
    total, close, tents = 0, 0, 0
    for i in range(values.size):
        weight = _granted(_allowance(budgets[i], low, high, factor), start, end, share, cap)
        place = _clipped(_place(values[i], middle, lift, per_unit))
        weight = weight if place == place else np.int64(0)
        number = weight * np.int64(place if place == place else 0.0)
        total += number
        close += weight if abs(place) < near else np.int64(0)
        tents += (weight << STEP_BITS) - abs(number)
    return total, close, tents


@numba.njit(nogil=True)
def _find_steps(values, middle, lift, per_unit, far_below, far_above, steps, inside):
    """The z of each value, and all bits where it is summed; how many are far, and how many are missing."""
    far, gone = 0, 0
    for i in range(values.size):
        place = _place(values[i], middle, lift, per_unit)
        is_far = (place < -far_below) | (place > far_above)
        found = _clipped(place)
        steps[i] = np.int64(found if found == found else 0.0)
        inside[i] = -np.int64((place == place) & (not is_far))
        far += is_far
        gone += place != place
    return far, gone


@numba.njit(nogil=True)
def _sum_squares(budgets, low, high, factor, start, end, share, cap, steps, inside):
    """The sums of W z, of W and of W z**2 / STEPS."""
    total, weights, squares = 0, 0, 0
    for i in range(budgets.size):
        weight = _granted(_allowance(budgets[i], low, high, factor), start, end, share, cap) & inside[i]
        step = steps[i]
        total += weight * step
        weights += weight
        squares += weight * (step * step >> STEP_BITS)
    return total, weights, squares


@numba.njit(nogil=True)
def _sum_missing(values, budgets, low, high, factor, start, end, share, cap, middle, lift, per_unit):
    """The sum of the W that are missing."""
    missing = 0
    for i in range(values.size):
        granted = _granted(_allowance(budgets[i], low, high, factor), start, end, share, cap)
        place = _place(values[i], middle, lift, per_unit)
        missing += np.int64(0) if place == place else granted
    return missing


@numba.njit(nogil=True, inline="always")
def _add_far(place, weight, sums):
    """Add a far value to the cell of its distance."""
    distance = abs(place)
    cell = 0
    while cell < FAR_CELLS - 1 and distance >= _FAR_ENDS[cell]:
        cell += 1
    number = weight * np.int64(min(np.rint(distance / _FAR_ENDS[cell] * STEPS), float(STEPS)))
    column = FIRST_FAR + 2 * (cell + FAR_CELLS * (place > 0.0))
    sums[FAR_WEIGHT] += weight
    sums[column] += number >> LOW_BITS
    sums[column + 1] += number & ((np.int64(1) << LOW_BITS) - 1)


@numba.njit(nogil=True)
def _sum_far(
    values, budgets, low, high, factor, start, end, share, cap, middle, lift, per_unit, far_below, far_above, sums
):
    """Add the far ones among some values."""
    for i in range(values.size):
        place = _place(values[i], middle, lift, per_unit)
        if place < -far_below or place > far_above:
            granted = _granted(_allowance(budgets[i], low, high, factor), start, end, share, cap)
            _add_far(place, granted, sums)


@numba.njit(nogil=True, inline="always")
def _add(sums, total, weights, extra, missing):
    """Add four sums to a row of the table, two of them split into a high and a low word."""
    low = (np.int64(1) << LOW_BITS) - 1
    sums[0] += total >> LOW_BITS
    sums[1] += total & low
    sums[2] += weights
    sums[3] += extra >> LOW_BITS
    sums[4] += extra & low
    sums[5] += missing


@numba.njit(nogil=True)
def _end(starts, level):
    """Where a level ends: the last one nowhere."""
    return starts[level + 1] if level + 1 < starts.size else np.nan


@compiled((_DOUBLES, _DOUBLES, *_LIMITS, _DOUBLES, types.float64[:, ::1], _TABLE))
def sum_near(values, budgets, low, high, factor, starts, rules, sums):
    """Add the sums to `sums`, a row for each level of budgets: all of a few records, which stay in the cache."""
    for first in range(0, values.size, _RUN):
        v, b = values[first : first + _RUN], budgets[first : first + _RUN]
        for k in range(starts.size):
            share, cap, middle, lift = rules[k, _SHARE], rules[k, _CAP], rules[k, _MIDDLE], rules[k, _LIFT]
            per_unit, near, ends = rules[k, _PER_UNIT], rules[k, _NEAR], _end(starts, k)
            total, close, tents = _sum_near(
                v, b, low, high, factor, starts[k], ends, share, cap, middle, lift, per_unit, near
            )
            _add(sums[k], total, close, tents, 0)


@compiled((_DOUBLES, _DOUBLES, *_LIMITS, _DOUBLES, types.float64[:, ::1], _TABLE))
def sum_squares(values, budgets, low, high, factor, starts, rules, sums):
    """The same with squares; levels have one clip, so that values are placed in it once."""
    middle, lift, per_unit = rules[0, _MIDDLE], rules[0, _LIFT], rules[0, _PER_UNIT]
    far_below, far_above = rules[0, _FAR_BELOW], rules[0, _FAR_ABOVE]
    steps, inside = np.empty(_RUN, np.int64), np.empty(_RUN, np.int64)
    for first in range(0, values.size, _RUN):
        v, b = values[first : first + _RUN], budgets[first : first + _RUN]
        far, gone = _find_steps(v, middle, lift, per_unit, far_below, far_above, steps, inside)
        for k in range(starts.size):
            start, end, share, cap = starts[k], _end(starts, k), rules[k, _SHARE], rules[k, _CAP]
            total, weights, squares = _sum_squares(b, low, high, factor, start, end, share, cap, steps, inside)
            _add(sums[k], total, weights, squares, 0)
            if gone:
                sums[k, 5] += _sum_missing(v, b, low, high, factor, start, end, share, cap, middle, lift, per_unit)
            if far:
                _sum_far(
                    v, b, low, high, factor, start, end, share, cap, middle, lift, per_unit, far_below, far_above,
                    sums[k],
                )  # fmt: skip


@numba.njit(nogil=True)
def _sum_some(values, budgets, groups, low, high, factor, rules, squares, words, sums):
    """Add records to the four words of their groups, so few that none overflows; a rule is 8 entries long."""
    for i in range(values.size):
        g = np.uint64(np.uint32(groups[i]))
        r, w = g << np.uint64(3), g << np.uint64(2)
        share, cap, near = rules[r + _SHARE], rules[r + _CAP], rules[r + _NEAR]
        middle, lift, per_unit = rules[r + _MIDDLE], rules[r + _LIFT], rules[r + _PER_UNIT]
        granted = np.int64(min(_allowance(budgets[i], low, high, factor) * share, cap))
        place = _place(values[i], middle, lift, per_unit)
        if place < -rules[r + _FAR_BELOW] or place > rules[r + _FAR_ABOVE]:
            _add_far(place, granted, sums[g])
            continue
        found = _clipped(place)
        weight = granted if place == place else np.int64(0)
        step = np.int64(found if found == found else 0.0)
        number = weight * step
        if squares:
            counted, extra = weight, weight * (step * step >> STEP_BITS)
            words[w + np.uint64(3)] += granted - weight
        else:
            counted, extra = weight if abs(found) < near else np.int64(0), (weight << STEP_BITS) - abs(number)
        words[w] += number
        words[w + np.uint64(1)] += counted
        words[w + np.uint64(2)] += extra


@compiled((_DOUBLES, _DOUBLES, _CODES, *_LIMITS, types.float64[:, ::1], types.boolean, types.int64, _TABLE))
def sum_groups(values, budgets, groups, low, high, factor, rules, squares, block, sums):
    """The same with a rule and a row of `sums` for each group."""
    words = np.zeros((sums.shape[0], 4), np.int64)
    for start in range(0, values.size, block):
        v, b, g = values[start : start + block], budgets[start : start + block], groups[start : start + block]
        _sum_some(v, b, g, low, high, factor, rules.ravel(), squares, words.ravel(), sums)
        for k in range(sums.shape[0]):
            _add(sums[k], words[k, 0], words[k, 1], words[k, 2], words[k, 3])
            words[k] = 0


@compiled((_DOUBLES, _CODES, *_LIMITS, types.Array(types.float64, 2, "C", readonly=True), _CODES))
def find_rows(budgets, groups, low, high, factor, edges, first_rows):
    """The row of sums of each record: by its group, if there are any, and there by its level of budgets."""
    rows = np.empty(budgets.size, np.int32)
    for i in range(budgets.size):
        group = groups[i] if groups.size else 0
        allowance = _allowance(budgets[i], low, high, factor)
        row = first_rows[group]
        for k in range(edges.shape[1]):
            row += edges[group, k] <= allowance
        rows[i] = row
    return rows


@compiled(*((_read_only(kind), types.int64, _CODES, types.int32[::1]) for kind in (types.int32, types.int64)))
def look_up(numbers, below, table, codes):
    """Write ``table[number - below]`` for each number, and the last entry for one that the table does not reach."""
    last = np.uint64(table.size - 1)
    in_order = True
    for k in range(1, table.size - 1):
        in_order &= table[k] == k - 1
    for i in range(numbers.size):
        # What is below wraps around to beyond the end.
        number = np.uint64(np.int64(numbers[i]) - below)
        codes[i] = min(number - np.uint64(1), last - np.uint64(1)) if in_order else table[min(number, last)]


@compiled((_WORDS, _read_only(types.uint8), types.uint64[::1]))
def hash_texts(ends, text, hashes):
    """The 64-bit FNV-1a hash of each entry, the bytes of `text` between two `ends`; its high bits are mixed well."""
    for i in range(hashes.size):
        h = np.uint64(0xCBF29CE484222325)
        for j in range(ends[i], ends[i + 1]):
            h = (h ^ np.uint64(text[j])) * np.uint64(0x100000001B3)
        hashes[i] = (h ^ (h >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)


def compile_all() -> None:
    """Compile all loops and keep them on disk, ahead of any estimate."""
    for name in __all__:
        loop = globals()[name]
        if isinstance(loop, Loop):
            loop.compiled  # noqa: B018 (compiles)


if __name__ == "__main__":
    from pdpmean.core import kernels  # as others import it: what is kept on disk goes by the name of its module

    kernels.compile_all()
