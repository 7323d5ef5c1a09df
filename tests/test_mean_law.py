"""Laws of sums of errors on a grid."""

from __future__ import annotations

import numpy as np
import pytest

from pdpmean.core.types import Floats
from pdpmean.laws.mean_law import ErrorGrid

LOST = np.array([[0.0, 40.0]])  # nothing, or much


def best(noise: float, chance_of_much: float) -> float:
    """The best estimate of Laplace noise and an error that is either nothing or much."""
    grid = ErrorGrid(np.array([100.0]))
    chances = np.array([[1 - chance_of_much, chance_of_much]])
    return float(grid.best(grid.laplace(np.array([noise])) * grid.discrete(LOST, chances))[0])


def expected_root(estimate: float, draws: Floats) -> float:
    return float(np.mean(np.sqrt(np.abs(draws - estimate))))


@pytest.mark.parametrize("shift", [0.0, 3.0, -7.5])
def test_the_best_estimate_of_a_symmetric_error_is_its_middle(shift: float) -> None:
    grid = ErrorGrid(np.array([100.0, 50.0]))
    transform = grid.laplace(np.ones(2)) * grid.normal(np.ones(2)) * grid.shift(np.full(2, shift))
    assert grid.best(transform) == pytest.approx(np.full(2, shift), abs=0.02)


@pytest.mark.parametrize("chance", [0.1, 0.3, 0.45, 0.8])
def test_the_best_estimate_has_the_least_expected_root(chance: float) -> None:
    rng = np.random.default_rng(2)
    draws = rng.laplace(0, 2.0, 200_000) + np.where(rng.random(200_000) < chance, 40.0, 0.0)
    found = best(2.0, chance)
    roots = [expected_root(found + off, draws) for off in (-3.0, -1.0, 0.0, 1.0, 3.0)]
    assert roots[2] == min(roots)
    median = float(np.median(draws))
    assert roots[2] <= expected_root(median, draws)


def test_what_is_hardly_likely_moves_it_less_than_the_median() -> None:
    rng = np.random.default_rng(3)
    draws = rng.laplace(0, 2.0, 400_000) + np.where(rng.random(400_000) < 0.45, 40.0, 0.0)
    assert 0 <= best(2.0, 0.45) < float(np.median(draws)) / 2
