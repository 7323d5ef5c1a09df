"""Text: numbers with meaningful digits, aligned tables, and suggestions for misspelt names."""

from __future__ import annotations

import difflib
import math
import re
import textwrap
from collections.abc import Iterable, Sequence

__all__ = [
    "as_facts",
    "as_table",
    "budget_in_words",
    "closest",
    "did_you_mean",
    "percent_as_fraction",
    "rounded",
    "short",
    "without_password",
]

_WIDTH = 100  # characters per line
_CELL = 0.008  # the largest relative error of a budget that is known only by its cell
_PERCENT = re.compile(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*%\s*")
_PASSWORD = re.compile(r"(?<=://)([^:/?@\s]*):[^@\s]*@|\bpassword=[^&\s]*")


def rounded(number: float, error: float) -> str:
    """The number with two significant digits of its error; with six digits if the error is extreme."""
    if not 1e-9 < error < 1e9 or abs(number) > 1e15:
        return f"{number:.6g}"
    return f"{number:.{max(0, 1 - math.floor(math.log10(error)))}f}"


def short(number: float, digits: int = 3) -> str:
    """The number with this many significant digits, without an exponent if it is below 1e9."""
    text = f"{number:.{digits}g}"
    return f"{float(text):.0f}" if "e+" in text and abs(number) < 1e9 else text


def budget_in_words(budget: float) -> str:
    """The budget with the fewest digits that are within the error of a cell."""
    texts = (short(budget, digits) for digits in (1, 2, 3, 17))
    return next(text for text in texts if math.isinf(budget) or abs(float(text) - budget) <= _CELL * budget)


def percent_as_fraction(text: str) -> str | None:
    """The fraction to write instead of a percentage, such as 0.25 for "25 %"; None for any other text."""
    percent = _PERCENT.fullmatch(text)
    return None if percent is None else f"{float(percent[1]) / 100:.6g}"


def without_password(text: str) -> str:
    """The text, with the passwords in database addresses replaced by asterisks."""
    return _PASSWORD.sub(lambda match: "password=***" if match[1] is None else f"{match[1]}:***@", text)


def as_facts(rows: Sequence[tuple[str, str]]) -> str:
    """One fact per row: its name, and next to it a text that is wrapped to the width of a line."""
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(
        textwrap.fill(text, _WIDTH, initial_indent=name.ljust(width), subsequent_indent=" " * width)
        for name, text in rows
    )


def as_table(rows: Sequence[Sequence[str]], *, right_from: int = 1) -> str:
    """A table with aligned columns; those from `right_from` on are aligned to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]

    def line(row: Sequence[str]) -> str:
        cells = (
            text.ljust(width) if column < right_from else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return "\n".join(line(row) for row in rows)


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most similar to this one, whatever their case; None if none is similar enough."""
    by_lower_case: dict[str, list[str]] = {}
    for other in map(str, known):
        by_lower_case.setdefault(other.casefold(), []).append(other)
    similar = difflib.get_close_matches(name.casefold(), by_lower_case, n=1, cutoff=cutoff)
    alike = by_lower_case[similar[0]] if similar else []
    return next(iter(difflib.get_close_matches(name, alike, n=1, cutoff=0)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: a suggestion, if there is a similar one."""
    suggestion = closest(name, known)
    return "" if suggestion is None else f"; did you mean {suggestion!r}?"
