"""The law of an error against numerical convolution; quantiles invert it, also at extreme magnitudes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from pdpmean.laws.error_law import (
    ErrorLaw,
    half_width,
    intervals,
    noisy_normal_cdf,
    noisy_normal_quantile,
    quantiles,
    rank_nodes,
)


def convolution(x: float, noise: float, sampling: float) -> float:
    """P(L + N <= x) as the integral of P(N <= x - t) over the Laplace density of t (scipy.integrate.quad)."""

    def density(t: float) -> float:
        return math.exp(-abs(t) / noise) / (2 * noise) * float(norm.cdf((x - t) / sampling))

    parts = sorted({-60 * noise, -noise, 0.0, noise, 60 * noise, *np.clip([x], -60 * noise, 60 * noise).tolist()})
    return math.fsum(
        quad(density, low, high, epsabs=1e-13, epsrel=1e-11, limit=200)[0] for low, high in pairwise(parts)
    )


@pytest.mark.parametrize("ratio", [0.05, 0.5, 1.0, 3.0, 30.0])
@pytest.mark.parametrize("x", [-4.0, -1.0, -0.1, 0.0, 0.3, 2.0, 6.0])
def test_cdf_against_numerical_convolution(x: float, ratio: float) -> None:
    assert noisy_normal_cdf(x, 1.0, ratio) == pytest.approx(convolution(x, 1.0, ratio), abs=1e-9)


def test_an_error_law_tells_the_deviation_of_its_noise() -> None:
    law = ErrorLaw(np.zeros(3), np.full(3, 2.0), np.full(3, 1e-9))
    x = np.linspace(-120.0, 120.0, 20_001)
    chances = np.diff([law.cdf(end) for end in x.tolist()])
    square = float((chances * ((x[1:] + x[:-1]) / 2) ** 2).sum())
    assert law.noise_std == pytest.approx(math.sqrt(square), rel=1e-4)


def test_cdf_is_symmetric_and_rises_to_one() -> None:
    x = np.linspace(-30, 30, 2001)
    cdf = noisy_normal_cdf(x, 0.7, 1.3)
    assert cdf + cdf[::-1] == pytest.approx(np.ones(x.size), abs=1e-12)
    assert (np.diff(cdf) > -1e-15).all()
    assert cdf[-1] == pytest.approx(1.0, abs=1e-12)


def test_without_sampling_it_is_laplace() -> None:
    # P(L <= x) = 1 - exp(-x) / 2 for x >= 0.
    for x in (0.0, 0.5, 1.0, 4.0):
        assert noisy_normal_cdf(x, 1.0, 0.0) == pytest.approx(1 - math.exp(-x) / 2, rel=1e-12)
        assert noisy_normal_cdf(-x, 1.0, 0.0) == pytest.approx(math.exp(-x) / 2, rel=1e-12)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-10, 1e-9, 1e-6])
def test_without_noise_it_is_normal(noise: float) -> None:
    for x in (-2.0, 0.0, 1.0):
        assert noisy_normal_cdf(x, noise, 1.0) == pytest.approx(float(norm.cdf(x)), abs=1e-7)


@pytest.mark.parametrize("unit", [1e-307, 1e-300, 1e-150, 1e150, 1e300])
def test_the_unit_does_not_matter(unit: float) -> None:
    assert noisy_normal_cdf(0.8 * unit, 0.5 * unit, 1.5 * unit) == pytest.approx(convolution(0.8, 0.5, 1.5), abs=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.75, 0.95, 0.999])
@pytest.mark.parametrize(("noise", "sampling"), [(1.0, 1e-9), (1.0, 0.1), (0.5, 0.5), (0.01, 2.0), (1e-5, 1.0)])
def test_half_width_against_a_root_of_the_convolution(level: float, noise: float, sampling: float) -> None:
    expected = brentq(lambda x: 2 * noisy_normal_cdf(x, noise, sampling) - 1 - level, 0.0, 100.0)
    assert half_width(level, noise, sampling) == pytest.approx(expected, rel=2e-3)


def test_half_width_at_either_end() -> None:
    # Laplace: -ln(1 - level); normal: its quantile.
    assert half_width(0.95, 2.0, 0.0) == pytest.approx(2 * math.log(20), rel=1e-5)
    assert half_width(0.95, 0.0, 3.0) == pytest.approx(3 * float(norm.ppf(0.975)), rel=1e-5)
    assert half_width(0.75, 1e-200, 1e-200) == pytest.approx(1e-200 * half_width(0.75, 1.0, 1.0), rel=1e-12, abs=0)


@pytest.mark.parametrize(("weight", "square"), [(50.0, 5.0), (1000.0, 1.0), (200.0, 800.0)])
def test_rank_nodes_are_equally_likely(weight: float, square: float) -> None:
    nodes = rank_nodes(weight, square)
    # Laplace(1 / weight) and a normal, as for any located median; 1.3 times both, as simulation asks for.
    noise, sampling = 1.3 / weight, 1.3 * math.sqrt(square) / (2 * weight)
    chances = [convolution(node - 0.5, noise, sampling) for node in nodes.tolist()]
    assert chances == pytest.approx([(j + 0.5) / 48 for j in range(48)], abs=1e-3)
    assert nodes + nodes[::-1] == pytest.approx(np.ones(48), abs=1e-9)


@pytest.mark.parametrize("ratio", [1e-12, 1e-9, 1e-3, 0.1, 0.7, 1.0, 3.0, 30.0, 1e9, 1e12])
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_quantiles_are_reached_by_newtons_method(ratio: float, unit: float) -> None:
    chances = np.array([0.5, 0.5 + 1e-9, 0.51, 0.75, 0.99, 1 - 1e-6, 1 - 1e-12])
    found = noisy_normal_quantile(chances, unit, ratio * unit)
    assert noisy_normal_cdf(found, unit, ratio * unit) == pytest.approx(chances, rel=1e-14, abs=0)
    assert found[0] == 0
    assert (np.diff(found) > 0).all()


def test_rank_nodes_of_many_groups_are_those_of_each() -> None:
    weights, squares = np.array([3.0, 1e3, 1e6, 50.0]), np.array([1e-9, 1e3, 1e9, 1.0])
    rows = rank_nodes(weights, squares)
    for row, weight, square in zip(rows, weights.tolist(), squares.tolist(), strict=True):
        assert row == pytest.approx(rank_nodes(weight, square), rel=1e-12)


def test_rank_nodes_stay_inside() -> None:
    nodes = rank_nodes(0.5, 1.0)
    assert nodes.min() == 0.03
    assert nodes.max() == 0.97


# Mixtures


def law(unit: float = 1.0, center: float = 0.0) -> ErrorLaw:
    return ErrorLaw(
        centers=center + unit * np.array([-0.2, 0.0, 0.5]),
        noise=unit * np.array([0.5, 1.0, 0.2]),
        sampling=unit * np.array([1.0, 0.5, 2.0]),
    )


def test_a_mixture_is_the_mean_of_its_parts() -> None:
    parts = [(-0.2, 0.5, 1.0), (0.0, 1.0, 0.5), (0.5, 0.2, 2.0)]
    for x in (-3.0, 0.0, 1.7):
        expected = math.fsum(convolution(x - center, noise, sampling) for center, noise, sampling in parts) / 3
        assert law().cdf(x) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("chance", [1e-6, 0.005, 0.1, 0.5, 0.9, 0.995, 1 - 1e-6])
@pytest.mark.parametrize(("unit", "center"), [(1.0, 0.0), (1.0, 1e6), (1e-8, 0.0), (1e8, -1e10)])
def test_quantiles_invert_the_cdf(chance: float, unit: float, center: float) -> None:
    found = law(unit, center)
    (x,) = quantiles([found], chance)
    assert found.cdf(x) == pytest.approx(chance, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("ratio", [1e-12, 0.01, 1.0, 100.0, 1e12])
def test_quantiles_of_any_mixture_are_found(ratio: float) -> None:
    """Noise of two scales far apart, or next to none: where Newton's method leaves its ends, they are halved."""
    found = ErrorLaw(np.array([-1.0, 0.0, 1.0]), np.array([1.0, 1e-3, 1e-12]), np.full(3, ratio))
    for chance in (1e-6, 0.01, 0.2, 0.6, 0.75, 0.999):
        (x,) = quantiles([found], chance)
        near = 1e-7 * max(1.0, ratio)
        assert found.cdf(x - near) <= chance * (1 + 1e-4)
        assert found.cdf(x + near) >= chance * (1 - 1e-4)


def test_intervals_of_many_laws_are_those_of_each() -> None:
    units = [0.0, 1e-300, 1e-3, 1.0, 7.0, 1e300] * 30
    laws = [law(unit, 3 * unit) if unit else ErrorLaw(*np.array([[3.0] * 3, [0.0] * 3, [0.0] * 3])) for unit in units]
    for law_of_it, (low, high) in zip(laws, intervals(laws, 0.9), strict=True):
        assert (low, high) == pytest.approx(law_of_it.interval(0.9), rel=1e-9, abs=0)
        assert low < high or low == high == 3.0
    assert intervals([], 0.9) == []


def test_the_interval_holds_its_level_with_equal_tails() -> None:
    for level in (0.5, 0.8, 0.95, 0.99):
        low, high = law().interval(level)
        assert law().cdf(low) == pytest.approx((1 - level) / 2, abs=1e-6)
        assert law().cdf(high) == pytest.approx((1 + level) / 2, abs=1e-6)


def test_standard_deviations_by_hand() -> None:
    # Laplace of scale b has variance 2 b**2: 2 (0.25 + 1 + 0.04) / 3.
    assert law().noise_std == pytest.approx(math.sqrt(2 * 1.29 / 3), rel=1e-14)
    # (1 + 0.25 + 4) / 3, and the variance of -0.2, 0, 0.5: their mean is 0.1, so (0.09 + 0.01 + 0.16) / 3.
    assert law().sampling_std == pytest.approx(math.sqrt(5.25 / 3 + 0.26 / 3), rel=1e-14)


@pytest.mark.parametrize("unit", [1e-303, 1e-300, 1e-200, 1e200, 1e300, 1e306])
def test_extreme_units_only_scale(unit: float) -> None:
    for level in (0.8, 0.99):
        expected = tuple(end * unit for end in law().interval(level))
        assert law(unit).interval(level) == pytest.approx(expected, rel=1e-6, abs=0)
    assert law(unit).noise_std == pytest.approx(unit * law().noise_std, rel=1e-12, abs=0)
    assert law(unit).sampling_std == pytest.approx(unit * law().sampling_std, rel=1e-12, abs=0)


def test_no_error_at_all() -> None:
    certain = ErrorLaw(np.array([3.0]), np.array([0.0]), np.array([0.0]))
    assert certain.interval(0.95) == (3.0, 3.0)
    assert certain.noise_std == certain.sampling_std == 0.0


def test_a_tiny_error_far_from_zero() -> None:
    # One ulp of 1e20 is 16384: the interval cannot be narrower, and must not fail.
    low, high = ErrorLaw(np.array([1e20]), np.array([1e-3]), np.array([1e-3])).interval(0.95)
    assert 1e20 - 1e6 <= low <= high <= 1e20 + 1e6
