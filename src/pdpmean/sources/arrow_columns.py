"""Arrow columns as arrays: as doubles, or as positions in a public list. Types are checked; an entry never raises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdpmean.core.checks import TIERS_HINT
from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.traces import load_kernels
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError

__all__ = ["Places", "check_numeric", "equal_to", "holds_text_or_numbers", "is_text", "listed", "numbers"]

_YES = pa.array(["True", "TRUE", "true"])
_NO = pa.array(["False", "FALSE", "false"])
_NUMBER = r"^[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity|nan))$"
# A table of positions is made for listed integers up to this size, within a range of at most this width.
_FARTHEST = 2**62
_WIDEST = 2**20
_DIGITS = {32: 9, 64: 18, 128: 38, 256: 76}  # of a decimal, by its number of bits
# Types that Arrow can compare with a list only after a cast.
_CAST = {
    pa.string_view(): pa.large_string(),
    pa.binary_view(): pa.large_binary(),
    pa.float16(): pa.float32(),
    pa.null(): pa.string(),
}
_ENTRY_HINT = ". For the share of one of its entries, use equals='yes'"


def check_numeric(kind: pa.DataType, role: str, name: str) -> None:
    """Raise unless columns of this type hold numbers; `role` is the argument that names the column."""
    entry_type = kind.value_type if pa.types.is_dictionary(kind) else kind
    is_number = (pa.types.is_integer, pa.types.is_floating, _is_decimal, pa.types.is_boolean, pa.types.is_null)
    if not any(test(entry_type) for test in is_number):
        hint = {"budget": f"; {TIERS_HINT}", "value": _ENTRY_HINT * is_text(entry_type)}.get(role, "")
        raise InvalidInputError(
            f"{role}={name!r} must be a column of numbers; its type is {kind}{hint}",
            name=role,
            value=name,
        )


def holds_text_or_numbers(kind: pa.DataType) -> bool:
    """Whether entries of this type can be compared with labels, as text or as numbers."""
    entry_type = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, is_text)
    return any(test(entry_type) for test in tests)


def is_text(kind: pa.DataType) -> bool:
    """Whether this is one of Arrow's types of text."""
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))


def _is_decimal(kind: pa.DataType) -> bool:
    """Whether these are decimals whose scale Arrow can write as text."""
    return bool(pa.types.is_decimal(kind) and abs(kind.scale) <= _DIGITS[kind.bit_width])


def numbers(column: pa.Array, *, reads_yes_and_no: bool = False) -> Floats:
    """A column as doubles, without a copy if it holds doubles; missing entries and text that is no number are NaN.

    If `reads_yes_and_no`, the texts true and false are 1 and 0.
    """
    if pa.types.is_dictionary(column.type):
        return _taken(numbers(column.dictionary), column.indices, math.nan)
    if pa.types.is_decimal(column.type):
        return _numbers_in_decimals(column)
    if pa.types.is_string(column.type):
        return _numbers_in_text(column, reads_yes_and_no=reads_yes_and_no)
    return _doubles(column)


def equal_to(column: pa.Array, entry: pa.Scalar) -> Floats:
    """1 where an entry of the column equals this one, 0 where it does not, NaN where it is missing.

    `entry` has the type that `listed` gives it for this column.
    """
    if pa.types.is_dictionary(column.type):
        return _taken(equal_to(column.dictionary, entry), column.indices, math.nan)
    entries = column.cast(entry.type)
    if pa.types.is_floating(entries.type):
        entries = pc.if_else(pc.is_nan(entries), None, entries)
    return _doubles(pc.equal(entries, entry))


def _doubles(column: pa.Array) -> Floats:
    # Threads wait for each other in every call to Arrow, so that a needless cast would cost time.
    cast = column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)
    doubles: Floats = cast.to_numpy(zero_copy_only=False)
    return doubles


def _taken(of_dictionary: NDArray[Any], indices: pa.Array, missing: float) -> NDArray[Any]:
    """The result for each entry of a dictionary column, given the results for the entries of its dictionary."""
    results = np.append(of_dictionary, np.array([missing], of_dictionary.dtype))
    where = indices.cast(pa.int64(), safe=False).fill_null(of_dictionary.size)
    taken: NDArray[Any] = results[where.to_numpy()]
    return taken


def _numbers_in_decimals(column: pa.Array) -> Floats:
    """Decimals as the nearest doubles, the same in every engine; Arrow's own cast is sometimes off by one bit."""
    kind = column.type
    if kind.bit_width != 128 or kind.precision > 15 or not 0 <= kind.scale <= 22:
        return _doubles(column.cast(pa.string()))
    # A quotient of two integers that are exact as doubles, so that it is rounded only once.
    words = np.frombuffer(column.buffers()[1] or b"", np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    return np.where(column.is_valid().to_numpy(zero_copy_only=False), words[::2] / float(10**kind.scale), math.nan)


def _numbers_in_text(column: pa.Array, *, reads_yes_and_no: bool) -> Floats:
    """Text as doubles. The slow path gives an entry the same number as the fast one, whatever its neighbours are."""
    try:
        return _doubles(column)
    except pa.ArrowInvalid:
        trimmed = pc.utf8_trim_whitespace(column)
        written = _with_digits(trimmed) if reads_yes_and_no else trimmed
        return _doubles(pc.if_else(pc.match_substring_regex(written, _NUMBER), written, None))


def _with_digits(column: pa.Array) -> pa.Array:
    """The same text with 1 and 0 instead of true and false, as pandas, R and others write them."""
    return pc.if_else(pc.is_in(column, _YES), "1", pc.if_else(pc.is_in(column, _NO), "0", column))


def listed(labels: tuple[str, ...], kind: pa.DataType, role: str, name: str) -> pa.Array:
    """The labels of a public list in the type of the column `name`, so that they can be compared with its entries.

    `role` is the argument that lists them. Raises if a label cannot be an entry of that type, or if two become equal.
    """
    entry_type = kind.value_type if pa.types.is_dictionary(kind) else kind
    entry_type = _CAST.get(entry_type, entry_type)
    if not _fit(labels, entry_type):
        wrong = next(label for label in labels if not _fit((label,), entry_type))
        raise InvalidInputError(
            f"{role} must be entries that column {name!r}, of type {kind}, can have; got {wrong!r}",
            name=role,
            value=wrong,
        )
    entries = pa.array(labels, pa.string()).cast(entry_type)
    if len(entries.unique()) < len(entries):
        raise InvalidInputError(f"{role} must differ also as entries of column {name!r}, of type {kind}", name=role)
    return entries


def _fit(labels: Sequence[str], kind: pa.DataType) -> bool:
    """Whether all labels can be entries of this type."""
    try:
        entries = pa.array(labels, pa.string()).cast(kind)
        return bool(pc.index_in(entries, value_set=entries).null_count == 0)
    except pa.ArrowException:
        return False


@dataclass(frozen=True)
class Places:
    """A public list of distinct entries, in which those of a column are looked up.

    It exists so that what makes this fast is prepared once, not for every batch.
    """

    entries: pa.Array

    def of(self, column: pa.Array) -> NDArray[np.int32]:
        """The position of each entry of the column in the list; the list's length for one that is not listed."""
        if pa.types.is_dictionary(column.type):
            return _taken(self.of(column.dictionary), column.indices, len(self.entries))
        if self._table is not None and column.type == self.entries.type:
            return self._looked_up(column, *self._table)
        found = pc.index_in(column.cast(self.entries.type), value_set=self.entries)
        codes: NDArray[np.int32] = found.fill_null(len(self.entries)).to_numpy(zero_copy_only=False)
        return codes

    @cached_property
    def _table(self) -> tuple[int, NDArray[np.int32]] | None:
        """For listed integers that are close together: the number below them, and a table of positions from there on.

        Its first and its last entry stand for all numbers outside.
        """
        if not pa.types.is_integer(self.entries.type) or pa.types.is_uint64(self.entries.type):
            return None
        listed_numbers = self.entries.cast(pa.int64()).to_numpy()
        below, most = int(listed_numbers.min()) - 1, int(listed_numbers.max())
        if below < -_FARTHEST or most >= min(_FARTHEST, below + 1 + _WIDEST):
            return None
        table = np.full(most - below + 2, listed_numbers.size, dtype=np.int32)
        table[listed_numbers - below] = np.arange(listed_numbers.size)
        return below, table

    def _looked_up(self, column: pa.Array, below: int, table: NDArray[np.int32]) -> NDArray[np.int32]:
        """The positions by means of the table, which is ten times as fast."""
        filled = column.fill_null(0) if column.null_count else column  # filling copies
        integers = filled.to_numpy(zero_copy_only=False)
        if integers.size < SMALLEST_BATCH:
            codes: NDArray[np.int32] = table[np.clip(integers.astype(np.int64), below, below + table.size - 1) - below]
        else:
            codes = np.empty(integers.size, dtype=np.int32)
            width = np.promote_types(integers.dtype, np.int32)
            load_kernels().look_up(integers.astype(width, copy=False), below, table, codes)
        if column.null_count:
            codes[column.is_null().to_numpy(zero_copy_only=False)] = len(self.entries)
        return codes
