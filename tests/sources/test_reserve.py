"""The reserve: what is set aside while records are counted, and that a sample of it is a sample of all."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from rules import batch_of, compiled, thinning_of
from scipy.stats import binom

from pdpmean import Randomness, estimate_mean, plan_mean
from pdpmean.core.model import BOUNDED
from pdpmean.errors import InvalidInputError
from pdpmean.passes import reserve
from pdpmean.passes.batch import Batch
from pdpmean.passes.cells import Cells
from pdpmean.passes.reserve import Part, Reserve
from pdpmean.passes.source import BatchSource
from pdpmean.passes.thinning import Thinning
from pdpmean.randomness import keystream
from pdpmean.sources.layout import Layout
from pdpmean.sources.opening import open_table

LAYOUT = Layout("income", "epsilon")


def batches(sizes: list[int], groups: int | None = None) -> Iterator[Batch]:
    """Records whose values are their numbers."""
    rng = np.random.default_rng(len(sizes))
    start = 0
    for size in sizes:
        codes = None if groups is None else rng.integers(0, groups + 1, size)
        yield batch_of(np.arange(start, start + size), np.ones(size), codes)
        start += size


def filled(sizes: list[int], groups: int | None = None, rows: int | None = None, seed: int = 1) -> Reserve:
    some = Reserve(Randomness.seeded(seed), groups, rows)
    work = some.work()
    for batch in batches(sizes, groups):
        some.hold(work(batch))
    return some


def everybody(some: Reserve) -> list[float]:
    """Who is in a reserve, by their values."""
    left = (part.below(some._limits, 0)[0].records.values for _, part in some._parts)
    return sorted(value for values in left for value in values.tolist())


# How many are set aside


def test_limits_by_hand() -> None:
    some = Reserve(Randomness.seeded(1), None, None)
    room = reserve._ROOM
    seen = np.array([0, 1, room, room + 1, 2 * room, 3 * room, 2**16 * room, 2**40 * room])
    assert some._limits_of(seen).tolist() == [2**16, 2**16, 2**16, 65535, 2**15, 21845, 1, 1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_limits_depend_on_how_many_there_are_and_on_no_coin(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "_ROOM", 1000)
    for sizes in ([8000], [2000] * 4, [1] * 10 + [7990]):
        assert filled(sizes, seed=seed)._limits.tolist() == [2**13]
        assert filled(sizes, seed=seed, rows=8000)._limits.tolist() == [2**13]


def test_as_many_are_set_aside_as_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "_ROOM", 1000)
    found = len(everybody(filled([2000] * 40)))
    low, high = (float(binom.ppf(chance, 80_000, 1 / 80)) for chance in (5e-7, 1 - 5e-7))
    assert low <= found <= high


@pytest.mark.parametrize("groups", [None, 3])
def test_the_reserve_is_the_same_whether_or_not_the_number_of_records_is_known(
    groups: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reserve, "_ROOM", 500)
    monkeypatch.setattr(reserve, "_GROUP_ROOM", 200)
    sizes = [300, 4000, 1, 2500] * 3
    unknown, known = filled(sizes, groups), filled(sizes, groups, rows=sum(sizes))
    assert everybody(unknown) == everybody(known)
    assert 0 < len(everybody(known)) < 1000
    assert everybody(unknown) != everybody(filled(sizes, groups, seed=2))


def test_memory_is_bounded_however_many_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "_ROOM", 1000)
    some = Reserve(Randomness.seeded(1), None, None)
    held = []
    for batch in batches([500] * 600):
        some.hold(some.work()(batch))
        held.append(sum(part.first.size for _, part in some._parts))
    assert 1000 < max(held) < 2300, "twice the room, and what chance adds"
    assert held[-1] > 800


@pytest.mark.parametrize("groups", [None, 3])
def test_the_reserve_is_the_same_compiled_or_not(groups: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "_ROOM", 500)
    monkeypatch.setattr(reserve, "_GROUP_ROOM", 200)
    sizes = [300, 0, 4000, 1, 2500] * 3
    plain = filled(sizes, groups)
    with compiled():
        fast = filled(sizes, groups)
    assert fast._seen.tolist() == plain._seen.tolist()
    assert everybody(fast) == everybody(plain)
    assert sum(part.first.size for _, part in fast._parts) < sum(sizes) / 2, "some were let go"


@pytest.mark.parametrize("sizes", [[0], [0, 0, 3], [3, 0]])
@pytest.mark.parametrize("groups", [None, 2])
def test_batches_may_be_empty(sizes: list[int], groups: int | None) -> None:
    """Also the first ones, when there is nobody yet."""
    some = filled(sizes, groups)
    assert int(some._seen.sum()) == sum(sizes)
    if groups is None:
        assert everybody(some) == list(range(sum(sizes)))


def test_groups_have_limits_of_their_own_and_others_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "_GROUP_ROOM", 100)
    some = Reserve(Randomness.seeded(1), 3, None)
    codes = np.repeat([0, 1, 2, 3], [50, 400, 6400, 1000])
    some.hold(some.work()(batch_of(np.arange(7850), np.ones(7850), codes)))
    assert some._limits.tolist() == [2**16, 2**14, 2**10, 0]
    ((_, part),) = some._parts
    groups = part.below(some._limits, 0)[0].records.groups
    assert groups is not None
    counts = np.bincount(groups, minlength=4).tolist()
    assert counts[0] == 50
    assert 50 < counts[1] < 150
    assert 50 < counts[2] < 150
    assert counts[3] == 0


@pytest.mark.parametrize(
    ("groups", "rows", "expected"),
    [(None, None, True), (2000, None, True), (2100, None, False), (2100, 2**22, True), (2100, 2**22 + 1, False)],
)
def test_there_is_room_unless_many_groups_have_many_records(
    groups: int | None, rows: int | None, expected: bool
) -> None:
    assert Reserve.has_room(groups, rows) is expected


@pytest.mark.parametrize("way", [nullcontext, compiled], ids=["NumPy", "compiled"])
@pytest.mark.parametrize("groups", [None, 3])
def test_who_is_at_the_limit_is_not_below_it(groups: int | None, way: Any) -> None:
    limits = np.array([300] if groups is None else [2**16, 300, 1, 0])
    codes = np.repeat(np.arange(limits.size), 4)
    first = np.clip(np.repeat(limits, 4) + np.tile([-2, -1, 0, 1], limits.size), 0, 2**16 - 1)
    batch = batch_of(np.arange(codes.size), np.ones(codes.size), None if groups is None else codes)
    with way():
        part, seen = Part(batch, first.astype(np.uint16)).below(limits, first.size)
    assert part.records.values.tolist() == np.flatnonzero(first < limits[codes]).tolist()
    assert part.first.tolist() == first[first < limits[codes]].tolist()
    assert seen.tolist() == [4] * limits.size


# The law of a sample


def kept_of(count: int, rate: float, *, room: int, groups: int | None = None, seed: int = 1) -> int | None:
    """How many are kept of so many records, each with this probability, in batches; None where they are not all there.

    With groups, of those of the first two of four.
    """
    some = Reserve(Randomness.seeded(seed), groups, None)
    some._room = room
    for batch in batches([count // 8] * 8, groups):
        some.hold(some.work()(batch))
    kept = some.sample(rule_of(rate, groups), Randomness.seeded(seed + 1000))
    return None if kept is None else kept.values.size


def rule_of(rate: float, groups: int | None) -> Thinning:
    one = thinning_of(BOUNDED, 1, cap=0.5, density=2 * rate)
    if groups is None:
        return one
    asked = np.array([1.0, 1.0, 0.0, 0.0])
    share, sum_share, spared_from = (np.repeat(column, 4) for column in (one.share, one.sum_share, one.spared_from))
    return Thinning(BOUNDED, share, sum_share, spared_from, 0.5 * asked, 2 * rate * asked)


@pytest.mark.parametrize("groups", [None, 3])
@pytest.mark.parametrize("rate", [0.2, 0.03, 0.001])
def test_records_are_kept_at_their_rates_and_mutants_at_others(
    groups: int | None, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts inside the central binomial range but for one in a million; a mutant's are outside."""
    count = 400_000
    people, room = (count, count // 4) if groups is None else (count // 2, count // 16)
    low, high = (float(binom.ppf(chance, people, rate)) for chance in (5e-7, 1 - 5e-7))

    def inside() -> bool:
        found = kept_of(count, rate, room=room, groups=groups)
        assert found is not None
        return low <= found <= high

    assert inside()
    with monkeypatch.context() as patch:  # a quarter is there: keeping the rate of them is too few
        patch.setattr(Thinning, "decide", lambda rule, budgets, codes, _, coins: tossed(rule, budgets, codes, coins))
        assert not inside()
    with monkeypatch.context() as patch:  # an eighth is there, and is taken for a quarter; and half of who may be kept
        patch.setattr(reserve, "_ALL", 2**15)
        assert not inside()


def tossed(rule: Thinning, budgets: Any, codes: Any, coins: Randomness) -> Any:
    own = rule.at(codes)
    return coins.coins(own.rates(own.weights(budgets)))


def test_whoever_is_kept_more_often_than_set_aside_is_not_all_there() -> None:
    assert kept_of(8000, 0.25, room=2000) is not None
    assert kept_of(8000, 0.2500001, room=2000) is None
    assert kept_of(8000, 1.0, room=7999) is None
    assert kept_of(8000, 1.0, room=8000) == 8000


def test_parts_sampled_side_by_side_have_coins_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    decide, used = Thinning.decide, [Randomness.seeded(2)]

    def spy(rule: Thinning, *args: Any) -> Any:
        used.append(args[-1])
        return decide(rule, *args)

    monkeypatch.setattr(Thinning, "decide", spy)
    assert filled([10] * 3 * reserve._TOGETHER).sample(rule_of(0.2, None), used[0]) is not None
    assert len(set(map(id, used))) == 1 + 3


class Zeros(Randomness):
    """Coins whose later bits are all 0."""

    def __init__(self) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=False)

    def words(self, size: int) -> NDArray[np.uint64]:
        return np.zeros(size, dtype=np.uint64)

    def spawn(self) -> Randomness:
        return self


def test_later_bits_decide_where_a_rate_ends_within_the_first() -> None:
    """Three halves of 2**-16, or hardly less: coins of 0 and of 2**-16 are below, one of 2 * 2**-16 is not."""
    some = filled([4])
    some._parts = deque([(4, Part(next(batches([4])), np.arange(4, dtype=np.uint16)))])
    kept = some.sample(rule_of(1.5 * 2.0**-16, None), Zeros())
    assert kept is not None
    assert kept.values.tolist() == [0.0, 1.0]


# Files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    regions = pa.array(rng.choice(["north", "south"], 6000, p=[0.98, 0.02]))
    table = pa.table({"income": rng.normal(40.0, 6.0, 6000), "epsilon": np.full(6000, 1.0), "region": regions})
    pq.write_table(table, "people.parquet", row_group_size=200)
    pyarrow.csv.write_csv(table, "people.csv")
    with pa.ipc.new_file("people.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    monkeypatch.setattr("pdpmean.sources.files.parquet._PIECE", 200)
    return tmp_path


FILES = pytest.mark.parametrize("name", ["people.parquet", "people.csv", "people.arrow"])


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each column of the 6000 records is read."""
    found: Counter[str] = Counter()
    real = Layout.batch

    def batch(self: Layout, records: pa.RecordBatch, *, values: bool) -> Batch:
        found.update(dict.fromkeys(records.schema.names, records.num_rows))
        return real(self, records, values=values)

    monkeypatch.setattr(Layout, "batch", batch)
    return found


@FILES
def test_an_estimate_reads_a_file_twice_and_a_plan_its_budgets_once(name: str, read: Counter[str]) -> None:
    estimate_mean(name, value="income", budget="epsilon", randomness=Randomness.seeded(1))
    assert read == {"income": 12_000, "epsilon": 12_000}
    read.clear()
    plan_mean(name, budget="epsilon")
    assert read == {"epsilon": 6000}


def regional(name: str, **options: Any) -> Any:
    return estimate_mean(
        name,
        value="income",
        budget="epsilon",
        by="region",
        groups=["south", "north"],
        randomness=Randomness.seeded(1),
        **options,
    )


@FILES
@pytest.mark.parametrize("room", [6000, 150])
def test_where_a_group_is_not_all_there_the_file_is_read_again(
    name: str, room: int, read: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group of 120 is set aside as a whole, one of 5880 is not, and of both everybody is kept."""
    monkeypatch.setattr(reserve, "_GROUP_ROOM", room)
    estimates = regional(name)
    assert set(read.values()) == {12_000 if room == 6000 else 18_000}
    assert abs(estimates["north"].mean - 40.0) < 1.0


def test_so_many_groups_that_nothing_is_set_aside(read: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "_MOST", 3999)
    regional("people.parquet")
    assert read == {"income": 12_000, "epsilon": 18_000, "region": 18_000}


def prepared(name: str, seed: int = 1) -> BatchSource:
    source = open_table(name, LAYOUT)
    source.prepare_sample(Randomness.seeded(seed))
    source.census(Cells(BOUNDED))
    return source


@FILES
def test_a_seed_keeps_the_same_records_however_threads_fall(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve, "_ROOM", 3000)
    rule = thinning_of(BOUNDED, 1, cap=1.0, density=0.4)
    first, again, other = (prepared(name, seed).sample(rule, Randomness.seeded(2)).values for seed in (1, 1, 3))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert 1000 < first.size < 1400, "0.4 times a half of 6000"


@FILES
def test_one_sample_is_taken_of_it_and_no_second_one(name: str, read: Counter[str]) -> None:
    rule = thinning_of(BOUNDED, 1, cap=1.0, density=0.4)
    source = prepared(name)
    first = source.sample(rule, Randomness.seeded(2)).values
    assert read == {"income": 6000, "epsilon": 6000}
    second = source.sample(rule, Randomness.seeded(2)).values
    assert read == {"income": 12_000, "epsilon": 12_000}
    assert not np.array_equal(first, second)


@FILES
def test_a_forked_process_tosses_coins_of_its_own(
    name: str, read: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = prepared(name)
    monkeypatch.setattr(keystream, "_forks", keystream._forks + 1)
    kept = source.sample(thinning_of(BOUNDED, 1, cap=1.0, density=0.4), Randomness.seeded(2))
    assert read == {"income": 12_000, "epsilon": 12_000}
    assert 0 < kept.values.size < 6000


@FILES
def test_a_second_census_puts_nobody_into_it_again(name: str, read: Counter[str]) -> None:
    source = prepared(name)
    source.census(Cells(BOUNDED))
    assert read == {"income": 6000, "epsilon": 12_000}
    kept = source.sample(thinning_of(BOUNDED, 1, cap=1.0, density=2.0**900), Randomness.seeded(2)).values
    assert np.unique(kept).size == kept.size == 6000


@FILES
def test_progress_tells_of_a_sample_that_reads_nothing(name: str) -> None:
    told: list[tuple[str, int, int | None]] = []
    regional(name, progress=lambda *call: told.append(call))
    assert ("sample", 6000, 6000) in told
    assert list(dict.fromkeys(step for step, _, _ in told)) == ["census", "sample", "sum"]
    hundredths: list[tuple[str, int, int | None]] = []
    options: dict[str, Any] = {"model": "unbounded", "budget_range": (0.5, 2.0)}
    regional(name, progress=lambda *call: hundredths.append(call), **options)
    assert hundredths == [(step, part, 100) for step in ("census", "sample", "sum") for part in range(1, 101)]


def test_a_wrong_budget_is_named_as_without_a_reserve() -> None:
    budgets = np.ones(6000)
    budgets[[777, 4000]] = -0.5
    wrong = pa.table({"income": np.zeros(6000), "epsilon": budgets})
    pq.write_table(wrong, "wrong.parquet", row_group_size=200)
    with pytest.raises(InvalidInputError, match=r"record 777 has -0\.5"):
        estimate_mean("wrong.parquet", value="income", budget="epsilon")
