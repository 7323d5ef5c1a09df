"""Thinning: a kept record's loss, computed with 200 bits, is at most its share, and hardly less."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rules import UNCAPPED, holders, thinning_of
from scipy.stats import binom

from pdpmean import Plan, Randomness, plan_mean
from pdpmean.core.integers import weights_of
from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.core.weights import round_down
from pdpmean.passes.thinning import Thinning
from pdpmean.planning.plan import Shares
from pdpmean.release import locate

UNBOUNDED = make_model("unbounded", (0.01, 4.0))
MODELS = pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED], ids=["bounded", "unbounded"])
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
    thinning = thinning_of(BOUNDED, share, cap, density)
    budgets = np.array([budget])
    rate = float(thinning.rates(thinning.weights(budgets))[0])
    weight = float(thinning.kept_weights(holders(budgets))[0])
    assume(rate >= 2.0**-64)
    with mpmath.workprec(200):
        allowed = min(mpmath.mpf(budget) / 2 * share.numerator / share.denominator, mpmath.mpf(cap))
        spent = loss(rate, weight)
        assert max(spent, other_way(rate, weight)) <= allowed * (1 + mpmath.mpf(2) ** -100)  # mpmath's own rounding
        assert spent >= allowed * (1 - mpmath.mpf(10) ** -9)


@given(st.floats(2.0**-40, 100.0), shares)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_whoever_is_surely_kept_weighs_no_more_than_the_share(budget: float, share: Fraction) -> None:
    thinning = thinning_of(BOUNDED, share, 50.0, 2.0**900)
    (weight,) = thinning.kept_weights(holders([budget])).tolist()
    assert thinning.rates(np.array([weight])).tolist() == [1.0]
    allowed = min(Fraction(budget) / 2 * share, Fraction(50))
    assert allowed * (1 - Fraction(1, 2**38)) <= Fraction(weight) <= allowed


@given(st.floats(2.0**-20, 2.0**20), shares, shares, st.floats(2.0**-20, 50.0))
@settings(max_examples=400, deadline=None, derandomize=True)
def test_locating_gets_what_the_sum_leaves_of_both_shares(
    budget: float, share: Fraction, sum_share: Fraction, spared_from: float
) -> None:
    thinning = thinning_of(BOUNDED, share, 2.0**60, 2.0**900, sum_share=sum_share, spared_from=spared_from)
    (weight,) = thinning.weights(np.array([budget])).tolist()
    (units,) = weights_of(np.array([budget / 2]), float(sum_share) * 2.0**20, spared_from * 2.0**20).tolist()
    allowed = Fraction(budget) / 2 * (share + sum_share)
    together = Fraction(weight) + Fraction(units, 2**20)
    assert together <= allowed
    assert together >= allowed * (1 - Fraction(1, 2**38)) - Fraction(2, 2**20)


def test_round_down_is_a_trillionth_less() -> None:
    numbers = np.array([0.0, 1.0, 1e-300, 1e300, math.inf])
    assert round_down(numbers).tolist() == [0.0, 1 - 2.0**-40, *(x * (1 - 2.0**-40) for x in (1e-300, 1e300)), math.inf]


def test_rates_and_weights_by_hand() -> None:
    thinning = thinning_of(UNBOUNDED, Fraction(1, 4), 0.5, 2.0)
    budgets = np.array([0.001, 0.4, 1.0, 3.0, math.inf, math.nan])
    down = 1 - 2.0**-40
    # Below the range or missing: nothing. 0.4 / 4, 1 / 4; 3 / 4 and 4 / 4 are capped.
    assert thinning.weights(budgets) == pytest.approx(np.array([0.0, 0.1, 0.25, 0.5, 0.5, 0.0]) * down, rel=1e-15)
    assert thinning.rates(thinning.weights(budgets)) == pytest.approx([0.0, 0.2, 0.5, 1.0, 1.0, 0.0], rel=1e-11)
    # ln(1 + (e**0.1 - 1) / 0.2) and ln(1 + (e**0.25 - 1) / 0.5)
    assert thinning.kept_weights(holders(budgets[1:3])) == pytest.approx(
        [math.log(1 + math.expm1(0.1) / 0.2), math.log(1 + math.expm1(0.25) / 0.5)], rel=1e-11
    )


def test_what_the_cap_on_the_sum_leaves_by_hand() -> None:
    thinning = thinning_of(UNBOUNDED, Fraction(1, 4), 1.9, 2.0, sum_share=Fraction(1, 2), spared_from=0.5)
    budgets = np.array([0.001, 0.4, 1.0, 2.0, 3.0, math.inf])
    # A quarter of each, and from 1 on, where half of it reaches the cap, half of what is beyond; 1 + 1.5 is capped.
    assert thinning.weights(budgets) == pytest.approx([0.0, 0.1, 0.25, 1.0, 1.75, 1.9], rel=1e-11)


def test_public_records_are_capped() -> None:
    thinning = thinning_of(BOUNDED, Fraction(1, 2), 50.0, 1.0)
    assert thinning.kept_weights(holders([math.inf])).tolist() == [50.0]


def test_who_grants_nothing_is_never_kept() -> None:
    thinning = thinning_of(UNBOUNDED, Fraction(1), 50.0, 2.0**900)
    budgets = np.array([0.0, 0.005, math.nan, -1.0, 0.01])
    for seed in range(20):
        assert thinning.keep(holders(budgets), Randomness.seeded(seed)).tolist() == [4]


def test_records_are_kept_at_their_rates() -> None:
    # 40 000 coins of rate 0.2 and of 0.5: counts inside the central binomial range but for one in a million.
    thinning = thinning_of(UNBOUNDED, Fraction(1, 4), 0.5, 2.0)
    kept = np.zeros(80_000, dtype=bool)
    kept[thinning.keep(holders(np.repeat([0.4, 1.0], 40_000)), Randomness.seeded(1))] = True
    for part, rate in ((kept[:40_000], 0.2), (kept[40_000:], 0.5)):
        low, high = (float(binom.ppf(chance, 40_000, rate)) for chance in (5e-7, 1 - 5e-7))
        assert low <= part.sum() <= high


@MODELS
@pytest.mark.parametrize("densities", [(0.001, 0.3), (0.3, 2.0), (2.0, 2.0**900), (0.01, 0.01)])
@pytest.mark.parametrize("grouped", [False, True])
def test_the_first_byte_decides_every_coin_that_it_can(
    model: Model, densities: tuple[float, float], grouped: bool
) -> None:
    """Whoever's first byte is above their rate is dropped, and whoever's is well below is kept."""
    budgets = np.random.default_rng(1).uniform(0.0, 3.0, 20_000)
    codes = np.tile(np.array([0, 1], dtype=np.int32), 10_000) if grouped else None
    rule = Thinning(model, *np.array([[0.5, 0.25], [0.25, 0.5], [0.3, 0.2], [0.4, 0.3], densities]))
    rates = rule.at(codes).rates(rule.at(codes).weights(budgets))
    kept = np.zeros(20_000, dtype=bool)
    kept[rule.keep(holders(budgets, codes), Randomness.seeded(3))] = True
    first = Randomness.seeded(3).first_bytes(20_000)
    assert kept[first + 1.0 <= 256 * rates].all()
    assert not kept[first >= 256 * rates].any()
    assert 0 < kept.sum() < 20_000


# Groups

HELD = np.array([0.0, 0.001, 0.01, 0.4, 1.0, 3.0, math.inf])
RULES = [(Fraction(1, 4), 0.5, 2.0), (Fraction(1, 2), 0.1, 3.0), (Fraction(1), 50.0, 2.0**900)]  # share, cap, density


def plan_of(
    model: Model,
    share: Fraction,
    cap: float,
    density: float,
    *,
    rest: Fraction = Fraction(1),
    spared_from: float = UNCAPPED,
) -> Plan:
    """A plan that locates by this rule."""
    shares = Shares({"center": share / 2, "scale": share / 2, "sum": rest})
    return replace(
        plan_mean({0.5: 2000}, shape="gaussian"),
        model=model,
        shares=shares,
        locate_cap=cap,
        spared_from=spared_from,
        keep_density=density,
    )


def grouped(model: Model) -> Thinning:
    """Three groups, after the second of which comes one without a plan."""
    first, second, third = (plan_of(model, *rule) for rule in RULES)
    return locate.thinning_of([first, second, None, third], grouped=True)


PLANNED, NOBODY = [0, 1, 3], [2, 4]  # 4 is no group that was asked for


@MODELS
def test_each_group_has_the_rule_of_its_plan(model: Model) -> None:
    codes = np.repeat(np.arange(5, dtype=np.int32), HELD.size)
    everyone = holders(np.tile(HELD, 5), codes)
    rule = grouped(model).at(codes)
    weights = rule.weights(everyone.budgets)
    for group, numbers in zip(PLANNED, RULES, strict=True):
        own, alone = codes == group, thinning_of(model, *numbers)
        assert weights[own].tolist() == alone.weights(HELD).tolist()
        assert rule.rates(weights)[own].tolist() == alone.rates(alone.weights(HELD)).tolist()
        found, expected = grouped(model).kept_weights(everyone)[own], alone.kept_weights(holders(HELD))
        assert np.array_equal(found, expected, equal_nan=True)
        assert (expected[alone.rates(alone.weights(HELD)) > 0] > 0).all()


@MODELS
@pytest.mark.parametrize("group", NOBODY)
def test_who_is_of_no_group_with_a_plan_weighs_nothing_and_is_never_kept(model: Model, group: int) -> None:
    others = holders(HELD, np.full(HELD.size, group))
    rule = grouped(model).at(others.groups)
    assert rule.weights(HELD).tolist() == [0.0] * HELD.size
    assert rule.rates(rule.weights(HELD)).tolist() == [0.0] * HELD.size
    for seed in range(20):
        assert grouped(model).keep(others, Randomness.seeded(seed)).size == 0


def test_records_are_kept_at_the_rates_of_their_groups() -> None:
    codes = np.tile(np.arange(5, dtype=np.int32), 40_000)
    kept = np.zeros(200_000, dtype=bool)
    kept[grouped(UNBOUNDED).keep(holders(np.full(200_000, 0.4), codes), Randomness.seeded(2))] = True
    # 0.4 / 4 at density 2; 0.4 / 2 capped to 0.1 at density 3; everybody; nobody.
    for group, rate in ((0, 0.2), (1, 0.3)):
        low, high = (float(binom.ppf(chance, 40_000, rate)) for chance in (5e-7, 1 - 5e-7))
        assert low <= kept[codes == group].sum() <= high
    assert kept[codes == 3].all()
    assert not kept[np.isin(codes, NOBODY)].any()


@MODELS
def test_without_groups_there_is_one_rule(model: Model) -> None:
    rest = Fraction(3, 8)
    found = locate.thinning_of([plan_of(model, *RULES[0], rest=rest, spared_from=0.25)], grouped=False)
    expected = thinning_of(model, *RULES[0], sum_share=rest, spared_from=0.25)
    assert found.model == expected.model
    for name in ("share", "sum_share", "spared_from", "cap", "density"):
        assert getattr(found, name).tolist() == getattr(expected, name).tolist()
