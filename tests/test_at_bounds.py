"""Warnings of a mean at a bound, beyond which values count as the bound; ordinary columns cause none."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pdpmean import GroupedEstimate, MeanEstimate, Randomness, estimate_mean
from pdpmean.core.types import Floats

pytestmark = pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
PEOPLE = 6000
UNBOUNDED = {"model": "unbounded", "budget_range": (0.5, 0.5)}


def wages(rng: np.random.Generator) -> Floats:
    return rng.lognormal(2.7, 0.4, PEOPLE)


def found(values: Any, seed: int = 1, **options: Any) -> MeanEstimate:
    result: MeanEstimate = estimate_mean(values, 0.5, randomness=Randomness.seeded(seed), **options)
    return result


@pytest.mark.parametrize("model", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize(
    ("bounds", "side"), [((0, 7), "upper bound 7"), ((1, 5), "upper bound 5"), ((60, 100), "lower bound 60")]
)
def test_bounds_that_most_values_lie_beyond_are_told_of(bounds: Any, side: str, model: dict[str, Any]) -> None:
    result = found(wages(np.random.default_rng(1)), bounds=bounds, **model)
    assert any(side in text for text in result.warnings)


@pytest.mark.parametrize("model", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((0, 20), r"about 2\d % of the values lie above the upper bound 20, .* too low"),
        ((None, 20), r"about 2\d % of the values lie above the upper bound 20, .* too low"),
        ((12, None), r"about [23]\d % of the values lie below the lower bound 12, .* too high"),
    ],
)
def test_bounds_that_some_values_lie_beyond_are_told_of(bounds: Any, words: str, model: dict[str, Any]) -> None:
    """Three in ten wages are below 12, and one in four above 20."""
    for seed in range(3):
        result = found(wages(np.random.default_rng(seed)), seed, bounds=bounds, **model)
        assert [text for text in result.warnings if re.match(words, text)]


@pytest.mark.parametrize("bounds", [(0, 1), (0.0, 5)])
def test_values_that_are_all_the_bound_are_told_of(bounds: Any) -> None:
    assert any("upper bound" in text for text in found(np.full(PEOPLE, 7.0), bounds=bounds).warnings)


ORDINARY: dict[str, tuple[Callable[[np.random.Generator], Any], Any]] = {
    "wages": (wages, (0, None)),
    "wages, far bound": (wages, (0, 100_000)),
    "wages, near bound": (wages, (0, 50)),
    "ratings": (lambda rng: rng.choice([3.0, 4.0, 5.0], PEOPLE, p=[0.1, 0.3, 0.6]), (1, 5)),
    "a rare yes": (lambda rng: (rng.random(PEOPLE) < 0.02) * 1.0, (0, 1)),
    "mostly yes": (lambda rng: (rng.random(PEOPLE) < 0.98) * 1.0, (0, 1)),
    "visits": (lambda rng: rng.negative_binomial(0.6, 0.2, PEOPLE) * 1.0, (0, None)),
    "mostly 0 %": (lambda rng: np.where(rng.random(PEOPLE) < 0.9, 0.0, 100 * rng.beta(0.8, 2, PEOPLE)), (0, 100)),
    "rain": (lambda rng: np.where(rng.random(PEOPLE) < 0.7, 0.0, rng.gamma(0.5, 9, PEOPLE)), (0, None)),
    "days of a year": (lambda rng: rng.poisson(3.0, PEOPLE) * 1.0, (0, 365)),
}


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_columns_are_not(name: str) -> None:
    draw, bounds = ORDINARY[name]
    for seed in range(5):
        warnings = found(draw(np.random.default_rng(seed)), seed, bounds=bounds).warnings
        assert not any("bound" in text for text in warnings)


def test_an_entry_that_does_not_occur_is_told_of() -> None:
    answers = np.random.default_rng(1).choice(["yes", "no"], PEOPLE)
    assert any("'Yes'" in text for text in found(answers, equals="Yes").warnings)
    assert found(answers, equals="yes").warnings == ()
    assert found(np.where(np.arange(PEOPLE) < 100, "yes", "no"), equals="yes").warnings == ()


def test_groups_say_which_of_them() -> None:
    answers = np.random.default_rng(1).choice(["yes", "no"], PEOPLE)
    by = np.where(np.arange(PEOPLE) < PEOPLE / 2, "a", "b")
    answers[by == "b"] = "no"
    result: GroupedEstimate = estimate_mean(
        answers, 0.5, equals="yes", by=by, groups=["a", "b"], randomness=Randomness.seeded(1)
    )
    assert [text for text in result.warnings if "'yes'" in text and text.endswith("(groups: b)")]


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((0, 100), "values below 0 count as 0, values above 100 count as 100"),
        ((0, None), "values below 0 count as 0"),
        ((None, 1_000_000), "values above 1000000 count as 1000000"),
    ],
)
def test_results_say_what_becomes_of_values_beyond(bounds: Any, words: str) -> None:
    result = found(wages(np.random.default_rng(1)), bounds=bounds)
    assert ("bounds", words) in result.assumed_rows()


def test_an_entry_has_no_bounds_to_speak_of() -> None:
    answers = np.random.default_rng(1).choice(["yes", "no"], PEOPLE)
    assert "count as" not in str(found(answers, equals="yes"))
    assert "count as" not in str(found(wages(np.random.default_rng(1))))


def test_noise_beyond_a_bound_is_not_told_of() -> None:
    """Of 300 seeds with nothing beyond, none has a warning: one in 2,500 is expected."""
    values = wages(np.random.default_rng(1))
    assert not any(found(values, seed, bounds=(0, None)).warnings for seed in range(300))
