"""Algorithm 3, ADPM: known means, the integer argument behind its privacy, and the scale of its noise."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statistical.laws import assert_accepts_and_rejects, discrete_laplace_size_cdf, kolmogorov

from pdpmean import InvalidInputError, Randomness
from pdpmean.core.checks import check_budgets
from pdpmean.core.integers import STEPS, WEIGHT_BITS, from_words, steps_of, steps_per_unit, words_of
from pdpmean.paper import adpm, saturation
from pdpmean.passes import summing

inside: Any = importlib.import_module("pdpmean.paper.adpm")
LARGEST = float(np.finfo(np.float64).max)
STEP = 2.0**-24  # of half the interval: what a value is rounded to


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Randomness, "add_laplace", lambda _self, value, _scale: value)


# With infinite budgets the answer is the plain mean of the clipped values, to a step of half the interval.


@pytest.mark.parametrize(
    ("values", "lower", "upper", "expected"),
    [
        ([0, 1, 2, 5], 0, 8, 2.0),
        ([-100, 100, 4], 0, 8, 4.0),  # clipped to 0, 8, 4
        ([-math.inf, math.inf, 4], 0, 8, 4.0),
        ([math.nan, 8], 0, 8, 6.0),  # a missing value counts as the middle
        ([None, 8], 0, 8, 6.0),
        ([7], 0, 8, 7.0),
        ([-3, -3, -3], -4, -2, -3.0),
        ([2**60, 2**61], 2**60, 2**61, 1.5 * 2**60),  # integers beyond 2**53
        ([10**400, 0], 0, 8, 4.0),
        ([LARGEST, -LARGEST], -LARGEST, LARGEST, 0.0),
        ([LARGEST], -LARGEST, LARGEST, LARGEST),
        ([2.0**-1074, 2.0**-1000], 0, 2.0**-1000, 2.0**-1001),  # subnormal values
    ],
)
def test_without_noise_the_mean_of_the_clipped_values(values: Any, lower: float, upper: float, expected: float) -> None:
    found = adpm(values, math.inf, lower=lower, upper=upper)
    assert found == pytest.approx(expected, rel=0, abs=STEP * (upper / 2 - lower / 2))


@pytest.mark.parametrize(
    "values",
    [[1, 2, 6], (1.0, 2.0, 6.0), np.array([1, 2, 6]), np.array([1, 2, 6], dtype=np.float32), range(1, 4)],
    ids=str,
)
def test_columns_of_any_kind(values: Any) -> None:
    expected = 2.0 if isinstance(values, range) else 3.0
    assert adpm(values, [math.inf] * 3, lower=0, upper=8) == expected


@pytest.mark.usefixtures("no_noise")
def test_weights_are_the_saturated_budgets() -> None:
    # tau_1 = 9 and 3 < 9, so the weights are 1 and 3: (1 * 0 + 3 * 8)/4.
    assert adpm([0, 8], [1, 3], lower=0, upper=8) == 6.0
    # tau = 5 (test_saturation.py): weights 1, 1, 5, 5, so (5 * 12 + 5 * 12)/12. Public records count as tau too.
    assert adpm([0, 0, 12, 12], [1, 1, 100, 100], lower=0, upper=16) == pytest.approx(10.0, abs=8 * STEP)
    assert adpm([0, 0, 12, 12], [1, 1, 100, math.inf], lower=0, upper=16) == pytest.approx(10.0, abs=8 * STEP)
    # A budget of 0 has no weight; one number is everybody's budget.
    assert adpm([0, 8, 2], [1, 1, 0], lower=0, upper=8) == 4.0
    assert adpm([0, 8, 4], 0.7, lower=0, upper=8) == 4.0


@pytest.mark.parametrize("budgets", [0.0, [0.0, 0.0], [2.0**-41, 0.0]])
def test_nobody_grants_anything(budgets: Any) -> None:
    assert math.isnan(adpm([1.0, 2.0], budgets, lower=0, upper=8))
    assert math.isnan(adpm([], [], lower=0, upper=8))


# Privacy, in integers. `docs/guarantee.md` has the argument; the exact losses are in tests/exact/.

some_budgets = st.lists(
    st.floats(0, 4) | st.floats(2.0**-40, 2.0**40) | st.sampled_from([0.0, 1e-300, 1e300, math.inf]),
    min_size=1,
    max_size=30,
)


@given(some_budgets)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_no_integer_weight_exceeds_its_budget(budgets: list[float]) -> None:
    granted = check_budgets(budgets)
    weights, scale = inside._integer_weights(granted)
    if scale == 0:
        assert not np.isfinite(granted[weights > 0]).any()
        return
    unit = Fraction(scale) / (2 * STEPS)  # 2**q
    tau = saturation(granted).tau
    for weight, budget in zip(weights.tolist(), budgets, strict=True):
        if math.isfinite(budget):
            # Replacing the record moves the sum by 2 H W at most, and the noise has scale 2 H 2**q.
            assert Fraction(2 * STEPS * weight) / Fraction(scale) <= Fraction(budget)
        assert weight <= Fraction(tau) * unit
        tamed = min(budget, 2.0**40) if budget >= 2.0**-40 else 0.0
        assert weight > Fraction(min(tamed, tau)) * unit - 1  # and no weight is given away
    assert 0 < scale <= 2.0**60


def test_the_largest_sums_do_not_overflow() -> None:
    # 3 blocks and a remainder of the largest weight (2**26 - 1) at the largest step (2**24), signs mixed.
    size = 3 * summing._BLOCK + 17
    weights = np.full(size, 2**WEIGHT_BITS - 1, dtype=np.int64)
    ones = np.ones(size, dtype=np.int64)
    for signs in (ones, -ones, np.where(np.arange(size) < 5000, 1, -1)):
        steps = signs * STEPS
        expected = sum(weight * step for weight, step in zip(weights.tolist(), steps.tolist(), strict=True))
        assert from_words(*(int(words.sum()) for words in words_of(weights * steps))) == expected
    assert summing._BLOCK * (2**WEIGHT_BITS - 1) * STEPS < 2**63


def test_weights_stay_within_their_bits() -> None:
    for budget in [2.0**-40, 2.0**-9, 1 - 2.0**-53, 1.0, math.nextafter(1.0, 2.0), 7.3, 2.0**40]:
        weights, _ = inside._integer_weights(check_budgets([budget] * 1000))
        assert weights.max() < 2**WEIGHT_BITS
        assert weights.max() >= 2 ** (WEIGHT_BITS - 1) or budget < 2.0**-9


@given(st.floats(), st.floats(-1e300, 1e300), st.floats(1e-300, 1e300))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_every_value_becomes_a_step_within_the_interval(value: float, middle: float, half: float) -> None:
    (step,) = steps_of(np.array([value]), middle, *steps_per_unit(half)).tolist()
    assert abs(step) <= STEPS
    if math.isnan(value):
        assert step == 0


# The noise.


def test_the_noise_has_scale_width_over_budget() -> None:
    # One record of weight W: noise of scale 2 H 2**q on W z, so (upper - lower)/eps in the result. Lemma 11.
    budget, lower, upper, draws = 0.3, -1.0, 3.0, 4_000
    fine = 2.0**30  # the result in whole units of 2**-30

    def sample(granted: float) -> list[int]:
        randomness = Randomness.seeded(8)
        return [
            abs(round((adpm([1.0], granted, lower=lower, upper=upper, randomness=randomness) - 1.0) * fine))
            for _ in range(draws)
        ]

    size_cdf = discrete_laplace_size_cdf((upper - lower) / budget * fine)
    assert_accepts_and_rejects(
        lambda drawn: kolmogorov(drawn, size_cdf),
        sample(budget),
        {"scale * 0.7": sample(budget / 0.7), "scale * 1.3": sample(budget / 1.3)},
    )


def test_the_noise_is_centred_and_shrinks_with_the_total_weight() -> None:
    # 100 records of budget 0.5: scale 4/(100 * 0.5) = 0.08, standard deviation 0.08 sqrt 2.
    values, deviation, draws = np.full(100, 2.5), 0.08 * math.sqrt(2), 2_000
    randomness = Randomness.seeded(9)
    drawn = [adpm(values, 0.5, lower=0, upper=4, randomness=randomness) for _ in range(draws)]
    assert np.mean(drawn) == pytest.approx(2.5, abs=5 * deviation / math.sqrt(draws))
    assert np.std(drawn) == pytest.approx(deviation, rel=0.1)  # 5 standard errors: 1/sqrt(2000) * sqrt(5)/2 each


def test_noise_beyond_the_doubles_is_cut_to_the_largest_one() -> None:
    drawn = [adpm([0.0], 1e-6, lower=-LARGEST, upper=LARGEST, randomness=Randomness.seeded(seed)) for seed in range(40)]
    assert {abs(number) for number in drawn} == {LARGEST}


@pytest.mark.parametrize("power", [-900, -3, 1, 900])
def test_powers_of_two_scale_the_answer_bit_for_bit(power: int) -> None:
    values, budgets = np.random.default_rng(1).normal(3, 2, 200), np.linspace(0, 2, 200)
    for seed in range(20):
        found = adpm(values, budgets, lower=-1, upper=7, randomness=Randomness.seeded(seed))
        scaled = adpm(
            values * 2.0**power,
            budgets,
            lower=-(2.0**power),
            upper=7 * 2.0**power,
            randomness=Randomness.seeded(seed),
        )
        assert scaled == found * 2.0**power


def test_a_shift_shifts_the_answer() -> None:
    values = np.random.default_rng(2).normal(3, 2, 200).round(3)
    for seed in range(20):
        found = adpm(values, 0.4, lower=-1, upper=7, randomness=Randomness.seeded(seed))
        moved = adpm(values - 4096, 0.4, lower=-4097, upper=-4089, randomness=Randomness.seeded(seed))
        assert moved + 4096 == pytest.approx(found, rel=0, abs=4 * STEP)


def test_a_zero_budget_has_no_influence_and_an_infinite_one_does() -> None:
    def mean(first: float, budget: float) -> float:
        values, budgets = [first, 1.0, 2.0, 3.0], [budget, 0.5, 1.0, 2.0]
        return adpm(values, budgets, lower=0, upper=8, randomness=Randomness.seeded(4))

    for value in [0.0, 8.0, -math.inf, math.nan, 1e308]:
        assert mean(value, 0.0) == mean(5.0, 0.0)
        assert mean(value, 1e-300) == mean(5.0, 1e-300)
    assert mean(0.0, math.inf) < mean(8.0, math.inf)


@given(
    st.lists(st.floats() | st.sampled_from([LARGEST, -LARGEST, 5e-324]), min_size=1, max_size=20),
    st.sampled_from([(0.0, 8.0), (-LARGEST, LARGEST), (1e300, 1.1e300), (-(2.0**-1000), 2.0**-1000)]),
    st.sampled_from([2.0**-30, 0.5, 2.0**40, math.inf]),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_whatever_the_values_a_number_comes_back(
    values: list[float], interval: tuple[float, float], budget: float
) -> None:
    found = adpm(values, budget, lower=interval[0], upper=interval[1], randomness=Randomness.seeded(1))
    assert isinstance(found, float)
    assert math.isfinite(found)


@pytest.mark.parametrize("value", [0.0, 1.0, math.nan, -math.inf])
def test_the_narrowest_interval_is_an_interval(value: float) -> None:
    assert abs(adpm([value] * 3, math.inf, lower=0.0, upper=5e-324)) <= 5e-324


# Input.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lower": 8, "upper": 8}, "lower < upper; got 8 and 8"),
        ({"lower": 9, "upper": 8}, "lower < upper; got 9 and 8"),
        ({"lower": -math.inf}, "must be finite"),
        ({"upper": math.inf}, "must be finite"),
        ({"upper": math.nan}, "must be finite"),
        ({"budgets": [0.1, -0.3]}, "budgets must be >= 0; record 1 has -0.3"),
        ({"budgets": [0.1, math.nan]}, "record 1 is empty"),
        ({"budgets": -1.0}, "budgets must be >= 0; got -1"),
        ({"budgets": [0.1, 0.2, 0.3]}, "got 2 values and 3 budgets"),
        ({"budgets": [[0.1, 0.2]]}, "2 dimensions"),
        ({"values": 5.0}, "one column of numbers; got 0 dimensions"),
        ({"values": np.zeros((2, 1))}, "got 2 dimensions"),
        ({"values": np.array(["a", "b"])}, "values must be numbers"),
    ],
)
def test_bad_public_input_gets_a_clear_error(arguments: dict[str, Any], message: str) -> None:
    given_: dict[str, Any] = {"values": [1.0, 2.0], "budgets": 0.1, "lower": 0.0, "upper": 8.0} | arguments
    with pytest.raises(InvalidInputError, match=message):
        adpm(given_.pop("values"), given_.pop("budgets"), **given_)
