"""Minimization of a cost function of a few numbers: the simplex search of Nelder and Mead, in plain lists.

It takes the same steps as SciPy's. Importing that one would add much to the import time of the library.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["find_least"]

# The search ends when all corners are this close to the best one, and their costs at most so much above the least.
_CLOSE = 0.5
_COSTS_ALIKE = 1e-3

_MOST_STEPS = 220

Corner = tuple[float, list[float]]
"""A corner of the simplex: its cost, and its coordinates."""


def find_least(cost: Callable[[list[float]], float], start: list[float]) -> Corner:
    """The least cost found, and where. The search begins with a simplex of edge length 1 at `start`."""
    others = [[number + (i == j) for j, number in enumerate(start)] for i in range(len(start))]
    corners = sorted((cost(numbers), numbers) for numbers in (start, *others))
    for _ in range(_MOST_STEPS):
        if _is_small(corners):
            break
        corners = sorted(_moved(cost, corners))
    return corners[0]


def _is_small(corners: list[Corner]) -> bool:
    """Whether the search has converged; corners are in order of their costs."""
    least, best = corners[0]
    distance = max(abs(a - b) for _, numbers in corners[1:] for a, b in zip(numbers, best, strict=True))
    return distance <= _CLOSE and corners[-1][0] - least <= _COSTS_ALIKE


def _moved(cost: Callable[[list[float]], float], corners: list[Corner]) -> list[Corner]:
    """The corners after one step: the worst is moved along the line through the middle of the others.

    If that does not improve it, all corners are moved halfway to the best one.
    """
    *others, worst = corners
    middle = [sum(column) / len(others) for column in zip(*(numbers for _, numbers in others), strict=True)]

    def reflected(factor: float) -> Corner:
        """The worst corner, mirrored at the middle and stretched by a factor; a negative one stays on its side."""
        numbers = [m + factor * (m - w) for m, w in zip(middle, worst[1], strict=True)]
        return cost(numbers), numbers

    new = reflected(1.0)
    if new[0] < others[0][0]:
        return [*others, min(new, reflected(2.0))]
    if new[0] < others[-1][0]:
        return [*others, new]
    nearer = reflected(0.5) if new[0] < worst[0] else reflected(-0.5)
    if nearer[0] <= min(new[0], worst[0]):
        return [*others, nearer]
    best = others[0][1]
    halfway = ([(a + b) / 2 for a, b in zip(numbers, best, strict=True)] for _, numbers in corners[1:])
    return [others[0], *((cost(numbers), numbers) for numbers in halfway)]
