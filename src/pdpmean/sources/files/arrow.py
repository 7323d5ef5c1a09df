"""Arrow files, read as streams of the needed columns in bounded memory."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence

import pyarrow as pa

from pdpmean.sources.files.parquet import _PIECE
from pdpmean.sources.files.source import File, Records

__all__ = ["ArrowFile"]

_LARGE = 2**26  # bytes per Arrow batch, on average; a file of larger batches is mapped into memory rather than read


class ArrowFile(File):
    """A file in Arrow's file format (Feather) or stream format."""

    format = "Arrow"

    def read_schema(self) -> pa.Schema:
        """The schema; the first bytes of the file tell the two formats apart."""
        with pa.OSFile(self.path) as file:
            self._batches = 0
            self._random = file.read(6) == b"ARROW1"
            file.seek(0)
            reader = pa.ipc.open_file(file) if self._random else pa.ipc.open_stream(file)
            if self._random:
                self._batches = reader.num_record_batches
            return reader.schema

    def streams(self, names: Sequence[str]) -> Iterator[Records]:
        """One stream for every eight batches; a single one if the format or the size of batches requires it."""
        if not self._random:
            yield self._whole(names)
        elif self.fingerprint[0] > _LARGE * self._batches:
            yield self._mapped()
        else:
            for first in range(0, self._batches, 8):
                yield self._stream(range(first, min(first + 8, self._batches)), names)

    def _options(self, names: Sequence[str]) -> pa.ipc.IpcReadOptions:
        fields = [self.schema.get_field_index(name) for name in names]
        return pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)

    def _whole(self, names: Sequence[str]) -> Records:
        with pa.OSFile(self.path) as file:
            for batch in pa.ipc.open_stream(file, options=self._options(names)):
                yield from _sliced(batch)

    def _stream(self, numbers: range, names: Sequence[str]) -> Records:
        with pa.OSFile(self.path) as file:
            reader = pa.ipc.open_file(file, options=self._options(names))
            for number in numbers:
                yield from _sliced(reader.get_batch(number))

    def _mapped(self) -> Records:
        """The records of a file whose batches are too large to be read; memory of used parts is given back."""
        with open(self.path, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped)))
        for number in range(self._batches):
            for part in _sliced(reader.get_batch(number)):
                yield part
                if hasattr(mmap, "MADV_DONTNEED"):
                    mapped.madvise(mmap.MADV_DONTNEED)


def _sliced(batch: pa.RecordBatch) -> Records:
    for start in range(0, batch.num_rows, _PIECE):
        yield batch.slice(start, _PIECE)
