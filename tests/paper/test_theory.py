"""The paper's bounds: known values, exact probabilities by enumeration, and the numbers of its theorems."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from pdpmean.errors import InvalidInputError
from pdpmean.paper import theory
from pdpmean.paper.saturation import saturation
from pdpmean.paper.theory import lower_bound, ratio_bound, required_records, two_stage_bound, upper_bound

Floats = NDArray[np.float64]

some_budgets = st.lists(st.floats(1e-6, 5) | st.sampled_from([0.0, math.inf]), max_size=30)


# Theorems 9 and 12, the printed lower bound.


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        # n = 1: only k = 1, which is 1 / (sqrt 2 eps).
        (0.5, 1 / (math.sqrt(2) * 0.5)),
        ([0.5], math.sqrt(2)),
        # n = 2: k = 1 gives 0.1 + 2 = 2.1 below the root, k = 2 gives 0.1 + 0.3 = 0.4.
        ([0.3, 0.1], 1 / (math.sqrt(2) * 0.4)),
        # n = 2 with a public record: k = 2 gives 0, so k = 1 with 0.1 + 2.
        ([math.inf, 0.1], 1 / (math.sqrt(2) * 2.1)),
        # 100 of 1: k = 1 gives 1 + 2 sqrt(99) = 20.9, k = 100 gives 100.
        ([1.0] * 100, 1 / (math.sqrt(2) * (1 + 2 * math.sqrt(99)))),
        # Everybody public: the printed maximum starts at k = 1, where the sum is infinite already.
        ([math.inf] * 9, 0.0),
        ([], math.inf),
        (0.0, math.inf),
        ([0.0] * 7, math.inf),
    ],
)
def test_printed_lower_bound_known_values(budgets: Any, expected: float) -> None:
    assert lower_bound(budgets) == pytest.approx(expected, rel=1e-12)
    assert lower_bound(budgets, sigma=2.5) == pytest.approx(2.5 * expected, rel=1e-12)


@given(some_budgets)
@settings(max_examples=100, deadline=None)
def test_printed_lower_bound_is_the_largest_over_k(budgets: list[float]) -> None:
    ascending = sorted(budgets)
    terms = [
        math.inf if below == 0 else 1 / (math.sqrt(2) * below)
        for k in range(1, len(budgets) + 1)
        for below in [sum(ascending[:k]) + 2 * math.sqrt(len(budgets) - k)]
    ]
    assert lower_bound(budgets) == pytest.approx(max(terms, default=math.inf), rel=1e-12)
    assert lower_bound(budgets[::-1]) == lower_bound(budgets)


# Theorem 11, the upper bound.


def test_upper_bound_without_saturation_by_hand() -> None:
    # 10 000 of 0.1: W = 1000, sum of squares 100, tau = 108/1000 = 0.108 (no budget reaches it, so k = n).
    # W/(beta tau) = 185 185.2, ln ln of that 2.4957, over beta 49.914, ln 3.9103; ln(1/beta) = 2.9957;
    # sqrt(108) = 10.3923; ln W = 6.9078. Sum: 6.9078/1000 * (3.9103 + 10.3923 * 2.9957) = 0.24207.
    budgets = [0.1] * 10_000
    assert saturation(budgets).k == 10_000
    assert saturation(budgets).tau == pytest.approx(0.108)
    assert upper_bound(budgets) == pytest.approx(0.24207, abs=5e-6)
    assert upper_bound(budgets, 3.0, constant=2.0) == pytest.approx(6 * upper_bound(budgets), rel=1e-12)


def test_upper_bound_with_saturation_by_hand() -> None:
    # 1000 of 0.1 and 100 of 1: tau = (10 + 8)/100 = 0.18 at k = 1000, W = 100 + 18 = 118,
    # Q = 10 + 100 * 0.0324 + 8 = 21.24. W/(0.1 tau) = 6555.56, ln ln of that 2.173395, over beta 21.73395,
    # ln 3.078876; ln 10 = 2.302585; sqrt(Q) = 4.608687; ln W = 4.770685.
    # Sum: 4.770685/118 * (3.078876 + 4.608687 * 2.302585) = 0.553511.
    budgets = [1.0] * 100 + [0.1] * 1000
    assert upper_bound(budgets, beta=0.1) == pytest.approx(0.553511, abs=1e-6)
    # More than tau is worth nothing more (beyond saturation every budget counts as tau).
    assert upper_bound([math.inf] * 100 + [0.1] * 1000, beta=0.1) == upper_bound(budgets, beta=0.1)


@pytest.mark.parametrize("nobody_or_everybody", [[], 0.0, [0.0] * 5, [math.inf] * 5, [0.0, math.inf]])
def test_upper_bound_is_infinite_where_the_expression_is(nobody_or_everybody: Any) -> None:
    assert upper_bound(nobody_or_everybody) == math.inf


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=30), st.floats(1e-6, 0.999))
@settings(max_examples=100, deadline=None)
def test_upper_bound_is_above_the_lower_bound(budgets: list[float], beta: float) -> None:
    # One is said to be attained and the other never undercut; constant 1 and logarithms >= 1 keep them in order.
    assert upper_bound(budgets, beta=beta) >= lower_bound(budgets)


# Theorems 11 and 13, the records they ask for.


def test_required_records_bounded_by_hand() -> None:
    # 10 000 of 0.1, beta 0.05: W/beta = 20 000, ln ln 2.29281, over beta 45.8562, ln 3.82551; times
    # ln 20 = 2.99573, over 0.1: 114.602.
    assert required_records([0.1] * 10_000) == 115
    assert required_records([0.1] * 10_000, constant=10) == 1147  # 1146.02, rounded up


def test_required_records_unbounded_by_hand() -> None:
    # As above, plus ln(buckets/0.05) / 0.1^1.5. [0.1, 1] takes floor(log2 10) + 1 = 4 buckets:
    # ln 80 = 4.38203, over 0.0316228: 138.572; and 138.572 + 114.602 = 253.174.
    budgets = [0.1] * 10_000
    assert required_records(budgets, model="unbounded", budget_range=(0.1, 1.0)) == 254
    # One bucket, where the printed floor(log2 1) = 0 would ask for ln 0: ln 20 / 0.1^1.5 = 94.733.
    assert required_records(budgets, model="unbounded", budget_range=(0.1, 0.1)) == 210


@pytest.mark.parametrize("model", ["bounded", "unbounded"])
def test_required_records_grow_with_confidence_and_shrink_with_budget(model: str) -> None:
    def required(budget: float, beta: float) -> int:
        return required_records([budget] * 500, beta=beta, model=model, budget_range=(0.001, 1.0))

    assert required(0.01, 0.001) > required(0.01, 0.05) > required(0.1, 0.05) > required(1.0, 0.05) > 1
    assert required_records([0.01] * 500, beta=0.05, model=model, budget_range=(0.001, 1.0)) >= 100
    assert required_records(math.inf, model=model, budget_range=(0.001, 1.0)) == 1


# Lemmas 18 and 19, sampling in two stages.


def exact_excess(values: Floats, rates: Floats, m: int, t: float) -> float:
    """P(T - m mu_T >= t, at least m kept), over all 2^n sets kept and all m-subsets of each."""
    expected = m * (rates @ values) / rates.sum()
    probability = 0.0
    for kept in itertools.product([False, True], repeat=values.size):
        drawn = [sum(some) for some in itertools.combinations(values[list(kept)], m)]
        if drawn:
            excess = np.mean(np.array(drawn) - expected >= t - 1e-12)
            probability += float(np.prod(np.where(kept, rates, 1 - rates)) * excess)
    return probability


def exact_ratio(values: Floats, rates: Floats, m: int, t: float) -> float:
    """P(m (mu_S - mu_T) >= t, at least one kept), over all 2^n sets kept."""
    expected = (rates @ values) / rates.sum()
    probability = 0.0
    for kept in itertools.product([False, True], repeat=values.size):
        if any(kept) and m * (values[list(kept)].mean() - expected) >= t - 1e-12:
            probability += float(np.prod(np.where(kept, rates, 1 - rates)))
    return probability


def test_sampling_bounds_hold_by_enumeration() -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        n = int(rng.integers(2, 8))
        values, rates = rng.choice([0.0, 0.1, 1.0], n) + rng.uniform(0, 0.2, n), rng.uniform(0.05, 1, n)
        for m, share in itertools.product((1, 2, n), (0.05, 0.3, 0.8)):
            t = share * m
            assert two_stage_bound(values, rates, m, t) >= exact_excess(values, rates, m, t)
            assert ratio_bound(values, rates, m, t) >= exact_ratio(values, rates, m, t)


def exact_excess_of_two_groups(sizes: tuple[int, int], rates: tuple[float, float], m: int, t: float) -> float:
    """The same probability for values 0 and 1 with one rate each: binomial sizes, then hypergeometric draws."""
    zeros, ones = (np.arange(size + 1) for size in sizes)
    chance = np.outer(stats.binom.pmf(zeros, sizes[0], rates[0]), stats.binom.pmf(ones, sizes[1], rates[1]))
    expected = m * sizes[1] * rates[1] / (sizes[0] * rates[0] + sizes[1] * rates[1])
    kept = zeros[:, None] + ones[None, :]
    needed = math.ceil(expected + t - 1e-9) - 1
    # Draws of m from too few are no excess; asking the law for m from m keeps it quiet there.
    tail = stats.hypergeom.sf(needed, np.maximum(kept, m), np.broadcast_to(ones, kept.shape), m)
    return float(np.sum(np.where(kept >= m, chance * tail, 0.0)))


def test_the_two_ways_to_the_exact_probability_agree() -> None:
    values, rates = np.array([0.0, 0, 0, 1, 1, 1, 1]), np.array([0.3] * 3 + [0.6] * 4)
    for m, t in ((1, 0.2), (2, 0.4), (3, 0.5)):
        assert exact_excess_of_two_groups((3, 4), (0.3, 0.6), m, t) == pytest.approx(
            exact_excess(values, rates, m, t), rel=1e-10
        )


@pytest.mark.parametrize(
    ("sizes", "rates"), [((200, 200), (0.9, 0.9)), ((200, 200), (1.0, 0.4)), ((380, 20), (0.5, 1.0))]
)
def test_two_stage_bound_holds_where_it_is_far_below_one(sizes: tuple[int, int], rates: tuple[float, float]) -> None:
    values, all_rates = np.repeat([0.0, 1.0], sizes), np.repeat(rates, sizes)
    bounds = []
    for m, share in itertools.product((20, 100, 180), (0.05, 0.1, 0.2, 0.4, 0.6)):
        bounds.append(two_stage_bound(values, all_rates, m, share * m))
        assert bounds[-1] >= exact_excess_of_two_groups(sizes, rates, m, share * m)
    assert min(bounds) < 0.05


def test_two_stage_bound_by_hand() -> None:
    # 1000 values, half 0 and half 1, all kept: mu_N = 1000, variance 1/4, width 1, eta = 1. With m = 100, t = 50:
    # 2500/(16*100*1000/4/1000 + 8/3*50) = 2500/533.33 = 4.6875; 2500*1000/(32*10^4/4 + 16/3*5000) = 23.4375.
    values = [0.0, 1.0] * 500
    expected = math.exp(-4.6875) + math.exp(-23.4375) + math.exp(-125)
    assert two_stage_bound(values, [1.0] * 1000, 100, 50.0) == pytest.approx(expected, rel=1e-12)
    # Ratio: 2500*1000/(8*10^4/4 + 4/3*5000) = 2.5e6/26666.67 = 93.75.
    expected = math.exp(-93.75) + math.exp(-125)
    assert ratio_bound(values, [1.0] * 1000, 100, 50.0) == pytest.approx(expected, rel=1e-12)


def test_ratio_is_the_second_stage_of_the_proof_with_half_the_excess() -> None:
    # Lemma 18 spends t/2 on each stage; its second term is Lemma 19's at t/2, with 16/3 where 8/3 would do.
    values, rates = np.linspace(0, 1, 5000), np.linspace(0.2, 1, 5000)
    second = ratio_bound(values, rates, 200, 40.0 / 2)
    assert second <= two_stage_bound(values, rates, 200, 40.0)


def test_the_last_term_is_the_one_the_proof_gives() -> None:
    # Equal values: only the chance that fewer than mu_N/2 are kept remains. At mu_N = 16 that is exp(-2),
    # where the printed last term is exp(-4).
    equal, half = [0.7] * 32, [0.5] * 32
    assert two_stage_bound(equal, half, 3, 0.1) == pytest.approx(math.exp(-2), rel=1e-12)
    assert ratio_bound(equal, half, 3, 0.1) == pytest.approx(math.exp(-2), rel=1e-12)
    # The proof needs a bound on that chance: exp(-mu_N/8) is one, exp(-mu_N/4) is not.
    too_few = float(stats.binom.cdf(49, 100_000, 0.001))  # mu_N = 100, fewer than 50 kept
    assert math.exp(-100 / 4) < too_few < math.exp(-100 / 8)


def test_sampling_bounds_are_probabilities_and_fall_with_t() -> None:
    rng = np.random.default_rng(9)
    values, rates = rng.uniform(0, 1, 2000), rng.uniform(0.1, 1, 2000)
    bounds: list[Callable[[Any, Any, int, float], float]] = [two_stage_bound, ratio_bound]
    for bound in bounds:
        falling = [bound(values, rates, 100, t) for t in (1e-9, 1.0, 10.0, 50.0, 1e6)]
        assert falling == sorted(falling, reverse=True)
        assert 0 <= falling[-1] < falling[0] == 1.0
        # Only the width and the spread count, not where the values lie.
        assert bound(values - 1e3, rates, 100, 50.0) == pytest.approx(falling[3], rel=1e-6)


# Input.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lower_bound([0.1, -1.0]), "record 1 has -1"),
        (lambda: lower_bound(0.1, sigma=-1.0), "sigma"),
        (lambda: upper_bound([math.nan]), "budgets must be >= 0"),
        (lambda: upper_bound(0.1, beta=1.0), "beta"),
        (lambda: upper_bound(0.1, constant=0.0), "constant"),
        (lambda: required_records([]), "budgets must be above 0"),
        (lambda: required_records([0.0, 0.1]), "Leave out the records whose budget is 0"),
        (lambda: required_records(0.1, model="local"), "model"),
        (lambda: required_records(0.1, model="unbounded"), "needs budget_range"),
        (lambda: required_records(0.1, model="unbounded", budget_range=(1.0, 0.1)), "budget_range"),
        (lambda: required_records(0.1, beta=0.0), "beta"),
        (lambda: two_stage_bound([0.0, 1.0], [0.5], 1, 0.1), "2 values, 1 rates"),
        (lambda: two_stage_bound([0.0, math.nan], [0.5, 0.5], 1, 0.1), "values must be one column of finite"),
        (lambda: two_stage_bound(["a"], [0.5], 1, 0.1), "values must be numbers"),
        (lambda: two_stage_bound([0.0, 1.0], [0.5, 1.5], 1, 0.1), "rates must lie in"),
        (lambda: ratio_bound([0.0, 1.0], [0.0, 0.0], 1, 0.1), "one of them above 0"),
        (lambda: ratio_bound([], [], 1, 0.1), "rates must lie in"),
        (lambda: ratio_bound([0.0, 1.0], [0.5, 0.5], 0, 0.1), "m must be"),
        (lambda: ratio_bound([0.0, 1.0], [0.5, 0.5], 1.5, 0.1), "m must be"),  # type: ignore[arg-type]
        (lambda: ratio_bound([0.0, 1.0], [0.5, 0.5], 1, 0.0), "t must be"),
    ],
)
def test_bad_input_gets_a_clear_error(call: Callable[[], float], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


@pytest.mark.parametrize(
    ("function", "numbers"),
    [
        (lower_bound, {"Theorem 9", "Theorem 12"}),
        (upper_bound, {"Theorem 11"}),
        (required_records, {"Theorem 11", "Theorem 13"}),
        (two_stage_bound, {"Lemma 18"}),
        (ratio_bound, {"Lemma 19"}),
    ],
)
def test_docstrings_cite_by_number(function: Callable[..., Any], numbers: set[str]) -> None:
    # Counted in the source: theorems 1-4 are the informal ones, 5-8 tools, 9 the bounded lower bound,
    # 10 diffusion, 11 the bounded upper bound, 12 and 13 the unbounded pair; lemmas 18 and 19 the sampling ones.
    assert function.__doc__ is not None
    assert numbers <= set(re.findall(r"(?:Theorem|Lemma) \d+", function.__doc__))
    assert function.__name__ in theory.__all__
