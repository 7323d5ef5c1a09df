"""Parquet files, as streams of a few columns in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from pdpmean.sources.files.source import File, Records

__all__ = ["ParquetFile"]

_BATCH = 2**18  # records, about; what a core decodes stays in its cache, and threads seldom wait for each other

_PIECE = 2**20  # records that one thread reads on end, at least

_BUFFER = 2**20  # bytes read at a time, so that a row group of any size is a stream


class ParquetFile(File):
    """A Parquet file; row groups are decoded side by side."""

    format = "Parquet"

    def read_schema(self) -> pa.Schema:
        """From the footer, which is kept."""
        with pq.ParquetFile(self.path) as file:
            self._metadata = file.metadata
            self.rows = file.metadata.num_rows
            return file.schema_arrow

    def streams(self, names: Sequence[str]) -> Iterator[Records]:
        """One stream for every million records or so, at the least for every row group."""
        groups: list[int] = []
        records = 0
        for group in range(self._metadata.num_row_groups):
            groups.append(group)
            records += self._metadata.row_group(group).num_rows
            if records >= _PIECE:
                yield self._stream(groups, records, names)
                groups, records = [], 0
        if groups:
            yield self._stream(groups, records, names)

    def _stream(self, groups: list[int], records: int, names: Sequence[str]) -> Records:
        """In batches of one size, so that none is too small for the compiled loops."""
        batch = -(-records // max(round(records / _BATCH), 1))
        with pq.ParquetFile(
            self.path,
            metadata=self._metadata,
            buffer_size=_BUFFER,
            pre_buffer=False,
            read_dictionary=[name for name in names if name in self._texts()],
        ) as file:
            yield from file.iter_batches(max(batch, 1), groups, list(names), use_threads=False)

    def _texts(self) -> set[str]:
        """Columns of names, which are looked up once in a dictionary rather than once a record."""
        looked_up = {self.layout.by, self.layout.budget}
        if self.layout.equals is not None:
            looked_up.add(self.layout.value)
        return {field.name for field in self.schema if field.name in looked_up and pa.types.is_string(field.type)}
