"""Thinning: a kept record's loss, computed with 200 bits, is at most its share, and hardly less."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pdpmean import Randomness
from pdpmean.diffusion import Thinning, round_down
from pdpmean.model import BOUNDED, make_model

UNBOUNDED = make_model("unbounded", (0.01, 4.0))
shares = st.integers(1, 2**20).map(lambda units: Fraction(units, 2**20))


def loss(rate: float, weight: float) -> mpmath.mpf:
    """What a record costs that is kept with probability `rate` and then costs `weight`: ln(1 + p (e**w - 1))."""
    return mpmath.log(1 + mpmath.mpf(rate) * mpmath.expm1(mpmath.mpf(weight)))


def other_way(rate: float, weight: float) -> mpmath.mpf:
    """The loss in the other direction: -ln(1 - p (1 - e**-w))."""
    return -mpmath.log(1 + mpmath.mpf(rate) * mpmath.expm1(-mpmath.mpf(weight)))


@given(
    st.floats(2.0**-40, 2.0**40),
    shares,
    st.floats(-30, 60).map(lambda power: 2.0**power),
    st.floats(1e-6, 50.0),
)
@settings(max_examples=400, deadline=None, derandomize=True)
def test_the_loss_is_at_most_the_share_and_nearly_all_of_it(
    budget: float, share: Fraction, density: float, cap: float
) -> None:
    thinning = Thinning(BOUNDED, share, cap, density)
    budgets = np.array([budget])
    rate = float(thinning.rates(thinning.weights(budgets))[0])
    weight = float(thinning.kept_weights(budgets)[0])
    assume(rate >= 2.0**-64)
    with mpmath.workprec(200):
        allowed = min(mpmath.mpf(budget) / 2 * share.numerator / share.denominator, mpmath.mpf(cap))
        spent = loss(rate, weight)
        assert max(spent, other_way(rate, weight)) <= allowed * (1 + mpmath.mpf(2) ** -100)  # mpmath's own rounding
        assert spent >= allowed * (1 - mpmath.mpf(10) ** -9)


@given(st.floats(2.0**-40, 100.0), shares)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_whoever_is_surely_kept_weighs_no_more_than_the_share(budget: float, share: Fraction) -> None:
    thinning = Thinning(BOUNDED, share, 50.0, 2.0**900)
    (weight,) = thinning.kept_weights(np.array([budget])).tolist()
    assert thinning.rates(np.array([weight])).tolist() == [1.0]
    allowed = min(Fraction(budget) / 2 * share, Fraction(50))
    assert allowed * (1 - Fraction(1, 2**38)) <= Fraction(weight) <= allowed


def test_round_down_is_a_trillionth_less() -> None:
    numbers = np.array([0.0, 1.0, 1e-300, 1e300, math.inf])
    assert round_down(numbers).tolist() == [0.0, 1 - 2.0**-40, *(x * (1 - 2.0**-40) for x in (1e-300, 1e300)), math.inf]


def test_rates_and_weights_by_hand() -> None:
    thinning = Thinning(UNBOUNDED, Fraction(1, 4), 0.5, 2.0)
    budgets = np.array([0.001, 0.4, 1.0, 3.0, math.inf, math.nan])
    down = 1 - 2.0**-40
    # Below the range or missing: nothing. 0.4 / 4, 1 / 4; 3 / 4 and 4 / 4 are capped.
    assert thinning.weights(budgets) == pytest.approx(np.array([0.0, 0.1, 0.25, 0.5, 0.5, 0.0]) * down, rel=1e-15)
    assert thinning.rates(thinning.weights(budgets)) == pytest.approx([0.0, 0.2, 0.5, 1.0, 1.0, 0.0], rel=1e-11)
    # ln(1 + (e**0.1 - 1) / 0.2) and ln(1 + (e**0.25 - 1) / 0.5)
    assert thinning.kept_weights(budgets[1:3]) == pytest.approx(
        [math.log(1 + math.expm1(0.1) / 0.2), math.log(1 + math.expm1(0.25) / 0.5)], rel=1e-11
    )


def test_public_records_are_capped() -> None:
    thinning = Thinning(BOUNDED, Fraction(1, 2), 50.0, 1.0)
    assert thinning.kept_weights(np.array([math.inf])).tolist() == [50.0]


def test_who_grants_nothing_is_never_kept() -> None:
    thinning = Thinning(UNBOUNDED, Fraction(1), 50.0, 2.0**900)
    budgets = np.array([0.0, 0.005, math.nan, -1.0, 0.01])
    for seed in range(20):
        assert thinning.keep(Randomness.seeded(seed), budgets).tolist() == [4]


def test_records_are_kept_at_their_rates() -> None:
    # 40 000 coins of rate 0.2 and of 0.5: counts inside the central binomial range but for one in a million.
    thinning = Thinning(UNBOUNDED, Fraction(1, 4), 0.5, 2.0)
    kept = np.zeros(80_000, dtype=bool)
    kept[thinning.keep(Randomness.seeded(1), np.repeat([0.4, 1.0], 40_000))] = True
    for part, rate in ((kept[:40_000], 0.2), (kept[40_000:], 0.5)):
        low, high = (float(binom.ppf(chance, 40_000, rate)) for chance in (5e-7, 1 - 5e-7))
        assert low <= part.sum() <= high
