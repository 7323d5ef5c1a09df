"""Numbers and rows as text: as many digits as mean something, and no exponent where none is needed."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable

__all__ = ["as_html", "rounded", "short"]


def rounded(number: float, error: float) -> str:
    """The number to a hundredth of its error, or to six digits where that makes no sense."""
    if not 1e-9 < error < 1e9 or abs(number) > 1e15:
        return f"{number:.6g}"
    return f"{number:.{max(0, 1 - math.floor(math.log10(error)))}f}"


def short(number: float, digits: int = 3) -> str:
    """The number to so many digits, written out below a thousand million."""
    text = f"{number:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(number) < 1e9 else text


def as_html(rows: Iterable[tuple[str, str]]) -> str:
    """A table of two columns, the first one of headings, for notebooks."""
    cells = (f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
    return f"<table>{''.join(cells)}</table>"
