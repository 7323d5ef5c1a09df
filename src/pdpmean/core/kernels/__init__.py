"""Kernels: the compiled loops that the passes use for large batches.

A loop works on a batch without copying it, and releases the interpreter's lock, so that threads run in parallel. Each
has a NumPy twin next to the rule that it serves (`cells.Cells`, `summing.Summing`), which takes small batches and is
the reference in the tests. Twins do the same IEEE operations in the same order, so that they give the same integers.

Compiled loops are cached on disk by estimates whose number of records is public, and then reused by all others
(`traces.py`). ``python -m pdpmean.core.kernels`` compiles them ahead of time.
"""

from __future__ import annotations

from pdpmean.core.compiled import Loop
from pdpmean.core.kernels.counting import count_cells, count_group_cells, find_other
from pdpmean.core.kernels.group_sums import find_rows, sum_groups
from pdpmean.core.kernels.labels import hash_texts, look_up
from pdpmean.core.kernels.near_sums import sum_near
from pdpmean.core.kernels.sampling import find_at_most, take_below
from pdpmean.core.kernels.square_sums import sum_squares

__all__ = [
    "compile_all",
    "count_cells",
    "count_group_cells",
    "find_at_most",
    "find_other",
    "find_rows",
    "hash_texts",
    "look_up",
    "sum_groups",
    "sum_near",
    "sum_squares",
    "take_below",
]


def compile_all() -> None:
    """Compile all loops ahead of time, and cache them on disk."""
    for name in __all__:
        loop = globals()[name]
        if isinstance(loop, Loop):
            loop.compiled  # noqa: B018 (compiles)
