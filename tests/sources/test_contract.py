"""One contract for every source: the same records, shuffled, split and typed differently, give the same integers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from source_builders import BUILDERS, GROUPS, LAYOUT, Rows, build

from pdpmean.core.types import Counts, Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch
from pdpmean.passes.source import Source
from pdpmean.randomness import Randomness
from pdpmean.sources.opening import open_table

ROWS = Rows.drawn(500)
SIZES = {"as they are": None, "tiny": 5}
CONSTANTS = [
    "tables._BATCH",
    "files.parquet._BATCH",
    "files.parquet._PIECE",
    "files.source.SMALLEST_BATCH",
    "files.arrow._LARGE",
    "files.arrow._PIECE",
]


@dataclass(frozen=True)
class Fingerprints:
    """A number of each record's bits, summed up by group: equal sums mean equal records, whatever their order."""

    values: bool
    shape = (4, 3)

    def tally(self, batch: Batch, table: Counts) -> None:
        assert batch.groups is not None
        assert batch.groups.dtype == np.int32
        rows = [np.ones(batch.budgets.size, np.int64), bits(batch.budgets)]
        rows += [bits(batch.values) * (1 + bits(batch.budgets))] if self.values else []
        for place, row in enumerate(rows):
            np.add.at(table[:, place], batch.groups, row)


def bits(column: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.where(np.isnan(column), np.nan, column).view(np.int64)


class KeepAll:
    largest = np.array([1.0, 1.0, 1.0, 0.0])

    def decide(self, budgets: Floats, *_: object) -> NDArray[np.bool_]:
        return np.ones(budgets.size, dtype=bool)

    def keep(self, batch: Batch, randomness: Randomness) -> NDArray[np.intp]:  # noqa: ARG002
        return np.arange(batch.budgets.size)


def everything(
    source: Source, *, prepare: bool = False
) -> tuple[list[list[int]], list[list[int]], list[tuple[int, ...]]]:
    if prepare:
        source.prepare_sample(Randomness.seeded(1))
    census, total = source.census(Fingerprints(False)).tolist(), source.sum(Fingerprints(True)).tolist()
    return census, total, records_of(source.sample(KeepAll(), Randomness.seeded(1)))


def records_of(batch: Batch) -> list[tuple[int, ...]]:
    assert batch.groups is not None
    asked = batch.groups < 3  # of the others nobody is needed
    columns = (bits(batch.values), bits(batch.budgets), batch.groups)
    return sorted(zip(*(column[asked].tolist() for column in columns), strict=True))


EXPECTED = everything(ROWS.array_source())


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("name", BUILDERS)
def test_same_records_same_integers(
    name: str, size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if size is not None:
        for constant in CONSTANTS:
            monkeypatch.setattr(f"pdpmean.sources.{constant}", size)
        monkeypatch.setattr("pdpmean.sources.files.delimited._BLOCK", 2000)
    source = build(name, ROWS.shuffled(len(name)), tmp_path)
    assert everything(source) == EXPECTED
    assert everything(source) == EXPECTED, "a second time"
    assert everything(source, prepare=True) == EXPECTED, "prepared for a sample"
    assert source.groups == 3
    assert source.rows == 500


def test_the_contract_can_fail() -> None:
    other = ROWS.shuffled(3)
    other.values[:] += 1
    assert [mine == theirs for mine, theirs in zip(EXPECTED, everything(other.array_source()), strict=True)] == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("name", BUILDERS)
def test_passes_over_nothing(name: str, tmp_path: Path) -> None:
    source = build(name, Rows.drawn(0), tmp_path)
    census, total, records = everything(source)
    assert not np.any(census)
    assert not np.any(total)
    assert records == []


@pytest.mark.parametrize("name", BUILDERS)
def test_batches_without_values_hold_only_budgets(name: str, tmp_path: Path) -> None:
    batches = list(build(name, ROWS, tmp_path).batches(values=False))
    assert sum(batch.budgets.size for batch in batches) == 500
    assert not any(batch.values.size for batch in batches)


@pytest.mark.parametrize("name", BUILDERS)
def test_records_come_in_order(name: str, tmp_path: Path) -> None:
    batches = list(build(name, ROWS, tmp_path).batches())
    assert np.array_equal(np.concatenate([batch.values for batch in batches]), ROWS.values, equal_nan=True)


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("name", BUILDERS)
def test_people_come_in_order_and_records_at_the_budgets_reserved_for_them(
    name: str, size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for constant in CONSTANTS if size else []:
        monkeypatch.setattr(f"pdpmean.sources.{constant}", size)
    source = open_table(BUILDERS[name](ROWS, tmp_path), replace(LAYOUT, person="person", budget=0.0))
    ids = [person for part, _ in source.people() for person in part]
    assert ids == [str(i) if region in GROUPS else None for i, region in zip(ROWS.ids, ROWS.regions, strict=True)]
    reserved = np.where(np.isnan(ROWS.budgets), 0.125, ROWS.budgets)
    expected = replace(ROWS, budgets=reserved).array_source()
    assert everything(source.charged(reserved)) == everything(expected)
    assert everything(source.charged(reserved), prepare=True) == everything(expected)


@pytest.mark.parametrize("wrong", [499, 501])
def test_records_that_became_more_or_fewer_are_noticed(wrong: int, tmp_path: Path) -> None:
    source = build("Parquet, row groups", ROWS, tmp_path).charged(np.ones(wrong))
    with pytest.raises(InvalidInputError, match="the data changed"):
        source.sum(Fingerprints(True))
