"""Kernels: the compiled loops, which do what each pass does to a large batch, without copies or the interpreter.

Each has a plain NumPy twin beside the rule it serves (`cells.Cells`, `summing.Summing`), which takes small batches and
is the reference in the tests. Twins are the same IEEE operations in the same order, so that their integers are equal.
The loops release the interpreter's lock, so that threads run them side by side.

A large estimate whose number of records is public keeps what it compiles on disk, and others read it there
(`traces.py`). ``python -m pdpmean.core.kernels`` compiles all loops ahead of any estimate.
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
    """Compile all loops and keep them on disk, ahead of any estimate."""
    for name in __all__:
        loop = globals()[name]
        if isinstance(loop, Loop):
            loop.compiled  # noqa: B018 (compiles)
