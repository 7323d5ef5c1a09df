"""Algorithm 2, FindQuantile: known answers, Lemma 7, the exact law, and grids of any size."""

from __future__ import annotations

import importlib
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from statistical.laws import assert_accepts_and_rejects, chi_square, uniform

from pdpmean import InvalidInputError, Randomness
from pdpmean.paper import find_quantile

inside: Any = importlib.import_module("pdpmean.paper.find_quantile")

MEDIAN, QUARTER = Fraction(1, 2), Fraction(1, 4)
LARGEST = float(np.finfo(np.float64).max)

# Without noise the penalty |(b - a) below - a above| is least at the quantile a/b: counted by hand.


@pytest.mark.parametrize(
    ("values", "quantile", "expected"),
    [
        ([1, 2, 3, 4, 5], MEDIAN, 3.0),  # 2 below, 2 above
        ([5, 3, 1, 4, 2], MEDIAN, 3.0),
        ([7], MEDIAN, 7.0),
        ([-7, -7, -7], MEDIAN, -7.0),
        ([0, 0, 0, 1, 1], MEDIAN, 0.0),  # 0 below, 2 above at 0; 3 below, 0 above at 1
        (range(1, 10), QUARTER, 3.0),  # 2 below, 6 above: 3 * 2 = 1 * 6
        (range(1, 10), Fraction(3, 4), 7.0),
        ([-100, -100, 5, 5, 5, 100, 100], MEDIAN, 5.0),  # beyond the radius: still below, still above
        ([-math.inf, -math.inf, 2, math.inf, math.inf], MEDIAN, 2.0),
        ([-LARGEST, 2, LARGEST], MEDIAN, 2.0),
        ([2.7], MEDIAN, 2.0),  # rounded down to the grid
        ([-2.2], MEDIAN, -3.0),
        ([5e-324], MEDIAN, 0.0),
        ([-5e-324], MEDIAN, -1.0),
        ([math.nan, 4, math.nan, 6, 5], MEDIAN, 5.0),
        ([None, "x", 4, 6, 5], MEDIAN, 5.0),
    ],
)
def test_without_noise_the_quantile_itself(values: Any, quantile: Fraction, expected: float) -> None:
    found = find_quantile(list(values), budget=math.inf, spacing=1.0, radius=8.0, quantile=quantile)
    assert found == expected


def test_between_two_middle_values_every_grid_point_is_a_median() -> None:
    found = {
        find_quantile([1, 2, 3, 4], budget=math.inf, spacing=0.25, radius=8.0, randomness=Randomness.seeded(seed))
        for seed in range(60)
    }
    assert found == {2.25, 2.5, 2.75}


@pytest.mark.parametrize(
    "values",
    [
        [3, 3, 3],
        (3, 3, 3),
        np.array([3, 3, 3]),
        np.array([3, 3, 3], dtype=np.uint8),
        np.array([3, 3, 3], dtype=np.float32),
        np.array([3, 3, 3], dtype=object),
        [2**53 + 1, 3, -(2**70)],  # integers beyond 2**53
        [10**300, 3, -(10**300)],
    ],
    ids=str,
)
def test_columns_of_any_kind(values: Any) -> None:
    assert find_quantile(values, budget=math.inf, spacing=1.0, radius=8.0) == 3.0


# With noise.


def test_the_law_on_a_small_grid() -> None:
    # Weight of y by hand from the definition: exp(-eps |below - above| / 4), each value at its own grid point.
    values = [-4, -4, -2, 0, 1, 1, 3, 4]

    def weight(y: int) -> float:
        imbalance = sum(value < y for value in values) - sum(value > y for value in values)
        return math.exp(-2.0 * abs(imbalance) / 4)

    total = sum(weight(y) for y in range(-4, 5))
    exact = {float(y): weight(y) / total for y in range(-4, 5)}

    def sample(budget: float) -> list[float]:
        randomness = Randomness.seeded(3)
        return [
            find_quantile(values, budget=budget, spacing=1.0, radius=4.0, randomness=randomness) for _ in range(8_000)
        ]

    assert_accepts_and_rejects(
        lambda drawn: chi_square(drawn, exact),
        sample(2.0),
        {"budget * 0.7": sample(1.4), "budget * 1.3": sample(2.6)},
    )


@pytest.mark.parametrize("values", [[], [math.nan, math.nan], [9, 9, 9], [-math.inf]])
@pytest.mark.parametrize("budget", [0.5, math.inf])
def test_uniform_where_no_grid_point_is_better_than_another(values: list[float], budget: float) -> None:
    randomness = Randomness.seeded(11)
    drawn = [
        int(find_quantile(values, budget=budget, spacing=1.0, radius=2.0, randomness=randomness)) + 2
        for _ in range(2_000)
    ]
    assert chi_square(drawn, uniform(5)) > 1e-9


def rank_error(values: np.ndarray[Any, np.dtype[np.float64]], found: float) -> int:
    """How many ranks the grid point is away from the median, 0 where it splits the values evenly."""
    half = values.size // 2
    return max(int((values < found).sum()) - half, half - int((values <= found).sum()), 0)


@pytest.mark.parametrize("radius", [2.0**6, 2.0**20])
def test_accuracy_of_lemma_7(radius: float) -> None:
    # But for a probability of beta the rank is off by at most 4/eps ln(|X|/beta), with |X| = 2 radius + 1.
    # This form needs half of that: the weight of a point falls by exp(-eps/2) with every rank.
    budget, beta, runs = 0.5, 0.1, 200
    limit = 2 / budget * math.log((2 * radius + 1) / beta) + 1
    generator = np.random.default_rng(1)
    failures = 0
    for seed in range(runs):
        values = np.floor(generator.normal(-20, 10, 1001))
        found = find_quantile(values, budget=budget, spacing=1.0, radius=radius, randomness=Randomness.seeded(seed))
        failures += rank_error(values, found) > limit
    assert failures <= binom.isf(1e-6, runs, beta)


@pytest.mark.parametrize("exponents", [(-500, 500), (-1020, 1023), (0, 1000)])
def test_grids_of_2_to_the_1000_points_and_more(exponents: tuple[int, int]) -> None:
    spacing, radius = 2.0 ** exponents[0], 2.0 ** exponents[1]
    values = 1e6 + np.arange(-2000.0, 2001.0)
    assert find_quantile(values, budget=math.inf, spacing=spacing, radius=radius) == 1e6
    # Lemma 7: ln |X| is 1417 nats at most, so at a budget of 4 the rank is off by 710 or so.
    limit = 2 / 4 * (math.log(2) * (exponents[1] - exponents[0] + 1) + math.log(1e6)) + 1
    for seed in range(10):
        found = find_quantile(values, budget=4.0, spacing=spacing, radius=radius, randomness=Randomness.seeded(seed))
        assert rank_error(values, found) <= limit


@pytest.mark.parametrize("power", [-900, -1, 3, 900])
def test_powers_of_two_scale_the_answer_bit_for_bit(power: int) -> None:
    values = np.random.default_rng(2).normal(3, 5, 301)
    scale = 2.0**power
    for seed in range(40):
        found = find_quantile(values, budget=0.3, spacing=0.5, radius=64.0, randomness=Randomness.seeded(seed))
        scaled = find_quantile(
            values * scale,
            budget=0.3,
            spacing=0.5 * scale,
            radius=64.0 * scale,
            randomness=Randomness.seeded(seed),
        )
        assert scaled == found * scale


def test_shifting_the_data_shifts_the_law() -> None:
    # On a grid that reaches far beyond the data, the law relative to the median does not depend on where it is.
    values = np.random.default_rng(4).integers(-30, 31, 400).astype(float)

    def ranks(shift: float) -> list[int]:
        moved = values + shift
        return [
            int(
                (
                    moved
                    < find_quantile(moved, budget=1.0, spacing=1.0, radius=2.0**12, randomness=Randomness.seeded(seed))
                ).sum()
            )
            for seed in range(300)
        ]

    at_zero, far_below = ranks(0.0), ranks(-1000.0)
    assert abs(np.mean(at_zero) - np.mean(far_below)) < 5 * np.std(at_zero) * math.sqrt(2 / 300)


@given(
    st.lists(st.floats() | st.sampled_from([LARGEST, -LARGEST, 5e-324, 256.0, -256.0]), max_size=30),
    st.sampled_from([2.0**-50, 0.1, 3.0, 2.0**40, math.inf]),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_whatever_the_values_a_grid_point_comes_back(values: list[float], budget: float) -> None:
    found = find_quantile(values, budget=budget, spacing=0.5, radius=256.0, randomness=Randomness.seeded(1))
    assert abs(found) <= 256
    assert (found / 0.5).is_integer()


@pytest.mark.parametrize("edge", [2.0**100, -(2.0**100)])
def test_a_value_on_the_edge_of_a_large_grid_is_a_value_like_any_other(edge: float) -> None:
    # Beyond 2**53 points, radius + spacing is the radius itself: the gap outside the last point has no length.
    found = find_quantile([edge] * 3, budget=math.inf, spacing=1.0, radius=2.0**100)
    assert found == edge


def test_the_coarsest_grid_has_three_points() -> None:
    found = find_quantile([2.0**1023] * 3, budget=100.0, spacing=2.0**1023, radius=2.0**1023)
    assert found == 2.0**1023


def test_a_quantile_with_a_large_denominator_is_refused() -> None:
    # The exact value of the double 0.1 has the denominator 2**55; with 1000 values the penalty would pass 2**63.
    with pytest.raises(InvalidInputError, match="denominator of at most 1000"):
        find_quantile(Unreadable(), budget=1.0, spacing=1.0, radius=1024.0, quantile=Fraction(0.1))
    tenth = find_quantile(np.arange(1000.0), budget=math.inf, spacing=1.0, radius=1024.0, quantile=Fraction("0.1"))
    assert tenth == 100.0  # 100 below, 899 above: 9 * 100 - 899 = 1


# Input.


class Unreadable:
    """Values that must not be looked at."""

    def __array__(self, *_: object, **__: object) -> Any:
        raise AssertionError("the values were read")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0.0}, "budget must be at least"),
        ({"budget": math.nan}, "budget must be at least"),
        ({"spacing": 3.0}, "spacing and radius must be powers of two"),
        ({"radius": 3.0}, "got 1.0 and 3.0"),
        ({"radius": 0.5}, "spacing <= radius"),
        ({"spacing": 0.0}, "powers of two"),
        ({"spacing": -1.0}, "powers of two"),
        ({"spacing": 2.0**-1021}, r"2\*\*-1020"),
        ({"radius": math.inf}, "powers of two"),
        ({"quantile": Fraction(0)}, "quantile must .* between 0 and 1.*; got 0"),
        ({"quantile": Fraction(1)}, "quantile must .* between 0 and 1.*; got 1"),
    ],
)
def test_bad_public_input_is_refused_before_a_value_is_read(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"budget": 1.0, "spacing": 1.0, "radius": 8.0} | options
    with pytest.raises(InvalidInputError, match=message):
        find_quantile(Unreadable(), **arguments)


@pytest.mark.parametrize("values", [3.0, np.zeros((2, 2)), np.array(["a"])])
def test_what_is_no_column_is_refused(values: Any) -> None:
    with pytest.raises(InvalidInputError, match="values must be"):
        find_quantile(values, budget=1.0, spacing=1.0, radius=8.0)


@pytest.mark.parametrize("power", [50, 52, 53, 54, 60, 200])
def test_the_length_of_every_segment_is_its_number_of_points(power: int) -> None:
    """A few steps from either end of a grid too fine for radius + spacing to be a double."""
    radius = 2.0**power
    step = max(1.0, 2.0 ** (power - 53))
    points = np.array([-radius, -radius + step, -radius + 4 * step, 0.0, radius - 3 * step, radius - step, radius])
    for chosen in (points, points[1:-1], points[2:-2], points[3:4], points[:0]):
        logs = inside._log_lengths(chosen, 1.0, radius)
        exact = [inside._grid_points(index, chosen, 1.0, radius)[1] for index in range(logs.size)]
        expected = [math.log(length) if length else -math.inf for length in exact]
        assert logs.tolist() == pytest.approx(expected, abs=2.0**-40)
