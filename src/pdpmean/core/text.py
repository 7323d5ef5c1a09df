"""Numbers and rows as text: as many digits as mean something, aligned columns, and what may have been meant."""

from __future__ import annotations

import difflib
import math
import re
import textwrap
from collections.abc import Iterable, Sequence

__all__ = ["as_facts", "as_table", "budget_in_words", "closest", "did_you_mean", "rounded", "short", "without_password"]

_WIDTH = 100  # characters of a line
_CELL = 0.008  # how far off a budget may be that was counted in a cell, relatively
_PASSWORD = re.compile(r"(?<=://)([^:/?@\s]*):[^@\s]*@|\bpassword=[^&\s]*")


def rounded(number: float, error: float) -> str:
    """The number to a hundredth of its error, or to six digits where that makes no sense."""
    if not 1e-9 < error < 1e9 or abs(number) > 1e15:
        return f"{number:.6g}"
    return f"{number:.{max(0, 1 - math.floor(math.log10(error)))}f}"


def short(number: float, digits: int = 3) -> str:
    """The number to so many digits, written out below a thousand million."""
    text = f"{number:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(number) < 1e9 else text


def budget_in_words(budget: float) -> str:
    """The budget in as few digits as are within the cell that it may have been counted in."""
    texts = (f"{budget:.{digits}g}" for digits in (1, 2, 3, 17))
    return next(text for text in texts if math.isinf(budget) or abs(float(text) - budget) <= _CELL * budget)


def without_password(text: str) -> str:
    """The text, in which addresses of databases have no password."""
    return _PASSWORD.sub(lambda found: "password=***" if found[1] is None else f"{found[1]}:***@", text)


def as_facts(rows: Sequence[tuple[str, str]]) -> str:
    """One fact per row: its name, and a text that is folded beside it."""
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(
        textwrap.fill(text, _WIDTH, initial_indent=name.ljust(width), subsequent_indent=" " * width)
        for name, text in rows
    )


def as_table(rows: Sequence[Sequence[str]], *, right_from: int = 1) -> str:
    """Aligned columns under the first row, which is their head; from column `right_from` on to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

    def line(row: Sequence[str]) -> str:
        cells = (
            text.ljust(width) if column < right_from else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return "\n".join(line(row) for row in rows)


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name most like this one, if any is much like it."""
    return next(iter(difflib.get_close_matches(name, [str(other) for other in known], n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about a name that is not known: which one may be meant."""
    found = closest(name, known)
    return "" if found is None else f"; did you mean {found!r}?"
