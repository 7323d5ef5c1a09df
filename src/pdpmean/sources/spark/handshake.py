"""Handshake: a check that Spark's workers have the same pdpmean as the program that sends them work.

The program computes weights from the probabilities with which workers keep records. Workers with another version may
use other probabilities, and the sample would then protect less than promised. So every worker reports its pdpmean
before it tosses a coin. The functions of this module are sent by value, not by name, so that the question is the same
whatever a worker has installed.
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
_TYPES = {"value": pa.float64(), "budget": pa.float64(), "code": pa.int32(), "tossed": pa.bool_()}
OTHER = "is_other"  # a column: True in the one row that a worker with another pdpmean returns instead of records

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def fingerprint() -> str:
    """The version of the pdpmean that is installed where this runs, and a hash of all its modules."""
    from pdpmean.core.version import VERSION  # imported here, so that a worker reports its own

    modules = sorted(sources(resources.files("pdpmean")))
    return f"{VERSION} ({hashlib.sha256(repr(modules).encode()).hexdigest()[:16]})"


def sources(folder: Traversable, inside: str = "") -> Iterator[tuple[str, str]]:
    """The names and the source texts of all modules in a folder or an archive."""
    for entry in folder.iterdir():
        name = f"{inside}/{entry.name}"
        if entry.is_dir():
            yield from sources(entry, name)
        elif name.endswith(".py"):
            yield name, entry.read_text(encoding="utf-8")


def found_here() -> str:
    """The fingerprint of a worker's pdpmean; "none" if it has none."""
    try:
        return fingerprint()
    except Exception:
        return "none"


def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The answer of a task that is only asked which pdpmean its worker has."""
    for _ in batches:
        pass
    yield pa.record_batch({"pdpmean": pa.array([found_here()])})


def guarded(work: Work, names: Sequence[str]) -> Work:
    """The work, done only by workers with the same pdpmean; any other returns a single row that says so.

    The work is sent as bytes, so that a worker loads nothing of it before its pdpmean is known to be the same. `names`
    are the columns of the records.
    """
    expected = fingerprint()
    sent = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]

    def checked(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if found_here() != expected:
            nothing = {name: pa.array([0]).cast(_TYPES[name]) for name in names}
            yield pa.record_batch({**nothing, OTHER: pa.array([True])})
            return
        for records in cloudpickle.loads(sent)(batches):
            yield records.append_column(OTHER, pa.repeat(False, records.num_rows))

    return checked
