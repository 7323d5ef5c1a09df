"""Progress: reports on how far a pass is, which do not reveal the number of records where it is private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Progress", "Watch"]

Progress = Callable[[str, int, int | None], None]  # called with the step, how much is done, and of how much

_PARTS = 100


@dataclass
class Watch:
    """Calls `progress` in each step: with numbers of records if these are public, otherwise with percentages.

    Every percentage from 1 to 100 is reported exactly once, so that the calls are the same however many records there
    are.
    """

    progress: Progress
    counted: bool
    """Whether the number of records is public."""
    _told: int = 0

    def at(self, step: str, seen: int, rows: int | None) -> None:
        """Report that a step has seen this many records, out of `rows` if that is known."""
        if self.counted:
            self.progress(step, seen, rows)
        elif rows:
            self._tell(step, min(_PARTS * seen // rows, _PARTS))

    def done(self, step: str) -> None:
        """Report that a step is done."""
        if not self.counted:
            self._tell(step, _PARTS)
            self._told = 0

    def _tell(self, step: str, part: int) -> None:
        while self._told < part:
            self._told += 1
            self.progress(step, self._told, _PARTS)
