"""A search for the least cost of a few numbers: the simplex of Nelder and Mead, in plain lists.

It takes the steps of SciPy's, whose import would add much to that of the library.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["find_least"]

_NEAR, _ALIKE = 0.5, 1e-3  # corners so close to the best, and costs so little above it, are not told apart
_MOST_STEPS = 220

Corner = tuple[float, list[float]]  # cost, numbers


def find_least(cost: Callable[[list[float]], float], start: list[float]) -> Corner:
    """The least cost found, and where; from a simplex of edges of 1."""
    others = [[number + (i == j) for j, number in enumerate(start)] for i in range(len(start))]
    corners = sorted((cost(numbers), numbers) for numbers in (start, *others))
    for _ in range(_MOST_STEPS):
        if _is_small(corners):
            break
        corners = sorted(_moved(cost, corners))
    return corners[0]


def _is_small(corners: list[Corner]) -> bool:
    least, best = corners[0]
    distance = max(abs(a - b) for _, numbers in corners[1:] for a, b in zip(numbers, best, strict=True))
    return distance <= _NEAR and corners[-1][0] - least <= _ALIKE


def _moved(cost: Callable[[list[float]], float], corners: list[Corner]) -> list[Corner]:
    """The corners, the worst of which has moved through the middle of the others; or all have moved to the best."""
    *others, worst = corners
    middle = [sum(column) / len(others) for column in zip(*(numbers for _, numbers in others), strict=True)]

    def beyond(part: float) -> Corner:
        numbers = [m + part * (m - w) for m, w in zip(middle, worst[1], strict=True)]
        return cost(numbers), numbers

    new = beyond(1.0)
    if new[0] < others[0][0]:
        return [*others, min(new, beyond(2.0))]
    if new[0] < others[-1][0]:
        return [*others, new]
    nearer = beyond(0.5) if new[0] < worst[0] else beyond(-0.5)
    if nearer[0] <= min(new[0], worst[0]):
        return [*others, nearer]
    best = others[0][1]
    halfway = ([(a + b) / 2 for a, b in zip(numbers, best, strict=True)] for _, numbers in corners[1:])
    return [others[0], *((cost(numbers), numbers) for numbers in halfway)]
