"""The search for the least cost takes the steps of SciPy's, and ends where they end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from pdpmean.laws.simplex import find_least

Cost = Callable[[list[float]], float]


def valley(x: list[float]) -> float:
    """Narrow and bent: the simplex has to be shrunk on its way."""
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2 + 3 * (x[2] - x[0]) ** 2


def bowl(x: list[float]) -> float:
    return sum((number - place) ** 2 for place, number in enumerate(x))


def waves(x: list[float]) -> float:
    return sum(math.sin(3 * number) + 0.1 * number**2 for number in x)


@pytest.mark.parametrize("cost", [valley, bowl, waves], ids=lambda cost: cost.__name__)
@pytest.mark.parametrize("start", [[0.0, 0.0, 0.0], [-3.0, 2.0, 7.0], [0.5, -1.0, 4.0]], ids=str)
def test_the_steps_are_those_of_scipy(cost: Cost, start: list[float]) -> None:
    asked: list[list[float]] = []
    least, found = find_least(lambda x: asked.append(x) or cost(x), start)  # type: ignore[func-returns-value]
    first: Any = np.array(start)
    simplex = np.vstack([first, first + np.eye(3)])
    options: Any = {"xatol": 0.5, "fatol": 1e-3, "maxiter": 220, "initial_simplex": simplex}

    def of_array(x: Any) -> Any:
        return cost(x.tolist())

    theirs = minimize(of_array, first, method="Nelder-Mead", options=options)
    assert least == cost(found) == pytest.approx(float(theirs.fun), rel=1e-9, abs=1e-9)
    assert least == min(cost(x) for x in asked)
    assert len(asked) == pytest.approx(theirs.nfev, abs=3)


def test_costs_that_are_all_alike() -> None:
    assert find_least(lambda _: 2.0, [5.0, 6.0])[0] == 2.0


def test_a_search_over_one_number() -> None:
    least, (found,) = find_least(lambda x: abs(x[0] - 3), [100.0])
    assert found == pytest.approx(3, abs=0.5)
    assert least == abs(found - 3)


def test_the_search_ends_where_there_is_no_least_cost() -> None:
    asked: list[float] = []
    find_least(lambda x: asked.append(x[0]) or -x[0], [0.0, 0.0])  # type: ignore[func-returns-value]
    assert 200 < len(asked) < 1000
