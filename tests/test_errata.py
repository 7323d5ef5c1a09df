"""Every erratum of docs/errata.md: the printed form fails its counterexample, the shipped form passes it.

The printed forms are in `printed.py`. Losses are exact: computed from probabilities, never from samples.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import printed
import pytest
from exact.enumeration import collapsed, laplace_above, laplace_mass, law, loss
from numpy.typing import NDArray

import pdpmean
from pdpmean import Randomness
from pdpmean.paper import (
    adpm,
    diffusion_rates,
    discretize,
    estimate_radius,
    estimate_range,
    find_quantile,
    mean_bounded,
    required_records,
    saturation,
    sparse_vector,
    two_stage_bound,
)
from pdpmean.paper.mean_unbounded import bucket_counts, bucket_ends, sample_or_pad

Floats = NDArray[np.float64]
Matching = frozenset[frozenset[int]]
EXACT = 1e-9  # what rounding may do to a loss computed here
MISSING = math.nan


def log_ratio(first: Mapping[Any, float], second: Mapping[Any, float]) -> float:
    """The loss between two laws: the largest absolute log-ratio over their outcomes."""
    outcomes = first.keys() | second.keys()
    if any((first.get(outcome, 0) == 0) != (second.get(outcome, 0) == 0) for outcome in outcomes):
        return math.inf
    return max(abs(math.log(first[outcome] / second[outcome])) for outcome in outcomes if first[outcome] > 0)


@pytest.fixture
def scales(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Noise is left out, and its scale written down."""
    seen: list[float] = []

    def silent(_: Randomness, value: int, scale: float) -> int:
        seen.append(scale)
        return value

    monkeypatch.setattr(Randomness, "add_laplace", silent)
    return seen


# --- 1 to 14, as in the list the project started from ---------------------------------------------------------


def responses(bits: Sequence[int], rates: Sequence[float], tau: float) -> dict[tuple[int, ...], Any]:
    """The exact law of randomized response at tau on diffused bits: every coin and every response, enumerated.

    A bit is reported truly with probability ``e^tau / (1 + e^tau)``; a placeholder answers as a 0 does. So any two
    of 0, 1 and placeholder are tau-close, and 0 and 1 attain it.
    """
    truth = mpmath.exp(tau) / (1 + mpmath.exp(tau))
    found: dict[tuple[int, ...], Any] = dict.fromkeys(itertools.product((0, 1), repeat=len(bits)), mpmath.mpf(0))
    for kept in itertools.product((False, True), repeat=len(bits)):
        coins = mpmath.fprod(rate if keep else 1 - mpmath.mpf(rate) for rate, keep in zip(rates, kept, strict=True))
        seen = [bit if keep else 0 for bit, keep in zip(bits, kept, strict=True)]
        for response in found:
            answers = (truth if said == bit else 1 - truth for said, bit in zip(response, seen, strict=True))
            found[response] += coins * mpmath.fprod(answers)
    return found


def response_losses(rates: Sequence[float], tau: float) -> list[float]:
    """The exact loss of every record, over all bits of all others."""
    with mpmath.workdps(50):
        laws = {bits: responses(bits, rates, tau) for bits in itertools.product((0, 1), repeat=len(rates))}
        return [
            float(
                max(
                    abs(mpmath.log(laws[bits][said] / laws[(*bits[:i], 1 - bits[i], *bits[i + 1 :])][said]))
                    for bits in laws
                    for said in laws[bits]
                )
            )
            for i in range(len(rates))
        ]


def test_erratum_01_rates_overspend() -> None:
    budgets = np.array([0.1, 0.2, 0.4])
    tau = saturation(budgets).tau
    assert tau == pytest.approx(8.21 / 0.7)
    for rates in (printed.rates_of_algorithm_6(budgets, tau), printed.rates_of_the_text(budgets, tau)):
        losses = response_losses(rates.tolist(), tau)
        assert all(spent > 10 * budget for spent, budget in zip(losses, budgets, strict=True))
        # By hand: ln(1 + p (e^tau - 1)).
        expected = [math.log1p(rate * math.expm1(tau)) for rate in rates]
        assert losses == pytest.approx(expected)

    shipped = diffusion_rates(budgets)
    losses = response_losses(shipped.rates.tolist(), shipped.tau)
    assert all(spent <= budget for spent, budget in zip(losses, budgets, strict=True))
    assert losses == pytest.approx(budgets.tolist(), rel=1e-9)  # and nothing is given away


@pytest.mark.parametrize("tau", [0.5, 1.2, 1.3, 3.0])
def test_erratum_01_the_rates_of_the_text_hold_only_up_to_1_256(tau: float) -> None:
    # (e^tau - 1)/tau = 2 at tau = 1.2564; a small budget overspends as soon as tau is above.
    assert (math.exp(1.2564) - 1) / 1.2564 < 2 < (math.exp(1.2565) - 1) / 1.2565
    budgets = np.array([1e-4, tau / 2])
    overspent = [
        spent > budget
        for rates in (printed.rates_of_the_text(budgets, tau), printed.rates_of_algorithm_6(budgets, tau))
        for spent, budget in zip(response_losses(rates.tolist(), tau), budgets, strict=True)
    ]
    assert overspent[0] == (tau > 1.2564)
    assert overspent[2:] == [True, True]  # eps/tau overspends at every tau
    shipped = importlib.import_module("pdpmean.paper.diffusion").exact_rates(budgets, tau)
    assert all(spent <= budget for spent, budget in zip(response_losses(shipped.tolist(), tau), budgets, strict=True))


def test_erratum_02_a_branch_on_the_number_of_survivors() -> None:
    # Five grid points, budget 1, and beta such that 2/eps ln(|X|/beta) = 5. The public rank is 6 (12 survivors were
    # expected). With 6 survivors the branch moves it to 6 - 5 = 1; with 5 to 0, and there is no such quantile.
    budget, grid, rank = 1.0, range(-2, 3), 6
    beta = len(grid) * math.exp(-budget * 5 / 2)
    six, five = [-2] * 6, [-2] * 5
    with_six = printed.quantile_law(six, rank, budget, grid, beta)
    assert with_six is not None
    assert printed.quantile_law(five, rank, budget, grid, beta) is None
    # Saying so tells for certain that somebody was dropped: an infinite loss. Falling back to a uniform answer does
    # not help: at the far end it is e^3 times as likely, less what the two normalisations differ by.
    uniform = dict.fromkeys(grid, 1 / len(grid))
    assert log_ratio(with_six, uniform) == pytest.approx(3 - math.log(5 / (1 + 4 * math.exp(-3))))
    assert log_ratio(with_six, uniform) > 1.5 * budget

    def shipped(values: Sequence[float]) -> Any:
        return law(lambda r: find_quantile(values, budget=budget, spacing=1.0, radius=2.0, randomness=r))

    with collapsed():
        for values in ([-2.0] * 6, [-2.0, -2.0, -1.0, 0.0, 2.0, 2.0], [0.0], [2.0, -2.0]):
            whole = shipped(values)
            for i in range(len(values)):
                assert loss(whole, shipped([*values[:i], MISSING, *values[i + 1 :]])) <= budget / 2 + EXACT
                for other in (-2.0, 1.0, 2.0):
                    assert loss(whole, shipped([*values[:i], other, *values[i + 1 :]])) <= budget + EXACT


@pytest.mark.parametrize("size", [7, 8, 11, 12, 20])
def test_erratum_02_while_the_rank_exists_the_printed_score_is_private(size: int) -> None:
    # What is wrong is only the missing rank: where there is one, it moves by 1 at most when a survivor is dropped.
    budget, grid = 1.0, range(-2, 3)
    beta = len(grid) * math.exp(-budget * 5 / 2)
    values = [(-2, -1, 0, 0, 1, 2, 2)[i % 7] for i in range(size)]
    whole = printed.quantile_law(values, 6, budget, grid, beta)
    assert whole is not None
    for i in range(size):
        fewer = printed.quantile_law([*values[:i], *values[i + 1 :]], 6, budget, grid, beta)
        assert fewer is not None
        assert log_ratio(whole, fewer) <= budget + EXACT


def test_erratum_03_counting_spends_a_whole_budget(scales: list[float]) -> None:
    left = 0.25  # the smallest budget in its bucket, and of the record that joins

    def size_law(size: int, scale: float) -> dict[int, float]:
        return {outcome: laplace_mass(outcome - size, scale) for outcome in range(-30, 50)}

    spent = log_ratio(size_law(7, printed.count_scale(left)), size_law(8, printed.count_scale(left)))
    assert spent == pytest.approx(left)
    assert spent + left / 2 > 1.49 * left  # with the half that the mean costs

    bucket_counts([7], np.array([left]), beta=0.1, randomness=Randomness.seeded(0))
    spent = log_ratio(size_law(7, scales[0]), size_law(8, scales[0]))
    assert spent == pytest.approx(left / 2)
    assert spent + left / 2 <= left + EXACT
    assert [Fraction(1) / Fraction(scale) <= Fraction(left) / 2 for scale in scales] == [True]


def test_erratum_04_a_sequence_that_does_not_end() -> None:
    # 10 000 equal values are 5000 pairs at distance 0, so every query of the second search is 5000/2 - 5000. At a
    # budget of 1/2 the query noise has scale 8, the threshold's 4. Passing once needs their difference to exceed 2500:
    # at most the sum of two tails. So the printed loop is still running after a million queries, all but surely.
    query, budget, steps = 5000 / 2 - 5000, 0.5, 10**6
    once = laplace_above(2000, 4 / budget) + laplace_above(500, 2 / budget)
    assert once * steps < 1e-40

    class StillRunning(Exception):  # noqa: N818
        pass

    def endless() -> Iterator[int]:
        yield from itertools.repeat(int(query), 10_000)
        raise StillRunning

    randomness = Randomness.seeded(1)
    noise = (randomness.add_laplace(0, 4 / budget) for _ in itertools.count())
    with pytest.raises(StillRunning):
        printed.sparse_vector(endless(), randomness.add_laplace(0, 2 / budget), noise)
    assert printed.spacing(outward=1, inward=1074) == 0.0  # and by then its spacing is no number to divide by

    queries = [int(query)] * 1020  # the powers of two from 2**0 down to 2**-1019
    found = sparse_vector(queries, threshold=0, budget=budget, randomness=Randomness.seeded(1))
    assert found == len(queries) - 1
    assert discretize([5.0] * 10_000, budget=1.0, randomness=Randomness.seeded(1)).spacing > 0


def test_erratum_05_negative_values_and_zeros_are_thrown_away() -> None:
    values = np.array([-3.0, 0.0, -7.0, 0.0, -5.0])
    assert printed.without_placeholder(values).size == 0
    assert discretize(values, budget=math.inf).values.size == 5
    # Half of a population around 0 goes, and the median of the rest is far from that of all.
    around_zero = np.random.default_rng(1).normal(0, 1, 4001)
    assert np.median(printed.without_placeholder(around_zero)) > 0.6
    median = find_quantile(around_zero, budget=math.inf, spacing=2.0**-10, radius=8.0)
    assert median == pytest.approx(np.median(around_zero), abs=2.0**-9)
    # The mean of negative numbers is one.
    found = mean_bounded(-100.0 - np.arange(50), math.inf, randomness=Randomness.seeded(1))
    assert found == pytest.approx(-124.5, abs=1e-3)


def test_erratum_06_half_the_radius_that_passed() -> None:
    # All values at distance 5 to 8. The queries at radius 1, 2, 4 fail, the fourth, at 8, passes: printed 2^(4-2).
    values = np.array([5.0, -6.0, 7.0, -8.0])
    queries = [int((np.abs(values) <= 2.0**i).sum()) - values.size for i in range(10)]
    index = 1 + sparse_vector(queries, threshold=-0.5, budget=math.inf)
    assert (np.abs(values) > printed.radius(index, 1.0)).all()
    found = estimate_radius(values, budget=math.inf, spacing=1.0, beta=0.1)
    assert found == 2 * printed.radius(index, 1.0)
    assert (np.abs(values) <= found).all()


def test_erratum_07_half_of_an_expectation_is_not_half() -> None:
    # 20 records kept with probability 1/2 each: the rank is 5. If 16 happen to survive, the fifth of them is no median,
    # and if 4 do, the branch of erratum 2 takes the largest.
    rank = printed.median_rank(np.full(20, 0.5))
    survivors = list(range(1, 17))
    for count, found in ((16, 5), (4, 4)):
        drawn = printed.quantile_law(survivors[:count], rank, 100.0, range(1, 17), 0.9)
        assert drawn is not None
        assert drawn[found] > 0.99
    for count in (16, 4, 1):
        median = find_quantile(survivors[:count], budget=math.inf, spacing=1.0, radius=32.0)
        assert abs(median - (count + 1) / 2) <= 0.5


def test_erratum_08_weights_that_grow_past_tau(scales: list[float]) -> None:
    budgets = [1.0, 1.0, 100.0, 100.0]
    weights = np.array(printed.adpm_weights(budgets))
    assert weights == pytest.approx([1, 1, 5, 10_010 / 102])
    tau = saturation(budgets).tau
    assert tau == 5.0

    def error(chosen: Floats) -> float:  # what Lemma 12 is about, for values in an interval of length 1
        return float(((chosen**2).sum() + 8) / chosen.sum() ** 2)

    assert error(weights) == pytest.approx(0.874, abs=1e-3)
    assert error(np.minimum(budgets, tau)) == pytest.approx(60 / 144)
    # Shipped: the last two count alike. (0 + 0 + 5 * 16 + 5 * 0)/12 either way round.
    first = adpm([0, 0, 16, 0], budgets, lower=0, upper=16)
    second = adpm([0, 0, 0, 16], budgets, lower=0, upper=16)
    assert first == second == pytest.approx(80 / 12, abs=1e-5)
    assert len(scales) == 2


def test_erratum_09_the_first_of_equal_budgets() -> None:
    # Ten budgets of 0.1: nobody is saturated, the largest budget is everybody's, and the least index of it is 1. So
    # tau = 8.01/0.1 and everyone else is kept for certain, at a budget of 80.
    budgets = [0.1] * 10
    k = printed.saturation_index(budgets)
    assert k == 1
    tau = (k * 0.1**2 + 8) / (k * 0.1)
    rates = [0.1 / tau, 1.0]  # the first two records are enough
    with mpmath.workdps(50):
        assert response_losses(rates, tau)[1] == pytest.approx(80.1)
    shipped = diffusion_rates(budgets)
    assert shipped.k == 10
    assert max(response_losses(shipped.rates[:3].tolist(), shipped.tau)) <= 0.1
    # With j inside its own sum nothing changes: without ties, the printed index is the one of the text.
    generator = np.random.default_rng(1)
    for _ in range(50):
        distinct = np.exp(generator.uniform(-3, 3, generator.integers(1, 20)))
        assert printed.saturation_index(distinct.tolist()) == saturation(distinct).k


def test_erratum_10_one_bucket_more() -> None:
    # T = 1.5: log2 rounds down to no bucket, and its offset is the logarithm of 0.
    assert printed.number_of_buckets(1.0, 1.5) == 0
    with pytest.raises(ValueError, match=r"math domain error|positive"):
        printed.count_offset(1.0, printed.number_of_buckets(1.0, 1.5), 0.1)
    assert bucket_ends((1.0, 1.5)).tolist() == [1.0]
    assert bucket_counts([1000], np.array([1.0]), beta=0.1, randomness=Randomness.seeded(0))[0] > 900
    # T = 10: three buckets end at 0.8, and a budget of 0.9 is in none.
    assert 0.1 * 2 ** printed.number_of_buckets(0.1, 1.0) < 0.9
    assert bucket_ends((0.1, 1.0))[-1] <= 0.9 < 2 * bucket_ends((0.1, 1.0))[-1]


def swapped(
    sample: tuple[int, ...], person: int, others: Sequence[int]
) -> list[tuple[tuple[int | None, ...], Fraction]]:
    """What a sample becomes when `person` leaves: a uniform one of those not drawn in their place, or nobody."""
    if person not in sample:
        return [(sample, Fraction(1))]
    unused: list[int | None] = [other for other in others if other not in sample]
    place = sample.index(person)
    return [
        ((*sample[:place], other, *sample[place + 1 :]), Fraction(1, len(unused) or 1)) for other in unused or [None]
    ]


@pytest.mark.parametrize(("people", "size"), [(1, 1), (3, 1), (4, 2), (4, 4), (5, 3), (3, 5)])
def test_erratum_11_one_step_after_sampling(people: int, size: int) -> None:
    # The coupling, in exact fractions: its second marginal is uniform, and its pairs differ in one place.
    leaver, others = people - 1, range(people - 1)
    drawn = min(size, people)
    samples = list(itertools.permutations(range(people), drawn))
    image: defaultdict[tuple[int | None, ...], Fraction] = defaultdict(Fraction)
    distance = 0
    for sample in samples:
        for other, weight in swapped(sample, leaver, others):
            image[other] += weight * Fraction(1, len(samples))
            distance = max(distance, sum(a != b for a, b in zip(sample, other, strict=True)))
    assert distance == 1 < printed.DISTANCE_AFTER_SAMPLING
    # As sets, since budgets in a bucket are equal and the order of its records does not matter.
    by_set: defaultdict[frozenset[int | None], Fraction] = defaultdict(Fraction)
    for sequence, share in image.items():
        by_set[frozenset(sequence)] += share
    assert len(set(by_set.values())) == 1
    assert sum(by_set.values()) == 1

    # So the loss is that of one replacement: with each slot answered at a budget of 1/2, and the answers counted
    # (Algorithm 7 does not look at the order within a bucket either), it is 1/2 and not 1.
    def answered(bits: Sequence[int]) -> dict[int, float]:
        truth = math.exp(0.5) / (1 + math.exp(0.5))
        found = dict.fromkeys(range(size + 1), 0.0)
        orders = list(itertools.permutations(bits))
        for order in orders:
            slots = [*order, *[0] * size][:size]  # a missing value answers as a 0 does
            for said in itertools.product((0, 1), repeat=size):
                answers = (truth if a == b else 1 - truth for a, b in zip(said, slots, strict=True))
                found[sum(said)] += math.prod(answers) / len(orders)
        return found

    worst = max(log_ratio(answered(bits), answered(bits[:-1])) for bits in itertools.product((0, 1), repeat=people))
    assert worst <= 0.5 + EXACT
    if size >= people:
        assert worst == pytest.approx(0.5)  # attained where everybody is drawn


def test_erratum_11_shipped_samples_are_uniform() -> None:
    drawn = law(lambda r: tuple(sample_or_pad(np.array([1.0, 2.0, 3.0, 4.0]), 2, randomness=r).tolist()))
    probabilities = [probability for _, probability in drawn.items()]
    assert len(probabilities) == 12
    assert probabilities == pytest.approx([1 / 12] * 12)


@pytest.mark.parametrize("t", [0.1, 0.5, 1.0, 3.0, 10.0])
def test_erratum_12_the_distance_of_two_normal_laws(t: float) -> None:
    sigma = 1.5
    exact = float(mpmath.quad(lambda x: mpmath.npdf(x, t, sigma) - mpmath.npdf(x, -t, sigma), [0, t, t + 10 * sigma]))
    assert math.erf(t / (sigma * math.sqrt(2))) == pytest.approx(exact, abs=1e-12)
    if t > 1:
        assert printed.normal_distance(t, sigma) < 0.9 * exact  # too small, so it proves too much
    assert printed.normal_distance(1e6, sigma) < 0.71  # two laws that never meet are at distance 1


def test_erratum_12_erf_is_above_its_argument() -> None:
    # The proof then bounds erf(x) by x. It is 2x/sqrt(pi) at first: 1.128 x.
    assert math.erf(0.1) > 0.1 * 1.12
    # Shipped: one public record, which is only worth N(-t, 1) against N(t, 1). Guessing the sign errs with probability
    # (1 - TV)/2, which is 1/4 where t is the upper quartile of a standard normal law.
    assert pdpmean.lower_bound([math.inf]) == pytest.approx(0.6744897501960817, rel=1e-9)
    printed_shift = float(mpmath.findroot(lambda t: printed.normal_distance(float(t), 1.0) - 0.5, 0.7))
    assert printed_shift > 1.1 * 0.6744897501960817
    assert math.erfc(printed_shift / math.sqrt(2)) / 2 < 0.24  # going by the sign fails less often than claimed there


def test_erratum_13_padding_is_no_datum() -> None:
    values = np.array([1000.0, 1001.0, 1002.0, 1003.0, 1004.0])
    padded = printed.sample_or_pad(values, np.arange(5), 10)
    assert padded.mean() == 501.0
    shipped = sample_or_pad(values, 10, randomness=Randomness.seeded(1))
    assert np.isnan(shipped[5:]).all()
    # In the estimate the missing ones count as the middle of the range that the others define.
    assert mean_bounded(shipped, math.inf, randomness=Randomness.seeded(1)) == pytest.approx(1002, abs=2)
    assert mean_bounded(padded, math.inf, randomness=Randomness.seeded(1)) < 600


def matchings(people: Sequence[int]) -> list[Matching]:
    """Every way to pair people, one of them left over if their number is odd."""
    if len(people) < 2:
        return [frozenset()]
    first, rest = people[0], people[1:]
    found = [
        frozenset({frozenset({first, other})}) | rest_matching
        for i, other in enumerate(rest)
        for rest_matching in matchings([*rest[:i], *rest[i + 1 :]])
    ]
    if len(people) % 2:
        found += matchings(rest)
    return found


def after_leaving(matching: Matching, people: Sequence[int], leaver: int) -> Matching:
    """Their partner takes whoever was left over, or is left over."""
    kept = frozenset(pair for pair in matching if leaver not in pair)
    if kept == matching:
        return matching
    (partner,) = next(pair for pair in matching if leaver in pair) - {leaver}
    alone = [person for person in people if all(person not in pair for pair in matching)]
    return kept | {frozenset({partner, *alone})} if alone else kept


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7])
def test_erratum_14_pairs_by_position_all_change(size: int) -> None:
    # 0, 0, 1, 1, 2, 2, ...: equal values are paired. Drop the first, and every pair is at distance 1.
    values = np.arange(20.0) // 2
    assert (printed.pair_distances(values) == 0).all()
    assert (printed.pair_distances(values[1:]) == 1).all()
    assert abs((printed.pair_distances(values) < 0.5).sum() - (printed.pair_distances(values[1:]) < 0.5).sum()) == 10

    # A uniform matching of `size` people becomes one of the others, and 2 Count - |G| moves by 2 at most.
    people, data = list(range(size)), np.random.default_rng(size).normal(0, 1, size)

    def excess(matching: Matching, distance: float) -> int:
        within = sum(float(np.ptp(data[list(pair)])) <= distance for pair in matching)
        return 2 * within - len(matching)

    for leaver in people:
        images = Counter(after_leaving(matching, people, leaver) for matching in matchings(people))
        assert set(images) == set(matchings([person for person in people if person != leaver]))
        assert len(set(images.values())) == 1
        for matching in matchings(people):
            image = after_leaving(matching, people, leaver)
            for distance in (0.0, 0.3, 1.0, 2.0, 9.0):
                assert abs(excess(matching, distance) - excess(image, distance)) <= 2


def test_erratum_14_the_shipped_matching_is_uniform() -> None:
    pair_distances = importlib.import_module("pdpmean.paper.discretize")._pair_distances
    values = np.array([0.0, 1.0, 3.0, 7.0, 15.0])  # all differences differ
    drawn = law(lambda r: tuple(sorted(pair_distances(values, r).tolist())))
    assert [probability for _, probability in drawn.items()] == pytest.approx([1 / 15] * 15)


# --- 15 on: found since ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("expected", [0.5, 8.0, 100.0])
def test_erratum_15_the_last_term_of_the_two_stage_bound(expected: float) -> None:
    # The proof adds exp(-mu_N/8) twice, which exceeds the printed exp(-mu_N/4) at every mu_N.
    assert 2 * math.exp(-expected / 8) > printed.chance_of_few_survivors(expected)
    # The event it is spent on, fewer than mu_N/2 survivors, when many records have tiny rates (the Poisson law): the
    # printed term does not cover it at 100.
    few = float(
        mpmath.nsum(
            lambda k: mpmath.exp(-expected) * expected**k / mpmath.factorial(k), [0, math.ceil(expected / 2) - 1]
        )
    )
    assert few <= math.exp(-expected / 8)
    if expected >= 100:
        assert few > printed.chance_of_few_survivors(expected)
    # Shipped: equal values leave that term alone.
    size = 1000
    assert two_stage_bound([0.3] * size, [expected / size] * size, 1, 0.1) == pytest.approx(math.exp(-expected / 8))


def test_erratum_16_eight_times_the_noise(scales: list[float]) -> None:
    # Algorithm 3 as Algorithm 7 calls it has noise of scale |Range| / sum of the weights; its proof has 8 times that.
    budgets, lower, upper = np.array([0.5, 1.0, 1.5]), -1.0, 3.0
    weights, _ = importlib.import_module("pdpmean.paper.adpm")._integer_weights(budgets)
    adpm([0.0, 0.0, 0.0], budgets, lower=lower, upper=upper)
    steps = 2**24
    in_units_of_the_mean = scales[0] / (steps * weights.sum()) * (upper - lower) / 2
    assert in_units_of_the_mean == pytest.approx((upper - lower) / budgets.sum(), rel=1e-6)
    assert printed.proof_noise_scale(upper - lower, budgets.sum()) == pytest.approx(8 * in_units_of_the_mean)
    # The smaller noise is enough: replacing record i moves the mean by |Range| w_i, a loss of eps_i.
    assert ((upper - lower) * budgets / budgets.sum() / in_units_of_the_mean <= budgets * (1 + 1e-6)).all()
    # And the tau of the theorem, of all budgets, is not twice the tau of the halves that the algorithm sees.
    assert saturation([1.0] * 100).tau == pytest.approx(1.08)
    assert 2 * saturation([0.5] * 100).tau == pytest.approx(1.32)


def printed_spacing(median_distance: float) -> float:
    """Algorithm 4 without noise, for pairs that all have this distance."""
    outward = next(i for i in itertools.count(1) if 2.0 ** (i - 1) >= median_distance)
    inward = next(j for j in itertools.count(1) if 2.0 ** -(j - 1) < median_distance)
    return printed.spacing(outward, inward)


def test_erratum_17_the_inward_search_goes_one_too_far() -> None:
    # The median distance of two N(., sigma^2) is 0.6745 sqrt 2 = 0.9539 sigma. At sigma = 1.04 that is 0.992.
    sigma = 1.04
    median_distance = 0.6744897501960817 * math.sqrt(2) * sigma
    assert printed_spacing(median_distance) == 0.125 < sigma / 8
    # The same data in units half as large: the other search ends, and the spacing is 4 times as large, not twice.
    assert printed_spacing(2 * median_distance) == 4 * printed_spacing(median_distance)
    for scale in (2.0**-20, 0.5, 1.0, 2.0, 2.0**20):
        shipped = discretize([0.0, median_distance * scale], budget=math.inf).spacing
        assert sigma * scale / 8 <= shipped <= sigma * scale
        assert shipped == 0.25 * scale


def both_sides_of_lemma_12(budgets: Floats) -> tuple[float, float]:
    """The largest ``1 / (sum_{i<=k} eps_i + sqrt(n - k))``, k from 0, and the right side without its constant."""
    ascending = np.sort(budgets)
    sums, counts = np.append(0.0, np.cumsum(ascending)), np.arange(ascending.size, -1, -1)
    weights = np.minimum(ascending, saturation(ascending).tau)
    return float(np.max(1 / (sums + np.sqrt(counts)))), math.sqrt((weights**2).sum() + 8) / (2 * float(weights.sum()))


def test_erratum_18_the_constant_of_lemma_12() -> None:
    # 100 budgets of 0.01: on the left 1/1, on the right sqrt(0.01 + 8)/2 = 1.415 times 0.760.
    left, right = both_sides_of_lemma_12(np.full(100, 0.01))
    assert left == pytest.approx(1.0)
    assert left < 0.94 * printed.OPTIMALITY_CONSTANT * right
    # No constant above 2/3 can do: n budgets of 1/sqrt(n) give 1/sqrt(n) and 3/2 of it.
    for size in (1, 4, 100, 10_000):
        left, right = both_sides_of_lemma_12(np.full(size, 1 / math.sqrt(size)))
        assert right == pytest.approx(1.5 * left)
    # 2/(1 + sqrt 8) = 0.522 can, as docs/errata.md proves.
    generator = np.random.default_rng(3)
    for _ in range(500):
        size = int(generator.integers(1, 200))
        budgets = (
            np.exp(generator.uniform(-8, 3, size))
            if generator.random() < 0.5
            else np.full(size, generator.uniform(0, 2))
        )
        left, right = both_sides_of_lemma_12(budgets)
        assert left >= 2 / (1 + math.sqrt(8)) * right


def test_erratum_19_parallel_composition_of_replacements_costs_twice(scales: list[float]) -> None:
    # Two bins, each counted at eps. A replaced record leaves one and enters the other.
    budget = 0.5

    def counts(sizes: tuple[int, int]) -> dict[tuple[int, int], float]:
        window = range(-20, 30)
        return {
            (a, b): laplace_mass(a - sizes[0], 1 / budget) * laplace_mass(b - sizes[1], 1 / budget)
            for a, b in itertools.product(window, repeat=2)
        }

    assert log_ratio(counts((4, 3)), counts((3, 4))) == pytest.approx(2 * budget)
    assert 2 * budget > printed.PARALLEL_COMPOSITION_FACTOR * budget
    assert log_ratio(counts((4, 3)), counts((3, 3))) == pytest.approx(budget)  # joining or leaving: once
    # Shipped: counted in parallel only where neighbours join or leave, at half the left end of their one bucket.
    lefts = bucket_ends((0.5, 3.0))
    bucket_counts([4, 3, 2], lefts, beta=0.1, randomness=Randomness.seeded(0))
    assert [1 / scale for scale in scales] == pytest.approx((lefts / 2).tolist())


def test_erratum_20_sizes_are_whole_numbers() -> None:
    size = printed.noisy_size(size=100, left=0.5, buckets=3, beta=0.1, laplace=0.3)
    assert size == pytest.approx(100.6 - 2 * math.log(60))
    assert not float(size).is_integer()
    with pytest.raises(TypeError):
        printed.sample_or_pad(np.zeros(100), np.arange(100), size)  # type: ignore[arg-type]
    for seed in range(50):
        (count,) = bucket_counts([100], np.array([0.5]), beta=0.1, randomness=Randomness.seeded(seed))
        assert isinstance(count, int)
        assert sample_or_pad(np.zeros(100), count, randomness=Randomness.seeded(seed)).size == count


def test_erratum_21_twice_the_offset_may_be_taken_away(scales: list[float]) -> None:
    # Size minus noisy size is the offset minus the noise, so it exceeds the offset whenever the noise is negative.
    lefts, beta = bucket_ends((0.01, 0.04)), 0.1
    counts = bucket_counts([10_000] * 3, lefts, beta=beta, randomness=Randomness.seeded(0))
    for left, count, scale in zip(lefts, counts, scales, strict=True):
        offset = 10_000 - count
        assert offset > printed.deleted_at_most(left, 3, beta)
        negative = laplace_above(0, scale)  # by symmetry
        assert negative > 0.48 > beta / (2 * math.log2(4))  # what the printed proof allows
        # Twice the offset is exceeded with probability beta/(2 * 3) at most, over all buckets beta/2.
        assert laplace_above(offset, scale) <= beta / (2 * 3)


def test_erratum_22_a_mean_cannot_be_found_wherever_it_is() -> None:
    # 1000 budgets of 0.1 are more than Theorem 11 asks for, whatever mu and sigma. But let mu be one of M points, each
    # 100 sigma from the next. Who finds mu to 50 sigma with probability 1 - beta finds it, at any one of them, with
    # probability e^-100 (1 - beta) on the data of another, since that is 1000 replacements of loss 0.1 away; and M
    # such events are disjoint. So M (1 - beta) <= e^100: there are more points than that among the doubles.
    budgets, beta = [0.1] * 1000, 0.05
    assert required_records(budgets, beta=beta) <= len(budgets)
    points = 2.0 * 1e300 / 1e200  # mu in [-1e300, 1e300], sigma = 1e198
    assert math.log(points * (1 - beta)) > 2 * sum(budgets)
    # Lemma 16's own dependence, log log(1/sigma), is no number from sigma = 1 on.
    assert printed.records_for_the_spacing(0.1, beta, 1e-9) > 0
    with pytest.raises(ValueError, match=r"math domain error|positive"):
        printed.records_for_the_spacing(0.1, beta, 2.0)
    # Shipped: no promise of the kind; a total of 2000 is plenty for 2^43 places, on either side of sigma = 1.
    standard = np.random.default_rng(1).normal(0, 1, 2000)
    for sigma in (2.0**-30, 2.0**30):
        center = -(2.0**43) * sigma
        found = mean_bounded(center + sigma * standard, 1.0, randomness=Randomness.seeded(1))
        assert abs(found - center) < sigma


def test_erratum_23_noise_from_the_range_of_the_data(scales: list[float]) -> None:
    # Two zeros have no range, so no noise: the output 0 is certain. Change one, and it has probability 0.
    weights, budget = [0.5, 0.5], 1.0
    assert printed.weighted_mean_scale([0.0, 0.0], weights, budget) == 0
    assert printed.weighted_mean_scale([0.0, 1.0], weights, budget) > 0
    adpm([0.0, 0.0], budget, lower=0.0, upper=1.0)
    adpm([0.0, 1.0], budget, lower=0.0, upper=1.0)
    assert scales[0] == scales[1] > 0


# 24


def test_erratum_24_the_grid_shifts_the_median() -> None:
    """Without noise: the median of 2001 values around 12.2, on the printed grid and on the shipped one."""
    values = np.linspace(10.3, 14.1, 2001)
    grid = discretize(values, budget=math.inf, randomness=Randomness.seeded(1))
    on_the_grid = find_quantile(grid.values, budget=math.inf, spacing=grid.spacing, radius=64.0)
    lower, upper = estimate_range(values, math.inf, randomness=Randomness.seeded(1)) or (math.nan, math.nan)
    assert abs(on_the_grid - 12.2) > 0.3 * grid.spacing
    assert abs(lower / 2 + upper / 2 - 12.2) <= grid.spacing / 8
