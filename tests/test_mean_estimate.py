"""Results: how they print, what they promise, and numbers that follow by hand from what was released."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from messages import messages_of
from recorder import Recorder
from scipy.stats import norm

import pdpmean
from pdpmean import InvalidInputError, MeanEstimate, Plan, PopulationWarning, Randomness, estimate_mean, plot
from pdpmean.core.promise import Promise
from pdpmean.inference import gaussian
from pdpmean.inference.conclude import conclude
from pdpmean.inference.known_bounds import MANY_MISSING
from pdpmean.laws.clipped_normal import MEDIAN_SIZE, clipped_mean, mean_tent, size_quantile
from pdpmean.laws.error_law import ErrorLaw, half_width
from pdpmean.planning.prediction import NEAR, center_error
from pdpmean.planning.released import BellSums, Location, Released

UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.25, 1.0)}
NEAR_NOISE_SCALE = 0.01  # the scale of the noise on a check
TIERS = {0.5: 8000, 1.0: 4000}


def plan_mean(budgets: Any, **options: Any) -> Plan:
    """A plan for a bell, in which people count by their budgets."""
    plan: Plan = pdpmean.plan_mean(budgets, shape="gaussian", weighting="budgets", **options)
    return plan


def promised(plan: Plan, *, private: bool = True) -> Promise:
    """What is promised where every share of the plan is used."""
    return Promise(plan.model, sum(plan.shares.values(), Fraction(0)), private)


def concluded(
    plan: Plan, location: Location, averaged: BellSums, squares: float | None, promise: Promise
) -> MeanEstimate:
    """The result of one group."""
    (found,) = conclude([Released(plan, location, averaged, squares)], promise)
    assert found
    return found


def released(
    plan: Plan,
    center: float,
    sigma: float,
    shift: float = 0.0,
    *,
    private: bool = True,
    weight: float | None = None,
    squares: float | None = None,
) -> MeanEstimate:
    """The result where everything released is exactly what N(center + shift * sigma, sigma**2) leads to."""
    size = float(size_quantile(shift, 0.5))
    width = plan.clip_half_width * size / MEDIAN_SIZE
    half = width * sigma
    clipped = float(clipped_mean(width, shift)) / width
    total = plan.mean.weight if weight is None else weight
    tent = float(mean_tent(width, shift)) / width
    near = float(np.diff(norm.cdf(np.array([-1, 1]) * NEAR * size - shift))[0])
    averaged = BellSums(clipped / tent, total * tent, near=near / tent, near_noise_scale=NEAR_NOISE_SCALE)
    location = Location(center, half, sigma * size)
    return concluded(plan, location, averaged, squares, promised(plan, private=private))


def recorded(values: Any, budgets: Any, **options: Any) -> tuple[list[Released | None], Any]:
    """What was released of each group on the way to a result, and the result."""
    with mock.patch("pdpmean.estimate.conclude", side_effect=conclude) as concluding:
        found = estimate_mean(values, budgets, **{"randomness": Randomness.seeded(1), **options})
    return concluding.call_args.args[0], found


class Quiet(Recorder):
    """No Laplace noise at all."""

    def spawn(self) -> Randomness:
        return Quiet()


@pytest.fixture
def plan() -> Plan:
    return plan_mean(TIERS)


# Numbers


def test_a_centred_population_is_recovered(plan: Plan) -> None:
    found = released(plan, 10.0, 2.0)
    assert found.mean == pytest.approx(10.0)
    assert found.scale == pytest.approx(2.0)
    assert found.center == 10.0
    assert messages_of(found) == ()
    # Its error is what the plan predicted, but for the uncertain scale.
    assert found.std == pytest.approx(2.0 * plan.expected_std, rel=0.1)
    assert found.std == pytest.approx(math.hypot(found.noise_std, found.sampling_std))


def test_a_shifted_population_is_recovered(plan: Plan) -> None:
    found = released(plan, 10.0, 2.0, 0.1)
    assert found.mean == pytest.approx(10.2)
    assert found.scale == pytest.approx(2.0)
    assert found.interval(0.5)[0] < found.mean < found.interval(0.5)[1]


@pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_many_groups_are_concluded_as_each_alone(options: dict[str, Any]) -> None:
    """More than are solved for at once, some refused, and some so far out that the solver has to walk."""
    rng, count = np.random.default_rng(3), 2 * gaussian._BATCH + 5
    plans = [plan_mean({0.5: 8000 + 50 * group, 1.0: 4000}, **options) for group in range(8)]
    given = [None if group % 7 == 3 else plans[group % 8] for group in range(count)]
    located = [
        Location(float(rng.normal(0, 9)), plan.clip_half_width * spread / MEDIAN_SIZE, spread) if plan else None
        for plan, spread in zip(given, np.exp(rng.normal(0, 3, count)).tolist(), strict=True)
    ]
    averaged = [
        BellSums(float(mean), plan.mean.weight * 0.9, near=0.1, near_noise_scale=0.001) if plan else None
        for plan, mean in zip(given, rng.standard_cauchy(count) / 20, strict=True)
    ]
    squares = [plan.mean.square * 1.2 if plan and "weight_squares" in plan.shares else None for plan in given]
    promise = promised(plans[0])
    groups = [
        Released(plan, where, sums, square) if plan and where and sums else None
        for plan, where, sums, square in zip(given, located, averaged, squares, strict=True)
    ]
    together = conclude(groups, promise)
    assert [group is None for group in groups] == [plan is None for plan in given]
    for found, group in zip(together, groups, strict=True):
        assert_as_alone(found, group, promise)


def assert_as_alone(found: MeanEstimate | None, group: Released | None, promise: Promise) -> None:
    """Whether a group has the result that it would have if there were no others."""
    if group is None:
        assert found is None
        return
    assert found is not None
    (alone,) = conclude([group], promise)
    assert alone is not None
    assert [found.released_mean, found.scale, found.std, *found.law.interval(0.95)] == pytest.approx(
        [alone.released_mean, alone.scale, alone.std, *alone.law.interval(0.95)], rel=1e-7
    )
    assert (found.center, found.plan, messages_of(found)) == (alone.center, alone.plan, messages_of(alone))


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("bounds", [None, (0, None), (-20, 60)], ids=str)
@pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_many_groups_of_any_shape_are_concluded_as_each_alone(options: dict[str, Any], bounds: Any) -> None:
    """More than are concluded at once, one refused, all of other widths and places, skewed, and with values missing."""
    rng, count = np.random.default_rng(4), 40
    place = np.repeat(np.arange(count), 1500)[1495:]
    values = place + np.exp(place / 20 + 0.5 * rng.normal(size=place.size))
    values[rng.random(place.size) < place / 100] = math.nan
    groups, found = recorded(values, 1.0, by=place, groups=range(count), bounds=bounds, **options)
    assert [group is None for group in groups] == [True] + [False] * (count - 1)
    promise = Promise(found[1].plan.model, Fraction(1), private=False, groups=count)
    for number, group in enumerate(groups):
        if group is not None:
            assert_as_alone(found[number], group, promise)


@pytest.mark.parametrize("bounds", [None, (10, None), (None, 14)], ids=str)
@pytest.mark.parametrize("options", [{}, {"model": "unbounded", "budget_range": (1.0, 1.0)}], ids=str)
def test_any_shape_by_hand(options: dict[str, Any], bounds: Any) -> None:
    """Without noise: a quarter has 11, the others 13, and a tenth of all are missing, whose weight counts nothing."""
    values = np.tile([11.0, 13.0, 13.0, 13.0], 5000)
    values[:2000] = math.nan
    (group,), found = recorded(values, 1.0, bounds=bounds, randomness=Quiet(), **options)
    assert group is not None
    low, high = group.location.middle - group.location.half, group.location.middle + group.location.half
    assert low < 13 <= high
    assert found.mean == pytest.approx(12.5, abs=0.01)
    assert found.scale == pytest.approx(math.sqrt(0.75), rel=0.05)
    assert found.missing == pytest.approx(0.1, abs=1e-3)
    # The error is that of 18,000 people, beside noise of one half of the clip per nat and of the missing weight;
    # or, where their weight is private, of three sums with noise: of what lies below and above, and in the middle.
    assert found.sampling_std == pytest.approx(math.sqrt(1.1 * 0.75 / 18_000), rel=0.05)
    z = (12.5 - group.location.middle) / group.location.half
    squares = (1 - z) ** 2 + (1 + z) ** 2 + z**2 if options else 1 + z**2
    weight = 18_000 * float(found.plan.shares["sum"]) / (1 if options else 2)
    assert found.noise_std == pytest.approx(math.sqrt(2 * squares) * group.location.half / weight, rel=0.02)
    assert messages_of(found) == ()


def test_interval_at_levels(plan: Plan) -> None:
    found = released(plan, 10.0, 2.0)
    ends = [found.interval(level) for level in (0.5, 0.8, 0.95, 0.99)]
    widths = [high - low for low, high in ends]
    assert widths == sorted(widths)
    assert found.interval() == found.interval(0.95)
    for level, (low, high) in zip((0.5, 0.8, 0.95, 0.99), ends, strict=True):
        assert found.law.cdf(high) - found.law.cdf(low) == pytest.approx(level, abs=1e-5)
    # Mostly sampling: close to normal.
    assert widths[2] / 2 == pytest.approx(float(norm.ppf(0.975)) * found.std, rel=0.05)
    for level in (0.0, 1.0, 95):
        with pytest.raises(InvalidInputError, match="level must lie strictly between 0 and 1"):
            found.interval(level)


def test_less_weight_than_planned_widens_the_interval() -> None:
    plan = plan_mean(TIERS, **UNBOUNDED)
    few = released(plan, 10.0, 2.0, weight=0.5 * plan.mean.weight)
    many = released(plan, 10.0, 2.0)
    assert few.noise_std == pytest.approx(2 * many.noise_std, rel=0.05)
    assert few.sampling_std > 1.3 * many.sampling_std


def test_the_squares_of_the_weights_narrow_the_sampling_error() -> None:
    plan = plan_mean(TIERS, **UNBOUNDED)
    expected = plan.mean.square
    as_planned = released(plan, 10.0, 2.0)
    # So far the released number is trusted beside one that may be off by half; 0.7 of what both err by are added.
    noise = math.sqrt(2) * plan.largest_weight * float(plan.shares["sum"] / plan.shares["weight_squares"]) / expected
    trust = 1 / (1 + (2 * noise) ** 2)
    assert 0.8 < trust < 0.99
    for factor in (0.6, 0.7, 0.8):
        fewer = released(plan, 10.0, 2.0, squares=factor * expected)
        assert fewer.noise_std == as_planned.noise_std
        ratio = fewer.sampling_std / as_planned.sampling_std
        assert ratio == pytest.approx(math.sqrt(1 + trust * (factor - 1) + 0.7 * math.sqrt(trust) * noise), rel=0.01)


def test_squares_that_cannot_be_are_brought_back_to_what_can() -> None:
    plan = plan_mean(TIERS, **UNBOUNDED)
    share = float(plan.shares["sum"])
    # All weights equal to the least of the range, or to the largest.
    ends = ((-1e9, 0.25 * share), (1e9, plan.largest_weight))
    for squares, weight in ends:
        averaged = BellSums(0.0, 0.3 * plan.mean.weight, near=0.3, near_noise_scale=NEAR_NOISE_SCALE)
        group = gaussian._Bell(Released(plan, Location(0.0, 1.0, 1.0), averaged, squares))
        assert group.square == pytest.approx(weight * group.weight)


@pytest.mark.parametrize("options", [{}, {"share": 0.25}, {"share": Fraction(1, 3)}, UNBOUNDED, {"shape": "gaussian"}])
def test_spent_is_the_share(options: dict[str, Any]) -> None:
    values = np.random.default_rng(1).normal(size=40_000)
    found = estimate_mean(values, 0.5, randomness=Randomness.seeded(1), **options)
    assert found.spent == Fraction(math.floor(Fraction(options.get("share", 1)) * 2**20), 2**20)
    assert found.spent == sum(found.plan.shares.values())


# Warnings


def test_a_mean_far_from_the_median_warns(plan: Plan) -> None:
    # What the median errs by, one time in a thousand, and the noise of the mean; and what coarse rounding does to it.
    noise, sampling = center_error(plan.center)
    by_chance = half_width(0.999, noise, math.hypot(sampling, plan.noise_std))
    assert by_chance < 0.17
    far = "mean and median differ by more than a bell-shaped population allows"
    apart = "mean and median differ: the population is skewed, unless its values are coarsely rounded: use shape='any'"
    for shift, warned in ((0.16, ()), (0.18, (apart,)), (0.25, (apart,)), (0.27, (far,)), (0.9, (far,))):
        for sign in (1, -1):
            assert messages_of(released(plan, 0.0, 1.0, sign * shift)) == warned


def test_where_the_median_errs_more_a_mean_farther_from_it_is_no_sign() -> None:
    plan = plan_mean({0.5: 1000})
    noise, sampling = center_error(plan.center)
    by_chance = half_width(0.999, noise, math.hypot(sampling, plan.noise_std))
    assert by_chance > 0.3
    assert messages_of(released(plan, 0.0, 1.0, 0.9 * by_chance)) == ()
    assert len(messages_of(released(plan, 0.0, 1.0, 1.1 * by_chance))) == 1


def test_where_the_mean_itself_errs_more_than_planned_a_mean_farther_from_the_median_is_no_sign() -> None:
    plan = plan_mean({1.0: 400}, model="unbounded", budget_range=(1.0, 1.0))
    noise, sampling = (error / 0.45 for error in center_error(plan.center))
    as_planned = half_width(0.999, noise, math.hypot(sampling, plan.noise_std))
    less = 0.45 * plan.mean.weight
    found = released(plan, 0.0, 1.0, 1.01 * as_planned, weight=less)
    own = half_width(0.999, noise, math.hypot(sampling, found.std / found.scale))
    assert own > 1.03 * as_planned
    assert messages_of(found) == ()
    assert len(messages_of(released(plan, 0.0, 1.0, 1.3 * own, weight=less))) == 1


EQUAL = "many values seem to be equal, or nearly so"


def test_equal_values_warn(plan: Plan) -> None:
    location = Location(7.0, 1e-8, 7.0 * 2.0**-26, degenerate=True)
    averaged = BellSums(0.0, plan.mean.weight, near=0.1, near_noise_scale=0.01)
    found = concluded(plan, location, averaged, None, promised(plan))
    (warning,) = messages_of(found)
    assert warning == EQUAL
    assert found.advice == ("use shape='any'",)
    assert f"NO ANSWER{' ' * 11}{warning}\n" in str(found)
    assert "what to do next     use shape='any'\n" in str(found)


def near_by_chance(plan: Plan, near_noise_scale: float) -> float:
    """What noise, the sample and an error of the located scale explain of 0.14, but for one time in a thousand.

    A median distance has rank noise of 1 / W and a deviation of sqrt(Q) / (2 W); ln |Z| has density 0.4287 there.
    """
    weight, square = plan.scale.weight, plan.scale.square
    noise, sampling = 0.14 / 0.4287 / weight, 0.14 / 0.4287 * math.sqrt(square) / 2 / weight
    counted = math.sqrt(0.14 * plan.mean.square) / plan.mean.weight
    return half_width(0.999, math.hypot(noise, near_noise_scale), math.hypot(sampling, counted))


@pytest.mark.parametrize("options", [{}, UNBOUNDED, {"share": 0.5}])
def test_too_many_values_near_the_centre_warn(options: dict[str, Any]) -> None:
    plan = plan_mean(TIERS, **options)
    weight, tent = plan.mean.weight, float(mean_tent(plan.clip_half_width)) / plan.clip_half_width
    limit = 0.24 + near_by_chance(plan, 0.05)

    def warnings(near: float) -> tuple[str, ...]:
        half = plan.clip_half_width / MEDIAN_SIZE
        averaged = BellSums(0.0, weight * tent, near=near / tent, near_noise_scale=0.05 / tent)
        return messages_of(concluded(plan, Location(0.0, half, 1.0), averaged, None, promised(plan)))

    for near in (0.08, 0.14, 0.24, limit - 1e-4):
        assert warnings(near) == ()
    for near in (limit + 1e-4, 0.9, 1.5):
        assert warnings(near) == (EQUAL,)


FEW = (
    "too few of the values lie where the population was located: many may be missing or not numbers, the middle of the "
    "population may be empty, or it was located in the wrong place"
)


@pytest.mark.parametrize(
    ("people", "options", "least"),
    [(TIERS, {}, 0.7), (TIERS, {"share": 0.5}, 0.7), (TIERS, UNBOUNDED, 0.4), ({0.1: 4500}, {}, 0.7)],
)
def test_too_few_values_where_it_was_located_warn(
    people: dict[float, int], options: dict[str, Any], least: float
) -> None:
    plan = plan_mean(people, **options)
    # Of what the tents should add up to: noise of 4/3 nats, tents of at most 1, the scale as for the check above, and
    # a total by a census of two standard deviations of noise a bucket, over its share.
    tent = float(mean_tent(plan.clip_half_width)) / plan.clip_half_width
    narrower = float(mean_tent(plan.clip_half_width / 1.0001)) / (plan.clip_half_width / 1.0001)
    by_scale = (1 - narrower / tent) / 0.0001 / 0.4287
    weight, square = plan.mean.weight, plan.mean.square
    noise = math.hypot(4 / 3 / (tent * weight), by_scale / plan.scale.weight)
    of_census = float(plan.shares["sum"]) * plan.census.total_noise_std / weight
    sampling = math.hypot(by_scale * math.sqrt(plan.scale.square) / 2 / plan.scale.weight, of_census)
    by_chance = half_width(0.999, noise, math.hypot(sampling, math.sqrt(square / tent) / weight))
    assert (of_census > 0) == (options is UNBOUNDED)
    assert 0.04 < by_chance < 0.65
    half = plan.clip_half_width / MEDIAN_SIZE
    for found, warned in ((least - by_chance + 1e-3, ()), (least - by_chance - 1e-3, (FEW,)), (0.01, (FEW,))):
        averaged = BellSums(0.0, weight * tent * found, near=0.14 / tent, near_noise_scale=0.001)
        assert messages_of(concluded(plan, Location(0.0, half, 1.0), averaged, None, promised(plan))) == warned


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize(
    "options", [{}, {"model": "unbounded", "budget_range": (1.0, 1.0)}], ids=["bounded", "unbounded"]
)
def test_a_column_without_numbers_warns_and_bells_do_not(options: dict[str, Any]) -> None:
    bells = np.random.default_rng(5).normal(3.0, 2.0, 2000)
    for seed in range(10):
        found, *others = (
            messages_of(estimate_mean(values, 1.0, shape="gaussian", randomness=Randomness.seeded(seed), **options))
            for values in (bells, np.full(2000, math.nan), ["many words"] * 2000)
        )
        assert found == ()
        assert all(warned and warned[0] in (FEW, EQUAL) for warned in others)


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_a_column_half_missing_warns_where_budgets_are_public() -> None:
    values = np.random.default_rng(5).normal(3.0, 2.0, 5000)
    values[::2] = math.nan
    for seed in range(10):
        found = estimate_mean(values, 1.0, shape="gaussian", randomness=Randomness.seeded(seed))
        assert messages_of(found) == (FEW,)
        assert found.released_mean == pytest.approx(3.0, abs=6 * found.std)


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_whole_numbers_do_not_warn(seed: int) -> None:
    """Their spread is 4, or hardly less, and a quarter of it 1: then 7 % would be near, or three times that."""
    values = np.rint(np.random.default_rng(seed).normal(50, 5.9, 50_000))
    found = estimate_mean(
        values,
        1.0,
        shape="gaussian",
        model="unbounded",
        budget_range=(1.0, 1.0),
        randomness=Randomness.seeded(seed),
    )
    assert found.center == pytest.approx(50, abs=1e-5)
    assert messages_of(found) == ()


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("bounds", [None, (0, None), (0, 30)], ids=str)
@pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_missing_values_are_left_out_and_told(options: dict[str, Any], bounds: Any) -> None:
    """And warned of only where they are most of all."""
    values = np.random.default_rng(5).normal(10.0, 2.0, 20_000)
    for share, warned in ((0.0, ()), (0.2, ()), (0.4, ()), (0.7, (MANY_MISSING,))):
        values[: int(20_000 * share)] = math.nan
        found = estimate_mean(values, 1.0, bounds=bounds, randomness=Randomness.seeded(1), **options)
        assert found.missing == pytest.approx(share, abs=0.01)
        assert abs(found.mean - 10.0) < 4.5 * found.std
        assert messages_of(found) == warned
        told = f"missing           about {100 * found.missing:.2g} % of the values" in str(found)
        assert told == (share > 0)


# Words


def test_a_private_result_in_words(plan: Plan) -> None:
    found = released(plan, 10.0, 2.0)
    assert found.private
    assert "NOT PRIVATE" not in str(found) + found._repr_html_() + found.guarantee
    assert found.guarantee == (
        "Pure personalized differential privacy, at every person's own budget: replacing one person's value changes "
        "the probability of any output by a factor of at most exp(budget). Who takes part and everybody's budget are "
        "assumed to be public. Assumes one record per person."
    )


def test_an_unbounded_result_in_words() -> None:
    found = released(plan_mean({0.5: 40_000}, share=0.25, **UNBOUNDED), 10.0, 2.0)
    for words in (
        "adding or removing one person changes",
        "a factor of at most exp(0.25 * budget)",
        "Only the range of budgets, 0.25 to 1, is assumed to be public",
    ):
        assert words in found.guarantee


def test_seeded_results_say_so_everywhere(plan: Plan) -> None:
    found = released(plan, 10.0, 2.0, private=False)
    assert not found.private
    assert str(found).startswith("NOT PRIVATE")
    assert "NOT PRIVATE" in found._repr_html_()
    assert found.guarantee.startswith("NOT PRIVATE")
    assert found.to_dict()["private"] is False
    assert found.to_dict()["guarantee"].startswith("NOT PRIVATE")


def test_an_estimate_prints_as_aligned_lines(plan: Plan) -> None:
    lines = str(released(plan, 10.0, 2.0)).splitlines()
    assert lines[0] == "mean              10.000"
    assert [line[:18].rstrip() for line in lines if line[0] != " "] == [
        "mean",
        "95 % interval",
        "holds if",
        "error (std)",
        "population's std",
        "whose mean",
        "guarantee",
    ]
    assert all(line[16:18] == "  " and line[18] != " " and len(line) <= 100 for line in lines)
    assert repr(released(plan, 10.0, 2.0)).startswith("<MeanEstimate 10.000 +- 0.0")


def test_an_estimate_prints_an_interval_of_any_level(plan: Plan) -> None:
    found = released(plan, 10.0, 2.0)
    lines = found.text(0.999).splitlines()
    low, high = (f"{end:.3f}" for end in found.interval(0.999))
    assert lines[1].split() == ["99.9", "%", "interval", low, "to", high]
    assert lines[:1] + lines[2:] == str(found).splitlines()[:1] + str(found).splitlines()[2:]


def test_an_estimate_prints_two_digits_of_its_error(plan: Plan) -> None:
    assert str(released(plan, 1e6, 1.0)).startswith("mean              1000000.000")
    assert str(released(plan, 1e-30, 1e-31)).startswith("mean              1e-30")


def test_an_estimate_can_be_pickled(plan: Plan) -> None:
    found = released(plan, 10.0, 2.0)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    assert str(again.plan) == str(plan)


def test_html_is_escaped(plan: Plan) -> None:
    found = dataclasses.replace(released(plan, 10.0, 2.0), warnings=("a < b & <script>",))
    assert "a &lt; b &amp; &lt;script&gt;" in found._repr_html_()
    assert "<script>" not in found._repr_html_()
    assert found._repr_html_().startswith('<table><tbody><tr><th scope="row">mean</th><td>10.000</td></tr>')
    assert found._repr_html_().count("<tr>") == len([line for line in str(found).splitlines() if line[0] != " "])


@pytest.mark.parametrize("options", [{}, UNBOUNDED])
def test_to_dict_is_json(options: dict[str, Any]) -> None:
    plan = plan_mean(TIERS, **options)
    assert_is_json(released(plan, 10.0, 2.0))


@pytest.mark.parametrize("bounds", [None, (None, 30), (0, math.inf), (0, 30)], ids=str)
@pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_to_dict_of_any_shape_is_json(options: dict[str, Any], bounds: Any) -> None:
    values = np.random.default_rng(5).normal(10.0, 2.0, 20_000)
    found = estimate_mean(values, 1.0, bounds=bounds, randomness=Randomness.seeded(1), **options)
    assert_is_json(found)
    assert found.to_dict()["shape"] == "any"


def assert_is_json(found: MeanEstimate) -> None:
    plan, plain = found.plan, found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["mean"] == found.mean
    low, high = found.interval(0.95)
    assert plain["interval"] == {"low": low, "high": high, "level": 0.95}
    assert plain["shares"] == {name: float(share) for name, share in plan.shares.items()}
    assert math.fsum(plain["shares"].values()) == 1.0
    assert (plain["model"], plain["shape"]) == (plan.model.name, plan.given_shape)
    assert plain["warnings"] == []


@pytest.mark.parametrize("unit", [1e-290, 1e-200, 1e200, 1e300, 1e306])
def test_extreme_units_only_scale(unit: float, plan: Plan) -> None:
    assert_scaled(released(plan, 1.0, 2.0), released(plan, unit, 2.0 * unit), unit)


@pytest.mark.parametrize("power", [-8, 100, 600, 990])
def test_extreme_units_of_any_shape_only_scale(power: int) -> None:
    """Few people, so that it is from the bound; and that is not next to 0, where cells have a size of their own."""
    values = np.random.default_rng(5).normal(10.0, 2.0, 600)
    small, large = (
        estimate_mean(np.ldexp(values, by), 1.0, bounds=(math.ldexp(1.0, by), None), randomness=Randomness.seeded(1))
        for by in (0, power)
    )
    assert_scaled(small, large, math.ldexp(1.0, power))


def assert_scaled(small: MeanEstimate, large: MeanEstimate, unit: float) -> None:
    assert large.mean == pytest.approx(unit * small.mean, rel=1e-9, abs=0)
    assert large.std == pytest.approx(unit * small.std, rel=1e-9, abs=0)
    assert large.interval() == pytest.approx(tuple(unit * end for end in small.interval()), rel=1e-6, abs=0)
    json.dumps(large.to_dict(), allow_nan=False)


def test_a_result_is_frozen(plan: Plan) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        released(plan, 10.0, 2.0).mean = 3.0  # type: ignore[misc]


def test_std_is_made_of_two_parts(plan: Plan) -> None:
    law = ErrorLaw(np.array([0.0]), np.array([3.0 / math.sqrt(2)]), np.array([4.0]))
    found = dataclasses.replace(released(plan, 0.0, 1.0), law=law)
    assert (found.noise_std, found.sampling_std, found.std) == pytest.approx((3.0, 4.0, 5.0))


def test_a_contradicted_estimate_leads_with_that_everywhere() -> None:
    values = np.random.default_rng(1).lognormal(0, 1, 20_000)
    with pytest.warns(PopulationWarning, match="no answer: "):
        found = estimate_mean(values, 1.0, shape="gaussian", randomness=Randomness.seeded(1))
    assert found.contradicted
    assert found.warnings == ()
    assert repr(found) == "<MeanEstimate NO ANSWER, NOT PRIVATE>"
    lines = str(found).splitlines()
    assert lines[1].startswith("NO ANSWER")
    assert "interval" not in str(found).split("guarantee")[0]
    assert "NO ANSWER" in found._repr_html_()
    drawn = plot(found)
    assert [axes.get_title(loc="left") for axes in drawn.axes] == ["No answer"]
    text = drawn.axes[0].texts[0].get_text()
    assert "what to do next: use shape='any'." in text
    assert "of every budget" in text


def test_what_another_run_costs_says_the_share() -> None:
    values = np.random.default_rng(1).normal(size=5_000)
    found = estimate_mean(values, 1.0, shape="gaussian", share=0.25, randomness=Randomness.seeded(1))
    assert found.cost_of_another.startswith(
        "this run has spent 0.25 of every budget; another run would spend as much again"
    )
