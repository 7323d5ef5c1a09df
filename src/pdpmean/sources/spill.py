"""Spill: Arrow records that are set aside under keys, in memory if they are few, otherwise in an unnamed file."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import TypeVar

import pyarrow as pa

from pdpmean.errors import InvalidInputError

__all__ = ["Spill"]

_IN_MEMORY = 2**26  # bytes that are kept in memory; if there are more, all are written to the file

Result = TypeVar("Result")


class Spill:
    """Records by key, which can be read repeatedly.

    The file has no name, so that it is gone when the program ends, even if the program is killed.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 (closed by the finalizer)
        weakref.finalize(self, self._file.close)
        self._parts: dict[int, list[tuple[int, int]]] = {}

    def add(self, key: int, records: pa.RecordBatch) -> None:
        """Set records aside under a key."""
        data = records.serialize()
        start = _attempt(lambda: self._file.seek(0, 2))
        _attempt(lambda: self._file.write(data))
        self._parts.setdefault(key, []).append((start, data.size))

    @property
    def keys(self) -> list[int]:
        """All keys, sorted."""
        return sorted(self._parts)

    def read(self, key: int) -> Iterator[pa.RecordBatch]:
        """The records of a key, in the order in which they were set aside."""
        for start, size in self._parts.get(key, []):
            self._file.seek(start)
            yield pa.ipc.read_record_batch(pa.py_buffer(self._file.read(size)), self._schema)


def _attempt(work: Callable[[], Result]) -> Result:
    """The result of `work`; raises an error that says what to do if, say, the disk is full."""
    try:
        return work()
    except OSError as error:
        reason = error.strerror or "no reason given"
    raise InvalidInputError(
        f"{tempfile.gettempdir()} cannot hold the rows that are set aside: {reason}. Free some space, or name another "
        "folder in TMPDIR",
        name="rows",
    )
