"""Compiled: how a loop is compiled, for which types, and what is kept of it on disk."""

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
    """A loop, compiled at its first call for the types it declares and for no others.

    Left to itself, numba compiles for whatever arrays it is given, and keeps that on disk: once more for arrays that
    cannot be written to, or whose entries lie apart. Whether a column comes as one of these may depend on its entries.
    """

    def __init__(self, loop: Callable[..., Any], signatures: Sequence[Any]) -> None:
        self._loop = loop
        self._signatures = signatures
        self._compiled: Any = None
        update_wrapper(self, loop)

    def __call__(self, *arguments: Any) -> Any:
        """What the loop gives; columns whose entries lie apart are copied."""
        return self.compiled(*map(_in_order, arguments))

    @property
    def compiled(self) -> Any:
        """The loop as numba has it."""
        if self._compiled is None:
            with compiling():
                self._compiled = self._compiled or self._compile()
        return self._compiled

    def _compile(self):
        if numba.config.DISABLE_JIT:
            return self._loop
        compiled = numba.njit(nogil=True)(self._loop)
        with suppress(RuntimeError):  # nowhere to write, or nothing to read
            compiled._cache = (_Cache if may_leave_traces() else _Kept)(self._loop)
        for signature in self._signatures:
            compiled.compile(signature)
        compiled.disable_compile()
        return compiled


def _in_order(argument):
    """Arrays as declared: entries next to each other, at addresses that a processor likes."""
    return np.require(argument, requirements=("C", "A")) if isinstance(argument, np.ndarray) else argument


@cache
def _stamp_of_room():
    """What the files of this room say: a loop is made of functions and constants of others than its own."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _stamped_by(locator):
    """The same place on disk; numba would take what is kept there for fresh until the loop's own file changes."""

    def get_source_stamp(self):
        return locator.get_source_stamp(self), _stamp_of_room()

    return type(locator.__name__, (locator,), {"get_source_stamp": get_source_stamp})


def _kept_by(locator):
    """The same place on disk, if it is there; numba makes it, and writes a file to see whether it can."""

    def ensure_cache_path(self):
        if not os.access(self.get_cache_path(), os.W_OK):
            raise FileNotFoundError

    return type(locator.__name__, (locator,), {"ensure_cache_path": ensure_cache_path})


def _in_places(impl, changed):
    """The same with other places to look in."""
    return type(impl.__name__, (impl,), {"_locator_classes": [*map(changed, impl._locator_classes)]})


class _Cache(FunctionCache):
    """What was compiled before from the same files, and kept on disk."""

    _impl_class = _in_places(FunctionCache._impl_class, _stamped_by)


class _Kept(_Cache):
    """The same, and nothing is added."""

    _impl_class = _in_places(_Cache._impl_class, _kept_by)

    def save_overload(self, sig, data):
        """Nothing."""


def compiled(*signatures: Any) -> Callable[[Callable[..., Any]], Loop]:
    """Make a function a loop that is compiled for these types."""
    return lambda loop: Loop(loop, signatures)
