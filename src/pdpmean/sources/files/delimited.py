"""CSV files, read as text and converted entry by entry, so that no private entry decides on a type or an error."""

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

from pdpmean.core.text import did_you_mean
from pdpmean.core.types import Floats
from pdpmean.sources.arrow_columns import numbers
from pdpmean.sources.categories import Category
from pdpmean.sources.files.source import File, Records

__all__ = ["DelimitedFile"]

_BLOCK = 2**22  # bytes that are parsed at a time; no row may be longer
# How other programs write a missing entry.
_MISSING = pa.array(["", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null"])
_PATIENCE = 500  # milliseconds to wait for the threads that read ahead


class _GroupNumbers(NamedTuple):
    """The groups whose labels are numbers, in ascending order."""

    numbers: Floats
    labels: pa.Array


class DelimitedFile(File):
    """A CSV file, possibly compressed, with commas, tabs or semicolons; with semicolons, decimal commas are allowed."""

    format = "CSV"
    has_header = True
    is_text = True

    def read_schema(self) -> pa.Schema:
        """The column names in the first line, each with the type that its role requires."""
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
        """Raise if the first line may be somebody's record; then it must not be quoted as column names."""
        if "\0" in "".join(names):
            raise self.problem("is not text in UTF-8; save it as such")
        as_numbers = numbers(pa.array(names, pa.string())).tolist()
        if not set(self.layout.roles.values()) <= set(names) and not all(map(math.isnan, as_numbers)):
            raise self.problem("must start with a line of column names; its first line holds numbers")
        missing = next((name for name in self.layout.roles.values() if name not in names), None)
        if missing is not None and len(names) == 1:
            # Quoted only if it is like the name of a column, since it may be somebody's record.
            hint = did_you_mean(missing, names) if re.fullmatch(r"\w+", names[0]) else ""
            raise self.problem(
                f"has no column {missing!r}{hint or '.'} Only one column was found: fields must be separated by "
                "commas, semicolons or tabs"
            )

    def streams(self, names: Sequence[str]) -> Iterator[Records]:
        """A single stream, because where a row begins is known only after reading everything before it."""
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
            # Arrow reads ahead in its own threads. If one of them asks for the interpreter's lock, to read or to
            # release the file, while the interpreter shuts down, the process crashes. So wait until all have ended.
            file.ended = True
            with suppress(Exception):  # any error was raised before, or comes from cutting the file off
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
        """Raise if rows had too many or too few fields and records are public; otherwise such rows are left out."""
        if wrong and self.layout.public:
            # If rows are merged, the number of a row would reveal how many rows the people before it have.
            raise self.problem("has a row with too many or too few fields" if self.layout.merged else wrong[0])
        wrong.clear()

    def _without_spaces(self, records: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
        """The records without spaces around entries, if the header has spaces around names, as after commas."""
        if all(name == written for name, written in self._written.items()):
            return records
        columns = [pc.utf8_trim_whitespace(column) for column in records.columns]
        return pa.RecordBatch.from_arrays(columns, names=list(names))

    def _with_points(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The records with decimal points in place of decimal commas, which a file with semicolons may have."""
        if self._delimiter != ";":
            return records
        for name in set(self.layout.numeric.values()) & set(records.schema.names):
            column = pc.replace_substring(records.column(name), ",", ".")
            records = records.set_column(records.schema.get_field_index(name), name, column)
        return records

    def _with_categories(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """The records with missing entries as nulls, and with numbers that equal `equals` written like it.

        CSV has no types, so that an entry is compared both as text and as a number, whatever the other entries are.
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
        """The records with numbers that equal the label of a group written like it: 12.0 is in group 12."""
        name = self.layout.by
        if name is None or name not in records.schema.names or not self._group_numbers.numbers.size:
            return records
        column = records.column(name)
        known = self._group_numbers
        as_numbers = self._numbers_of(column)
        places = np.searchsorted(known.numbers[:-1], as_numbers)
        is_other = pc.invert(pc.is_in(column, pa.array(self.layout.labels, column.type)))
        same_number = pc.and_(pa.array(known.numbers[places] == as_numbers), is_other)
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
    """The bytes of a file, decompressed, with a question mark for anything that is not UTF-8, so that none raises."""

    def __init__(self, path: str) -> None:
        self.ended = False
        """Whether to pretend that the file ends here."""
        self.wrong: list[str] = []
        """The problems of rows that were left out."""
        self._raw = pa.input_stream(path)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        while not self.ended:
            data: bytes = self._raw.read(max(size - 4, 1))  # the decoder may hold up to four from before
            text = self._decoder.decode(data, final=not data)
            if text or not data:
                return text.replace("\ufffd", "?").encode()
        return b""

    def leave_out(self, row: arrow_csv.InvalidRow) -> str:
        """Skip a row with too many or too few fields, and remember the problem."""
        self.wrong.append(f"has {row.actual_columns} instead of {row.expected_columns} fields in row {row.number}")
        return "skip"

    def read_some(self) -> bytes:
        """The beginning of the file: at least its first line."""
        beginning = b""
        while b"\n" not in beginning and b"\r" not in beginning and (more := self.read(_BLOCK)):
            beginning += more
        return beginning

    @property
    def closed(self) -> bool:
        return bool(self._raw.closed)

    def close(self) -> None:
        """Close the file."""
        self._raw.close()
