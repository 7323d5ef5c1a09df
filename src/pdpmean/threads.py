"""Batches side by side: threads, for loops that release the interpreter's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

__all__ = ["SMALLEST_BATCH", "in_threads"]

SMALLEST_BATCH = 2**17  # from this size on a batch goes to the compiled loops; below, NumPy needs no compiling

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """``work(item)`` for every item, in order. Few items are taken ahead, so that a stream stays a stream."""
    stream = iter(items)
    first = list(islice(stream, 2))
    if len(first) < 2:  # nothing to run side by side
        yield from map(work, first)
        return
    workers = os.cpu_count() or 1
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in chain(first, stream):
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
