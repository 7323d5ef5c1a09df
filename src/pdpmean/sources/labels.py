"""Labels: the position of each record's group in the public list of groups."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.threads import in_threads
from pdpmean.errors import InvalidInputError

__all__ = [
    "arrow_type",
    "by_parts",
    "codes_of",
    "entries_of",
    "has_half_characters",
    "in_arrow",
    "text_of",
    "text_or_missing",
]

_PART = 2**20  # entries that are looked up at a time
_SURROGATES = re.compile("[\ud800-\udfff]")


def codes_of(column: Any, groups: Sequence[Hashable], *, role: str = "groups", name: str = "by") -> NDArray[np.int32]:
    """The position of each entry in the list of groups; one beyond the last for an entry that is not listed.

    Entries are compared as text. In an array of numbers they are compared as numbers, because a missing entry turns a
    column of whole numbers into doubles. For messages, `role` is the argument that lists the groups, and `name` that of
    the column.
    """
    kind = getattr(column, "dtype", None)
    if isinstance(kind, np.dtype) and kind.kind in "biufU":
        array = np.asanyarray(column)
        return _codes_in_parts(arrow_type(array), lambda places: by_parts(places.of, array), groups, role, name)
    typed = _typed_in_arrow(column)
    if typed is not None:
        return _codes_in_parts(typed.type, lambda places: in_threads(places.of, _parts(typed)), groups, role, name)
    categories = getattr(kind, "categories", None)
    if categories is not None and hasattr(column, "array"):
        # A missing entry may turn the categories into others as they are listed: intervals into those of doubles.
        of_categories = np.append(_codes_by_text(entries_of(categories, name), groups), np.int32(len(groups)))
        codes: NDArray[np.int32] = of_categories[column.array.codes]  # -1 if missing: the last one
        return codes
    return _codes_by_text(entries_of(column, name), groups)


def _codes_by_text(entries: Sequence[Any], groups: Sequence[Hashable]) -> NDArray[np.int32]:
    """The position of each entry's text in the list of groups."""
    positions: dict[str | None, int] = {str(label): position for position, label in enumerate(groups)}
    return np.fromiter((positions.get(text_of(entry), len(groups)) for entry in entries), np.int32, len(entries))


def entries_of(column: Iterable[Any], name: str) -> list[Any]:
    """The entries of an iterable. An error that it raises may quote an entry, so it is not passed on.

    An Arrow column can hold entries that are no Python objects, such as days after the year 9999: these are None.
    """
    held = in_arrow(column)
    if held is not None:
        return [entry for chunk in held.chunks for entry in _objects_in(chunk)]
    with suppress(Exception):
        return column.tolist() if hasattr(column, "tolist") else list(column)
    raise InvalidInputError(f"{name} failed while it was being read; convert it to a list to see why", name=name)


def text_of(entry: object) -> str | None:
    """The text of an entry; None if it has none.

    An entry may be any object, whose own code makes the text. Whether that raises is private, so errors end here.
    """
    try:
        return str.__str__(str(entry))  # the inner call may return a subclass of str, with methods of its own
    except Exception:
        return None


def text_or_missing(entry: Any) -> str | None:
    """The text of an entry; None if it has none, or if the entry is missing: None, or not simply equal to itself."""
    try:
        differs = entry != entry
        if entry is None or not isinstance(differs, (bool, np.bool_)) or differs:
            return None
    except Exception:  # comparing may raise anything; whether it does is private
        return None
    return text_of(entry)


def has_half_characters(text: str) -> bool:
    """Whether the text holds half of a character, as a Python string may, but neither Arrow nor a database."""
    return not text.isascii() and _SURROGATES.search(text) is not None


def _codes_in_parts(
    kind: Any, looked_up: Callable[[Any], Iterable[NDArray[np.int32]]], groups: Sequence[Hashable], role: str, name: str
) -> NDArray[np.int32]:
    """The positions in a column of this Arrow type, whose parts are looked up in the `Places` of the groups."""
    from pdpmean.sources.arrow_columns import Places, listed

    places = Places(listed(tuple(str(label) for label in groups), kind, role, name))
    return np.concatenate([np.empty(0, np.int32), *looked_up(places)])


def _typed_in_arrow(column: Any) -> Any:
    """A pandas, polars or Arrow column of text or numbers as a chunked array; None if its entries may be any objects.

    Only its type decides, and text that Arrow cannot hold.
    """
    typed = _exported(column)
    return typed if typed is not None and _holds_text_or_numbers(typed.type) else None


def in_arrow(column: Any) -> Any:
    """A polars or Arrow column, or a pandas column of text, of numbers or of Arrow's types, as a chunked array.

    None for any other column. Entries of pandas' own types, such as dates, differ from Arrow's as text.
    """
    held = _exported(column)
    is_of_pandas = hasattr(column, "array") and not hasattr(column.dtype, "pyarrow_dtype")
    return held if held is not None and (not is_of_pandas or _holds_text_or_numbers(held.type)) else None


def _exported(column: Any) -> Any:
    """A column as a chunked array, if its library can export it; None if its entries may be any objects."""
    if not hasattr(column, "__arrow_c_stream__") and not hasattr(column, "__arrow_c_array__"):
        return None
    kind = getattr(column, "dtype", None)
    categories = getattr(kind, "categories", None)
    # Arrow would infer a type from objects, and the stream of polars would hold their addresses.
    if np.dtype(object) in (kind, getattr(categories, "dtype", None)) or str(kind) == "Object":
        return None
    import pyarrow as pa

    with suppress(Exception):  # of the column's engine, whose message may quote an entry
        return pa.chunked_array([column] if isinstance(column, pa.Array) else column)
    return None


def _holds_text_or_numbers(kind: Any) -> bool:
    from pdpmean.sources.arrow_columns import holds_text_or_numbers

    return holds_text_or_numbers(kind)


def _objects_in(chunk: Any) -> list[Any]:
    """The entries of an Arrow array as Python objects; each is the same object, whether or not another one fails."""
    with suppress(Exception):
        objects: list[Any] = chunk.to_pylist()
        return objects
    return [_object_of(entry) for entry in chunk]


def _object_of(entry: Any) -> Any:
    """An entry of an Arrow column as a Python object; None if there is none for it."""
    with suppress(Exception):
        return entry.as_py()
    return None


def _parts(column: Any) -> Iterator[Any]:
    """A chunked array in parts of limited size."""
    for chunk in column.chunks:
        yield from (chunk.slice(start, _PART) for start in range(0, len(chunk), _PART))


def arrow_type(column: NDArray[Any]) -> Any:
    """Arrow's type for an array of numbers or text."""
    import pyarrow as pa

    return pa.string() if column.dtype.kind == "U" else pa.from_numpy_dtype(_native(column.dtype))


def _native(kind: np.dtype[Any]) -> np.dtype[Any]:
    """The NumPy type in a form that Arrow accepts: in native byte order, and no wider than a double."""
    return np.dtype(np.float64) if kind.kind == "f" and kind.itemsize > 8 else kind.newbyteorder("=")


def by_parts(convert: Callable[[Any], NDArray[Any]], column: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The results of `convert` for successive parts of an array, each as an Arrow column, computed in threads."""
    import pyarrow as pa

    kind = arrow_type(column)
    native = _native(column.dtype)

    def converted(start: int) -> NDArray[Any]:
        part = column[start : start + _PART].astype(native, copy=False)
        try:
            return convert(pa.array(part, kind))
        except UnicodeError:
            return convert(pa.array(_as_text(part), kind))

    return in_threads(converted, range(0, column.size, _PART))


def _as_text(column: NDArray[Any]) -> NDArray[Any]:
    """The same text with valid characters only: an array can hold code points that are none.

    They are replaced by a character that no label contains.
    """
    native = np.array(column, dtype=column.dtype.newbyteorder("="), subok=True)
    points = np.ma.getdata(native).view(np.uint32)
    points[(points >> 11 == 0xD800 >> 11) | (points > sys.maxunicode)] = 0xFFFF
    return native
