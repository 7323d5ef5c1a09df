"""What Spark's Python workers do: toss the coins of a partition. They import this module, so it imports little."""

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
    """What a task keeps of its partition, with coins of its own: another attempt at it has others.

    The second rule is for the records that had a first coin, where there is a column that says so.
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
    """The records, beside the rule for them."""
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
