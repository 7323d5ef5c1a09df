"""Numbers: doubles kept within their finite range, and what counts as a number where one is asked for."""

from __future__ import annotations

import sys
from decimal import Decimal
from numbers import Real

__all__ = ["finite", "public_number"]


def finite(number: float) -> float:
    """The nearest finite double."""
    return min(max(number, -sys.float_info.max), sys.float_info.max)


def public_number(number: object) -> float:
    """A public number as a double; raises `TypeError` for text and booleans, even if they look like numbers."""
    if isinstance(number, bool) or not isinstance(number, (Real, Decimal)):
        raise TypeError
    return float(number)
