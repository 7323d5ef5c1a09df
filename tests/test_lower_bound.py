"""The lower bounds of `laws/lower_bound.py`. docs/lower-bound.md names the test that pins each step of the proof."""

from __future__ import annotations

import doctest
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import NormalDist
from typing import Any, Protocol

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.optimize import brentq
from scipy.special import erf, erfinv

import pdpmean.laws.lower_bound
from pdpmean.errors import InvalidInputError, PdpMeanError
from pdpmean.laws.lower_bound import lower_bound, stepwise_lower_bound
from pdpmean.paper import lower_bound as printed_lower_bound

Floats = NDArray[np.float64]


class Bound(Protocol):
    def __call__(
        self,
        budgets: ArrayLike | Mapping[float, int],
        sigma: float = 1.0,
        *,
        probability: float = 0.25,
        model: str = "bounded",
    ) -> float: ...


BOUNDS: list[Bound] = [lower_bound, stepwise_lower_bound]
STEPS = {"bounded": 1, "unbounded": 2}
QUARTILE = NormalDist().inv_cdf(0.75)  # 0.6745: a standard normal exceeds it with probability 1/4

both_bounds = pytest.mark.parametrize("bound", BOUNDS, ids=["direct", "stepwise"])
both_models = pytest.mark.parametrize("model", ["bounded", "unbounded"])

some_budgets = st.lists(st.floats(0, 5) | st.sampled_from([0.0, 1e-6, 0.01, 0.1, 1.0, math.inf]), max_size=40)
models = st.sampled_from(["bounded", "unbounded"])
bounds = st.sampled_from(BOUNDS)
probabilities = st.floats(0.01, 0.49)


# The formula of docs/lower-bound.md, written out once more and without care for speed or range.


def total_variation(
    t: float, paid: ArrayLike, free: ArrayLike, step: ArrayLike | None = None, *, steps: int = 1
) -> Floats:
    loss = steps * erf(t / math.sqrt(2)) * np.asarray(paid)
    told = np.tanh(loss / 2) if step is None else 1 - np.exp(-loss / 2) / np.cosh(np.minimum(loss, step) / 2)
    return np.asarray(told + erf(t * np.sqrt(free) / math.sqrt(2)), dtype=np.float64)


def all_splits(budgets: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Paid, free and step for every k = 0, ..., n whose first k budgets are finite."""
    ascending = np.sort(np.asarray(budgets, dtype=np.float64))
    finite = ascending[np.isfinite(ascending)]
    paid = np.concatenate([[0.0], np.cumsum(finite)])
    return paid, ascending.size - np.arange(paid.size, dtype=np.float64), np.concatenate([[0.0], finite])


def brute_force(budgets: ArrayLike, probability: float, model: str, *, stepwise: bool) -> float:
    """One root for every k, and the largest of them."""
    largest = 0.0
    for paid, free, step in zip(*all_splits(budgets), strict=True):

        def excess(t: float, paid: float = paid, free: float = free, step: float = step) -> float:
            variation = total_variation(t, paid, free, step if stepwise else None, steps=STEPS[model])
            return float(variation) - (1 - 2 * probability)

        if excess(50.0) <= 0:
            return math.inf
        root: Any = brentq(excess, 1e-9, 50.0, xtol=1e-14)
        largest = max(largest, float(root))
    return largest


def is_stepwise(bound: Bound) -> bool:
    return bound is stepwise_lower_bound


# Known values.


@both_models
@both_bounds
def test_public_records_leave_what_any_test_on_n_samples_leaves(bound: Bound, model: str) -> None:
    # TV of n samples at -t and t is 2 Phi(t sqrt n / sigma) - 1 = 1 - 2 p at t = sigma z_{1-p} / sqrt n.
    assert bound([math.inf] * 100, sigma=3.0, model=model) == pytest.approx(3.0 * QUARTILE / 10, rel=1e-10)
    z = NormalDist().inv_cdf(0.9)
    assert bound({math.inf: 10**12}, probability=0.1, model=model) == pytest.approx(z / 1e6, rel=1e-10)


@both_bounds
@pytest.mark.parametrize("budget", [1.1, 1.5, 2.0, 2.2, 5.0, 50.0])
def test_one_record_in_closed_form(bound: Bound, budget: float) -> None:
    # n = 1, bounded: tanh(TV eps / 2) = 1/2 where TV = ln 3 / eps (k = 1), or the plain sample (k = 0).
    # Both bounds agree: there is a single step.
    expected = max(math.sqrt(2) * float(erfinv(math.log(3) / budget)), QUARTILE)
    assert bound(budget) == pytest.approx(expected, rel=1e-10)
    assert bound([budget]) == bound(budget)


def test_one_record_unbounded_in_closed_form() -> None:
    # Two steps of eps. Direct: TV = ln 3 / (2 eps). Stepwise, where the loss exceeds eps:
    # exp(-TV eps) = cosh(eps / 2) / 2, so TV = -ln(cosh(eps / 2) / 2) / eps.
    budget = 0.7
    assert lower_bound(budget, model="unbounded") == pytest.approx(
        math.sqrt(2) * float(erfinv(math.log(3) / (2 * budget))), rel=1e-10
    )
    variation = -math.log(math.cosh(budget / 2) / 2) / budget
    assert stepwise_lower_bound(budget, model="unbounded") == pytest.approx(
        math.sqrt(2) * float(erfinv(variation)), rel=1e-10
    )


@both_models
@pytest.mark.parametrize(("budget", "n"), [(0.001, 10_000), (0.01, 5_000), (0.1, 50), (0.1, 100_000), (3.0, 30)])
def test_equal_budgets_in_closed_form(budget: float, n: int, model: str) -> None:
    # Only k = 0 and k = n can be best: the sum in k is concave. tanh(x/2) = 1/2 at x = ln 3 and
    # 1 - exp(-x/2) / cosh(eps/2) = 1/2 at x = 2 ln 2 - 2 ln cosh(eps/2), which holds from x = eps on.
    total = STEPS[model] * n * budget
    sampling = QUARTILE / math.sqrt(n)
    direct = math.sqrt(2) * float(erfinv(math.log(3) / total))
    assert lower_bound([budget] * n, model=model) == pytest.approx(max(direct, sampling), rel=1e-9)
    loss = max(math.log(3), 2 * math.log(2) - 2 * math.log(math.cosh(budget / 2)))
    stepwise = math.sqrt(2) * float(erfinv(loss / total))
    assert stepwise_lower_bound([budget] * n, model=model) == pytest.approx(max(stepwise, sampling), rel=1e-9)


@both_models
@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_infinite_up_to_a_total_of_ln_3(n: int, model: str) -> None:
    # tanh(ln(3)/2) = (3 - 1)/(3 + 1) = 1/2: at that total no t is far enough.
    each = math.log(3) / STEPS[model] / n
    assert lower_bound({each * (1 - 1e-9): n}, model=model) == math.inf
    assert stepwise_lower_bound({each * (1 - 1e-9): n}, model=model) == math.inf
    assert 1 < lower_bound({each * (1 + 1e-9): n}, model=model) < 8


@pytest.mark.parametrize("probability", [1e-30, 1e-3, 0.1, 0.4])
def test_infinite_up_to_the_log_odds_of_the_probability(probability: float) -> None:
    # tanh(x/2) = 1 - 2 p at x = ln((1 - p)/p).
    log_odds = math.log((1 - probability) / probability)
    assert lower_bound(log_odds * (1 - 1e-9), probability=probability) == math.inf
    assert math.isfinite(lower_bound(log_odds * (1 + 1e-9), probability=probability))


def test_stepwise_is_infinite_up_to_a_total_of_2_ln_2_when_budgets_are_tiny() -> None:
    # 1 - exp(-x/2) = 1/2 at x = 2 ln 2 = 1.386; cosh(5e-7) differs from 1 by 1e-13.
    total = 2 * math.log(2)
    assert stepwise_lower_bound({1e-6: int(0.9999e6 * total)}) == math.inf
    assert math.isfinite(stepwise_lower_bound({1e-6: int(1.0001e6 * total)}))


@both_models
@both_bounds
def test_nothing_can_be_said_without_budget(bound: Bound, model: str) -> None:
    nothings: list[Any] = [[], {}, {0.1: 0}, 0, 0.0, [0.0] * 50, {0: 10**9}]
    for nothing in nothings:
        assert bound(nothing, model=model) == math.inf


@both_bounds
def test_zero_budgets_change_nothing(bound: Bound) -> None:
    # With budgets ascending they come first, and pay nothing.
    for used in ([0.3] * 20, [0.01] * 1000, [math.inf] * 7):
        assert bound([0.0] * 1000 + used) == pytest.approx(bound(used), rel=1e-10)


# The whole function against the formula, for every k.


@given(some_budgets, probabilities, models, bounds)
@settings(max_examples=150, deadline=None)
def test_equals_the_best_of_all_splits(budgets: list[float], probability: float, model: str, bound: Bound) -> None:
    expected = brute_force(budgets, probability, model, stepwise=is_stepwise(bound))
    assert bound(budgets, probability=probability, model=model) == pytest.approx(expected, rel=1e-8)


def many_budgets(rng: np.random.Generator, n: int) -> dict[str, Floats]:
    return {
        "uniform": rng.uniform(0, 2 / math.sqrt(n), n),
        "log-uniform": 10 ** rng.uniform(-6, 0, n),
        "half of them public": np.append(rng.uniform(0, 1e-4, n // 2), [math.inf] * (n - n // 2)),
        "a few public": np.append(10 ** rng.uniform(-5, -3, n - 50), [math.inf] * 50),
        "a jump": np.append(rng.uniform(0, 1e-4, n - 1234), rng.uniform(3, 4, 1234)),
        "heavy tail": rng.pareto(1.0, n) / n,
    }


@both_models
@both_bounds
def test_a_subset_of_splits_comes_within_one_percent_of_all_and_never_above(bound: Bound, model: str) -> None:
    # Brute force without solving: t is at most the best of all splits if and only if some split has total
    # variation <= 1/2 there, and within one percent of it if no split has at 1.01 t.
    for name, budgets in many_budgets(np.random.default_rng(3), 60_000).items():
        assert np.unique(budgets).size > pdpmean.laws.lower_bound._ALL_SPLITS
        paid, free, step = all_splits(budgets)
        known = step if is_stepwise(bound) else None
        t = bound(budgets, model=model)
        assert math.isfinite(t), name
        assert total_variation(t, paid, free, known, steps=STEPS[model]).min() <= 0.5 * (1 + 1e-9), name
        assert total_variation(1.01 * t, paid, free, known, steps=STEPS[model]).min() > 0.5, name


def test_thinning_keeps_a_split_with_a_smaller_k_close_to_each() -> None:
    free = np.unique(np.random.default_rng(1).integers(0, 10**7, 50_000)).astype(float)[::-1]
    assert math.sqrt(pdpmean.laws.lower_bound._RATIO) <= 1.001  # the 0.1 percent of the page
    kept = pdpmean.laws.lower_bound._thinned(free)
    assert kept[0] == 0
    assert kept.size < 10_000
    stand_in = free[kept[np.searchsorted(kept, np.arange(free.size), side="right") - 1]]
    assert (stand_in >= free).all()
    assert (stand_in <= pdpmean.laws.lower_bound._RATIO * np.maximum(free, 0) * (1 + 1e-9)).all()


# Properties.


@given(some_budgets, models, bounds, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_order_does_not_matter(budgets: list[float], model: str, bound: Bound, shuffler: Any) -> None:
    shuffled = budgets.copy()
    shuffler.shuffle(shuffled)
    assert bound(shuffled, model=model) == bound(budgets, model=model)


@given(some_budgets, models, bounds)
@settings(max_examples=60, deadline=None)
def test_a_mapping_of_tiers_equals_the_list(budgets: list[float], model: str, bound: Bound) -> None:
    tiers = {budget: budgets.count(budget) for budget in budgets}
    assert bound(tiers, model=model) == pytest.approx(bound(budgets, model=model), rel=1e-11)


@given(some_budgets, st.floats(0, 5), st.floats(0, 3), models, bounds)
@settings(max_examples=100, deadline=None)
def test_more_budget_or_more_records_never_raise_it(
    budgets: list[float], extra: float, more: float, model: str, bound: Bound
) -> None:
    before = bound([*budgets, extra], model=model)
    assert before <= bound(budgets, model=model) * (1 + 1e-9)
    assert bound([*budgets, extra + more], model=model) <= before * (1 + 1e-9)


@given(some_budgets, probabilities, probabilities, models, bounds)
@settings(max_examples=60, deadline=None)
def test_a_likelier_error_is_a_smaller_one(
    budgets: list[float], one: float, other: float, model: str, bound: Bound
) -> None:
    rarely, often = sorted([one, other])
    likelier = bound(budgets, probability=often, model=model)
    assert likelier <= bound(budgets, probability=rarely, model=model) * (1 + 1e-9)


@given(some_budgets, bounds)
@settings(max_examples=60, deadline=None)
def test_unbounded_counts_every_budget_twice(budgets: list[float], bound: Bound) -> None:
    # Stepwise, two steps of eps are less than one of 2 eps, so doubled budgets give no more.
    bounded, unbounded = bound(budgets), bound(budgets, model="unbounded")
    assert unbounded <= bounded * (1 + 1e-9)
    doubled = bound([2 * budget for budget in budgets])
    assert unbounded >= doubled * (1 - 1e-9)
    if bound is lower_bound:
        assert unbounded == pytest.approx(doubled, rel=1e-10)


@given(some_budgets, probabilities, models)
@settings(max_examples=100, deadline=None)
def test_stepwise_is_never_below_direct(budgets: list[float], probability: float, model: str) -> None:
    direct = lower_bound(budgets, probability=probability, model=model)
    assert stepwise_lower_bound(budgets, probability=probability, model=model) >= direct * (1 - 1e-9)


@pytest.mark.parametrize("sigma", [5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_scales_with_sigma(sigma: float) -> None:
    assert lower_bound([0.1] * 100, sigma) == sigma * lower_bound([0.1] * 100)


@both_bounds
def test_extreme_budgets_counts_and_probabilities(bound: Bound) -> None:
    assert bound({5e-324: 10**300}) == math.inf
    assert bound({1e-13: 10**15}) == pytest.approx(bound({1e-4: 10**6}), rel=1e-3)  # not rounded to 0
    assert bound({1.7e308: 10**300}) == pytest.approx(QUARTILE / 1e150, rel=1e-10)
    assert 0 < bound([1.0] * 100, probability=math.nextafter(0.5, 0)) < 1e-15
    # 1e-40 is lost in 1 - 2 p, but not in the slack: P(Z > 13.31) = 1e-40 is the normal quantile at k = 0.
    assert bound({math.inf: 4}, probability=1e-40) == pytest.approx(-stats.norm.ppf(1e-40) / 2, rel=1e-9)


# The relation to the paper's printed expression.


def random_budgets(rng: np.random.Generator, *, largest: float) -> Floats:
    n = int(10 ** rng.uniform(0, 3.5))
    scale = largest * 10 ** rng.uniform(-4, 0)
    shapes: list[Callable[[], Floats]] = [
        lambda: rng.uniform(0, scale, n),
        lambda: largest * 10 ** rng.uniform(-4, 0, n),
        lambda: np.full(n, scale),
        lambda: rng.choice(largest * 10 ** rng.uniform(-4, 0, 3), n),
        lambda: np.append(np.full(n, scale / 100), rng.uniform(0, largest, 4)),
    ]
    return shapes[rng.integers(len(shapes))]()


def test_exceeds_the_printed_expression_by_sqrt_pi_in_the_bounded_model() -> None:
    # tanh(x) <= x and erf(x) <= 2 x / sqrt(pi) make every split's total variation at sqrt(pi) times the printed
    # value at most 1/2. 300 random vectors, budgets up to 10.
    rng = np.random.default_rng(11)
    for _ in range(300):
        budgets = random_budgets(rng, largest=10.0)
        assert lower_bound(budgets) >= math.sqrt(math.pi) * printed_lower_bound(budgets)


def test_exceeds_the_printed_expression_in_the_unbounded_model_stepwise() -> None:
    # For budgets up to 1: 1 - exp(-1/sqrt(pi)) / cosh(1/2) = 0.4956 < 1/2.
    assert 1 - math.exp(-1 / math.sqrt(math.pi)) / math.cosh(0.5) == pytest.approx(0.4956, abs=5e-5)
    rng = np.random.default_rng(12)
    for _ in range(300):
        budgets = random_budgets(rng, largest=1.0)
        assert stepwise_lower_bound(budgets, model="unbounded") > printed_lower_bound(budgets)


def test_direct_falls_just_short_of_the_printed_expression_in_the_unbounded_model() -> None:
    # With many tiny budgets t = sigma sqrt(pi/2) (ln(3)/2) / S against sigma / (sqrt(2) S): 0.97363.
    tiny = {1e-7: 10**9}  # a total of 100
    printed = 1 / (math.sqrt(2) * 100)
    assert lower_bound(tiny, model="unbounded") / printed == pytest.approx(
        math.sqrt(math.pi) * math.log(3) / 2, rel=1e-4
    )
    assert stepwise_lower_bound(tiny, model="unbounded") / printed == pytest.approx(
        math.sqrt(math.pi) * math.log(2), rel=1e-4
    )


def test_budgets_above_1_leave_the_printed_unbounded_theorem_open() -> None:
    # Found by search. The value is 0.987; it says that the argument stops here, not that the theorem is false.
    tiers = {0.00053: 1146, 0.2: 2, 0.32: 1, 0.47: 1, 1.09: 1}
    printed = printed_lower_bound(np.repeat(list(tiers.keys()), list(tiers.values())))
    assert stepwise_lower_bound(tiers, model="unbounded") / printed == pytest.approx(0.987, abs=0.0005)


# The steps of the proof.


def test_total_variation_of_close_outputs_is_at_most_tanh() -> None:
    # Random pairs of distributions at distance exactly e in log ratio; randomized response attains tanh(e/2).
    rng = np.random.default_rng(5)
    for _ in range(300):
        one, other = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(5))
        closeness = np.abs(np.log(one / other)).max()
        assert np.abs(one - other).sum() / 2 <= math.tanh(closeness / 2) + 1e-12
    truthful = math.exp(1.3) / (1 + math.exp(1.3))
    assert 2 * truthful - 1 == pytest.approx(math.tanh(1.3 / 2), rel=1e-12)


def farthest(chances: Floats, losses: ArrayLike) -> Floats:
    """The largest probability an event can have after steps of these losses, from each starting probability."""
    for loss in np.asarray(losses, dtype=np.float64):
        chances = np.minimum(np.exp(loss) * chances, 1 - np.exp(-loss) * (1 - chances))
    return chances


def test_total_variation_along_a_chain_is_at_most_the_stepwise_bound() -> None:
    # Composing the two inequalities of each step is the best any mechanism can do; start from every chance.
    rng = np.random.default_rng(6)
    starts = np.linspace(0, 1, 20_001)
    for _ in range(200):
        losses = rng.choice([1e-3, 0.05, 0.4, 2.0]) * rng.uniform(0, 1, rng.integers(1, 30))
        attained = (farthest(starts, losses) - starts).max()
        allowed = 1 - math.exp(-losses.sum() / 2) / math.cosh(losses.max() / 2)
        assert attained <= allowed + 1e-12
        assert allowed <= math.tanh(losses.sum() / 2) + 1e-12


def test_the_stepwise_bound_on_a_chain_is_tight() -> None:
    # One step attains tanh, and many tiny ones 1 - exp(-loss/2): the slack of `allowed` is at most the cosh.
    starts = np.linspace(0, 1, 200_001)
    assert (farthest(starts, [0.8]) - starts).max() == pytest.approx(math.tanh(0.4), abs=1e-5)
    many = (farthest(starts, [1e-4] * 10_000) - starts).max()
    assert many == pytest.approx(1 - math.exp(-0.5), abs=1e-4)


def test_coupled_samples_differ_by_total_variation_times_the_budgets() -> None:
    # The maximal coupling of N(-t, 1) and N(t, 1) differs with probability erf(t / sqrt 2): check the integral.
    grid = np.linspace(-12, 12, 400_001)
    for t in (0.01, 0.3, 2.0):
        overlap = np.minimum(stats.norm.pdf(grid, -t), stats.norm.pdf(grid, t))
        assert 1 - np.trapezoid(overlap, grid) == pytest.approx(float(erf(t / math.sqrt(2))), abs=1e-9)


def test_jensen_costs_little_and_never_the_validity() -> None:
    # E told(loss of a random subset) <= told(expected loss): 2^10 subsets, enumerated.
    budgets = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 3.0])
    subsets = (np.arange(1024)[:, None] >> np.arange(10)) & 1
    for variation in (0.05, 0.3, 0.9):
        weight = np.prod(np.where(subsets == 1, variation, 1 - variation), axis=1)
        losses = subsets @ budgets
        expected = variation * budgets.sum()
        assert weight @ np.tanh(losses / 2) <= math.tanh(expected / 2)
        cap = np.minimum(losses, budgets.max())
        told = 1 - np.exp(-losses / 2) / np.cosh(cap / 2)
        assert weight @ told <= 1 - math.exp(-expected / 2) / math.cosh(min(expected, budgets.max()) / 2)


def test_along_equal_budgets_the_ends_are_best() -> None:
    # The total variation bound is concave in k, so its second differences are never positive.
    n, k = 500, np.arange(501)
    for budget in (0.001, 0.05, 1.0):
        for t in (0.001, 0.03, 0.5):
            for step in (None, budget):
                variation = total_variation(t, k * budget, n - k, step)
                assert (np.diff(variation, 2) <= 1e-12).all()


# No mechanism does better.


def sign_test_error(t: float, n: int, budget: float) -> float:
    """Exact error of telling -t from t by the number of positive records plus Laplace noise of scale 1/budget.

    Replacing a record moves the count by 1: budget-private in the bounded model. Adding or removing one moves
    (positive - negative) / 2 by 1/2, so in the unbounded model the same release is (budget/2)-private.
    """
    counts = np.arange(n + 1)
    chance = stats.binom.pmf(counts, n, stats.norm.cdf(-t))
    return float(chance @ stats.laplace.sf(n / 2 - counts, scale=1 / budget))


@both_models
@both_bounds
@pytest.mark.parametrize(("budget", "n"), [(2.0, 5), (0.5, 25), (0.1, 100), (0.02, 101), (0.002, 2000), (0.01, 3000)])
def test_no_private_sign_test_errs_less_than_promised(bound: Bound, budget: float, n: int, model: str) -> None:
    # A test that errs with probability below 1/4 at both means would contradict the bound. Exact, not simulated.
    t = bound({budget: n}, model=model)
    assert sign_test_error(t, n, STEPS[model] * budget) >= 0.25


@pytest.mark.parametrize("budget", [1.2, 1.6, 3.0])
def test_randomized_response_errs_as_promised_on_one_record(budget: float) -> None:
    # It flips the sign of the record with probability 1/(1 + e^eps).
    t = lower_bound(budget)
    wrong_sign, flip = stats.norm.cdf(-t), 1 / (1 + math.exp(budget))
    assert wrong_sign * (1 - flip) + (1 - wrong_sign) * flip >= 0.25


@both_models
def test_stepwise_cannot_be_raised_by_two_percent(model: str) -> None:
    # 1e5 budgets of 1e-4: a sign test errs with 1/4 almost at the bound, and with less at 1.02 times the bound.
    n, budget = 100_000, 1e-4
    t = stepwise_lower_bound({budget: n}, model=model)
    assert 0.25 <= sign_test_error(t, n, STEPS[model] * budget) < 0.2525
    assert sign_test_error(1.02 * t, n, STEPS[model] * budget) < 0.25
    # The direct bound is below, by ln 3 / (2 ln 2): there the same test still errs with 0.29.
    direct = lower_bound({budget: n}, model=model)
    assert t / direct == pytest.approx(2 * math.log(2) / math.log(3), rel=0.02)
    assert sign_test_error(direct, n, STEPS[model] * budget) == pytest.approx(0.289, abs=0.002)


@both_bounds
@pytest.mark.parametrize("name", ["tiers", "one public", "log-uniform"])
def test_a_weighted_private_estimate_errs_at_least_as_often_as_promised(bound: Bound, name: str) -> None:
    # Simulated: the sum of min(eps_i, tau) * sign(x_i) plus Laplace noise of scale 2 keeps every budget when one
    # record is replaced, and estimates t or -t by its sign. Its error is at least t whenever the sign is wrong.
    rng = np.random.default_rng(7)
    budgets = {
        "tiers": np.repeat([0.02, 0.1, 0.3], [54, 37, 9]),
        "one public": np.append(np.full(99, 0.01), math.inf),
        "log-uniform": 10 ** rng.uniform(-3, 0, 100),
    }[name]
    t, runs = bound(budgets), 40_000
    best = 1.0
    for tau in (0.02, 0.1, 0.3, 1.0, 10.0):
        signs = np.where(rng.random((runs, budgets.size)) < stats.norm.cdf(-t), -1.0, 1.0)
        noisy = signs @ np.minimum(budgets, tau) + rng.laplace(0, 2, runs)
        best = min(best, float(np.mean(noisy < 0)))
    assert best >= 0.25 - 4 * math.sqrt(0.25 * 0.75 / runs)


# Input, documentation.


@both_bounds
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"budgets": [0.1, -0.3]}, "record 1 has -0.3"),
        ({"budgets": [math.nan]}, "budgets must be >= 0"),
        ({"budgets": {-0.3: 5}}, "budgets must be >= 0"),
        ({"budgets": {0.1: -1}}, r"budget 0\.1 has -1"),
        ({"budgets": {0.1: 2.5}}, r"budget 0\.1 has 2\.5"),
        ({"budgets": "many"}, "budgets must be numbers"),
        ({"budgets": [[0.1]]}, "2 dimensions"),
        ({"budgets": 0.1, "sigma": 0.0}, "sigma must be positive"),
        ({"budgets": 0.1, "sigma": math.inf}, "sigma must be positive"),
        ({"budgets": 0.1, "probability": 0.5}, "probability must be below 1/2"),
        ({"budgets": 0.1, "probability": 0.0}, "strictly between 0 and 1"),
        ({"budgets": 0.1, "model": "local"}, "'bounded' or 'unbounded'; got 'local'"),
    ],
)
def test_bad_input_gets_a_clear_error(bound: Bound, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as caught:
        bound(**arguments)
    assert isinstance(caught.value, PdpMeanError | ValueError)


def test_examples_run() -> None:
    page = Path(__file__).parents[1] / "docs" / "lower-bound.md"
    in_page = doctest.testfile(str(page), module_relative=False)
    in_module = doctest.testmod(pdpmean.laws.lower_bound)
    assert (in_page.failed, in_module.failed) == (0, 0)
    assert in_page.attempted > 0
    assert in_module.attempted > 0


def test_every_test_that_the_proof_names_exists() -> None:
    page = (Path(__file__).parents[1] / "docs" / "lower-bound.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 10
    assert named <= globals().keys()
