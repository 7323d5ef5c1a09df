"""The mean between known bounds: what intervals cover, by simulation of released numbers, and what they are like."""

from __future__ import annotations

import math
import pickle
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from pdpmean.core.types import Floats
from pdpmean.laws.bounded_mean import BoundedMean, GridLaw, from_private_total, from_public_total
from pdpmean.laws.error_law import noisy_normal_cdf, noisy_normal_density
from pdpmean.laws.noisy_sums import _three_laplaces
from pdpmean.laws.two_point import binomial

pytestmark = pytest.mark.usefixtures("remembered_plans")

RUNS = 400
LEVELS = (0.01, 0.5, 0.8, 0.95, 0.999, 1 - 1e-15)
RATINGS, OFTEN = np.array([0.0, 0.25, 0.5, 0.75, 1.0]), np.array([0.05, 0.05, 0.15, 0.35, 0.4])

Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


def yes(share: float) -> Draw:
    return lambda rng, size: (rng.random(size) < share).astype(np.float64)


POPULATIONS: dict[str, tuple[float, Draw]] = {
    "2 % yes": (0.02, yes(0.02)),
    "30 % yes": (0.3, yes(0.3)),
    "half yes": (0.5, yes(0.5)),
    "ratings": (float(RATINGS @ OFTEN), lambda rng, size: rng.choice(RATINGS, size, p=OFTEN)),
    "beta": (2 / 7, lambda rng, size: rng.beta(2.0, 5.0, size)),
}


# Simulation


@dataclass(frozen=True)
class Cell:
    """What is simulated, and how much of its error the law is told."""

    population: str
    people: int
    total: float
    budgets: tuple[float, ...] = (1.0,)
    missing: float = 0.0
    private: bool = False
    noise: float = 1.0
    """In units of the scale that the law believes."""

    believed_people: float = 1.0
    """Over the people there are."""

    @property
    def mean(self) -> float:
        return POPULATIONS[self.population][0]

    @property
    def name(self) -> str:
        model = "private total" if self.private else f"{self.missing:.0%} missing"
        budgets = "tiers" if len(self.budgets) > 1 else "equal"
        return f"{self.population}, {self.people} people, {self.total:g} nats, {budgets}, {model}"


def released(cell: Cell, runs: int = RUNS) -> tuple[Floats, ...]:
    """What would be released, once a run, with floating-point noise."""
    rng = np.random.default_rng(zlib.crc32(cell.name.encode()))
    budgets = np.resize(cell.budgets, cell.people)
    weights = budgets * cell.total / np.sum(budgets)
    sums = np.array([exact_sums(cell, weights, rng) for _ in range(runs)]).T
    noise = cell.noise * rng.laplace(size=(3, runs)) * (1.0 if cell.private else np.array([[1.0], [2.0], [1.0]]))
    total = [] if cell.private else [np.full(runs, cell.total)]
    people = cell.believed_people * cell.total**2 / np.sum(weights**2)
    return (*(sums + noise), *total, np.full(runs, people))


def exact_sums(cell: Cell, weights: Floats, rng: np.random.Generator) -> list[float]:
    u = POPULATIONS[cell.population][1](rng, (1, cell.people))[0]
    is_missing = rng.random(cell.people) < cell.missing
    present = np.where(is_missing, 0.0, weights)
    if cell.private:
        return [float(present @ part) for part in ((1 - u) ** 2, 2 * u * (1 - u), u**2)]
    z = 2 * u - 1
    return [float(present @ z), float(present @ (1 - z * z)), float(weights @ is_missing)]


def concluded(cell: Cell, runs: int = RUNS) -> list[BoundedMean]:
    conclude: Callable[..., list[BoundedMean]] = from_private_total if cell.private else from_public_total
    return conclude(*released(cell, runs))


def coverage(cell: Cell, level: float, results: list[BoundedMean]) -> float:
    intervals = (result.law.interval(level) for result in results)
    return float(np.mean([low <= cell.mean <= high for low, high in intervals]))


def covers(cell: Cell) -> bool:
    """In at least 90 of 100 runs for 95 %, and 74 for 80 %."""
    results = concluded(cell)
    return coverage(cell, 0.95, results) >= 0.9 and coverage(cell, 0.8, results) >= 0.74


def cells() -> list[Cell]:
    """Every population in every model, with each size and each total somewhere."""
    sizes, totals = (25, 100, 600, 5000), (20.0, 100.0, 1000.0)
    models: list[dict[str, Any]] = [{"missing": share} for share in (0.0, 0.03, 0.2)] + [{"private": True}]
    found = []
    for number, population in enumerate(POPULATIONS):
        for place, model in enumerate(models):
            budgets = (0.1, 0.5, 1.0) if (number + place) % 2 else (1.0,)
            size, total = sizes[(number + place) % 4], totals[(number + 2 * place) % 3]
            found.append(Cell(population, size, total, budgets, **model))
    return found


@pytest.mark.parametrize("cell", cells(), ids=lambda cell: cell.name)
def test_intervals_cover(cell: Cell) -> None:
    assert covers(cell)


@pytest.mark.parametrize("private", [False, True])
def test_intervals_would_not_cover_with_half_the_noise(private: bool) -> None:
    cell = Cell("half yes", 5000, 20.0, private=private)
    assert covers(cell)
    assert not covers(replace(cell, noise=2.0))


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("population", ["30 % yes", "beta"])
def test_intervals_would_not_cover_without_sampling(population: str, private: bool) -> None:
    cell = Cell(population, 100, 1000.0, private=private)
    assert covers(cell)
    assert not covers(replace(cell, believed_people=1e6))


def test_intervals_would_not_cover_if_nothing_were_missing() -> None:
    cell = Cell("2 % yes", 600, 1000.0, missing=0.2)
    sums, spreads, missing, *public = released(cell)
    assert coverage(cell, 0.95, from_public_total(sums, spreads, missing, *public)) >= 0.9
    assert coverage(cell, 0.95, from_public_total(sums, spreads, 0 * missing, *public)) < 0.1


# Estimates


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("total", [20.0, 1000.0])
def test_possibly_missing_values_cost_little_where_none_is(population: str, total: float) -> None:
    cell = Cell(population, 600, total)
    sums, *others = released(cell)
    direct = np.clip((1 + sums / total) / 2, 0, 1)
    found = np.array([result.mean for result in from_public_total(sums, *others)])
    assert rms(found - cell.mean) <= 1.25 * rms(direct - cell.mean)


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize(("people", "total"), [(5000, 50.0), (100, 1000.0)])
def test_the_two_parts_of_the_error_add_up_to_it(people: int, total: float, private: bool) -> None:
    cell = Cell("beta", people, total, private=private)
    results = concluded(cell)
    said = rms(np.array([math.hypot(result.law.noise_std, result.law.sampling_std) for result in results]))
    assert said == pytest.approx(rms(np.array([result.mean for result in results]) - cell.mean), rel=0.15)


def rms(errors: Floats) -> float:
    return float(np.sqrt(np.mean(errors**2)))


@pytest.mark.parametrize("share", [0.0, 0.03, 0.2, 0.6])
def test_the_missing_share_is_found(share: float) -> None:
    results = concluded(Cell("ratings", 5000, 1000.0, missing=share), runs=50)
    assert np.median([result.missing for result in results]) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("population", ["half yes", "ratings", "beta"])
def test_the_deviation_is_found(population: str, private: bool) -> None:
    draw = POPULATIONS[population][1]
    expected = float(np.std(draw(np.random.default_rng(1), (1, 100_000))))
    results = concluded(Cell(population, 5000, 1000.0, private=private), runs=50)
    assert np.median([result.deviation for result in results]) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("value", [0.0, 0.1, 0.5, 1.0])
def test_a_constant_column(value: float) -> None:
    """No sampling error to speak of: an interval of a few scales of the noise, and at a bound a deviation near 0."""
    z, total = 2 * value - 1, 1000.0
    public = from_public_total(*map(np.array, (total * z, total * (1 - z * z), 0.0, total, 2000.0)))[0]
    sums = total * (1 - value) ** 2, total * 2 * value * (1 - value), total * value**2, 2000.0
    private = from_private_total(*map(np.array, sums))[0]
    for result in (public, private):
        low, high = result.law.interval(0.95)
        assert low <= value <= high
        assert high - low < 0.01
        assert result.deviation < 0.03


def test_what_is_mirrored_has_the_mirrored_law() -> None:
    sums, *others = (np.array([number]) for number in (-31.0, 20.0, 2.0, 100.0, 60.0))
    check_mirrored(from_public_total(sums, *others)[0], from_public_total(-sums, *others)[0])
    lows, middles, highs, people = (np.array([number]) for number in (50.0, 20.0, 30.0, 60.0))
    one, other = ((lows, middles, highs), (highs, middles, lows))
    check_mirrored(from_private_total(*one, people)[0], from_private_total(*other, people)[0])


def check_mirrored(one: BoundedMean, other: BoundedMean) -> None:
    low, high = one.law.interval(0.9)
    assert (1 - high, 1 - low) == pytest.approx(other.law.interval(0.9), abs=1e-9)
    assert one.deviation == pytest.approx(other.deviation, rel=1e-9)


def test_a_group_does_not_depend_on_others() -> None:
    columns = released(Cell("30 % yes", 100, 100.0), runs=40)
    columns[-1][::3] = 1e5
    together = from_public_total(*columns)
    alone = [from_public_total(*(column[[group]] for column in columns))[0] for group in range(40)]
    for one, other in zip(together, alone, strict=True):
        assert one.law.interval(0.9) == pytest.approx(other.law.interval(0.9), rel=1e-9)
    assert from_public_total(*(column[:0] for column in columns)) == []


def test_the_binomial_law_and_the_normal_one_agree_where_one_follows_the_other() -> None:
    """From 120 people on intervals are by the normal law."""
    widths = []
    for people in (119.0, 122.0):
        low, high = from_public_total(*map(np.array, (0.0, 0.0, 0.0, 200.0, people)))[0].law.interval(0.95)
        widths.append((high - low) * math.sqrt(people))
    assert widths[0] == pytest.approx(widths[1], rel=0.02)


# Laws


@pytest.fixture(name="law", scope="module")
def a_law() -> GridLaw:
    return concluded(Cell("30 % yes", 100, 100.0), runs=1)[0].law


def test_chances_of_an_interval_are_at_least_its_level(law: GridLaw) -> None:
    for level in LEVELS:
        low, high = law.interval(level)
        assert law.cdf(high) - law.cdf(low) >= level - 1e-9
    low, high = law.interval(0.9)
    assert law.cdf(high) - law.cdf(low) < 0.95
    assert law.cdf(low) <= 0.05 <= 0.1 < law.cdf(law.mean) < 0.9 < 0.95 <= law.cdf(high)


def test_chances_rise_from_0_to_1(law: GridLaw) -> None:
    chances = [law.cdf(x) for x in np.linspace(-0.1, 1.1, 500).tolist()]
    assert chances == sorted(chances)
    assert [chances[0], chances[-1]] == pytest.approx([0.0, 1.0])


def test_a_scaled_law(law: GridLaw) -> None:
    scaled = law.scaled(1.0, 4.0)
    assert scaled.mean == 1 + 4 * law.mean
    assert scaled.interval(0.9) == pytest.approx([1 + 4 * end for end in law.interval(0.9)])
    assert (scaled.noise_std, scaled.sampling_std) == (4 * law.noise_std, 4 * law.sampling_std)
    assert scaled.cdf(1 + 4 * 0.3) == pytest.approx(law.cdf(0.3))
    assert scaled != law


def test_a_law_is_equal_by_value(law: GridLaw) -> None:
    copy = pickle.loads(pickle.dumps(law))
    assert copy == law
    assert hash(copy) == hash(law)
    assert replace(copy, points=copy.points / 2) != law
    assert replace(copy, mean=0.0) != law
    assert law != "law"


@pytest.mark.parametrize("sampling", [1e-9, 0.3, 1.0, 20.0])
def test_the_density_is_the_derivative_of_the_chance(sampling: float) -> None:
    x, step = np.array([-30.0, -2.0, -0.4, 0.3, 1.0, 5.0]), 1e-5
    chances = noisy_normal_cdf(x + step, 1.0, sampling) - noisy_normal_cdf(x - step, 1.0, sampling)
    assert noisy_normal_density(x, 1.0, sampling) == pytest.approx(chances / (2 * step), rel=1e-3, abs=1e-9)


def test_a_sum_of_three_laplace_numbers_is_a_mixture_of_them() -> None:
    """Also at 1/4, 1/2 and 3/4, where two scales are equal; those are kept apart, which may add 6 % to a variance."""
    means = np.array([[0.0, 0.1, 0.25, 0.5, 0.5074, 0.75, 1.0]])
    scales, parts = _three_laplaces(means, np.zeros(1))
    variance = 2 * ((1 - means) ** 2 + (0.5 - means) ** 2 + means**2)
    assert np.sum(parts, axis=0) == pytest.approx(np.ones_like(means))
    excess = np.sum(parts * 2 * scales**2, axis=0) / variance
    assert np.all((excess > 0.999) & (excess < 1.06))
    x = np.linspace(-40, 40, 8001)
    densities = np.sum((parts / (2 * scales))[..., None] * np.exp(-np.abs(x) / scales[..., None]), axis=0)
    assert np.all(densities > -1e-9)


@pytest.mark.parametrize("tries", [1.0, 25.0, 120.0, 3000.0])
def test_counts_are_binomial(tries: float) -> None:
    given_means = np.array([[0.001, 0.002, 0.004]])
    law = binomial(given_means, np.array([tries]), np.array([0.002]))
    counts = np.round(law.means[0] * tries)
    for mean, chances in zip(given_means[0], law.chances[0], strict=True):
        assert chances == pytest.approx(binom.pmf(counts, tries, mean), abs=1e-9)
        assert np.sum(chances) == pytest.approx(1.0)


# Whatever was released


numbers = st.floats(allow_nan=False, allow_infinity=False)
weights = st.floats(-3, 9).map(lambda power: 10.0**power)
counts = st.floats(-3, 12).map(lambda power: 10.0**power)
sums = st.one_of(numbers, st.floats(-50, 50), weights, weights.map(lambda weight: -weight))


@settings(max_examples=150, deadline=None)
@given(st.tuples(sums, sums, sums, weights, counts))
def test_whatever_is_released_with_a_public_total(row: tuple[float, ...]) -> None:
    with np.errstate(all="raise"):
        check(from_public_total(*map(np.array, row))[0])


@settings(max_examples=150, deadline=None)
@given(st.tuples(sums, sums, sums, counts))
def test_whatever_is_released_with_a_private_total(row: tuple[float, ...]) -> None:
    with np.errstate(all="raise"):
        check(from_private_total(*map(np.array, row))[0])


def check(result: BoundedMean) -> None:
    """All within the bounds, ends that move outwards with the level, and the estimate within."""
    law = result.law
    ends = [law.interval(level) for level in LEVELS]
    lows, highs = zip(*ends, strict=True)
    assert result.mean == law.mean
    assert all(0 <= low <= result.mean <= high <= 1 for low, high in ends)
    assert list(lows) == sorted(lows, reverse=True)
    assert list(highs) == sorted(highs)
    assert 0 <= law.cdf(result.mean) <= 1
    assert 0 <= result.missing < 1
    assert 0 < result.deviation <= 0.5
    assert math.isfinite(law.noise_std)
    assert math.isfinite(law.sampling_std)
