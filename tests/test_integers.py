"""Integers: steps within their range, weights within their bits, and sums of words that never overflow."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pdpmean.core.integers import (
    LARGEST_SHIFT,
    STEPS,
    WEIGHT_BITS,
    from_words,
    steps_of,
    steps_per_unit,
    weight_shift,
    words_of,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (10.0, 0),
        (12.0, STEPS),
        (8.0, -STEPS),
        (11.0, STEPS // 2),
        (1e9, STEPS),
        (math.inf, STEPS),
        (-math.inf, -STEPS),
        (math.nan, 0),
        (10.0 + 2.0 / STEPS * 0.75, 1),
        (1.7e308, STEPS),
    ],
)
def test_steps_by_hand(value: float, expected: int) -> None:
    assert steps_of(np.array([value]), 10.0, *steps_per_unit(2.0)).tolist() == [expected]


@given(st.lists(st.floats(), min_size=1, max_size=20), st.floats(-1e308, 1e308), st.floats(2.0**-1000, 1e307))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_steps_never_leave_their_range(values: list[float], middle: float, half: float) -> None:
    steps = steps_of(np.array(values), middle, *steps_per_unit(half))
    assert steps.dtype == np.int64
    assert np.abs(steps).max() <= STEPS


def products(weights: NDArray[np.int64], steps: NDArray[np.int64]) -> int:
    """The sum of the products, by way of words."""
    return from_words(*(int(words.sum()) for words in words_of(weights * steps)))


def test_the_largest_products_do_not_overflow() -> None:
    # 5 000 times 2**26 * 2**24 exceeds 2**62, and so does twice that 2**63.
    for sign in (1, -1):
        for size in (1, 4096, 4097, 5000, 12_289):
            weights, steps = np.full(size, 2**WEIGHT_BITS), np.full(size, sign * STEPS)
            assert products(weights, steps) == sign * size * 2 ** (WEIGHT_BITS + 24)
    assert products(np.full(20_000, 2**WEIGHT_BITS), np.full(20_000, STEPS)) > 2**63
    assert products(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)) == 0


def test_products_against_python_integers() -> None:
    generator = np.random.default_rng(1)
    weights = generator.integers(0, 2**WEIGHT_BITS, 9001, endpoint=True)
    steps = generator.integers(-STEPS, STEPS, 9001, endpoint=True)
    assert products(weights, steps) == sum(a * b for a, b in zip(weights.tolist(), steps.tolist(), strict=True))


@given(st.lists(st.integers(-(2**50), 2**50), max_size=20))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_words_hold_what_they_are_made_of(numbers: list[int]) -> None:
    high, low = words_of(np.array(numbers, dtype=np.int64))
    assert ((low >= 0) & (low < 2**24)).all()
    assert (np.abs(high) <= 2**26).all()  # so that 2**37 of them fit a word
    assert [from_words(*pair) for pair in zip(high.tolist(), low.tolist(), strict=True)] == numbers
    assert from_words(int(high.sum()), int(low.sum())) == sum(numbers)


@given(st.floats(2.0**-60, 50.0))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_weights_fit_their_bits_and_the_noise_its_limit(largest: float) -> None:
    shift = weight_shift(largest)
    assert Fraction(largest) * 2**shift <= 2**WEIGHT_BITS
    assert shift <= LARGEST_SHIFT
    assert STEPS * 2**shift <= 2**60  # the largest scale that Randomness takes
    assert shift == LARGEST_SHIFT or Fraction(largest) * 2**shift >= 2 ** (WEIGHT_BITS - 1)
