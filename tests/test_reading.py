"""Histograms of distances: what is found in them, and where clips end, whatever they hold."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from released_columns import UNBOUNDED, Column, first_cell, histogram, run

from pdpmean.core.types import Floats
from pdpmean.laws import outliers
from pdpmean.laws.clip_ends import choose_clips, should_span_bounds
from pdpmean.laws.histogram import CELLS, Histogram
from pdpmean.laws.left_over import LeftOver
from pdpmean.laws.reading import Counted, closed_sides, read_histograms
from pdpmean.laws.tails import BEFORE, FINE, tails

RUNS = 60
FROM_ZERO = (0.0, math.inf)
ANCHORS = (0.0, 3.0, -3.0, 1e300, -1e300, 1e-300, 5e-324, 1.7e308, -1.7e308)


def shares_found(column: Column, seed: int = 1) -> float:
    return float(np.mean([reading.finding == "found" for reading in run(column, RUNS, seed).readings]))


# Tables of tails


def test_tails_are_laws() -> None:
    table = tails()
    assert np.allclose(table.cells.sum(axis=1), 1.0)
    assert (table.cells >= 0).all()
    assert np.isclose(np.exp(table.log_prior).sum(), 1.0)
    assert (np.diff(table.survival, axis=1) <= 1e-12).all()
    assert (np.diff(table.beyond, axis=1) <= 0).all()


def test_what_a_tail_has_beyond_a_distance() -> None:
    """Of the second family, the exponential one, both are known."""
    table = tails()
    survival, beyond = table.at(np.array([1, 1]), np.array([0.0, 4.0]))
    assert survival == pytest.approx(np.exp([-1.0, -4.0]), rel=1e-3)
    assert beyond == pytest.approx(np.exp([-1.0, -4.0]), rel=1e-3)
    assert table.mean[1] == pytest.approx(1.0, rel=1e-3)
    assert table.survival.shape[1] > BEFORE * FINE


# Findings


@pytest.mark.parametrize(
    "column",
    [
        Column(lambda rng, n: 50 + 10 * rng.standard_normal(n), anchor=50.5),
        Column(lambda rng, n: rng.lognormal(0, 1, n), anchor=0.0, bounds=FROM_ZERO),
        Column(lambda rng, n: -rng.lognormal(0, 1, n), anchor=0.0, bounds=(-math.inf, 0.0)),
        Column(lambda rng, n: rng.lognormal(3, 1, n) * (rng.random(n) < 0.3), anchor=0.0),
        Column(lambda rng, n: np.where(rng.random(n) < 0.55, 40.0, 40 + 13 * rng.standard_normal(n)), anchor=40.0),
        Column(lambda rng, n: rng.normal(170, 10, n), anchor=0.0, bounds=FROM_ZERO),
        Column(lambda rng, n: rng.normal(170, 10, n), anchor=171.0, bounds=(0.0, 1e6)),
    ],
    ids=["bell", "skewed", "mirrored", "70 % zeros", "hours", "heights", "two bounds"],
)
def test_what_is_there_is_found(column: Column) -> None:
    """But for a few in a hundred."""
    assert shares_found(column) >= 0.93


@pytest.mark.parametrize("bounds", [UNBOUNDED, FROM_ZERO], ids=["no bounds", "one bound"])
@pytest.mark.parametrize("share", [0.0, 0.03])
def test_what_is_constant_or_too_rare_to_see_is_not(share: float, bounds: tuple[float, float]) -> None:
    column = Column(lambda rng, n: (rng.random(n) < share) * 1.0, anchor=0.0, bounds=bounds)
    assert {reading.finding for reading in run(column, RUNS, 2).readings} == {"nothing"}


def test_a_centre_that_missed_is_said() -> None:
    column = Column(lambda rng, n: 50_000 + 3 * rng.standard_normal(n), anchor=40_000.0)
    assert {reading.finding for reading in run(column, RUNS, 3).readings} == {"missed"}


def test_weight_beyond_all_cells_is_said() -> None:
    column = Column(lambda rng, n: 1e200 * rng.standard_normal(n), anchor=1.0)
    assert {reading.finding for reading in run(column, RUNS, 4).readings} == {"too far"}


def test_a_lump_beside_the_anchor_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half are 0, and the centre lies next to it. A window that is wider for noise alone would be no lump."""
    column = Column(lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.exponential(20, n)), anchor=1e-6)
    assert shares_found(column) >= 0.95
    monkeypatch.setattr(outliers, "_FOR_WIDER", 1.0)
    assert shares_found(column) < 0.9


def test_weight_that_is_nowhere_is_said() -> None:
    """The total is thought to be three times what the histogram holds."""
    rng = np.random.default_rng(5)
    noisy = [histogram(rng.normal(5, 1, 1000), 100.0, 5.0, rng) for _ in range(RUNS)]
    readings = read_histograms(noisy, [Counted(300.0, 1000.0)] * RUNS, UNBOUNDED)
    assert {reading.finding for reading in readings} == {"unseen"}


@pytest.mark.parametrize(("total", "seen"), [(300.0, False), (309.0, True)], ids=["nothing left", "as much left"])
def test_a_cell_stands_out_only_if_something_is_left_over_for_it(total: float, seen: bool) -> None:
    """Of yes and no, zeros and ones hold everything; two noisy cells below zero seem to hold nine nats more."""
    below, above = np.zeros(CELLS), np.zeros(CELLS)
    first = first_cell(0.0)
    above[-first] = 110.0
    below[-first + 10 : -first + 12] = 4.5
    noisy = Histogram(0.0, first, below, above, 0.0, 0.0, center=190.0, missing=0.0)
    counted = [Counted(total, 1000.0)]
    readings = read_histograms([noisy], counted, UNBOUNDED)
    assert (readings[0].visible[0] > 0) == seen
    low, high = choose_clips(readings, counted, UNBOUNDED)[0]
    assert (low < -32) == seen
    assert high >= 1


@pytest.mark.parametrize("noises", [2, 6])
def test_what_is_left_over_is_judged_by_the_law_of_its_noise(noises: int) -> None:
    """Chernoff's bound is above the true chance, but not by much."""
    drawn = np.random.default_rng(8).laplace(size=(400_000, noises)).sum(axis=1)
    cells = np.zeros((1, 2, CELLS))
    cells[0, 0, : noises - 2] = 20.0
    left = LeftOver.from_cells(cells, np.zeros(1), np.array([20.0 * (noises - 2)]), np.zeros(1))
    excess = np.array([[3.0, 6.0, 9.0]])
    penalty = left.penalty(excess)[0]
    chances = np.array([(drawn > size).mean() for size in excess[0]])
    assert (np.exp(-penalty) > chances).all()
    assert (np.exp(-1.5 * penalty - 2) < chances).all()


def test_readings_can_be_kept() -> None:
    reading = run(Column(lambda rng, n: rng.normal(5, 1, n), anchor=5.0), 1, 6).readings[0]
    again = pickle.loads(pickle.dumps(reading))
    assert again.finding == reading.finding
    assert np.array_equal(again.probability, reading.probability)


def test_groups_do_not_depend_on_each_other() -> None:
    rng = np.random.default_rng(7)
    noisy = [histogram(rng.normal(5, 1, 1000), 100.0, 5.0, rng) for _ in range(20)]
    counted = [Counted(100.0, 1000.0)] * 20
    together = choose_clips(read_histograms(noisy, counted, UNBOUNDED), counted, UNBOUNDED)
    alone = [choose_clips(read_histograms([one], counted[:1], UNBOUNDED), counted[:1], UNBOUNDED)[0] for one in noisy]
    assert np.allclose(together, alone)


# Clips


def test_a_clip_is_about_as_wide_as_the_population() -> None:
    """Eight standard deviations to either side, but where noise looks like a second population."""
    clips = np.array(run(Column(lambda rng, n: 50 + 10 * rng.standard_normal(n), anchor=50.5), RUNS, 8).clips)
    assert np.mean((clips[:, 0] > -30) & (clips[:, 1] < 130)) >= 0.8
    assert (clips > -1000).all()
    assert (clips < 1000).all()
    assert (np.diff(clips, axis=1) > 25).all()


def test_a_clip_does_not_begin_at_a_bound_that_is_far_off() -> None:
    clips = run(Column(lambda rng, n: rng.normal(170, 10, n), anchor=0.0, bounds=FROM_ZERO), RUNS, 9).clips
    assert np.mean([low >= 90 for low, _ in clips]) >= 0.5


def test_a_clip_ends_at_bounds() -> None:
    column = Column(lambda rng, n: rng.random(n), anchor=0.5, bounds=(-0.1, 1.1))
    for low, high in run(column, RUNS, 10).clips:
        assert -0.1 <= low < high <= 1.1


@pytest.mark.parametrize(
    ("bounds", "nats", "spans"),
    [
        ((0.0, 100.0), 300.0, True),  # not much wider than the clip
        ((-200.0, 300.0), 300.0, False),
        ((-200.0, 300.0), 20_000.0, True),  # much wider, but with so little noise that this does not matter
        ((-1e6, 1e6), 20_000.0, False),
    ],
)
def test_bounds_that_are_near_take_the_place_of_a_clip(bounds: tuple[float, float], nats: float, spans: bool) -> None:
    runs = run(Column(lambda rng, n: rng.normal(50, 10, n), anchor=50.5, bounds=bounds), RUNS, 12)
    counted = Counted(nats, nats * 3)
    judged = [should_span_bounds(*one, bounds) for one in zip(runs.readings, [counted] * RUNS, runs.clips, strict=True)]
    assert np.mean(judged) == pytest.approx(float(spans), abs=0.1)


def test_a_mirrored_column_is_clipped_the_same() -> None:
    rng = np.random.default_rng(11)
    one = histogram(rng.lognormal(0, 1, 1000), 100.0, 0.0, rng)
    other = Histogram(0.0, one.first, one.above, one.below, one.far_above, one.far_below, one.center, one.missing)
    counted = [Counted(100.0, 1000.0)]
    low, high = choose_clips(read_histograms([one], counted, FROM_ZERO), counted, FROM_ZERO)[0]
    mirrored = choose_clips(read_histograms([other], counted, (-math.inf, 0.0)), counted, (-math.inf, 0.0))[0]
    assert mirrored == pytest.approx((-high, -low))


@pytest.mark.parametrize(
    ("bounds", "closed"),
    [
        (UNBOUNDED, [(False, False), (False, False), (False, False)]),
        (FROM_ZERO, [(True, False), (False, False), (False, False)]),
        ((-math.inf, 3.0), [(False, False), (False, False), (False, True)]),
        ((0.0, 3.0), [(True, False), (False, False), (False, True)]),
    ],
)
def test_nothing_lies_beyond_an_anchor_at_a_bound(bounds: tuple[float, float], closed: list[tuple[bool, bool]]) -> None:
    assert closed_sides([0.0, 1.0, 3.0], bounds).tolist() == [list(sides) for sides in closed]


def hostile(rng: np.random.Generator, kind: str) -> Floats:
    cells = rng.laplace(size=CELLS)
    match kind:
        case "one huge cell":
            cells[rng.integers(CELLS)] += 1e6
        case "negative":
            cells -= 50
        case "huge":
            cells *= 1e15
        case "at an end":
            cells[rng.choice([0, CELLS - 1])] += 60
    return cells


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    anchor=st.sampled_from(ANCHORS),
    kind=st.sampled_from(["noise", "one huge cell", "negative", "huge", "at an end"]),
    nats=st.sampled_from([-5.0, 0.0, 1e-9, 30.0, 80.0, 1e9]),
    others=st.sampled_from([0.0, -1e6, 1e6]),
    bounded=st.sampled_from(["no", "low", "high", "both"]),
    seed=st.integers(0, 1000),
)
def test_clips_are_finite_and_ordered(
    anchor: float, kind: str, nats: float, others: float, bounded: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    low = anchor if bounded == "low" else -math.inf
    high = anchor if bounded == "high" else math.inf
    if bounded == "both":
        low, high = max(anchor - abs(anchor) - 1, -1.79e308), min(anchor + abs(anchor) + 1, 1.79e308)
    strange = Histogram(
        anchor, first_cell(anchor), hostile(rng, kind), hostile(rng, kind), others, others, others, others
    )
    counted = [Counted(nats, 100.0, 0.1 * abs(nats))]
    readings = read_histograms([strange], counted, (low, high))
    ((start, end),) = choose_clips(readings, counted, (low, high))
    assert math.isfinite(start)
    assert math.isfinite(end)
    assert low <= start < end <= high
    assert end / 2 - start / 2 >= 2.0**-41 * max(abs(start), abs(end))
    weights = readings[0].probability.sum(axis=-1) + readings[0].empty
    assert weights == pytest.approx([1.0, 1.0], abs=1e-6)
