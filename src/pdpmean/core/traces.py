"""What a run leaves on disk besides its answer: nothing that depends on private data.

Large batches go to compiled loops, which numba keeps on disk, and whose modules Python keeps there as bytecode. Where
the number of records is private, files that appear for large data alone would tell of it. From the first estimate on
for which it is private, a process reads what others have left there, and writes nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import RLock
from types import ModuleType

__all__ = ["compiling", "leave_no_trace", "load_kernels", "may_leave_traces"]

_lock = RLock()
_discreet = False


def leave_no_trace() -> None:
    """From now on this process writes nothing that it compiles.

    For good: had it compiled for one estimate without a trace, it would leave none for a later one, either.
    """
    global _discreet
    _discreet = True


def may_leave_traces() -> bool:
    """Whether no estimate of this process has a private number of records."""
    return not _discreet


@contextmanager
def compiling() -> Iterator[None]:
    """One thread at a time; without bytecode of what is imported meanwhile, where that would be a trace."""
    with _lock:
        before = sys.dont_write_bytecode
        sys.dont_write_bytecode = before or _discreet
        try:
            yield
        finally:
            sys.dont_write_bytecode = before


@cache
def load_kernels() -> ModuleType:
    """The module of compiled loops; numba takes long to import, so that only large batches ask for it."""
    with compiling():
        from pdpmean.core import kernels
    return kernels
