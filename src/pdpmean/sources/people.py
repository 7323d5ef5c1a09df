"""Whether a person has two records: exactly, and in bounded memory however many there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdpmean.core.traces import load_kernels
from pdpmean.errors import InvalidInputError

__all__ = ["Ids", "check_ids", "has_repeated", "hashes_of", "id_as_text", "ids_as_text", "known_ids"]

Ids = Callable[[], Iterator[pa.Array]]  # the column of ids, in parts, from the start
Hashes = NDArray[np.uint64]

_SURROGATES = re.compile("[\ud800-\udfff]")  # halves of a character, which no database can hold
_WHOLE_NUMBERS: tuple[Any, ...] = (int, np.integer)
_LONGEST_NUMBER = 2**13  # bits: Python writes no number that is much longer
_HELD = 2**25  # hashes at a time: 256 MiB
_LAST = 2**64 - 1
_SUSPECTS = 2**16
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no two integers get one product


def check_ids(kinds: Iterable[pa.DataType], name: str) -> None:
    """Raise unless columns of these types hold ids that can be compared with each other."""
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
    """As `known_ids`, in a list."""
    ids: list[str | None] = known_ids(column, name, taking_part, public=public).to_pylist()
    return ids


def known_ids(column: pa.Array, name: str, taking_part: NDArray[np.bool_] | None, *, public: bool) -> pa.Array:
    """The ids as text, in which a ledger knows them; null for those who take no part.

    Whoever takes part must have an id if people are public; otherwise, who has none takes no part.
    """
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_integer(kind) or _is_text(kind)):
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


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _can_be_known(texts: pa.Array) -> NDArray[np.bool_]:
    """Which ids a ledger can hold: none that is missing or empty, and not all databases can hold all characters."""
    unusable = pc.or_(pc.equal(texts, ""), pc.match_substring(texts, "\0"))
    known: NDArray[np.bool_] = pc.invert(unusable).fill_null(False).to_numpy(zero_copy_only=False)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:  # a column of text can hold bytes that are none
        return known & np.fromiter(map(_is_utf8, texts.cast(pa.large_binary()).to_pylist()), np.bool_, len(texts))
    return known


def _is_utf8(entry: bytes | None) -> bool:
    with suppress(UnicodeDecodeError):
        return (entry or b"").decode() is not None
    return False


def id_as_text(entry: object) -> str | None:
    """An id of a list as text: whole numbers and text are ids, and whatever else an entry is, it names nobody.

    By the type that it is or is derived from; methods of its own are not asked.
    """
    kind = type(entry)
    if kind is str or kind is np.str_:
        text = str(entry)
        return text if text.isascii() or not _SURROGATES.search(text) else None
    whole = next((known for known in _WHOLE_NUMBERS if issubclass(kind, known)), None)
    if whole is None or kind is bool:
        return None
    number = int(whole.__int__(entry))
    return str(number) if number.bit_length() <= _LONGEST_NUMBER else None


def has_repeated(ids: Ids, name: str) -> bool:
    """Whether two entries of the column are equal. A missing one is an error: its record is nobody's."""
    passes = 1 + sum(map(len, ids())) * 5 // (4 * _HELD)  # hashes are spread evenly, so that each range has room
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
    """A hash of each id: whole numbers, or text without nulls."""
    if pa.types.is_integer(ids.type):
        numbers: Hashes = ids.to_numpy().view(np.uint64) * _MULTIPLIER
        return (numbers ^ (numbers >> np.uint64(32))) * _MULTIPLIER
    hashes = np.empty(len(ids), np.uint64)
    _, offsets, text = ids.buffers()
    ends = np.frombuffer(offsets, np.int64)[ids.offset : ids.offset + len(ids) + 1]
    load_kernels().hash_texts(ends, np.frombuffer(text or b"", np.uint8), hashes)
    return hashes


def _sorted_hashes(parts: Iterator[tuple[pa.Array, Hashes]], low: int, last: int) -> tuple[Hashes, int]:
    """All hashes from `low` to `last`, or to an earlier one if there is no room; and which one it was."""
    held, count = np.empty(_HELD, np.uint64), 0
    for _, hashes in parts:
        for few in np.array_split(hashes, 1 + hashes.size // (_HELD // 4)):
            wanted = few[(few >= low) & (few <= last)]
            if count + wanted.size > _HELD:
                count, last = _lower_half(held[:count])
                wanted = wanted[wanted <= last]
            held[count : count + wanted.size] = wanted
            count += wanted.size
    held[:count].sort()
    return held[:count], last


def _lower_half(held: Hashes) -> tuple[int, int]:
    """Sort, and say how many to go on with and the last of them; of many equal ones two are enough to be found."""
    held.sort()
    new = held[2:] != held[:-2]
    if not new.all():
        kept = held[2:][new]
        held = held[: 2 + kept.size]
        held[2:] = kept
    last = held[(held.size - 1) // 2]
    return int(np.searchsorted(held, last, side="right")), int(last)


def _are_repeated(ids: Ids, name: str, suspects: Hashes) -> bool:
    """Whether two equal ids have one of these hashes; two different ones may, too."""
    found = [
        entry
        for part, hashes in _hashed(ids, name)
        for entry in part.filter(pa.array(np.isin(hashes, suspects))).to_pylist()
    ]
    return len(set(found)) < len(found)
