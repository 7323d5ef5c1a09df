"""Positions: coins with their law, in words; which of them are worth tossing; both coins together have the rate."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rules import UNCAPPED, holders, table_of, thinning_of
from scipy.stats import binomtest, chisquare

from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.core.types import Counts, Floats
from pdpmean.passes.cells import Cells
from pdpmean.passes.thinning import Thinning
from pdpmean.randomness import Randomness
from pdpmean.sources.spark import positions
from pdpmean.sources.spark.positions import BLOCK_BITS, ROW_BITS, Grid, Toss, plan_toss

UNBOUNDED = make_model("unbounded", (0.01, 3.0))
MODELS = pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED], ids=["bounded", "unbounded"])


@pytest.fixture(autouse=True)
def worth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "_WORTH", 1)


def heads_at(blocks: NDArray[np.int64], words: NDArray[np.int64]) -> list[int]:
    """The positions behind blocks and words."""
    bits = (words[:, np.newaxis] >> np.arange(2**BLOCK_BITS)) & 1
    block, bit = np.nonzero(bits)
    return [int(position) for position in (blocks[block] << BLOCK_BITS) + bit]


def tossed(partitions: int, rows: int, bits: int, seed: int = 1) -> list[int]:
    return heads_at(*Toss(Grid(partitions, rows), bits, math.inf).heads(Randomness.seeded(seed)))


@pytest.mark.parametrize("bits", [1, 3, 8, 11])
def test_every_position_gets_heads_with_its_probability(bits: int) -> None:
    found = np.array(tossed(3, 200_000, bits))
    rows, partitions = found & (2**ROW_BITS - 1), found >> ROW_BITS
    assert rows.max() < 200_000
    assert set(partitions.tolist()) == {0, 1, 2}
    assert binomtest(found.size, 600_000, 2.0**-bits).pvalue > 1e-6
    assert binomtest(found.size, 600_000, 2.0**-bits * 1.5).pvalue < 1e-6, "a mutant"
    for places in (partitions, rows * 8 // 200_000, rows % 64):
        assert chisquare(np.bincount(places)).pvalue > 1e-6


def test_neighbours_have_coins_of_their_own() -> None:
    found = set(tossed(1, 100_000, 1))
    both = sum(position + 1 in found for position in found)
    assert binomtest(both, len(found), 0.5).pvalue > 1e-6


@pytest.mark.parametrize(("piece", "bits"), [(1, 1), (64, 2), (100, 3), (2**17, 9)])
def test_pieces_of_any_size_cover_every_row_once(piece: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "_PIECE", piece)
    grid = Grid(3, 2 * piece + piece // 2 + 1)
    covered = [start + row for start, size in grid.pieces() for row in range(size)]
    assert covered == [(part << ROW_BITS) + row for part in range(3) for row in range(grid.rows)]
    found = heads_at(*Toss(grid, bits, math.inf).heads(Randomness.seeded(2)))
    assert set(found) <= set(covered)
    assert len(set(found)) == len(found)


def test_a_seed_repeats_itself() -> None:
    assert tossed(2, 9_000_000, 14, seed=5) == tossed(2, 9_000_000, 14, seed=5) != tossed(2, 9_000_000, 14, seed=6)


@pytest.mark.parametrize("grid", [Grid(0, 0), Grid(1, 0), Grid(5, 1)])
def test_there_is_a_block_whatever_the_coins(grid: Grid) -> None:
    blocks, words = Toss(grid, 60, math.inf).heads(Randomness.seeded(1))
    assert blocks.tolist() == [-1]
    assert words.tolist() == [0]


def marks_of(*lengths: int) -> NDArray[np.int64]:
    """The marks of partitions of these lengths, among others."""
    rows = [row for row in range(max(lengths, default=0)) if row & (row - 1) == 0]
    found = [(part << ROW_BITS) + row for part, length in enumerate(lengths) for row in rows if row < length]
    return np.array([-1, *reversed(found), -1])


@given(st.lists(st.integers(0, 70), max_size=6))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_an_extent_has_all_positions_of_records_and_not_many_more(lengths: list[int]) -> None:
    grid = Grid.of(marks_of(*lengths), sum(lengths))
    used = max((part + 1 for part, length in enumerate(lengths) if length), default=0)
    assert grid.partitions == used
    longest = max(lengths, default=0)
    if used and 4 * sum(lengths) >= 2 * longest * used:
        assert longest <= grid.rows <= max(1, 2 * (longest - 1))
    assert grid.size < 4 * sum(lengths) + max(used, 1)


def test_an_extent_has_no_room_for_one_partition_much_longer_than_all_others() -> None:
    assert Grid.of(marks_of(999, *[1] * 99, 1), 1099) == Grid(101, 44)


@pytest.mark.parametrize(("row", "partitions"), [(2**31, 3), (2**32, 0)])
def test_partitions_so_long_that_positions_may_repeat_have_no_coins(row: int, partitions: int) -> None:
    grid = Grid.of(np.array([-1, 0, row, 2 << ROW_BITS]), 2**33)
    assert grid.partitions == partitions
    counts = np.zeros(Cells(BOUNDED).shape[1], dtype=np.int64)
    counts[1] = 2**33
    toss = plan_toss(thinning_of(BOUNDED, 1, cap=1.0, density=1e-6), Cells(BOUNDED), counts, grid)
    assert (toss is not None) == (partitions > 0)


def counted(model: Model, budgets: Floats) -> Counts:
    (counts,) = table_of(Cells(model), holders(budgets))
    return np.asarray(counts)


def planned(rule: Thinning, budgets: Any) -> Toss | None:
    granted = np.asarray(budgets, dtype=np.float64)
    grid = Grid.of(marks_of(granted.size), granted.size)
    return plan_toss(rule, Cells(rule.model), counted(rule.model, granted), grid)


def rate_of(rule: Thinning, budget: float) -> float:
    return float(rule.rates(rule.weights(np.array([budget])))[0])


@MODELS
def test_the_fewest_are_left_where_all_rates_are_below(model: Model) -> None:
    rule = thinning_of(model, 1, cap=10.0, density=0.01)  # rates up to 0.03 of 3 nats, in the bounded model 6
    toss = planned(rule, np.random.default_rng(1).uniform(0.01, 2.0 * model.budget_per_allowance, 10_000))
    assert toss is not None
    assert toss.bits == 5
    assert rate_of(rule, toss.largest) <= 2.0**-5


def test_few_large_budgets_have_no_first_coin() -> None:
    rule = thinning_of(BOUNDED, 1, cap=50.0, density=0.01)
    toss = planned(rule, [*[0.1] * 10_000, *[90.0] * 10, math.inf])
    assert toss is not None
    assert toss.bits == 10  # a rate of 0.0005
    assert 0.1 < toss.largest < 90.0


def test_missing_and_negative_private_budgets_count_as_little() -> None:
    budgets = [math.nan, -1.0, 0.0, 1e300, math.inf] * 1000 + [0.1] * 10_000
    toss = planned(thinning_of(UNBOUNDED, 1, cap=50.0, density=0.001), budgets)
    assert toss is not None
    assert toss.bits == 8  # 3 nats
    assert toss.largest == math.inf


@pytest.mark.parametrize("density", [0.6, 1.0, 2.0**60])
def test_nothing_is_tossed_where_most_are_kept(density: float) -> None:
    assert planned(thinning_of(BOUNDED, 1, cap=50.0, density=density), [2.0] * 10_000) is None


def test_nothing_is_tossed_for_few(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = thinning_of(BOUNDED, 1, cap=1.0, density=0.01)
    assert planned(rule, []) is None
    assert planned(rule, [1.0] * 1000) is not None
    monkeypatch.setattr(positions, "_WORTH", 1000)
    assert planned(rule, [1.0] * 1000) is None


def test_heads_are_few_enough_to_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "_MOST_HEADS", 200)
    rule = thinning_of(BOUNDED, 1, cap=50.0, density=0.1)  # 0.005 and 0.05
    toss = planned(rule, [*[0.1] * 10_000, *[1.0] * 100])
    assert toss is not None
    assert toss.grid.size * 2.0**-toss.bits <= 200
    assert rate_of(rule, 0.1) <= 2.0**-toss.bits < rate_of(rule, 1.0)
    assert 0.1 < toss.largest < 1.0


@given(
    st.floats(1e-6, 1.0),
    st.floats(1e-9, 1.0),
    st.floats(1e-3, 50.0),
    st.sampled_from([UNCAPPED, 0.5]),
    st.lists(st.floats(0, allow_nan=False), min_size=1, max_size=20),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_both_coins_together_have_exactly_the_rate(
    share: float, density: float, cap: float, spared_from: float, budgets: list[float]
) -> None:
    rule = thinning_of(BOUNDED, share, cap, density, spared_from=spared_from)
    toss = planned(rule, budgets * 4)
    assume(toss is not None)
    assert toss is not None
    for budget in (*budgets, toss.largest, math.nextafter(toss.largest, -math.inf)):
        if 0 <= budget <= toss.largest:
            then = rate_of(rule.among(toss.bits), budget)
            assert then <= 1
            if rate_of(rule, budget) >= 2.0**-1000:
                assert Fraction(then) / 2**toss.bits == Fraction(rate_of(rule, budget))
