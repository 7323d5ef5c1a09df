"""Algorithm 1, SVT: known answers, the accuracy of Lemma 6, the law of the noise, and the end of the sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import overload

import pytest
from exact.enumeration import laplace_above, laplace_mass, law
from scipy.stats import binom
from statistical.laws import assert_accepts_and_rejects, chi_square

from pdpmean import InvalidInputError, Randomness
from pdpmean.paper import sparse_vector


class Unreadable(Sequence[int]):
    """Queries that must not be looked at."""

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...
    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        raise AssertionError("a query was read")

    def __len__(self) -> int:
        raise AssertionError("the queries were counted")


# Without noise: the definition, "the first query above the threshold", read off by eye.


@pytest.mark.parametrize(
    ("queries", "threshold", "expected"),
    [
        ([1, 2, 3, 3, 5], 3, 4),  # 3 is not above 3
        ([1, 2, 3, 3, 5], 2.5, 2),
        ([7], 3, 0),
        ([7, 8, 9], 3, 0),
        ([-5, -4, -4], -4.5, 1),
        ([0, 2**200, 0], 2**199, 1),  # integers of any size
        ([-(2**200), 0], -1, 1),
        ([0, 0, 0], 0, 2),  # none passes: the last
        ([0], 10, 0),
    ],
)
def test_without_noise_the_first_query_above_the_threshold(queries: list[int], threshold: float, expected: int) -> None:
    assert sparse_vector(queries, threshold=threshold, budget=math.inf) == expected


@pytest.mark.parametrize("budget", [2.0**-50, 1e-3, 1.0, 2.0**40, math.inf])
def test_far_from_the_threshold_noise_changes_nothing(budget: float) -> None:
    # Noise beyond 2**60 has probability exp(-128) at the smallest budget, whose largest scale is 2**53.
    for seed in range(20):
        randomness = Randomness.seeded(seed)
        assert sparse_vector([-(2**60), 2**60], threshold=0, budget=budget, randomness=randomness) == 1
        assert sparse_vector([-(2**60)] * 30, threshold=0, budget=budget, randomness=randomness) == 29


def test_secure_randomness_is_the_default() -> None:
    assert sparse_vector([-(10**6), 10**6], threshold=0, budget=1.0) == 1


def test_the_same_seed_gives_the_same_index() -> None:
    queries = list(range(-50, 50))
    indices = [
        sparse_vector(queries, threshold=0, budget=0.5, randomness=Randomness.seeded(seed)) for seed in range(30)
    ]
    assert indices == [
        sparse_vector(queries, threshold=0, budget=0.5, randomness=Randomness.seeded(seed)) for seed in range(30)
    ]
    assert len(set(indices)) > 5


def test_sensitivity_and_budget_enter_as_their_ratio() -> None:
    queries = list(range(-50, 50))
    for seed in range(50):
        once = sparse_vector(queries, threshold=0, budget=0.5, randomness=Randomness.seeded(seed))
        twice = sparse_vector(queries, threshold=0, budget=1.0, sensitivity=2, randomness=Randomness.seeded(seed))
        assert once == twice


# With noise.


def test_accuracy_of_lemma_6() -> None:
    # Lemma 6 with k1 = 30 and k2 = 61: the first 30 queries lie 8/eps ln(4 k1/beta) below the threshold, the
    # 61st lies 6/eps ln(2/beta) above it. Then, but for a probability of beta, the index is after the first 30
    # and the query returned is at least the threshold less 6/eps ln(2 k2/beta).
    budget, beta, threshold, runs = 0.5, 0.1, 1000, 200
    low = threshold - math.ceil(8 / budget * math.log(4 * 30 / beta))
    high = threshold + math.ceil(6 / budget * math.log(2 / beta))
    queries = [low] * 30 + [low + (high - low) * step // 31 for step in range(1, 32)] + [low] * 10
    assert queries[60] == high
    floor = threshold - 6 / budget * math.log(2 * 61 / beta)
    failures = 0
    for seed in range(runs):
        index = sparse_vector(queries, threshold=threshold, budget=budget, randomness=Randomness.seeded(seed))
        failures += index < 30 or queries[index] < floor
    assert failures <= binom.isf(1e-6, runs, beta)


def exact_law(queries: list[int], budget: float) -> dict[int, float]:
    """Algorithm 1 as printed, at threshold 0: noise of scale 2/eps on the threshold and 4/eps on every query."""
    found = dict.fromkeys(range(len(queries)), 0.0)
    for threshold in range(-100, 101):
        running = laplace_mass(threshold, 2 / budget)
        for index, query in enumerate(queries[:-1]):
            passes = laplace_above(threshold - query, 4 / budget)
            found[index] += running * passes
            running *= 1 - passes
        found[len(queries) - 1] += running
    return found


def test_the_law_of_the_index() -> None:
    # Noise 0.7 or 1.3 times as large is rejected.
    queries = [-6, -2, 1, 4, 40]

    def sample(budget: float) -> list[int]:
        randomness = Randomness.seeded(5)
        return [sparse_vector(queries, threshold=0, budget=budget, randomness=randomness) for _ in range(12_000)]

    exact = exact_law(queries, 2.0)
    assert_accepts_and_rejects(
        lambda drawn: chi_square(drawn, exact),
        sample(2.0),
        {"scale * 0.7": sample(2.0 / 0.7), "scale * 1.3": sample(2.0 / 1.3)},
    )


@pytest.mark.parametrize(
    "threshold",
    [
        -(2.0**-60),  # in doubles, -(2.0**-60) + 1 would be 1, which an integer exceeds from 2 on
        -0.25,
        0.75,
        -6 * math.log(40) - 0.5,
    ],
)
def test_a_threshold_between_integers_acts_as_the_integer_below_it(threshold: float) -> None:
    # An integer is above t exactly when it is above floor(t), whatever integer of noise is added to t.
    queries = list(range(math.floor(threshold) - 40, math.floor(threshold) + 40))
    for seed in range(200):
        index = sparse_vector(queries, threshold=threshold, budget=0.5, randomness=Randomness.seeded(seed))
        below = math.floor(threshold)
        assert index == sparse_vector(queries, threshold=below, budget=0.5, randomness=Randomness.seeded(seed))


@pytest.mark.parametrize("queries", [[0, 0], [-6, -2, 1, 4, 40], [-1] * 6])
def test_the_law_of_the_code_is_the_law_of_the_algorithm(queries: list[int]) -> None:
    # The shipped code, enumerated over all its noise, against the printed algorithm.
    shipped = dict(law(lambda r: sparse_vector(queries, threshold=0, budget=1.5, randomness=r)).items())
    assert shipped == pytest.approx(exact_law(queries, 1.5), abs=1e-12)


# Input.


@pytest.mark.parametrize("budget", [0.0, -1.0, 2.0**-51, math.nan, -math.inf])
def test_a_bad_budget_is_refused_before_a_query_is_read(budget: float) -> None:
    with pytest.raises(InvalidInputError, match=r"budget must be at least 2\*\*-50; got"):
        sparse_vector(Unreadable(), threshold=0, budget=budget)
