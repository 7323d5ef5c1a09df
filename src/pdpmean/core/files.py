"""Files that are either whole or not there."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pdpmean.errors import InvalidInputError

__all__ = ["FIGURES", "PAGES", "check_is_new", "replacing"]

FIGURES, PAGES = (".svg", ".png", ".pdf"), (".html", ".htm")


def check_is_new(path: str | os.PathLike[str] | None, *, overwrite: bool, name: str = "path") -> None:
    """Raise if there is a file already where one is to be written, by the argument `name`, unless it may be replaced.

    It may be the only record of a release that cannot be repeated.
    """
    if path is not None and not overwrite and Path(path).is_file():
        raise InvalidInputError(
            f"{os.fspath(path)} already exists; name another file, or pass overwrite=True", name=name, value=path
        )


@contextmanager
def replacing(path: Path, kinds: Collection[str] = ()) -> Iterator[Path]:
    """A file beside `path`, made at once, that takes its place when all is done; it vanishes if anything fails.

    That `path` cannot be written, or does not end as one of `kinds`, shows before any budget is used. What was there
    stays until the new one is whole.
    """
    if path.is_dir():
        raise InvalidInputError(f"cannot write {path}: it is a folder; name a file", name="path", value=path)
    if kinds and path.suffix.lower() not in kinds:
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
        part.touch()
    except OSError as error:
        raise InvalidInputError(f"cannot write {path}: {error.strerror}", name="path", value=path) from None
