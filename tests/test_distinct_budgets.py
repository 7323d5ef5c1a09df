"""Distinct budgets are stated exactly if they are few, and losses never exceed what people grant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdpmean import Randomness, estimate_mean
from pdpmean.core.kernels import find_other
from pdpmean.core.losses import losses_of
from pdpmean.core.model import BOUNDED
from pdpmean.core.types import Floats
from pdpmean.passes.batch import Batch
from pdpmean.passes.cells import Cells
from pdpmean.passes.distinct_budgets import MOST_DISTINCT, DistinctBudgets, _find_other

TIERS = [0.1, 0.5, 1.0]
RNG = np.random.default_rng(1)
VALUES = RNG.normal(38, 6, 20_000)
BUDGETS = RNG.choice(TIERS, size=VALUES.size)


def noted(*batches: Floats) -> DistinctBudgets:
    distinct = DistinctBudgets()
    for batch in batches:
        distinct.note(batch)
    return distinct


@given(st.lists(st.lists(st.integers(0, 14), min_size=1, max_size=30), min_size=1, max_size=4))
def test_few_distinct_budgets_are_all_kept_and_the_largest_always_is(batches: list[list[int]]) -> None:
    distinct = noted(*(np.array(batch, dtype=np.float64) for batch in batches))
    everything = {float(budget) for batch in batches for budget in batch}
    assert distinct.few == (everything if len(everything) <= MOST_DISTINCT else set())
    assert distinct.largest == max(everything)


def test_the_compiled_search_for_new_budgets_is_that_of_numpy() -> None:
    budgets = RNG.choice(TIERS, size=100_000)
    distinct = noted(budgets, np.append(budgets, 0.25))
    assert distinct.few == {*TIERS, 0.25}
    assert noted(RNG.random(100_000)).few == frozenset()
    for known in ([], [0.1], [0.1, 0.5], TIERS):
        there = np.array(known)
        assert find_other(budgets, there) == _find_other(budgets, there)


def test_nothing_noted_limits_nothing() -> None:
    assert (DistinctBudgets().few, DistinctBudgets().largest) == (frozenset(), math.inf)


def cell_counts_from(budgets: Floats, groups: int | None = None) -> Any:
    rule = Cells(BOUNDED, groups)
    table = np.zeros(rule.shape, dtype=np.int64)
    rule.tally(Batch(budgets, budgets, None if groups is None else np.zeros(budgets.size, dtype=np.int32)), table)
    return rule.cell_counts(table)[0]


@pytest.mark.parametrize("groups", [None, 1])
def test_cells_of_few_budgets_are_exact(groups: int | None) -> None:
    cells = cell_counts_from(np.array([0.1, 0.5, 0.5, 1.0, 0.0, math.inf]), groups)
    assert cells.budget_ranges(BOUNDED) == [
        (0.0, 0.0, 1),
        (0.1, 0.1, 1),
        (0.5, 0.5, 2),
        (1.0, 1.0, 1),
        (math.inf, math.inf, 1),
    ]


def test_cells_with_two_budgets_are_not_exact() -> None:
    ((low, high, people),) = cell_counts_from(np.array([0.1, 0.1001])).budget_ranges(BOUNDED)
    assert low < 0.1
    assert (high, people) == (0.1001, 2)


@pytest.mark.parametrize("grouped", [False, True])
def test_stated_losses_never_exceed_the_budgets(grouped: bool) -> None:
    options: dict[str, Any] = {"by": np.full(VALUES.size, "a"), "groups": ["a"]} if grouped else {}
    for budgets, losses in ((BUDGETS, TIERS), (np.where(BUDGETS == 1, 0.97531, BUDGETS), [0.1, 0.5, 0.97531])):
        rows = estimate_mean(VALUES, budgets, **options).to_dict()["losses"]
        assert [(row["budget_from"], row["budget_to"], row["loss"]) for row in rows] == [(b, b, b) for b in losses]


def test_of_many_budgets_no_loss_is_above_the_largest() -> None:
    budgets = RNG.uniform(0.01, 0.98765, 20_000)
    rows = losses_of(cell_counts_from(budgets).budget_ranges(BOUNDED), spent=1)  # type: ignore[arg-type]
    assert rows[-1].loss == budgets.max()
    assert all(row.loss == row.budgets[1] for row in rows)


def test_levels_begin_and_end_with_budgets_that_are_granted() -> None:
    found = estimate_mean(VALUES, BUDGETS, randomness=Randomness.seeded(1)).to_dict()["levels"]
    assert [(level["lowest"], level["highest"]) for level in found] == [(budget, budget) for budget in TIERS]
