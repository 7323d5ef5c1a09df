"""Threads: work on batches in parallel, with results in order and only a few items taken ahead.

NumPy, Arrow and the compiled loops release the interpreter's lock, so that threads are enough.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from contextvars import copy_context
from itertools import chain, islice
from typing import TypeVar

__all__ = ["SMALLEST_BATCH", "in_threads", "read_ahead"]

# Records from which on a batch goes to the compiled loops; smaller data need not wait for their compilation.
SMALLEST_BATCH = 2**17
_READERS = 8  # the largest number of streams that are read at once, which limits the memory for what is read ahead
# Batches that are read ahead of each stream: a Parquet row group of a million records at once. Otherwise its remainder
# would have to wait until the streams that were begun meanwhile have been read.
_AHEAD = 8

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """``work(item)`` for every item, in order, computed in threads.

    Only a few items are taken ahead of the results, so that a stream is never held in memory as a whole.
    """
    stream = iter(items)
    with _closing([stream]):
        first = list(islice(stream, 2))
        if len(first) < 2:  # nothing to run in parallel
            yield from map(work, first)
        else:
            yield from _mapped(work, chain(first, stream), os.cpu_count() or 1)


def _mapped(work: Callable[[Item], Result], items: Iterable[Item], workers: int) -> Iterator[Result]:
    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(_submitted(pool, work, item))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _submitted(pool: ThreadPoolExecutor, work: Callable[[Item], Result], item: Item) -> Future[Result]:
    """The work in a thread, in the caller's context: NumPy's error state is part of it (`quiet.py`)."""
    return pool.submit(copy_context().run, work, item)


def read_ahead(streams: Iterable[Iterator[Item]]) -> Iterator[Item]:
    """The items of all streams, one stream after the other; the next streams are read while one is being used."""

    def take(stream: Iterator[Item]) -> list[Item]:
        return list(islice(stream, _AHEAD))

    waiting = iter(streams)
    workers = min(os.cpu_count() or 1, _READERS)
    opened: list[Iterator[Item]] = []
    with _closing(opened), ThreadPoolExecutor(workers) as pool:
        opened += islice(waiting, workers + 1)
        reading = deque((stream, _submitted(pool, take, stream)) for stream in opened)
        while reading:
            stream, future = reading.popleft()
            items = future.result()
            if len(items) == _AHEAD:
                reading.appendleft((stream, _submitted(pool, take, stream)))
            else:
                opened.remove(stream)
                opened += islice(waiting, 1)
                reading.extend((other, _submitted(pool, take, other)) for other in opened[len(reading) :])
            yield from items


@contextmanager
def _closing(streams: Iterable[Iterator[Item]]) -> Iterator[None]:
    """A context that closes generators at its end, rather than when they are collected.

    The traceback of an error may refer to them for a long time, and keep their files open.
    """
    try:
        yield
    finally:
        for stream in streams:
            if isinstance(stream, Generator):
                with suppress(ValueError):  # after a second Ctrl-C, a thread may still be running it
                    stream.close()
