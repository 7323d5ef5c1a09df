"""CSV files. Everything is read as text, so that no entry, whatever it is, decides on a type or an error."""

from __future__ import annotations

import codecs
import csv
import math
import os
import re
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from pdpmean.core.types import Floats
from pdpmean.sources.arrow_columns import numbers
from pdpmean.sources.categories import Category
from pdpmean.sources.files.source import File, Records

__all__ = ["DelimitedFile"]

_BLOCK = 2**22  # bytes parsed at a time; a row must fit in
# How other programs write what is missing.
_MISSING = pa.array(["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"])
_PATIENCE = 500  # milliseconds to wait for the end of what reads ahead


class _GroupNumbers(NamedTuple):
    """Those groups that are numbers, in ascending order."""

    numbers: Floats
    labels: pa.Array


class DelimitedFile(File):
    """A CSV file, perhaps compressed; separated by commas, by tabs, or by semicolons, which allow decimal commas."""

    format = "CSV"
    has_header = True

    def read_schema(self) -> pa.Schema:
        """The names in the first line, and the types that their columns will be taken for."""
        with closing(_Utf8(self.path)) as file:
            first, *rest = re.split(r"\r\n|\r|\n", file.read_some().decode("utf-8-sig"), maxsplit=1)
        self._has_rows = bool(rest)
        self._delimiter = self._delimiter_of(first)
        written = next(csv.reader([first], delimiter=self._delimiter))
        names = [name.strip() for name in written]
        self._check_header(names)
        self._written = dict(zip(names, written, strict=True))
        numeric = set(self.layout.numeric.values())
        return pa.schema([(name, pa.float64() if name in numeric else pa.string()) for name in names])

    def _delimiter_of(self, header: str) -> str:
        if ".tsv" in os.path.basename(self.path).lower():
            return "\t"
        return next((mark for mark in ";\t" if mark in header and "," not in header), ",")

    def _check_header(self, names: list[str]) -> None:
        """Raise if the first line may be somebody's record, and do not quote it as names of columns."""
        if "\0" in "".join(names):
            raise self.problem("is not text in UTF-8; save it as such")
        as_numbers = numbers(pa.array(names, pa.string())).tolist()
        if not set(self.layout.roles.values()) <= set(names) and not all(map(math.isnan, as_numbers)):
            raise self.problem("must start with a line of column names; its first line holds numbers")

    def streams(self, names: Sequence[str]) -> Iterator[Records]:
        """One stream, since where a row begins is known only to those who have read all before it."""
        if self._has_rows:
            yield self._stream(names)

    def _stream(self, names: Sequence[str]) -> Records:
        file = _Utf8(self.path)
        held = weakref.ref(file)
        reader: Any = ()
        try:
            reader = self._reader(file, names)
            for records in reader:
                self._check_rows(file.wrong)
                yield self._with_groups(self._with_categories(self._with_points(self._without_spaces(records, names))))
            self._check_rows(file.wrong)
        finally:
            # The reader reads ahead in threads of its own. One that asks for the interpreter's lock, to read or to let
            # go of the file, when the interpreter has begun to end brings the process down: so all come to their end.
            file.ended = True
            with suppress(Exception):  # what is wrong now has been told, or is cut off
                deque(reader, maxlen=0)
            del reader, file
            _wait_until_gone(held)

    def _reader(self, file: _Utf8, names: Sequence[str]) -> Any:
        written = [self._written[name] for name in names]
        return arrow_csv.open_csv(
            file,
            arrow_csv.ReadOptions(use_threads=False, block_size=_BLOCK),
            arrow_csv.ParseOptions(
                delimiter=self._delimiter,
                newlines_in_values=True,
                ignore_empty_lines=len(self.schema.names) > 1,  # in a single column, an empty line is a missing entry
                invalid_row_handler=file.leave_out,
            ),
            arrow_csv.ConvertOptions(
                include_columns=written, column_types=dict.fromkeys(written, pa.string()), strings_can_be_null=False
            ),
        )

    def _check_rows(self, wrong: list[str]) -> None:
        """Rows with fields too many or too few are left out, unless everyone who takes part is public."""
        if wrong and self.layout.public:
            # Which row it is would tell how many rows those before it have.
            raise self.problem("has a row with too many or too few fields" if self.layout.merged else wrong[0])
        wrong.clear()

    def _without_spaces(self, records: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
        """Where the first line has spaces around names, as after commas, those around entries do not count either."""
        if all(name == written for name, written in self._written.items()):
            return records
        columns = [pc.utf8_trim_whitespace(column) for column in records.columns]
        return pa.RecordBatch.from_arrays(columns, names=list(names))

    def _with_points(self, records: pa.RecordBatch) -> pa.RecordBatch:
        if self._delimiter != ";":
            return records
        for name in set(self.layout.numeric.values()) & set(records.schema.names):
            column = pc.replace_substring(records.column(name), ",", ".")
            records = records.set_column(records.schema.get_field_index(name), name, column)
        return records

    def _with_categories(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The same with missing entries, and with one way to write a number, where entries are to be compared.

        A file has no types: an entry is compared as text and as a number, whatever the others are.
        """
        name, label = self.layout.value, self.layout.equals
        if label is None or name not in records.schema.names:
            return records
        column = records.column(name)
        missing = pc.and_(pc.is_in(pc.utf8_trim_whitespace(column), _MISSING), pc.not_equal(column, label))
        same_number = pa.array(self._numbers_of(column) == Category(label).number)
        column = pc.if_else(missing, None, pc.if_else(same_number, label, column))
        return records.set_column(records.schema.get_field_index(name), name, column)

    def _with_groups(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The same with one way to write a number, where groups are numbers: 12.0 is in group 12, as for `equals`."""
        name = self.layout.by
        if name is None or name not in records.schema.names or not self._group_numbers.numbers.size:
            return records
        column, known = records.column(name), self._group_numbers
        found = self._numbers_of(column)
        places = np.searchsorted(known.numbers[:-1], found)
        is_other = pc.invert(pc.is_in(column, pa.array(self.layout.labels, column.type)))
        same_number = pc.and_(pa.array(known.numbers[places] == found), is_other)
        column = pc.if_else(same_number, known.labels.take(pa.array(places)), column)
        return records.set_column(records.schema.get_field_index(name), name, column)

    @cached_property
    def _group_numbers(self) -> _GroupNumbers:
        labels = [label for label in self.layout.labels if not math.isnan(Category(label).number)]
        labels.sort(key=lambda label: Category(label).number)
        return _GroupNumbers(np.array([Category(label).number for label in labels]), pa.array(labels, pa.string()))

    def _numbers_of(self, column: pa.Array) -> Floats:
        return numbers(pc.replace_substring(column, ",", ".") if self._delimiter == ";" else column)


def _wait_until_gone(held: weakref.ref[_Utf8]) -> None:
    for _ in range(_PATIENCE):
        if held() is None:
            return
        time.sleep(0.001)


class _Utf8:
    """The bytes of a file, decompressed, with a question mark for what is no UTF-8: no reader stumbles over it."""

    def __init__(self, path: str) -> None:
        self.ended = False
        """Whether to say that there is no more."""
        self.wrong: list[str] = []
        """Rows that were left out."""
        self._raw = pa.input_stream(path)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, size: int) -> bytes:
        """At most `size` bytes, none at the end."""
        while not self.ended:
            data: bytes = self._raw.read(max(size - 4, 1))  # four may be left over from the last time
            text = self._decoder.decode(data, final=not data)
            if text or not data:
                return text.replace("\ufffd", "?").encode()
        return b""

    def leave_out(self, row: arrow_csv.InvalidRow) -> str:
        """Skip a row with fields too many or too few."""
        self.wrong.append(f"has {row.actual_columns} instead of {row.expected_columns} fields in row {row.number}")
        return "skip"

    def read_some(self) -> bytes:
        """The first line, at least, or all."""
        found = b""
        while b"\n" not in found and b"\r" not in found and (more := self.read(_BLOCK)):
            found += more
        return found

    @property
    def closed(self) -> bool:
        return bool(self._raw.closed)

    def close(self) -> None:
        """Close the file."""
        self._raw.close()
