"""Files that are written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pdpmean.errors import InvalidInputError

__all__ = ["FIGURE_SUFFIXES", "PAGE_SUFFIXES", "check_is_new", "replacing"]

FIGURE_SUFFIXES = (".svg", ".png", ".pdf")
PAGE_SUFFIXES = (".html", ".htm")


def check_is_new(path: str | os.PathLike[str] | None, *, overwrite: bool, name: str = "path") -> None:
    """Raise if there is a file at `path`, which was given as the argument `name`, unless it may be overwritten.

    It may be the only record of a release, which cannot be repeated without a further loss.
    """
    if path is not None and not overwrite and Path(path).is_file():
        raise InvalidInputError(
            f"{os.fspath(path)} already exists; name another file, or pass overwrite=True", name=name, value=path
        )


@contextmanager
def replacing(path: Path, suffixes: Collection[str] = ()) -> Iterator[Path]:
    """A context with a new, empty file next to `path`, which replaces `path` at the end; on failure it is deleted.

    The file is created at once, so that an unwritable path is found before any budget is used; so is a suffix that is
    not one of `suffixes`. What was at `path` stays until the new file is complete.
    """
    if path.is_dir():
        raise InvalidInputError(f"cannot write {path}: it is a folder; name a file", name="path", value=path)
    if suffixes and path.suffix.lower() not in suffixes:
        raise InvalidInputError(f"cannot write {path}: it must end in {', '.join(suffixes)}", name="path", value=path)
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
        part.touch()
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror}", name="path", value=path) from None
