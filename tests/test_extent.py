"""Extent: each side is three times the first reach beyond which little weight lies, noisily, by its exact law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from statistical.laws import assert_accepts_and_rejects, chi_square

from pdpmean import Randomness
from pdpmean.core.types import Floats
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.release.extent import find_extent, first_small_tail
from pdpmean.release.private_median import integer_weights

SMALLEST = 2.0**-1074
NOWHERE = 3 * 2.0**-1070  # three times the smallest reach
FURTHEST = 3 * 2.0**1020


def quiet() -> Randomness:
    """No Laplace noise at all."""
    return Randomness(lambda: bytes(32), lambda *_: 0, private=False)


def extent(
    distances: Floats, nats: float | Floats = 1.0, center: float = 0.0, smallest: float = SMALLEST
) -> tuple[float, float]:
    weights: NDArray[np.float64] = np.broadcast_to(np.asarray(nats, dtype=np.float64), distances.shape)
    return find_extent(center + distances, center, integer_weights(weights), smallest, quiet())


def test_extent_by_hand() -> None:
    # 84 nats within 1, 16 beyond: 1 is the first reach with at most 16 nats beyond; three times that.
    near, far = np.full(84, 0.75), np.full(16, 100.0)
    assert extent(np.concatenate([near, far])) == (NOWHERE, 3.0)
    # One more beyond, and 128 is the first.
    assert extent(np.concatenate([near, far, [100.0]])) == (NOWHERE, 384.0)
    # 32 records of half a nat beyond are 16 nats, too.
    assert extent(np.concatenate([near, np.full(32, 100.0)]), np.repeat([1.0, 0.5], [84, 32])) == (NOWHERE, 3.0)


def test_sides_are_found_apart() -> None:
    near, far = np.full(20, 0.75), np.full(20, -100.0)
    assert extent(np.concatenate([near, far]), center=7.0) == (384.0, 3.0)
    # 16 far ones on either side are few enough.
    assert extent(np.concatenate([near, -near, np.full(16, 100.0), np.full(16, -100.0)])) == (3.0, 3.0)


def test_reaches_are_half_an_octave_apart() -> None:
    found = [extent(np.full(17, distance))[1] / 3 for distance in (1.01, 1.42, 2.01, 2.83, 4.01)]
    assert found == [math.sqrt(2), 2.0, 2 * math.sqrt(2), 4.0, 4 * math.sqrt(2)]


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (2.0**-1074, NOWHERE),
        (1e-310, 3 * math.ldexp(math.sqrt(2), -1030)),
        (1.1 * 2.0**996, 3 * math.sqrt(2) * 2.0**996),
        (1.7e308, FURTHEST),
        (math.inf, FURTHEST),
    ],
)
def test_extent_at_extremes(distance: float, expected: float) -> None:
    assert extent(np.full(100, distance)) == (NOWHERE, expected)


def test_missing_values_take_no_part() -> None:
    distances = np.concatenate([np.full(50, math.nan), np.full(17, 3.5)])
    assert extent(distances) == (NOWHERE, 12.0)


def test_values_at_the_centre_are_at_no_distance() -> None:
    # 1000 values at the centre, 20 at 1e-6: the smallest reach beyond which at most 16 nats lie is 2**-19.5 = 1.3e-6.
    distances = np.concatenate([np.zeros(1000), np.full(20, 1e-6)])
    assert extent(distances) == (NOWHERE, 3 * math.sqrt(2) * 2.0**-20)
    assert extent(np.zeros(1000)) == (NOWHERE, NOWHERE)


def test_reaches_below_the_smallest_are_not_tried() -> None:
    assert extent(np.zeros(9), smallest=0.75) == (3.0, 3.0)
    assert extent(np.full(17, 5.0), smallest=0.75) == (3.0, 3 * math.sqrt(2) * 4)


def test_first_small_tail() -> None:
    unit = WEIGHT_UNIT
    assert first_small_tail([100 * unit, 17 * unit, 16 * unit, 0], quiet()) == 2
    assert first_small_tail([100 * unit, 90 * unit], quiet()) == 1
    assert first_small_tail([0], quiet()) == 0


@pytest.mark.parametrize("source", [Randomness.seeded(4), Randomness.secure()], ids=["seeded", "secure"])
def test_first_small_tail_law(source: Randomness) -> None:
    # One query at distance d above the threshold: it passes if N4 - N(4/3) <= -d, both Laplace. For scales a > b
    # the sum of the two has tail (a**2 exp(-d / a) - b**2 exp(-d / b)) / (2 (a**2 - b**2)), d >= 0 (partial fractions).
    a, b = 4.0, 4 / 3

    def law(distance: float) -> dict[int, float]:
        tail = (a**2 * math.exp(-distance / a) - b**2 * math.exp(-distance / b)) / (2 * (a**2 - b**2))
        return {0: tail, 1: 1 - tail}

    def draws(distance: float) -> list[int]:
        return [first_small_tail([int((16 + distance) * WEIGHT_UNIT), 0], source) for _ in range(4000)]

    assert_accepts_and_rejects(
        lambda sample: chi_square(sample, law(5.0)), draws(5.0), {"nearer": draws(3.5), "farther": draws(7.0)}
    )
