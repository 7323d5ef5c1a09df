"""The three passes over arrays: on nothing, on one batch, on many; with groups and without."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rude import rude_entry

from pdpmean.core.groups import MOST_GROUPS
from pdpmean.core.progress import Watch
from pdpmean.core.types import Counts, Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch
from pdpmean.randomness import Randomness
from pdpmean.sources.arrays import ArraySource

VALUES = np.array([3.0, math.nan, -1.0, 7.0, math.inf, 0.5, 2.0])
BUDGETS = np.array([0.0, 1.0, 4.0, 1.0, 2.0, 1.0, 0.0])
CODES = np.array([2, 0, 1, 0, 2, 1, 0], dtype=np.int32)  # two groups, and 2 for records of neither
GRAIN = 2**59  # seven of these are no more than a word holds


class Counting:
    """Counts budgets, which are small integers, by group."""

    shape = (3, 5)

    def tally(self, batch: Batch, table: Counts) -> None:
        groups = np.zeros(batch.budgets.size, np.int32) if batch.groups is None else batch.groups
        np.add.at(table, (groups, batch.budgets.astype(np.int64)), 1)


class Refusing:
    """Refuses budgets above 1, and says where the first is."""

    shape = (1, 1)

    def tally(self, batch: Batch, table: Counts) -> None:
        table += 1
        wrong = np.flatnonzero(batch.budgets > 1)
        if wrong.size:
            raise InvalidInputError(f"record {batch.first + wrong[0]}", name="budgets")


class Adding:
    """Adds up how many there are, what they grant, and large integers."""

    shape = (1, 3)

    def tally(self, batch: Batch, table: Counts) -> None:
        table[0] += [batch.values.size, int(batch.budgets.sum()), -GRAIN * batch.values.size]


@dataclass(frozen=True)
class Keeping:
    """Keeps the records that grant what it is told."""

    wanted: Callable[[float], bool]
    largest = np.ones(1)

    def keep(self, batch: Batch, randomness: Randomness) -> NDArray[np.intp]:
        assert randomness.words(1).size == 1
        return np.flatnonzero(self.decide(batch.budgets))

    def decide(self, budgets: Floats, *_: object) -> NDArray[np.bool_]:
        return np.array([self.wanted(budget) for budget in budgets.tolist()], dtype=bool)


BATCHES = pytest.fixture(params=[1, 2, 3, 6, 7, 8, 2**18], ids="batches of {}".format)


@BATCHES
def source(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ArraySource:
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", request.param)
    return ArraySource(VALUES, BUDGETS)


@BATCHES
def grouped(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ArraySource:
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", request.param)
    return ArraySource(VALUES, BUDGETS, CODES, 2)


def test_batches_are_all_records_in_order(source: ArraySource) -> None:
    batches = list(source.batches())
    assert np.array_equal(np.concatenate([batch.values for batch in batches]), VALUES, equal_nan=True)
    assert np.array_equal(np.concatenate([batch.budgets for batch in batches]), BUDGETS)
    assert all(batch.groups is None for batch in batches)
    assert (source.rows, source.groups) == (7, None)


def test_batches_have_their_groups(grouped: ArraySource) -> None:
    codes = [batch.groups for batch in grouped.batches()]
    assert np.concatenate([part for part in codes if part is not None]).tolist() == CODES.tolist()
    assert (grouped.rows, grouped.groups) == (7, 2)


def test_a_pass_that_needs_no_values_sees_all_budgets(grouped: ArraySource) -> None:
    batches = list(grouped.batches(values=False))
    assert np.array_equal(np.concatenate([batch.budgets for batch in batches]), BUDGETS)


def test_every_pass_starts_anew(source: ArraySource) -> None:
    assert len(list(source.batches())) == len(list(source.batches()))
    assert source.sum(Adding()).tolist() == source.sum(Adding()).tolist()


def test_the_first_wrong_record_is_told_whichever_is_found_first(source: ArraySource) -> None:
    with pytest.raises(InvalidInputError, match=r"^record 2$"):
        source.census(Refusing())


def test_census_counts_cells(source: ArraySource) -> None:
    counts = source.census(Counting())
    assert counts.tolist() == [[2, 3, 1, 0, 1], [0] * 5, [0] * 5]
    assert counts.dtype == np.int64


def test_census_counts_cells_by_group(grouped: ArraySource) -> None:
    assert grouped.census(Counting()).tolist() == [[1, 2, 0, 0, 0], [0, 1, 0, 0, 1], [1, 0, 1, 0, 0]]


def test_sample_keeps_what_it_is_told_to(source: ArraySource) -> None:
    kept = source.sample(Keeping(lambda budget: budget == 1.0), Randomness.seeded(1))
    assert np.array_equal(kept.values, [math.nan, 7.0, 0.5], equal_nan=True)
    assert kept.budgets.tolist() == [1.0, 1.0, 1.0]
    assert kept.groups is None
    kept = source.sample(Keeping(lambda budget: budget > 9.0), Randomness.seeded(1))
    assert kept.values.size == kept.budgets.size == 0
    assert kept.groups is None


def test_a_sample_has_its_groups(grouped: ArraySource) -> None:
    kept = grouped.sample(Keeping(lambda budget: budget >= 1.0), Randomness.seeded(1))
    assert np.array_equal(kept.values, VALUES[BUDGETS >= 1], equal_nan=True)
    assert kept.groups is not None
    assert kept.groups.tolist() == CODES[BUDGETS >= 1].tolist()
    nobody = grouped.sample(Keeping(lambda budget: budget > 9.0), Randomness.seeded(1))
    assert nobody.groups is not None
    assert nobody.groups.size == 0
    assert nobody.groups.dtype == np.int32


def test_a_sample_takes_as_much_randomness_however_many_batches(source: ArraySource) -> None:
    randomness, other = Randomness.seeded(1), Randomness.seeded(1)
    source.sample(Keeping(lambda _: True), randomness)
    ArraySource(np.empty(0), np.empty(0)).sample(Keeping(lambda _: True), other)
    assert randomness.words(3).tolist() == other.words(3).tolist()


def test_sum_adds_integers_as_large_as_a_word(source: ArraySource) -> None:
    assert source.sum(Adding()).tolist() == [[7, 9, -7 * GRAIN]]


@pytest.mark.parametrize(("codes", "groups"), [(None, None), (np.empty(0, np.int32), 2)])
def test_passes_over_empty_arrays(codes: NDArray[np.int32] | None, groups: int | None) -> None:
    empty = ArraySource(np.empty(0), np.empty(0), codes, groups)
    assert list(empty.batches()) == []
    assert empty.census(Counting()).tolist() == [[0] * 5] * 3
    kept = empty.sample(Keeping(lambda _: True), Randomness.seeded(1))
    assert kept.values.size == kept.budgets.size == 0
    assert (kept.groups is None) == (groups is None)
    assert empty.sum(Adding()).tolist() == [[0, 0, 0]]


def test_batches_are_views() -> None:
    (batch,) = ArraySource(VALUES, BUDGETS, CODES, 2).batches()
    assert np.shares_memory(batch.values, VALUES)
    assert np.shares_memory(batch.budgets, BUDGETS)
    assert batch.groups is not None
    assert np.shares_memory(batch.groups, CODES)


def test_one_budget_for_all_need_not_be_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 3)
    source = ArraySource(VALUES, np.broadcast_to(np.array([2.0]), VALUES.shape))
    assert source.census(Counting())[0].tolist() == [0, 0, 7, 0, 0]


# Groups


@given(st.lists(st.integers(0, 5), max_size=50), st.integers(1, 5))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_by_group_gives_the_indices_of_each_group(codes: list[int], groups: int) -> None:
    labels = np.minimum(codes, groups).astype(np.int32)  # one beyond the last is no group
    numbers = np.arange(len(codes), dtype=np.float64)
    found = Batch(numbers, numbers + 0.5, labels).by_group(groups)
    own = [[place for place, label in enumerate(labels.tolist()) if label == group] for group in range(groups)]
    assert [where.tolist() for where in found] == own


def test_records_of_as_many_groups_as_there_may_be() -> None:
    codes = np.random.default_rng(1).integers(0, MOST_GROUPS + 1, 50_000, np.int32)
    found = Batch(codes.astype(np.float64), np.ones(codes.size), codes).by_group(MOST_GROUPS)
    assert len(found) == MOST_GROUPS
    assert all((codes[where] == group).all() for group, where in enumerate(found))
    assert sum(where.size for where in found) == (codes < MOST_GROUPS).sum()


def test_without_groups_all_records_are_in_the_first() -> None:
    (where,) = Batch(VALUES, BUDGETS).by_group(1)
    assert where.tolist() == list(range(len(VALUES)))


# People


@pytest.mark.parametrize("name", ["comparison", "everything", "rude text", "memory"])
def test_ids_that_cannot_be_compared_are_refused_without_a_word_about_them(name: str) -> None:
    source = ArraySource(VALUES, BUDGETS, people=[1, 2, 3, 4, 5, rude_entry(name), rude_entry(name)])
    with pytest.raises(InvalidInputError, match="person must be a column of numbers or text") as caught:
        source.duplicate_person()
    assert caught.value.__context__ is None


# Progress


def test_progress_is_told_in_records_where_they_may_be_counted(source: ArraySource) -> None:
    told: list[tuple[str, int, int | None]] = []
    source.watch = Watch(lambda *step: told.append(step), counted=True)
    source.census(Counting())
    source.sample(Keeping(lambda _: True), Randomness.seeded(1))
    source.sum(Adding())
    seen = np.cumsum([batch.budgets.size for batch in source.batches()]).tolist()
    assert told == [(step, done, 7) for step in ("census", "sample", "sum") for done in seen]


def test_progress_in_hundredths_is_the_same_for_any_number_of_records(source: ArraySource) -> None:
    told: list[tuple[str, int, int | None]] = []
    for some in (source, ArraySource(np.empty(0), np.empty(0)), ArraySource(np.zeros(1000), np.full(1000, 2.0))):
        some.watch = Watch(lambda *step: told.append(step), counted=False)
        some.census(Counting())
        some.sample(Keeping(lambda _: True), Randomness.seeded(1))
        assert told == [(step, part, 100) for step in ("census", "sample") for part in range(1, 101)]
        told.clear()
