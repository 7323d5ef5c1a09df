"""Timing: how long a piece of work takes."""

from __future__ import annotations

import time
from collections.abc import Callable


def seconds(work: Callable[[], object]) -> float:
    """The seconds that the work takes, by the clock on the wall."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
