"""The law of a sample, from `prepare_sample` and the census on: each record at its rate, and all independently.

Of few records by enumeration: every path of every coin, so that the law is known to 1e-9. Of many, and of many samples
of few, with a seed: each count lies in the central range of its binomial law but for one in a million, and the same
count at 1.25 times the rate lies outside it with a probability that `test_a_rate_a_quarter_too_large_is_rejected`
computes, above 1 - 1e-6.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from exact.enumeration import law
from kept_records import (
    ASKED,
    ONE_IN_A_MILLION,
    accepted,
    chance_of_acceptance,
    kept_flags,
    pair_rates,
    rates_of,
    rows_of,
    rule_of,
    single_rates,
)
from numpy.typing import NDArray
from scipy.stats import norm
from source_builders import Rows
from source_kinds import FILES, TABLES, cut, opener

from pdpmean.core.model import BOUNDED
from pdpmean.core.types import Floats
from pdpmean.passes.cells import count_budgets
from pdpmean.passes.source import BatchSource, Source
from pdpmean.passes.thinning import Thinning
from pdpmean.randomness import Randomness
from pdpmean.sources.layout import Layout

EXACT = 1e-9
Outcome = tuple[float, ...]
Law = dict[Any, float]


def sample(source: Source, rule: Thinning, randomness: Randomness) -> Floats:
    """Who is kept, by number, as an estimate goes about it."""
    source.prepare_sample(randomness.spawn())
    count_budgets(source, BOUNDED)
    return source.sample(rule, randomness).values


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many records of a table or a file have been converted so far."""
    sizes: list[int] = []
    real = Layout.batch

    def batch(self: Layout, records: pa.RecordBatch, *, values: bool) -> Any:
        sizes.append(records.num_rows)
        return real(self, records, values=values)

    monkeypatch.setattr(Layout, "batch", batch)
    return lambda: sum(sizes)


def limit_reserve(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """Room for so many records in a reserve, in each group if there are some."""
    monkeypatch.setattr("pdpmean.passes.reserve._ROOM", room)
    monkeypatch.setattr("pdpmean.passes.reserve._GROUP_ROOM", room)


# By enumeration

FEW = rows_of([2.0, 8.0, 6.0], ["north", "north", "south"])
GROUPED = rows_of([8.0, 8.0, 6.0, 8.0], ["north", "south", "south", "west"])
CASES: dict[str, tuple[Rows, tuple[str, ...] | None]] = {"together": (FEW, None), "groups": (GROUPED, ASKED)}
ENOUGH, TOO_LITTLE = "enough is set aside", "too little is set aside"
ROOMS = {ENOUGH: 2, TOO_LITTLE: 1}  # of 3 records at rates up to 0.4; of 2 in a group at rates up to 0.6
LAWFUL = [*((kind, ENOUGH) for kind in TABLES), *itertools.product(FILES, ROOMS)]  # of tables nothing is set aside


def read_in_order(streams: Any) -> Iterator[Any]:
    return itertools.chain.from_iterable(streams)


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything in order, so that a path of coins can be taken again."""
    for module in (
        "pdpmean.passes.source",
        "pdpmean.sources.tables",
        "pdpmean.sources.files.source",
        "pdpmean.passes.reserve",
    ):
        monkeypatch.setattr(f"{module}.in_threads", map)
    monkeypatch.setattr("pdpmean.sources.files.source.read_ahead", read_in_order)


def independent_coins(rates: Sequence[float]) -> Law:
    """The law of a sample, as it should be."""
    chances: Law = {}
    for heads in itertools.product([False, True], repeat=len(rates)):
        who = tuple(float(record) for record, kept in enumerate(heads) if kept)
        chances[who] = math.prod(rate if kept else 1 - rate for rate, kept in zip(rates, heads, strict=True))
    return chances


def law_of(draw: Callable[[Randomness], Any]) -> Law:
    return dict(law(draw).items())


def distance(ours: Law, theirs: Law) -> float:
    """By how much the probability of any set of outcomes differs."""
    return math.fsum(abs(ours.get(who, 0.0) - theirs.get(who, 0.0)) for who in ours | theirs) / 2


def law_of_sample(open_source: Callable[[], Source], rule: Thinning) -> Law:
    """Of a source opened anew on every path: one that has been read knows how many records there are."""
    return law_of(lambda randomness: outcome(sample(open_source(), rule, randomness)))


def outcome(values: Floats) -> Outcome:
    return tuple(sorted(values.tolist()))


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("kind", "room"), LAWFUL)
def test_few_records_are_kept_by_independent_coins(
    kind: str, case: str, room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reading: Callable[[], int]
) -> None:
    cut(monkeypatch, batch=1, piece=2, block=64, merged_up_to=1, many_streams=2)
    limit_reserve(monkeypatch, ROOMS[room])
    rows, groups = CASES[case]
    open_source = opener(kind, rows, tmp_path, part=1, groups=groups)
    found = law_of_sample(open_source, rule_of(groups))
    assert distance(found, independent_coins(rates_of(rows, groups))) < EXACT
    if kind in FILES:
        before = reading()
        sample(open_source(), rule_of(groups), Randomness.seeded(1))
        passes = (reading() - before) / rows.values.size
        assert passes == (1 if room == ENOUGH else 2)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("kind", FILES)
def test_two_samples_are_independent(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one source, after one census: the first is of what was set aside, the second is not."""
    limit_reserve(monkeypatch, 1)
    rows = rows_of([8.0, 2.0], ["north", "north"])
    open_source = opener(kind, rows, tmp_path, part=1)

    def draw(randomness: Randomness) -> tuple[Outcome, Outcome]:
        source = open_source()
        first = sample(source, rule_of(None), randomness)
        return outcome(first), outcome(source.sample(rule_of(None), randomness).values)

    one = independent_coins(rates_of(rows, None))
    both = {(first, second): one[first] * one[second] for first in one for second in one}
    assert distance(law_of(draw), both) < EXACT


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("room", ROOMS)
def test_a_wrong_rate_is_far_from_the_law(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_reserve(monkeypatch, ROOMS[room])
    found = law_of_sample(opener("Parquet", FEW, tmp_path, part=1), rule_of(None, factor=1.25))
    assert distance(found, independent_coins(rates_of(FEW, None))) > 0.05


# Of many records, with a seed

MANY = 60_000
MANY_BUDGETS = (2.0, 4.0, 8.0)
WIDE = rows_of(np.resize(MANY_BUDGETS, MANY).tolist(), np.repeat([*ASKED, "west"], [40_000, 19_000, 1_000]).tolist())
WIDE_ROOM = {ENOUGH: 30_000, TOO_LITTLE: 5_000}


def neighbours(sizes: Sequence[int]) -> NDArray[np.intp]:
    return np.arange(sum(sizes) // 2 * 2).reshape(-1, 2)


def same_place_in_two_batches(sizes: Sequence[int]) -> NDArray[np.intp]:
    """Of every other batch, the records and those at the same place in the next: they must not share coins."""
    starts = [0, *itertools.accumulate(sizes)]
    found = [
        np.column_stack(
            [np.arange(starts[batch], starts[batch] + size), np.arange(starts[batch + 1], starts[batch + 1] + size)]
        )
        for batch in range(0, len(sizes) - 1, 2)
        for size in [min(sizes[batch], sizes[batch + 1])]
    ]
    return np.concatenate(found)


@pytest.mark.parametrize("groups", [None, ASKED], ids=["together", "groups"])
@pytest.mark.parametrize(("kind", "room"), LAWFUL)
def test_many_records_are_kept_at_their_rates_and_independently(
    kind: str, groups: tuple[str, ...] | None, room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, batch=3000, piece=3000, block=2**16, merged_up_to=1)
    limit_reserve(monkeypatch, WIDE_ROOM[room])
    source = opener(kind, WIDE, tmp_path, part=1500, groups=groups)()
    rates = np.array(rates_of(WIDE, groups))
    kept = kept_flags(sample(source, rule_of(groups), Randomness.seeded(1)), MANY)
    assert accepted(single_rates(rates, kept), lambda rate: rate)
    assert isinstance(source, BatchSource)
    sizes = [batch.budgets.size for batch in source.batches()]
    assert len(sizes) >= 8
    for pairs in (neighbours(sizes), same_place_in_two_batches(sizes)):
        assert accepted(pair_rates(rates, kept, pairs), math.prod)


@pytest.mark.parametrize("groups", [None, ASKED], ids=["together", "groups"])
def test_a_rate_a_quarter_too_large_is_rejected(groups: tuple[str, ...] | None, tmp_path: Path) -> None:
    """With a probability above 1 - 1e-6; and with the seed in use."""
    rates = np.array(rates_of(WIDE, groups))
    source = opener("arrays", WIDE, tmp_path, part=1500, groups=groups)()
    mutant = kept_flags(sample(source, rule_of(groups, factor=1.25), Randomness.seeded(1)), MANY)
    counts = single_rates(rates, mutant)
    assert chance_of_acceptance(counts, factor=1.25) < ONE_IN_A_MILLION
    assert not accepted(counts, lambda rate: rate)


@pytest.mark.parametrize("pairing", [neighbours, same_place_in_two_batches])
def test_shared_coins_are_rejected(pairing: Callable[[Sequence[int]], NDArray[np.intp]]) -> None:
    """Where both records of a pair have the same coin, they are both kept at the smaller of their rates."""
    rates = np.array(rates_of(WIDE, None))
    pairs = pairing([3000] * 20)
    coins = np.random.default_rng(1).random(MANY)
    assert accepted(pair_rates(rates, coins < rates, pairs), math.prod)
    coins[pairs[:, 1]] = coins[pairs[:, 0]]
    assert not accepted(pair_rates(rates, coins < rates, pairs), math.prod)


# Of many samples of few records

SOME = rows_of(np.resize(MANY_BUDGETS, 300).tolist(), ["north"] * 300)
SOME_ROOM = {ENOUGH: 150, TOO_LITTLE: 30}
SAMPLES = 250
Sampling = Callable[[Randomness], Floats]


def kept_in_all(draw: Sampling) -> tuple[Floats, NDArray[np.bool_]]:
    """The rates of all records in all samples, one after the other, and who is kept."""
    found = [kept_flags(draw(Randomness.seeded(seed)), SOME.values.size) for seed in range(SAMPLES)]
    return np.tile(rates_of(SOME, None), SAMPLES), np.concatenate(found)


def larger_of_two(draw: Sampling) -> Sampling:
    """A mutant, which keeps too many wherever few are."""

    def larger(randomness: Randomness) -> Floats:
        return max(draw(randomness.spawn()), draw(randomness.spawn()), key=len)

    return larger


@pytest.mark.parametrize("room", SOME_ROOM)
@pytest.mark.parametrize("kind", ["Parquet", "CSV", "Arrow file"])
def test_no_sample_is_chosen_by_its_size(kind: str, room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The larger of two has about 0.56 of its standard deviation too many records, 8.9 of that of 250 samples.

    So it is rejected, at 4.9 standard deviations, with a probability above 0.999.
    """
    limit_reserve(monkeypatch, SOME_ROOM[room])
    open_source = opener(kind, SOME, tmp_path, part=50)
    rates, kept = kept_in_all(lambda randomness: sample(open_source(), rule_of(None), randomness))
    low, high = sum_range(rates)
    assert low <= kept.sum() <= high


def sum_range(rates: Floats) -> tuple[float, float]:
    """Where the number of records kept lies but for one in a million: so many are as good as normal."""
    middle, deviation = rates.sum(), math.sqrt((rates * (1 - rates)).sum())
    reach = float(norm.isf(ONE_IN_A_MILLION / 2)) * deviation
    return middle - reach, middle + reach


def test_the_larger_of_two_samples_is_rejected(tmp_path: Path) -> None:
    source = opener("arrays", SOME, tmp_path, part=50)()
    rates, kept = kept_in_all(larger_of_two(lambda randomness: sample(source, rule_of(None), randomness)))
    assert kept.sum() > sum_range(rates)[1]
