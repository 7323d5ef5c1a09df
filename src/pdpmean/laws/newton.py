"""The loop of Newton's method, which all its uses share: step until the steps are small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

__all__ = ["step_until_small"]

State = TypeVar("State")


def step_until_small(
    step: Callable[[State], tuple[State, Any]], start: State, *, most_steps: int, smallest: float
) -> State:
    """The state after the first step whose changes are all smaller than `smallest`, or after `most_steps`.

    `step` takes a state, and returns the next one and an array of changes.
    """
    state = start
    for _ in range(most_steps):
        state, change = step(state)
        if np.abs(change).max() < smallest:
            break
    return state
