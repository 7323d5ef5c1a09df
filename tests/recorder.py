"""A stand-in for `Randomness` that shows what noise would have been added to."""

from __future__ import annotations

from pdpmean import Randomness


class Recorder(Randomness):
    """Adds no noise, and remembers to what it would have been added and at which scale."""

    def __init__(self) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=False)
        self.asked: list[tuple[int, float]] = []

    def add_laplace(self, value: int, scale: float) -> int:
        self.asked.append((value, scale))
        return value

    def add_joint_laplace(self, numbers: tuple[int, int], steps: int, scales: tuple[float, float]) -> tuple[int, int]:
        self.asked += zip(numbers, (steps * scales[0], scales[1]), strict=True)
        return numbers
