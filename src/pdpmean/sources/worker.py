"""What Spark's Python workers do: toss the coins of a partition. They import this module, so it imports little."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark import TaskContext

from pdpmean.randomness import Randomness
from pdpmean.sources import Batch, Keeping

__all__ = ["batch_of", "keep"]


def keep(
    batches: Iterator[pa.RecordBatch], *, rule: Keeping, make: Callable[[str], Randomness]
) -> Iterator[pa.RecordBatch]:
    """What a task keeps of its partition, with coins of its own: another attempt at it has others."""
    task = TaskContext.get()
    assert task is not None
    coins = make(f"partition {task.partitionId()}, attempt {task.attemptNumber()}")
    kept = [records.take(pa.array(rule.keep(batch_of(records), coins))) for records in batches]
    yield from pa.Table.from_batches(kept).combine_chunks().to_batches() if kept else ()


def batch_of(records: pa.Table | pa.RecordBatch) -> Batch:
    """Arrow records as a batch."""
    groups = records["code"].to_numpy() if "code" in records.schema.names else None
    return Batch(records["value"].to_numpy(), records["budget"].to_numpy(), groups)
