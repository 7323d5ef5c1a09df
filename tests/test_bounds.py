"""Bounds: either end may be unknown, and errors say what is wrong."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from pdpmean import InvalidInputError
from pdpmean.core.bounds import UNKNOWN, Bounds, check_bounds, check_fine_enough

INF = math.inf


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, (-INF, INF)),
        ((None, None), (-INF, INF)),
        ((-INF, INF), (-INF, INF)),
        ((0, None), (0.0, INF)),
        ((0, INF), (0.0, INF)),
        ((None, -2), (-INF, -2.0)),
        ((-INF, -2), (-INF, -2.0)),
        ([1, 5], (1.0, 5.0)),
        (np.array([1, 5]), (1.0, 5.0)),
        ((Fraction(1, 2), np.float32(1)), (0.5, 1.0)),
        (Bounds(0.0, 1.0), (0.0, 1.0)),
    ],
    ids=str,
)
def test_given_bounds_become_doubles_and_infinities(given: Any, found: tuple[float, float]) -> None:
    assert check_bounds(given) == found


WRONG = [
    (1, 1),
    (1, 0),
    (INF, None),
    (None, -INF),
    (INF, INF),
    (0, math.nan),
    (math.nan, None),
    (0,),
    (0, 1, 2),
    (),
    3.0,
    "01",
    ("0", "1"),
    (None, "1"),
    np.array(["0", "1"]),
    (True, 2),
    (0, True),
    (False, None),
    (np.True_, 2),
    ("a", "b"),
    (0, "b"),
    (0, 1j),
    (0, 10**400),
    ([0], [1, 2]),
]


@pytest.mark.parametrize("given", WRONG, ids=str)
def test_what_is_wrong_is_told_with_its_value(given: Any) -> None:
    words = r"^bounds must be numbers \(low, high\) with low < high, and None for an end that is not known; got "
    with pytest.raises(InvalidInputError, match=words) as caught:
        check_bounds(given)
    assert f"; got {given!r}" in str(caught.value)
    assert (caught.value.name, caught.value.value) == ("bounds", given)


@pytest.mark.parametrize(
    ("bounds", "are_given", "are_both_known", "anchor", "ends"),
    [
        (UNKNOWN, False, False, None, None),
        (Bounds(low=0.0), True, False, 0.0, [0.0, None]),
        (Bounds(high=-3.0), True, False, -3.0, [None, -3.0]),
        (Bounds(-1.0, 2.0), True, True, -1.0, [-1.0, 2.0]),
    ],
)
def test_which_bounds_are_known(
    bounds: Bounds, are_given: bool, are_both_known: bool, anchor: float | None, ends: list[float | None] | None
) -> None:
    assert (bounds.are_given, bounds.are_both_known, bounds.anchor) == (are_given, are_both_known, anchor)
    assert bounds.ends == ends
    json.dumps(bounds.ends, allow_nan=False)


def test_half_the_width_is_a_number_wherever_the_ends_are() -> None:
    assert Bounds(1.0, 5.0).half == 2.0
    assert Bounds(-1.7e308, 1.7e308).half == 1.7e308


def test_bounds_in_the_wrong_order_are_told_the_right_one() -> None:
    with pytest.raises(InvalidInputError, match=r"got \(10, 0\); did you mean \(0, 10\)\?$"):
        check_bounds((10, 0))


FINE = [UNKNOWN, Bounds(0.0), Bounds(high=-(2.0**1000)), Bounds(0.0, 2.0**-1000), Bounds(1.0, 1 + 2.0**-29)]
COARSE = [
    Bounds(2.0**1001),
    Bounds(high=-1.7e308),
    Bounds(-1.7e308, 1.7e308),
    Bounds(0.0, 2.0**-1001),
    Bounds(1.0, 1 + 2.0**-31),
    Bounds(1e15, 1e15 + 1),
]


@pytest.mark.parametrize("bounds", FINE, ids=str)
def test_ordinary_bounds_are_fine_enough(bounds: Bounds) -> None:
    check_fine_enough(bounds)
    assert check_bounds(bounds) == bounds


@pytest.mark.parametrize("bounds", COARSE, ids=str)
def test_bounds_that_doubles_are_too_coarse_for(bounds: Bounds) -> None:
    with pytest.raises(
        InvalidInputError, match=r"bounds must be at most 2\*\*1000, and differ by at least .* of their size; got \("
    ):
        check_fine_enough(bounds)
