"""Algorithm 8, PDPMeanEstimationUnknownPrivacy: buckets, noisy sizes, samples, and the mean that comes of them."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statistical.laws import (
    assert_accepts_and_rejects,
    chi_square,
    discrete_laplace_size_cdf,
    kolmogorov,
)

from pdpmean import InvalidInputError, Randomness, lower_bound
from pdpmean.paper import mean_unbounded
from pdpmean.paper.mean_unbounded import bucket_counts, bucket_ends, bucket_of, sample_or_pad

LARGEST = float(np.finfo(np.float64).max)


def mean(values: Any, budgets: Any, budget_range: tuple[float, float] = (0.1, 1.0), *, seed: int = 0) -> float:
    return mean_unbounded(values, budgets, budget_range=budget_range, randomness=Randomness.seeded(seed))


# Buckets.


@pytest.mark.parametrize(
    ("budget_range", "lefts"),
    [
        ((0.1, 1.0), [0.1, 0.2, 0.4, 0.8]),  # T = 10: floor(log2 10) + 1 = 4
        ((1.0, 1.0), [1.0]),  # T = 1: log2 is 0, and there is one bucket
        ((1.0, 1.99), [1.0]),
        ((1.0, 2.0), [1.0, 2.0]),  # the last one holds eps_max alone
        ((0.75, 6.0), [0.75, 1.5, 3.0, 6.0]),
        ((0.75, math.nextafter(6.0, 0.0)), [0.75, 1.5, 3.0]),
        ((2.0**-20, 2.0**-19), [2.0**-20, 2.0**-19]),
    ],
)
def test_bucket_ends(budget_range: tuple[float, float], lefts: list[float]) -> None:
    assert bucket_ends(budget_range).tolist() == lefts


def test_the_widest_range_has_a_bucket_for_every_power_of_two() -> None:
    assert bucket_ends((2.0**-20, LARGEST)).tolist() == [2.0**power for power in range(-20, 1024)]
    assert bucket_ends((1.9, LARGEST)).size == 1024  # 1.9 * 2**1023 is below 2**1024


def test_bucket_of() -> None:
    lefts = bucket_ends((0.1, 1.0))
    budgets = [0.0999, 0.1, 0.1999, 0.2, 0.5, 0.8, 1.0, 5.0, math.inf, 0.0, -1.0, math.nan, -math.inf]
    assert bucket_of(np.array(budgets), lefts).tolist() == [-1, 0, 0, 1, 2, 3, 3, 3, 3, -1, -1, -1, -1]


@given(st.floats(2.0**-20, 1e3), st.floats(1, 1e6), st.floats())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_no_budget_is_rounded_up(low: float, ratio: float, budget: float) -> None:
    lefts = bucket_ends((low, low * ratio))
    (bucket,) = bucket_of(np.array([budget]), lefts).tolist()
    if bucket >= 0:
        assert lefts[bucket] <= budget
        assert bucket == lefts.size - 1 or budget < lefts[bucket + 1]
    else:
        assert not budget >= low


# Sizes.


def test_noise_on_the_sizes_has_scale_2_over_the_left_end() -> None:
    # Half a budget for counting: loss left/2 for a change of 1 (docs/errata.md, 3).
    left, size, beta = 0.05, 10_000, 0.5
    offset = math.ceil(2 / left * math.log(2 / beta))

    def sample(scaled: float) -> list[int]:
        randomness = Randomness.seeded(4)
        lefts = np.array([left / scaled])
        shift = math.ceil(2 * scaled / left * math.log(2 / beta))
        return [
            abs(bucket_counts([size], lefts, beta=beta, randomness=randomness)[0] - size + shift) for _ in range(4_000)
        ]

    assert offset == 56
    size_cdf = discrete_laplace_size_cdf(2 / left)
    assert_accepts_and_rejects(
        lambda drawn: kolmogorov(drawn, size_cdf),
        sample(1.0),
        {"scale * 0.7": sample(0.7), "scale * 1.3": sample(1.3)},
    )


def test_sizes_are_too_small_but_for_a_probability_of_half_beta() -> None:
    lefts, beta, runs = bucket_ends((0.1, 1.0)), 0.2, 500
    sizes = [500, 0, 30, 2]
    failures = 0
    for seed in range(runs):
        counts = bucket_counts(sizes, lefts, beta=beta, randomness=Randomness.seeded(seed))
        assert all(isinstance(count, int) and count >= 0 for count in counts)
        failures += any(count > size for count, size in zip(counts, sizes, strict=True))
    assert failures <= binom.isf(1e-6, runs, beta / 2)


# Samples.


def test_every_subset_is_as_likely_and_in_any_order() -> None:
    values, randomness = np.array([1.0, 2.0, 3.0, 4.0]), Randomness.seeded(1)
    drawn = [tuple(sample_or_pad(values, 2, randomness=randomness).tolist()) for _ in range(3_000)]
    law = dict.fromkeys(itertools.permutations(values.tolist(), 2), 1 / 12)
    assert chi_square(drawn, law) > 1e-9


@pytest.mark.parametrize("size", [0, 1, 3, 4, 9])
def test_too_few_values_are_made_up_with_missing_ones(size: int) -> None:
    values = np.array([1.0, 2.0, 3.0])
    drawn = sample_or_pad(values, size, randomness=Randomness.seeded(1))
    assert drawn.size == size
    present = drawn[~np.isnan(drawn)]
    assert present.size == min(size, 3)
    assert set(present.tolist()) <= {1.0, 2.0, 3.0}
    assert np.unique(present).size == present.size
    assert np.isnan(sample_or_pad(np.array([]), size, randomness=Randomness.seeded(1))).all()


# The mean.


def test_almost_without_noise_almost_the_plain_mean() -> None:
    # At budgets of 2**30 no noise is left; of 100 records the offset, rounded up, takes one away at random.
    values = np.tile([0.0, 3.0], 50)
    found = {mean(values, 2.0**30, (2.0**30, 2.0**30), seed=seed) for seed in range(30)}
    assert all(
        min(abs(number - 150 / 99), abs(number - 147 / 99)) < 1e-5 for number in found
    )  # a 0 or a 3 was left out
    assert len({round(number, 3) for number in found}) == 2


@pytest.mark.parametrize("values", [[], [5.0], [math.nan]])
def test_few_records_leave_nobody(values: list[float]) -> None:
    # Noise exceeds the offset with probability beta / (4 buckets) or so: not at these seeds.
    for seed in range(5):
        assert math.isnan(mean(values, 0.5, seed=seed))


@pytest.mark.parametrize("divisor", [2, 4])
@pytest.mark.parametrize(("center", "deviation"), [(0.0, 1.0), (-1e9, 5.0), (1e250, 1e249), (7.0, 1e-6)])
def test_errors_are_a_small_multiple_of_the_lower_bound(divisor: Any, center: float, deviation: float) -> None:
    size, runs = 20_000, 20
    generator = np.random.default_rng(1)
    budgets = generator.uniform(0.2, 1.0, size)
    errors = [
        abs(
            mean_unbounded(
                generator.normal(center, deviation, size),
                budgets,
                budget_range=(0.1, 1.0),
                divisor=divisor,
                randomness=Randomness.seeded(seed),
            )
            - center
        )
        for seed in range(runs)
    ]
    assert np.quantile(errors, 0.75) <= 30 * lower_bound(budgets, deviation, model="unbounded")


def test_the_printed_divisor_costs_accuracy() -> None:
    # Half the budget for the mean gives about twice the noise (docs/errata.md, 11).
    values = np.random.default_rng(2).normal(0, 1, 4_000)

    def error(divisor: Any) -> float:
        found = [
            mean_unbounded(values, 0.5, budget_range=(0.5, 0.5), divisor=divisor, randomness=Randomness.seeded(seed))
            for seed in range(200)
        ]
        return float(np.quantile(np.abs(np.array(found) - values.mean()), 0.75))

    assert error(4) > 1.3 * error(2)


def test_secure_randomness_is_the_default() -> None:
    values = np.random.default_rng(4).normal(100, 10, 10_000)
    first, second = (mean_unbounded(values, 1.0, budget_range=(0.5, 1.0)) for _ in range(2))
    assert first != second
    assert first == pytest.approx(100, abs=20)


def test_the_widest_range_works_with_secure_randomness() -> None:
    # 1044 buckets; the noise of the last ones has a scale far below 1.
    values = np.random.default_rng(4).normal(100, 10, 2_000)
    assert math.isfinite(mean_unbounded(values, 4.0, budget_range=(1.0, LARGEST)))


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        lambda values: np.array(values, dtype=np.float32),
        lambda values: np.array(values, object),
    ],
    ids=["list", "tuple", "array", "float32", "objects"],
)
def test_columns_of_any_kind(make: Any) -> None:
    values, budgets = list(range(500)), [0.5] * 500
    assert mean(make(values), make(budgets)) == mean(values, budgets) == mean(np.arange(500), 0.5)


# Whom it listens to.


@pytest.mark.parametrize("budget", [0.0, 0.0999, -0.3, math.nan, -math.inf, None, "much", 5e-324])
def test_a_budget_below_the_range_or_none_at_all_leaves_its_record_out(budget: Any) -> None:
    generator = np.random.default_rng(5)
    values, budgets = generator.normal(3, 2, 800).tolist(), generator.uniform(0.1, 1, 800).tolist()
    for seed in range(3):
        without = mean(values, budgets, seed=seed)
        for hostile in (0.0, 1e308, -math.inf, math.nan, None):
            assert mean([*values, hostile], [*budgets, budget], seed=seed) == without


@pytest.mark.parametrize("budget", [1.0, 3.0, 1e300, math.inf])
def test_a_budget_above_the_range_counts_as_its_upper_end(budget: float) -> None:
    values = np.random.default_rng(6).normal(3, 2, 800)
    budgets = np.full(800, 1.0)
    expected = mean(values, budgets)
    budgets[:100] = budget
    assert mean(values, budgets) == expected


def test_one_number_is_everybodys_budget() -> None:
    values = np.random.default_rng(7).normal(3, 2, 800)
    assert mean(values, 0.5) == mean(values, [0.5] * 800)
    assert math.isnan(mean(values, 0.0))
    assert math.isnan(mean(values, math.nan))


# Hostile values and budgets: both are private here.

hostile = (
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
    | st.sampled_from([LARGEST, -LARGEST, 5e-324, 2.0**1023, 2.0**60, 0.0, 0.5, 1.0])
    | st.integers(-(10**20), 10**20)
    | st.none()
    | st.text(max_size=2)
)


@given(
    st.lists(st.tuples(hostile, hostile), max_size=40),
    st.sampled_from([(0.5, 1.0), (30.0, 100.0), (2.0**20, 2.0**30)]),
    st.integers(0, 2),
)
@example([(1e300, 2.0**25)] * 40, (2.0**20, 2.0**30), 0)
@example([(5.0, math.inf)] * 40, (2.0**20, 2.0**30), 1)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_whatever_the_records_a_number_comes_back(
    records: list[tuple[Any, Any]], budget_range: tuple[float, float], seed: int
) -> None:
    values, budgets = [value for value, _ in records], [budget for _, budget in records]
    assert isinstance(mean(values, budgets, budget_range, seed=seed), float)


@pytest.mark.parametrize(
    "entry",
    [{}, object(), 10**400, [1, 2], (0.5,), np.zeros(2)],
    ids=["dict", "object", "10**400", "list", "tuple", "array"],
)
def test_an_entry_that_is_no_budget_raises_nothing(entry: Any) -> None:
    assert math.isnan(mean([1.0, 2.0], [0.5, entry]))


# Input.


class Unreadable:
    """A column that must not be looked at."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise AssertionError("a column was read")

    def __iter__(self) -> Any:
        raise AssertionError("a column was read")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 0.0}, "beta must lie strictly between 0 and 1; got 0.0"),
        ({"beta": 1.5}, "beta must lie strictly between 0 and 1; got 1.5"),
        ({"beta": math.nan}, "beta must lie strictly between 0 and 1; got nan"),
        ({"budget_range": (1.0, 0.5)}, r"0 < smallest <= largest < inf; got \(1.0, 0.5\)"),
        ({"budget_range": (0.0, 0.5)}, r"got \(0.0, 0.5\)"),
        ({"budget_range": (0.1, math.inf)}, r"got \(0.1, inf\)"),
        ({"budget_range": (math.nan, 1.0)}, "budget_range must be"),
        ({"budget_range": ()}, r"budget_range must be .*; got \(\)"),
        ({"budget_range": (1.0,)}, "budget_range must be"),
        ({"budget_range": (1.0, 2.0, 3.0)}, "budget_range must be"),
        ({"budget_range": None}, "budget_range must be"),
        ({"budget_range": 0.5}, "budget_range must be"),
        ({"budget_range": ("a", "b")}, "budget_range must be"),
        ({"budget_range": (2.0**-21, 1.0)}, r"must start at 2\*\*-20 or above"),
        ({"divisor": 3}, "divisor must be 2 or 4; got 3"),
        ({"divisor": 1}, "divisor must be 2 or 4; got 1"),
        ({"divisor": math.nan}, "divisor must be 2 or 4; got nan"),
    ],
)
def test_bad_public_input_is_refused_before_a_record_is_read(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        mean_unbounded(Unreadable(), Unreadable(), **{"budget_range": (0.1, 1.0)} | options)


@pytest.mark.parametrize(("values", "budgets"), [(7, 8), (1, 0), (0, 1), (1000, 999)])
def test_lengths_that_differ_are_refused_without_telling_them(values: int, budgets: int) -> None:
    with pytest.raises(InvalidInputError, match="their lengths differ") as caught:
        mean([0.5] * values, [0.5] * budgets)
    assert re.search(r"\d", str(caught.value)) is None
    assert caught.value.value is None
