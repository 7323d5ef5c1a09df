"""Locate: the private median has exactly its law; centre and spread are what they should be."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from located import locate_one, private_median
from numpy.typing import NDArray
from statistical.laws import assert_accepts_and_rejects, chi_square

from pdpmean import Choices, Randomness, plan_mean
from pdpmean.core.types import Floats
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.laws.clipped_normal import MEDIAN_SIZE
from pdpmean.laws.histogram import Histogram
from pdpmean.laws.lattice import Lattice, double_of, everywhere, keys_of, linear, positive
from pdpmean.passes.batch import Batch
from pdpmean.planning.plan import Shares
from pdpmean.release import any_shape, locate
from pdpmean.release import private_median as mechanism
from pdpmean.release.gaussian import SPREAD_GRAIN
from pdpmean.release.histogram import noisy_histograms
from pdpmean.release.private_median import integer_weights, private_medians

ONE = int(keys_of(np.array([1.0]))[0])
SMALL = Lattice((ONE - 3, ONE + 2, ONE + 8), (1, 3))  # 5 + 6 doubles about 1


def quiet() -> Randomness:
    """Uniform integers as seeded, but no Laplace noise at all."""
    return Randomness(lambda: bytes(32), lambda *_: 0, private=False)


def at(*offsets: float) -> Floats:
    """The doubles so many keys above 1; NaN stays missing, infinities stay infinite."""
    return np.array([double_of(ONE + int(offset)) if math.isfinite(offset) else offset for offset in offsets])


def brute_force(values: Floats, nats: list[float], lattice: Lattice, grain: int = 1) -> dict[float, float]:
    """The law from its definition, double by double."""
    present = [(value, nat) for value, nat in zip(values.tolist(), nats, strict=True) if not math.isnan(value)]
    cells = [int(keys_of(np.array([value]))[0]) // grain for value, _ in present]
    weights: dict[float, float] = {}
    for position in range(lattice.total):
        key = lattice.key_at(position)
        y = double_of(key)
        below = sum(nat for cell, (_, nat) in zip(cells, present, strict=True) if cell < key // grain)
        above = sum(nat for cell, (_, nat) in zip(cells, present, strict=True) if cell > key // grain)
        excess = max(0.0, 2 * max(below, above) - sum(nat for _, nat in present))
        weights[y] = weights.get(y, 0.0) + math.exp(-excess / 2)
    total = math.fsum(weights.values())
    return {y: weight / total for y, weight in weights.items()}


CASES: dict[str, tuple[Floats, list[float]]] = {
    "inside": (at(-2, 1, 4), [1.0, 0.5, 1.5]),
    "ties": (at(3, 3, 3, -1), [0.75, 0.75, 0.25, 2.0]),
    "beyond both ends": (at(-50, -50, 1e6, 2, -math.inf, math.inf), [1.0, 1.0, 0.5, 2.0, 0.5, 1.0]),
    "missing": (at(math.nan, -2, 5, math.nan), [9.0, 2.5, 1.0, 9.0]),
    "on a border": (at(1, 2), [2.0, 1.0]),
    "at both ends": (at(-3, 7, 7), [6.0, 1.0, 0.5]),
}


def medians(
    values: Floats, nats: list[float], lattice: Lattice, seed: int, draws: int = 4000, grain: int = 1
) -> list[float]:
    """Of so many groups alike, in one call: the law of each is shown to be its own further below."""
    weights = integer_weights(np.array(nats))
    sizes = np.full(draws, values.size)
    randomness = Randomness.seeded(seed)
    return private_medians(
        np.tile(values, draws), np.tile(weights, draws), lattice, randomness, grain=grain, sizes=sizes
    )


# Of the cells of 4 doubles about 1, SMALL begins and ends inside one; of those of 16, none lies inside SMALL.
@pytest.mark.parametrize("grain", [1, 4, 16])
@pytest.mark.parametrize("name", list(CASES))
def test_the_median_follows_its_law(name: str, grain: int) -> None:
    values, nats = CASES[name]
    law = brute_force(values, nats, SMALL, grain)
    even = Lattice((SMALL.starts[0], SMALL.starts[-1]), (1,))
    mutants = {"multiplicities ignored": medians(values, nats, even, 1, grain=grain)}
    if grain == 1:
        mutants["twice the loss"] = medians(values, [2 * nat for nat in nats], SMALL, 1)
    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, law), medians(values, nats, SMALL, 1, grain=grain), mutants
    )


def test_a_median_drawn_alone_follows_its_law() -> None:
    values, nats = CASES["ties"]
    randomness, weights = Randomness.seeded(1), integer_weights(np.array(nats))
    alone = [private_median(values, weights, SMALL, randomness) for _ in range(2000)]
    law = brute_force(values, nats, SMALL)
    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, law),
        alone,
        {"another grain": medians(*CASES["ties"], SMALL, 1, 2000, grain=4)},
    )


def test_the_grain_matters() -> None:
    values, nats = CASES["ties"]
    for grain, other in ((1, 4), (4, 1)):
        law = brute_force(values, nats, SMALL, grain)
        assert chi_square(medians(values, nats, SMALL, 1, grain=other), law) < 1e-12


@pytest.mark.parametrize("grain", [1, 3, 4, 16])
def test_one_record_changes_the_law_by_at_most_its_weight(grain: int) -> None:
    # The claim of the mechanism, on the law that the draws were shown to follow: a record more or less.
    for values, nats in CASES.values():
        law = brute_force(values, nats, SMALL, grain)
        for added in range(-5, 10):
            other = brute_force(np.append(values, at(added)), [*nats, 0.8], SMALL, grain)
            assert max(abs(math.log(other[y] / law[y])) for y in law) <= 0.8 + 1e-12


def test_nothing_inside_leaves_the_lattice_itself() -> None:
    law = brute_force(at(), [], SMALL)
    assert law[1.0] == pytest.approx(1 / 23)  # five doubles once, six three times
    for values in (at(), at(math.nan, math.nan), at(-50, -math.inf), at(60)):
        sample = medians(values, [2.0] * values.size, SMALL, 2)
        assert chi_square(sample, law) > 1e-6
        assert chi_square(sample, brute_force(at(2), [2.0], SMALL)) < 1e-12


def test_huge_weights_give_the_exact_median() -> None:
    values = np.array([5.0, -3.0, 1e300, 7.25, 0.0, math.nan, -math.inf])
    weights = np.full(7, 2**50, dtype=np.int64)
    # Of the six present, -inf, -3, 0 | 5, 7.25, 1e300: anything from 0 to 5, ends excluded, has 3 on either side.
    for seed in range(20):
        assert 0.0 < private_median(values, weights, everywhere(), Randomness.seeded(seed)) < 5.0
        assert private_median(values[:-1], weights[:-1], everywhere(), Randomness.seeded(seed)) == 5.0


def test_a_heavy_tie_is_the_median() -> None:
    values = np.concatenate([np.full(600, 0.1), np.linspace(-5, 5, 400)])
    for seed in range(10):
        found = private_median(values, np.full(1000, 2**32, dtype=np.int64), everywhere(), Randomness.seeded(seed))
        assert found == 0.1


@pytest.mark.parametrize("number", [0.1, -0.1, 7.0, 0.0, 1e-300, -1e300])
def test_a_coarse_grain_finds_a_tie_at_less_weight(number: float) -> None:
    # 100 nats on one double: exp(50) against 2**72 = exp(50) doubles, counted with their multiplicities; in cells of
    # 2**26 of them, exp(50 + 18).
    weights, values = np.full(1000, WEIGHT_UNIT // 10), np.full(1000, number)
    cell = int(keys_of(values)[0]) // 2**26
    for seed in range(10):
        found = private_median(values, weights, everywhere(), Randomness.seeded(seed), grain=2**26)
        assert int(keys_of(np.array([found]))[0]) // 2**26 == cell


def test_cells_at_the_ends_of_all_doubles() -> None:
    values = np.array([math.inf, -math.inf, 1.7e308, -1.7e308, math.nan, 5e-324, -5e-324])
    for lattice in (everywhere(), positive(), linear(-1.7e308, 1.7e308), linear(3.0, math.nextafter(3.0, 4.0))):
        for grain in (1, 2**26, 2**40):
            for weight in (0, 1, WEIGHT_UNIT, 2**50):
                weights = np.full(values.size, weight, dtype=np.int64)
                found = private_median(values, weights, lattice, Randomness.seeded(1), grain=grain)
                assert lattice.starts[0] <= int(keys_of(np.array([found]))[0]) < lattice.starts[-1]


def test_the_median_stays_in_its_lattice() -> None:
    values, weights = np.linspace(-1e6, 1e6, 101), np.full(101, WEIGHT_UNIT)
    for seed in range(30):
        randomness = Randomness.seeded(seed)
        assert 3.0 <= private_median(values, weights, linear(3.0, 4.0), randomness) <= 4.0
        assert private_median(values, weights, positive(), randomness) >= 0.0


def hostile_groups() -> tuple[list[Floats], list[NDArray[np.int64]]]:
    """Ties, an empty group, values missing, infinite and beyond the lattice, and a group of those alone."""
    groups = [at(0, 0, 3), at(), at(-2, math.nan, 5, 5), at(math.inf, -math.inf), at(-9, 99), at(math.nan), at(7)]
    generator = np.random.default_rng(4)
    return groups, [generator.integers(0, 2**31, group.size) for group in groups]


@pytest.mark.parametrize("grain", [1, 3, 4, 16])
def test_segments_of_groups_have_the_excess_of_each_key(grain: int) -> None:
    """Every key of the lattice is in one segment of each group, whose excess is as defined, in integers."""
    groups, weights = hostile_groups()
    sizes = np.array([group.size for group in groups])
    found = mechanism._segments(np.concatenate(groups), np.concatenate(weights), sizes, SMALL, grain)
    for j, (start, stop) in enumerate(itertools.pairwise([*found.starts.tolist(), found.lows.size])):
        rows = zip(*(column[start:stop].tolist() for column in found[:3]), strict=True)
        excess = [(key, own) for low, high, own in rows for key in range(low, high)]
        present = ~np.isnan(groups[j])
        cells, held = keys_of(groups[j])[present] // grain, weights[j][present]
        assert excess == [
            (key, max(0, 2 * max(held[cells < key // grain].sum(), held[cells > key // grain].sum()) - held.sum()))
            for key in range(SMALL.starts[0], SMALL.starts[-1])
        ]


@pytest.mark.parametrize("grain", [1, 4])
def test_segments_of_groups_are_those_of_each(grain: int) -> None:
    groups, weights = hostile_groups()
    sizes = np.array([group.size for group in groups])
    found = mechanism._segments(np.concatenate(groups), np.concatenate(weights), sizes, SMALL, grain)
    for j, start in enumerate(found.starts.tolist()):
        alone = mechanism._segments(groups[j], weights[j], sizes[j : j + 1], SMALL, grain)
        own = slice(start, start + alone.lows.size)
        for together, apart in zip(found[:3], alone[:3], strict=True):
            assert together[own].tolist() == apart.tolist()
        assert alone.starts.tolist() == [0]
        assert found.starts.tolist()[j + 1 : j + 2] in ([own.stop], [])
    assert own.stop == found.lows.size


def test_a_group_does_not_move_the_medians_of_those_before_it() -> None:
    groups, weights = hostile_groups()
    sizes = np.array([group.size for group in groups])
    for seed in range(20):
        found = private_medians(
            np.concatenate(groups), np.concatenate(weights), SMALL, Randomness.seeded(seed), sizes=sizes
        )
        values, other = np.concatenate([*groups[:-1], at(-1)]), np.concatenate([*weights[:-1], weights[-1] // 3])
        assert private_medians(values, other, SMALL, Randomness.seeded(seed), sizes=sizes)[:-1] == found[:-1]


def test_medians_drawn_together_have_the_law_of_each() -> None:
    """Two groups, side by side: the pairs have the product of the two laws."""
    values, nats = at(-2, 0, 5, 1, 1, 3), [0.5, 1.0, 0.25, 1.5, 0.5, 1.0]
    laws = [brute_force(values[own], nats[own], SMALL) for own in (slice(0, 2), slice(2, 6))]
    product: dict[tuple[float, ...], float] = {(a, b): p * q for a, p in laws[0].items() for b, q in laws[1].items()}

    def drawn(sizes: list[int], seed: int) -> list[tuple[float, ...]]:
        weights = np.tile(integer_weights(np.array(nats)), 12_000)
        repeated = np.tile(values, 12_000)
        found = private_medians(repeated, weights, SMALL, Randomness.seeded(seed), sizes=np.tile(sizes, 12_000))
        return list(zip(found[::2], found[1::2], strict=True))

    assert_accepts_and_rejects(
        lambda pairs: chi_square(pairs, product), drawn([2, 4], 1), {"a value of the other group": drawn([3, 3], 2)}
    )


def test_integer_weights_round_down() -> None:
    # 3 / 2**31 is one and a half units.
    assert integer_weights(np.array([0.0, 1.0, 3 / 2**31, 50.0])).tolist() == [0, 2**30, 1, 50 * 2**30]


# Both together


@pytest.mark.parametrize(("mu", "sigma"), [(0.0, 1.0), (1e4, 1.0), (-3e-9, 1e-12), (2e150, 1e150)])
def test_gaussian_samples_are_located(mu: float, sigma: float) -> None:
    plan = plan_mean({0.5: 4000}, shape="gaussian")
    values = mu + sigma * np.random.default_rng(5).standard_normal(4000)
    weights = np.full(4000, 0.25) * float(plan.shares["center"] + plan.shares["scale"])
    for seed in range(15):
        location = locate_one(values, weights, plan, Randomness.seeded(seed))
        # The plan gives each some 20 nats or more, so ranks are off by about 1 / 20: by 0.2 sigma, rarely by 1.
        assert abs(location.center - mu) < 1.0 * sigma
        assert location.median_distance is not None
        assert 0.3 * MEDIAN_SIZE < location.median_distance / sigma < 3 * MEDIAN_SIZE
        assert location.half == plan.clip_half_width * location.median_distance / MEDIAN_SIZE
        assert not location.degenerate


@pytest.mark.parametrize(
    ("bounds", "lowest"), [(None, -3.0), ((0.0, None), 0.0), ((-1.0, None), -1.0)], ids=["none", "0", "-1"]
)
def test_any_shape_is_located(bounds: Any, lowest: float) -> None:
    people = 600 if bounds else 6000  # so few that a bound has to do instead of a centre
    plan = plan_mean({1.0: people}, shape="any", bounds=bounds)
    values = np.random.default_rng(6).exponential(size=people)
    weights = np.full(people, 0.5) * float(plan.shares.locating)
    for seed in range(15):
        location = locate_one(values, weights, plan, Randomness.seeded(seed))
        # A private median; or, with a bound, the bound itself, whatever the values.
        assert location.center == bounds[0] if bounds else abs(location.center - math.log(2)) < 0.3
        assert location.median_distance is None
        assert location.reading is not None
        assert location.reading.finding == "found"
        # Clipped at the bound, or some way below 0; and above 2, beyond which 14 in 100 lie.
        low, high = location.middle - location.half, location.middle + location.half
        assert lowest - 1e-9 <= low < 0.1
        assert 2 < high < 50


def test_values_beyond_a_bound_count_as_the_bound() -> None:
    plan = plan_mean({1.0: 6000}, bounds=(0.0, None))
    values = np.random.default_rng(6).exponential(size=6000)
    beyond = np.where(np.arange(6000) % 2, values, -100 * values)
    weights = np.full(6000, 0.5) * float(plan.shares.locating)
    one, other = (
        locate_one(some, weights, plan, Randomness.seeded(1)) for some in (beyond, np.clip(beyond, 0.0, math.inf))
    )
    assert one.middle - one.half >= 0
    assert one.half == pytest.approx(other.half, rel=0.3)  # their noise differs
    assert one.reading
    assert other.reading
    assert one.reading.center == pytest.approx(other.reading.center, abs=20)
    assert one.reading.beyond_bounds[0] == pytest.approx(one.reading.nats / 2, rel=0.1)
    assert other.reading.beyond_bounds == (0, 0)


def test_equal_values_are_degenerate() -> None:
    plan = plan_mean({0.5: 4000}, shape="gaussian", choices=Choices(center_share=0.3, scale_share=0.3))
    for number in (7.0, -7.0, 1e-300, 1e300):
        location = locate_one(np.full(4000, number), np.full(4000, 0.3), plan, Randomness.seeded(1))
        # A cell of 2**26 doubles is at most 2**-26 of the number wide; the spread is the distance within it.
        assert abs(location.center - number) <= 2.0**-26 * abs(number)
        distance = abs(location.center - number)
        assert location.median_distance is not None
        assert location.median_distance == pytest.approx(max(distance, 2.0**-1000), rel=SPREAD_GRAIN / 2**52, abs=0)
        assert location.degenerate
        assert location.half == plan.clip_half_width * location.median_distance / MEDIAN_SIZE


def test_zeros_are_degenerate() -> None:
    plan = plan_mean({0.5: 4000}, shape="gaussian", choices=Choices(center_share=0.3, scale_share=0.3))
    location = locate_one(np.zeros(4000), np.full(4000, 0.3), plan, Randomness.seeded(1))
    assert 0 <= location.center < 2.0**26 * 2.0**-1074
    assert (location.median_distance, location.degenerate) == (2.0**-1000, True)  # raised to what can be divided by
    assert location.half == plan.clip_half_width * 2.0**-1000 / MEDIAN_SIZE


@pytest.mark.parametrize(("sigma", "degenerate"), [(2.0**-26, True), (2.0**-20, False)])
def test_a_spread_is_none_below_a_part_of_the_centre(sigma: float, degenerate: bool) -> None:
    # The median distance is 0.67 sigma; the border at 2**-24 of the centre.
    plan = plan_mean({0.5: 4000}, shape="gaussian", choices=Choices(center_share=0.3, scale_share=0.3))
    values = 1.0 + sigma * np.random.default_rng(7).standard_normal(4000)
    for seed in range(10):
        location = locate_one(values, np.full(4000, 0.3), plan, Randomness.seeded(seed))
        assert location.degenerate is degenerate


def test_an_equal_majority_is_the_centre() -> None:
    plan = plan_mean({0.5: 4000}, shape="gaussian", choices=Choices(center_share=0.3, scale_share=0.3))
    values = np.where(np.arange(4000) % 5 < 3, 7.0, np.random.default_rng(8).normal(7.0, 1.0, 4000))
    for seed in range(10):
        location = locate_one(values, np.full(4000, 0.3), plan, Randomness.seeded(seed))
        assert abs(location.center - 7.0) <= 7.0 * 2.0**-26
        assert location.degenerate


@pytest.mark.parametrize("bounds", [(6.0, 8.0), (-100.0, 100.0), (7.0, 7.0 + 2.0**-20)])
def test_equal_values_within_bounds(bounds: tuple[float, float]) -> None:
    plan = plan_mean({0.5: 4000}, shape="gaussian", bounds=bounds, choices=Choices(center_share=0.3, scale_share=0.3))
    location = locate_one(np.full(4000, 7.0), np.full(4000, 0.3), plan, Randomness.seeded(1))
    # Cells are at most 2**-19 of the doubles in bounds.
    assert abs(location.center - 7.0) <= min(2.0**-26 * 7.0, 2.0**-19 * (bounds[1] - bounds[0]))
    assert location.degenerate or bounds[1] - bounds[0] > 2.0**16
    assert location.half > 0


@pytest.mark.parametrize("shape", ["gaussian", "any"])
@pytest.mark.parametrize(
    "values", [[], [math.nan] * 50, [math.inf] * 50, [-math.inf] * 50, [1.7e308, -1.7e308] * 25, [2.0**-1074] * 50]
)
def test_hostile_values_still_give_a_finite_place(values: list[float], shape: str) -> None:
    plan = plan_mean({1.0: 6000}, shape="any" if shape == "any" else "gaussian")
    for seed in range(5):
        location = locate_one(np.array(values), np.full(len(values), 30.0), plan, Randomness.seeded(seed))
        assert math.isfinite(location.center)
        assert location.median_distance is None or 0 < location.median_distance < math.inf
        assert 0 < location.half < math.inf


def test_groups_are_located_each_by_its_own_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some at once and some in other threads, in any order; a group without a plan has no place."""
    monkeypatch.setattr(locate, "_TOGETHER", 5000)
    generator = np.random.default_rng(11)
    plans = [None if j % 7 == 3 else plan_mean({0.5: 4000 + 100 * j}, shape="gaussian") for j in range(20)]
    groups = generator.permutation(np.repeat(np.arange(21, dtype=np.int32), 2000))  # the last were not asked for
    values = 1000.0 * groups + (1 + groups) * generator.standard_normal(groups.size)
    kept = Batch(values, np.full(groups.size, 0.5), groups)
    found = locate.locate_kept(kept, lambda some: some.budgets, plans, Randomness.seeded(1))
    assert [location is None for location in found] == [plan is None for plan in plans]
    for j, (plan, location) in enumerate(zip(plans, found, strict=True)):
        if plan and location:
            assert abs(location.center - 1000 * j) < 0.2 * (1 + j)
            assert location.median_distance is not None
            assert location.median_distance == pytest.approx((1 + j) * MEDIAN_SIZE, rel=0.2)
            assert location.half == plan.clip_half_width * location.median_distance / MEDIAN_SIZE


@pytest.mark.parametrize("size", [0, 3, 300])
def test_every_portion_of_groups_has_coins_of_its_own(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are worked out side by side, and one keystream for two threads is safe for neither.

    How many records were kept is private, and decides on no portion.
    """
    monkeypatch.setattr(locate, "_TOGETHER", 6000)
    locate_some, used = locate._locate_some, [Randomness.seeded(1)]

    def spy(*args: Any) -> Any:
        used.append(args[-1])
        return locate_some(*args)

    monkeypatch.setattr(locate, "_locate_some", spy)
    groups = np.arange(size, dtype=np.int32) % 10
    kept = Batch(np.random.default_rng(1).normal(size=size), np.full(size, 0.5), groups)
    assert len(locate.locate_kept(kept, lambda some: some.budgets, [plan_mean({0.5: 4000})] * 10, used[0])) == 10
    assert len(used) == 1 + 7  # portions, the first of one group of 4000 people
    assert len(set(map(id, used))) == len(used)
    assert len({source.words(2).tobytes() for source in used}) == len(used)


@pytest.mark.parametrize("shape", ["gaussian", "any"])
def test_centre_and_spread_together_cost_a_record_what_it_may(shape: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each record its own, by its group's plan, wherever it comes in the order of its group."""
    seen: list[tuple[Floats, NDArray[np.int64]]] = []

    def medians(values: Floats, weights: NDArray[np.int64], *_: Any, sizes: Any, **__: Any) -> list[float]:
        seen.append((values, weights))
        return [0.0] * sizes.size

    def histograms(values: Floats, weights: NDArray[np.int64], *rest: Any) -> list[Histogram]:
        seen.append((values, weights))
        return noisy_histograms(values, weights, *rest)

    monkeypatch.setattr(mechanism, "private_medians", medians)
    monkeypatch.setattr(any_shape, "noisy_histograms", histograms)
    plan = plan_mean({1.0: 20_000}, shape=shape)
    width = "histogram" if shape == "any" else "scale"
    plans = [
        replace(plan, shares=Shares({"center": Fraction(center), width: Fraction(rest), "sum": Fraction(1, 2)}))
        for center, rest in [(0.125, 0.375), (0.25, 0.125)]
    ]
    generator = np.random.default_rng(12)
    values = np.ldexp(generator.integers(1, 2**20, 400).astype(np.float64), -18)
    groups = generator.integers(0, 2, 400).astype(np.int32)
    kept = Batch(values, values / 8, groups)
    locate.locate_kept(kept, lambda some: some.budgets, plans, Randomness.seeded(1))
    own = np.concatenate([np.sort(values[groups == group]) for group in (0, 1)])
    part = np.repeat([0.25, 2 / 3], np.bincount(groups))
    for found, exact in ((seen[:1], part * own / 8), (seen[1:], (1 - part) * own / 8)):
        numbers, weights = (np.concatenate(column) for column in zip(*found, strict=True))
        assert numbers.tolist() == own.tolist()
        # Less than the part even where that is a whole number: products round.
        assert (weights < exact * WEIGHT_UNIT).all()
        assert weights == pytest.approx(exact * WEIGHT_UNIT, rel=1e-9, abs=2)
