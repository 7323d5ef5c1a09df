"""Diffusion, Definition 6 and Theorem 10: rates that never overspend, and the coins that follow them."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pdpmean import InvalidInputError, Randomness
from pdpmean.core.checks import check_budgets
from pdpmean.paper import diffuse, diffusion_rates, saturation
from pdpmean.paper.diffusion import exact_rates


def exact_rate(budget: float, tau: float) -> Any:
    """(e**budget - 1)/(e**tau - 1) to 60 digits."""
    with mpmath.workdps(60):
        return mpmath.expm1(mpmath.mpf(budget)) / mpmath.expm1(mpmath.mpf(tau))


# Rates.


def test_known_rates() -> None:
    # 1000 of 0.1 and 100 of 1: tau = (10 + 8)/100 = 0.18 at k = 1000; the rate is (e**0.1 - 1)/(e**0.18 - 1).
    found = diffusion_rates([0.1] * 1000 + [1.0] * 100)
    assert found.tau == pytest.approx(0.18, rel=1e-12)
    assert found.k == 1000
    assert found.rates[:1000] == pytest.approx(0.105170918 / 0.197217363, rel=1e-8)
    assert (found.rates[1000:] == 1).all()


@pytest.mark.parametrize("budgets", [[0.1] * 50, [3.0], 0.25, [2.0**40] * 3])
def test_equal_budgets_keep_everyone(budgets: Any) -> None:
    # tau is at most the largest budget: a larger one would throw records away and buy nothing.
    found = diffusion_rates(budgets)
    assert found.tau == np.max(budgets)
    assert (found.rates == 1).all()


@pytest.mark.parametrize(
    ("budgets", "tau", "rates"),
    [
        ([], 0.0, []),
        ([0.0, 0.0], 0.0, [0.0, 0.0]),
        ([0.0, 0.5], 0.5, [0.0, 1.0]),
        ([0.0, math.inf], math.inf, [0.0, 1.0]),
        ([math.inf], math.inf, [1.0]),
        ([1e-300, 0.5], 0.5, [0.0, 1.0]),  # below 2**-40 a budget counts as 0
    ],
)
def test_nothing_and_everything(budgets: list[float], tau: float, rates: list[float]) -> None:
    found = diffusion_rates(budgets)
    assert found.tau == tau
    assert found.rates.tolist() == rates


def test_public_records_are_always_kept() -> None:
    found = diffusion_rates([1.0, 1.0, math.inf])
    assert found.tau == saturation([1.0, 1.0, math.inf]).tau == 5.0
    assert found.rates[2] == 1.0


def test_budgets_far_above_tau_are_kept_without_a_warning() -> None:
    # pytest turns warnings into errors here; e**(1000 - tau) is beyond the doubles.
    found = diffusion_rates([1.0] * 100 + [1000.0, 2.0**40])
    assert (found.rates[100:] == 1).all()


def test_the_result_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        diffusion_rates([1.0]).tau = 3.0  # type: ignore[misc]


@given(st.floats(2.0**-40, 800), st.floats(0, 1))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_exact_rates_are_at_most_exact_and_nearly_so(tau: float, part: float) -> None:
    budget = tau * part
    (rate,) = exact_rates(np.array([budget]), tau).tolist()
    exact = exact_rate(budget, tau)
    if budget >= tau:
        assert rate == 1
        return
    if exact < 1e-300:
        assert rate < 2.0**-64  # subnormal numbers round both ways; a coin takes all of these for 0
        return
    assert exact * (1 - mpmath.mpf("1e-11")) <= rate <= exact


@given(st.floats(1e-3, 800), st.floats(1, 1e6))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_a_budget_from_tau_on_is_always_kept(tau: float, factor: float) -> None:
    budgets = np.array([tau, min(tau * factor, 700.0 + tau), math.inf])
    assert (exact_rates(budgets, tau) == 1).all()


@pytest.mark.parametrize("tau", [1.256, 20.0, 800.0, 1e5, 2.0**40])
def test_large_tau_and_tiny_budgets(tau: float) -> None:
    budgets = np.array([0.0, 2.0**-40, 1e-6, tau / 2, tau - 1, math.nextafter(tau, 0)])
    rates = exact_rates(budgets, tau)
    assert ((rates >= 0) & (rates <= 1)).all()
    assert all(rate <= exact_rate(budget, tau) for rate, budget in zip(rates.tolist(), budgets, strict=True))
    assert rates[4] == pytest.approx(float(exact_rate(tau - 1, tau)), rel=1e-11)


@given(
    st.lists(st.floats(0, 5) | st.floats(0, 500) | st.sampled_from([0.0, 1e-300, math.inf]), min_size=1, max_size=30)
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_loss_of_theorem_10_never_exceeds_a_budget(budgets: list[float]) -> None:
    found = diffusion_rates(budgets)
    if not 0 < found.tau < math.inf:
        return
    with mpmath.workdps(60):
        amplified = mpmath.expm1(mpmath.mpf(found.tau))
        for rate, budget in zip(found.rates.tolist(), budgets, strict=True):
            spent = mpmath.log1p(mpmath.mpf(rate) * amplified)
            assert spent <= budget
            usable = min(float(check_budgets(budget)[0]), found.tau)
            assert spent >= usable * (1 - mpmath.mpf("1e-9"))  # nothing is given away either


# Coins.


def test_certain_rates_are_certain() -> None:
    for seed in range(50):
        kept = diffuse([0.0, 1.0, 0.0, 1.0], randomness=Randomness.seeded(seed))
        assert kept.tolist() == [False, True, False, True]
    assert diffuse([]).tolist() == []


def test_kept_as_often_as_the_rate_says() -> None:
    draws = 40_000
    for rate in [0.001, 0.3, 0.9]:
        kept = int(diffuse(np.full(draws, rate), randomness=Randomness.seeded(6)).sum())
        assert binom.isf(1 - 1e-7, draws, rate) <= kept <= binom.isf(1e-7, draws, rate)
        for mutant in (0.7 * rate, 1.3 * rate if rate < 0.5 else 1 - 0.7 * (1 - rate)):
            if rate > 0.01:  # 40 expected would not tell 28 from 40
                other = int(diffuse(np.full(draws, mutant), randomness=Randomness.seeded(6)).sum())
                assert not binom.isf(1 - 1e-7, draws, rate) <= other <= binom.isf(1e-7, draws, rate)


def test_a_mask_collides_with_no_value() -> None:
    # A printed placeholder of 0 would take the kept 0 for a dropped record (docs/errata.md, 5).
    values = np.array([0.0, -1.0, 0.0, 5.0])
    assert values[diffuse([1.0, 1.0, 0.0, 1.0])].tolist() == [0.0, -1.0, 5.0]


@pytest.mark.parametrize("rates", [[-0.1], [1.1], [math.nan], [0.5, math.inf]])
def test_rates_outside_0_to_1_are_refused(rates: list[float]) -> None:
    with pytest.raises(InvalidInputError, match=r"rates must lie in \[0, 1\]"):
        diffuse(rates)


@pytest.mark.parametrize("budgets", [[-0.1], [math.nan, 1.0]])
def test_bad_budgets_are_refused(budgets: list[float]) -> None:
    with pytest.raises(InvalidInputError, match=r"budgets must be >= 0; record 0 (has|is empty)"):
        diffusion_rates(budgets)
