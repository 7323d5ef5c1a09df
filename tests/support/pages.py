"""The documents as data: their fenced blocks, the commands in them, and whether a shown output is a real one."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
_NUMBER = r"(?<![\w.])([-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?)"
_ANYTHING = "…"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str


@dataclass(frozen=True)
class Command:
    """A command that a page shows, and the output it shows for it."""

    line: str
    output: str


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page, in their order."""
    return [Block(language, text) for language, text in _FENCE.findall(page.read_text())]


def commands(block: Block) -> list[Command]:
    """The commands of a block: every line of a `sh` block, those after a dollar sign of a `console` block."""
    if block.language == "sh":
        return [Command(line.split(" #")[0].strip(), "") for line in block.text.splitlines() if line.strip()]
    if block.language == "console":
        parts = re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]
        return [Command(*part.partition("\n")[::2]) for part in parts]
    return []


def is_shown(shown: str, real: str, *, factor: float = math.inf) -> bool:
    """Whether `real` contains what is `shown`: the same words, and numbers within a factor of each other.

    White space and the length of drawn lines do not matter, and a line of "..." stands for anything.
    """
    parts = re.split(_NUMBER, _words(re.sub(r"^ *\.\.\.$", _ANYTHING, shown, flags=re.MULTILINE)))
    words, numbers = (re.escape(part).replace(_ANYTHING, ".*") for part in parts[::2]), parts[1::2]
    return any(
        all(_within(factor, *pair) for pair in zip(numbers, found.groups(), strict=True))
        for found in re.finditer(_NUMBER.join(words), _words(real))
    )


def _words(text: str) -> str:
    return " ".join(re.sub(r"[─━═]+", "─", text).split())


def _within(factor: float, first: str, second: str) -> bool:
    smaller, larger = sorted(float(number.replace(",", "")) for number in (first, second))
    return smaller == larger or larger <= smaller * factor
