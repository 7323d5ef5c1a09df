"""A source of randomness whose noisy numbers are what a script says, whatever they should be."""

from __future__ import annotations

from collections.abc import Iterable

from pdpmean.randomness import Randomness


class Scripted(Randomness):
    """Releases what the script says instead of what is true: whoever sees only released numbers sees no difference."""

    def __init__(self, released: Iterable[float], *, private: bool = False) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=private)
        self._released = iter(released)

    def add_laplace(self, value: int, scale: float) -> int:  # noqa: ARG002
        """The next number of the script, in units of the scale."""
        return round(next(self._released) * scale)

    def add_joint_laplace(self, numbers: tuple[int, int], steps: int, scales: tuple[float, float]) -> tuple[int, int]:
        """The next two, each in units of its scale."""
        return self.add_laplace(numbers[0], steps * scales[0]), self.add_laplace(numbers[1], scales[1])
