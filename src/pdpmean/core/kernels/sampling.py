"""Sampling: the records whose coins are below a limit."""

from __future__ import annotations

import numpy as np
from numba import types

from pdpmean.core.compiled import compiled
from pdpmean.core.kernels.signatures import CODES, DOUBLES, ROW, WORDS, read_only

__all__ = ["find_at_most", "take_below"]

_LOOK = 64  # entries that are compared together


@compiled(*((read_only(kind), kind) for kind in (types.uint8, types.uint16)))
def find_at_most(first, most):
    """The indices of the entries that are at most `most`.

    Such entries are rare. They are first counted in short runs, which vectorises, and then searched for where there are
    any.
    """
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


@compiled((DOUBLES, DOUBLES, CODES, read_only(types.uint16), WORDS, ROW))
def take_below(values, budgets, groups, first, limits, seen):
    """The columns of the records whose first bits are below the limit of their group; counts the records per group."""
    found = np.empty(first.size + 1, np.uint32)  # with room for one that does not count
    count = 0
    for i in range(first.size):
        g = np.uint32(groups[i])
        seen[g] += 1
        found[count] = i  # overwritten by the next, unless it counts: so there is no branch to predict
        count += first[i] < limits[g]
    taken = np.empty(count), np.empty(count), np.empty(count, groups.dtype), np.empty(count, first.dtype)
    for k in range(count):
        i = found[k]
        taken[0][k], taken[1][k], taken[2][k], taken[3][k] = values[i], budgets[i], groups[i], first[i]
    return taken
