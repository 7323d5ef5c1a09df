"""Algorithm 5, EstimateRadius: the radius that passes, not half of it, and how many values it leaves outside."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pdpmean import InvalidInputError, Randomness
from pdpmean.paper import estimate_radius

LARGEST = float(np.finfo(np.float64).max)


def radius(values: Any, *, budget: float = math.inf, spacing: float = 1.0, beta: float = 0.1, seed: int = 0) -> float:
    return estimate_radius(values, budget=budget, spacing=spacing, beta=beta, randomness=Randomness.seeded(seed))


@pytest.mark.parametrize(
    ("values", "spacing", "expected"),
    [
        ([1.0, -5.0, 2.0], 1.0, 8.0),  # 4 < 5 <= 8
        ([8.0], 1.0, 8.0),
        ([-8.0], 1.0, 8.0),
        ([math.nextafter(8.0, 9.0)], 1.0, 16.0),
        ([0.0, 0.0], 1.0, 1.0),  # nothing outside the first radius
        ([0.0], 2.0**-30, 2.0**-30),
        ([], 1.0, 1.0),
        ([math.nan, math.nan], 1.0, 1.0),
        ([math.nan, -3.0], 1.0, 4.0),
        ([3.0], 0.25, 4.0),
        ([5e-324], 2.0**-1020, 2.0**-1020),
        ([1e300], 2.0**-1000, 2.0**997),  # 1.49 * 2**996
        ([LARGEST], 1.0, 2.0**1023),  # no power of two reaches it: the last radius
        ([math.inf, 1.0], 1.0, 2.0**1023),
        ([2**53 + 1, -(10**30)], 1.0, 2.0**100),  # 10**30 = 1.58 * 2**99
    ],
)
def test_without_noise_the_first_radius_that_holds_everything(
    values: list[float], spacing: float, expected: float
) -> None:
    assert radius(values, spacing=spacing) == expected


@pytest.mark.parametrize(
    "values", [[5, -1], np.array([5, -1]), np.array([5, -1], dtype=np.float32), (5.0, -1.0)], ids=str
)
def test_columns_of_any_kind(values: Any) -> None:
    assert radius(values) == 8.0


def test_radii_end_at_the_largest_power() -> None:
    found = estimate_radius([1e10], budget=math.inf, spacing=1.0, beta=0.1, largest_power=5)
    assert found == 32.0


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_nearly_all_values_are_inside(scale: float) -> None:
    # By Lemma 6, with the k-th radius the first that holds everything: but for a probability of beta the radius
    # returned is at most that one and leaves at most 6/eps (ln(2/beta) + ln(2 k/beta)) values outside.
    budget, beta, runs = 0.3, 0.1, 200
    spacing = 2.0 ** (math.frexp(scale)[1] - 4)
    generator = np.random.default_rng(1)
    failures = 0
    for seed in range(runs):
        values = generator.normal(-5 * scale, scale, 2000)
        found = radius(values, budget=budget, spacing=spacing, beta=beta, seed=seed)
        largest = np.abs(values).max()
        k = math.ceil(math.log2(largest / spacing)) + 1
        outside = int((np.abs(values) > found).sum())
        limit = 6 / budget * (math.log(2 / beta) + math.log(2 * k / beta)) + 1
        failures += found > 2 * largest or outside > limit
    assert failures <= binom.isf(1e-6, runs, beta)


@pytest.mark.parametrize("power", [-800, -1, 5, 800])
def test_powers_of_two_scale_the_radius_bit_for_bit(power: int) -> None:
    values = np.random.default_rng(2).normal(0, 100, 300)
    for seed in range(30):
        found = radius(values, budget=0.5, spacing=1.0, seed=seed)
        scaled = radius(values * 2.0**power, budget=0.5, spacing=2.0**power, seed=seed)
        assert scaled == found * 2.0**power


def test_missing_values_take_no_part() -> None:
    values = [3.0, -40.0, 7.0]
    for seed in range(20):
        assert radius(values, budget=1.0, seed=seed) == radius([*values, math.nan, math.nan], budget=1.0, seed=seed)


@given(
    st.lists(st.floats() | st.sampled_from([LARGEST, -LARGEST, 5e-324, 0.0]), max_size=30),
    st.integers(-1020, 1023),
    st.sampled_from([2.0**-50, 0.1, 3.0, 2.0**40, math.inf]),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_whatever_the_values_a_radius_comes_back(values: list[float], power: int, budget: float) -> None:
    found = radius(values, budget=budget, spacing=2.0**power)
    assert math.frexp(found)[0] == 0.5
    assert 2.0**power <= found <= 2.0**1023


# Input.


class Unreadable:
    """Values that must not be looked at."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise AssertionError("the values were read")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0.0}, "budget must be at least"),
        ({"budget": math.nan}, "budget must be at least"),
        ({"beta": 0.0}, "beta must lie strictly between 0 and 1; got 0.0"),
        ({"beta": 1.0}, "beta must lie strictly between 0 and 1; got 1.0"),
        ({"beta": math.nan}, "beta must lie strictly between 0 and 1; got nan"),
    ],
)
def test_bad_public_input_is_refused_before_a_value_is_read(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"budget": 1.0, "spacing": 1.0, "beta": 0.1} | options
    with pytest.raises(InvalidInputError, match=message):
        estimate_radius(Unreadable(), **arguments)


@pytest.mark.parametrize("spacing", [0.0, -1.0, 3.0, math.nan, math.inf])
def test_a_spacing_that_is_no_power_of_two_is_refused(spacing: float) -> None:
    with pytest.raises(InvalidInputError, match="spacing"):
        estimate_radius([1.0], budget=1.0, spacing=spacing, beta=0.1)
