"""Inference for a bell: the law of the error against derivatives and quadrature, for a centre that is far off."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from by_budgets import plan_mean
from scipy.optimize import brentq
from test_clipped_normal import expectation

from pdpmean import Plan
from pdpmean.inference import gaussian
from pdpmean.inference.population import Population
from pdpmean.laws.clipped_normal import MEDIAN_SIZE, clipped_mean, mean_tent, size_quantile
from pdpmean.laws.error_law import ErrorLaw
from pdpmean.planning.prediction import WeightSums, tent_error, tent_trust
from pdpmean.planning.released import BellSums, Location, Released

UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.5, 1.0)}
TIERS = {0.5: 800, 1.0: 400}
STEP = 1e-6


def located(plan: Plan, ratio: float, total: float) -> Released:
    """A group located at 0 with a median distance of 1, and what was released of it."""
    location = Location(0.0, plan.clip_half_width / MEDIAN_SIZE, 1.0)
    return Released(plan, location, BellSums(ratio, total, near=0.1, near_noise_scale=0.01), None)


def evidence(plan: Plan, ratio: float, total: float) -> gaussian._Bell:
    """What follows from that for a bell-shaped population."""
    return gaussian._Bell(located(plan, ratio, total))


def found(plan: Plan, ratio: float, total: float) -> Population:
    (population,) = gaussian.GaussianInference().populations([located(plan, ratio, total)])
    return population


@pytest.fixture
def plan() -> Plan:
    """One whose spread is as good as known, so that all nodes of the law are alike; and of private budgets."""
    return replace(plan_mean(TIERS, shape="gaussian", **UNBOUNDED), scale=WeightSums(1e9, 1e-9))


@pytest.mark.parametrize("shift", [0.0, 0.3, -0.8])
def test_the_law_against_derivatives_and_quadrature(plan: Plan, shift: float) -> None:
    sigma = 1 / float(size_quantile(shift, 0.5))
    half = plan.clip_half_width / MEDIAN_SIZE
    width = half / sigma
    tent = float(mean_tent(width, shift))
    ratio, total = float(clipped_mean(width, shift)) / tent, 150.0
    population = found(plan, ratio, total)
    assert isinstance(population.law, ErrorLaw)
    assert population.mean == pytest.approx(shift * sigma, abs=1e-6)

    def mean_of(ratio: float) -> float:  # at this sigma: what it may be else are other nodes
        shift = brentq(lambda at: clipped_mean(width, at) - ratio * mean_tent(width, at), -3.0, 3.0, xtol=1e-13)
        return float(shift) * sigma

    per_ratio = (mean_of(ratio + STEP) - mean_of(ratio - STEP)) / (2 * STEP)
    # The noise of the sum, of scale 1, is over the total.
    assert population.law.noise == pytest.approx(per_ratio / total, rel=1e-4)

    def influence(x: float) -> float:  # of a record of weight 1 on the ratio
        return (x - ratio * (width - abs(x))) / width / total

    assert expectation(influence, width, shift) == pytest.approx(0.0, abs=1e-9)
    sampling = math.sqrt(expectation(lambda x: influence(x) ** 2, width, shift) * evidence(plan, ratio, total).square)
    by_tents = ratio * math.sqrt(2) * 4 / 3 / total
    assert population.law.sampling == pytest.approx(per_ratio * math.hypot(sampling, by_tents), rel=1e-4)
    if shift == -0.8:  # where it matters
        assert abs(by_tents) > 0.15 * sampling


def test_public_tents_are_drawn_to_what_they_should_add_up_to() -> None:
    """Each is trusted in proportion to the other's squared error; private ones are all there is."""
    few, many = (
        plan_mean({0.1: 1500}, shape="gaussian", bounds=(-100, 100)),
        plan_mean({0.1: 100_000}, shape="gaussian"),
    )
    for plan, low, high in ((few, 0.01, 0.6), (many, 0.95, 1.0)):
        expected = plan.mean.weight * float(mean_tent(plan.clip_half_width)) / plan.clip_half_width
        trust = tent_trust(plan.scale, plan.clip_half_width, expected)
        assert low < trust < high
        total, error = evidence(plan, 0.2, 1.5 * expected).tents
        assert total == pytest.approx(expected * (1 + 0.5 * trust))
        assert error == pytest.approx(math.sqrt(trust) * tent_error(expected))
    private = plan_mean(TIERS, shape="gaussian", **UNBOUNDED)
    assert evidence(private, 0.2, 77.0).tents == pytest.approx((77.0, math.sqrt(2) * 4 / 3 / 77.0))


def test_trust_by_hand() -> None:
    # The logarithm of the scale errs by (2 + 1/4) / (0.4287 * 20)**2, squared; tents around 1 follow it by 0.851.
    off_scale = 0.851**2 * 2.25 / (0.4287 * 20) ** 2
    noise = 2 * (4 / 3 / 30) ** 2
    assert tent_trust(WeightSums(20.0, 1.0), 1.0, 30.0) == pytest.approx(off_scale / (off_scale + noise), rel=1e-3)
