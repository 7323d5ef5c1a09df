"""Parquet files, read as streams of the needed columns in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from pdpmean.sources.files.source import File, Records

__all__ = ["ParquetFile"]

_BATCH = 2**18  # records per batch, about: decoded data stay in a core's cache, and threads rarely wait for each other

_PIECE = 2**20  # the smallest number of records that one thread reads in succession

_BUFFER = 2**20  # bytes that are read at a time, so that a large row group is never in memory as a whole


class ParquetFile(File):
    """A Parquet file, whose row groups are decoded in parallel."""

    format = "Parquet"

    def read_schema(self) -> pa.Schema:
        """The schema; the footer that holds it is kept for later passes."""
        with pq.ParquetFile(self.path) as file:
            self._metadata = file.metadata
            self.rows = file.metadata.num_rows
            return file.schema_arrow

    def streams(self, names: Sequence[str]) -> Iterator[Records]:
        """One stream for every million records or so, each made of whole row groups."""
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
        """The records of some row groups in batches of equal size, so that none is too small for the compiled loops."""
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
        """The columns of text to read as dictionaries, so that entries are looked up once each, not once per record."""
        looked_up = {self.layout.by, self.layout.budget}
        if self.layout.equals is not None:
            looked_up.add(self.layout.value)
        return {field.name for field in self.schema if field.name in looked_up and pa.types.is_string(field.type)}
