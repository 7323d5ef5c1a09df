"""Moments of a clipped normal against quadrature, and that clipping can be undone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from pdpmean.laws.clipped_normal import (
    MEDIAN_SIZE,
    clipped_mean,
    clipped_variance,
    inside,
    mean_tent,
    ratio_slope,
    size_quantile,
    undo_clipping,
)

WIDTHS = [0.05, 0.3, 1.0, 1.5, 3.0, 8.0]
SHIFTS = [0.0, 0.01, -0.4, 1.0, 2.5, -4.0]


def expectation(function: Callable[[float], float], width: float, shift: float) -> float:
    """E function(clip(Z + shift)), by quadrature inside and by atoms at the ends (scipy.stats.norm)."""
    middle, _ = quad(lambda x: function(x) * float(norm.pdf(x - shift)), -width, width, epsabs=1e-13, epsrel=1e-12)
    low, high = float(norm.cdf(-width - shift)), float(norm.sf(width - shift))
    return middle + function(-width) * low + function(width) * high


def test_median_size() -> None:
    assert pytest.approx(float(norm.ppf(0.75)), rel=1e-15) == MEDIAN_SIZE


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shift", SHIFTS)
def test_moments_against_quadrature(width: float, shift: float) -> None:
    mean = expectation(lambda x: x, width, shift)
    square = expectation(lambda x: x * x, width, shift)
    assert clipped_mean(width, shift) == pytest.approx(mean, abs=1e-12)
    assert clipped_variance(width, shift) == pytest.approx(square - mean**2, abs=1e-11)
    assert inside(width, shift) == pytest.approx(float(norm.cdf(width - shift) - norm.cdf(-width - shift)), abs=1e-14)
    assert mean_tent(width, shift) == pytest.approx(expectation(lambda x: width - abs(x), width, shift), abs=1e-12)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("ratio", [-3.0, -0.2, 0.7, 20.0])
def test_variance_of_the_difference_against_quadrature(width: float, shift: float, ratio: float) -> None:
    def difference(x: float) -> float:
        return x - ratio * (width - abs(x))

    mean = expectation(difference, width, shift)
    variance = expectation(lambda x: difference(x) ** 2, width, shift) - mean**2
    assert clipped_variance(width, shift, ratio) == pytest.approx(variance, abs=1e-11 * (1 + ratio**2))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("ratio", [0.0, -0.2, 3.0])
def test_the_slope_is_that_of_the_difference(width: float, ratio: float) -> None:
    step = 1e-5
    for shift in SHIFTS:
        ends = [clipped_mean(width, place) - ratio * mean_tent(width, place) for place in (shift - step, shift + step)]
        assert (ends[1] - ends[0]) / (2 * step) == pytest.approx(ratio_slope(width, shift, ratio), abs=1e-8)
        assert ratio_slope(width, shift, 0.0) == pytest.approx(inside(width, shift), abs=1e-14)


def test_without_a_clip_nothing_changes() -> None:
    assert clipped_mean(40.0, 1.5) == pytest.approx(1.5, rel=1e-14)
    assert clipped_variance(40.0, 1.5) == pytest.approx(1.0, rel=1e-12)


def test_arrays_go_elementwise() -> None:
    widths, shifts = np.array([0.5, 2.0]), np.array([0.1, -0.7])
    for function in (clipped_mean, clipped_variance, inside, mean_tent):
        assert function(widths, shifts).tolist() == [function(0.5, 0.1), function(2.0, -0.7)]


@pytest.mark.parametrize("level", [0.03, 0.25, 0.5, 0.75, 0.97])
@pytest.mark.parametrize("shift", [0.0, 0.1, -0.5, 1.0, 1.5])
def test_size_quantile_against_a_root(shift: float, level: float) -> None:
    expected = brentq(lambda x: norm.cdf(x - shift) - norm.cdf(-x - shift) - level, 0.0, 10.0, xtol=1e-14)
    assert size_quantile(shift, level) == pytest.approx(expected, rel=1e-6)


def population(shift: float, level: float, half: float) -> tuple[float, float]:
    """The two released numbers behind N(shift * sigma, sigma**2) whose |x| has `level` quantile 1, by root and quad."""
    sigma = 1 / float(brentq(lambda x: norm.cdf(x - shift) - norm.cdf(-x - shift) - level, 0.0, 10.0, xtol=1e-15))
    width = half / sigma
    return expectation(lambda x: x, width, shift) / expectation(lambda x: width - abs(x), width, shift), sigma


@pytest.mark.parametrize("half", [0.5, 1.5, 3.0, 6.0])
@pytest.mark.parametrize("level", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("shift", [0.0, 0.05, -0.3, 0.8])
def test_clipping_is_undone(shift: float, level: float, half: float) -> None:
    ratio, sigma = population(shift, level, half)
    found_shift, found_sigma = undo_clipping(np.array([ratio]), half, np.array([level]))
    assert found_shift[0] * found_sigma[0] == pytest.approx(shift * sigma, abs=1e-3 * sigma)
    # A centre 0.8 standard deviations off happens hardly ever; the scale is then up to 2 % off, the mean is not.
    assert found_shift[0] == pytest.approx(shift, abs=1e-5 if abs(shift) < 0.5 else 0.03)
    assert found_sigma[0] == pytest.approx(sigma, rel=1e-5 if abs(shift) < 0.5 else 0.03)


def test_clipping_is_undone_for_many_at_once() -> None:
    shifts, levels = [0.0, 0.1, -0.2, 0.4], [0.5, 0.45, 0.5, 0.6]
    released = [population(shift, level, 2.0) for shift, level in zip(shifts, levels, strict=True)]
    ratios, sigmas = (np.array(numbers) for numbers in zip(*released, strict=True))
    found_shifts, found_sigmas = undo_clipping(ratios, 2.0, np.array(levels))
    assert found_shifts == pytest.approx(np.array(shifts), abs=1e-4)
    assert found_sigmas == pytest.approx(sigmas, rel=1e-4)


@pytest.mark.parametrize("ratio", [-1e6, -50.0, -1.0, 0.01, 1.0, 50.0, 1e6])
def test_whatever_was_released_the_answer_is_finite(ratio: float) -> None:
    shift, sigma = undo_clipping(np.full(3, ratio), 2.0, np.array([0.03, 0.5, 0.97]))
    assert np.isfinite(shift).all()
    assert ((sigma > 0) & np.isfinite(sigma)).all()
    assert (np.sign(shift) == math.copysign(1, ratio)).all()
