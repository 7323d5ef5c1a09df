"""What Spark's Python workers do: toss the coins of a partition. Every worker imports this module, so it is small."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from pdpmean.core.traces import leave_no_trace
from pdpmean.passes.batch import Batch, Keeping
from pdpmean.randomness import Randomness

__all__ = ["batch_of", "keep"]


def keep(
    batches: Iterator[pa.RecordBatch], *, rules: tuple[Keeping, Keeping], make: Callable[[str], Randomness]
) -> Iterator[pa.RecordBatch]:
    """The records that a task keeps of its partition, by its own coins; another attempt at the task has others.

    The second rule is for records that passed a first coin already, as the column `tossed` says, if there is one.
    """
    leave_no_trace()
    task = TaskContext.get()
    assert task is not None
    coins = make(f"partition {task.partitionId()}, attempt {task.attemptNumber()}")
    kept = [part.take(pa.array(rule.keep(batch_of(part), coins))) for part, rule in _ruled(batches, rules)]
    yield from pa.Table.from_batches(kept).combine_chunks().to_batches() if kept else ()


def _ruled(
    batches: Iterator[pa.RecordBatch], rules: tuple[Keeping, Keeping]
) -> Iterator[tuple[pa.RecordBatch, Keeping]]:
    """The records, each part with the rule that applies to it."""
    for records in batches:
        if "tossed" not in records.schema.names:
            yield records, rules[0]
        else:
            yield records.filter(pc.invert(records["tossed"])), rules[0]
            yield records.filter(records["tossed"]), rules[1]


def batch_of(records: pa.Table | pa.RecordBatch) -> Batch:
    """Arrow records as a batch."""
    groups = records["code"].to_numpy() if "code" in records.schema.names else None
    return Batch(records["value"].to_numpy(), records["budget"].to_numpy(), groups)
