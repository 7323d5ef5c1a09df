"""Algorithm 7, PDPMeanEstimation: the mean it finds, whom it listens to, and what it refuses."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pdpmean import InvalidInputError, Randomness, lower_bound
from pdpmean.paper import mean_bounded

LARGEST = float(np.finfo(np.float64).max)


def mean(values: Any, budgets: Any, *, seed: int = 0) -> float:
    return mean_bounded(values, budgets, randomness=Randomness.seeded(seed))


# Public records only: the plain mean, to 2**-24 of the half range, for values that the range holds.


@pytest.mark.parametrize(
    ("values", "expected", "tolerance"),
    [
        ([0.0, 3.0], 1.5, 2.0**-22),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 5.5, 2.0**-20),
        (np.arange(1, 101), 50.5, 2.0**-16),
        (np.arange(1, 101, dtype=np.float32), 50.5, 2.0**-16),
        (np.arange(1, 101, dtype=np.uint8), 50.5, 2.0**-16),
        (range(-1_000_100, -1_000_000), -1_000_050.5, 2.0**-16),  # far from zero
        ([2**60 + 2**20 * k for k in range(100)], 2**60 + 2**20 * 49.5, 16.0),  # integers beyond 2**53
        (np.arange(1, 101) * 1e-310, 50.5e-310, 1e-314),  # subnormal numbers
        (np.arange(1, 101) * 1e300, 50.5e300, 1e296),
        ([Decimal(3), Fraction(6), 9, np.float32(12)], 7.5, 2.0**-18),
    ],
    ids=repr,
)
def test_without_noise_the_plain_mean(values: Any, expected: float, tolerance: float) -> None:
    assert mean(values, math.inf) == pytest.approx(expected, rel=0, abs=tolerance)
    assert mean(values, [math.inf] * len(values)) == mean(values, math.inf)


def test_huge_budgets_are_as_good_as_infinite_ones() -> None:
    values = np.arange(1, 101)
    for budget in (2.0**40, 1e300):
        assert mean(values, budget) == pytest.approx(50.5, abs=2.0**-16)


def test_missing_values_are_left_out_of_the_range_and_count_as_its_middle() -> None:
    # 2 and 5 are 3 apart: the range is a median between them, in eighths, and 2 or 4 on both sides
    # (test_estimate_range.py). With 4 values of which two are there: (2 + 5 + 2 * middle)/4.
    found = {mean([2.0, math.nan, 5.0, None], math.inf, seed=seed) for seed in range(20)}
    assert len(found) > 5
    assert found <= {(7 + 2 * (2 + eighth / 8)) / 4 for eighth in range(1, 24)}


@pytest.mark.parametrize("values", [[], [1.0], [1.0, math.nan], np.zeros(5)], ids=str)
@pytest.mark.parametrize("budget", [0.0, 1e-300])
def test_nobody_grants_anything(values: Any, budget: float) -> None:
    assert math.isnan(mean(values, budget))
    assert math.isnan(mean(values, [budget] * len(values)))


def test_the_mean_of_no_records_is_nan() -> None:
    assert math.isnan(mean([], []))
    assert math.isnan(mean([], 1.0))
    assert math.isnan(mean([], math.inf))


@pytest.mark.parametrize("value", [0.0, 5.0, -1e300, math.nan, math.inf, 5e-324])
@pytest.mark.parametrize("budget", [1e-6, 1.0, 2.0**40, math.inf])
def test_one_record_gives_a_number(value: float, budget: float) -> None:
    assert math.isfinite(mean([value], budget))


@pytest.mark.parametrize("value", [0.0, 5.0, -3e200, 1e-320])
@pytest.mark.parametrize("budget", [1.0, math.inf])
def test_equal_values_give_that_value(value: float, budget: float) -> None:
    # 100 000 records that agree. The range shrinks around the value until noise or the doubles end it.
    found = mean(np.full(100_000, value), budget)
    assert found == pytest.approx(value, rel=1e-3, abs=1e-3)


# With noise.


@pytest.mark.parametrize(
    ("center", "deviation"), [(0.0, 1.0), (-1e9, 5.0), (1e-200, 1e-202), (3e250, 1e249), (7.0, 1e-6)]
)
def test_errors_are_a_small_multiple_of_the_lower_bound(center: float, deviation: float) -> None:
    # benchmarks/paper.py reports the ratio; here only that the estimator works at any centre and scale. A range is
    # some 16 to 64 sigma wide, so with n eps = 10 000 the noise is a few thousandths of sigma.
    size, runs = 10_000, 30
    generator = np.random.default_rng(1)
    errors = [abs(mean(generator.normal(center, deviation, size), 1.0, seed=seed) - center) for seed in range(runs)]
    bound = lower_bound({1.0: size}, deviation)
    assert np.quantile(errors, 0.75) <= 10 * bound
    assert np.quantile(errors, 0.75) >= 0.5 * bound  # below it, no private estimator can be


def test_the_law_of_the_error_moves_and_scales_with_the_data() -> None:
    # The searches start at 1 and at 0, so draws differ; the law of the error, in units of sigma, does not.
    generator = np.random.default_rng(2)
    samples = [generator.normal(0, 1, 5_000) for _ in range(150)]

    def spread(scale: float, shift: float) -> float:
        errors = [(mean(values * scale + shift, 0.5, seed=seed) - shift) / scale for seed, values in enumerate(samples)]
        return float(np.quantile(np.abs(errors), 0.75))

    base = spread(1.0, 0.0)
    for scale, shift in [(2.0**30, 0.0), (2.0**-30, 0.0), (1.0, -(2.0**20)), (2.0**500, 2.0**510)]:
        assert 0.5 * base <= spread(scale, shift) <= 2 * base


def test_budgets_of_all_kinds_at_once() -> None:
    budgets = np.tile([0.0, 0.01, 0.5, 1.0, 7.0, math.inf], 1_000)
    values = np.random.default_rng(3).normal(100, 10, budgets.size)
    assert mean(values, budgets) == pytest.approx(100, abs=3)
    assert mean(values, budgets.tolist()) == mean(values, budgets)


def test_secure_randomness_is_the_default() -> None:
    values = np.random.default_rng(4).normal(100, 10, 10_000)
    first, second = mean_bounded(values, 1.0), mean_bounded(values, 1.0)
    assert first != second
    assert first == pytest.approx(100, abs=10)


def test_the_same_seed_gives_the_same_answer() -> None:
    values = np.random.default_rng(4).normal(100, 10, 1_000)
    assert mean(values, 1.0, seed=5) == mean(values, 1.0, seed=5) != mean(values, 1.0, seed=6)


# Whom it listens to.


@pytest.mark.parametrize("budget", [0.0, 1e-300, 2.0**-41])
def test_a_zero_budget_has_no_influence(budget: float) -> None:
    generator = np.random.default_rng(5)
    values, budgets = generator.normal(3, 2, 500), generator.uniform(0, 1, 500)
    budgets[7] = budget
    for seed in range(5):
        found = mean(values, budgets, seed=seed)
        for hostile in (0.0, 1e308, -math.inf, math.nan, 5e-324, 2.0**60):
            changed = values.copy()
            changed[7] = hostile
            assert mean(changed, budgets, seed=seed) == found


def test_infinite_budgets_are_used() -> None:
    # The few public records are at 1000, the many who grant next to nothing at 0: the weights decide.
    values = np.append(np.zeros(1_000), 1000.0 + np.arange(50))
    found = mean(values, np.repeat([1e-9, math.inf], [1_000, 50]))
    assert found == pytest.approx(1024.5, abs=5)


# Hostile values.

hostile_values = st.lists(
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
    | st.sampled_from([LARGEST, -LARGEST, 5e-324, -5e-324, 2.0**1023, 2.0**60, 0.0])
    | st.integers(-(10**20), 10**20)
    | st.none()
    | st.text(max_size=2),
    min_size=1,
    max_size=40,
)


@given(hostile_values, st.sampled_from([2.0**-38, 0.1, 2.0, 50.0, 2.0**40, math.inf]), st.integers(0, 2))
@example([5.0] * 10, math.inf, 0)
@example([1e300] * 40, 2.0**40, 0)
@example([10**400, -(10**400), 3.0], 1.0, 0)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_whatever_the_values_a_number_comes_back(values: list[Any], budget: float, seed: int) -> None:
    found = mean(values, budget, seed=seed)
    assert isinstance(found, float)
    assert math.isfinite(found) or budget < 2.0**-36  # weights below one step of 2**-35 count as nothing


@given(hostile_values, st.lists(st.sampled_from([0.0, 0.2, 1.0, 30.0, math.inf]), min_size=40, max_size=40))
@example([1e300] * 40, [30.0] * 40)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_whatever_the_values_and_budgets_a_number_comes_back(values: list[Any], budgets: list[float]) -> None:
    granted = budgets[: len(values)]
    found = mean(values, granted)
    assert math.isfinite(found) == any(granted)


# Input.


class Unreadable:
    """Values that must not be looked at."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise AssertionError("the values were read")

    def __iter__(self) -> Any:
        raise AssertionError("the values were read")


BAD_INPUT: list[tuple[dict[str, Any], str]] = [
    ({"beta": 0.0}, "beta must lie strictly between 0 and 1; got 0.0"),
    ({"beta": 1.0}, "beta must lie strictly between 0 and 1; got 1.0"),
    ({"beta": -0.5}, "beta must lie strictly between 0 and 1; got -0.5"),
    ({"beta": math.nan}, "beta must lie strictly between 0 and 1; got nan"),
    ({"budgets": [0.1, -0.3]}, "budgets must be >= 0; record 1 has -0.3"),
    ({"budgets": [math.nan, 0.1]}, "budgets must be >= 0; record 0 is empty"),
    ({"budgets": -1}, "budgets must be >= 0; got -1"),
    ({"budgets": [None, 0.1]}, "record 0 is empty"),
    ({"budgets": ["x", 0.1]}, "budgets must be numbers"),
    ({"budgets": [[0.1, 0.1]]}, "2 dimensions"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUT)
def test_bad_public_input_gets_a_clear_error(arguments: dict[str, Any], message: str) -> None:
    given_: dict[str, Any] = {"budgets": 0.1} | arguments
    with pytest.raises(InvalidInputError, match=message):
        mean_bounded([1.0, 2.0], given_.pop("budgets"), **given_)


@pytest.mark.parametrize(("arguments", "message"), BAD_INPUT)
def test_bad_public_input_is_refused_before_a_value_is_read(arguments: dict[str, Any], message: str) -> None:
    given_: dict[str, Any] = {"budgets": 0.1} | arguments
    with pytest.raises(InvalidInputError, match=message):
        mean_bounded(Unreadable(), given_.pop("budgets"), **given_)


@pytest.mark.parametrize("budgets", [[], [0.1], [0.1] * 3])
def test_lengths_that_differ_are_named(budgets: list[float]) -> None:
    with pytest.raises(InvalidInputError, match=f"got 2 values and {len(budgets)} budgets") as caught:
        mean_bounded([1.0, 2.0], budgets)
    assert caught.value.name == "budgets"
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("values", [3.0, "12", np.zeros((2, 2)), np.array(["a", "b"]), np.array([1j, 2j])])
def test_what_is_no_column_of_numbers_is_refused(values: Any) -> None:
    with pytest.raises(InvalidInputError, match="values must be"):
        mean_bounded(values, 0.1)
