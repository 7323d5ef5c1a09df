"""Newton's method, as far as every use of it is alike: step until the steps are small."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

__all__ = ["step_until_small"]

State = TypeVar("State")


def step_until_small(
    step: Callable[[State], tuple[State, Any]], start: State, *, most_steps: int, smallest: float
) -> State:
    """The state after so many steps, or after one that changes nothing by as much as `smallest`.

    A step takes a state and gives the next one, and the change, an array.
    """
    state = start
    for _ in range(most_steps):
        state, change = step(state)
        if np.abs(change).max() < smallest:
            break
    return state
