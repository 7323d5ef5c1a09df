"""Answers as text, JSON or CSV, and files that are either whole or not there."""

from __future__ import annotations

import csv
import errno
import io
import json
import math
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pdpmean.errors import InvalidInputError

__all__ = ["FIGURES", "PAGES", "as_csv", "as_json", "as_table", "replacing"]

FIGURES, PAGES = (".svg", ".png", ".pdf"), (".html", ".htm")


def as_json(content: Mapping[str, Any]) -> str:
    """Strict JSON: what is not a finite number is null."""
    return json.dumps(_finite(content), indent=2, allow_nan=False, ensure_ascii=False)


def _finite(content: Any) -> Any:
    match content:
        case float() if not math.isfinite(content):
            return None
        case Mapping():
            return {str(name): _finite(entry) for name, entry in content.items()}
        case list() | tuple():
            return [_finite(entry) for entry in content]
    return content


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """A header and a line a row; what is missing is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().removesuffix("\n")


def as_table(rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns under the first row, which is their head; the first to the left, others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(text.ljust(width) if place == 0 else text.rjust(width) for place, (text, width) in enumerate(cells))
        for cells in (list(zip(row, widths, strict=True)) for row in rows)
    )


@contextmanager
def replacing(path: Path | None, kinds: Collection[str] = ()) -> Iterator[Path | None]:
    """A file beside `path`, made at once, that takes its place when all is done; it vanishes if anything fails.

    That `path` cannot be written, or does not end as one of `kinds`, shows before any budget is used. What was there
    stays until the new one is whole.
    """
    if path is None:
        yield None
        return
    if kinds and path.suffix not in kinds:
        raise InvalidInputError(f"cannot write {path}: it must end in {', '.join(kinds)}", name="path", value=path)
    part = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        _create(part, path)
        yield part
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink()


def _create(part: Path, path: Path) -> None:
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a directory")
        part.touch()
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror}", name="path", value=path) from None
