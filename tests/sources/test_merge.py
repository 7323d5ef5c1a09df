"""One record per person: made of their own rows alone, whatever the order, from every table, and in little room."""

from __future__ import annotations

import errno
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from source_builders import BUILDERS, GROUPS, LAYOUT, Rows

from pdpmean import InvalidInputError, Ledger, Randomness, estimate_mean, plan_mean
from pdpmean.core.quiet import quiet
from pdpmean.core.types import Floats
from pdpmean.ledger.amount import NOTHING, Amount
from pdpmean.sources import merge
from pdpmean.sources.arrays import ArraySource
from pdpmean.sources.layout import Layout
from pdpmean.sources.merge import MergedSource
from pdpmean.sources.opening import open_table
from pdpmean.sources.spill import Spill

# Once in a while noise is such that there is no answer, which is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")

UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.25, 2.0)}
NOWHERE = len(GROUPS)  # the code of groups that were not asked for


class Row(NamedTuple):
    person: str | int | np.integer[Any] | None
    value: float
    budget: float = 1.0
    group: int = 0


Record = tuple[str | None, str, str, int]


def by_hand(rows: Sequence[Row]) -> Counter[Record]:
    """The records, as the documents say what they are."""
    records: list[Record] = []
    for person in {str(row.person) for row in rows if row.person is not None}:
        own = [row for row in rows if str(row.person) == person]
        group = min(row.group for row in own)
        numbers = sorted(row.value for row in own if row.group == group and not math.isnan(row.value))
        mean = reduce(add, numbers, 0.0) / len(numbers) if numbers else math.nan
        budgets = [row.budget for row in own]
        budget = math.nan if any(map(math.isnan, budgets)) else min(budgets)
        records.append((person if group < NOWHERE else None, repr(mean), repr(budget), group))
    return Counter(records)


def records_of(source: MergedSource) -> Counter[Record]:
    people = iter([person for ids, _ in source.people() for person in ids])
    records: Counter[Record] = Counter()
    for batch in source.batches():
        groups = np.zeros(batch.budgets.size, np.int32) if batch.groups is None else batch.groups
        columns = (batch.values.tolist(), batch.budgets.tolist(), groups.tolist())
        for value, budget, group in zip(*columns, strict=True):
            records[next(people), repr(value), repr(budget), group] += 1
    assert next(people, "nobody") == "nobody"
    return records


def merged(rows: Sequence[Row], *, room: int = 2**20, public: bool = False) -> MergedSource:
    source = ArraySource(
        np.array([row.value for row in rows], dtype=np.float64),
        np.array([row.budget for row in rows], dtype=np.float64),
        np.array([row.group for row in rows], dtype=np.int32),
        NOWHERE,
        [row.person for row in rows],
        public=public,
    )
    with mock.patch.object(merge, "_HELD", room), mock.patch.object(merge, "_BATCH", room), quiet():
        return MergedSource(source, public=public)


NUMBERS = st.sampled_from([0.1, 0.2, 0.3, -0.0, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]) | st.floats()
BUDGETS = st.sampled_from([0.5, 1.0, 2.0, 0.0, -1.0, math.inf, math.nan])
ROWS = st.lists(
    st.builds(Row, st.sampled_from(["a", "b", "c", "d", None]), NUMBERS, BUDGETS, st.integers(0, NOWHERE)), max_size=30
)


@given(ROWS, st.sampled_from([1, 4, 2**20]), st.randoms())
@settings(max_examples=100)
def test_a_record_is_what_the_documents_say_whatever_the_order_of_rows(rows: list[Row], room: int, random: Any) -> None:
    expected = by_hand(rows)
    assert records_of(merged(rows, room=room)) == expected
    random.shuffle(rows)
    assert records_of(merged(rows, room=room)) == expected


@given(ROWS, ROWS.map(lambda rows: [row._replace(person="x") for row in rows]), st.sampled_from([1, 2**20]))
@settings(max_examples=60)
def test_a_person_is_one_record_more_or_less(others: list[Row], own: list[Row], room: int) -> None:
    """Unbounded neighbours: with all rows of a person, or without them, which are one record or none."""
    without, beside = records_of(merged(others, room=room)), records_of(merged([*own, *others], room=room))
    assert not without - beside
    assert (beside - without).total() == bool(own)


@given(ROWS, ROWS, ROWS, st.sampled_from([1, 2**20]))
@settings(max_examples=60)
def test_replacing_all_rows_of_a_person_replaces_one_value(
    others: list[Row], own: list[Row], instead: list[Row], room: int
) -> None:
    """Bounded neighbours: the smallest budget and the first group stay, which are public; rows may be more or fewer."""
    pinned = Row("x", math.nan, 0.25, 1)

    def with_rows(rows: list[Row]) -> Counter[Record]:
        kept = [row._replace(person="x", budget=max(row.budget, 0.25), group=max(row.group, 1)) for row in rows]
        kept = [row._replace(budget=1.0) if math.isnan(row.budget) else row for row in kept]
        return records_of(merged([*others, *kept, pinned], room=room))

    one, other = with_rows(own), with_rows(instead)
    assert (one - other).total() == (other - one).total() <= 1
    for person, _, budget, group in (*(one - other), *(other - one)):
        assert (person, budget, group) == ("x", "0.25", 1)


MANY = Rows.drawn(400)
THRICE = replace(MANY, ids=[number // 3 for number in MANY.ids])


def rows_by_hand(rows: Rows) -> list[Row]:
    codes = [GROUPS.index(region) if region in GROUPS else NOWHERE for region in rows.regions]
    return [Row(*row) for row in zip(rows.ids, rows.values.tolist(), rows.budgets.tolist(), codes, strict=True)]


@pytest.mark.parametrize("room", [20, 2**20])
@pytest.mark.parametrize("name", BUILDERS)
def test_every_table_gives_the_same_records(name: str, room: int, tmp_path: Path) -> None:
    layout = replace(LAYOUT, person="person", merged=True)
    with mock.patch.object(merge, "_HELD", room), quiet():
        source: Any = open_table(BUILDERS[name](THRICE, tmp_path), layout)
        assert records_of(MergedSource(source, public=False)) == by_hand(rows_by_hand(THRICE))


def test_numbers_and_text_are_the_same_ids() -> None:
    assert records_of(merged([Row(7, 1.0), Row("7", 2.0), Row(np.int8(7), 6.0)])) == by_hand([Row("7", 3.0)])


def test_many_rows_of_one_person_stay_together() -> None:
    """However often rows are parted."""
    rows = [Row("all", float(number)) for number in range(50)]
    assert records_of(merged(rows, room=1)) == by_hand(rows)


def test_a_full_disk_is_told() -> None:
    spill = Spill(pa.schema([("id", pa.string())]))
    full = mock.Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    with (
        mock.patch.object(spill, "_file", mock.Mock(write=full)),
        pytest.raises(InvalidInputError, match="cannot hold the rows that are set aside: No space left on device"),
    ):
        spill.add(0, pa.record_batch({"id": ["a"]}))


# In an estimate

RNG = np.random.default_rng(8)
PEOPLE = np.repeat(np.arange(1500), RNG.integers(1, 5, 1500))
VALUES = RNG.normal(38, 6, PEOPLE.size) + RNG.normal(0, 5, 1500)[PEOPLE]
MEANS = np.array([VALUES[person == PEOPLE].mean() for person in range(1500)])
GRANTS = np.where(np.arange(1500) % 2, 1.0, 2.0)
TABLE = pa.table({"id": PEOPLE, "hours": VALUES, "epsilon": GRANTS[PEOPLE]})
ASKED: dict[str, Any] = {"value": "hours", "person": "id", "rows": "mean"}


def seeded(table: Any, **options: Any) -> Any:
    return estimate_mean(table, randomness=Randomness.seeded(4), **options)


@pytest.mark.parametrize("model", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_an_estimate_of_rows_is_one_of_people(model: dict[str, Any]) -> None:
    found = seeded(TABLE, budget="epsilon", **ASKED, **model)
    order = np.argsort(np.arange(1500).astype(str))  # people come in the order of their ids
    expected = estimate_mean(MEANS[order], GRANTS[order], randomness=Randomness.seeded(4), **model)
    assert found.mean == pytest.approx(expected.mean, rel=1e-9)
    columns = seeded(VALUES, budgets=GRANTS[PEOPLE], person=PEOPLE, rows="mean", **model)
    assert columns.mean == found.mean


def test_a_guarantee_is_for_all_rows_of_a_person() -> None:
    bounded = estimate_mean(TABLE, budget="epsilon", **ASKED).guarantee
    assert "replacing all rows of one person changes" in bounded
    assert bounded.endswith("All rows of a person are one record, at the smallest of their budgets.")
    assert "adding or removing all rows" in estimate_mean(TABLE, budget="epsilon", **ASKED, **UNBOUNDED).guarantee


@pytest.mark.parametrize("model", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_a_ledger_charges_a_person_once(tmp_path: Path, model: dict[str, Any]) -> None:
    with Ledger(tmp_path / "people.db") as ledger:
        ledger.grant_all((str(person), 2) for person in range(1500))
        estimate_mean(TABLE, **ASKED, ledger=ledger, purpose="a test", share=0.5, **model)
        assert ledger.balance("7").spent == Amount.rounded_down(1)
        assert ledger.releases()[0].people == 1500


def test_a_ledger_charges_nobody_of_other_groups(tmp_path: Path) -> None:
    regions = np.where(PEOPLE < 1000, "north", "south")
    table = TABLE.append_column("region", pa.array(regions))
    with Ledger(tmp_path / "people.db") as ledger:
        ledger.grant_all((str(person), 2) for person in range(1500))
        asked = {**ASKED, "by": "region", "groups": ["north"]}
        estimate_mean(table, **asked, ledger=ledger, purpose="a test", share=0.5)
        assert ledger.balance("999").spent > NOTHING
        assert ledger.balance("1000").spent == NOTHING


def test_a_plan_counts_people_once(tmp_path: Path) -> None:
    plan = plan_mean(TABLE, budget="epsilon", person="id", rows="mean")
    assert plan.total == GRANTS.sum()
    with Ledger(tmp_path / "people.db") as ledger:
        ledger.grant_all((str(person), 2) for person in range(2000))
        assert plan_mean(TABLE, person="id", rows="mean", ledger=ledger).total == 3000


def refusal(table: Any, **options: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        estimate_mean(table, **options)
    return str(caught.value)


def test_refusals_reveal_nothing_about_single_rows(tmp_path: Path) -> None:
    """Where rows are wrong, no message tells which or how many of them there are: that is private."""
    named = {**ASKED, "budget": "epsilon"}
    assert "rows must be 'mean', or left out; got 'sum'" in refusal(TABLE, **{**named, "rows": "sum"})
    assert "rows needs person=" in refusal(TABLE, **{**named, "person": None})
    assert "Pass rows='mean'" in refusal(TABLE, **{**named, "rows": None})
    assert "rows='mean'" in refusal(TABLE, **{**named, "rows": None}, **UNBOUNDED)
    halves = TABLE.set_column(0, "id", pa.array(PEOPLE / 2))
    assert "person='id' must be text or whole numbers" in refusal(halves, **named)
    nameless = TABLE.set_column(0, "id", pa.array([None, *PEOPLE[1:].tolist()]))
    assert refusal(nameless, **named) == "person='id' must name the person of every record; some have none"
    negative = TABLE.set_column(2, "epsilon", pa.array(np.where(PEOPLE == 7, -1.0, 1.0)))
    assert "1 people have a row whose budget is negative or missing" in refusal(negative, **named)
    lengths = refusal(VALUES, budgets=GRANTS[PEOPLE][1:], person=PEOPLE, rows="mean")
    assert not any(character.isdigit() for character in lengths)
    (tmp_path / "people.csv").write_text("id,hours,epsilon\n1,2,1\n1,2\n")
    ragged = refusal(tmp_path / "people.csv", **named)
    assert ragged.endswith("people.csv has a row with too many or too few fields")
    with pytest.raises(InvalidInputError, match="rows goes with a table"):
        plan_mean([1.0], person="id", rows="mean")


def test_rows_of_nobody_are_left_out_where_people_are_private() -> None:
    nameless = TABLE.set_column(0, "id", pa.array([None, *PEOPLE[1:].tolist()]))
    without = TABLE.slice(1)
    options = {**ASKED, "budget": "epsilon", **UNBOUNDED}
    assert seeded(nameless, **options).mean == seeded(without, **options).mean


def test_values_are_read_as_entries_where_one_is_asked_for() -> None:
    answers = pa.table({"id": [1, 1, 1, 2], "answer": ["yes", "no", None, "no"], "epsilon": [1.0] * 4})
    layout = Layout("answer", "epsilon", person="id", equals="yes", merged=True)
    source: Any = open_table(answers, layout)
    values: Floats = next(MergedSource(source, public=True).batches()).values
    assert values.tolist() == [0.5, 0.0]
