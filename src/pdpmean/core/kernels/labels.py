"""Labels: the positions of labels in a public list, and hashes of ids."""

from __future__ import annotations

import numpy as np
from numba import types

from pdpmean.core.compiled import compiled
from pdpmean.core.kernels.signatures import CODES, WORDS, read_only

__all__ = ["hash_texts", "look_up"]


@compiled(*((read_only(kind), types.int64, CODES, types.int32[::1]) for kind in (types.int32, types.int64)))
def look_up(numbers, below, table, codes):
    """Write ``table[number - below]`` for each number; the last entry of the table for numbers outside of it."""
    last = np.uint64(table.size - 1)
    # If the list is a run of integers in order, the code of a number is computed instead of looked up.
    in_order = True
    for k in range(1, table.size - 1):
        in_order &= table[k] == k - 1
    for i in range(numbers.size):
        # As an unsigned integer, a number below the table wraps around to one beyond its end.
        number = np.uint64(np.int64(numbers[i]) - below)
        codes[i] = min(number - np.uint64(1), last - np.uint64(1)) if in_order else table[min(number, last)]


@compiled((WORDS, read_only(types.uint8), types.uint64[::1]))
def hash_texts(ends, text, hashes):
    """Write the 64-bit FNV-1a hash of each text, which is the bytes of `text` between two `ends`.

    A last multiplication mixes the high bits, by which rows are divided into parts.
    """
    for i in range(hashes.size):
        h = np.uint64(0xCBF29CE484222325)
        for j in range(ends[i], ends[i + 1]):
            h = (h ^ np.uint64(text[j])) * np.uint64(0x100000001B3)
        hashes[i] = (h ^ (h >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
