"""Signatures: the types of arguments that loops are compiled for."""

from __future__ import annotations

from numba import types

__all__ = ["CODES", "DOUBLES", "EDGES", "LIMITS", "ROW", "RULES", "TABLE", "WORDS", "read_only"]


def read_only(kind: types.Type) -> types.Array:
    """One-dimensional arrays of this type that a loop only reads; writable ones are accepted as well."""
    return types.Array(kind, 1, "C", readonly=True)


DOUBLES = read_only(types.float64)
WORDS = read_only(types.int64)
CODES = read_only(types.int32)
EDGES = types.Array(types.float64, 2, "C", readonly=True)
ROW = types.int64[::1]
TABLE = types.int64[:, ::1]
RULES = types.float64[:, ::1]
LIMITS = (types.float64,) * 3  # low, high, factor: see `Model.limits`
