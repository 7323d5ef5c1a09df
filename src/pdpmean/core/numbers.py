"""Numbers: doubles kept within their finite range."""

from __future__ import annotations

import sys

__all__ = ["finite"]


def finite(number: float) -> float:
    """The nearest finite double."""
    return min(max(number, -sys.float_info.max), sys.float_info.max)
