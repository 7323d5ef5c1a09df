"""The other methods: near the truth, within every budget, and blind to those who grant nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rules import cell_counts_of

from pdpmean import InsufficientBudgetError, InvalidInputError, MeanEstimate, Randomness
from pdpmean.core.model import BOUNDED
from pdpmean.core.profile import Profile
from pdpmean.core.types import Floats
from pdpmean.laws.error_law import half_width
from pdpmean.release.census import public_census
from pdpmean.study.baselines import _keep_rates, best_clip, minimum_mean, oracle, sampling_mean, threshold_mean

MEAN, STD = 170.0, 8.0
UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.1, 1.0)}
MODELS: list[dict[str, Any]] = [{}, UNBOUNDED]
METHODS = [minimum_mean, threshold_mean, sampling_mean]


def people(n: int = 20_000, seed: int = 0) -> tuple[Floats, Floats]:
    """Values, and budgets of four tiers, the first of which grants nothing."""
    rng = np.random.default_rng(seed)
    return rng.normal(MEAN, STD, n), rng.choice([0.0, 0.1, 0.5, 1.0], size=n, p=[0.1, 0.5, 0.3, 0.1])


@pytest.mark.parametrize("options", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_near_the_truth_at_no_more_than_the_whole_budget(
    method: Callable[..., MeanEstimate], options: dict[str, Any]
) -> None:
    result = method(*people(), **options, randomness=Randomness.seeded(1))
    assert abs(result.mean - MEAN) < 6 * result.std < STD
    assert result.spent <= 1
    assert not result.private


@pytest.mark.parametrize("method", METHODS)
def test_secure_unless_told_otherwise(method: Callable[..., MeanEstimate]) -> None:
    assert method(*people()).private


@pytest.mark.parametrize("options", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_who_grants_nothing_has_no_influence(method: Callable[..., MeanEstimate], options: dict[str, Any]) -> None:
    values, budgets = people()
    hostile = np.where(budgets == 0, np.resize([np.nan, np.inf, -1e308, 5e-324], values.size), values)
    first, second = (method(data, budgets, **options, randomness=Randomness.seeded(2)) for data in (values, hostile))
    assert first.to_dict() == second.to_dict()


@pytest.mark.parametrize("options", MODELS)
def test_the_oracle_ignores_who_grants_nothing(options: dict[str, Any]) -> None:
    values, budgets = people()
    hostile = np.where(budgets == 0, np.nan, values)
    first, second = (
        oracle(data, budgets, mean=MEAN, std=STD, **options, randomness=Randomness.seeded(2))
        for data in (values, hostile)
    )
    assert first == second


def test_below_the_threshold_nobody_has_any_influence() -> None:
    values, budgets = people()
    changed = np.where(budgets < 0.5, -values, values)
    for options in MODELS:
        first, second = (
            threshold_mean(data, budgets, **options, threshold=0.5, randomness=Randomness.seeded(3)).mean
            for data in (values, changed)
        )
        # The noisy census looks at budgets alone, so values below the threshold are not looked at in either model.
        assert first == second


def test_above_the_threshold_nobody_counts_more() -> None:
    values, budgets = people()
    raised = np.where(budgets >= 0.5, math.inf, budgets)
    first, second = (
        threshold_mean(values, granted, threshold=0.5, randomness=Randomness.seeded(3)).mean
        for granted in (budgets, raised)
    )
    assert first == second


def test_the_minimum_is_everybodys_budget() -> None:
    values, budgets = people()
    least = np.where(budgets > 0, 0.1, 0.0)
    first, second = (
        minimum_mean(values, granted, randomness=Randomness.seeded(4)).mean for granted in (budgets, least)
    )
    assert first == second


@pytest.mark.parametrize("level", [1e-9, 0.01, 0.5, 5.0, 40.0])
def test_sampling_costs_nobody_more_than_the_allowance(level: float) -> None:
    allowances = level * np.array([0.0, 2.0**-40, 1e-6, 0.1, 0.5, 0.9, 1 - 2.0**-50, 1.0, 3.0, math.inf])
    rates = _keep_rates(allowances, level)
    assert ((rates >= 0) & (rates <= 1)).all()
    assert rates[0] == 0
    assert (rates[-3:] == 1).all()
    below = allowances < level
    # Both directions of adding a record that is kept with probability p, at loss `level` if kept.
    gained = np.log1p(rates[below] * math.expm1(level))
    lost = -np.log1p(rates[below] * math.expm1(-level))
    assert (gained <= allowances[below] * (1 + 1e-12)).all()
    assert (lost <= allowances[below] * (1 + 1e-12)).all()
    assert gained[3] == pytest.approx(allowances[3], rel=1e-6)


def test_sampling_keeps_as_many_as_it_should() -> None:
    rates = _keep_rates(np.full(200_000, 0.1), 0.5)
    kept = Randomness.seeded(5).coins(rates).mean()
    assert kept == pytest.approx(math.expm1(0.1) / math.expm1(0.5), rel=0.02)


@pytest.mark.parametrize("method", [threshold_mean, sampling_mean])
def test_the_chosen_threshold_is_about_as_good_as_any(method: Callable[..., MeanEstimate]) -> None:
    values, budgets = people()
    chosen = method(values, budgets, randomness=Randomness.seeded(6))
    others = [method(values, budgets, threshold=t, randomness=Randomness.seeded(6)) for t in (0.1, 0.5, 1.0)]
    assert chosen.plan.expected_std <= 1.05 * min(other.plan.expected_std for other in others)


@pytest.mark.parametrize("options", MODELS)
def test_the_oracle_errs_as_predicted(options: dict[str, Any]) -> None:
    values, budgets = people(2000)
    rng = np.random.default_rng(7)
    errors = [
        abs(oracle(x, budgets, mean=3.0, std=2.0, **options, randomness=Randomness.seeded(run)) - 3.0)
        for run, x in enumerate(rng.normal(3.0, 2.0, (400, values.size)))
    ]
    if options:
        profile = Profile.of(np.where(budgets >= 0.1, budgets, 0.0))
    else:
        profile = public_census(cell_counts_of(budgets, BOUNDED)).profile
    predicted = 2.0 * best_clip(profile).error
    # 400 runs know this share to 0.022; a prediction off by a quarter would move it by 0.1.
    assert np.mean(np.array(errors) <= predicted) == pytest.approx(0.75, abs=0.08)


def test_the_best_clip_beats_its_neighbours() -> None:
    profile = Profile.of(np.array([0.05, 0.25, math.inf]), np.array([5000.0, 300.0, 3.0]))
    best = best_clip(profile)
    assert 0.3 <= best.half <= 5
    assert best.cap <= 50
    assert best.error == half_width(0.75, best.noise_scale, best.sampling_std)
    assert best.error < best_clip(Profile.of(np.array([0.05]), np.array([5000.0]))).error


def test_the_oracle_without_any_budget_says_nothing() -> None:
    assert math.isnan(oracle([1.0, 2.0], 0.0, mean=0.0, std=1.0))


@pytest.mark.parametrize("options", MODELS)
@pytest.mark.parametrize("method", METHODS)
def test_too_little_budget_is_refused(method: Callable[..., MeanEstimate], options: dict[str, Any]) -> None:
    for budgets in (0.0, 0.1):
        with pytest.raises(InsufficientBudgetError):
            method([1.0, 2.0, 3.0], budgets, **options, randomness=Randomness.seeded(8))


@pytest.mark.parametrize("method", METHODS)
def test_public_mistakes_are_errors(method: Callable[..., MeanEstimate]) -> None:
    for values, budgets, options in (
        ([1.0], -1.0, {}),
        ([1.0], [0.1, 0.2], {}),
        ([1.0], 0.1, {"model": "unbounded"}),
        ([1.0], 0.1, {"model": "both"}),
    ):
        with pytest.raises(InvalidInputError):
            method(values, budgets, **options)


@pytest.mark.parametrize("threshold", [0.0, -1.0, math.inf, math.nan])
def test_a_threshold_must_be_positive(threshold: float) -> None:
    for method in (threshold_mean, sampling_mean):
        with pytest.raises(InvalidInputError, match="threshold"):
            method([1.0], 1.0, threshold=threshold)


def test_the_oracle_must_be_told_a_scale() -> None:
    with pytest.raises(InvalidInputError, match="std"):
        oracle([1.0], 1.0, mean=0.0, std=0.0)
