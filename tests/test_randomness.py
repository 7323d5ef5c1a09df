"""One contract for both sources of randomness, then what is particular to each.

The secure source differs on every run: each statistical test of it raises a false alarm with probability below
1e-6 (see `statistical.laws`), and misses one of its mutants with probability below 1e-10.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import math
import os
import pickle
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from forked import in_child
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from statistical.laws import (
    assert_accepts_and_rejects,
    chi_square,
    discrete_laplace,
    discrete_laplace_cdf,
    discrete_laplace_size_cdf,
    kolmogorov,
    uniform,
)

from pdpmean import InvalidInputError, Randomness
from pdpmean.randomness import LARGEST_SCALE, keystream, laplace_scale, single_draws, this_process
from pdpmean.randomness.many_draws import Spare

pytestmark = pytest.mark.real_noise


@pytest.fixture(params=["secure", "seeded"])
def source(request: pytest.FixtureRequest) -> Randomness:
    return Randomness.secure() if request.param == "secure" else Randomness.seeded(7)


class Script:
    """Stands in for `Randomness.words`: hands out the given words and fails when they run out."""

    def __init__(self, words: Iterable[int]) -> None:
        self.left = list(words)

    def __call__(self, size: int) -> NDArray[np.uint64]:
        assert len(self.left) >= size, "more words were drawn than the script has"
        drawn, self.left = self.left[:size], self.left[size:]
        return np.array(drawn, dtype=np.uint64)


# Words


def test_words_are_64_bits_each(source: Randomness) -> None:
    for size in (0, 1, 2, 1000):
        words = source.words(size)
        assert words.dtype == np.uint64
        assert words.shape == (size,)


def test_words_do_not_repeat(source: Randomness) -> None:
    # Secure: two of 20 000 words are equal with probability below 1.1e-11.
    words = np.concatenate([source.words(10_000), *(source.words(1) for _ in range(5_000)), source.words(5_000)])
    assert np.unique(words).size == words.size


@pytest.mark.parametrize("shift", range(0, 64, 8))
def test_every_byte_of_a_word_is_uniform(source: Randomness, shift: int) -> None:
    words = source.words(20_000)
    assert_accepts_and_rejects(
        lambda sample: chi_square((sample >> np.uint64(shift) & np.uint64(255)).tolist(), uniform(256)),
        words,
        {"the top bit of every byte is 0": words & np.uint64(0x7F7F_7F7F_7F7F_7F7F)},
    )


def test_neighbouring_words_are_independent(source: Randomness) -> None:
    nibbles = (source.words(40_000) >> np.uint64(60)).tolist()
    assert_accepts_and_rejects(
        lambda pairs: chi_square(pairs, dict.fromkeys(itertools.product(range(16), repeat=2), 1 / 256)),
        list(zip(nibbles[::2], nibbles[1::2], strict=True)),
        {"every word twice": [(first, first) for first in nibbles[::2]]},
    )


# Coins


def test_coins_of_rate_0_and_1_are_certain(source: Randomness) -> None:
    rates = np.tile([0.0, 1.0], 50_000)
    assert np.array_equal(source.coins(rates), rates == 1)


@pytest.mark.parametrize(
    "rate",
    [0.5, 0.1, 1 / 3, 1.0 - 2.0**-53, 2.0**-64, 1.5 * 2.0**-64, 2.0**-63, 2.0**-53, 2.0**-65, 5e-324, 0.0],
)
def test_a_coin_is_heads_for_exactly_its_rate_of_words_rounded_down(
    source: Randomness, monkeypatch: pytest.MonkeyPatch, rate: float
) -> None:
    heads = math.floor(Fraction(rate) * 2**64)
    words = sorted({0, max(heads - 1, 0), heads, heads + 1, 2**64 - 1})
    # The first bytes of all come first, packed into words; then the other seven of those that may still be heads.
    first = [word >> 56 for word in words]
    packed = int.from_bytes(bytes(first).ljust(8, b"\0"), "little")
    rest = [(word << 8) % 2**64 for word in words if word >> 56 < rate * 256]
    monkeypatch.setattr(source, "words", Script([packed, *rest]))
    assert source.coins(np.full(len(words), rate)).tolist() == [word < heads for word in words]


@pytest.mark.parametrize(
    "rate", [0.5, 0.1, 1 / 3, 1.0 - 2.0**-53, 2.0**-64, 1.5 * 2.0**-64, 2.0**-65, 5e-324, 0.0, 1.0]
)
@pytest.mark.parametrize("known", [8, 16])
def test_coins_whose_first_bits_are_known_are_heads_for_as_many_words(
    source: Randomness, monkeypatch: pytest.MonkeyPatch, rate: float, known: int
) -> None:
    heads = math.floor(Fraction(rate) * 2**64)
    words = sorted({0, max(heads - 1, 0), min(heads, 2**64 - 1), 2**64 - 1})
    first = np.array([word >> (64 - known) for word in words], dtype=f"u{known // 8}")
    monkeypatch.setattr(source, "words", Script([(word << known) % 2**64 for word in words]))
    assert source.finish_coins(first, np.full(len(words), rate)).tolist() == [word < heads for word in words]


@pytest.mark.parametrize("size", [0, 1, 3, 4, 1001])
def test_first_bits_are_as_many_as_asked_for_and_uniform(source: Randomness, size: int) -> None:
    for first, kind in ((source.first_bytes(size), np.uint8), (source.first_pairs(size), np.uint16)):
        assert first.shape == (size,)
        assert first.dtype == kind
    pairs = source.first_pairs(200_000) % 5
    laws = {digit: (13108 if digit == 0 else 13107) / 65536 for digit in range(5)}
    assert chi_square(pairs.tolist(), laws) > 1e-10


@pytest.mark.parametrize("rate", [0.5, 1 / 3, 0.02])
def test_coins_have_their_rate(source: Randomness, rate: float) -> None:
    # Secure: two cells that expect at least 4 000; a binomial count is 7 of its standard deviations away from
    # its mean with probability below 1e-10.
    size = 200_000
    assert_accepts_and_rejects(
        lambda sample: chi_square(sample.tolist(), {True: rate, False: 1 - rate}),
        source.coins(np.full(size, rate)),
        {
            "0.7 times the rate": source.coins(np.full(size, 0.7 * rate)),
            "1.3 times the rate": source.coins(np.full(size, 1.3 * rate)),
        },
    )


def test_every_coin_has_its_own_rate_and_the_shape_is_kept(source: Randomness) -> None:
    rates = np.tile([[0.2, 0.9, 0.0], [1.0, 0.5, 0.01]], (10_000, 1, 1))
    coins = source.coins(rates)
    assert coins.shape == rates.shape
    assert coins.dtype == np.bool_
    assert not coins[:, 0, 2].any()
    assert coins[:, 1, 0].all()

    def test(row: int, column: int) -> Callable[[NDArray[np.bool_]], float]:
        rate = float(rates[0, row, column])
        return lambda sample: chi_square(sample.tolist(), {True: rate, False: 1 - rate})

    for row, column in ((0, 0), (0, 1), (1, 1), (1, 2)):
        mutant = coins[:, row, column - 1]
        assert_accepts_and_rejects(test(row, column), coins[:, row, column], {"a neighbour's rate": mutant})


def test_coins_of_no_rates_are_no_coins(source: Randomness) -> None:
    assert source.coins(np.array([])).tolist() == []


@pytest.mark.parametrize("rate", [-5e-324, -0.1, 1.0 + 2.0**-52, math.inf, -math.inf, math.nan])
def test_rates_outside_0_to_1_are_refused(source: Randomness, rate: float) -> None:
    with pytest.raises(ValueError, match="rates must lie in"):
        source.coins(np.array([0.5, rate]))


# Uniform integers


def test_below_1_is_0(source: Randomness) -> None:
    assert [source.below(1) for _ in range(100)] == [0] * 100


@pytest.mark.parametrize("bound", [2, 3, 4, 5, 10])
def test_below_is_uniform(source: Randomness, bound: int) -> None:
    def draws(bound: int) -> list[int]:
        return [source.below(bound) for _ in range(5_000)]

    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, uniform(bound)),
        draws(bound),
        {"one less in the bound": draws(bound - 1), "one more in the bound": draws(bound + 1)},
    )


@pytest.mark.parametrize("bound", [2**64, 2**64 + 1, 3 * 2**63, 2**1000 + 1, 3 * 2**999])
def test_below_is_uniform_for_large_bounds(source: Randomness, bound: int) -> None:
    draws = [source.below(bound) for _ in range(4_000)]
    assert all(0 <= draw < bound for draw in draws)
    assert_accepts_and_rejects(
        lambda sample: chi_square([12 * draw // bound for draw in sample], uniform(12)),
        draws,
        {
            "0.7 times the bound": [source.below(7 * bound // 10) for _ in range(4_000)],
            "a missing top bit": [draw & ((1 << (bound.bit_length() - 2)) - 1) for draw in draws],
        },
    )
    assert chi_square([draw % 8 for draw in draws], uniform(8)) > 1e-12


@pytest.mark.parametrize("bound", [2, 3, 5, 2**32, 2**64 - 1, 2**64, 2**64 + 1, 2**1000, 2**1000 + 1])
def test_below_accepts_exactly_the_integers_under_its_bound(
    source: Randomness, monkeypatch: pytest.MonkeyPatch, bound: int
) -> None:
    # The chi-square test cannot see one off in a bound this large; a script can.
    def words(number: int) -> list[int]:
        return [number >> (64 * i) & (2**64 - 1) for i in range(-(-(bound - 1).bit_length() // 64))]

    fits = 1 << (bound - 1).bit_length()  # the integers below this are what the masked words can spell
    too_large = [number for number in (bound, fits - 1) if bound <= number < fits]
    for number in (0, 1, bound - 1):
        script = Script(itertools.chain.from_iterable(map(words, [*too_large, number])))
        monkeypatch.setattr(source, "words", script)
        assert source.below(bound) == number
        assert not script.left


@pytest.mark.parametrize("bound", [0, -1, -(2**70)])
def test_below_refuses_bounds_under_1(source: Randomness, bound: int) -> None:
    with pytest.raises(ValueError, match="bound must be at least 1"):
        source.below(bound)


# Permutations


def test_all_orders_are_equally_likely(source: Randomness) -> None:
    def orders(permutation: Callable[[], Iterable[int]]) -> list[tuple[int, ...]]:
        return [tuple(map(int, permutation())) for _ in range(4_000)]

    law = dict.fromkeys(itertools.permutations(range(4)), 1 / 24)
    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, law),
        orders(lambda: source.permutation(4)),
        {
            "the last stays": orders(lambda: [*source.permutation(3), 3]),
            "one less in a bound": orders(lambda: shuffle_one_off(source, 4)),
        },
    )


def shuffle_one_off(source: Randomness, size: int) -> list[int]:
    """A shuffle with one less in the bound: it never leaves an index where it was."""
    order = list(range(size))
    for position in range(size - 1, 0, -1):
        other = source.below(position)
        order[position], order[other] = order[other], order[position]
    return order


def test_a_permutation_holds_every_index_once(source: Randomness) -> None:
    for size in (0, 1, 2, 1000):
        order = source.permutation(size)
        assert order.dtype == np.intp
        assert sorted(order.tolist()) == list(range(size))


def test_equal_words_are_drawn_again(source: Randomness, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script([5, 9, 5, 7, 7, 7, 2**64 - 1, 0, 2**64 - 1, 8, 2**64 - 1, 3])
    monkeypatch.setattr(source, "words", script)
    assert source.permutation(3).tolist() == [2, 0, 1]
    assert not script.left


# Discrete Laplace noise


@pytest.mark.parametrize(("scale", "size"), [(0.3, 8_000), (3.7, 4_000), (50.0, 4_000)])
def test_noise_is_discrete_laplace(source: Randomness, scale: float, size: int) -> None:
    def noise(scale: float) -> list[int]:
        return [source.add_laplace(0, scale) for _ in range(size)]

    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, discrete_laplace(scale)),
        noise(scale),
        {"0.7 times the scale": noise(0.7 * scale), "1.3 times the scale": noise(1.3 * scale)},
    )


def test_noise_of_a_large_scale_is_discrete_laplace(source: Randomness) -> None:
    scale = 2.0**50

    def noise(scale: float) -> list[int]:
        return [source.add_laplace(0, scale) for _ in range(6_000)]

    truth = noise(scale)
    assert_accepts_and_rejects(
        lambda sample: kolmogorov([abs(draw) for draw in sample], discrete_laplace_size_cdf(scale)),
        truth,
        {"0.7 times the scale": noise(0.7 * scale), "1.3 times the scale": noise(1.3 * scale)},
    )
    assert_accepts_and_rejects(
        lambda sample: kolmogorov(sample, discrete_laplace_cdf(scale)),
        truth,
        {"only one sign": [abs(draw) for draw in truth]},
    )
    assert_accepts_and_rejects(
        lambda sample: chi_square([draw % 8 for draw in sample], uniform(8)),
        truth,
        {"an eighth of the scale, times 8": [draw // 8 * 8 for draw in truth]},
    )


def test_noise_is_added_to_integers_of_any_size(source: Randomness) -> None:
    # Secure: 60 scales off with probability exp(-60).
    for value in (0, -5, 2**63 - 1, -(2**63), 10**400, -(10**400)):
        released = source.add_laplace(value, 4.0)
        assert type(released) is int
        assert abs(released - value) < 240


def test_noise_does_not_depend_on_the_value() -> None:
    one, other = Randomness.seeded(3), Randomness.seeded(3)
    for _ in range(100):
        assert one.add_laplace(10**30, 1e6) - 10**30 == other.add_laplace(0, 1e6)


def test_noise_of_scale_0_is_none(source: Randomness) -> None:
    for value in (0, -7, 10**400):
        assert source.add_laplace(value, 0.0) == value


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-3])
def test_noise_of_a_tiny_scale_is_0(source: Randomness, scale: float) -> None:
    assert [source.add_laplace(0, scale) for _ in range(100)] == [0] * 100


def test_the_largest_scale_is_allowed(source: Randomness) -> None:
    # Secure: all 50 draws lie within 2**50 of 0 with probability below 1e-100.
    assert max(abs(source.add_laplace(0, LARGEST_SCALE)) for _ in range(50)) > 2**50


@pytest.mark.parametrize("scale", [math.nextafter(2.0**60, math.inf), math.inf, -5e-324, -1.0, -math.inf, math.nan])
def test_scales_outside_the_range_are_refused(source: Randomness, scale: float) -> None:
    with pytest.raises(ValueError, match="scale must lie in"):
        source.add_laplace(0, scale)


# Noise for many numbers at once


@cache
def exact_decay(rate: int, bits: int) -> Fraction:
    """``exp(-rate / 2**bits)``, in 40 terms; the others are less than 1e-47."""
    return sum(((-Fraction(rate, 2**bits)) ** k / math.factorial(k) for k in range(40)), Fraction(0))


class Unlikely(Exception):  # noqa: N818 - not an error
    """The path's chance is so small that it is not followed."""


class OnePath(Randomness):
    """Takes, on one run, the path written down, and knows its chance."""

    def __init__(self, path: list[int], least: float) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=False)
        self.path, self.sizes = path, list[int]()
        self.chance, self.least = Fraction(1), least

    def _bits(self, size: int, bits: int) -> NDArray[np.uint64]:
        return np.array([self._next([Fraction(1, 2**bits)] * 2**bits) for _ in range(size)], dtype=np.uint64)

    def words(self, size: int) -> NDArray[np.uint64]:
        """Of which only the last bit is looked at."""
        return np.array([self._next([Fraction(1, 2)] * 2) for _ in range(size)], dtype=np.uint64)

    def _next(self, chances: list[Fraction]) -> int:
        if len(self.sizes) == len(self.path):
            self.path.append(0)
        taken = self.path[len(self.sizes)]
        self.sizes.append(len(chances))
        self.chance *= chances[taken]
        if self.chance < self.least:
            raise Unlikely
        return taken


class OnePathOfCoins(OnePath):
    """The same, where a decaying coin is one draw at its exact chance."""

    def _exp_coins(self, rates: NDArray[np.uint64], bits: int) -> NDArray[np.bool_]:
        heads = [exact_decay(rate, bits) for rate in rates.tolist()]
        return np.array([self._next([1 - chance, chance]) == 1 for chance in heads])


def enumerated(
    draw: Callable[[Randomness], int], kind: type[OnePath], least: float
) -> tuple[dict[int, Fraction], Fraction]:
    """The chance of every outcome, over all paths that are not unlikely; and what the others have together."""
    law: dict[int, Fraction] = {}
    path: list[int] = []
    while True:
        run = kind(path, least)
        with contextlib.suppress(Unlikely):
            outcome = draw(run)
            law[outcome] = law.get(outcome, Fraction(0)) + run.chance
        del path[len(run.sizes) :]
        while path and path[-1] == run.sizes[len(path) - 1] - 1:
            path.pop()
        if not path:
            return law, 1 - sum(law.values(), Fraction(0))
        path[-1] += 1


@pytest.mark.parametrize(("rate", "bits"), [(1, 0), (0, 1), (1, 1), (1, 2), (3, 2)])
def test_a_decaying_coin_has_exactly_its_chance(rate: int, bits: int) -> None:
    """Every path of its draws: the exact chance is within what those leave open that are not followed."""
    law, left = enumerated(lambda r: int(r._exp_coins(np.array([rate], np.uint64), bits)[0]), OnePath, 2.0**-16)
    assert left < 0.02
    assert law[1] <= exact_decay(rate, bits) <= law[1] + left


@pytest.mark.parametrize("bits", [0, 1, 2])
def test_noise_for_many_has_exactly_its_law(bits: int) -> None:
    """Every path of its draws, decaying coins being as they were just shown to be."""
    law, left = enumerated(lambda r: r.add_laplace_to_each([0], bits)[0], OnePathOfCoins, 2.0**-15)
    expected = discrete_laplace(2.0**bits)
    assert left < 0.04
    assert len(law) > 9
    assert all(float(law[x]) - 1e-15 <= expected[x] <= float(law[x] + left) for x in law)
    assert all(law[x] == law[-x] for x in law)


def test_noise_for_many_is_fresh_for_each_and_in_their_order(source: Randomness) -> None:
    found = source.add_laplace_to_each([10**30, 0, -(10**30)], 4)
    assert [round(number / 1e30) for number in found] == [1, 0, -1]
    assert source.add_laplace_to_each([], 4) == []
    assert len(set(source.add_laplace_to_each([0] * 1000, 40))) > 990


@pytest.mark.parametrize("bits", [0, 1, 2, 5])
def test_noise_for_many_is_discrete_laplace(source: Randomness, bits: int) -> None:
    scale, size = 2.0**bits, 20_000
    sample = source.add_laplace_to_each([0] * size, bits)

    def scaled(factor: float) -> list[int]:
        return [math.trunc(factor * (x + (0.5 if x > 0 else -0.5 if x < 0 else 0))) for x in sample]

    assert_accepts_and_rejects(
        lambda drawn: chi_square(drawn, discrete_laplace(scale)),
        sample,
        {
            "three times as many zeros": [*sample, *[0] * (2 * sample.count(0))],
            "more often above 0": [abs(x) if index % 5 == 0 else x for index, x in enumerate(sample)],
            "even numbers alone": [x - x % 2 for x in sample],
            **({"a scale of 0.9": scaled(0.9), "a scale of 1.1": scaled(1.1)} if bits > 2 else {}),
        },
    )


@pytest.mark.parametrize("bits", [10, 30, 59, 60])
def test_noise_for_many_of_a_large_scale_is_discrete_laplace(source: Randomness, bits: int) -> None:
    size = 20_000
    sample = source.add_laplace_to_each([0] * size, bits)
    assert_accepts_and_rejects(
        lambda drawn: kolmogorov(drawn, discrete_laplace_cdf(2.0**bits)),
        sample,
        {
            "a scale of 0.8": [math.trunc(0.8 * x) for x in sample],
            "a scale of 1.25": [math.trunc(1.25 * x) for x in sample],
            "more often above 0": [abs(x) if index % 5 == 0 else x for index, x in enumerate(sample)],
            "sizes below one scale alone": [x % 2**bits for x in sample],
        },
    )
    assert_accepts_and_rejects(
        lambda drawn: chi_square([x % 16 for x in drawn], uniform(16)),
        sample,
        {"even numbers alone": [x - x % 2 for x in sample]},
    )


def test_neighbouring_noise_is_independent(source: Randomness) -> None:
    """Of numbers that get noise at once."""
    signs = [x > 0 for x in source.add_laplace_to_each([0] * 40_000, 30)]
    pairs = list(zip(signs[::2], signs[1::2], strict=True))
    law = dict.fromkeys(itertools.product([False, True], repeat=2), 0.25)
    assert_accepts_and_rejects(
        lambda drawn: chi_square(drawn, law), pairs, {"noise that two share": [(one, one) for one, _ in pairs]}
    )


def test_noise_for_many_is_used_once_though_some_is_drawn_ahead(source: Randomness) -> None:
    """In turns of any size, and whatever scale is asked for in between."""
    drawn = []
    for size in [3, 0, 1, 7, *[5] * 400]:
        drawn += source.add_laplace_to_each([0] * size, 50)
        drawn += source.add_laplace_to_each([0] * size, 51)
    assert len(set(drawn)) == len(drawn) == 2 * 2011


@pytest.mark.parametrize("bits", [-1, 61, 64])
def test_scales_for_many_outside_the_range_are_refused(source: Randomness, bits: int) -> None:
    with pytest.raises(ValueError, match="bits must lie in"):
        source.add_laplace_to_each([0], bits)


# Noise beyond a word


def saturate(draw: int, limit: int) -> int:
    """`draw` as a word holds it whose largest value is `limit`."""
    return max(-limit - 1, min(limit, draw))


def geometric(ratio: Fraction, x: int) -> Fraction:
    """P(X = x) of the discrete Laplace law whose weights fall by `ratio` a step."""
    return (1 - ratio) / (1 + ratio) * ratio ** abs(x)


def saturated_law(ratio: Fraction, limit: int) -> dict[int, Fraction]:
    law = {x: geometric(ratio, x) for x in range(-limit, limit)}
    beyond = ratio**limit / (1 + ratio)  # P(X >= limit)
    return {-limit - 1: beyond * ratio, **law, limit: beyond}


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(9, 10)])
def test_unlimited_noise_has_exactly_its_law(limit: int, ratio: Fraction) -> None:
    """Every script of draws, run through the function, with its probability as a fraction.

    A negative draw after the first changes nothing (the next test), so later draws are enumerated given that
    they are not negative. Sizes below 4 * limit need at most 4 draws.
    """
    draws = saturated_law(ratio, limit)
    positive = {x: p for x, p in draws.items() if x >= 0}
    later = {x: p / sum(positive.values()) for x, p in positive.items()}
    law: dict[int, Fraction] = {}
    scripts = [([x], p) for x, p in draws.items()]
    while scripts:
        script, probability = scripts.pop()
        try:
            outcome = single_draws._unlimited(partial(next, iter(script)), limit)
        except StopIteration:  # it asks for another draw
            if len(script) < 4:
                scripts.extend(([*script, x], probability * p) for x, p in later.items())
        else:
            law[outcome] = law.get(outcome, Fraction(0)) + probability
    inside = range(-4 * limit + 1, 4 * limit)
    assert {x: law[x] for x in inside} == {x: geometric(ratio, x) for x in inside}
    assert set(law) == set(inside)


@pytest.mark.parametrize("limit", [1, 3])
def test_later_negative_draws_change_nothing(limit: int) -> None:
    negative = range(-limit - 1, 0)
    for first in (limit, -limit, -limit - 1):
        for rejected in itertools.product(negative, repeat=3):
            for last in range(limit):
                draws = iter([first, rejected[0], limit, *rejected[1:], last])
                outcome = single_draws._unlimited(partial(next, draws), limit)
                assert outcome == math.copysign(2 * limit + last, first)


def test_unlimited_noise_follows_its_law() -> None:
    source, scale, limit = Randomness.seeded(11), 2.5, 3

    def sample(limit_told: int) -> list[int]:
        def draw() -> int:
            return saturate(source.add_laplace(0, scale), limit)

        return [single_draws._unlimited(draw, limit_told) for _ in range(8_000)]

    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, discrete_laplace(scale)),
        sample(limit),
        {"stops at the word's end": sample(limit + 2), "one more in the limit": sample(limit + 1)},
    )


def test_secure_noise_goes_on_beyond_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    scale = 2.5
    unsaturated = single_draws._opendp_laplace(scale)
    monkeypatch.setattr(single_draws, "_WORD_LIMIT", 3)
    monkeypatch.setattr(
        single_draws, "_opendp_laplace", lambda _: lambda values: [saturate(noisy, 3) for noisy in unsaturated(values)]
    )
    source = Randomness.secure()
    noise = [source.add_laplace(0, scale) for _ in range(4_000)]
    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, discrete_laplace(scale)),
        noise,
        {"stops at the word's end": [saturate(draw, 3) for draw in noise]},
    )


@pytest.mark.parametrize("source", [Randomness.seeded(12), Randomness.secure()], ids=["seeded", "secure"])
def test_noise_drawn_ahead_has_its_law_and_is_used_once(source: Randomness) -> None:
    """Beyond the ends of the blocks it is drawn in, and each value with noise of its own, whatever else is drawn."""
    scale, noise = 2.5, []
    for value in range(0, 30_000, 10):
        noise.append(source.add_laplace(value, scale) - value)
        source.add_laplace(value, 1.5)
    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, discrete_laplace(scale)),
        noise,
        {"at 0.7 of its scale": [round(0.7 * one) for one in noise]},
    )
    assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 0.12, "six standard deviations"


def test_opendp_stops_at_the_ends_of_a_word() -> None:
    # What `_unlimited` builds on. At this scale 7 draws in 8 stop; 400 stop nowhere with probability < 1e-70.
    drawn = single_draws._opendp_laplace(2.0**66)([0] * 400)
    assert max(drawn) == 2**63 - 1 == single_draws._WORD_LIMIT
    assert min(drawn) == -(2**63)


def test_noise_wider_than_a_word_has_its_law() -> None:
    scale = 2.0**62
    draw = partial(next, single_draws.drawn_ahead(scale))
    cdf = discrete_laplace_size_cdf(scale)
    limit = single_draws._WORD_LIMIT
    assert_accepts_and_rejects(
        lambda sample: kolmogorov([abs(x) for x in sample], cdf),
        [single_draws._unlimited(draw, limit) for _ in range(4_000)],
        {"stops at the word's end": [draw() for _ in range(4_000)]},
    )


# Nobody else sees the same coins


def test_sources_cannot_be_copied_or_pickled(source: Randomness) -> None:
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied or pickled"):
            duplicate(source)
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        copy.deepcopy({"holder": [source]})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_secure_source_draws_a_new_key() -> None:
    source = Randomness.secure()
    source.words(3)

    def four_words() -> bytes:
        return source.words(4).tobytes()

    def four_words_as_if_not_forked() -> bytes:
        source._process = (os.getpid(), keystream._forks)
        return four_words()

    def four_words_under_the_same_number() -> bytes:
        source._process = (os.getpid(), 0)  # as in a process whose number has come again
        return four_words()

    children = [in_child(four_words), in_child(four_words_under_the_same_number)]
    mutant = in_child(four_words_as_if_not_forked)
    parent = four_words()
    assert len({parent, *children}) == 3
    assert len(parent) == len(children[0]) == 32
    assert mutant == parent  # so the assertion above can fail


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(
    "draw",
    [
        lambda source: [source.add_laplace(0, 2.0**50) for _ in range(4)],
        lambda source: source.add_laplace_to_each([0] * 4, 50),
    ],
    ids=["one", "many"],
)
def test_a_forked_secure_source_draws_other_noise(draw: Callable[[Randomness], list[int]]) -> None:
    source = Randomness.secure()

    def noise() -> bytes:
        return repr(draw(source)).encode()

    def noise_as_if_not_forked() -> bytes:
        source._process = this_process()
        return noise()

    for _ in range(5):
        noise()  # the last from a block of 16, of which 11 or 12 are now drawn ahead
    mutant, answers = in_child(noise_as_if_not_forked), [in_child(noise), in_child(noise), noise()]
    assert len(set(answers)) == 3
    assert all(answers)
    assert mutant == answers[2]  # so the assertion above can fail


def test_secure_sources_differ() -> None:
    sources = [Randomness.secure() for _ in range(20)]
    assert len({int(source.words(1)[0]) for source in sources}) == 20
    assert len({source.add_laplace(0, 2.0**59) for source in sources}) == 20


def test_sources_elsewhere_are_made_by_name(source: Randomness) -> None:
    make = pickle.loads(pickle.dumps(source.remote()))
    first, again, other = make("partition 1"), make("partition 1"), make("partition 2")
    assert {first.private, other.private} == {source.private}
    words = [one.words(4).tolist() for one in (source, first, again, other)]
    assert (words[1] == words[2]) is not source.private  # a secure one has coins of its own, whatever its name
    assert len({tuple(drawn) for drawn in words}) == (4 if source.private else 3)
    assert first.add_laplace(0, 2.0**50) != other.add_laplace(0, 2.0**50)


def test_no_secret_is_sent_with_a_secure_source() -> None:
    assert pickle.dumps(Randomness.secure().remote()) == pickle.dumps(Randomness.secure().remote())
    assert pickle.dumps(Randomness.seeded(1).remote()) != pickle.dumps(Randomness.seeded(2).remote())


def test_makers_of_a_seeded_source_differ() -> None:
    source = Randomness.seeded(7)
    assert source.remote()("a").words(4).tolist() != source.remote()("a").words(4).tolist()


def draws_of_every_kind(source: Randomness) -> list[object]:
    return [
        source.words(5).tolist(),
        source.coins(np.full(64, 0.5)).tolist(),
        source.below(3 * 2**70),
        source.permutation(20).tolist(),
        source.add_laplace(4, 1e9),
        source.words(1).tolist(),
    ]


@pytest.mark.parametrize("seed", [0, 7, -7, 2**200])
def test_a_seed_repeats_itself(seed: int) -> None:
    assert draws_of_every_kind(Randomness.seeded(seed)) == draws_of_every_kind(Randomness.seeded(seed))


def test_different_seeds_give_different_draws() -> None:
    everything = [draws_of_every_kind(Randomness.seeded(seed)) for seed in (0, 1, -1, 7, 10**30, 10**30 + 1)]
    for one, other in itertools.combinations(everything, 2):
        assert all(first != second for first, second in zip(one, other, strict=True))


def test_a_seeded_stream_does_not_depend_on_how_it_is_cut() -> None:
    whole, parts = Randomness.seeded(7), Randomness.seeded(7)
    cut = np.concatenate([parts.words(size) for size in (0, 1, 2, 3, 94)])
    assert np.array_equal(whole.words(100), cut)


def test_a_seed_means_the_same_everywhere() -> None:
    # AES-256-CTR from 0 under the key SHA-256("pdpmean seed 7"): on every machine and in every version.
    assert Randomness.seeded(7).words(2).tolist() == [18236567206505853305, 2965875780032213432]


@pytest.mark.parametrize("seed", [True, False, 7.0, "7", None, np.float64(7)])
def test_only_integers_are_seeds(seed: object) -> None:
    with pytest.raises(InvalidInputError, match="seed must be an integer") as caught:
        Randomness.seeded(seed)  # type: ignore[arg-type]
    assert caught.value.name == "seed"
    assert caught.value.value is seed


def test_only_secure_randomness_is_private() -> None:
    assert Randomness.secure().private is True
    assert Randomness.seeded(7).private is False
    assert "NOT PRIVATE" in repr(Randomness.seeded(7))
    assert "NOT PRIVATE" not in repr(Randomness.secure())
    assert "NOT PRIVATE" in (Randomness.seeded.__doc__ or "")


# The scale that a budget asks for


def is_least_scale(scale: float, sensitivity: int, budget: float) -> bool:
    exact = Fraction(sensitivity) / Fraction(budget)
    return Fraction(math.nextafter(scale, -math.inf)) < exact <= Fraction(scale)


@settings(derandomize=True, deadline=None, max_examples=500)
@given(st.integers(0, 2**200), st.floats(2.0**-300, 2.0**300))
def test_a_scale_is_the_least_double_that_suffices(sensitivity: int, budget: float) -> None:
    assert is_least_scale(laplace_scale(sensitivity, budget), sensitivity, budget)


@pytest.mark.parametrize(
    ("sensitivity", "budget"),
    [(0, 1.0), (1, 1.0), (3, 0.1), (10, 3.0), (2**53 + 1, 1.0), (1, 5e-308), (1, 1.7e308), (2, 2.0**-50)],
)
def test_a_scale_at_the_edges(sensitivity: int, budget: float) -> None:
    assert is_least_scale(laplace_scale(sensitivity, budget), sensitivity, budget)


def test_plain_division_would_cost_more() -> None:
    assert Fraction(1 / 3.0) < Fraction(1) / Fraction(3.0)
    assert not is_least_scale(1 / 3.0, 1, 3.0)
    assert is_least_scale(laplace_scale(1, 3.0), 1, 3.0)


def test_an_infinite_budget_needs_no_noise() -> None:
    assert laplace_scale(0, math.inf) == laplace_scale(2**70, math.inf) == 0


# The statistical tests themselves


def test_chi_square_of_three_cells() -> None:
    # The statistic is (20**2 + 10**2 + 10**2) / 100 = 6; with 2 degrees of freedom its tail is exp(-6 / 2).
    assert chi_square([0] * 120 + [1] * 90 + [2] * 90, uniform(3)) == pytest.approx(math.exp(-3))


def test_chi_square_pools_rare_outcomes() -> None:
    # Cells {0, 1} and {2, the rest} of 50 each, so the statistic is 2 * 10**2 / 50 on 1 degree of freedom.
    sample = [0] * 30 + [1] * 30 + [2] * 20 + [99] * 20
    law = {0: 0.25, 1: 0.25, 2: 0.25}
    assert chi_square(sample, law) == pytest.approx(math.erfc(math.sqrt(4 / 2)))


def test_chi_square_knows_the_impossible() -> None:
    assert chi_square([0, 1] * 100 + [2], {0: 0.5, 1: 0.5}) == 0
    assert chi_square([0, 1] * 100 + [2], {0: 0.5, 1: 0.4, 2: 0.0}) == 0


def test_chi_square_refuses_a_sample_that_cannot_decide() -> None:
    with pytest.raises(ValueError, match="too small"):
        chi_square([0, 1] * 20, {0: 0.5, 1: 0.5})


def test_kolmogorov_measures_the_largest_distance() -> None:
    # The fair die's law against a sample that is 1 or 6: the distance is 1/2 - 1/6 = 1/3, just below 6 or at 1.
    assert kolmogorov([1, 6] * 50, lambda x: min(max(x, 0), 6) / 6) == pytest.approx(2 * math.exp(-200 / 9))
    assert kolmogorov([1, 2, 3, 4, 5, 6], lambda x: min(max(x, 0), 6) / 6) == 1


@pytest.mark.parametrize("scale", [0.3, 3.7])
def test_the_laplace_laws_agree(scale: float) -> None:
    law, cdf, size_cdf = discrete_laplace(scale), discrete_laplace_cdf(scale), discrete_laplace_size_cdf(scale)
    assert math.fsum(law.values()) == pytest.approx(1)
    assert law[1] / law[0] == pytest.approx(math.exp(-1 / scale))
    for x in (-9, -1, 0, 1, 9):
        assert cdf(x) == pytest.approx(math.fsum(p for y, p in law.items() if y <= x))
        assert size_cdf(x) == pytest.approx(math.fsum(p for y, p in law.items() if abs(y) <= x), abs=1e-15)


def test_the_helper_wants_both() -> None:
    def test(p_value: float) -> float:
        return p_value

    assert_accepts_and_rejects(test, 0.5, {"caught": 0.0})
    with pytest.raises(AssertionError, match="the law itself was rejected"):
        assert_accepts_and_rejects(test, 0.0, {})
    with pytest.raises(AssertionError, match="'missed' was accepted"):
        assert_accepts_and_rejects(test, 0.5, {"caught": 0.0, "missed": 0.5})


def test_threads_never_share_noise_that_was_drawn_ahead() -> None:
    numbers = itertools.count()
    spare, taken = Spare(), list[int]()

    def draw(size: int) -> list[int]:
        return [next(numbers) for _ in range(size)]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            for some in pool.map(lambda size: spare.take(size, draw), [7, 50, 3] * 2000):
                taken += some
    finally:
        sys.setswitchinterval(interval)
    assert len(taken) == len(set(taken)) == 60 * 2000


def test_a_fork_uses_nothing_inherited_even_if_its_key_fails_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was drawn ahead is dropped before the new process is noted, and the old keystream is never used again."""
    keys = iter([b"1" * 32, None, b"2" * 32])

    def new_key() -> bytes:
        key = next(keys)
        if key is None:
            raise OSError("no entropy yet")
        return key

    source = Randomness(new_key, single_draws.simulated_laplace, private=True)
    for _ in range(3):
        source.add_laplace_to_each([0] * 5, 3)
    monkeypatch.setattr(keystream, "_forks", keystream._forks + 1)
    with pytest.raises(OSError, match="no entropy yet"):
        source.add_laplace_to_each([0] * 2, 3)
    new = Randomness(lambda: b"2" * 32, single_draws.simulated_laplace, private=True)
    assert source.add_laplace_to_each([0] * 9, 3) == new.add_laplace_to_each([0] * 9, 3)
