"""Average: sums in exact integers, whatever the order and the parts; noise of exactly its scale."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from by_budgets import plan_mean
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from recorder import Recorder
from rules import clip_of, clip_weights, exact_sums, group_at, sums_of, three
from statistical.laws import assert_accepts_and_rejects, discrete_laplace_cdf, discrete_laplace_size_cdf, kolmogorov

from pdpmean import Plan, Randomness
from pdpmean.core.choices import Choices, GivenShape
from pdpmean.core.integers import LARGEST_SHIFT, STEPS, steps_of, steps_per_unit
from pdpmean.core.model import BOUNDED, make_model
from pdpmean.core.rules import FAR_CELLS
from pdpmean.core.types import Floats
from pdpmean.laws.clipped_normal import MEDIAN_SIZE
from pdpmean.planning.prediction import NEAR
from pdpmean.planning.released import BellSums, Location, PrivateTotalSums, PublicTotalSums, ReleasedSums
from pdpmean.release.any_shape import FarClip
from pdpmean.release.average import average, summing_of
from pdpmean.release.clip import Clip
from pdpmean.release.gaussian import TentClip
from pdpmean.release.shapes import RELEASES
from pdpmean.sources.arrays import ArraySource

UNBOUNDED = make_model("unbounded", (0.01, 2.0))
shares = st.integers(1, 2**20).map(lambda units: Fraction(units, 2**20))
nears = st.sampled_from([None, STEPS // 8])


def quiet() -> Randomness:
    """No noise at all."""
    return Recorder()


def planned_clip(plan: Plan) -> Clip:
    """The clip of a plan, to 0 +- 1."""
    return RELEASES[plan.shape].clip(plan, Location(0.0, half=1.0))


# Weights


@given(
    st.floats(0, 2.0**40) | st.just(math.inf),
    shares,
    st.floats(2.0**-30, 50.0),
    nears,
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_bounded_weights_are_at_most_the_share(budget: float, share: Fraction, cap: float, near: int | None) -> None:
    clip = clip_of(BOUNDED, share, cap, 0.0, 1.0, near)
    _, weight, _ = sums_of(clip, [0.0], [budget])
    allowed = Fraction(cap) if math.isinf(budget) else min(share * Fraction(budget) / 2, Fraction(cap))
    assert Fraction(weight, 2**clip.shift) <= allowed
    # And hardly less: rounded down by 2**-40 of itself and then by less than one unit.
    assert Fraction(weight) > allowed * 2**clip.shift * (1 - Fraction(1, 2**38)) - 1


@given(st.floats(), shares, st.floats(2.0**-30, 50.0), nears)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_unbounded_weights_are_at_most_the_share(budget: float, share: Fraction, cap: float, near: int | None) -> None:
    clip = clip_of(UNBOUNDED, share, cap, 0.0, 1.0, near)
    _, weight, _ = sums_of(clip, [0.0], [budget])
    granted = Fraction(min(budget, 2.0)) if budget >= 0.01 else Fraction(0)
    assert 0 <= Fraction(weight, 2**clip.shift) <= min(share * granted, Fraction(cap))


def test_the_unbounded_shift_depends_on_public_numbers_alone() -> None:
    # min(cap, 2.0 / 2) = 1 has 26 bits at shift 25; the budgets present do not matter.
    for near in (None, 7):
        assert clip_of(UNBOUNDED, Fraction(1, 2), 50.0, 0.0, 1.0, near).shift == 25
        assert clip_of(UNBOUNDED, Fraction(1, 2), 0.3, 0.0, 1.0, near).shift == 27
        assert clip_of(BOUNDED, Fraction(1, 2), 0.3, 0.0, 1.0, near).shift == 27


def test_the_shift_has_an_upper_limit() -> None:
    # The noise beside squares has scale 4 * 2**24 * 2**34 = 2**60 at most, the largest there may be.
    assert LARGEST_SHIFT == 35
    for model in (BOUNDED, UNBOUNDED):
        for near, largest in ((None, 34), (7, 35)):
            assert clip_of(model, Fraction(1, 2), 2.0**-20, 0.0, 1.0, near).shift == largest


@pytest.mark.parametrize("width", [0.05, 0.219, 0.22, 0.3, 5.0])
def test_the_noise_of_who_is_near_stays_inside_its_limit(width: float) -> None:
    """Who is hardly near any more leaves little of their share, but never next to nothing."""
    plan = plan_mean({1.0: 4000}, shape="gaussian", choices=Choices(clip_half_width=width))
    clip = planned_clip(plan)
    assert isinstance(clip, TentClip)
    assert (clip.near > 0) == (width > 1.25 * NEAR * MEDIAN_SIZE)
    assert 2**LARGEST_SHIFT / clip.near_slack < 2**41


@given(st.integers(-STEPS, STEPS), st.sampled_from([1, 2, 777, STEPS // 6, STEPS - 1, STEPS]))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_the_extra_sum_costs_no_more_than_the_sum_leaves(step: int, near: int) -> None:
    """In fractions of a record's weight, for every step a value may come to, as the integers are."""
    value = step / STEPS
    assert steps_of(np.array([value]), 0.0, *steps_per_unit(1.0)).tolist() == [step]
    for marked in (near % STEPS, None):
        clip = clip_of(BOUNDED, Fraction(1), 1.0, 0.0, 1.0, marked)
        weight = int(clip_weights(clip, np.array([2.0]))[0])
        total, counted, extra = sums_of(clip, [value], [2.0])
        assert weight > 0
        if not isinstance(clip, TentClip):
            assert counted == weight
            spent = clip.slack * (1 - Fraction(extra, weight * STEPS))
        else:
            assert counted in (0, weight)
            spent = clip.slack * Fraction(extra, weight * STEPS) + clip.near_slack * Fraction(counted, weight)
        assert Fraction(abs(total), weight * STEPS) + spent <= 1


# Sums


def by_hand(clip: Clip, values: Floats, budgets: Floats) -> tuple[int, ...]:
    """The three sums in Python integers."""
    near = clip.near if isinstance(clip, TentClip) else None
    total = counted = extra = 0
    for weight, value in zip(clip_weights(clip, budgets).tolist(), values.tolist(), strict=True):
        if math.isnan(value):
            continue
        z = round(min(max((value - clip.middle) / clip.half, -1.0), 1.0) * STEPS)
        total += weight * z
        counted += weight if near is None or abs(z) < near else 0
        extra += weight * (z * z // STEPS if near is None else STEPS - abs(z))
    return total, counted, extra


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
        clip = clip_of(chosen, Fraction(5, 7), 0.7, 5.0, 4.0, near)
        expected = by_hand(clip, values, budgets)
        assert sums_of(clip, values, budgets) == expected
        if near in (STEPS // 8, STEPS + 1):
            assert 0 < expected[2] < clip_weights(clip, budgets).sum() * STEPS
            assert expected[1] > 0


@pytest.mark.parametrize(
    ("value", "near"),
    [(5.0, True), (5.5, False), (math.nextafter(4.5, 0), False), (4.6, True), (math.nan, False), (math.inf, False)],
)
def test_near_values_and_tents_by_hand(value: float, near: bool) -> None:
    # An eighth of 4 on either side of 5; a missing value is not near, and has no tent either.
    clip = clip_of(BOUNDED, Fraction(1, 2), 1.0, 5.0, 4.0, STEPS // 8)
    weight = int(clip_weights(clip, np.array([1.0]))[0])
    assert weight in (2**clip.shift // 4, 2**clip.shift // 4 - 1)
    _, counted, tent = sums_of(clip, [value], [1.0])
    assert counted == (weight if near else 0)
    left = 0.0 if math.isnan(value) else 1 - min(abs(value - 5.0) / 4.0, 1.0)
    assert tent == weight * round(STEPS * left)


def passed(clip: Clip, values: Floats, budgets: Floats) -> tuple[int, ...]:
    """The sums by a whole pass, of as many batches as there are."""
    (row,) = ArraySource(values, budgets).sum(summing_of([clip], grouped=False)).tolist()
    return three(row)


def test_order_and_parts_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    values, budgets = records(9000)
    for near in (None, STEPS // 8):
        monkeypatch.undo()
        clip = clip_of(BOUNDED, Fraction(5, 7), 50.0, 5.0, 4.0, near)
        expected = passed(clip, values, budgets)
        assert expected == by_hand(clip, values, budgets)
        order = np.random.default_rng(3).permutation(values.size)
        assert passed(clip, values[order], budgets[order]) == expected
        for batch in (1000, 4096, 8999):
            monkeypatch.setattr("pdpmean.sources.arrays._BATCH", batch)
            assert passed(clip, values, budgets) == expected
            assert passed(clip, values[order], budgets[order]) == expected


def test_who_grants_nothing_has_no_influence() -> None:
    values, budgets = records(1000)
    granted = budgets > 0
    for model in (BOUNDED, UNBOUNDED):
        for near in (None, STEPS // 8):
            clip = clip_of(model, Fraction(1, 2), 50.0, 5.0, 4.0, near)
            assert sums_of(clip, values, budgets) == sums_of(clip, values[granted], budgets[granted])


# Release


def small_plan(shape: GivenShape, *, unbounded: bool = False) -> Plan:
    return plan_mean({1.0: 4000, 2.0: 1000}, shape=shape, **(UNBOUNDED_OPTIONS if unbounded else {}))


UNBOUNDED_OPTIONS: dict[str, Any] = {"model": "unbounded", "budget_range": (0.5, 2.0)}
BUDGETS: NDArray[np.float64] = np.repeat([1.0, 2.0], [4000, 1000])


def released_at(source: ArraySource, plan: Plan, place: Location, randomness: Randomness) -> ReleasedSums:
    """What is released of all records, clipped there."""
    (group,) = average(source, [group_at(plan, place)], randomness)
    assert group.averaged is not None
    return group.averaged


def averaged(source: ArraySource, plan: Plan, middle: float, half: float, randomness: Randomness) -> BellSums:
    """The average of all records, clipped to middle +- half."""
    released = released_at(source, plan, Location(middle, half=half), randomness)
    assert isinstance(released, BellSums)
    return released


def weights_in(plan: Plan) -> Floats:
    """Of `BUDGETS`, in floating point, from the definition."""
    weights: Floats = np.minimum(plan.model.allowances(BUDGETS) * float(plan.shares["sum"]), plan.weight_cap)
    return weights


@pytest.mark.parametrize("unbounded", [False, True])
def test_without_noise_it_is_the_weighted_clipped_mean(unbounded: bool) -> None:
    plan = small_plan("gaussian", unbounded=unbounded)
    values = np.random.default_rng(4).normal(1.0, 2.0, 5000)
    values[7] = math.nan
    released = averaged(ArraySource(values, BUDGETS), plan, 0.5, 3.0, quiet())
    weights = weights_in(plan)
    clipped = np.nan_to_num(np.clip((values - 0.5) / 3.0, -1, 1))
    parts = np.where(np.isnan(values), 0.0, weights * (1 - np.abs(clipped)))
    assert released.mean == pytest.approx(float((weights * clipped).sum() / parts.sum()), abs=1e-6)
    assert released.tents == pytest.approx(float(parts.sum()), rel=1e-6)
    # A clip to 3 belongs to a spread of 3 MEDIAN_SIZE / clip_half_width: near is within a quarter of that.
    near = np.abs(values - 0.5) < 3.0 * NEAR * MEDIAN_SIZE / plan.clip_half_width
    assert 0 < near.sum() < 5000
    assert released.near == pytest.approx(float((weights * near).sum() / parts.sum()), abs=1e-6)


def far_cells(distances: Floats, weights: Floats) -> Floats:
    """By hand, from halves of the clip: cells from 2**(3/2), 2**(4/2), ... on, the last one without an end."""
    cells = np.zeros(FAR_CELLS)
    for distance, weight in zip(distances.tolist(), weights.tolist(), strict=True):
        if distance >= math.sqrt(8):
            cell = min(math.floor(2 * math.log2(distance)) - 3, FAR_CELLS - 1)
            cells[cell] += weight * min(distance / 2 ** ((cell + 4) / 2), 1.0)
    return cells


@pytest.mark.parametrize("unbounded", [False, True])
def test_without_noise_any_shape_is_sums_and_cells(unbounded: bool) -> None:
    """A value is in the sums, in one far cell, or missing."""
    plan = small_plan("any", unbounded=unbounded)
    values = np.random.default_rng(4).standard_cauchy(5000)
    values[7:9], values[9], values[10] = math.nan, 1e9, -1e200
    released = released_at(ArraySource(values, BUDGETS), plan, Location(0.0, half=3.0, offset=0.5), quiet())
    weights, z = weights_in(plan), (values - 0.5) / 3.0
    inside = np.abs(z) < math.sqrt(8)
    clipped = np.clip(z, -1.0, 1.0)[inside]
    own = weights[inside]
    assert isinstance(released, PrivateTotalSums if unbounded else PublicTotalSums)
    if isinstance(released, PublicTotalSums):
        assert released.values == pytest.approx(float((own * clipped).sum()), abs=1e-3)
        assert released.weight_less_squares == pytest.approx(float((own * (1 - clipped**2)).sum()), abs=1e-3)
        assert released.total_weight == pytest.approx(float(weights.sum()), rel=1e-6)
    else:
        u = (clipped + 1) / 2
        parts = [float((own * part).sum()) for part in ((1 - u) ** 2, 2 * u * (1 - u), u**2)]
        assert [released.low, released.middle, released.high] == pytest.approx(parts, abs=1e-3)
        assert released.weight_inside == pytest.approx(float(own.sum()), rel=1e-6)
    assert released.missing == pytest.approx(float(weights[7:9].sum()), rel=1e-6)
    present = ~np.isnan(values)
    below, above = (far_cells(sign * z[present], weights[present]) for sign in (-1, 1))
    assert np.count_nonzero(below) > 10
    assert released.below == pytest.approx(below, abs=1e-3)
    assert released.above == pytest.approx(above, abs=1e-3)


def test_beyond_a_bound_nothing_is_far() -> None:
    """Where the clip ends at a bound, what lies beyond counts as the bound; on the other side it is far."""
    plan = plan_mean({1.0: 4000, 2.0: 1000}, bounds=(-2.5, None))
    values = np.where(np.arange(5000) % 2, 1e6, -1e6)
    released = released_at(ArraySource(values, BUDGETS), plan, Location(0.0, half=3.0, offset=0.5), quiet())
    assert isinstance(released, PublicTotalSums)
    assert not any(released.below)
    assert released.values == pytest.approx(-float(weights_in(plan)[::2].sum()), rel=1e-6)
    assert sum(released.above) > 0


def noise_of(plan: Plan, name: str, draws: int = 3000) -> tuple[list[int], float]:
    """Noise, in the integers it was drawn in, of one of the released numbers; and the scale it should have.

    From docs/guarantee.md: 2**q H for the sum, so that the share `sum` costs a record W / 2**q; 4/3 of it for the
    tents; and for whoever is near four times what their distance leaves.
    """
    unit = 2.0 ** planned_clip(plan).shift
    source = ArraySource(np.zeros(5000), BUDGETS)  # all are near, and their tents are their weights
    exact = averaged(source, plan, 0.0, 1.0, quiet()).tents * unit
    randomness = Randomness.seeded(5)
    sample = []
    for _ in range(draws):
        released = averaged(source, plan, 0.0, 1.0, randomness)
        if name == "near":
            sample.append(round(released.near * released.tents * unit - exact))
        elif name == "tents":
            sample.append(round((released.tents * unit - exact) * STEPS))
        else:
            sample.append(round(released.mean * released.tents * unit * STEPS))
    near = NEAR * MEDIAN_SIZE / plan.clip_half_width
    return sample, unit * {"sum": STEPS, "tents": STEPS * 4 / 3, "near": 4 / (1 - near)}[name]


# The scale of the noise of the numbers that any shape releases, in nats.
PUBLIC_TOTAL = {"values": 1.0, "weight_less_squares": 2.0, "missing": 1.0, "below": 1.0, "above": 1.0}
PRIVATE_TOTAL = {"low": 1.0, "middle": 1.0, "high": 1.0, "missing": 1.0, "below": 1.0, "above": 1.0}


@pytest.mark.parametrize("unbounded", [False, True])
def test_noise_of_any_shape_has_its_scale(unbounded: bool) -> None:
    """Of a far cell of each side, the other numbers; in units of 2**-24 nats."""
    plan, source = small_plan("any", unbounded=unbounded), ArraySource(np.zeros(3), np.ones(3))

    def numbers(randomness: Randomness) -> dict[str, float]:
        released = vars(released_at(source, plan, Location(0.0, half=1.0), randomness))
        return {**released, "below": released["below"][5], "above": released["above"][-1]}

    exact, randomness = numbers(quiet()), Randomness.seeded(5)
    drawn = [numbers(randomness) for _ in range(3000)]
    for name, in_nats in (PRIVATE_TOTAL if unbounded else PUBLIC_TOTAL).items():
        assert_has_scale([round((each[name] - exact[name]) * STEPS) for each in drawn], in_nats * STEPS)


@pytest.mark.parametrize(
    ("name", "unbounded"),
    [
        ("sum", False),
        ("sum", True),
        ("tents", False),
        ("tents", True),
        ("near", False),
        ("near", True),
    ],
)
def test_noise_has_its_scale(name: str, unbounded: bool) -> None:
    assert_has_scale(*noise_of(small_plan("gaussian", unbounded=unbounded), name))


def assert_has_scale(sample: list[int], scale: float) -> None:
    """Whether noise is Laplace of this scale, and of no other."""

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


def test_the_doubt_is_the_scale_of_the_noise() -> None:
    """Of who is near, over the total it is divided by."""
    plan, recorder = small_plan("gaussian"), Recorder()
    released = averaged(ArraySource(np.full(5000, 0.25), BUDGETS), plan, 0.0, 1.0, recorder)
    unit = 2 ** planned_clip(plan).shift
    (number, _), *_, (_, scale) = recorder.asked
    assert released.near_noise_scale == pytest.approx(scale / (released.tents * unit), rel=1e-12)
    assert released.mean * released.tents * unit * STEPS == pytest.approx(number, rel=1e-12)


def test_missing_and_far_values_are_in_no_other_sum() -> None:
    clip = clip_of(BOUNDED, Fraction(1), 1.0, 0.0, 1.0, None, far=True)
    assert isinstance(clip, FarClip)
    weight = int(clip_weights(clip, np.array([1.0]))[0])
    missing, far, inside = (exact_sums(clip, [value], [1.0]) for value in (math.nan, -3.0, 2.8))
    assert (missing.values, missing.counted, missing.extra, missing.missing) == (0, 0, 0, weight)
    assert (far.values, far.counted, far.extra, far.missing, far.far_weight) == (0, 0, 0, 0, weight)
    assert (inside.values, inside.counted, inside.extra) == (weight * STEPS, weight, weight * STEPS)
    assert not any(missing.far + inside.far)
    assert [cell for cell, weight in enumerate(far.far) if weight] == [0]  # of those below, which come first
    assert missing.total_weight == far.total_weight == inside.total_weight == weight


def test_small_budgets_of_any_shape_keep_the_noise_inside_its_limit() -> None:
    # The noise of the parts is four times that of a sum: 2**60 is the limit.
    plan = plan_mean({0.001: 4_000_000}, model="unbounded", budget_range=(0.001, 0.001), shape="any")
    source = ArraySource(np.ones(10), np.full(10, 0.001))
    released = released_at(source, plan, Location(0.0, half=2.0), Randomness.seeded(1))
    assert isinstance(released, PrivateTotalSums)
    assert math.isfinite(released.weight_inside)


# Groups

CODES: NDArray[np.int32] = np.random.default_rng(8).integers(0, 4, 5000).astype(np.int32)  # 3 is no group asked for
PLACES = [Location(0.5, half=3.0), Location(-2.0, half=1.5), Location(1e6, half=2.0**-910)]


@pytest.mark.parametrize("shape", ["gaussian", "any"])
@pytest.mark.parametrize("unbounded", [False, True])
@pytest.mark.parametrize("refused", [None, 0, 2])
def test_a_group_is_released_as_its_records_alone(shape: GivenShape, unbounded: bool, refused: int | None) -> None:
    """The integers under the noise and its scales, to the last bit; nothing of a group without a plan."""
    plans = [
        plan_mean(tiers, shape=shape, **(UNBOUNDED_OPTIONS if unbounded else {}))
        for tiers in ({1.0: 9000}, {0.5: 9000, 2.0: 3000}, {1.0: 40_000})
    ]
    asked: list[Plan | None] = [None if number == refused else plan for number, plan in enumerate(plans)]
    located = [group_at(plan, place if plan else None) for plan, place in zip(asked, PLACES, strict=True)]
    values = np.random.default_rng(4).normal(1.0, 2.0, 5000)
    values[:3] = math.nan, math.inf, -math.inf
    together, apart = Recorder(), Recorder()
    found = average(ArraySource(values, BUDGETS, CODES, 3), located, together)
    expected = []
    for group, (plan, where) in enumerate(zip(asked, PLACES, strict=True)):
        own = np.flatnonzero(np.equal(CODES, group))
        alone = ArraySource(values[own], BUDGETS[own])
        expected.append(released_at(alone, plan, where, apart) if plan else None)
    assert [group.averaged for group in found] == expected
    assert together.asked == apart.asked
    numbers = 3 if shape == "gaussian" else 2 * FAR_CELLS + (4 if unbounded else 3)
    assert len(together.asked) == numbers * (3 if refused is None else 2)


def test_where_no_group_has_a_plan_nothing_is_summed() -> None:
    recorder, refused = Recorder(), [group_at(None, None)] * 3
    assert average(ArraySource(np.zeros(5000), BUDGETS, CODES, 3), refused, recorder) == refused
    assert recorder.asked == []


@pytest.mark.parametrize("shape", ["gaussian", "any"])
def test_weights_too_small_for_a_unit_give_a_number(shape: GivenShape) -> None:
    """The plan is for budgets of 0.5; those of 2**-40 come to nothing in its units, publicly."""
    plan = plan_mean({0.5: 100_000}, shape=shape)
    source = ArraySource(np.ones(9), np.full(9, 2.0**-40))
    released = released_at(source, plan, Location(0.0, half=1.0), quiet())
    if isinstance(released, BellSums):
        assert (released.mean, released.tents * 2.0**40 > 0) == (0.0, True)
    else:
        assert isinstance(released, PublicTotalSums)
        assert (released.values, released.total_weight) == (0.0, 0.0)
