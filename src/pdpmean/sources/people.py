"""People: ids as text, and an exact check, in bounded memory, that no id occurs twice.

The check compares 64-bit hashes, range by range if there are too many to hold. Only ids whose hashes are equal are then
compared themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdpmean.core.traces import load_kernels
from pdpmean.errors import InvalidInputError
from pdpmean.sources.arrow_columns import is_text
from pdpmean.sources.labels import has_half_characters

__all__ = ["Ids", "check_ids", "has_repeated", "hashes_of", "id_as_text", "ids_as_text", "known_ids"]

Ids = Callable[[], Iterator[pa.Array]]  # reads the column of ids, in parts, from the start
Hashes = NDArray[np.uint64]

_WHOLE_NUMBERS: tuple[Any, ...] = (int, np.integer)
_LONGEST_NUMBER = 2**13  # bits; Python refuses to write much longer numbers as text
_HELD = 2**25  # hashes that are held at a time: 256 MiB
_LAST = 2**64 - 1  # the largest hash
_SUSPECTS = 2**16  # equal hashes whose ids are compared at a time
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that different integers have different products


def check_ids(kinds: Iterable[pa.DataType], name: str) -> None:
    """Raise unless columns of these types can hold ids, and these can be compared with each other."""
    if len({_comparable(kind, name) for kind in kinds}) > 1:
        found = ", ".join(sorted({str(kind) for kind in kinds}))
        raise InvalidInputError(f"person={name!r} has several types ({found}); convert them to one", name="person")


def _comparable(kind: pa.DataType, name: str) -> pa.DataType:
    """The type in which ids are compared: whole numbers as such, everything else as text or bytes."""
    if pa.types.is_dictionary(kind):
        return _comparable(kind.value_type, name)
    if pa.types.is_integer(kind):
        return pa.uint64() if kind == pa.uint64() else pa.int64()
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        raise InvalidInputError(f"person={name!r} must be a column of ids; its type is {kind}", name="person")
    return pa.large_binary() if "binary" in str(kind) else pa.large_string()


def ids_as_text(
    column: pa.Array, name: str, taking_part: NDArray[np.bool_] | None, *, public: bool
) -> list[str | None]:
    """The same as `known_ids`, as a list."""
    ids: list[str | None] = known_ids(column, name, taking_part, public=public).to_pylist()
    return ids


def known_ids(column: pa.Array, name: str, taking_part: NDArray[np.bool_] | None, *, public: bool) -> pa.Array:
    """The ids as text, the form in which a ledger holds them; null for records that take no part.

    If people are public, every record that takes part must have an id. Otherwise, a record without one takes no part.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_integer(kind) or is_text(kind)):
        raise InvalidInputError(
            f"person={name!r} must be text or whole numbers for rows or a ledger; its type is {kind}", name="person"
        )
    texts = column.cast(kind).cast(pa.large_string())
    usable = _can_be_known(texts)
    taking_part = np.ones(len(texts), dtype=np.bool_) if taking_part is None else taking_part
    if public and (taking_part & ~usable).any():
        raise InvalidInputError(f"person={name!r} must name the person of every record; some have none", name="person")
    kept = taking_part & usable
    return texts if kept.all() else pc.if_else(pa.array(kept), texts, None)


def _can_be_known(texts: pa.Array) -> NDArray[np.bool_]:
    """Whether a ledger can hold each id: not if it is missing, empty, or has characters that some databases refuse."""
    unusable = pc.or_(pc.equal(texts, ""), pc.match_substring(texts, "\0"))
    known: NDArray[np.bool_] = pc.invert(unusable).fill_null(False).to_numpy(zero_copy_only=False)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:  # an Arrow column of text can hold bytes that are not UTF-8
        return known & np.fromiter(map(_is_utf8, texts.cast(pa.large_binary()).to_pylist()), np.bool_, len(texts))
    return known


def _is_utf8(entry: bytes | None) -> bool:
    with suppress(UnicodeDecodeError):
        return (entry or b"").decode() is not None
    return False


def id_as_text(entry: object) -> str | None:
    """An entry of a list as the text of an id; None unless it is text or a whole number.

    An entry may be any object. It is read as the built-in type that it derives from, and its own methods are not
    called.
    """
    kind = type(entry)
    if kind is str or kind is np.str_:
        text = str(entry)
        return None if has_half_characters(text) else text
    whole = next((known for known in _WHOLE_NUMBERS if issubclass(kind, known)), None)
    if whole is None or kind is bool:
        return None
    with suppress(Exception):  # NumPy counts spans of time as integers, and these raise
        number = int(whole.__int__(entry))
        return str(number) if number.bit_length() <= _LONGEST_NUMBER else None
    return None


def has_repeated(ids: Ids, name: str) -> bool:
    """Whether two ids are equal. A missing id is an error, because its record would belong to nobody."""
    # As many ranges as fill four fifths of the room on average: hashes are spread evenly, so that each finds room.
    passes = 1 + sum(map(len, ids())) * 5 // (4 * _HELD)
    low = 0
    while low <= _LAST:
        hashes, last = _sorted_hashes(_hashed(ids, name), low, min(low + _LAST // passes, _LAST))
        suspects = np.unique(hashes[1:][hashes[1:] == hashes[:-1]])
        parts = range(0, suspects.size, _SUSPECTS)
        if any(_are_repeated(ids, name, suspects[start : start + _SUSPECTS]) for start in parts):
            return True
        low = last + 1
    return False


def _hashed(ids: Ids, name: str) -> Iterator[tuple[pa.Array, Hashes]]:
    """The ids in parts, in a form that can be compared, and their hashes; raises if one is missing."""
    record = 0
    for part in ids():
        if part.null_count:
            missing = record + int(np.argmin(part.is_valid().to_numpy(zero_copy_only=False)))
            raise InvalidInputError(
                f"person={name!r} must name the person of every record; record {missing} has none", name="person"
            )
        comparable = part.cast(_comparable(part.type, name), safe=False)
        yield comparable, hashes_of(comparable)
        record += len(part)


def hashes_of(ids: pa.Array) -> Hashes:
    """A 64-bit hash of each id, for whole numbers or text without nulls."""
    if pa.types.is_integer(ids.type):
        numbers: Hashes = ids.to_numpy().view(np.uint64) * _MULTIPLIER
        return (numbers ^ (numbers >> np.uint64(32))) * _MULTIPLIER
    hashes = np.empty(len(ids), np.uint64)
    _, offsets, text = ids.buffers()
    ends = np.frombuffer(offsets, np.int64)[ids.offset : ids.offset + len(ids) + 1]
    load_kernels().hash_texts(ends, np.frombuffer(text or b"", np.uint8), hashes)
    return hashes


def _sorted_hashes(parts: Iterator[tuple[pa.Array, Hashes]], low: int, last: int) -> tuple[Hashes, int]:
    """All hashes from `low` to `last`, sorted, and the last one; if there is no room, only those to an earlier last."""
    held, count = np.empty(_HELD, np.uint64), 0
    for _, hashes in parts:
        for piece in np.array_split(hashes, 1 + hashes.size // (_HELD // 4)):
            wanted = piece[(piece >= low) & (piece <= last)]
            if count + wanted.size > _HELD:
                count, last = _lower_half(held[:count])
                wanted = wanted[wanted <= last]
            held[count : count + wanted.size] = wanted
            count += wanted.size
    held[:count].sort()
    return held[:count], last


def _lower_half(held: Hashes) -> tuple[int, int]:
    """Sort the hashes and give up the upper half; returns how many are left, and the last of them.

    Of many equal hashes only two are kept, which is enough to notice them.
    """
    held.sort()
    is_no_third = held[2:] != held[:-2]
    if not is_no_third.all():
        kept = held[2:][is_no_third]
        held = held[: 2 + kept.size]
        held[2:] = kept
    last = held[(held.size - 1) // 2]
    return int(np.searchsorted(held, last, side="right")), int(last)


def _are_repeated(ids: Ids, name: str, suspects: Hashes) -> bool:
    """Whether two ids with one of these hashes are equal; different ids may have the same hash."""
    entries = [
        entry
        for part, hashes in _hashed(ids, name)
        for entry in part.filter(pa.array(np.isin(hashes, suspects))).to_pylist()
    ]
    return len(set(entries)) < len(entries)
