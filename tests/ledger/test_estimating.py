"""Estimates with a ledger: everybody's cost is there before anything is drawn, and stays there whatever happens."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rude import RUDE, boxed, raising, rude_column

from pdpmean import (
    InsufficientBudgetError,
    InvalidInputError,
    Ledger,
    LedgerError,
    Randomness,
    estimate_mean,
    plan_mean,
)
from pdpmean.ledger.amount import NOTHING, Amount
from pdpmean.ledger.reservation import Reservation
from pdpmean.passes.cells import count_budgets

# Once in a while noise is such that there is no answer, which is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")

PEOPLE = 2000
IDS = [f"p{number}" for number in range(PEOPLE)]
GRANTS = np.where(np.arange(PEOPLE) % 2, 1.0, 4.0)
VALUES = np.random.default_rng(5).normal(38, 10, PEOPLE)
TABLE = pd.DataFrame(
    {"id": IDS, "hours": VALUES, "granted": GRANTS, "region": np.where(np.arange(PEOPLE) < 1000, "a", "b")}
)
UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.25, 2.0)}


@pytest.fixture
def ledger(tmp_path: Path) -> Any:
    with Ledger(tmp_path / "people.db") as made:
        made.grant_all(zip(IDS, GRANTS.tolist(), strict=True))
        yield made


def ask(ledger: Ledger, table: Any = TABLE, **options: Any) -> Any:
    options = {"value": "hours", "person": "id", "purpose": "hours at work", **options}
    return estimate_mean(table, ledger=ledger, **options)


def spent(ledger: Ledger) -> list[float]:
    """By the first four people."""
    return [float(ledger.balance(person).spent) for person in IDS[:4]]


def states(ledger: Ledger) -> list[str]:
    return [release.state for release in ledger.releases()]


# What it costs


def test_a_release_costs_everybody_their_share(ledger: Ledger) -> None:
    found = ask(ledger, share=0.25)
    assert found.mean == pytest.approx(38, abs=3)
    assert spent(ledger) == [1, 0.25, 1, 0.25]
    assert "where cost is what the ledger charged them for release 1" in found.guarantee
    assert ledger.verify().passed


def test_shares_are_of_what_was_granted_until_nothing_is_left(ledger: Ledger) -> None:
    for _ in range(3):
        ask(ledger, share=0.4)
    assert spent(ledger) == [4, 1, 4, 1]
    with pytest.raises(InsufficientBudgetError, match="nobody in the data has budget left in the ledger"):
        ask(ledger)
    assert states(ledger) == ["committed"] * 3 + ["cancelled"]


def test_every_answer_says_what_it_cost_and_who_has_budget_left(ledger: Ledger) -> None:
    found = ask(ledger, spend=1)
    assert str(found.promise.spending) == "1 per person; 1,000 of the 2,000 people in the ledger have budget left"
    assert f"cost              {found.promise.spending}" in str(found)
    assert found.to_dict()["spending"] == {"least": 1.0, "most": 1.0, "people_left": 1000, "people": 2000}
    again = ask(ledger, by="region", groups=["a", "b"])
    assert "Cost: 3 per person; 0 of the 2,000 people in the ledger have budget left" in str(again)


def test_an_answer_about_those_who_have_budget_left_says_so(ledger: Ledger) -> None:
    ledger.grant("p0", 0)
    assert ask(ledger, TABLE[1200:]).warnings == ()
    found = ask(ledger)
    assert found.warnings[0] == ("800 of 1,999 people had nothing left of their budgets, and took no part")
    assert found.warnings[0] in " ".join(str(found).split())
    assert found.to_dict()["warnings"] == list(found.warnings)
    with pytest.raises(InsufficientBudgetError, match="nobody in the data has budget left"):
        ask(ledger)


def test_a_rest_that_is_due_to_rounding_is_nothing_left(ledger: Ledger) -> None:
    ledger.grant_all((person, "0.3") for person in IDS)
    for _ in range(3):
        ask(ledger, TABLE[:1500], share=Fraction(1, 3), bounds=(0, 100))
    found = ask(ledger, share=0.9, bounds=(0, 100), weighting="budgets")
    (text,) = [text for text in found.warnings if "left" in text]
    assert text == "1,500 of 2,000 people had nothing left of their budgets, and took no part"


@pytest.mark.parametrize(
    ("options", "number"), [({"share": 0.6}, 1000), ({"spend": 0.6}, 500), ({"spend": 0.4}, 0), ({}, 0)]
)
def test_an_answer_says_who_had_less_left_than_was_asked_for(
    ledger: Ledger, options: dict[str, Any], number: int
) -> None:
    ask(ledger, TABLE[:1000], share=0.5)
    texts = [text for text in ask(ledger, **options).warnings if "left" in text]
    assert texts == [f"{number:,} of 2,000 people had less left than was asked for, and took part with that"] * (
        number > 0
    )


def test_who_has_budget_left_is_not_told_where_that_is_private(ledger: Ledger) -> None:
    assert str(ask(ledger, **UNBOUNDED).promise.spending) == "0.25 to 2 per person"


def test_nor_is_who_had_nothing_left(ledger: Ledger) -> None:
    ask(ledger, TABLE[1000:], **UNBOUNDED)
    assert not any("left" in text for text in ask(ledger, **UNBOUNDED).warnings)


def test_a_ledger_that_cannot_be_read_costs_no_answer(ledger: Ledger) -> None:
    with mock.patch.object(Ledger, "remaining", side_effect=LedgerError("the disk is gone")):
        found = ask(ledger)
    assert str(found.promise.spending) == "1 to 4 per person"
    assert states(ledger) == ["committed"]


def test_what_refused_groups_get_back_is_not_counted_as_spent(ledger: Ledger) -> None:
    found = ask(ledger, by="region", groups=["a", "nobody"])
    assert list(found.refused) == ["nobody"]
    assert str(found.promise.spending) == "1 to 4 per person"


def test_a_most_in_nats_instead_of_a_share(ledger: Ledger) -> None:
    ask(ledger, spend="0.5")
    assert spent(ledger) == [0.5, 0.5, 0.5, 0.5]
    with pytest.raises(InvalidInputError, match="not both"):
        ask(ledger, spend=0.5, share=0.5)


def used_budgets(ledger: Ledger, **options: Any) -> list[float]:
    """The budgets that the records are counted with, of the first four."""
    seen: list[float] = []

    def counting(source: Any, model: Any) -> Any:
        seen.extend(np.concatenate([batch.budgets for batch in source.batches(values=False)])[:4].tolist())
        return count_budgets(source, model)

    with mock.patch("pdpmean.estimate.count_budgets", counting):
        ask(ledger, **options)
    return seen


def test_no_record_is_used_at_more_than_it_is_charged(ledger: Ledger) -> None:
    ledger.grant(IDS[0], "0.1")
    ledger.grant(IDS[1], 0)
    ledger.grant(IDS[2], "1e-3")
    used = used_budgets(ledger, share=Fraction(1, 3))
    charged = [ledger.balance(person).spent for person in IDS[:4]]
    assert used[1] == 0
    assert [Fraction(budget) for budget in used] == [Fraction(amount.exact) for amount in charged]
    assert [amount.units for amount in charged] == [2**40 // 10 // 3, 0, 2**40 // 1000 // 3, 2**40 // 3]


def test_a_budget_without_limit_is_used_without_limit(ledger: Ledger) -> None:
    ledger.grant(IDS[0], math.inf)
    assert used_budgets(ledger, share=0.5)[0] == math.inf
    assert used_budgets(ledger, spend=0.25)[0] == 0.25
    assert ledger.verify().passed


def test_budgets_of_the_data_are_checked_and_used(ledger: Ledger) -> None:
    halves = TABLE.assign(granted=GRANTS / 2)
    ask(ledger, halves, budget="granted")
    assert spent(ledger) == [2, 0.5, 2, 0.5]
    with pytest.raises(InvalidInputError, match=r"2,000 of 2,000 people have a larger budget in the data"):
        ask(ledger, TABLE.assign(granted=GRANTS * 2), budget="granted")
    ask(ledger, budgets=0.25)
    assert spent(ledger) == [2.25, 0.75, 2.25, 0.75]


def test_what_is_no_budget_reaches_no_database(where: str) -> None:
    """Where budgets are private it is nothing, quietly; where they are public it is told."""
    budgets = GRANTS / 4
    budgets[:4] = [math.nan, -1.0, -math.inf, 1e300]
    with Ledger(where) as ledger:
        ledger.grant_all(zip(IDS, GRANTS.tolist(), strict=True))
        with pytest.raises(InvalidInputError, match="column 'granted' must have budgets >= 0; record 0 is empty"):
            ask(ledger, TABLE.assign(granted=budgets), budget="granted")
        ask(ledger, TABLE.assign(granted=budgets), budget="granted", **UNBOUNDED)
        assert spent(ledger) == [0, 0, 0, 1]


def test_people_of_other_groups_are_not_charged(ledger: Ledger) -> None:
    found = ask(ledger, by="region", groups=["a"], share=0.5)
    assert list(found) == ["a"]
    assert ledger.balance("p999").spent > NOTHING
    assert ledger.balance("p1000").spent == NOTHING


@pytest.mark.parametrize(("model", "part"), [({}, 0), (UNBOUNDED, Fraction(1, 16))], ids=["bounded", "unbounded"])
def test_people_of_refused_groups_pay_for_what_was_drawn_of_them(
    where: str, model: dict[str, Any], part: Fraction
) -> None:
    """Of the first ten, who are a group too small to be told about; nothing, or the noisy census alone."""
    table = TABLE.assign(region=["few"] * 10 + ["many"] * 1900 + ["not asked for"] * 90)
    with Ledger(where) as ledger:
        ledger.grant_all(zip(IDS, GRANTS.tolist(), strict=True))
        ledger.grant("p3", math.inf)
        found = ask(ledger, table, by="region", groups=["many", "few"], spend=1, **model)
        assert list(found.refused) == ["few"]
        assert [ledger.balance(person).spent.exact for person in ("p0", "p3", "p9")] == [part] * 3
        assert [ledger.balance(person).spent.exact for person in ("p10", "p1909", "p1910")] == [1, 1, 0]
        (release,) = ledger.releases()
        assert release.total.exact == 1900 + 10 * part
        assert release.people == (1910 if part else 1900)
        assert ledger.verify().passed


def test_people_are_spared_only_when_the_release_is_made(ledger: Ledger) -> None:
    table = TABLE.assign(region=["few"] * 10 + ["many"] * 1990)
    options = {"by": "region", "groups": ["many", "few"], "spend": 1}
    with mock.patch("pdpmean.estimate.locate", side_effect=RuntimeError), pytest.raises(RuntimeError):
        ask(ledger, table, **options)
    assert (spent(ledger), states(ledger)) == ([1, 1, 1, 1], ["settled"])


# Who


@pytest.mark.parametrize("people", [None, [*IDS[:-1], None], [*IDS[:-1], ""]])
def test_everybody_needs_an_id_where_people_are_public(ledger: Ledger, people: Any) -> None:
    with pytest.raises(InvalidInputError, match="person"):
        ask(ledger, VALUES, value=None, person=people)
    assert ledger.releases() == []


def test_people_who_are_not_known_are_counted_in_the_bounded_model(ledger: Ledger) -> None:
    with pytest.raises(InvalidInputError, match=r"^5 of 2,000 people are not in the ledger"):
        ask(ledger, VALUES, value=None, person=[*IDS[:-5], "a", "b", "c", "d", "e"])
    assert spent(ledger) == [0, 0, 0, 0]


def test_people_twice_are_refused_in_the_bounded_model(ledger: Ledger) -> None:
    with pytest.raises(InvalidInputError, match="more than one record"):
        ask(ledger, VALUES, value=None, person=[*IDS[:-1], IDS[0]])
    assert ledger.releases() == []


class Hostile:
    def __eq__(self, other: object) -> bool:
        raise ValueError("secret")

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        raise ValueError("secret")


def test_strange_ids_are_left_out_quietly_in_the_unbounded_model(ledger: Ledger) -> None:
    odd = ["unknown", None, math.nan, Hostile(), b"p1", True, "a\0b", "\ud800", "", 1.5, np.timedelta64("NaT")]
    people = [*odd, IDS[0], IDS[0], IDS[1], *IDS[len(odd) + 3 :]]
    ask(ledger, VALUES, value=None, person=people, **UNBOUNDED)
    assert spent(ledger) == [0, 1, 0, 0]  # the first is there twice, the others under strange ids


@pytest.mark.parametrize("rows", [None, "mean"])
def test_bytes_that_are_no_text_are_left_out_quietly_in_the_unbounded_model(
    ledger: Ledger, tmp_path: Path, rows: str | None
) -> None:
    """Arrow and Parquet take a column's word that its bytes are text; an error would quote an id."""
    entries = pa.array([b"\xff\xfesecret", *map(str.encode, IDS[1:])], pa.binary())
    ids = pa.Array.from_buffers(pa.string(), PEOPLE, entries.buffers())
    table = pa.table({"id": ids, "hours": VALUES})
    pq.write_table(table, tmp_path / "people.parquet")
    with pytest.raises(InvalidInputError, match=r"must name the person of every record; some have none$"):
        ask(ledger, table, rows=rows)
    for number, data in enumerate((table, tmp_path / "people.parquet"), 1):
        ask(ledger, data, rows=rows, share=0.5, **UNBOUNDED)
        assert spent(ledger) == [0, number / 2, number, number / 2]


@pytest.mark.parametrize("column", [list, boxed], ids=["list", "array"])
def test_rude_ids_are_left_out_quietly_in_the_unbounded_model(ledger: Ledger, column: Callable[[Any], Any]) -> None:
    """Whatever their methods do; a number is read by its type, and one that Python cannot write is nobody's."""
    rude = [*rude_column(len(RUDE)), raising("__int__", "__str__", base=np.int64)(1), 10**5000, -(10**5000)]
    people = [*rude, *IDS[len(rude) :]]
    ledger.grant("-3", 1)
    ask(ledger, VALUES, value=None, person=column(people), **UNBOUNDED)
    assert spent(ledger) == [0, 0, 0, 0]
    assert ledger.balance("-3").spent == ledger.balance(IDS[-1]).spent == Amount.rounded_down(1)


def test_columns_that_hold_no_ids_are_refused_by_their_type(ledger: Ledger) -> None:
    for model in ({}, UNBOUNDED):
        with pytest.raises(InvalidInputError, match="must be text or whole numbers"):
            ask(ledger, person="granted", **model)
    assert ledger.releases() == []


# What happens on the way


def test_a_refusal_costs_nothing_where_budgets_are_public(ledger: Ledger) -> None:
    with pytest.raises(InsufficientBudgetError):
        ask(ledger, TABLE[:5])
    assert states(ledger) == ["cancelled"]
    assert spent(ledger) == [0, 0, 0, 0]


def test_a_refusal_after_a_noisy_census_costs_the_census(ledger: Ledger) -> None:
    with pytest.raises(InsufficientBudgetError, match="has used"):
        ask(ledger, TABLE[:50], **UNBOUNDED)
    assert spent(ledger) == [2 / 16, 1 / 16, 2 / 16, 1 / 16]
    assert states(ledger) == ["committed"]
    assert ledger.releases()[0].details["outcome"] == "refused"
    assert ledger.verify().passed


def test_the_unbounded_model_charges_within_its_range_alone(ledger: Ledger) -> None:
    ledger.grant(IDS[1], "0.2")
    ask(ledger, **UNBOUNDED)
    assert spent(ledger) == [2, 0, 2, 1]


@pytest.mark.parametrize(
    "limits", [{}, {"share": 0.5}, {"share": Fraction(1, 3)}, {"share": 0.7}, {"spend": "0.2"}, {"spend": "0.05"}]
)
def test_whoever_grants_either_end_of_the_public_range_takes_part(ledger: Ledger, limits: dict[str, Any]) -> None:
    """At what the ledger has left of it after rounding, a share, or a most: nobody is charged and left out."""
    ledger.grant_all((person, "0.1" if place % 2 else "0.3") for place, person in enumerate(IDS))
    counted: list[float] = []

    def counting(source: Any, model: Any) -> Any:
        budgets = np.concatenate([batch.budgets for batch in source.batches(values=False)])
        counted.extend(np.unique(model.allowances(budgets)).tolist())
        return count_budgets(source, model)

    with mock.patch("pdpmean.estimate.count_budgets", counting):
        ask(ledger, model="unbounded", budget_range=(0.1, 0.3), bounds=(0, 100), **limits)
    share, most = Fraction(str(limits.get("share", 1))), Amount.rounded_down(limits.get("spend", "inf"))
    costs = {min(Amount.rounded_down(granted).part(share), most) for granted in ("0.1", "0.3")}
    assert {ledger.balance(person).spent for person in IDS} == costs
    assert counted == [float(cost) for cost in sorted(costs)]


STEPS = ["count_budgets", "take_census", "plan_groups", "weight_squares", "locate", "average", "conclude"]
SPENT = {"bounded": [0, 0, 0, 1, 1, 1, 1], "unbounded": [0, 1, 1, 1, 1, 1, 1]}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("model", SPENT)
@pytest.mark.parametrize("step", STEPS)
def test_whatever_fails_once_something_may_be_drawn_is_spent(
    ledger: Ledger, step: str, model: str, error: type[BaseException]
) -> None:
    def fail(*_: Any) -> Any:
        assert states(ledger) == ["reserved"]
        raise error("secret")

    with mock.patch(f"pdpmean.estimate.{step}", fail), pytest.raises(error):
        ask(ledger, **(UNBOUNDED if model == "unbounded" else {}))
    drawn = SPENT[model][STEPS.index(step)]
    assert states(ledger) == ["settled" if drawn else "cancelled"]
    assert (spent(ledger)[1] == 1) == bool(drawn)
    assert "secret" not in str(ledger.releases()[0])
    assert ledger.verify().passed


def test_everything_is_reserved_before_anything_is_drawn(ledger: Ledger) -> None:
    drawn: list[str] = []

    def draws(*_: Any) -> Any:
        drawn.extend(states(ledger))
        raise KeyboardInterrupt

    with mock.patch.object(Randomness, "add_laplace", draws), pytest.raises(KeyboardInterrupt):
        ask(ledger, share=0.1, **UNBOUNDED)
    assert drawn == ["reserved"]


def test_a_result_that_could_not_be_recorded_is_not_lost(ledger: Ledger) -> None:
    def fail(*_: Any) -> Any:
        raise LedgerError("the disk is full")

    with mock.patch.object(Reservation, "commit", fail), pytest.raises(LedgerError, match="counts as spent") as raised:
        ask(ledger)
    assert raised.value.result.mean == pytest.approx(38, abs=3)
    assert spent(ledger) == [4, 1, 4, 1]
    assert ledger.verify().passed


# What the ledger keeps


def test_the_log_says_what_was_done(ledger: Ledger) -> None:
    found = ask(ledger, analyst="Ada", share=0.5, bounds=(0, 100))
    (release,) = ledger.releases()
    assert (release.purpose, release.analyst, release.people) == ("hours at work", "Ada", PEOPLE)
    assert release.total == Amount.rounded_down(GRANTS.sum() / 2)
    details = release.details
    assert details["dataset"] == "pandas.DataFrame"
    assert details["options"]["columns"] == {"value": "hours", "person": "id"}
    assert (details["options"]["share"], details["options"]["shape"]) == ("1/2", "bounds")
    assert details["shares"] == {name: float(share) for name, share in found.plan.shares.items()}
    assert details["plan"]["expected_std"] == found.plan.expected_std
    assert len(details["result"]) == 64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"person": None}, "a ledger needs person="),
        ({"purpose": None}, "what the release is for"),
        ({"randomness": Randomness.seeded(1)}, "seeded randomness protects nobody"),
        ({"spend": 0}, "spend must be above 0"),
    ],
)
def test_what_goes_with_a_ledger(ledger: Ledger, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ask(ledger, **options)
    assert ledger.releases() == []


def test_what_goes_with_no_ledger() -> None:
    with pytest.raises(InvalidInputError, match="spend goes with a ledger"):
        estimate_mean(VALUES, GRANTS, spend=0.5)
    with pytest.raises(InvalidInputError, match=r"ledger must be pdpmean\.Ledger"):
        estimate_mean(VALUES, person=IDS, ledger="people.db")


# Sources


def as_csv(folder: Path) -> Any:
    TABLE.to_csv(folder / "people.csv", index=False)
    return folder / "people.csv"


def as_parquet(folder: Path) -> Any:
    TABLE.to_parquet(folder / "people.parquet", row_group_size=100)
    return [str(folder / "people.parquet")]


SOURCES: dict[str, Callable[[Path], Any]] = {
    "CSV": as_csv,
    "Parquet": as_parquet,
    "polars": lambda _: pl.from_pandas(TABLE),
    "DuckDB": lambda _: duckdb.connect().from_df(TABLE),
}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("model", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_every_source_charges_the_same(ledger: Ledger, name: str, model: dict[str, Any], tmp_path: Path) -> None:
    found = ask(ledger, SOURCES[name](tmp_path), share=0.5, **model)
    assert found.mean == pytest.approx(38, abs=3)
    most = 1 if model else 2  # a budget above the public range counts as its end
    assert spent(ledger) == [most, 0.5, most, 0.5]


def test_a_file_of_groups_sets_records_aside_at_the_budgets_that_are_reserved(ledger: Ledger, tmp_path: Path) -> None:
    found = ask(ledger, as_parquet(tmp_path), share=0.5, by="region", groups=["a", "b"], bounds=(0, 100))
    assert [estimate.mean for estimate in found.values()] == pytest.approx([38, 38], abs=3)


# Plans


def test_a_plan_is_for_what_is_left(ledger: Ledger) -> None:
    ask(ledger, share=0.5)
    expected = plan_mean({2.0: PEOPLE // 2, 0.5: PEOPLE // 2})
    assert plan_mean(ledger=ledger).expected_std == expected.expected_std
    assert plan_mean(ledger=ledger, share=0.5).expected_std == expected.expected_std
    spared = plan_mean({0.25: PEOPLE})
    assert plan_mean(ledger=ledger, spend=0.25).expected_std == spared.expected_std


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (UNBOUNDED, "what people have left is private"),
        ({"budgets": {1.0: 100}}, "whose column of ids"),
        ({"share": 0.5, "spend": 1}, "not both"),
    ],
)
def test_what_goes_with_a_plan_for_a_ledger(ledger: Ledger, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        plan_mean(ledger=ledger, **options)
    with pytest.raises(InvalidInputError, match="spend goes with a ledger"):
        plan_mean({1.0: 100}, spend=1)


def test_a_plan_tells_nothing_of_balances_that_are_private(ledger: Ledger) -> None:
    """Whatever model the plan is for: it would publish what the unbounded releases have left."""
    ask(ledger, share=0.25, **UNBOUNDED)
    for options in ({}, {"budgets": TABLE, "person": "id"}):
        with pytest.raises(InvalidInputError, match="Keep one ledger per model"):
            plan_mean(ledger=ledger, **options)


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_no_answer_says_that_the_ledger_was_charged_and_not_that_all_was_spent(ledger: Ledger) -> None:
    found = ask(ledger, TABLE.assign(hours=40.0), share=0.25)
    assert found.contradicted
    assert "the ledger has charged everybody for this run" in str(found)
    assert "of every budget" not in str(found)
    assert spent(ledger) == [1.0, 0.25, 1.0, 0.25]
