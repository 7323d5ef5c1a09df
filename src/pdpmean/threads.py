"""Batches side by side: threads, for loops that release the interpreter's lock."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

__all__ = ["SMALLEST_BATCH", "in_threads", "read_ahead"]

SMALLEST_BATCH = 2**17  # from this size on a batch goes to the compiled loops; below, NumPy needs no compiling
_READERS = 8  # at most, so that what is read ahead stays small
_AHEAD = 4

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


def read_ahead(streams: Iterable[Iterator[Item]]) -> Iterator[Item]:
    """The items of all streams, one stream after the other; the next ones are being read while one is used."""

    def take(stream: Iterator[Item]) -> list[Item]:
        return list(islice(stream, _AHEAD))

    waiting = iter(streams)
    workers = min(os.cpu_count() or 1, _READERS)
    with ThreadPoolExecutor(workers) as pool:
        reading = deque((stream, pool.submit(take, stream)) for stream in islice(waiting, workers + 1))
        while reading:
            stream, future = reading.popleft()
            items = future.result()
            if len(items) == _AHEAD:
                reading.appendleft((stream, pool.submit(take, stream)))
            else:
                reading.extend((other, pool.submit(take, other)) for other in islice(waiting, 1))
            yield from items
