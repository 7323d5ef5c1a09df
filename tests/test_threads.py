"""Reading ahead: the same items in the same order, few of them at a time, from several threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from pdpmean.core.threads import in_threads, read_ahead


@pytest.mark.parametrize("lengths", [[], [0], [1], [4], [9], [0, 0, 5], [4, 8, 0, 1, 30], [3] * 40], ids=str)
def test_items_come_in_order(lengths: list[int]) -> None:
    streams = (iter([(stream, item) for item in range(length)]) for stream, length in enumerate(lengths))
    assert list(read_ahead(streams)) == [(s, item) for s, length in enumerate(lengths) for item in range(length)]


def test_a_stream_stays_a_stream() -> None:
    taken: list[int] = []

    def stream() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    items = read_ahead([stream()])
    for _ in range(10):
        next(items)
    assert len(taken) < 30
    items.close()  # type: ignore[attr-defined]


def test_streams_are_read_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    both = threading.Barrier(2, timeout=20)

    def stream() -> Iterator[int]:
        yield both.wait()

    assert sorted(read_ahead([stream(), stream()])) == [0, 1]


def test_errors_arrive_where_the_items_would() -> None:
    def stream(number: int) -> Iterator[int]:
        yield number
        if number == 2:
            raise ValueError("broken")

    items = read_ahead(stream(number) for number in range(50))
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(ValueError, match="broken"):
        list(items)


@pytest.mark.parametrize("items", [1, 5])
def test_threads_see_what_numpy_was_asked_for_where_they_were_started(items: int) -> None:
    with np.errstate(over="print", under="raise"):
        asked = dict(np.geterr())
        assert list(in_threads(lambda _: dict(np.geterr()), range(items))) == [asked] * items
        streams = ((dict(np.geterr()) for _ in range(3)) for _ in range(items))
        assert list(read_ahead(streams)) == [asked] * (3 * items)
