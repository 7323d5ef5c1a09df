"""Census: exact where budgets are public; noisy, at exactly its price, where they are not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from recorder import Recorder
from rules import cell_counts_of
from statistical.laws import assert_accepts_and_rejects, discrete_laplace_size_cdf, kolmogorov

from pdpmean import InvalidInputError, Randomness, plan_mean
from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.core.options import Options
from pdpmean.core.types import Floats
from pdpmean.passes.cells import CellCounts
from pdpmean.planning.census import CENSUS_PART, census_of_tiers
from pdpmean.release.census import noisy_census, public_census
from pdpmean.sources.arrays import ArraySource
from pdpmean.sources.read import read_people

UNBOUNDED = make_model("unbounded", (0.0625, 1.0))  # two buckets: [1/16, 1/4) and [1/4, 1]
SHARE = Fraction(1, 20)
PEOPLE: NDArray[np.float64] = np.repeat([0.0625, 0.5, 1.0], [800, 600, 100])


def cell_counts(budgets: Floats, model: Model = UNBOUNDED) -> CellCounts:
    return cell_counts_of(budgets, model)


# Public


def test_the_public_census_of_tiers_counts_exactly() -> None:
    budgets: Floats = np.repeat([0.0, 0.1, 0.5, 1.0, math.inf], [7, 5400, 3700, 900, 3])
    np.random.default_rng(1).shuffle(budgets)
    census = public_census(cell_counts(budgets, BOUNDED))
    assert census.profile.counts.tolist() == [5400.0, 3700.0, 900.0, 3.0]
    assert census.profile.allowances[:3] == pytest.approx([0.05, 0.25, 0.5], rel=1 / 64)
    assert census.profile.allowances[3] == math.inf
    assert (census.share, census.total_noise_std, census.left_out) == (Fraction(0), 0.0, 7.0)


def test_the_public_census_totals_what_was_granted() -> None:
    budgets = np.random.default_rng(2).uniform(0.01, 2.0, 20_000)
    census = public_census(cell_counts(budgets, BOUNDED))
    assert census.profile.people == 20_000
    assert census.profile.total == pytest.approx(float(budgets.sum()) / 2, rel=3e-3)


def test_a_public_census_of_nobody() -> None:
    assert public_census(cell_counts(np.empty(0), BOUNDED)).profile.people == 0
    assert public_census(cell_counts(np.zeros(5), BOUNDED)).left_out == 5.0


# Expected


def tiers_of(budgets: Floats, model: Model) -> Mapping[float, float]:
    """How many hold each of a few budgets, as read."""
    people = read_people(budgets, Options(model))
    assert isinstance(people, Mapping)
    return people


def test_the_expected_census_of_tiers() -> None:
    census = census_of_tiers({0.5: 30, 0.0: 4, 2.0: 10, 3.0: 0}, BOUNDED, SHARE)
    assert census.profile.allowances.tolist() == [0.25, 1.0]
    assert census.profile.counts.tolist() == [30.0, 10.0]
    assert (census.share, census.total_noise_std, census.left_out) == (Fraction(0), 0.0, 4.0)
    people = census_of_tiers(tiers_of(np.repeat([0.5, 0.0, 2.0], [30, 4, 10]), BOUNDED), BOUNDED, SHARE)
    assert people.profile.allowances.tolist() == census.profile.allowances.tolist()
    assert people.profile.counts.tolist() == census.profile.counts.tolist()
    assert people.left_out == 4.0


def test_the_expected_census_of_the_unbounded_model() -> None:
    census = census_of_tiers({0.01: 1000, 0.5: 30, 7.0: 10}, UNBOUNDED, SHARE)
    assert census.profile.allowances.tolist() == [0.5, 1.0]  # below the range: left out; above: its end
    assert census.share == SHARE
    # One standard deviation of the sum of two Laplace variables of scale 20: sqrt(2 * 2) 20.
    assert census.total_noise_std == pytest.approx(40.0)


@pytest.mark.parametrize("budget", [0.01, 0.3, 1.0])
def test_the_expected_census_of_many_at_an_end_of_the_range(budget: float) -> None:
    """The middle of a cell may lie outside the range that its people are in."""
    people = np.full(200_000, budget)
    assert isinstance(read_people(people, Options()), ArraySource)
    census = plan_mean(people, model="unbounded", budget_range=(0.01, 1.0)).census
    assert census.profile.people == 200_000
    assert census.profile.total == pytest.approx(200_000 * budget, rel=1 / 64)


@pytest.mark.parametrize("count", [-1, math.nan, math.inf])
def test_a_tier_must_have_0_or_more_people(count: float) -> None:
    with pytest.raises(InvalidInputError, match="0 or more people"):
        census_of_tiers({0.5: count}, BOUNDED, SHARE)


# Noisy


def test_what_the_noise_is_added_to() -> None:
    recorder = Recorder()
    census = noisy_census(cell_counts(PEOPLE), UNBOUNDED, SHARE, recorder)
    # frexp(1.0) is (0.5, 1): sums are in units of 2**-39, so 800 / 16 = 50 and 600 / 2 + 100 = 400 times 2**39.
    # The noise: a person adds at most their budget times 2**39, and pays SHARE of it: 2**39 * 20.
    assert recorder.asked == [(50 * 2**39, 20 * 2.0**39), (400 * 2**39, 20 * 2.0**39)]
    assert census.share == SHARE
    assert census.total_noise_std == pytest.approx(40.0)
    assert census.profile.total == pytest.approx(450.0)
    # A bucket's people are taken to hold its logarithmic mean, (b - a) / ln(b / a).
    assert census.profile.allowances == pytest.approx([0.1875 / math.log(4), 0.75 / math.log(4)])
    assert census.profile.counts * census.profile.allowances == pytest.approx([50.0, 400.0])


def test_buckets_keep_what_the_profile_was_made_from() -> None:
    noisy = noisy_census(cell_counts(PEOPLE), UNBOUNDED, SHARE, Recorder())
    expected = census_of_tiers(tiers_of(PEOPLE, UNBOUNDED), UNBOUNDED, SHARE)
    for census, factor in ((noisy, 1.0), (expected, 1.0), (noisy.times(2.0), 2.0)):
        assert census.buckets is not None
        assert (census.buckets.lows.tolist(), census.buckets.highs.tolist()) == ([0.0625, 0.25], [0.25, 1.0])
        assert census.buckets.sums == pytest.approx([50.0 * factor, 400.0 * factor])
    assert public_census(cell_counts(PEOPLE, BOUNDED)).times(2.0).buckets is None


@given(st.lists(st.floats(), max_size=30), st.floats())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_one_more_person_pays_at_most_their_share(budgets: list[float], more: float) -> None:
    before, after = Recorder(), Recorder()
    noisy_census(cell_counts(np.array(budgets)), UNBOUNDED, SHARE, before)
    noisy_census(cell_counts(np.array([*budgets, more])), UNBOUNDED, SHARE, after)
    loss = sum(
        Fraction(abs(one - other)) / Fraction(scale)
        for (one, scale), (other, _) in zip(before.asked, after.asked, strict=True)
    )
    granted = Fraction(min(more, 1.0)) if more >= 0.0625 else Fraction(0)
    assert loss <= SHARE * granted
    assert [scale for _, scale in before.asked] == [scale for _, scale in after.asked]


def noise_in_the_total(model: Model, factor: float, draws: int = 2500) -> list[int]:
    """The census of one bucket shows its noisy total; in units of 2**-39, whatever was granted taken off."""
    randomness = Randomness.seeded(3)
    people = cell_counts(np.full(5000, 0.5), model)
    share = SHARE / Fraction(factor)
    return [
        round((noisy_census(people, model, share, randomness).profile.total - 2500.0) * 2**39) for _ in range(draws)
    ]


def test_the_noise_has_its_scale() -> None:
    model = make_model("unbounded", (0.25, 1.0))
    cdf = discrete_laplace_size_cdf(20 * 2.0**39)
    assert_accepts_and_rejects(
        lambda sample: kolmogorov([abs(noise) for noise in sample], cdf),
        noise_in_the_total(model, 1.0),
        {"times 0.7": noise_in_the_total(model, 0.7), "times 1.3": noise_in_the_total(model, 1.3)},
    )


def test_what_looks_empty_is_taken_for_empty() -> None:
    model = make_model("unbounded", (2.0**-10, 1.0))
    people: Floats = np.repeat([2.0**-10, 0.9], [1000, 2000])  # 1 nat and 1800: 1 is far below the noise of 20
    census = noisy_census(cell_counts(people, model), model, SHARE, Recorder())
    assert census.profile.allowances.size == 1
    assert census.profile.total == pytest.approx(1000 / 1024 + 2000 * 115 / 128)  # the cell of 0.9


@pytest.mark.parametrize("budgets", [[], [0.01, math.nan, -2.0]])
def test_a_noisy_census_of_nobody(budgets: list[float]) -> None:
    census = noisy_census(cell_counts(np.array(budgets)), UNBOUNDED, SHARE, Recorder())
    assert census.profile.total == pytest.approx(1.0)  # never 0: a plan can be made, and refused
    for seed in range(20):
        noisy = noisy_census(cell_counts(np.array(budgets)), UNBOUNDED, SHARE, Randomness.seeded(seed))
        assert noisy.profile.total >= 1.0 - 1e-9
        assert (noisy.profile.counts > 0).all()


def test_budgets_outside_the_range() -> None:
    one, other = Recorder(), Recorder()
    noisy_census(cell_counts(np.array([0.01, 0.5, 9.0, math.inf, math.nan])), UNBOUNDED, SHARE, one)
    noisy_census(cell_counts(np.array([0.5, 1.0, 1.0])), UNBOUNDED, SHARE, other)
    assert one.asked == other.asked


@pytest.mark.parametrize(
    "budget_range", [(0.5, 0.5), (2.0**-40, 2.0**-40), (1e-6, 1e-5), (2.0**-40, 2.0**40), (3.0, 1e300)]
)
def test_the_noisy_census_is_finite_for_every_public_range(budget_range: tuple[float, float]) -> None:
    model = make_model("unbounded", budget_range)
    census = noisy_census(cell_counts(np.full(10, budget_range[0]), model), model, SHARE, Randomness.seeded(1))
    assert math.isfinite(census.profile.total)


def test_the_part_for_the_census() -> None:
    assert Fraction(1, 16) == CENSUS_PART
