"""Whether Spark's workers have the same pdpmean as the program that sends them work.

The rates at which a worker keeps records, and what the program takes them to have been, must be one law: of another
version they may not be, and the sample would then protect less than promised. So a worker says which pdpmean it has
before it tosses a coin. Whatever it has, the question is this program's: the functions of this module are sent as they
are, not by their names.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from importlib.resources.abc import Traversable

import pyarrow as pa
from pyspark import cloudpickle

__all__ = ["ANSWERS", "OTHER", "answer", "fingerprint", "guarded"]

Work = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

ANSWERS = "pdpmean string"
KINDS = {"value": pa.float64(), "budget": pa.float64(), "code": pa.int32(), "tossed": pa.bool_()}
OTHER = "is_other"  # a column: whether a record is no record, but tells that its worker has another pdpmean

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def fingerprint() -> str:
    """The version of the pdpmean that is installed here, and a hash of all its modules."""
    from pdpmean.core.version import VERSION  # of whoever runs this

    modules = sorted(sources(resources.files("pdpmean")))
    return f"{VERSION} ({hashlib.sha256(repr(modules).encode()).hexdigest()[:16]})"


def sources(folder: Traversable, inside: str = "") -> Iterator[tuple[str, str]]:
    """The names and texts of all modules in a folder, or in an archive."""
    for entry in folder.iterdir():
        name = f"{inside}/{entry.name}"
        if entry.is_dir():
            yield from sources(entry, name)
        elif name.endswith(".py"):
            yield name, entry.read_text(encoding="utf-8")


def found_here() -> str:
    """The same of a worker, which may have none."""
    try:
        return fingerprint()
    except Exception:
        return "none"


def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a task says that is asked for nothing but its pdpmean."""
    for _ in batches:
        pass
    yield pa.record_batch({"pdpmean": pa.array([found_here()])})


def guarded(work: Work, names: Sequence[str]) -> Work:
    """The work, for workers with the same pdpmean; any other does none of it, and gives one record to tell so.

    It is sent as bytes, so that a worker does not so much as load what it needs before it is known to be the same.
    `names` are the columns of its records.
    """
    expected = fingerprint()
    sent = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]

    def checked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if found_here() != expected:
            nothing = {name: pa.array([0]).cast(KINDS[name]) for name in names}
            yield pa.record_batch({**nothing, OTHER: pa.array([True])})
            return
        for records in cloudpickle.loads(sent)(batches):
            yield records.append_column(OTHER, pa.repeat(False, records.num_rows))

    return checked
