"""Progress: bars for long passes, on standard error, if that is a terminal and ``--quiet`` is not given."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

__all__ = ["Hook", "progress"]

Hook = Callable[[str, int, int | None], None]

_STEP_NAMES = {"census": "counting budgets", "sample": "locating", "sum": "averaging", "run": "simulating"}
_PATIENCE = 0.4  # seconds before anything is shown: most runs are done by then


@contextmanager
def progress(*, quiet: bool, counts: bool = True, unit: str = "rows") -> Iterator[Hook | None]:
    """A context with a hook to report progress to; None if no progress is to be shown.

    Without `counts` only percentages are shown, since the number of records is private in the unbounded model.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bars = _bars(counts, unit)
    try:
        yield _BarHook(bars)
    finally:
        bars.stop()


class _BarHook:
    """A hook that shows one bar per step, once the command has run for a while."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._tasks: dict[str, TaskID] = {}
        self._start = time.monotonic()

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """Show that `done` records of `total` are done; `total` is None if it is not known."""
        if time.monotonic() - self._start < _PATIENCE:
            return
        if step not in self._tasks:
            self._bars.start()
            for task in self._tasks.values():
                self._bars.update(task, visible=False)
            self._tasks[step] = self._bars.add_task(_STEP_NAMES.get(step, step), total=total)
        self._bars.update(self._tasks[step], completed=done, total=total, visible=True)


def _bars(counts: bool, unit: str) -> Progress:
    """Progress bars with a description, an amount and the remaining time."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class Amount(ProgressColumn):
        """The number done, the total and the speed; only a percentage without `counts`."""

        def render(self, task: Task) -> Text:
            if not counts:
                return Text(f"{task.percentage:.0f} %")
            total = "" if task.total is None else f" of {task.total:,.0f}"
            rate = "" if task.speed is None else f", {task.speed:,.0f} per second"
            return Text(f"{task.completed:,.0f}{total} {unit}{rate}")

    columns = (TextColumn("{task.description}"), BarColumn(24), Amount(Column(no_wrap=True)), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
