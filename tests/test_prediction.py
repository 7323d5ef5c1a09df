"""Predictions against closed forms, quadrature and a count of doubles."""

from __future__ import annotations

import math

import numpy as np
import pytest
from located import private_median
from scipy.integrate import quad
from scipy.stats import norm

from pdpmean import Randomness
from pdpmean.laws.clipped_normal import MEDIAN_SIZE
from pdpmean.laws.error_law import half_width
from pdpmean.laws.lattice import everywhere, linear, positive
from pdpmean.planning.prediction import WeightSums, center_error, miss_probability, product_error
from pdpmean.release.private_median import integer_weights


def test_scaled_weight_sums_are_linear_and_quadratic() -> None:
    assert WeightSums(3.0, 2.0).scaled(0.5) == WeightSums(1.5, 0.5)


def test_center_error_in_closed_form() -> None:
    # The rank errs by Laplace(1 / W) and by a normal of std sqrt(square) / (2 W); at the median of a normal one
    # standard deviation is 1 / sqrt(2 pi) of rank.
    noise, sampling = center_error(WeightSums(40.0, 2.5))
    density = float(norm.pdf(0))
    assert noise == pytest.approx(1 / 40 / density, rel=1e-14)
    assert sampling == pytest.approx(math.sqrt(2.5) / 80 / density, rel=1e-14)
    # Equal weights: the classical sqrt(pi / 2 / n) of a median.
    assert center_error(WeightSums(100 * 0.3, 100 * 0.09))[1] == pytest.approx(math.sqrt(math.pi / 200), rel=1e-14)


def test_center_error_against_private_medians() -> None:
    values = np.random.default_rng(1).normal(3.0, 1.0, size=(300, 400))
    weights = np.full(400, 0.15)
    found = [
        abs(private_median(row, integer_weights(weights), everywhere(), Randomness.seeded(seed)) - 3.0)
        for seed, row in enumerate(values)
    ]
    noise, sampling = center_error(WeightSums(60.0, 400 * 0.15**2))
    assert np.quantile(found, 0.75) == pytest.approx(half_width(0.75, noise, sampling), rel=0.2)


def test_product_error_from_its_parts() -> None:
    center, scale, width = WeightSums(40.0, 2.0), WeightSums(30.0, 1.0), 1.3
    noise, sampling = center_error(center)
    # The log scale: rank errs as for a median, over the density of ln |Z| at its median.
    per_log = 2 * MEDIAN_SIZE * float(norm.pdf(MEDIAN_SIZE))
    log_scale = (2 / 30.0**2 + 1.0 / (4 * 30.0**2)) / per_log**2

    # E clip(Z + m, +-r) is about m * P(|Z| < r): the mean follows from it over P, and from the tent over the mean tent,
    # all over r. How their ratio changes with r, relatively, by quadrature.
    def ratio(r: float) -> float:
        return quad(norm.pdf, -r, r)[0] / (2 * quad(lambda x: (1 - x / r) * float(norm.pdf(x)), 0, r)[0])

    sensitivity = abs(math.log(ratio(width * 1.0001) / ratio(width / 1.0001))) / 0.0002
    square = 2 * noise**2 + sampling**2
    assert product_error(center, scale, width, 0.0) == pytest.approx(
        math.sqrt(square * sensitivity**2 * log_scale), rel=1e-3
    )
    assert product_error(center, scale, width, 0.05) == pytest.approx(
        math.sqrt(square * (sensitivity**2 * log_scale + 0.05**2)), rel=1e-3
    )


def test_misses_grow_with_the_ratio_and_shrink_with_budget() -> None:
    for there in (False, True):
        chances = [
            miss_probability(WeightSums(w, 1.0), WeightSums(w, 1.0), 1e4, within_bounds=there) for w in (10, 30, 50, 80)
        ]
        assert chances == sorted(chances, reverse=True)
        assert chances[0] > 0.5
        assert chances[-1] < 1e-4
        ratios = [
            miss_probability(WeightSums(40.0, 1.0), WeightSums(40.0, 1.0), ratio, within_bounds=there)
            for ratio in (0.1, 1.0, 1e2, 1e4, 1e9, 1e100, 1e300)
        ]
        assert ratios == sorted(ratios)
        assert ratios[0] == ratios[1]


def test_without_a_scale_only_the_center_can_miss() -> None:
    center = WeightSums(40.0, 1.0)
    alone = miss_probability(center, None, 1e4, within_bounds=False)
    certain = miss_probability(center, WeightSums(1e4, 1.0), 1e4, within_bounds=False)
    both = miss_probability(center, WeightSums(30.0, 1.0), 1e4, within_bounds=False)
    assert 0 < alone < both
    assert certain < both
    assert certain == pytest.approx(alone, rel=1e-6)


def test_the_center_of_a_support_in_closed_form() -> None:
    # Far off: exp(-W / 2) on bounds of 1. Near: Laplace about the median integrates to 2 / (density W), over the
    # ratio of the bounds's width to sigma.
    weight, ratio = 30.0, 1e3
    odds = math.exp(-weight / 2) * ratio * float(norm.pdf(0)) * weight / 2
    assert miss_probability(WeightSums(weight, 1.0), None, ratio, within_bounds=True) == pytest.approx(
        odds / (1 + odds), rel=1e-9
    )


@pytest.mark.parametrize("weight", [24.0, 30.0, 36.0])
def test_misses_are_predicted_in_order_of_magnitude(weight: float) -> None:
    # 400 private medians of a normal sample 1e4 standard deviations wide bounds; a miss is 5 sigma off.
    values = np.random.default_rng(2).normal(3000.0, 1.0, 500)
    weights = integer_weights(np.full(500, weight / 500))
    lattice = linear(-5000.0, 5000.0)
    misses = [
        abs(private_median(values, weights, lattice, Randomness.seeded(seed)) - 3000.0) > 5 for seed in range(400)
    ]
    predicted = miss_probability(WeightSums(weight, weight**2 / 500), None, 1e4, within_bounds=True)
    assert predicted / 2 - 0.02 <= float(np.mean(misses)) <= 2 * predicted + 0.02


def test_a_mean_far_out_on_all_doubles_is_predicted_in_order_of_magnitude() -> None:
    values = np.random.default_rng(3).normal(1e4, 1.0, 500)
    for weight in (36.0, 44.0):
        weights = integer_weights(np.full(500, weight / 500))
        misses = [
            abs(private_median(values, weights, everywhere(), Randomness.seeded(seed)) - 1e4) > 5 for seed in range(300)
        ]
        predicted = miss_probability(WeightSums(weight, weight**2 / 500), None, 1e4, within_bounds=False)
        assert predicted / 3 - 0.03 <= float(np.mean(misses)) <= 3 * predicted + 0.03


def test_a_missed_scale_is_predicted_in_order_of_magnitude() -> None:
    sizes = np.abs(np.random.default_rng(4).normal(size=500))
    for weight in (12.0, 20.0, 28.0):
        weights = integer_weights(np.full(500, weight / 500))
        found = [private_median(sizes, weights, positive(), Randomness.seeded(seed)) for seed in range(300)]
        missed = [not MEDIAN_SIZE / 4 < size < MEDIAN_SIZE * 4 for size in found]
        predicted = miss_probability(
            WeightSums(1e4, 1.0), WeightSums(weight, weight**2 / 500), 1.0, within_bounds=False
        )
        assert predicted / 3 - 0.03 <= float(np.mean(missed)) <= 3 * predicted + 0.03


def test_a_mean_too_far_out_to_be_told_apart_is_missed() -> None:
    # A centre is told from others to 2**-26 of itself: with a mean of 2**24 standard deviations, to a quarter of one.
    plenty = WeightSums(1e4, 1.0)
    for scale in (None, plenty):
        assert miss_probability(plenty, scale, 2.0**24, within_bounds=False) < 1e-9
        assert miss_probability(plenty, scale, math.nextafter(2.0**24, math.inf), within_bounds=False) == 1.0
        assert miss_probability(plenty, scale, 2.0**30, within_bounds=True) < 1e-9


@pytest.mark.parametrize("ratio", [1e308, math.inf])
def test_no_ratio_is_too_large(ratio: float) -> None:
    for there in (False, True):
        assert miss_probability(
            WeightSums(40.0, 1.0), WeightSums(40.0, 1.0), ratio, within_bounds=there
        ) == pytest.approx(1.0)
