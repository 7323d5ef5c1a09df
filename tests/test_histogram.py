"""Histogram: each record in exactly one cell, by hand; noise of scale 1 on each of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from recorder import Recorder
from statistical.laws import assert_accepts_and_rejects, discrete_laplace_size_cdf, kolmogorov

from pdpmean import Randomness
from pdpmean.core.bounds import UNKNOWN, Bounds
from pdpmean.core.types import Floats
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.laws.histogram import CELLS, Histogram
from pdpmean.release.histogram import first_cell, noisy_histograms
from pdpmean.release.private_median import integer_weights

FURTHEST = 1.7e308


def histogram(
    values: list[float], anchor: float = 0.0, nats: float | list[float] = 1.0, bounds: Bounds = UNKNOWN
) -> Histogram:
    """Of one group, without noise."""
    weights = integer_weights(np.broadcast_to(np.asarray(nats, dtype=np.float64), (len(values),)))
    (found,) = noisy_histograms(
        np.array(values, dtype=np.float64), weights, np.array([len(values)]), [anchor], Recorder(), bounds
    )
    return found


def filled(found: Histogram) -> dict[str | tuple[str, int], float]:
    """What is not 0; cells by their half octave."""
    cells = {
        (side, found.first + int(place)): float(row[place])
        for side, row in (("below", found.below), ("above", found.above))
        for place in np.flatnonzero(row)
    }
    names = ("far_below", "far_above", "center", "missing", "below_bound", "above_bound")
    others = {name: getattr(found, name) for name in names}
    return cells | {name: weight for name, weight in others.items() if weight}


@pytest.mark.parametrize("power", [-20, -1, 0, 1, 30])
def test_cells_begin_at_half_octaves(power: int) -> None:
    """2**(k / 2) is in cell k, and the number before it in the one before; the odd edges are irrational."""
    edge = math.ldexp(1.0, power)
    assert filled(histogram([edge])) == {("above", 2 * power): 1.0}
    assert filled(histogram([-math.nextafter(edge, 0)])) == {("below", 2 * power - 1): 1.0}
    odd = math.ldexp(math.sqrt(0.5), power + 1)
    assert filled(histogram([odd])) == {("above", 2 * power + 1): 1.0}
    assert filled(histogram([-math.nextafter(odd, 0)])) == {("below", 2 * power): 1.0}


def test_distances_are_from_the_anchor() -> None:
    assert filled(histogram([7.0, 7.25, 5.0, 11.0, 11.0], anchor=7.0)) == {
        "center": 1.0,
        ("above", -4): 1.0,
        ("below", 2): 1.0,
        ("above", 4): 2.0,
    }


def test_the_first_cell_is_32_octaves_below_the_anchor() -> None:
    """From ordinary numbers down to 2**-8, and no finer from there on: an anchor next to 0 is as good as 0."""
    assert [first_cell(anchor) for anchor in (1.0, -1.0, 1.5, 2.0, 2.0**500)] == [-62, -62, -62, -60, 2 * (501 - 32)]
    assert {first_cell(anchor) for anchor in (0.0, 5e-324, -1e-300, 2.0**-9)} == {-80}


def test_what_is_nearer_than_the_first_cell_is_at_the_anchor() -> None:
    first = 2.0**-31  # of an anchor of 1
    assert filled(histogram([1 + first, 1 - first], anchor=1.0)) == {("above", -62): 1.0, ("below", -62): 1.0}
    assert filled(histogram([1 + first / 1.5, 1 - first / 1.5, 1.0], anchor=1.0)) == {"center": 3.0}
    assert filled(histogram([5e-324, -5e-324, 0.0, -0.0])) == {"center": 4.0}


def test_what_is_beyond_the_last_cell_is_far() -> None:
    end = math.ldexp(1.0, (first_cell(0.0) + CELLS) // 2)
    assert filled(histogram([math.nextafter(end, 0)])) == {("above", first_cell(0.0) + CELLS - 1): 1.0}
    assert filled(histogram([end, FURTHEST, math.inf])) == {"far_above": 3.0}
    assert filled(histogram([-end, -FURTHEST, -math.inf])) == {"far_below": 3.0}
    # The difference of two doubles may be infinite.
    assert filled(histogram([FURTHEST], anchor=-FURTHEST))["far_above"] == 1.0


def test_missing_values_are_counted_apart() -> None:
    assert filled(histogram([math.nan, 1.0, math.nan], nats=[0.5, 1.0, 2.0])) == {"missing": 2.5, ("above", 0): 1.0}


def test_every_record_is_in_exactly_one_cell() -> None:
    generator = np.random.default_rng(3)
    values = generator.normal(size=2000) * 10.0 ** generator.integers(-300, 300, 2000)
    values[:5] = math.nan, math.inf, -math.inf, FURTHEST, 0.0
    for anchor in (0.0, 3.0, -1e-200, 1e200, FURTHEST):
        assert sum(filled(histogram(values.tolist(), anchor=anchor)).values()) == 2000.0


def test_groups_have_cells_of_their_own() -> None:
    values: list[list[float]] = [[1.0, 2.0], [], [math.nan, -1.0, 1e300], [7.0]]
    anchors = [0.0, 5.0, 1e9, 7.0]
    sizes = np.array([len(group) for group in values])
    column = np.array([value for group in values for value in group])
    found = noisy_histograms(column, integer_weights(np.ones(column.size)), sizes, anchors, Recorder())
    for group, anchor, own in zip(values, anchors, found, strict=True):
        assert (own.anchor, own.first) == (anchor, first_cell(anchor))
        assert filled(own) == (filled(histogram(group, anchor)) if group else {})


def test_each_number_has_noise_of_scale_one() -> None:
    def numbers(found: Histogram) -> Floats:
        others = [found.far_below, found.far_above, found.center, found.missing]
        return np.concatenate([found.below, found.above, others])

    values, weights, sizes = np.array([1.0, math.nan]), integer_weights(np.full(2, 3.0)), np.array([2])
    randomness = Randomness.seeded(1)
    exact = numbers(histogram(values.tolist(), nats=3.0))
    drawn = [numbers(noisy_histograms(values, weights, sizes, [0.0], randomness)[0]) - exact for _ in range(12)]
    noise = np.rint(np.concatenate(drawn) * WEIGHT_UNIT).astype(np.int64)
    assert noise.size == 12 * (2 * CELLS + 4)
    assert np.median(noise / WEIGHT_UNIT) == pytest.approx(0.0, abs=0.1)

    def mutant(factor: float) -> list[int]:
        return [Randomness.seeded(seed).add_laplace(0, factor * WEIGHT_UNIT) for seed in range(3000)]

    assert_accepts_and_rejects(
        lambda some: kolmogorov([abs(number) for number in some], discrete_laplace_size_cdf(float(WEIGHT_UNIT))),
        noise.tolist(),
        {"times 0.7": mutant(0.7), "times 1.3": mutant(1.3)},
    )


BETWEEN = Bounds(0.0, 64.0)


def test_values_beyond_a_bound_have_a_cell_of_their_own() -> None:
    values = [-1.0, -math.inf, 0.0, 1.0, 64.0, math.nextafter(64.0, 65.0), FURTHEST, math.inf, math.nan]
    assert filled(histogram(values, bounds=BETWEEN)) == {
        "below_bound": 2.0,
        "center": 1.0,
        ("above", 0): 1.0,
        ("above", 12): 1.0,
        "above_bound": 3.0,
        "missing": 1.0,
    }
    assert "below_bound" not in filled(histogram(values, bounds=Bounds(high=64.0)))


def test_they_are_counted_at_the_bound_unless_they_may_be_noise() -> None:
    many = histogram([-1.0, 1.0, 100.0], nats=[9.0, 5.0, 20.0], bounds=BETWEEN)
    counted = {"below_bound": 9.0, "center": 9.0, ("above", 0): 5.0, ("above", 12): 20.0, "above_bound": 20.0}
    assert filled(many.counted_at(BETWEEN)) == counted
    assert filled(many) == {"below_bound": 9.0, ("above", 0): 5.0, "above_bound": 20.0}  # itself unchanged
    few = histogram([-1.0, 1.0, 100.0], nats=[7.0, 5.0, 7.0], bounds=BETWEEN)
    assert filled(few.counted_at(BETWEEN)) == {("above", 0): 5.0}


@pytest.mark.parametrize(
    ("bound", "anchor", "where"),
    [(2.0**200, 0.0, "far_above"), (8.0, 7.0, ("above", 0)), (8.0, 9.0, ("below", 0)), (8.0, 8.0, "center")],
)
def test_the_cell_of_a_bound_depends_on_the_anchor(bound: float, anchor: float, where: str | tuple[str, int]) -> None:
    bounds = Bounds(high=bound)
    found = histogram([math.inf], anchor, nats=50.0, bounds=bounds).counted_at(bounds)
    assert filled(found) == {where: 50.0, "above_bound": 50.0}
