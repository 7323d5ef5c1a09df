"""The share of missing values: noise alone is hardly ever taken for it, and a share that matters is stated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pdpmean import Randomness, estimate_mean
from pdpmean.inference.missing import MissingShare

RUNS = 2_000_000
MULTIPLIERS = [(1.0,), (0.8, 0.6), (0.5**0.5, 0.5**0.5), (3**-0.5,) * 3, (0.99, 0.1, 0.1, 0.0)]


def rate_of_false_alarms(multipliers: tuple[float, ...], threshold: float | None = None) -> float:
    """How often levels of which nothing is missing, combined by multipliers whose squares add up to 1, seem otherwise.

    By the rule, or by another threshold in nats.
    """
    rng = np.random.default_rng(3)
    released = np.zeros(RUNS)
    for multiplier in multipliers:
        released += multiplier * rng.laplace(size=RUNS)
    if threshold is not None:
        return float(np.mean(released > threshold))
    seen = [MissingShare.of(0.0, nats, 1000.0).is_seen for nats in released[released > 1.0].tolist()]
    return sum(seen) / RUNS


@pytest.mark.parametrize("multipliers", MULTIPLIERS, ids=str)
def test_noise_is_taken_for_missing_values_once_in_a_thousand_runs_at_most(multipliers: tuple[float, ...]) -> None:
    assert rate_of_false_alarms(multipliers) < 0.001


def test_a_threshold_of_4_nats_would_be_too_low() -> None:
    assert rate_of_false_alarms((1.0,), 4.0) > 0.008


@pytest.mark.parametrize("nats", [0.0, 3.0, 20.0])
def test_more_than_is_said_to_be_missing_at_most_is_so_once_in_a_thousand_runs(nats: float) -> None:
    released = nats + np.random.default_rng(4).laplace(size=RUNS // 10)
    at_most = [MissingShare.of(0.0, found, 1000.0).at_most for found in released.tolist()]
    assert np.mean(np.array(at_most) < nats / 1000) < 0.001


@pytest.mark.parametrize("released", [-50.0, 0.0, 7.0, 1e4])
def test_shares_are_in_order(released: float) -> None:
    found = MissingShare.of(0.003, released, 1000.0)
    assert 0 <= found.about <= found.at_most <= 1


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize(
    "options", [{}, {"bounds": (0, 1)}, {"bounds": (0, 1), "model": "unbounded", "budget_range": (0.5, 1.0)}], ids=str
)
def test_nothing_missing_is_not_said_to_be(options: dict[str, Any]) -> None:
    """In 180 runs, with these seeds."""
    values = np.random.default_rng(5).random(2000)
    for seed in range(60):
        found = estimate_mean(values, 0.5, randomness=Randomness.seeded(seed), **options)
        assert not found.missing_is_seen
        assert f"less than {100 * (found.missing_at_most or 0):.2g} % of the values" in str(found)


def test_a_share_that_matters_is_told() -> None:
    """Three per cent of a total budget of 1,000."""
    values = np.random.default_rng(5).random(2000)
    values[:60] = math.nan
    found = [estimate_mean(values, 0.5, bounds=(0, 1), randomness=Randomness.seeded(seed)) for seed in range(60)]
    assert sum(one.missing_is_seen for one in found) > 55
    assert found[0].to_dict()["missing_is_seen"] is True
    assert found[0].to_dict()["missing_at_most"] == found[0].missing_at_most
