"""A source of randomness whose noisy numbers are those of a script, whatever the true numbers are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pdpmean.randomness import Randomness


class Scripted(Randomness):
    """Releases what the script says instead of what is true: whoever sees only released numbers sees no difference."""

    def __init__(self, released: Iterable[float], *, private: bool = False) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=private)
        self._released = iter(released)

    def spawn(self) -> Scripted:
        """Another that goes on with the same script."""
        return Scripted(self._released, private=self.private)

    def add_laplace(self, value: int, scale: float) -> int:  # noqa: ARG002
        """The next number of the script, in units of the scale."""
        return round(next(self._released) * scale)

    def add_laplace_to_each(self, numbers: Sequence[int], bits: int) -> list[int]:
        """The next number of the script, from 1 nat on rising to it: another for every cell."""
        last = next(self._released)
        return [round(2.0**bits * (1 + last * place / len(numbers))) for place in range(len(numbers))]
