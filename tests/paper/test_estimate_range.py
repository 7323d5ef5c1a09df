"""Algorithm 6, PDPEstimateRange: known ranges, Lemma 17, and who has a say in them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pdpmean import InvalidInputError, Randomness
from pdpmean.paper import diffusion_rates, estimate_range

LARGEST = float(np.finfo(np.float64).max)


def find_range(values: Any, budgets: Any, *, beta: float = 0.05, seed: int = 0) -> tuple[float, float]:
    found = estimate_range(values, budgets, beta=beta, randomness=Randomness.seeded(seed))
    assert found is not None
    return found


def test_without_noise_by_hand() -> None:
    # One pair at distance 3: spacing 1, coarse radius 4. Every eighth between 0 and 3 is a median, and the radius is 2
    # where both values are within 2 of it, and otherwise 4.
    found = {find_range([0.0, 3.0], math.inf, seed=seed) for seed in range(30)}
    medians = [eighth / 8 for eighth in range(1, 24)]
    assert found <= {(m - r, m + r) for m in medians for r in [2.0 if 1 <= m <= 2 else 4.0]}
    assert len(found) > 10


def test_without_noise_by_hand_far_from_zero() -> None:
    # The same data moved by -1000: the coarse radius is 1024, the range moves along.
    found = {find_range([-1000.0, -997.0], math.inf, seed=seed) for seed in range(30)}
    medians = [eighth / 8 - 1000 for eighth in range(1, 24)]
    assert found <= {(m - r, m + r) for m in medians for r in [2.0 if -999 <= m <= -998 else 4.0]}


@pytest.mark.parametrize("budgets", [0.0, [0.0, 0.0], [0.0, 1e-300]])
def test_nobody_grants_anything(budgets: Any) -> None:
    assert estimate_range([1.0, 2.0], budgets) is None
    assert estimate_range([], []) is None
    assert estimate_range([], 1.0) is None


@pytest.mark.parametrize("power", [-900, -20, -1, 1, 30, 500, 1000])
def test_powers_of_two_scale_the_range_without_noise(power: int) -> None:
    # The same matching, spacing and median; the searches only take longer.
    values = np.random.default_rng(3).normal(20, 3, 501)
    low, high = find_range(values, math.inf)
    assert low <= values.min() < values.max() - 3 <= high
    assert find_range(values * 2.0**power, math.inf) == (low * 2.0**power, high * 2.0**power)


# Lemma 17.


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (-1e6, 3.0), (1e3, 1e-3), (-1e300, 1e298)])
def test_range_of_lemma_17(mean: float, deviation: float) -> None:
    # All budgets equal, so everyone is kept and the four steps have eps/4 and beta/4 each. But for a probability
    # of beta the radius is at most twice the largest distance from the median (which is inside the data, or one
    # spacing of at most sigma below), and Lemma 6 bounds the number of values outside.
    size, budget, beta, runs = 4000, 2.0, 0.2, 200
    step, miss = budget / 4, beta / 4
    generator = np.random.default_rng(5)
    failures = 0
    for seed in range(runs):
        values = generator.normal(mean, deviation, size)
        low, high = find_range(values, budget, beta=beta, seed=seed)
        width = values.max() - values.min() + 2 * deviation
        radii = math.ceil(math.log2(8 * width / deviation)) + 1
        limit = 6 / step * (math.log(2 / miss) + math.log(2 * radii / miss)) + 1
        outside = int(((values < low) | (values > high + deviation)).sum())
        failures += not (low < mean < high and high - low <= 4 * width and outside <= limit)
    assert failures <= binom.isf(1e-6, runs, beta)


def test_range_of_lemma_17_with_diffusion() -> None:
    # Tiers with tau = (0.3 + 8)/30 = 0.277: of 3000 at 0.01 some 3.2 % survive, of 3000 above tau all do. So the
    # radius is found with eps = tau/4 among half the values, and Lemma 6 leaves a multiple of 6/eps = 87 outside.
    budgets = np.repeat([0.01, 0.5, 2.0], [3000, 2000, 1000])
    assert 3050 < diffusion_rates(budgets).rates.sum() < 3150
    generator = np.random.default_rng(6)
    failures = 0
    for seed in range(100):
        values = generator.normal(50, 2, budgets.size)
        low, high = find_range(values, budgets, seed=seed)
        outside = int(((values < low) | (values > high)).sum())
        failures += not (low < 50 < high and high - low <= 2 * 32 and outside <= 2 * 4 * 87)
    assert failures <= binom.isf(1e-6, 100, 0.05)


def test_the_law_of_width_and_coverage_moves_with_the_data() -> None:
    values = np.random.default_rng(8).normal(0, 1, 3000)

    def covered(data: Any) -> tuple[float, float]:
        inside, widths = [], []
        for seed in range(60):
            low, high = find_range(data, 1.0, seed=seed)
            inside.append(float(((data >= low) & (data <= high)).mean()))
            widths.append((high - low) / float(np.std(data)))
        return float(np.mean(inside)), float(np.mean(widths))

    base, scaled, moved = covered(values), covered(values * 2.0**40), covered(values - 2.0**20)
    assert scaled == pytest.approx(base, rel=0.15)
    assert moved == pytest.approx(base, rel=0.15)


# Who has a say.


def test_a_zero_budget_has_no_influence_and_an_infinite_one_does() -> None:
    budgets = np.array([0.0, *[0.5] * 200])
    others = np.random.default_rng(9).normal(0, 1, 200)
    for seed in range(10):
        at_zero = find_range([0.0, *others], budgets, seed=seed)
        for value in [1e308, -5.0, math.nan, -math.inf, 5e-324]:
            assert find_range([value, *others], budgets, seed=seed) == at_zero
    # Ten public records at 1000 among people who grant next to nothing: the range is theirs.
    values, budgets = np.append(others, 1000.0 + np.arange(10)), np.repeat([1e-9, math.inf], [200, 10])
    low, high = find_range(values, budgets)
    assert low <= 1000
    assert high >= 1008
    assert high - low < 100


@given(
    st.lists(st.floats() | st.sampled_from([LARGEST, -LARGEST, 5e-324, 2.0**1023]), min_size=1, max_size=30),
    st.sampled_from([2.0**-38, 0.1, 3.0, 2.0**40, math.inf]),
    st.integers(0, 3),
)
@example([5.0] * 10, math.inf, 0)
@example([1e300] * 30, 2.0**40, 0)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_whatever_the_values_an_interval_comes_back(values: list[float], budget: float, seed: int) -> None:
    low, high = find_range(values, budget, seed=seed)
    assert -math.inf < low < high < math.inf


# Input.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beta": 0.0}, "beta must lie strictly between 0 and 1; got 0.0"),
        ({"beta": 2.0}, "beta must lie strictly between 0 and 1; got 2.0"),
        ({"budgets": [0.1, -0.3]}, "budgets must be >= 0; record 1 has -0.3"),
        ({"budgets": [0.1]}, "got 2 values and 1 budgets"),
        ({"values": np.zeros((2, 2))}, "one column of numbers; got 2 dimensions"),
    ],
)
def test_bad_public_input_gets_a_clear_error(arguments: dict[str, Any], message: str) -> None:
    given_: dict[str, Any] = {"values": [1.0, 2.0], "budgets": 0.1} | arguments
    with pytest.raises(InvalidInputError, match=message):
        estimate_range(given_.pop("values"), given_.pop("budgets"), **given_)
