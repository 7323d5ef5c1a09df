"""Compiled: how the loops of `kernels` are compiled, for which types, and how they are cached on disk."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, update_wrapper
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core.caching import FunctionCache

from pdpmean.core.traces import compiling, may_leave_traces

__all__ = ["Loop", "compiled"]


class Loop:
    """A loop that is compiled at its first call, for the types that it declares and for no others.

    By default, numba would compile a loop for each kind of array that it is called with, such as read-only or strided
    ones, and cache each on disk. But which kind a column is may depend on its entries, which are private.
    """

    def __init__(self, loop: Callable[..., Any], signatures: Sequence[Any]) -> None:
        self._loop = loop
        self._signatures = signatures
        self._compiled: Any = None
        update_wrapper(self, loop)

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop; arrays that are not contiguous are copied first."""
        return self.compiled(*map(_in_order, arguments))

    @property
    def compiled(self) -> Any:
        """The compiled function; compiles it if necessary, in one thread only."""
        if self._compiled is None:
            with compiling():
                self._compiled = self._compiled or self._compile()
        return self._compiled

    def _compile(self):
        if numba.config.DISABLE_JIT:
            return self._loop
        compiled = numba.njit(nogil=True)(self._loop)
        with suppress(RuntimeError):  # there is no place to write the cache to, or no cache to read
            compiled._cache = (_Cache if may_leave_traces() else _Kept)(self._loop)
        for signature in self._signatures:
            compiled.compile(signature)
        compiled.disable_compile()
        return compiled


def _in_order(argument):
    """Arrays as the signatures declare them: contiguous and aligned."""
    return np.require(argument, requirements=("C", "A")) if isinstance(argument, np.ndarray) else argument


@cache
def _stamp_of_room():
    """A hash of all files of this room, since a loop includes functions and constants from other files than its own."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _stamped_by(locator):
    """The same place on disk, but stale as soon as any file of this room changes, not only the loop's own."""

    def get_source_stamp(self):
        return locator.get_source_stamp(self), _stamp_of_room()

    return type(locator.__name__, (locator,), {"get_source_stamp": get_source_stamp})


def _kept_by(locator):
    """The same place on disk, but only if it exists; numba would create it, and write a file as a test."""

    def ensure_cache_path(self):
        if not os.access(self.get_cache_path(), os.W_OK):
            raise FileNotFoundError

    return type(locator.__name__, (locator,), {"ensure_cache_path": ensure_cache_path})


def _in_places(impl, changed):
    """The same cache, with each of its possible places changed."""
    return type(impl.__name__, (impl,), {"_locator_classes": [*map(changed, impl._locator_classes)]})


class _Cache(FunctionCache):
    """The cache on disk, of loops that were compiled from the same files."""

    _impl_class = _in_places(FunctionCache._impl_class, _stamped_by)


class _Kept(_Cache):
    """The same cache, read-only: where the number of records is private, a new file would reveal that it is large."""

    _impl_class = _in_places(_Cache._impl_class, _kept_by)

    def save_overload(self, sig, data):
        """Save nothing."""


def compiled(*signatures: Any) -> Callable[[Callable[..., Any]], Loop]:
    """A decorator that makes a function a loop, compiled for these signatures."""
    return lambda loop: Loop(loop, signatures)
