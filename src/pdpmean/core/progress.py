"""Progress: how far a pass is, told without telling how many records there are where that is private."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Progress", "Watch"]

Progress = Callable[[str, int, int | None], None]  # the step, how much is done, of how much

_PARTS = 100


@dataclass
class Watch:
    """Tells `progress` of each step: in records if they may be counted, otherwise in hundredths.

    Hundredths are all told, one after the other and each once, so that the calls are the same however many records
    there are.
    """

    progress: Progress
    counted: bool
    _told: int = 0

    def at(self, step: str, seen: int, rows: int | None) -> None:
        """A step has seen so many records, of so many if that is known."""
        if self.counted:
            self.progress(step, seen, rows)
        elif rows:
            self._tell(step, min(_PARTS * seen // rows, _PARTS))

    def done(self, step: str) -> None:
        """A step is done."""
        if not self.counted:
            self._tell(step, _PARTS)
            self._told = 0

    def _tell(self, step: str, part: int) -> None:
        while self._told < part:
            self._told += 1
            self.progress(step, self._told, _PARTS)
