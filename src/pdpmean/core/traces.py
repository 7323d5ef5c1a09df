"""Traces: what an estimate leaves on disk besides its answer, which must not depend on private data.

Large batches go to compiled loops. Numba caches these on disk, and Python the bytecode of their modules. If the number
of records is private, files that appear only for large data would reveal it. So, from its first estimate with a private
number of records on, a process reads these caches but writes nothing to them.
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
    """From now on, this process does not write to disk what it compiles.

    This is permanent. If it wrote later, whether a loop is missing there would reveal that it was compiled before.
    """
    global _discreet
    _discreet = True


def may_leave_traces() -> bool:
    """Whether this process may write to the caches: no estimate so far has had a private number of records."""
    return not _discreet


@contextmanager
def compiling() -> Iterator[None]:
    """A context for compiling, for one thread at a time; imports in it write no bytecode if that would be a trace."""
    with _lock:
        before = sys.dont_write_bytecode
        sys.dont_write_bytecode = before or _discreet
        try:
            yield
        finally:
            sys.dont_write_bytecode = before


@cache
def load_kernels() -> ModuleType:
    """The module of compiled loops; imported only for large batches, because importing numba takes long."""
    with compiling():
        from pdpmean.core import kernels
    return kernels
