"""Average: sums in exact integers, whatever the order and the parts; noise of exactly its scale."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from statistical.laws import assert_accepts_and_rejects, discrete_laplace_cdf, discrete_laplace_size_cdf, kolmogorov

from pdpmean import Plan, Randomness, plan_mean
from pdpmean.average import (
    LARGEST_SHIFT,
    LARGEST_SQUARES_SHIFT,
    STEPS,
    WEIGHT_BITS,
    Summing,
    average,
    exact_dot,
    steps_of,
    weight_shift,
)
from pdpmean.choices import ShapeName
from pdpmean.clipped_normal import MEDIAN_SIZE
from pdpmean.inputs import Floats
from pdpmean.model import BOUNDED, make_model
from pdpmean.sources.arrays import ArraySource

UNBOUNDED = make_model("unbounded", (0.01, 2.0))
shares = st.integers(1, 2**20).map(lambda units: Fraction(units, 2**20))
nears = st.sampled_from([None, STEPS // 8])


def quiet() -> Randomness:
    return Randomness(lambda: bytes(32), lambda *_: 0, private=False)


# Integers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (10.0, 0),
        (12.0, STEPS),
        (8.0, -STEPS),
        (11.0, STEPS // 2),
        (1e9, STEPS),
        (math.inf, STEPS),
        (-math.inf, -STEPS),
        (math.nan, 0),
        (10.0 + 2.0 / STEPS * 0.75, 1),
        (1.7e308, STEPS),
    ],
)
def test_steps_by_hand(value: float, expected: int) -> None:
    assert steps_of(np.array([value]), 10.0, 2.0).tolist() == [expected]


@given(st.lists(st.floats(), min_size=1, max_size=20), st.floats(-1e308, 1e308), st.floats(2.0**-1000, 1e307))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_steps_never_leave_their_range(values: list[float], middle: float, half: float) -> None:
    steps = steps_of(np.array(values), middle, half)
    assert steps.dtype == np.int64
    assert np.abs(steps).max() <= STEPS


def test_the_largest_products_do_not_overflow() -> None:
    # 5 000 times 2**26 * 2**24 exceeds 2**62, a bit more than one block; three blocks exceed 2**63.
    for sign in (1, -1):
        for size in (1, 4096, 4097, 5000, 12_289):
            weights, steps = np.full(size, 2**WEIGHT_BITS), np.full(size, sign * STEPS)
            assert exact_dot(weights, steps) == sign * size * 2 ** (WEIGHT_BITS + 24)
    assert exact_dot(np.full(20_000, 2**WEIGHT_BITS), np.full(20_000, STEPS)) > 2**63
    assert exact_dot(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)) == 0


def test_dot_against_python_integers() -> None:
    generator = np.random.default_rng(1)
    weights = generator.integers(0, 2**WEIGHT_BITS, 9001, endpoint=True)
    steps = generator.integers(-STEPS, STEPS, 9001, endpoint=True)
    assert exact_dot(weights, steps) == sum(a * b for a, b in zip(weights.tolist(), steps.tolist(), strict=True))


@given(st.floats(2.0**-60, 50.0))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_weights_fit_their_bits_and_the_noise_its_limit(largest: float) -> None:
    shift = weight_shift(largest)
    assert Fraction(largest) * 2**shift <= 2**WEIGHT_BITS
    assert shift <= LARGEST_SHIFT
    assert STEPS * 2**shift <= 2**60  # the largest scale that Randomness takes
    assert shift == LARGEST_SHIFT or Fraction(largest) * 2**shift >= 2 ** (WEIGHT_BITS - 1)


# Weights


@given(
    st.floats(0, 2.0**40) | st.just(math.inf),
    shares,
    st.floats(2.0**-30, 50.0),
    nears,
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_bounded_weights_are_at_most_the_share(budget: float, share: Fraction, cap: float, near: int | None) -> None:
    summing = Summing(BOUNDED, share, cap, 0.0, 1.0, near)
    (weight,) = summing.weights(np.array([budget])).tolist()
    allowed = Fraction(cap) if math.isinf(budget) else min(share * Fraction(budget) / 2, Fraction(cap))
    assert Fraction(weight, 2**summing.shift) <= allowed
    # And hardly less: rounded down by 2**-40 of itself and then by less than one unit.
    assert Fraction(weight) > allowed * 2**summing.shift * (1 - Fraction(1, 2**38)) - 1


@given(st.floats(), shares, st.floats(2.0**-30, 50.0), nears)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_unbounded_weights_are_at_most_the_share(budget: float, share: Fraction, cap: float, near: int | None) -> None:
    summing = Summing(UNBOUNDED, share, cap, 0.0, 1.0, near)
    (weight,) = summing.weights(np.array([budget])).tolist()
    granted = Fraction(min(budget, 2.0)) if budget >= 0.01 else Fraction(0)
    assert 0 <= Fraction(weight, 2**summing.shift) <= min(share * granted, Fraction(cap))


def test_the_unbounded_shift_depends_on_public_numbers_alone() -> None:
    # min(cap, 2.0 / 2) = 1 has 26 bits at shift 25; the budgets present do not matter.
    for near in (None, 7):
        assert Summing(UNBOUNDED, Fraction(1, 2), 50.0, 0.0, 1.0, near).shift == 25
        assert Summing(UNBOUNDED, Fraction(1, 2), 0.3, 0.0, 1.0, near).shift == 27
        assert Summing(BOUNDED, Fraction(1, 2), 0.3, 0.0, 1.0, near).shift == 27


def test_the_shift_has_an_upper_limit_and_a_lower_one_with_squares() -> None:
    # The noise of the sum has scale 2**24 * 2**35 < 2**60; that of the squares is up to 2**6 times larger.
    assert (LARGEST_SHIFT, LARGEST_SQUARES_SHIFT) == (35, 30)
    for model in (BOUNDED, UNBOUNDED):
        assert Summing(model, Fraction(1, 2), 2.0**-20, 0.0, 1.0, 7).shift == 35
        assert Summing(model, Fraction(1, 2), 2.0**-20, 0.0, 1.0, None).shift == 30


# Sums


def by_hand(summing: Summing, values: Floats, budgets: Floats) -> tuple[int, ...]:
    """The three sums in Python integers."""
    total = all_weight = extra = 0
    for weight, value in zip(summing.weights(budgets).tolist(), values.tolist(), strict=True):
        missing = math.isnan(value)
        z = 0 if missing else round(min(max((value - summing.middle) / summing.half, -1.0), 1.0) * STEPS)
        total, all_weight = total + weight * z, all_weight + weight
        extra += weight * (z * z // STEPS if summing.near is None else int(not missing and abs(z) < summing.near))
    return total, all_weight, extra


def records(size: int) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(2)
    values = generator.normal(5.0, 3.0, size)
    values[::17] = math.nan
    values[5::31] = math.inf
    return values, generator.choice([0.0, 0.1, 0.5, 2.0, math.inf], size)


@pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED])
def test_sums_against_python_integers(model: object) -> None:
    values, budgets = records(9000)
    chosen = BOUNDED if model is BOUNDED else UNBOUNDED
    for near in (None, 1, STEPS // 8, STEPS + 1):
        summing = Summing(chosen, Fraction(5, 7), 0.7, 5.0, 4.0, near)
        expected = by_hand(summing, values, budgets)
        assert summing(values, budgets) == expected
        if near in (STEPS // 8, STEPS + 1):
            assert 0 < expected[2] < expected[1]


@pytest.mark.parametrize(
    ("value", "near"),
    [(5.0, True), (5.5, False), (math.nextafter(4.5, 0), False), (4.6, True), (math.nan, False), (math.inf, False)],
)
def test_near_by_hand(value: float, near: bool) -> None:
    # An eighth of 4 on either side of 5; a missing value is 0 in the sum, yet not near.
    summing = Summing(BOUNDED, Fraction(1, 2), 1.0, 5.0, 4.0, STEPS // 8)
    _, weight, extra = summing(np.array([value]), np.array([1.0]))
    assert weight in (2**summing.shift // 4, 2**summing.shift // 4 - 1)
    assert extra == (weight if near else 0)


def test_order_and_parts_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    values, budgets = records(9000)
    for near in (None, STEPS // 8):
        monkeypatch.undo()
        summing = Summing(BOUNDED, Fraction(5, 7), 50.0, 5.0, 4.0, near)
        expected = ArraySource(values, budgets).sum(summing)
        order = np.random.default_rng(3).permutation(values.size)
        assert ArraySource(values[order], budgets[order]).sum(summing) == expected
        for batch in (1000, 4096, 8999):
            monkeypatch.setattr("pdpmean.sources.arrays._BATCH", batch)
            assert ArraySource(values, budgets).sum(summing) == expected
            assert ArraySource(values[order], budgets[order]).sum(summing) == expected


def test_who_grants_nothing_has_no_influence() -> None:
    values, budgets = records(1000)
    granted = budgets > 0
    for model in (BOUNDED, UNBOUNDED):
        for near in (None, STEPS // 8):
            summing = Summing(model, Fraction(1, 2), 50.0, 5.0, 4.0, near)
            assert summing(values, budgets) == summing(values[granted], budgets[granted])


# Release


def small_plan(shape: str = "gaussian", *, unbounded: bool = False) -> Plan:
    kind: ShapeName = "any" if shape == "any" else "gaussian"
    tiers = {1.0: 4000, 2.0: 1000}
    if unbounded:
        return plan_mean(tiers, model="unbounded", budget_range=(0.5, 2.0), shape=kind)
    return plan_mean(tiers, shape=kind)


BUDGETS: NDArray[np.float64] = np.repeat([1.0, 2.0], [4000, 1000])


@pytest.mark.parametrize("shape", ["gaussian", "any"])
@pytest.mark.parametrize("unbounded", [False, True])
def test_without_noise_it_is_the_weighted_clipped_mean(shape: str, unbounded: bool) -> None:
    plan = small_plan(shape, unbounded=unbounded)
    values = np.random.default_rng(4).normal(1.0, 2.0, 5000)
    values[7] = math.nan
    released = average(ArraySource(values, BUDGETS), plan, 0.5, 3.0, quiet())
    # In floating point, from the definition.
    weights = np.minimum(plan.model.allowances(BUDGETS) * float(plan.shares["sum"]), plan.weight_cap)
    clipped = np.nan_to_num(np.clip((values - 0.5) / 3.0, -1, 1))
    assert released.mean == pytest.approx(float((weights * clipped).sum() / weights.sum()), abs=1e-6)
    assert released.weight == pytest.approx(float(weights.sum()), rel=1e-6)
    if shape == "any":
        assert released.square == pytest.approx(float((weights * clipped**2).sum() / weights.sum()), abs=1e-6)
        assert released.near is None
    else:
        assert released.square is None
        # A clip to 3 belongs to a spread of 3 MEDIAN_SIZE / clip_width: near is within a quarter of that.
        near = np.abs(values - 0.5) < 3.0 * MEDIAN_SIZE / plan.clip_width / 4
        assert 0 < near.sum() < 5000
        assert released.near == pytest.approx(float((weights * near).sum() / weights.sum()), abs=1e-6)


def noise_of(plan: Plan, name: str, draws: int = 3000) -> tuple[list[int], float]:
    """Noise, in the integers it was drawn in, of one of the released numbers; and the scale it should have.

    From DESIGN.md: 2**q H for the sum, so that the share `sum` costs a record W / 2**q; in proportion for the others.
    """
    near = None if plan.shape == "any" else 1
    shift = Summing(plan.model, plan.shares["sum"], plan.weight_cap, 0.0, 1.0, near).shift
    unit = 2.0**shift
    source = ArraySource(np.zeros(5000), BUDGETS)
    exact = average(source, plan, 0.0, 1.0, quiet()).weight * unit
    randomness = Randomness.seeded(5)
    sample = []
    for _ in range(draws):
        released = average(source, plan, 0.0, 1.0, randomness)
        if name == "weights":
            sample.append(round(released.weight * unit - exact))
        elif name == "check":  # all values are near
            assert released.near is not None
            sample.append(round(released.near * released.weight * unit - exact))
        else:
            number = released.mean if name == "sum" else released.square
            assert number is not None
            sample.append(round(number * released.weight * unit * STEPS))
    size = 1 if name in ("weights", "check") else STEPS
    return sample, size * unit * float(plan.shares["sum"] / plan.shares[name])


@pytest.mark.parametrize(
    ("name", "shape", "unbounded"),
    [
        ("sum", "gaussian", False),
        ("sum", "any", True),
        ("weights", "gaussian", True),
        ("square", "any", False),
        ("check", "gaussian", False),
        ("check", "gaussian", True),
    ],
)
def test_noise_has_its_scale(name: str, shape: str, unbounded: bool) -> None:
    sample, scale = noise_of(small_plan(shape, unbounded=unbounded), name)

    def mutant(factor: float) -> list[int]:
        randomness = Randomness.seeded(6)
        return [randomness.add_laplace(0, factor * scale) for _ in range(3000)]

    sizes = [abs(noise) for noise in sample]
    assert_accepts_and_rejects(
        lambda some: kolmogorov([abs(noise) for noise in some], discrete_laplace_size_cdf(scale)),
        sizes,
        {"times 0.7": mutant(0.7), "times 1.3": mutant(1.3)},
    )
    assert kolmogorov(sample, discrete_laplace_cdf(scale)) > 1e-12


def test_small_budgets_of_any_shape_keep_the_noise_inside_its_limit() -> None:
    # The share of the squares is a small part of that of the sum, so their noise is larger: 2**60 is the limit.
    plan = plan_mean({0.001: 4_000_000}, model="unbounded", budget_range=(0.001, 0.001), shape="any")
    released = average(ArraySource(np.ones(10), np.full(10, 0.001)), plan, 0.0, 2.0, Randomness.seeded(1))
    assert math.isfinite(released.mean)
