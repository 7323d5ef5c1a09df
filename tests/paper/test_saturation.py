"""The saturation threshold of Algorithm 3: by hand, by its definition, and as the minimum it is meant to be."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdpmean import InvalidInputError
from pdpmean.paper import saturation


@pytest.mark.parametrize(
    ("budgets", "tau", "k"),
    [
        # tau_1 = 9, tau_2 = (1 + 1 + 8)/2 = 5, and 100 >= 5.
        ([1, 1, 100, 100], 5.0, 2),
        ([100, 1, 100, 1], 5.0, 2),
        # tau_2 = 10/2 = 5 exactly: a budget that reaches tau is saturated.
        ([1, 1, 5], 5.0, 2),
        # 4.9 < 5, so it counts: tau_3 = (2 + 24.01 + 8)/6.9.
        ([1, 1, 4.9], 34.01 / 6.9, 3),
        # Nobody reaches tau: all equal budgets e give e + 8/(n e).
        ([0.5] * 4, 0.5 + 8 / 2.0, 4),
        ([3.0], 17 / 3, 1),
        (0.1, 8.01 / 0.1, 1),
        # Budgets of 0 are below every threshold, and add nothing to it.
        ([0, 0, 1, 100], 9.0, 3),
        # Public records reach any finite threshold.
        ([1, math.inf], 9.0, 1),
        ([1, 1, math.inf, math.inf], 5.0, 2),
        # Nothing finite to saturate.
        ([], math.inf, 0),
        ([0, 0], math.inf, 2),
        (0.0, math.inf, 1),
        ([math.inf] * 3, math.inf, 0),
        ([0, math.inf], math.inf, 1),
    ],
)
def test_known_values(budgets: Any, tau: float, k: int) -> None:
    found = saturation(budgets)
    assert found.tau == pytest.approx(tau, rel=1e-14)
    assert found.k == k


def test_a_smaller_constant_lowers_the_threshold() -> None:
    # (1 + 1 + 2)/2 = 2 instead of (1 + 1 + 8)/2 = 5.
    assert saturation([1, 1, 3], constant=2.0) == dataclasses.replace(saturation([1, 1, 3]), tau=2.0, k=2)
    assert saturation([1, 1, 3]).k == 3


def test_extreme_budgets_are_used_inside_their_range() -> None:
    # Below 2**-40 a budget counts as 0, above 2**40 as 2**40 (pdpmean.core.checks).
    assert saturation([1e-300, 1.0]) == dataclasses.replace(saturation([0.0, 1.0]))
    assert saturation([1e300]) == saturation([2.0**40])


def test_the_result_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        saturation([1.0]).tau = 3.0  # type: ignore[misc]


# Multiples of 1/8, so that sums and squares are exact in doubles and ties are real ties.
eighths = st.integers(0, 800).map(lambda count: count / 8)


@given(st.lists(eighths, min_size=1, max_size=40))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_k_is_the_smallest_index_of_the_text(budgets: list[float]) -> None:
    ascending = sorted(Fraction(budget) for budget in budgets)
    expected, threshold = len(ascending), None
    for k in range(1, len(ascending) + 1):
        total, squares = sum(ascending[:k]), sum(budget**2 for budget in ascending[:k])
        threshold = (squares + 8) / total if total else None
        if threshold is not None and k < len(ascending) and ascending[k] >= threshold:
            expected = k
            break
    found = saturation(budgets)
    assert found.k == expected
    assert found.tau == pytest.approx(math.inf if threshold is None else float(threshold), rel=1e-13)
    assert sum(budget < found.tau for budget in budgets) >= found.k  # whoever is counted is below tau


@given(st.lists(st.floats(1e-3, 50) | st.just(math.inf), min_size=1, max_size=30))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_tau_minimises_the_error_of_the_weighted_mean(budgets: list[float]) -> None:
    # Values of variance 1/4 in an interval of length 1, weights w, noise of variance 2/(sum w)**2: the error is
    # (sum w**2 / 4 + 2) / (sum w)**2, a quarter of what is below. Among w = min(eps, t), t = tau is best.
    if math.isinf(saturation(budgets).tau):
        return

    def error(tau: float) -> float:
        weights = np.minimum(budgets, tau)
        return float(((weights**2).sum() + 8) / weights.sum() ** 2)

    best = error(saturation(budgets).tau)
    assert all(best <= error(tau) * (1 + 1e-12) for tau in np.geomspace(1e-3, 1e4, 300).tolist())


@given(st.lists(eighths.filter(bool), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_two_sums_of_theorem_11_have_the_ratio_tau(budgets: list[float]) -> None:
    # tau W = sum eps**2 + 8 + (n - k) tau**2: by the definition of tau, for the k unsaturated budgets.
    found = saturation(budgets)
    weights = np.minimum(budgets, found.tau)
    assert (weights**2).sum() + 8 == pytest.approx(found.tau * weights.sum(), rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: saturation([0.1, -0.3]), r"budgets must be >= 0; record 1 has -0.3"),
        (lambda: saturation([math.nan]), "record 0 is empty"),
        (lambda: saturation([[0.1]]), "2 dimensions"),
        (lambda: saturation(["x"]), "budgets must be numbers"),
        (lambda: saturation([0.1], constant=0.0), "constant must be positive"),
        (lambda: saturation([0.1], constant=math.nan), "constant must be positive"),
        (lambda: saturation([0.1], constant=math.inf), "constant must be positive"),
    ],
)
def test_bad_input_gets_a_clear_error(call: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()
