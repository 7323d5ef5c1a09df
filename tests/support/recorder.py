"""A stand-in for `Randomness` that shows what noise would have been added to."""

from __future__ import annotations

from collections.abc import Sequence

from pdpmean import Randomness


class Recorder(Randomness):
    """Adds no noise, and remembers to what it would have been added and at which scale."""

    def __init__(self) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=False)
        self.asked: list[tuple[int, float]] = []

    def add_laplace(self, value: int, scale: float) -> int:
        self.asked.append((value, scale))
        return value

    def add_laplace_to_each(self, numbers: Sequence[int], bits: int) -> list[int]:
        return [self.add_laplace(number, 2.0**bits) for number in numbers]
