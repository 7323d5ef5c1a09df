"""Named shapes: the clip of least error against quadrature and brute force, and errors that are ordered sensibly."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pdpmean.core.types import Floats
from pdpmean.planning.named_shapes import BELL, NAMED_SHAPES, NamedShape, expected_error
from pdpmean.planning.prediction import WeightSums

SKEWED, YES_OR_NO = NAMED_SHAPES[1:]


def beyond(density: Callable[[Floats], Floats], end: float) -> float:
    """What lies beyond the end of a clip, times how far."""
    x = end + np.geomspace(1e-6, 1000.0, 60_001)
    return float(np.trapezoid((x - end) * density(x), x))


def lost_by_bell(half: float) -> float:
    """What both tails hold beyond the clip: how far the mean may move, if the two do not cancel."""
    return 2 * beyond(lambda x: np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi), half)


def lost_by_wages(half: float) -> float:
    """What the upper tail holds beyond a clip from 0 on, in standard deviations."""
    deviation = math.sqrt(math.expm1(0.49) * math.exp(0.49))

    def density(x: Floats) -> Floats:
        found: Floats = np.exp(-((np.log(x) / 0.7) ** 2) / 2) / (0.7 * math.sqrt(2 * math.pi) * x)
        return found

    return beyond(density, 2 * half * deviation) / deviation


LOSSES: list[tuple[NamedShape, Callable[[float], float]]] = [(BELL, lost_by_bell), (SKEWED, lost_by_wages)]


@pytest.mark.parametrize(("shape", "lost"), LOSSES, ids=["bell", "skewed"])
def test_what_a_clip_loses_against_quadrature(shape: NamedShape, lost: Callable[[float], float]) -> None:
    halves, losses = shape.tails()
    for place in range(20, 120, 9):
        assert losses[place] == pytest.approx(lost(float(halves[place])), rel=1e-3, abs=1e-9)


@pytest.mark.parametrize(("shape", "lost"), LOSSES, ids=["bell", "skewed"])
@pytest.mark.parametrize("weight", [50.0, 300.0, 5000.0, 1e5])
def test_the_best_width_against_brute_force(shape: NamedShape, lost: Callable[[float], float], weight: float) -> None:
    """Of all widths: the chosen one has hardly more error than the best, and much less than half or twice it."""

    def error(half: float) -> float:
        return 2 * (half / weight) ** 2 + lost(half) ** 2

    chosen = shape.best_half_width(weight)
    least = min(error(half) for half in np.geomspace(chosen / 3, 3 * chosen, 100).tolist())
    assert error(chosen) < 1.02 * least
    assert min(error(chosen / 2), error(2 * chosen)) > 1.3 * least


def test_yes_or_no_lie_one_deviation_from_the_middle() -> None:
    assert [YES_OR_NO.best_half_width(weight) for weight in (1.0, 1e9)] == [1.0, 1.0]


def test_the_more_weight_the_wider_the_clip() -> None:
    for shape in (BELL, SKEWED):
        widths = [shape.best_half_width(weight) for weight in (10.0, 100.0, 1e3, 1e4, 1e6)]
        assert widths == sorted(widths)
        assert widths[-1] > 1.5 * widths[0]


def weights(people: float, each: float) -> WeightSums:
    return WeightSums(people * each, people * each**2)


@pytest.mark.parametrize("people", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("each", [0.1, 0.5])
def test_errors_are_ordered(people: float, each: float) -> None:
    """Yes or no is easiest and a long tail hardest; all are above the sampling error, and fall with people."""
    mean = weights(people, each)
    yes_or_no, bell, skewed = (expected_error(shape, mean, 1.0).std for shape in (YES_OR_NO, BELL, SKEWED))
    assert 1 / math.sqrt(people) < yes_or_no < bell < skewed
    for shape in NAMED_SHAPES:
        found = expected_error(shape, mean, 1.0)
        assert found.std == pytest.approx(math.hypot(math.sqrt(2) * found.noise_scale, found.sampling_std))
        assert expected_error(shape, weights(2 * people, each), 1.0).std < found.std
        assert expected_error(shape, weights(people, 2 * each), 1.0).std < found.std
        assert expected_error(shape, mean, math.sqrt(2)).noise_scale > found.noise_scale


def test_with_all_the_weight_there_is_the_sampling_error_is_left() -> None:
    for shape in NAMED_SHAPES:
        assert expected_error(shape, weights(1e8, 50.0), 1.0).std == pytest.approx(1e-4, rel=0.01)
