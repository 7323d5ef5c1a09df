"""Levels of budgets: where they begin, what they weigh, how they are combined, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from messages import messages_of
from numpy.typing import NDArray
from rules import batch_of, compiled, table_of
from scipy.special import ndtr

from pdpmean import (
    Choices,
    InvalidInputError,
    MeanEstimate,
    PopulationWarning,
    Randomness,
    estimate_mean,
    plan_mean,
    plot,
)
from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.core.profile import Profile
from pdpmean.core.types import Floats
from pdpmean.inference import conclude as conclude_module
from pdpmean.inference.level_sums import combine
from pdpmean.inference.levels import Levelled
from pdpmean.laws.grid_law import GridLaw
from pdpmean.laws.level_sizes import level_sizes
from pdpmean.laws.mixed_law import Hypothesis, mix
from pdpmean.laws.normal_scores import normal_scores
from pdpmean.laws.pooling import LevelErrors, Pooled
from pdpmean.passes.batch import Batch
from pdpmean.passes.summing import Summing
from pdpmean.planning import levels as planned_levels
from pdpmean.planning.combined_levels import combined_far, combined_sums
from pdpmean.planning.levels import MOST_LEVELS, Levels, LevelsFor
from pdpmean.planning.released import PublicTotalSums
from pdpmean.release.average import summing_of
from pdpmean.release.shape import ExactSums
from pdpmean.release.squares import SquareClip
from pdpmean.show.report import report_html

TIERS = {0.1: 5400, 0.5: 3700, 1.0: 900}
UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.1, 1.0)}


# --- where they begin ------------------------------------------------------------------------------------------------


def levels_for(
    budgets: Floats, model: Model = BOUNDED, tiers: tuple[float, ...] = (), counts: Floats | None = None
) -> LevelsFor:
    profile = Profile.of(model.allowances(budgets), counts)
    return LevelsFor(profile, model, share=0.5, cap=0.2, tiers=tiers, most=MOST_LEVELS, largest=50.0)


def test_every_tier_is_a_level() -> None:
    levels = levels_for(np.array([*TIERS]), counts=np.array([*TIERS.values()], dtype=float)).alike()
    assert levels.budgets == ((0.1, 0.1), (0.5, 0.5), (1.0, 1.0))
    assert levels.caps == pytest.approx((0.025, 0.125, 0.25))  # half of half a budget
    assert levels.people.tolist() == [5400, 3700, 900]
    assert 0.05 < levels.edges[0] <= 0.25 < levels.edges[1] <= 0.5


def test_many_budgets_are_bands_of_an_octave_and_the_last_holds_the_rest() -> None:
    levels = levels_for(np.geomspace(1e-6, 1.0, 5000)).alike()
    assert len(levels.caps) == MOST_LEVELS
    assert all(high < 2 * low for low, high in levels.budgets[1:])
    assert levels.budgets[0][0] == pytest.approx(1e-6)
    assert levels.people.sum() == pytest.approx(5000)


def test_budgets_that_hardly_differ_are_of_one_level() -> None:
    assert not levels_for(np.array([0.5, 0.51, 0.52])).are_several
    assert plan_mean({0.5: 9000, 0.51: 9000}).levels is None


def test_levels_of_private_budgets_are_public() -> None:
    """They follow from the range, or from tiers; who holds which budget changes nothing."""
    model = make_model("unbounded", (0.1, 1.0))
    found = [levels_for(np.array(budgets), model).alike() for budgets in ([0.1], [0.2, 0.9], [1.0])]
    assert len({(levels.edges, levels.caps) for levels in found}) == 1
    tiers = levels_for(np.array([0.3]), model, tiers=(0.05, 0.1, 0.5, 2.0)).alike()
    assert tiers.budgets == ((0.1, 0.1), (0.5, 0.5), (1.0, 1.0))


def test_nobody_weighs_more_than_was_chosen() -> None:
    plan = plan_mean(TIERS, choices=Choices(saturation=0.5))
    assert plan.levels
    assert plan.saturation == pytest.approx(0.5)


# --- rows of sums ----------------------------------------------------------------------------------------------------


def random_records(size: int) -> tuple[Floats, Floats, NDArray[np.int32]]:
    rng = np.random.default_rng(1)
    values = np.where(rng.random(size) < 0.05, math.nan, rng.normal(0.0, 2.0, size))
    budgets = np.where(rng.random(size) < 0.05, math.nan, rng.choice([0.0, 0.1, 0.3, 0.5, 1.0, math.inf], size))
    return values, budgets, rng.integers(0, 4, size).astype(np.int32)


def sums_of(summing: Summing, batch: Batch) -> list[ExactSums]:
    """What each row adds up to."""
    return [ExactSums.of(row) for row in table_of(summing, batch).tolist()]


@pytest.mark.parametrize("grouped", [False, True])
def test_a_record_is_in_the_row_of_its_level_whatever_the_loop(grouped: bool) -> None:
    """A group has no levels, three, or is not asked for; edges are what some budgets grant to the last bit."""
    values, budgets, codes = random_records(5000)
    groups = codes if grouped else None
    edges = [(0.15, 0.25), (), (0.05,)] if grouped else [(0.15, 0.25)]
    rows = sum(len(own) + 1 for own in edges)
    clips = [SquareClip(BOUNDED, Fraction(1, 2), 0.1 + 0.1 * row, 0.0, 3.0) for row in range(rows)]
    summing = summing_of(clips, edges, grouped=grouped)
    found = sums_of(summing, batch_of(values, budgets, groups))
    with compiled():
        assert sums_of(summing, batch_of(values, budgets, groups)) == found
    allowances = BOUNDED.allowances(budgets)
    first = 0
    for group, own in enumerate(edges):
        level = np.searchsorted(own, allowances, side="right")
        for number in range(len(own) + 1):
            who = (level == number) & (codes == group if grouped else True)
            alone = summing_of([clips[first + number]], grouped=False)
            assert [found[first + number]] == sums_of(alone, batch_of(values[who], budgets[who]))
        first += len(own) + 1


# --- combinations ----------------------------------------------------------------------------------------------------


def test_a_combination_is_as_good_as_one_set_of_sums() -> None:
    nats, people, parts = np.array([30.0, 100.0]), np.array([800.0, 200.0]), np.array([0.8, 0.2])
    found = combined_sums(nats, people, parts, 0.0)
    low = PublicTotalSums(-3.0, 20.0, 0.5, 30.0, (1.0,), (2.0,))
    high = PublicTotalSums(40.0, 60.0, 0.1, 100.0, (0.0,), (3.0,))
    sums = combine([low, high], found, found)
    assert isinstance(sums, PublicTotalSums)
    assert float(found.multipliers @ found.multipliers) == pytest.approx(1.0)
    assert sums.total_weight == pytest.approx(found.sums.weight)
    assert sums.values / sums.total_weight == pytest.approx(0.8 * -3 / 30 + 0.2 * 40 / 100)
    assert sums.above[0] == pytest.approx(float(found.multipliers @ [2.0, 3.0]))
    assert sums.behind_far == (1.0, 1.0)
    # Everyone counts the same, so that there are as many as there are people; of their own mean nothing is left to err.
    assert found.sums.weight**2 / found.sums.square == pytest.approx(1000)
    own = combined_sums(nats, people, parts, 1 / 1000).sums
    assert own.square / own.weight**2 <= 1e-12


def test_levels_that_agree_have_other_parts_in_far_cells() -> None:
    nats, people, parts = np.array([30.0, 100.0]), np.array([800.0, 200.0]), np.array([0.8, 0.2])
    found, far = combined_sums(nats, people, parts, 0.0), combined_far(nats, people)
    low = PublicTotalSums(-3.0, 20.0, 0.5, 30.0, (1.0,), (3.0,))
    high = PublicTotalSums(40.0, 60.0, 0.1, 100.0, (0.0,), (10.0,))
    sums = combine([low, high], found, far)
    assert isinstance(sums, PublicTotalSums)
    assert sums.values == pytest.approx(float(found.multipliers @ [-3.0, 40.0]))
    assert float(far.multipliers @ far.multipliers) == pytest.approx(1.0)
    # A tenth of each level is far, so that it is a tenth of what is behind far cells, whatever parts levels have.
    assert sums.above[0] == pytest.approx(0.1 * sums.behind_far.weight_ratio * sums.total_weight)
    # More is seen of it: noise is the same, and at best as small a part as it can be.
    assert found.sums.weight < far.sums.weight <= math.hypot(*nats)
    # Where there are many people, noise hardly matters, and each level has the part of its people.
    many = combined_far(1e9 * nats, 1e3 * people)
    assert many.sums.people == pytest.approx(1e6)


def errors_of(noise: list[float], people: list[float]) -> LevelErrors:
    counts = np.array(people, dtype=float)
    scores = normal_scores(counts)
    return LevelErrors(np.array(noise), counts, counts / counts.sum(), scores, scores, np.zeros(len(people)))


def test_levels_that_agree_are_averaged_by_how_exact_they_are() -> None:
    errors = errors_of([0.2, 0.02, 0.01], [1000, 600, 200])
    pooled = Pooled(errors)
    precision = 1 / errors.variances
    assert pooled.agreed == pytest.approx(precision / precision.sum())
    assert pooled.agreed_std == pytest.approx(1 / math.sqrt(precision.sum()))
    assert pooled.agreed_std < pooled.disagreed_std <= errors.everyone_std * (1 + 1e-9)


def test_of_these_people_who_they_are_is_no_error() -> None:
    """Levels are drawn together as far as their noise exceeds what they differ by, and exact ones not at all."""
    exact, noisy = (errors_of([noise, 0.001, 0.001], [1000, 600, 200]) for noise in (1e-6, 0.1))
    for errors in (exact, noisy):
        own = replace(errors, own=1.0)
        assert own.everyone_std == pytest.approx(math.sqrt(float(own.share**2 @ own.noise_std**2)))
        assert Pooled(own).agreed_std < min(own.everyone_std, Pooled(errors).agreed_std)
    assert Pooled(replace(exact, own=1.0)).agreed == pytest.approx(exact.share, abs=1e-3)
    strayed = Pooled(replace(noisy, own=1.0)).agreed - noisy.share
    assert strayed[0] < -0.3  # of 0.56: its noise is three times what it differs by


@pytest.mark.parametrize("own", [0.0, 1.0])
def test_sets_of_levels_are_compared_as_if_each_were_alone(own: float) -> None:
    three = replace(errors_of([0.3, 0.1, 0.05], [5000, 4000, 1000]), own=own)
    two = replace(errors_of([0.2, 0.02], [9000, 1000]), own=own, unevenness=np.array([0.2, 0.4]))
    one = replace(errors_of([0.1], [10_000]), own=own)
    costs = Pooled(LevelErrors.stacked([three, two, one])).costs
    alone = [Pooled(errors).agreed_std * Pooled(errors).disagreed_std for errors in (three, two, one)]
    assert costs == pytest.approx(alone, rel=1e-12)


def test_of_these_people_one_level_has_the_least_noise() -> None:
    """With many people, of whom levels differ by less than the noise of keeping them apart is worth."""
    plans = [
        plan_mean(tiers, bounds=(0, 1), target="people") for tiers in (TIERS, {b: 100 * n for b, n in TIERS.items()})
    ]
    levels = [plan.levels for plan in plans]
    assert [len(found.caps) for found in levels if found] == [3, 1]
    assert plans[1].noise_scale == pytest.approx(1 / 2 / (100 * 10_000 * 0.1 / 2), rel=1e-3)
    assert plans[1].weighting == "everyone"


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("rising", [-1.0, 1.0])
def test_tails_are_those_of_the_people_who_count(rising: float) -> None:
    """Nothing changes where levels agree. Else a tail grows by what its level has more, and no further."""
    values, budgets = the_well_paid_grant_little(1)
    values = 50 + rising * (values - 50)
    found = levelled_of(values, np.random.default_rng(2).permutation(budgets))
    assert found._tails(found.errors.share) == pytest.approx((1.0, 1.0), abs=0.1)
    found = levelled_of(values, budgets)
    more = found.errors.share / found._located
    thin, thick = sorted(found._tails(found.errors.share))
    assert more.min() <= thin < 0.8
    assert 1.5 < thick <= more.max()
    assert (found._tails(found.errors.share)[1] == thick) == (rising > 0)


def levelled_of(values: Floats, budgets: Floats) -> Levelled:
    """What was released of levels, before anything is concluded from it."""
    with mock.patch.object(conclude_module, "Levelled", side_effect=Levelled) as made:
        found_of(values, budgets, weighting="everyone")
    return Levelled(*made.call_args.args)


def test_what_is_plain_decides() -> None:
    """Levels that plainly differ speak for themselves; exact ones that agree are pooled with near certainty."""
    errors = errors_of([0.02, 0.01, 0.01], [10_000, 6_000, 2_000])
    apart = Pooled(errors).mixed(np.array([0.5, 0.0, -0.5]))
    assert all(np.allclose(mixed.parts, errors.share, atol=0.1) for mixed in apart)
    agreeing = Pooled(errors).mixed(np.zeros(3))
    assert agreeing[0].in_estimate > 0.9
    assert agreeing[0].in_estimate > agreeing[0].in_interval
    for mixtures in (apart, agreeing):
        assert sum(mixed.in_estimate for mixed in mixtures) == pytest.approx(1.0)
        assert sum(mixed.in_interval for mixed in mixtures) == pytest.approx(1.0)


def test_people_are_ranked_by_their_budgets() -> None:
    """Scores are those of a normal population that is cut into classes, and a few people do not stand out by far."""
    scores = normal_scores(np.array([500.0, 300.0, 200.0]))
    assert scores @ [0.5, 0.3, 0.2] == pytest.approx(0.0)
    assert scores[0] == pytest.approx(-2 / math.sqrt(2 * math.pi))
    assert normal_scores(np.array([1.0, 1e6]))[0] > -6


def test_numbers_of_people_that_are_not_known_widen_the_interval_if_levels_differ() -> None:
    errors = errors_of([0.2, 0.02, 0.01], [1000, 600, 200])
    share_covariance = np.diag([0.1, 0.0, 0.0]) ** 2
    unsure = Pooled(replace(errors, share_covariance=share_covariance))
    means = np.array([0.6, 0.0, -0.6])
    for sure, wider in zip(Pooled(errors).mixed(means), unsure.mixed(means), strict=True):
        more = math.sqrt(wider.variance - sure.variance)
        assert 0.01 < more < 0.1 * 0.6  # the error of the share, times how far the lowest level is from everyone
        assert (wider.parts == sure.parts).all()
    for sure, wider in zip(Pooled(errors).mixed(np.zeros(3)), unsure.mixed(np.zeros(3)), strict=True):
        assert wider.variance == pytest.approx(sure.variance)


# --- numbers of people -----------------------------------------------------------------------------------------------


def test_numbers_of_people_are_those_released_where_noise_is_little() -> None:
    people = np.array([300.0, 50_000.0, 20.0])
    found = level_sizes(people, np.array([2.0, 5.0, 0.5]))
    assert found.people == pytest.approx(people, rel=0.01)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx([2.0, 5.0, 0.5], rel=0.15)
    assert np.abs(found.covariance - np.diag(np.diag(found.covariance))).max() < 0.1


def test_a_level_lost_in_noise_has_about_as_many_people_as_its_neighbours() -> None:
    std = np.array([4000.0, 10.0, 10.0])
    found = [level_sizes(np.array([noisy, 500.0, 600.0]), std) for noisy in (-9000.0, 0.0, 3000.0)]
    lowest = [sizes.people[0] for sizes in found]
    assert 100 < lowest[0] < lowest[1] < lowest[2] < 3000
    assert all(300 < math.sqrt(sizes.covariance[0, 0]) < 4000 for sizes in found)


def test_unknown_neighbours_are_unknown_together() -> None:
    found = level_sizes(np.array([0.0, 0.0, 500.0]), np.array([4000.0, 4000.0, 10.0]))
    assert found.covariance[0, 1] > 0.2 * math.sqrt(found.covariance[0, 0] * found.covariance[1, 1])
    assert np.linalg.eigvalsh(found.covariance).min() > 0


def test_posterior_numbers_hold_the_true_ones() -> None:
    """Numbers of people that grow with the budget or not; noise of one nat at budgets of 0.01 to 1."""
    rng = np.random.default_rng(3)
    std = 4.0 / np.geomspace(0.01, 1.0, 8)
    for growth in (0.0, 0.6):
        people = 2000 * np.exp(growth * np.arange(8)) / np.exp(growth * np.arange(8)).sum()
        total = people.sum()
        errors = []
        for _ in range(200):
            found = level_sizes(people + rng.laplace(scale=std / math.sqrt(6), size=(3, 8)).sum(axis=0), std)
            errors.append((found.people.sum() - total) / math.sqrt(found.covariance.sum()))
        assert np.mean(np.abs(errors) < 2) > 0.9


def simulated(errors: LevelErrors, means: Floats, runs: int) -> list[Floats]:
    rng = np.random.default_rng(2)
    noise = rng.laplace(size=(runs, means.size)) * errors.noise_std / math.sqrt(2)
    return [*(means + noise + rng.normal(size=noise.shape) / np.sqrt(errors.effective))]


def test_intervals_hold_the_mean_of_everyone_and_alarms_are_rare() -> None:
    """About what tiers have at a total of 500: agreeing levels, and levels that differ by a third of a deviation."""
    errors = errors_of([0.14, 0.04, 0.08], [820, 560, 140])
    pooled = Pooled(errors)
    for slope, least, most in ((0.0, 0.0, 0.02), (-0.33, 0.2, 1.0)):
        means = slope * errors.positions
        truth = float(errors.share @ means)
        held = alarms = 0
        for released in simulated(errors, means, 200):
            hypotheses = [
                Hypothesis(
                    law=normal_law(float(mixed.parts @ released), math.sqrt(float(mixed.parts**2 @ errors.variances))),
                    mean=float(mixed.parts @ released),
                    widening=math.sqrt(mixed.variance),
                    in_estimate=mixed.in_estimate,
                    in_interval=mixed.in_interval,
                )
                for mixed in pooled.mixed(released)
            ]
            low, high = mix(hypotheses, (-math.inf, math.inf)).interval(0.95)
            held += low <= truth <= high
            alarms += pooled.difference(released, 0.01) is not None
        assert held / 200 > 0.91
        assert least <= alarms / 200 <= most


def normal_law(mean: float, std: float) -> GridLaw:
    points = np.linspace(-6, 6, 200)
    return GridLaw(mean + std * points, ndtr(points), ndtr(points), mean, std, 0.0)


def test_a_mixture_of_huge_numbers_is_finite_and_within_bounds() -> None:
    largest = float(np.finfo(np.float64).max)
    parts = [Hypothesis(normal_law(0.8 * largest, 0.02 * largest), 0.8 * largest, 0.2 * largest, 0.5, 0.5)] * 2
    found = mix(parts, (-math.inf, math.inf))
    assert all(math.isfinite(end) for level in (0.5, 0.95, 1 - 1e-9) for end in found.interval(level))
    inside = mix(parts, (0.0, 0.3))
    assert inside.mean == 0.3
    assert inside.interval(0.95) == (0.3, 0.3)


def test_a_mixture_widens_and_weighs() -> None:
    one = Hypothesis(normal_law(0.0, 1.0), 0.0, 0.0, 1.0, 1.0)
    assert mix([one], (-math.inf, math.inf)).interval(0.95) == pytest.approx((-1.96, 1.96), abs=0.01)
    wider = one._replace(widening=math.sqrt(3))
    assert mix([wider], (-math.inf, math.inf)).interval(0.95) == pytest.approx((-3.92, 3.92), abs=0.1)
    two = [one._replace(in_estimate=0.75, in_interval=0.5), Hypothesis(normal_law(8.0, 1.0), 8.0, 0.0, 0.25, 0.5)]
    found = mix(two, (-math.inf, 9.0))
    assert found.mean == pytest.approx(2.0)
    assert found.cdf(4.0) == pytest.approx(0.5, abs=1e-3)
    assert found.interval(0.95)[1] == 9.0


# --- the whole -------------------------------------------------------------------------------------------------------


def the_well_paid_grant_little(seed: int, people: int = 12_000) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    values = rng.normal(50.0, 10.0, people)
    grants = np.argsort(np.argsort(-values + rng.normal(0.0, 10.0, people))) / people
    return values, np.array([0.1, 0.5, 1.0])[np.searchsorted([0.54, 0.91], grants)]


def found_of(values: Floats, budgets: Floats, **options: Any) -> MeanEstimate:
    found: MeanEstimate = estimate_mean(values, budgets, randomness=Randomness.seeded(1), **options)
    return found


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("shape", [{}, {"bounds": (0, 100)}, {"shape": "gaussian"}], ids=["any", "bounds", "gaussian"])
@pytest.mark.parametrize("model", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_the_mean_of_everyone_where_the_well_paid_grant_little(shape: dict[str, Any], model: dict[str, Any]) -> None:
    values, budgets = the_well_paid_grant_little(1)
    for weighting in ("everyone", "auto"):
        found = found_of(values, budgets, weighting=weighting, **shape, **model)
        assert abs(found.released_mean - 50.0) < 4 * found.std
        assert found.levels_differ
        assert found.contradicted == ("shape" in shape)  # all together they are no bell
        assert found.advice == ("use shape='any'",) * found.contradicted
        assert any("people with smaller budgets have higher values" in text for text in messages_of(found))
        assert found.levels[0].mean > found.levels[-1].mean + 3
        assert found.contradicted or "budget 0.1" in str(found)
    biased = found_of(values, budgets, weighting="budgets", **shape, **model)
    assert abs(biased.released_mean - 50.0) > 4 * biased.std
    assert biased.levels == ()


def shares_by_tier(seed: int) -> tuple[Floats, Floats]:
    """Yes mostly from those who grant little, hardly ever from the others."""
    rng = np.random.default_rng(seed)
    budgets = rng.choice([0.1, 0.5, 1.0], 24_000, p=[0.54, 0.37, 0.09])
    return (rng.random(budgets.size) < np.where(budgets == 0.1, 0.65, 0.03)).astype(np.float64), budgets


def counts_by_tier(seed: int) -> tuple[Floats, Floats]:
    """A long tail that those who grant little have."""
    rng = np.random.default_rng(seed)
    budgets = rng.choice([0.1, 0.5, 1.0], 24_000, p=[0.54, 0.37, 0.09])
    return rng.negative_binomial(0.7, np.where(budgets == 0.1, 0.12, 0.4)).astype(np.float64), budgets


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("bounds", [None, (0, None), (0, 100)], ids=str)
@pytest.mark.parametrize("model", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("drawn", [shares_by_tier, counts_by_tier])
def test_the_means_of_levels_are_those_of_their_people(
    drawn: Callable[[int], tuple[Floats, Floats]], model: dict[str, Any], bounds: tuple[float, float | None] | None
) -> None:
    """In the values' unit, and within the bounds, also where levels have different variances."""
    values, budgets = drawn(3)
    found = found_of(values, budgets, bounds=bounds, **model)
    assert len(found.levels) == 3
    for level, budget in zip(found.levels, (0.1, 0.5, 1.0), strict=True):
        difference = level.mean - found.mean
        own = float(values[budgets == budget].mean() - values.mean())
        assert abs(difference - own) < 4 * level.std + 0.15 * abs(own)
        assert level.mean >= (0.0 if bounds else -4 * level.std)


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_levels_that_differ_are_drawn_and_reported() -> None:
    found = found_of(*the_well_paid_grant_little(1))
    titles = [axes.get_title(loc="left") for axes in plot(found).axes]
    assert titles[-1] == "The mean by budget"
    page = report_html(found)
    assert all(f"budget {level.in_words}" in page for level in found.levels)
    assert found.whose_mean in page


def test_what_a_budget_counts() -> None:
    budgets = np.array([0.1, 0.5, 1.0])
    everyone, pooled = plan_mean(TIERS, weighting="everyone"), plan_mean({0.1: 1080, 0.5: 740, 1.0: 180})
    assert everyone.counts(budgets).tolist() == pytest.approx([1.0, 1.0, 1.0])
    assert pooled.counts(budgets)[0] < 0.5
    assert min(pooled.counts(budgets)[1:]) > 0.5
    by_budgets = plan_mean(TIERS, weighting="budgets")
    assert by_budgets.counts(budgets) == pytest.approx(np.minimum(budgets / by_budgets.saturation, 1.0))


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_people_about_whom_nothing_is_known_are_told_if_they_may_be_many() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(50.0, 10.0, 1000)
    told = "next to nothing is known about people with budgets up to"
    budgets = rng.uniform(0.5, 1.0, 1000)
    for lowest, is_told in ((0.01, True), (0.4, False)):
        found = estimate_mean(
            values, budgets, model="unbounded", budget_range=(lowest, 1.0), randomness=Randomness.seeded(1)
        )
        assert any(text.startswith(told) for text in found.warnings) == is_told
    # Where the interval is as wide as what is not known makes it, nothing need be said.
    scarce = np.where(np.arange(4000) < 1600, 0.005, 0.9)
    found = estimate_mean(rng.normal(50.0, 10.0, 4000), scarce, randomness=Randomness.seeded(1))
    low, high = found.interval()
    assert found.warnings == ()
    assert high - low > 0.4 * 10.0


def test_a_trend_is_a_line_through_the_means() -> None:
    errors = errors_of([0.2, 0.02, 0.01], [1000, 600, 200])
    found = Pooled(errors).trend(0.7 - 0.3 * errors.positions)
    assert found.slope == pytest.approx(-0.3)
    slopes = [Pooled(errors).trend(means).slope for means in simulated(errors, np.zeros(3), 400)]
    assert np.std(slopes) == pytest.approx(found.std, rel=0.15)


def test_levels_that_agree_are_not_told() -> None:
    values, budgets = the_well_paid_grant_little(1)
    found = found_of(values, np.random.default_rng(2).permutation(budgets))
    assert not found.levels_differ
    assert not found.warnings
    assert "budget 0.1 " not in str(found)
    assert [level.lowest for level in found.levels] == pytest.approx([0.1, 0.5, 1.0], rel=0.02)


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_the_mean_of_the_people_in_the_table_has_no_sampling_error() -> None:
    errors = []
    for seed in range(8):
        values, budgets = the_well_paid_grant_little(seed)
        found = found_of(values, budgets, bounds=(0, 100), target="people", weighting="everyone")
        assert found.sampling_std < 0.01 * found.noise_std
        assert "the mean of the people in the table" in str(found)
        errors.append((found.mean - values.mean()) / found.std)
    assert max(map(abs, errors)) < 4
    assert found_of(values, budgets, bounds=(0, 100)).sampling_std > 0.05


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_groups_have_levels_of_their_own() -> None:
    values, budgets = the_well_paid_grant_little(3, 24_000)
    by = np.repeat(["a", "b"], 12_000)
    budgets[12_000:] = 0.5
    found = estimate_mean(values, budgets, by=by, groups=["a", "b"], randomness=Randomness.seeded(2))
    assert [len(found[group].levels) for group in ("a", "b")] == [3, 0]
    assert abs(found["a"].mean - values[:12_000].mean()) < 5 * found["a"].std
    assert found["b"].weighting == "everyone"


def test_a_plan_says_what_everyone_costs() -> None:
    few, many = (plan_mean({budget: times * people / 10 for budget, people in TIERS.items()}) for times in (2, 100))
    assert few.weighting == "pooled"
    assert few.price_of_everyone > 1.25
    assert "weighting" in str(few)
    assert many.weighting == "everyone"
    assert 0.9 <= many.price_of_everyone < 1.05
    assert many.to_dict()["price_of_everyone"] == many.price_of_everyone
    assert plan_mean(TIERS, weighting="budgets").expected_std < plan_mean(TIERS, weighting="everyone").expected_std
    assert plan_mean({0.5: 20_000}).weighting == "everyone"


def test_who_grants_nothing_is_told() -> None:
    values, budgets = the_well_paid_grant_little(1)
    budgets[:100] = 0.0
    found = found_of(values, np.random.default_rng(3).permutation(budgets))
    assert "nothing can be said about the 100 who grant no budget" in found.whose_mean
    unbounded = plan_mean(TIERS, model="unbounded", budget_range=(0.2, 0.8))
    assert unbounded.whose_mean("everyone").endswith("nothing can be said about those who grant less than 0.2")


@pytest.mark.parametrize(("name", "word"), [("weighting", "equal"), ("target", "everybody")])
def test_words_are_checked(name: str, word: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} must be .* got '{word}'"):
        estimate_mean([1.0], 1.0, **{name: word})  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "options", [{}, {"bounds": (0, 100)}, {"shape": "gaussian"}, {"weighting": "everyone"}], ids=str
)
def test_budgets_so_small_that_their_weight_is_rounded_to_nothing(options: dict[str, Any]) -> None:
    values = np.random.default_rng(1).normal(38.0, 6.0, 4_000)
    budgets = np.repeat([2.0**-40, 0.27], [40, 3_960])
    low, high = estimate_mean(values, budgets, randomness=Randomness.seeded(1), **options).interval()
    assert low < 38.0 < high < low + 60.0


RANGE: dict[str, Any] = {"model": "unbounded", "budget_range": (0.01, 1.0)}


def levels_of_private_budgets(people: int) -> Levels:
    budgets = np.linspace(0.01, 1.0, people)
    values = np.random.default_rng(1).normal(38.0, 6.0, people)
    found: MeanEstimate = estimate_mean(values, budgets, randomness=Randomness.seeded(1), **RANGE)
    assert found.plan.levels is not None
    return found.plan.levels


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_private_budgets_of_a_level_weigh_the_same_unless_noise_matters_more() -> None:
    few = levels_of_private_budgets(1_000)
    assert (few.unevenness > 0.1).all()
    assert few.mean_weight_error == pytest.approx(0.6 * few.unevenness)
    many = levels_of_private_budgets(40_000)
    assert many.unevenness == pytest.approx(np.zeros(many.people.size), abs=1e-6)
    assert many.mean_weight_error == pytest.approx(np.zeros(many.people.size), abs=1e-6)


def test_intervals_allow_for_the_unknown_mean_weight_where_levels_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    budgets = np.linspace(0.01, 1.0, 1_500)
    values = 38.0 + 30.0 * (budgets < 0.3) + np.random.default_rng(1).normal(0.0, 2.0, 1_500)

    def width() -> float:
        found: MeanEstimate = estimate_mean(values, budgets, randomness=Randomness.seeded(1), **RANGE)
        low, high = found.interval()
        return high - low

    with pytest.warns(PopulationWarning, match="people with smaller budgets have higher values"):
        allowed = width()
    monkeypatch.setattr(planned_levels, "_MEAN_WEIGHT_ERROR", 0.0)
    with pytest.warns(PopulationWarning, match="people with smaller budgets have higher values"):
        assert width() < 0.995 * allowed
