"""The three passes over arrays: on nothing, on one batch, on many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pdpmean.inputs import Floats
from pdpmean.randomness import Randomness
from pdpmean.sources.arrays import ArraySource

VALUES = np.array([3.0, math.nan, -1.0, 7.0, math.inf, 0.5, 2.0])
BUDGETS = np.array([0.0, 1.0, 4.0, 1.0, 2.0, 1.0, 0.0])


def count_cells(budgets: Floats, first: int) -> NDArray[np.int64]:
    assert np.array_equal(budgets, BUDGETS[first : first + budgets.size]) or (budgets == 2.0).all()
    return np.bincount(budgets.astype(np.int64))


def sums_of(values: Floats, budgets: Floats) -> tuple[int, ...]:
    return values.size, int(budgets.sum()), 2**70 * values.size


@pytest.fixture(params=[1, 2, 3, 6, 7, 8, 2**18], ids="batches of {}".format)
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ArraySource:
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", request.param)
    return ArraySource(VALUES, BUDGETS)


def test_batches_are_all_records_in_order(source: ArraySource) -> None:
    values, budgets = (np.concatenate(parts) for parts in zip(*source.batches(), strict=True))
    assert np.array_equal(values, VALUES, equal_nan=True)
    assert np.array_equal(budgets, BUDGETS)


def test_every_pass_starts_anew(source: ArraySource) -> None:
    assert len(list(source.batches())) == len(list(source.batches()))
    assert source.sum(sums_of) == source.sum(sums_of)


def test_census_counts_cells(source: ArraySource) -> None:
    counts = source.census(count_cells)
    assert counts.tolist() == [2, 3, 1, 0, 1]
    assert counts.dtype == np.int64


def test_sample_keeps_what_it_is_told_to(source: ArraySource) -> None:
    values, budgets = source.sample(lambda _, granted: np.flatnonzero(granted == 1.0), Randomness.seeded(1))
    assert np.array_equal(values, [math.nan, 7.0, 0.5], equal_nan=True)
    assert budgets.tolist() == [1.0, 1.0, 1.0]
    values, budgets = source.sample(lambda _, granted: np.flatnonzero(granted > 9.0), Randomness.seeded(1))
    assert values.size == budgets.size == 0


def test_sum_adds_integers_of_any_size(source: ArraySource) -> None:
    assert source.sum(sums_of) == (7, 9, 7 * 2**70)


def test_nothing() -> None:
    empty = ArraySource(np.empty(0), np.empty(0))
    assert list(empty.batches()) == []
    assert empty.census(count_cells).tolist() == [0]
    values, budgets = empty.sample(lambda _, granted: np.flatnonzero(granted >= 0), Randomness.seeded(1))
    assert values.size == budgets.size == 0
    assert empty.sum(sums_of) == (0, 0, 0)


def test_batches_are_views() -> None:
    (batch,) = ArraySource(VALUES, BUDGETS).batches()
    assert np.shares_memory(batch[0], VALUES)
    assert np.shares_memory(batch[1], BUDGETS)


def test_one_budget_for_all_need_not_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 3)
    source = ArraySource(VALUES, np.broadcast_to(np.array([2.0]), VALUES.shape))
    assert source.census(count_cells).tolist() == [0, 0, 7]
