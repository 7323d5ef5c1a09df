"""Files: the records of one file or several, read again in every pass.

Every pass must see the same records, so files are checked to be unchanged. They are read in pieces, in bounded memory,
and errors of readers are replaced by messages that quote no data.
"""

from __future__ import annotations

import glob
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from pdpmean.core.text import closest
from pdpmean.core.threads import SMALLEST_BATCH, in_threads, read_ahead
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch, joined
from pdpmean.passes.reserve import Reserve
from pdpmean.passes.source import BatchSource, Result, Work
from pdpmean.randomness import Randomness
from pdpmean.sources.layout import Layout
from pdpmean.sources.people import check_ids, has_repeated

__all__ = ["File", "FileSource", "find_paths"]

_MANY = 8  # streams: with fewer, threads would wait for the longest of them

Fingerprint = tuple[int, int, int]  # the size, the time of the last change, and the inode
Records = Iterator[pa.RecordBatch]
Part = TypeVar("Part")


class File(ABC):
    """A file of some format, which yields its records as streams. Its errors quote nothing of the data."""

    format: str
    has_header: bool = False
    """Whether column names are in a line above the records, as in CSV."""
    is_text: bool = False
    """Whether all entries are text, so that those of numeric columns may hold anything."""
    rows: int | None = None
    """The number of records, if it is known without reading them."""

    def __init__(self, path: str, layout: Layout) -> None:
        self.path = path
        self.layout = layout
        self.fingerprint = _fingerprint(path)
        if self.fingerprint[0] == 0:
            raise self.problem("is empty")
        self.schema: pa.Schema = self.attempt(self.read_schema)
        layout.check_names(self.schema.names, path)
        layout.check_types(self.schema)

    @abstractmethod
    def read_schema(self) -> pa.Schema:
        """The names and types of its columns."""

    @abstractmethod
    def streams(self, names: Sequence[str]) -> Iterator[Records]:
        """Streams that can be read in parallel; one after the other, they hold all records in order."""

    def problem(self, text: str) -> InvalidInputError:
        """The error to raise if something is wrong with the file."""
        return InvalidInputError(f"{self.path} {text}", name="values", value=self.path)

    def attempt(self, work: Callable[[], Any]) -> Any:
        """The result of `work`. Errors of the reader may quote entries, so they are neither passed on nor chained."""
        try:
            return work()
        except (InvalidInputError, MemoryError):
            raise
        except Exception:  # replaced below, outside of this block, so that it is not chained
            pass
        self.check_unchanged()
        raise self.problem(f"cannot be read as {self.format}")

    def guarded(self, stream: Records) -> Records:
        """The same stream, with the errors of `attempt`."""
        while (records := self.attempt(lambda: next(stream, None))) is not None:
            yield records

    def check_unchanged(self) -> None:
        """Raise if the file has changed since it was opened: all passes must see the same records."""
        if _fingerprint(self.path) != self.fingerprint:
            raise self.problem("changed while it was being read; start again with a file that does not change")


def _fingerprint(path: str) -> Fingerprint:
    try:
        with open(path, "rb"):
            status = os.stat(path)
    except OSError as error:
        reason = error.strerror or "no reason given"
    else:
        return status.st_size, status.st_mtime_ns, status.st_ino
    raise InvalidInputError(f"{path} cannot be read: {reason}", name="values", value=path)


class FileSource(BatchSource):
    """The records of one file or several, read as streams in bounded memory."""

    def __init__(self, files: Sequence[File], layout: Layout) -> None:
        self._files = files
        self._layout = layout
        self.groups = None if layout.groups is None else len(layout.groups)
        self.columns = layout.types(files[0].schema)
        self.budget_column = layout.budget_column(
            has_header=len(files) == 1 and files[0].has_header,
            is_text=files[0].is_text,
            text_of=self._text_of_budget if files[0].is_text else None,
        )
        self.is_boolean = all(layout.is_boolean(file.schema) for file in files)
        counts = [file.rows for file in files]
        self.rows = None if None in counts else sum(count or 0 for count in counts)

    def prepare_sample(self, randomness: Randomness) -> None:
        """Make the next census set records aside for the sample, because reading the files again would take long."""
        if Reserve.has_room(self.groups, self.rows):
            self.empty_reserve = Reserve(randomness, self.groups, self.rows)

    def batches(self, *, values: bool = True) -> Iterator[Batch]:
        """The records, converted in threads; raises at the end if a file has changed since it was opened."""
        records = read_ahead(self._streams(self._layout.names(values=values)))
        return self._unchanged(_merged(in_threads(partial(self._layout.batch, values=values), records)), _size)

    def worked(self, make: Callable[[], Work[Result]], *, values: bool) -> Iterator[tuple[int, Result]]:
        """As in every source; if there are many streams, each is read, converted and worked on in a single thread."""
        streams = self._streams(self._layout.names(values=values))
        first = list(islice(streams, _MANY))
        if len(first) < _MANY:
            return super().worked(make, values=values)

        def results(records: Records, work: Work[Result]) -> Iterator[tuple[int, Result]]:
            for batch in _merged(self._layout.batch(part, values=values) for part in records):
                yield batch.budgets.size, work(batch)

        sizes_and_results = read_ahead(results(stream, make()) for stream in chain(first, streams))
        return self._unchanged(sizes_and_results, lambda result: result[0])

    def _unchanged(self, parts: Iterator[Part], size: Callable[[Part], int]) -> Iterator[Part]:
        """The same parts; after the last one, checks that no file has changed, and notes the number of records."""
        seen = 0
        for part in parts:
            seen += size(part)
            yield part
        self._check_unchanged()
        self.rows = seen

    def _streams(self, names: Sequence[str]) -> Iterator[Records]:
        return (file.guarded(stream) for file in self._files for stream in file.streams(names))

    def _check_unchanged(self) -> None:
        for file in self._files:
            file.check_unchanged()

    def _text_of_budget(self, record: int) -> str | None:
        """The entry of a record in the column of budgets, which are public; None if it cannot be read any more."""
        with suppress(InvalidInputError):  # such as for a malformed row, which is not what is wrong here
            for records in chain.from_iterable(self._streams([str(self._layout.budget)])):
                if record < records.num_rows:
                    return str(records.column(0)[record])
                record -= records.num_rows
        return None

    def group_entries(self) -> set[str]:
        """The distinct entries in the column of groups, of the first records."""
        assert self._layout.by is not None
        return self._layout.group_entries(
            records.column(0) for records in chain.from_iterable(self._streams([self._layout.by]))
        )

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The ids of the records, and their budgets."""
        records = read_ahead(self._streams(self._layout.names_of_people))
        return self._unchanged(in_threads(self._layout.people, records), lambda people: len(people[0]))

    def identified(self) -> Iterator[tuple[pa.Array, Batch]]:
        """The ids as text, null where a record names nobody, and the records that they belong to."""
        records = read_ahead(self._streams(list(dict.fromkeys(self._layout.roles.values()))))
        return self._unchanged(in_threads(self._layout.identified, records), lambda found: len(found[0]))

    def duplicate_person(self) -> bool:
        """Whether two records have the same id."""
        name = self._layout.person
        assert name is not None
        check_ids([file.schema.field(name).type for file in self._files], name)
        repeated = has_repeated(lambda: (records.column(name) for records in read_ahead(self._streams([name]))), name)
        self._check_unchanged()
        return repeated


def _size(batch: Batch) -> int:
    return batch.budgets.size


def _merged(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same records, with small batches joined until they are large enough for the compiled loops."""
    held: list[Batch] = []
    for batch in batches:
        held.append(batch)
        if sum(part.budgets.size for part in held) >= SMALLEST_BATCH:
            yield joined(held, grouped=batch.groups is not None)
            held = []
    if held:
        yield joined(held, grouped=held[0].groups is not None)


def find_paths(patterns: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The files that these paths, globs and folders name, sorted within each; raises if a file is named twice."""
    paths = [path for pattern in patterns for path in _matches(os.path.expanduser(os.fspath(pattern)))]
    if len({_identity(path) for path in paths}) < len(paths):
        raise InvalidInputError("a file is named twice; nobody may be counted twice", name="values", value=paths)
    return paths


def _identity(path: str) -> Hashable:
    """A key that is equal for two names of the same file, such as hard or symbolic links, and differs for two files."""
    with suppress(OSError):  # a file that cannot be read raises when it is opened
        status = os.stat(path)
        if status.st_ino:  # 0 if a file system has no inodes
            return status.st_dev, status.st_ino
    return os.path.realpath(path)


def _matches(pattern: str) -> list[str]:
    """The files that a path or glob names; a folder stands for all files in it, at any depth."""
    matches = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern, recursive=True))
    paths = [path for match in matches for path in (_inside(match) if os.path.isdir(match) else [match])]
    if not paths:
        problem = (
            f"there is no file in the folder {pattern!r}"
            if matches
            else f"no file matches {pattern!r}{_close_to(pattern)}"
        )
        hint = "; standard input cannot be used, since the data is read more than once" * (pattern == "-")
        raise InvalidInputError(problem + hint, name="values", value=pattern)
    return paths


def _close_to(path: str) -> str:
    """The end of a message about a missing file: a suggestion, if the folder has a file of a similar name."""
    folder, name = os.path.split(path)
    with suppress(OSError):
        suggestion = closest(name, os.listdir(folder or "."), cutoff=0.7)
        return "" if suggestion is None else f"; did you mean {os.path.join(folder, suggestion)!r}?"
    return ""


def _inside(folder: str) -> list[str]:
    """The files in a folder, at any depth; names that start with a dot or an underscore are not data."""
    inner = (path.relative_to(folder) for path in Path(folder).rglob("*"))
    return [
        os.path.join(folder, path)
        for path in sorted(inner)
        if not any(part.startswith((".", "_")) for part in path.parts) and os.path.isfile(os.path.join(folder, path))
    ]
