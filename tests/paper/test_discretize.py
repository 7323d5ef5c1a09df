"""Algorithm 4, Discretization: known spacings, Lemma 16, exact rounding, and a uniform matching."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statistical.laws import chi_square

from pdpmean import InvalidInputError, Randomness
from pdpmean.paper import discretize
from pdpmean.paper.discretize import LARGEST_POWER, SMALLEST_POWER, count_within_powers, round_to_grid

inside: Any = importlib.import_module("pdpmean.paper.discretize")
LARGEST = float(np.finfo(np.float64).max)

# Two values make one pair, so the median distance is known. The spacing is a quarter of the least power of two
# that is at least that distance: the printed 2**(i - 2) / 2 with i counted from 1.


@pytest.mark.parametrize(
    ("values", "spacing"),
    [
        ([0.0, 3.0], 1.0),  # 2 < 3 <= 4
        ([0.0, 4.0], 1.0),
        ([0.0, 4.1], 2.0),
        ([-700.0, 300.0], 256.0),  # 512 < 1000 <= 1024
        ([0.0, -2.0], 0.5),
        ([1e300, -1e300], 2.0**996),  # 2e300 = 1.49 * 2**997
        ([math.nan, 0.0, math.nan, 3.0], 1.0),
        ([None, 0.0, "x", 3.0], 1.0),
    ],
)
def test_without_noise_a_quarter_of_the_power_above_the_distance(values: Any, spacing: float) -> None:
    assert discretize(values, budget=math.inf).spacing == spacing


@pytest.mark.parametrize(
    ("values", "spacing"),
    [([0.0, 1.0], 0.25), ([0.0, 0.3], 0.125), ([5.0, 5.25], 0.0625), ([0.0, 2.0**-500], 2.0**-502)],
)
def test_below_one_as_above_it(values: list[float], spacing: float) -> None:
    """The two searches meet: the spacing scales with the data on both sides of 1 (docs/errata.md, 17)."""
    assert discretize(values, budget=math.inf).spacing == spacing


def test_values_come_back_on_the_grid() -> None:
    found = discretize([0.7, 3.9, math.nan], budget=math.inf)  # distance 3.2, so the spacing is 1
    assert found.values.tolist() == [0.0, 3.0]
    found = discretize([-0.5, 2.9], budget=math.inf)
    assert found.values.tolist() == [-1.0, 2.0]


@pytest.mark.parametrize("values", [[], [5.0], [math.nan] * 4, [math.nan, -3.0]])
def test_without_a_pair_nothing_is_known_and_the_grid_is_coarse(values: list[float]) -> None:
    found = discretize(values, budget=math.inf)
    assert found.spacing == 2.0 ** (LARGEST_POWER - 2)
    assert found.values.size == np.count_nonzero(~np.isnan(values))


@pytest.mark.parametrize("value", [0.0, 5.0, -1e300, math.inf, 5e-324])
def test_equal_values_make_the_finest_grid(value: float) -> None:
    found = discretize([value] * 6, budget=math.inf)
    assert found.spacing <= 2.0 ** (SMALLEST_POWER + 1)
    assert set(found.values.tolist()) == {0.0 if value == 5e-324 else value}


def test_infinite_values_are_infinitely_far() -> None:
    assert discretize([0.0, math.inf], budget=math.inf).spacing == 2.0 ** (LARGEST_POWER - 2)
    assert discretize([LARGEST, -LARGEST], budget=math.inf).spacing == 2.0 ** (LARGEST_POWER - 2)


@pytest.mark.parametrize(
    "values",
    [[0, 3], (0, 3), np.array([0, 3]), np.array([0, 3], dtype=np.float32), np.array([0, 3], dtype=np.uint8)],
    ids=str,
)
def test_columns_of_any_kind(values: Any) -> None:
    assert discretize(values, budget=math.inf).spacing == 1.0


# Lemma 16.


@pytest.mark.parametrize(
    ("mean", "deviation"),
    [(0.0, 3.0), (-1e6, 3.0), (50.0, 0.3), (0.0, 1.5e-100), (-1e205, 1e200), (0.0, 0.7), (2.0**60, 2.0**30)],
)
def test_spacing_of_lemma_16(mean: float, deviation: float) -> None:
    # But for a probability of beta, between sigma/8 and sigma. The lemma asks for n of the order of
    # (log(1/beta) + log log sigma)/eps: 4000 values at a budget of 1/2 are plenty, so beta may be small.
    beta, runs = 0.02, 200
    generator = np.random.default_rng(7)
    failures = 0
    for seed in range(runs):
        values = generator.normal(mean, deviation, 4000)
        spacing = discretize(values, budget=0.5, randomness=Randomness.seeded(seed)).spacing
        failures += not deviation / 8 <= spacing <= deviation
    assert failures <= binom.isf(1e-6, runs, beta)


@pytest.mark.parametrize("deviation", [1.02, 1.04, 0.51])
def test_spacing_of_lemma_16_just_above_a_power_of_two(deviation: float) -> None:
    # The median distance, 0.954 sigma, is below a power of two that sigma is above: docs/errata.md, 17.
    values = np.random.default_rng(3).normal(0, deviation, 200_000)
    spacing = discretize(values, budget=math.inf, randomness=Randomness.seeded(0)).spacing
    assert deviation / 8 <= spacing <= deviation


def test_scaling_by_a_power_of_two_scales_the_spacing() -> None:
    values = np.random.default_rng(5).normal(0, 3.0, 4000)
    for power in (0, 1, 7, 100, 900):
        found = discretize(values * 2.0**power, budget=5.0, randomness=Randomness.seeded(power))
        assert found.spacing == 2.0**power  # 0.954 * 3 = 2.86 <= 4, and no noise reaches the counts at 2 and 8


# The parts.


@given(st.lists(st.floats(), max_size=20), st.integers(SMALLEST_POWER, LARGEST_POWER))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_rounding_is_down_and_exact(values: list[float], power: int) -> None:
    spacing = 2.0**power
    present = np.array([value for value in values if not math.isnan(value)])
    for value, rounded in zip(present.tolist(), round_to_grid(present, spacing).tolist(), strict=True):
        if math.isinf(value):
            assert rounded == value
        elif value == 0 or abs(Fraction(value)) >= Fraction(spacing) * Fraction(2.0**-1074):
            # A smaller quotient is no double, and may round to 0 instead of down.
            assert Fraction(rounded) == math.floor(Fraction(value) / Fraction(spacing)) * Fraction(spacing)


@given(
    st.lists(st.floats(0) | st.integers(-1074, 1023).map(lambda power: 2.0**power), max_size=20),
    st.integers(-1018, 0),
    st.integers(0, 1023),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_count_within_powers_counts_sizes_up_to_each_power(sizes: list[float], low: int, high: int) -> None:
    counts = count_within_powers(np.array(sizes, dtype=np.float64), low, high)
    powers = sorted({low, high, *range(low, high + 1, 97), *(math.frexp(size)[1] for size in sizes if size < math.inf)})
    assert counts.size == high - low + 1
    for power in (power for power in powers if low <= power <= high):
        assert counts[power - low] == sum(size <= 2.0**power for size in sizes)


def test_the_matching_is_uniform() -> None:
    # Four values that tell by their distances which of the three matchings was drawn.
    values, randomness = np.array([0.0, 1.0, 10.0, 100.0]), Randomness.seeded(2)
    drawn = [tuple(sorted(inside._pair_distances(values, randomness).tolist())) for _ in range(3_000)]
    law = {(1.0, 90.0): 1 / 3, (9.0, 100.0): 1 / 3, (10.0, 99.0): 1 / 3}
    assert chi_square(drawn, law) > 1e-9
    # Five values: who stays alone is uniform as well. 1000 is paired when some distance is above 800.
    values = np.array([0.0, 1.0, 10.0, 100.0, 1000.0])
    drawn_of_five = [inside._pair_distances(values, randomness).tolist() for _ in range(3_000)]
    assert {len(distances) for distances in drawn_of_five} == {2}
    paired = [max(distances) > 800 for distances in drawn_of_five]
    assert chi_square(paired, {True: 4 / 5, False: 1 / 5}) > 1e-9


@given(
    st.lists(st.floats() | st.sampled_from([LARGEST, -LARGEST, 5e-324, 0.0]), max_size=30),
    st.sampled_from([2.0**-45, 0.1, 3.0, 2.0**40, math.inf]),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_whatever_the_values_a_grid_comes_back(values: list[float], budget: float) -> None:
    found = discretize(values, budget=budget, randomness=Randomness.seeded(1))
    assert math.frexp(found.spacing)[0] == 0.5
    assert 2.0**SMALLEST_POWER <= found.spacing <= 2.0**LARGEST_POWER
    assert found.values.size == sum(not math.isnan(value) for value in values)


# Input.


class Unreadable:
    """Values that must not be looked at."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise AssertionError("the values were read")


@pytest.mark.parametrize("budget", [0.0, -1.0, math.nan, 2.0**-51])
def test_a_bad_budget_is_refused_before_a_value_is_read(budget: float) -> None:
    with pytest.raises(InvalidInputError, match=r"budget must be at least 2\*\*-50; got"):
        discretize(Unreadable(), budget=budget)


def test_a_budget_too_small_to_halve_is_refused_before_a_value_is_read() -> None:
    with pytest.raises(InvalidInputError, match=r"budget must be at least 2\*\*-50"):
        discretize(Unreadable(), budget=2.0**-50)
    assert discretize([0.0, 3.0], budget=2.0**-49, randomness=Randomness.seeded(1)).spacing > 0
