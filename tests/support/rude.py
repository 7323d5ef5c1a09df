"""Entries whose own methods raise, lie, or return objects of the wrong type."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RUDE", "boxed", "rude_column", "rude_entry"]

SECRET = "4711"

ARRAYS = ("__array__", "__array_interface__", "__array_struct__", "__array_ufunc__", "__array_priority__")
NUMBERS = ("__float__", "__int__", "__index__", "__complex__", "__bool__", "__gt__", "__lt__", "__neg__", "__round__")
SEQUENCES = ("__len__", "__getitem__", "__iter__", "__contains__", "__buffer__")
TEXTS = ("__str__", "__repr__", "__format__")
COMPARISONS = ("__eq__", "__ne__", "__hash__")


class EntryError(Exception):
    """Whatever an entry raises."""


def raising(*names: str, base: type = object, error: Callable[[str], BaseException] = EntryError) -> type:
    """A type whose methods of these names raise an error that quotes a secret."""

    def fail(*_: object, **__: object) -> Any:
        raise error(SECRET)

    return type("Rude", (base,), dict.fromkeys(names, fail))


def raising_when_read(name: str) -> type:
    """A type that raises as soon as its attribute of this name is read."""
    return type("Rude", (), {name: raising("__get__")()})


class Imitation:
    """Says that it is a double."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return float

    def __float__(self) -> float:
        raise EntryError(SECRET)


class Endless:
    """Is asked for its text until there is no room on the stack."""

    def __str__(self) -> str:
        return str(self)

    def __float__(self) -> float:
        return float(self)


class RudeText(str):
    """A text that can be neither compared nor encoded."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise EntryError(SECRET)

    def encode(self, *_: object, **__: object) -> Any:
        return self


class Written:
    """An entry whose text is whatever it is told."""

    def __init__(self, text: Any) -> None:
        self.text = text

    def __str__(self) -> Any:
        return self.text


# Each with what it is as a number: that of the type it is derived from, if that is one of numbers.
RUDE: dict[str, tuple[Callable[[], Any], float]] = {
    "array": (raising("__array__"), math.nan),
    "division": (raising("__array__", error=lambda _: ZeroDivisionError()), math.nan),
    "array interface": (raising_when_read("__array_interface__"), math.nan),
    "array struct": (raising_when_read("__array_struct__"), math.nan),
    "length": (raising(*SEQUENCES), math.nan),
    "class": (raising_when_read("__class__"), math.nan),
    "imitation": (Imitation, math.nan),
    "number": (raising(*NUMBERS), math.nan),
    "text": (raising(*TEXTS), math.nan),
    "comparison": (raising(*COMPARISONS), math.nan),
    "attributes": (raising("__getattribute__", "__getattr__"), math.nan),
    "everything": (raising(*ARRAYS, *NUMBERS, *SEQUENCES, *TEXTS, *COMPARISONS, "__getattribute__"), math.nan),
    "endless": (Endless, math.nan),
    "memory": (raising(*NUMBERS, *TEXTS, *COMPARISONS, "__array__", error=MemoryError), math.nan),
    "text of a kind": (lambda: Written(RudeText("north")), math.nan),
    "text that is none": (lambda: Written(7), math.nan),
    "a half character": (lambda: Written("\ud800"), math.nan),
    "rude text": (lambda: RudeText("north"), math.nan),
    "float": (lambda: raising(*ARRAYS, *NUMBERS, *COMPARISONS, base=float)(2.5), 2.5),
    "int": (lambda: raising(*ARRAYS, *NUMBERS, *COMPARISONS, base=int)(-3), -3.0),
    "large int": (lambda: raising(*ARRAYS, *NUMBERS, *COMPARISONS, base=int)(-(10**400)), -math.inf),
    "Decimal": (lambda: raising(*NUMBERS, *COMPARISONS, base=Decimal)("0.5"), 0.5),
    "Fraction": (lambda: raising("__float__", "__gt__", "__eq__", "__hash__", base=Fraction)(1, 4), 0.25),
    "numerator": (lambda: raising("numerator", base=Fraction)(1, 4), math.nan),
    "float64": (lambda: raising("__float__", "__array__", "__gt__", base=np.float64)(1.5), 1.5),
    "float32": (lambda: raising("__float__", "__array__", "__gt__", base=np.float32)(1.5), 1.5),
}


def rude_entry(name: str) -> Any:
    """A new entry of that kind."""
    return RUDE[name][0]()


def rude_column(size: int) -> list[Any]:
    """So many of all kinds, in turns."""
    names = list(RUDE)
    return [rude_entry(names[place % len(names)]) for place in range(size)]


def boxed(entries: list[Any]) -> NDArray[Any]:
    """An array of these objects, made without a look at them."""
    array = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        array[place] = entry
    return array
