"""Plans that are searched for once, for tests that make many estimates of the same budgets.

A plan follows from public numbers alone, all of which its planner holds (the import contracts say so), and the search
takes longer than the estimate. Tests of plans do without.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields, is_dataclass
from typing import Any
from unittest import mock

import numpy as np

from pdpmean.planning.make import PLANNERS
from pdpmean.planning.plan import Plan
from pdpmean.planning.planner import Planner

_FOUND: dict[Any, bytes] = {}


@contextmanager
def remembered_plans() -> Iterator[None]:
    """The best plan of a planner, and the total budget it needs, are worked out once in a process."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(Planner, "needed_total", _once(Planner.needed_total)))
        for planner in PLANNERS.values():
            stack.enter_context(mock.patch.object(planner, "best", _unless_near(planner.best)))
        yield


def _unless_near(best: Callable[..., Plan]) -> Callable[..., Plan]:
    """Like `best`, which is searched for anew where it begins with another plan."""
    remembered = _once(best)
    return lambda planner, near=None: best(planner, near) if near else remembered(planner)


def _once(method: Callable[..., Any]) -> Callable[..., Any]:
    """The same method; each caller gets a copy of what it gave first."""

    def recall(planner: Planner) -> Any:
        key = method, content(planner)
        if key not in _FOUND:
            _FOUND[key] = pickle.dumps(method(planner))
        return pickle.loads(_FOUND[key])

    return recall


def content(thing: Any) -> Any:
    """What is the same, to the last bit, for things of the same types and content alone."""
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, thing.tobytes()
    if is_dataclass(thing):
        return type(thing), *(content(getattr(thing, field.name)) for field in fields(thing))
    if isinstance(thing, tuple):
        return type(thing), *map(content, thing)
    return repr(thing)
