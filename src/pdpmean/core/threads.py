"""Batches side by side: threads, for loops that release the interpreter's lock."""

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

SMALLEST_BATCH = 2**17  # from this size on a batch goes to the compiled loops; below, NumPy needs no compiling
_READERS = 8  # at most, so that what is read ahead stays small
_AHEAD = 8  # batches: a row group of a million records at once, or its rest would wait behind those read meanwhile

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """``work(item)`` for every item, in order. Few items are taken ahead, so that a stream stays a stream."""
    stream = iter(items)
    workers = os.cpu_count() or 1
    with _closing([stream]):
        first = list(islice(stream, 2))
        if len(first) < 2:  # nothing to run side by side
            yield from map(work, first)
        else:
            yield from _mapped(work, chain(first, stream), workers)


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
    """The work, done as quietly as here: by itself a thread would tell of overflows and the like as NumPy does."""
    return pool.submit(copy_context().run, work, item)


def read_ahead(streams: Iterable[Iterator[Item]]) -> Iterator[Item]:
    """The items of all streams, one stream after the other; the next ones are being read while one is used."""

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
    """End generators when they are left, not when they are forgotten: the traceback of an error may hold them long."""
    try:
        yield
    finally:
        for stream in streams:
            if isinstance(stream, Generator):
                with suppress(ValueError):  # after a second Ctrl-C a thread may still be in it
                    stream.close()
