"""The whole method, seeded: both models, both shapes, every kind of budget; coverage, equivariance, errors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from messages import messages_of
from scipy.stats import binom

from pdpmean import (
    Choices,
    InsufficientBudgetError,
    InvalidInputError,
    MeanEstimate,
    PopulationWarning,
    Randomness,
    estimate_mean,
    plan_mean,
)
from pdpmean.core.types import Floats
from pdpmean.laws import error_law as interval

pytestmark = pytest.mark.usefixtures("remembered_plans")

UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.05, 2.0)}
BUDGETS: Floats = np.random.default_rng(1).choice([0.2, 1.0, 2.0], 6000, p=[0.44, 0.46, 0.10])
VALUES: Floats = np.random.default_rng(2).normal(50.0, 4.0, 6000)


def seeded(values: Any = VALUES, budgets: Any = BUDGETS, seed: int = 1, **options: Any) -> MeanEstimate:
    result: MeanEstimate = estimate_mean(values, budgets, randomness=Randomness.seeded(seed), **options)
    return result


def assert_close(found: MeanEstimate, truth: float = 50.0) -> None:
    """Within 4.5 standard deviations as stated, which are themselves a small part of the population's 4."""
    assert abs(found.mean - truth) < 4.5 * found.std
    assert found.std < 0.6


BELL: dict[str, Any] = {"shape": "gaussian"}
CELLS: dict[str, dict[str, Any]] = {
    "bounded": {},
    "unbounded": UNBOUNDED,
    "a lower bound": {"bounds": (0.0, None)},
    "an upper bound unbounded": {"bounds": (None, 100.0), **UNBOUNDED},
    "bell": BELL,
    "bell unbounded": {**BELL, **UNBOUNDED},
    "bell from a bound": {**BELL, "bounds": (0.0, None)},
    "bell within bounds": {"shape": "gaussian", "bounds": (0.0, 200.0)},
    "bell within bounds unbounded": {"shape": "gaussian", "bounds": (0.0, 200.0), **UNBOUNDED},
    "bounds": {"bounds": (30.0, 70.0)},
    "bounds unbounded": {"bounds": (30.0, 70.0), **UNBOUNDED},
    "share": {"share": 0.5},
    "third": {"share": Fraction(1, 3), **UNBOUNDED},
    "chosen": {**BELL, "choices": Choices(clip_half_width=3.0, saturation=0.4)},
}


@pytest.mark.parametrize("options", list(CELLS.values()), ids=list(CELLS))
def test_the_mean_is_found(options: dict[str, Any]) -> None:
    for seed in range(5):
        found = seeded(seed=seed, **options)
        assert_close(found)
        centre = found.plan.bounds.anchor if found.plan.shape == "any" else None
        assert found.center == centre or abs(found.center - 50.0) < 4.0
        assert found.spent == Fraction(math.floor(Fraction(options.get("share", 1)) * 2**20), 2**20)
        assert not found.private
        assert messages_of(found) == ()


def test_secure_randomness_is_the_default() -> None:
    first, second = estimate_mean(VALUES, BUDGETS), estimate_mean(VALUES, BUDGETS)
    assert first.private
    assert first.mean != second.mean
    assert "NOT PRIVATE" not in str(first)
    assert abs(first.mean - 50.0) < 8 * first.std


def test_the_same_seed_gives_the_same_result() -> None:
    for options in CELLS.values():
        assert seeded(seed=3, **options).to_dict() == seeded(seed=3, **options).to_dict()
        assert seeded(seed=3, **options).mean != seeded(seed=4, **options).mean


def test_the_plan_is_the_one_foretold() -> None:
    # Cells of a budget are a 64th wide, so the plans agree closely, not exactly.
    found = seeded().plan
    foretold = plan_mean(BUDGETS)
    assert found.expected_std == pytest.approx(foretold.expected_std, rel=0.02)
    assert found.people == foretold.people == 6000
    unbounded = seeded(**UNBOUNDED).plan
    assert unbounded.expected_std == pytest.approx(plan_mean(BUDGETS, **UNBOUNDED).expected_std, rel=0.25)


# Budgets


def test_one_budget_for_all() -> None:
    assert_close(seeded(budgets=0.5))
    assert_close(seeded(budgets=0.5, **UNBOUNDED))
    assert seeded(budgets=0.5).mean == seeded(budgets=np.full(6000, 0.5)).mean


TIERS = {"low": 0.2, "mid": 1.0, "high": 2.0}
NAMES = [{0.2: "low", 1.0: "mid", 2.0: "high"}[budget] for budget in BUDGETS.tolist()]


@pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_tiers_by_name(options: dict[str, Any]) -> None:
    """Where budgets are private, names tell which levels of them there are: by budgets, they change nothing."""
    by_name = seeded(budgets=NAMES, tiers=TIERS, weighting="budgets", **options)
    assert by_name.to_dict() == seeded(weighting="budgets", **options).to_dict()


def test_an_unknown_tier() -> None:
    names = ["other", *NAMES[1:]]
    with pytest.raises(InvalidInputError, match="the tier 'other', which tiers does not list: low, mid, high"):
        seeded(budgets=names, tiers=TIERS)
    nothing = np.concatenate([[0.0], BUDGETS[1:]])
    options = {**UNBOUNDED, "weighting": "budgets"}
    assert seeded(budgets=names, tiers=TIERS, **options).to_dict() == seeded(budgets=nothing, **options).to_dict()


def test_who_grants_nothing_has_no_influence() -> None:
    budgets = BUDGETS.copy()
    budgets[::3] = 0.0
    wild = VALUES.copy()
    wild[::3] = 1e300
    for options in ({}, UNBOUNDED):
        assert seeded(wild, budgets, **options).to_dict() == seeded(VALUES, budgets, **options).to_dict()


def test_a_public_minority() -> None:
    budgets = np.full(6000, 0.1)
    budgets[:60] = math.inf
    found = seeded(budgets=budgets)
    assert_close(found)
    assert 0.1 < found.plan.saturation < math.inf
    # Worth more than the same people without the public ones.
    assert found.plan.expected_std < plan_mean({0.1: 6000}).expected_std


def test_public_people_do_not_make_an_answer_refused() -> None:
    """Few as they are, they are not counted on where the population is located."""
    for public in (1, 10, 60, 600):
        assert plan_mean({math.inf: public, 0.1: 6000}).expected_std < plan_mean({0.1: 6000}).expected_std


def test_all_public() -> None:
    found = seeded(VALUES[:500], math.inf)
    assert found.noise_std < 0.25 * found.sampling_std  # a clip has room to spare until then
    assert abs(found.mean - float(VALUES[:500].mean())) < 0.5 * found.std
    assert found.weighting == "everyone"


def test_budgets_outside_the_range() -> None:
    budgets = BUDGETS.copy()
    budgets[:50], budgets[50:100] = 1e-3, math.nan
    same = BUDGETS.copy()
    same[:100] = 0.0
    assert seeded(budgets=budgets, **UNBOUNDED).to_dict() == seeded(budgets=same, **UNBOUNDED).to_dict()
    budgets[:100], same[:100] = math.inf, 2.0
    assert seeded(budgets=budgets, **UNBOUNDED).to_dict() == seeded(budgets=same, **UNBOUNDED).to_dict()


# Data


def test_a_few_strange_values_do_little() -> None:
    values = VALUES.copy()
    values[:10] = [math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, 0.0, -0.0, 1e-300, 1e18]
    assert_close(seeded(values))
    assert_close(seeded(values, **UNBOUNDED))


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_integers() -> None:
    # A unit is a quarter of the standard deviation: the median of such numbers is itself off by that, and may warn.
    for seed in range(5):
        assert_close(seeded([round(value) for value in VALUES.tolist()], seed=seed))


def test_lists_of_few_digits_and_missing_entries() -> None:
    for seed in range(5):
        assert_close(seeded([round(value, 1) for value in VALUES.tolist()], seed=seed))
    assert_close(seeded([None, "x", *VALUES.tolist()[2:]]))


def test_order_does_not_matter_beyond_the_coins() -> None:
    # 6000 records are all looked at, so no coin is tossed for any: the result is the same number.
    order = np.random.default_rng(3).permutation(6000)
    for options in CELLS.values():
        assert seeded(VALUES[order], BUDGETS[order], **options).mean == seeded(**options).mean


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [seeded(**options).to_dict() for options in CELLS.values()]
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 1001)
    assert [seeded(**options).to_dict() for options in CELLS.values()] == whole


def test_a_large_sample_is_thinned() -> None:
    values = np.random.default_rng(4).normal(-7.0, 0.5, 150_000)
    found = seeded(values, 0.1)
    assert abs(found.mean + 7.0) < 4.5 * found.std
    assert found.std < 0.005


@pytest.mark.parametrize("bounds", [None, (0.0, None)], ids=str)
@pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_a_skewed_population_is_right_without_a_warning(options: dict[str, Any], bounds: Any) -> None:
    values = np.random.default_rng(5).lognormal(0.0, 0.7, 40_000)
    mean = math.exp(0.245)
    for seed in range(5):
        found = seeded(values, 1.0, seed=seed, bounds=bounds, **options)
        assert messages_of(found) == ()
        assert abs(found.mean - mean) < 4.5 * math.hypot(found.noise_std, found.sampling_std) < 0.1
    assert found.scale == pytest.approx(mean * math.sqrt(math.expm1(0.49)), rel=0.1)


def test_a_bell_assumed_of_a_skewed_population_warns() -> None:
    values = np.random.default_rng(5).exponential(size=40_000)
    with pytest.warns(PopulationWarning, match="use shape='any'"):
        found = seeded(values, 1.0, shape="gaussian")
    assert messages_of(found)
    assert abs(seeded(values, 1.0).mean - 1.0) < 0.05 < abs(found.released_mean - 1.0)


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_of_a_bell_incomes_nearly_always_warn_and_hours_do_not() -> None:
    random = np.random.default_rng(6)
    incomes, hours = random.lognormal(10.3, 0.6, 20_000), random.normal(38.4, 6.0, 20_000).round()
    warned = {
        name: sum(bool(messages_of(seeded(values, 0.5, seed=seed, shape="gaussian"))) for seed in range(20))
        for name, values in (("incomes", incomes), ("hours", hours))
    }
    assert warned["incomes"] >= 17
    assert warned["hours"] <= 3


EQUAL = "many values seem to be equal, or nearly so"


@pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("value", [7.0, 0.0, -3e-7])
def test_a_constant_column_is_that_constant_and_warns(value: float, options: dict[str, Any]) -> None:
    for seed in range(10):
        with pytest.warns(PopulationWarning, match="use shape='any'"):
            found = seeded(np.full(6000, value), 1.0, seed=seed, shape="gaussian", **options)
        # Numbers are told apart to 2**-26 of themselves, and zero to far less.
        assert found.released_mean == pytest.approx(value, rel=2.0**-24, abs=1e-290)
        assert found.center == pytest.approx(value, rel=2.0**-24, abs=1e-290)
        assert found.std <= max(2.0**-24 * abs(value), 1e-290)
        assert messages_of(found) == (EQUAL,)


NOTHING = "only one value can be seen: all values are equal, or those that differ are too few to be seen"


@pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("value", [7.0, 0.0, -3e-7])
def test_a_constant_column_of_any_shape_is_said_to_be_one(value: float, options: dict[str, Any]) -> None:
    for seed in range(10):
        with pytest.warns(PopulationWarning, match="only one value can be seen"):
            found = seeded(np.full(6000, value), 1.0, seed=seed, **options)
        low, high = found.law.interval(0.999)
        assert low <= value <= high
        assert found.center == pytest.approx(value, rel=2.0**-20, abs=1e-9)
        assert messages_of(found) == (NOTHING,)


def test_what_is_too_rare_to_see_is_said_and_bounds_help() -> None:
    """3 in a thousand: without bounds, they may as well be nobody."""
    values = (np.random.default_rng(7).random(4000) < 0.003).astype(np.float64)
    for seed in range(5):
        with pytest.warns(PopulationWarning, match="only one value can be seen"):
            seeded(values, 0.5, seed=seed)
        found = seeded(values, 0.5, seed=seed, bounds=(0, 1))
        assert messages_of(found) == ()
        assert abs(found.mean - 0.003) < 4.5 * found.std < 0.02


@pytest.mark.parametrize(("value", "people"), [(5.0, 6000), (0.0, 6000), (0.0, 1000)])
def test_a_constant_column_from_a_bound_is_said_to_be_one(value: float, people: int) -> None:
    for seed in range(5):
        with pytest.warns(PopulationWarning, match="only one value can be seen"):
            found = seeded(np.full(people, value), 1.0, seed=seed, bounds=(0.0, None))
        low, high = found.law.interval(0.999)
        assert 0 <= low <= value <= high


def test_a_constant_column_is_seen_from_a_bound_where_no_centre_is_sought() -> None:
    for seed in range(5):
        found = seeded(np.full(600, 5.0), 1.0, seed=seed, bounds=(0.0, None))
        assert messages_of(found) == ()
        assert abs(found.mean - 5.0) < 4.5 * math.hypot(found.noise_std, found.sampling_std) < 3.0


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize(
    "options", [{}, UNBOUNDED, BELL, BELL | UNBOUNDED], ids=["any", "any unbounded", "bell", "bell unbounded"]
)
def test_a_column_without_numbers_warns(options: dict[str, Any]) -> None:
    """Text counts as missing, and nothing is where the population was located, wherever that is."""
    warned = [messages_of(seeded(["38.2 h"] * 10_000, 1.0, seed=seed, **options)) for seed in range(20)]
    assert sum(bool(texts) for texts in warned) >= 17
    assert sum("not numbers" in "".join(texts) for texts in warned) >= 10  # others are told that many seem equal


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_nothing_raises_where_numpy_was_asked_to() -> None:
    tiers = {0.1: 5400, 0.5: 3700, 1.0: 900}
    expected = [seeded(**options).to_dict() for options in CELLS.values()], plan_mean(tiers).to_dict()
    interval._half_widths.cache_clear()
    interval._upper_nodes.cache_clear()
    with np.errstate(all="raise"):
        assert ([seeded(**options).to_dict() for options in CELLS.values()], plan_mean(tiers).to_dict()) == expected


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_a_few_missing_values_do_not_warn() -> None:
    generator = np.random.default_rng(13)
    for seed in range(40):
        values = np.where(generator.random(10_000) < 0.1, np.nan, generator.normal(3.0, 2.0, 10_000))
        assert messages_of(seeded(values, 1.0, seed=seed)) == ()


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize(("people", "budget"), [(10_000, 1.0), (20_000, 0.5)])
@pytest.mark.parametrize("value", [3.0, 0.0])
def test_mostly_equal_values_warn_of_a_bell(value: float, people: int, budget: float, options: dict[str, Any]) -> None:
    """Any shape copes."""
    warned = right = 0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        values = np.where(generator.random(people) < 0.6, value, generator.normal(3.0, 1.0, people))
        warned += bool(messages_of(seeded(values, budget, seed=seed, shape="gaussian", **options)))
        found = seeded(values, budget, seed=seed, **options)
        right += abs(found.mean - (0.6 * value + 1.2)) < 2.5 * found.std and not messages_of(found)
    assert warned >= 18
    assert right >= 18


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_a_bell_shape_hardly_ever_warns() -> None:
    # With little budget, and in the unbounded model: see test_intervals_of_a_bell_cover.
    generator = np.random.default_rng(12)
    warned = [
        bool(messages_of(seeded(generator.normal(3.0, 2.0, 5000), 2.0, seed=seed, shape="gaussian")))
        for seed in range(200)
    ]
    assert sum(warned) <= 4


def test_many_equal_values_warn() -> None:
    # 90 % at 3, which is then centre and median of the distances: the located scale is nothing.
    values = np.where(np.arange(20_000) % 10 == 0, np.random.default_rng(6).normal(3.0, 1.0, 20_000), 3.0)
    with pytest.warns(PopulationWarning, match="use shape='any'"):
        seeded(values, 1.0, shape="gaussian", choices=Choices(center_share=0.2, scale_share=0.2))


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize(
    "options", [{}, UNBOUNDED, BELL, {"bounds": (0, None)}], ids=["any", "unbounded", "bell", "bound"]
)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.7e308, 0.0, 5e-324, 1e-300, 7.0])
def test_values_never_raise(value: float, options: dict[str, Any]) -> None:
    for seed in range(3):
        found = seeded(np.full(6000, value), seed=seed, **options)
        assert math.isfinite(found.released_mean)
        assert all(math.isfinite(end) for end in found.law.interval(0.95))
        assert str(found)


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("options", [{}, BELL], ids=["any", "bell"])
def test_two_clusters_at_the_ends_of_all_doubles(options: dict[str, Any]) -> None:
    values = np.where(np.arange(6000) % 2 == 0, 1.7e308, -1.7e308)
    for seed in range(3):
        found = seeded(values, seed=seed, **options)
        assert all(math.isfinite(end) for end in (found.released_mean, found.std, *found.law.interval(0.95)))


# Equivariance


@pytest.mark.parametrize("options", [BELL, BELL | UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("power", [-12, -3, 5, 15])
def test_a_power_of_two_scales_the_result(power: int, options: dict[str, Any]) -> None:
    # Ordinary exponents stay ordinary, so the private choices nearly coincide; the noise is the same number of steps.
    one, other = seeded(seed=8, **options), seeded(np.ldexp(VALUES, power), seed=8, **options)
    assert math.ldexp(other.mean, -power) == pytest.approx(one.mean, abs=0.5 * one.std)
    assert math.ldexp(other.std, -power) == pytest.approx(one.std, rel=0.2)


@pytest.mark.parametrize(
    ("power", "options"),
    [(power, BELL) for power in (-1000, -600, -100, 100, 600, 1000, 1017)]
    + [(power, {}) for power in (-12, 100, 600, 1000, 1010)],
)
def test_extreme_units_are_estimated_all_the_same(power: int, options: dict[str, Any]) -> None:
    """Those of any shape are not: what is far smaller than ordinary numbers counts as equal."""
    found = seeded(np.ldexp(VALUES, power), 2.0, **options)
    assert abs(found.mean - math.ldexp(50.0, power)) < 4.5 * found.std < math.ldexp(2.0, power)
    low, high = found.law.interval(0.99)
    assert low < math.ldexp(50.0, power) < high


@pytest.mark.parametrize("options", [BELL, {"budgets": 0.01}], ids=["bell", "bounds"])
def test_bounds_scale_exactly(options: dict[str, Any]) -> None:
    # Between bounds the lattice itself scales by powers of two: everything does, bit for bit.
    one = seeded(bounds=(0.0, 128.0), seed=9, **options)
    assert one.plan.shape == ("bounds" if "budgets" in options else "gaussian")
    other = seeded(np.ldexp(VALUES, 40), bounds=(0.0, math.ldexp(128.0, 40)), seed=9, **options)
    assert other.mean == pytest.approx(math.ldexp(one.mean, 40), rel=1e-12)
    assert other.interval() == pytest.approx(tuple(math.ldexp(end, 40) for end in one.interval()), rel=1e-9)


def test_a_mirrored_population() -> None:
    errors = [seeded(-VALUES, seed=seed).mean + 50.0 for seed in range(5)]
    assert max(map(abs, errors)) < 0.6


@pytest.mark.parametrize("mu", [0.0, 1e4, -1e6])
def test_huge_shifts(mu: float) -> None:
    values = mu + np.random.default_rng(10).normal(size=6000)
    for seed in range(5):
        found = seeded(values, 1.0, seed=seed)
        assert abs(found.mean - mu) < 4.5 * found.std < 0.3


# Coverage


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("options", [BELL, BELL | UNBOUNDED], ids=["bounded", "unbounded"])
def test_intervals_of_a_bell_cover(options: dict[str, Any]) -> None:
    generator = np.random.default_rng(11)
    levels = (0.8, 0.95)
    covered = dict.fromkeys(levels, 0)
    runs, warned = 200, 0
    for seed in range(runs):
        found = seeded(generator.normal(3.0, 2.0, 2000), np.full(2000, 0.4), seed=seed, **options)
        warned += bool(messages_of(found))
        for level in levels:
            low, high = found.interval(level)
            covered[level] += low <= 3.0 <= high
    for level in levels:
        # Binomial bounds that a covering interval leaves once in a thousand times on either side.
        least, most = (float(binom.ppf(chance, runs, level)) for chance in (1e-3, 1 - 1e-3))
        assert least <= covered[level] <= most
    assert warned <= 4


@pytest.mark.parametrize("options", [{}, {"model": "unbounded", "budget_range": (0.1, 0.5)}], ids=str)
def test_intervals_of_a_skewed_population_cover(options: dict[str, Any]) -> None:
    """Its mean lies far from the middle of the clip, and so the noise of a private total weight moves it."""
    generator, runs, covered, errors = np.random.default_rng(12), 100, 0, []
    for seed in range(runs):
        found = seeded(generator.exponential(size=30_000), np.full(30_000, 0.2), seed=seed, **options)
        low, high = found.interval(0.95)
        covered += low <= 1.0 <= high
        errors.append(found.mean - 1.0)
    assert covered >= binom.ppf(1e-3, runs, 0.95)
    # Of which 0.006 times 1.6 is who is in the sample. Once in some hundred times noise is taken for a far value.
    assert np.quantile(np.abs(errors), 0.9) < 0.016


# Errors


@pytest.mark.parametrize(
    ("budgets", "options"),
    [
        (1e-3, {}),
        (0.05, BELL),
        (1e-9, BELL),
        (0.1, UNBOUNDED | {"share": 0.1}),
        (0.2, {}),
        (0.15, {"bounds": (0, None)}),
    ],
)
def test_tiny_budgets_are_refused(budgets: float, options: dict[str, Any]) -> None:
    with pytest.raises(InsufficientBudgetError) as caught:
        seeded(VALUES[:1000], budgets, **options)
    assert caught.value.needed > caught.value.total


@pytest.mark.parametrize(("values", "budgets"), [([], []), ([1.0, 2.0], [0.0, 0.0]), ([1.0], 0.0)])
def test_nobody(values: list[float], budgets: Any) -> None:
    for options in ({}, UNBOUNDED):
        with pytest.raises(InsufficientBudgetError):
            seeded(values, budgets, **options)


def test_a_refusal_reads_no_value() -> None:
    # Same public inputs, any values: the same words.
    def words(values: Floats) -> str:
        with pytest.raises(InsufficientBudgetError) as caught:
            seeded(values, 0.05)
        return str(caught.value)

    assert words(VALUES[:500]) == words(np.full(500, math.nan)) == words(np.full(500, 1e300))


@pytest.mark.parametrize(
    ("values", "budgets", "options", "message"),
    [
        (VALUES, BUDGETS[:-1], {}, "got 6000 values and 5999 budgets"),
        (VALUES, BUDGETS[:-1], UNBOUNDED, "their lengths differ$"),
        (VALUES, np.full(6000, -0.5), {}, "budgets must be >= 0; record 0 has -0.5"),
        (
            VALUES,
            np.full(6000, math.nan),
            {},
            r"record 0 is empty \(the first record is 0\). Use 0 to leave a record out$",
        ),
        (VALUES, -0.5, {}, "^budgets must be >= 0; got -0.5$"),
        (VALUES, "x", {}, "budgets must be numbers"),
        (VALUES.reshape(2, 3000), BUDGETS, {}, "one column"),
        (VALUES.astype(str), BUDGETS, {}, "values must be numbers"),
        (VALUES, BUDGETS, {"model": "local"}, "model must be"),
        (VALUES, BUDGETS, {"model": "unbounded"}, "needs budget_range"),
        (VALUES, BUDGETS, {"budget_range": (0.1, 1.0)}, "goes with model='unbounded'"),
        (VALUES, BUDGETS, {"shape": "round"}, "shape must be 'any' or 'gaussian'; got 'round'"),
        (VALUES, BUDGETS, {"shape": "bounds", "bounds": (0, 1)}, "shape must be 'any' or 'gaussian'; got 'bounds'"),
        (VALUES, BUDGETS, {"bounds": (3.0, 1.0)}, r"bounds must be numbers \(low, high\) with low < high"),
        (VALUES, BUDGETS, {"bounds": (None, math.nan)}, r"bounds must be numbers \(low, high\) with low < high"),
        (VALUES, BUDGETS, {"choices": Choices(clip_half_width=2.0)}, "apply only to shape='gaussian'"),
        (VALUES, BUDGETS, {"share": 2.0}, "share must be above 0 and at most 1; got 2.0"),
        (NAMES, NAMES, {"tiers": {"low": -1.0}}, "tiers must be budgets >= 0; 'low' has -1.0"),
    ],
)
def test_what_is_public_is_checked(values: Any, budgets: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        seeded(values, budgets, **options)


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("rich", [(0.5, 0.5), (1.0, 0.5), (1.0, 1.0), (2.0, 1.0)])
def test_the_mean_is_that_of_everyone_where_a_few_who_grant_much_are_others(rich: tuple[float, float]) -> None:
    generator = np.random.default_rng(21)
    budgets = np.repeat([0.02, 5.0], [19_800, 200])
    for seed in range(6):
        values = np.concatenate([generator.normal(size=19_800), generator.normal(*rich, size=200)])
        found = seeded(values, budgets, seed=seed)
        low, high = found.interval(0.997)
        assert low <= values.mean() <= high
        assert found.levels_differ
        bell = seeded(values, budgets, seed=seed, **BELL)
        assert bell.contradicted or abs(bell.mean - values.mean()) <= 3 * bell.std


@pytest.mark.parametrize("shape", ["gaussian", "any"])
def test_a_narrow_population_far_from_zero_does_not_warn_within_bounds(shape: Any) -> None:
    values = 1e9 + 50 + 10 * np.random.default_rng(22).standard_normal(20_000)
    for seed in range(5):
        found = seeded(values, 1.0, seed=seed, shape=shape, bounds=(1e9, 1e9 + 100))
        assert messages_of(found) == ()
        assert found.mean == pytest.approx(1e9 + 50, abs=2.0)


def test_a_very_narrow_clip_does_not_warn() -> None:
    values = np.random.default_rng(23).standard_normal(20_000)
    for seed in range(5):
        assert (
            messages_of(seeded(values, 1.0, seed=seed, shape="gaussian", choices=Choices(clip_half_width=0.05))) == ()
        )


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize("shape", ["gaussian", "any"])
@pytest.mark.parametrize("factor", [1e308, math.inf])
def test_an_error_beyond_all_numbers_is_a_number(shape: Any, factor: float) -> None:
    values = np.clip(np.random.default_rng(24).standard_normal(3000), -1.7, 1.7) * factor
    found = seeded(values, 2.0, seed=1, shape=shape, choices=Choices(saturation=2.0**-20))
    assert all(math.isfinite(end) for end in (*found.law.interval(0.95), found.std))


@pytest.mark.parametrize(
    ("bounds", "sigma", "people", "helps"),
    [
        (None, 1.5, 1000, "bounds or more budget"),
        ((0, 1e6), 1.5, 2000, "more budget"),
        (None, 0.5, 100_000, None),
    ],
)
def test_what_would_narrow_an_interval_is_told_if_unseen_tails_make_it_wide(
    bounds: Any, sigma: float, people: int, helps: str | None
) -> None:
    values = np.random.default_rng(1).lognormal(0, sigma, people)
    found = estimate_mean(values, 0.5, bounds=bounds, randomness=Randomness.seeded(1))
    assert (found.tails_std > math.hypot(found.noise_std, found.sampling_std)) == (helps is not None)
    said = f"Most of the error is due to such tails: {helps} would make the interval narrower"
    assert (said in " ".join(str(found).split())) == (helps is not None)
