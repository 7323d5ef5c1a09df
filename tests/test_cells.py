"""Cells: every budget in the cell that its bits say, compiled or not, with groups or without."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rules import cell_counts_of, compiled, holders, table_of

from pdpmean import InvalidInputError
from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.core.types import Floats
from pdpmean.passes.cells import CellCounts, Cells, count_budgets
from pdpmean.sources.arrays import ArraySource

UNBOUNDED = make_model("unbounded", (0.0625, 1.0))
WIDEST = make_model("unbounded", (2.0**-40, 2.0**40))
MODELS = pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED, WIDEST], ids=["bounded", "unbounded", "widest"])
GROUPS = pytest.mark.parametrize(("groups", "cells_an_octave"), [(None, 64), (1, 16), (3, 16)])
BOTH_WAYS = pytest.mark.parametrize("way", [nullcontext, compiled], ids=["NumPy", "compiled"])

Way = Callable[[], AbstractContextManager[None]]


def level_of(cells: Cells, budget: float) -> float:
    """The lower end of the one cell that a budget is counted in."""
    codes = None if cells.groups is None else [cells.groups - 1]
    table = table_of(cells, holders([budget], codes))
    assert table.sum() == 1
    row, cell = np.argwhere(table)[0]
    assert row == (0 if cells.groups is None else cells.groups - 1)
    assert cell == cells.cells_of(np.array([budget]))[0]
    return float(cells.lows[cell])


@GROUPS
@MODELS
def test_there_are_so_many_cells_an_octave(model: Model, groups: int | None, cells_an_octave: int) -> None:
    cells = Cells(model, groups)
    levels = cells.lows
    assert levels[0] == 0
    assert levels[1] == 2.0**-41
    assert levels[-2] == 2.0**40
    assert levels[-1] == math.inf
    assert ((levels >= 1) & (levels < 2)).sum() == cells_an_octave
    assert (np.diff(levels) > 0).all()
    assert cells.shape == (1 if groups is None else groups + 1, levels.size)


@given(st.floats(2.0**-40, 2.0**41), st.sampled_from([(None, 64), (2, 16)]))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_cell_is_no_wider_than_its_part_of_an_octave_and_starts_below(
    budget: float, fineness: tuple[int | None, int]
) -> None:
    groups, parts = fineness
    level = level_of(Cells(BOUNDED, groups), budget)
    assert level <= budget / 2 < level * (1 + 1 / parts)
    assert level == math.ldexp(math.floor(math.frexp(budget / 2)[0] * 2 * parts), math.frexp(budget / 2)[1] - 1) / parts


def test_cells_of_special_budgets() -> None:
    public = cell_counts_of(np.array([0.0, 2.0, math.inf]), BOUNDED)
    assert public.lows.tolist() == [0.0, 1.0, math.inf]
    assert public.counts.tolist() == [1, 1, 1]
    private = cell_counts_of(np.array([0.0, 0.01, math.nan, -3.0, math.inf, 5.0, 1.0]), UNBOUNDED)
    assert private.lows.tolist() == [0.0, 1.0]
    assert private.counts.tolist() == [4, 3]


NOTHING = [0.0, -0.0, 5e-324, 2.0**-1030, 2.0**-41, math.nextafter(2.0**-40, 0.0)]
NO_BUDGET = [math.nan, -1.0, -5e-324, -math.inf]


@BOTH_WAYS
@GROUPS
def test_cells_at_the_edges_of_public_budgets(groups: int | None, cells_an_octave: int, way: Way) -> None:
    last = 1 - 0.5 / cells_an_octave  # the last cell below a power of two
    edges = [
        *((budget, 0.0) for budget in NOTHING),
        (2.0**-40, 2.0**-41),
        (math.nextafter(2.0**-39, 0.0), 2.0**-40 * last),
        (2.0**-39, 2.0**-40),
        (2.0**40, 2.0**39),
        (math.nextafter(2.0**41, 0.0), 2.0**40 * last),
        *((budget, 2.0**40) for budget in (2.0**41, 2.0**42, 1.7e308)),
        (math.inf, math.inf),
    ]
    with way():
        for budget, level in edges:
            assert level_of(Cells(BOUNDED, groups), budget) == level


@BOTH_WAYS
@GROUPS
def test_cells_at_the_edges_of_private_budgets(groups: int | None, cells_an_octave: int, way: Way) -> None:
    last = 1 - 0.5 / cells_an_octave
    edges = [
        *((budget, 0.0) for budget in (*NOTHING, *NO_BUDGET)),
        (2.0**-40, 2.0**-40),
        (math.nextafter(2.0**-39, 0.0), 2.0**-39 * last),
        (2.0**-39, 2.0**-39),
        (math.nextafter(2.0**40, 0.0), 2.0**40 * last),
        *((budget, 2.0**40) for budget in (2.0**40, math.nextafter(2.0**40, math.inf), 1.7e308, math.inf)),
    ]
    with way():
        for budget, level in edges:
            assert level_of(Cells(WIDEST, groups), budget) == level


@BOTH_WAYS
@pytest.mark.parametrize("groups", [None, 2])
@pytest.mark.parametrize("wrong", NO_BUDGET)
def test_public_budgets_are_checked_on_the_way(groups: int | None, wrong: float, way: Way) -> None:
    codes = None if groups is None else [0, 1, 2]
    with way(), pytest.raises(InvalidInputError, match=r"budgets must be >= 0; record 2 (has|is empty)"):
        table_of(Cells(BOUNDED, groups), holders([0.1, -0.0, wrong], codes))


@BOTH_WAYS
@pytest.mark.parametrize("groups", [None, 2])
def test_private_budgets_of_any_kind_are_cell_0(groups: int | None, way: Way) -> None:
    codes = None if groups is None else [1, 1, 1, 1]
    with way():
        table = table_of(Cells(UNBOUNDED, groups), holders(NO_BUDGET, codes))
    assert table[0 if groups is None else 1, 0] == table.sum() == 4


# Groups


def crowd(size: int) -> tuple[Floats, NDArray[np.int32]]:
    """Budgets of all sizes and codes of three groups, of which one is nearly empty, and of none."""
    rng = np.random.default_rng(3)
    budgets = 2.0 ** rng.uniform(-45, 45, size)
    budgets[:4] = 0.0, math.inf, 2.0**-40, 2.0**41
    return budgets, rng.choice(4, size, p=[0.5, 0.3, 0.001, 0.199]).astype(np.int32)


def cell_counts_by_group(groups: int, budgets: Floats, codes: NDArray[np.int32], model: Model) -> list[CellCounts]:
    """Who holds what in each group."""
    return count_budgets(ArraySource(np.zeros(budgets.size), budgets, codes, groups), model)


def same(one: CellCounts, other: CellCounts) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("lows", "middles", "counts", "middle_over_low")
    )


@BOTH_WAYS
@MODELS
def test_a_group_holds_what_its_records_alone_hold(model: Model, way: Way) -> None:
    budgets, codes = crowd(20_000)
    with way():
        found = cell_counts_by_group(3, budgets, codes, model)
        assert len(found) == 3
        for group, cells in enumerate(found):
            own = budgets[codes == group]
            (alone,) = cell_counts_by_group(1, own, np.zeros(own.size, dtype=np.int32), model)
            assert same(cells, alone)
            assert cells.counts.sum() == own.size > 0


@BOTH_WAYS
@MODELS
def test_four_cells_together_are_one_of_a_group(model: Model, way: Way) -> None:
    """64 cells per octave without groups, 16 with them: counts add up, and so do those of all groups."""
    budgets, codes = crowd(20_000)
    with way():
        fine = table_of(Cells(model), holders(budgets))[0]
        coarse = table_of(Cells(model, 3), holders(budgets, codes))
    sums: dict[float, int] = {}
    edges = Cells(model, 3).lows
    for level, count in zip(Cells(model).lows, fine.tolist(), strict=True):
        edge = float(edges[np.searchsorted(edges, level, side="right") - 1])
        sums[edge] = sums.get(edge, 0) + count
    assert list(sums.values()) == coarse.sum(axis=0).tolist()
    assert coarse.sum(axis=1).tolist() == np.bincount(codes, minlength=4).tolist()


@BOTH_WAYS
@MODELS
def test_who_is_of_no_group_asked_for_is_in_no_census(model: Model, way: Way) -> None:
    budgets, codes = crowd(5000)
    listed = codes < 3
    with way():
        everyone = cell_counts_by_group(3, budgets, codes, model)
        some = cell_counts_by_group(3, budgets[listed], codes[listed], model)
    assert all(same(one, other) for one, other in zip(everyone, some, strict=True))
    assert sum(one.counts.sum() for one in everyone) == listed.sum() < 5000


# Middles


def cell_counts_in(groups: int | None, budgets: Floats, model: Model) -> CellCounts:
    """Everyone in the first group, or in none."""
    if groups is None:
        return cell_counts_of(budgets, model)
    return cell_counts_by_group(groups, budgets, np.zeros(budgets.size, dtype=np.int32), model)[0]


@pytest.mark.parametrize("groups", [None, 3])
def test_the_middle_is_halfway_between_the_ends_of_a_cell(groups: int | None) -> None:
    ends = Cells(BOUNDED, groups).lows[1:-1]
    cells = cell_counts_in(groups, 2 * ends[:-1], BOUNDED)
    assert cells.lows.tolist() == ends[:-1].tolist()
    assert (cells.middles - cells.lows).tolist() == (np.diff(ends) / 2).tolist()
    assert cells.middle_over_low == pytest.approx(float(np.mean(cells.middles / cells.lows)), abs=1e-3)


def test_no_middle_is_beyond_the_largest_budget_but_the_infinite_one() -> None:
    cells = cell_counts_of(np.array([0.0, 2.0, 1e300, math.inf]), BOUNDED)
    assert cells.middles[0] == 0
    assert cells.middles[2:].tolist() == [2.0**40, math.inf]


@GROUPS
def test_levels_total_hardly_less_than_was_granted_and_middles_about_as_much(
    groups: int | None, cells_an_octave: int
) -> None:
    budgets = np.random.default_rng(2).uniform(0.01, 2.0, 20_000)
    cells = cell_counts_in(groups, budgets, WIDEST)
    width = 1 / cells_an_octave
    assert (1 - width) * budgets.sum() <= cells.lows @ cells.counts <= budgets.sum()
    assert cells.middles @ cells.counts == pytest.approx(budgets.sum(), rel=width / 5)


# Totals


def total_of(budgets: Floats, way: Way) -> float:
    """What allowances add up to."""
    with way():
        (cells,) = count_budgets(ArraySource(budgets, budgets), BOUNDED)
    assert cells.total is not None
    return cells.total


@BOTH_WAYS
@pytest.mark.parametrize(("people", "budget"), [(5_000, 0.1), (7, 0.3), (300_001, 0.7), (9_999, 1e-3), (3, 5e5)])
def test_equal_budgets_have_an_exact_total(people: int, budget: float, way: Way) -> None:
    exact = people * budget / 2
    relative = 1e-2 if budget > 2**11 else 1e-15  # large ones count as the middles of their cells
    assert total_of(np.full(people, budget), way) == pytest.approx(exact, rel=relative)


def test_totals_are_the_same_in_any_order_and_by_any_loop() -> None:
    rng = np.random.default_rng(4)
    budgets = np.concatenate([rng.lognormal(-1, 3, 5_000), rng.choice([0.1, 0.5, 1.0], 5_000), [0.0, 2.0**-41, 5e-324]])
    small = budgets[budgets < 2**11]
    found = {total_of(rng.permutation(small), way) for way in (nullcontext, compiled) for _ in range(3)}
    assert len(found) == 1
    assert found.pop() == pytest.approx(math.fsum(small[small >= 2.0**-40]) / 2, rel=1e-10)
    assert len({total_of(rng.permutation(budgets), way) for way in (nullcontext, compiled)}) == 1


def test_an_infinite_budget_makes_an_infinite_total() -> None:
    assert total_of(np.array([0.1, math.inf]), nullcontext) == math.inf


def test_totals_of_private_budgets_are_not_counted() -> None:
    budgets = np.full(10, 0.1)
    assert count_budgets(ArraySource(budgets, budgets), WIDEST)[0].total is None
    assert count_budgets(ArraySource(budgets, budgets), WIDEST, public=True)[0].total == 1.0
