"""Joint noise: exactly its law, the moments it is said to have, and never more than it is paid for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from exact.enumeration import law
from numpy.typing import NDArray
from statistical.laws import assert_accepts_and_rejects, kolmogorov

from pdpmean import Randomness
from pdpmean.laws.joint_noise import JointNoise

PARTS = [0.02, 0.3, 1.0, 2.5]


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_a_coin_of_an_exponential_chance(rate: Fraction) -> None:
    """Every way its draws can fall, but for those of a probability below 1e-18."""

    def heads(randomness: Randomness) -> bool:
        with mock.patch.object(type(randomness), "_decays", Randomness._decays, create=True):
            return Randomness.decays(randomness, rate)

    chances = dict(law(heads).items())
    assert chances[True] == pytest.approx(math.exp(-rate), rel=1e-13)
    assert sum(chances.values()) == pytest.approx(1.0, rel=1e-13)


# Which noise is taken


class Proposer(Randomness):
    """Proposes the noise it is given, and takes what `taken` says; it remembers at what rate."""

    def __init__(self, noise: list[int], taken: Callable[[Fraction], bool]) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=False)
        self._noise, self._taken = iter(noise), taken
        self.asked: list[tuple[int, float]] = []
        self.rates: list[Fraction] = []

    def add_laplace(self, value: int, scale: float) -> int:
        self.asked.append((value, scale))
        return value + next(self._noise)

    def decays(self, rate: Fraction) -> bool:
        self.rates.append(rate)
        return self._taken(rate)


def test_a_proposal_is_taken_as_often_as_makes_up_for_its_law() -> None:
    """In fractions: what independent noise costs, and the rate at which it is taken, are the documented exponent."""
    steps, scale, other = 4, 3.0, 0.7  # 0.7 as a double: what the noise is drawn at
    for x, y in itertools.product(range(-30, 31), range(-8, 9)):
        proposer = Proposer([x, y], lambda _: True)
        assert proposer.add_joint_laplace((100, 7), steps, (scale, other)) == (100 + x, 7 + y)
        assert proposer.asked == [(0, steps * scale), (0, other)]
        (rate,) = proposer.rates
        proposed = Fraction(abs(x)) / (steps * Fraction(scale)) + abs(y) / Fraction(other)
        largest = max(Fraction(abs(x), steps), Fraction(abs(y)))
        documented = abs(x) / (steps * Fraction(scale)) + largest / Fraction(other)
        assert proposed + rate == documented
        assert rate >= 0


def test_what_is_not_taken_is_drawn_again_both_of_it() -> None:
    proposer = Proposer([9, 1, 8, 3, 2, 5], lambda rate: rate == 0)
    assert proposer.add_joint_laplace((0, 0), 2, (1.0, 2.0)) == (2, 5)
    assert proposer.rates == [Fraction(7, 4), Fraction(1, 2), 0]


# The law as a whole


def masses(part: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Where noise in nats falls, on a fine grid of either, and how often: straight from the definition."""
    grid = np.linspace(-40.0, 40.0, 4001)
    wide = grid / min(part, 1.0)
    x, y = np.abs(grid)[:, None], np.abs(wide)[None, :]
    density = np.exp(-x - part * np.maximum(x, y))
    return grid, wide, density / density.sum()


@pytest.mark.parametrize("part", PARTS)
def test_moments_against_the_definition(part: float) -> None:
    grid, wide, found = masses(part)
    noise = JointNoise(part)
    assert math.sqrt((found.sum(axis=1) * grid**2).sum()) == pytest.approx(noise.sum_std, rel=1e-3)
    assert math.sqrt((found.sum(axis=0) * wide**2).sum()) == pytest.approx(noise.weight_std, rel=1e-3)


@pytest.mark.parametrize("part", [0.3, 1.0, 2.5])
def test_the_noise_on_the_sum_is_a_laplace_or_two(part: float) -> None:
    grid, _, found = masses(part)
    noise = JointNoise(part)
    above = np.exp(-np.abs(grid) / noise.scale) * (1 + noise.doubled * np.abs(grid) / noise.scale) / 2
    beyond = found.sum(axis=1)[::-1].cumsum()[::-1]
    at = np.searchsorted(grid, [0.5, 1.0, 2.0, 5.0])
    assert beyond[at] - found.sum(axis=1)[at] / 2 == pytest.approx(above[at], rel=2e-3)


def test_without_private_weights_it_is_laplace() -> None:
    noise = JointNoise(0.0)
    assert (noise.scale, noise.doubled, noise.weight_std) == (1.0, 0.0, 0.0)
    assert noise.sum_std == math.sqrt(2)


@pytest.mark.parametrize("part", PARTS)
def test_noise_on_the_sum_is_less_than_independent_noise(part: float) -> None:
    """For the same weights at the same price."""
    assert JointNoise(part).sum_std < math.sqrt(2)


def size_cdf(part: float, scale: float, *, weight: bool) -> Callable[[int], float]:
    """P(|noise| <= k), scales so large that integers are as good as all numbers."""
    both = 1 + part

    def cdf(k: int) -> float:
        size = (k + 0.5) / scale
        if size < 0:
            return 0.0
        if weight:
            left = math.exp(-part * size) / part - part / both**2 * math.exp(-both * size)
            return 1 - left / (1 / part - part / both**2)
        return 1 - math.exp(-both * size) * (1 + JointNoise(part).doubled * both * size)

    return cdf


@pytest.mark.parametrize("weight", [False, True], ids=["sum", "weight"])
def test_draws_follow_the_law(weight: bool) -> None:
    part, scale, steps = 1.0, 2.0**20, 2**10

    def sizes(factor: float) -> list[int]:
        randomness = Randomness.seeded(7)
        scales = factor * scale, factor * scale / part
        return [abs(randomness.add_joint_laplace((0, 0), steps, scales)[weight]) for _ in range(3000)]

    def independent() -> list[int]:
        with mock.patch.object(Randomness, "decays", return_value=True):
            return sizes(1.0)

    unit = scale if weight else steps * scale
    assert_accepts_and_rejects(
        lambda some: kolmogorov(some, size_cdf(part, unit, weight=weight)),
        sizes(1.0),
        {"times 0.7": sizes(0.7), "times 1.3": sizes(1.3), **({} if weight else {"independent": independent()})},
    )


def test_secure_draws_are_of_their_size() -> None:
    """A thousand of them are on average within half of what is expected: more than 10 standard errors."""
    randomness = Randomness.secure()
    drawn = np.array([randomness.add_joint_laplace((10, -10), 2**24, (2.0**20, 2.0**20)) for _ in range(1000)])
    noise = JointNoise(1.0)
    sum_std, weight_std = np.sqrt(np.mean((drawn - [10, -10]).astype(float) ** 2, axis=0)) / 2.0**20
    assert sum_std / 2**24 == pytest.approx(noise.sum_std, rel=0.5)
    assert weight_std == pytest.approx(noise.weight_std, rel=0.5)
