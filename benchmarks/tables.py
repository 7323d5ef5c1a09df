"""Tables: lines that are printed as soon as they are measured, and kept once they are complete."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def print_and_keep(lines: Iterable[str], path: Path | None) -> None:
    """Print each line as it comes; write all of them to the file, if there is one."""
    printed = []
    for line in lines:
        print(line, flush=True)
        printed.append(line)
    if path is not None:
        path.write_text("\n".join(printed) + "\n", encoding="utf-8")
