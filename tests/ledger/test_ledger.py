"""The contract of a ledger, on both databases: against amounts kept by hand, in every order of what can happen."""

from __future__ import annotations

import csv
import hashlib
import json
import math
import pickle
import re
import threading
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pdpmean.errors import BudgetWarning, InvalidInputError, LedgerError
from pdpmean.ledger.amount import INFINITE, NOTHING, Amount
from pdpmean.ledger.ledger import Ledger
from pdpmean.ledger.request import PeopleAsked, Request
from pdpmean.ledger.reservation import Reservation


def asked(*ids: str | None) -> list[PeopleAsked]:
    return [PeopleAsked(ids)]


def request(**options: Any) -> Request:
    return Request("a test", **options)


# Amounts, against a ledger kept by hand

GRANTS = st.integers(-40, 40).map(lambda power: Fraction(2) ** power) | st.fractions(0, 2**40) | st.just("inf")
SHARES = st.fractions(Fraction(1, 2**10), 1, max_denominator=2**20)
STEPS = st.one_of(
    st.tuples(st.just("grant"), st.integers(0, 3), GRANTS),
    st.tuples(st.just("commit"), st.frozensets(st.integers(0, 3), min_size=1), SHARES),
    st.tuples(st.just("cancel"), st.frozensets(st.integers(0, 3), min_size=1), SHARES),
    st.tuples(st.just("part"), st.frozensets(st.integers(0, 3), min_size=1), SHARES),
    st.tuples(st.just("leave"), st.frozensets(st.integers(0, 3), min_size=1), SHARES),
    st.tuples(st.just("spend"), st.frozensets(st.integers(0, 3), min_size=1), GRANTS.filter(bool)),
)


class ByHand:
    """What a ledger should hold, as fractions and lists."""

    def __init__(self) -> None:
        self.granted = dict.fromkeys(range(4), NOTHING)
        self.costs: list[dict[int, Amount]] = []

    def spent(self, person: int) -> Amount:
        return sum((costs.get(person, NOTHING) for costs in self.costs), NOTHING)

    def cost(self, person: int, share: Fraction, most: Amount) -> Amount:
        granted = self.granted[person]
        shared = INFINITE if granted.infinite else Amount(units=math.floor(granted.units * share))
        return min(shared, most, granted.less(self.spent(person)))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=12))
def test_amounts_are_those_kept_by_hand(ledger: Ledger, steps: list[tuple[str, Any, Any]]) -> None:
    kept = ByHand()
    names = [f"{len(ledger.releases())}-{ledger.people()}-{person}" for person in range(4)]
    ledger.grant_all((name, 0) for name in names)
    for step, who, amount in steps:
        if step == "grant":
            ledger.grant(names[who], amount)
            kept.granted[who] = Amount.rounded_down(amount)
            continue
        share, most = (Fraction(1), amount) if step == "spend" else (amount, "inf")
        largest = Amount.rounded_down(most)
        costs = {person: kept.cost(person, share, largest) for person in sorted(who)}
        made = ledger.reserve(asked(*(names[person] for person in costs)), request(share=share, most=largest))
        assert [Fraction(b) if b < math.inf else b for b in made.budgets.tolist()] == pytest.approx(
            [cost.exact for cost in costs.values()], rel=1e-15
        )
        assert all(b <= cost.exact for b, cost in zip(made.budgets.tolist(), costs.values(), strict=True))
        if step == "part":
            made.commit({}, Fraction(1, 16))
            costs = {
                person: cost if cost.infinite else Amount(units=-(-cost.units // 16)) for person, cost in costs.items()
            }
        elif step == "cancel":
            made.cancel("nothing was drawn")
        elif step != "leave":
            made.commit({})
        if step != "cancel":
            kept.costs.append(costs)
    for person, name in enumerate(names):
        held = ledger.balance(name)
        assert (held.granted, held.spent) == (kept.granted[person], kept.spent(person))
    found = ledger.verify()
    assert found.passed, found


# Reservations


def test_a_share_is_of_what_was_granted_and_at_most_what_is_left(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", "0.25")])
    half = Fraction(1, 2)
    budgets = [ledger.reserve(asked("a", "b"), request(share=half)).budgets.tolist() for _ in range(3)]
    assert budgets == [[0.5, 0.125], [0.5, 0.125], [0, 0]]
    assert ledger.balance("a").left == NOTHING


def test_records_that_take_no_part_cost_nothing(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", 1)])
    made = ledger.reserve([PeopleAsked(["b", None]), PeopleAsked([None, "a"])], request(share=Fraction(1, 4)))
    assert made.budgets.tolist() == [0.25, 0, 0, 0.25]


def test_what_would_be_less_than_the_least_is_nothing(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", "0.05")])
    limits = {"least": Amount.rounded_down("0.1"), "most": Amount.rounded_down("0.5"), "people_are_public": False}
    assert ledger.reserve(asked("a", "b"), request(**limits)).budgets.tolist() == [0.5, 0]
    assert ledger.balance("b").spent == NOTHING


def test_people_who_are_not_known_are_counted_and_nothing_is_charged(ledger: Ledger) -> None:
    ledger.grant("a", 1)
    with pytest.raises(InvalidInputError, match=r"^2 of 3 people are not in the ledger"):
        ledger.reserve(asked("a", "x", "y"), request())
    assert ledger.balance("a").spent == NOTHING
    assert ledger.releases() == []


def test_people_who_are_private_are_left_out_where_not_known_or_there_twice(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", 1)])
    made = ledger.reserve(asked("a", "b", "x", "b"), request(people_are_public=False))
    assert made.budgets.tolist() == [1, 0, 0, 0]
    assert ledger.balance("b").spent == NOTHING


def test_a_person_there_twice_is_refused_where_people_are_public(ledger: Ledger) -> None:
    ledger.grant("a", 1)
    with pytest.raises(InvalidInputError, match="more than one record"):
        ledger.reserve(asked("a", "a"), request())
    assert ledger.balance("a").spent == NOTHING


def test_budgets_of_the_data_are_checked_against_grants(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", 1)])
    data = [PeopleAsked(["a", "b"], np.array([0.5, 1.5]))]
    with pytest.raises(InvalidInputError, match="1 of 2 people have a larger budget in the data"):
        ledger.reserve(data, request(budgets_in_data=True))
    assert ledger.releases() == []
    private = request(budgets_in_data=True, people_are_public=False, share=Fraction(1, 2))
    assert ledger.reserve(data, private).budgets.tolist() == [0.25, 0.75]
    assert ledger.reserve(data, private).budgets.tolist() == [0.25, 0.25]


def test_a_budget_in_the_data_brings_nobody_back_who_has_withdrawn(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", 1)])
    ledger.withdraw("b")
    data = [PeopleAsked(["a", "b"], np.array([0.5, 0.5]))]
    assert ledger.reserve(data, request(budgets_in_data=True)).budgets.tolist() == [0.5, 0]


@pytest.mark.parametrize("public", [True, False])
def test_a_ledger_is_of_one_model(ledger: Ledger, public: bool) -> None:
    ledger.grant("a", 1)
    ledger.reserve(asked("a"), request()).cancel("nothing was drawn")
    ledger.reserve(asked("a"), request(people_are_public=public, share=Fraction(1, 4)))
    with pytest.raises(InvalidInputError, match="Keep one ledger per model"):
        ledger.reserve(asked("a"), request(people_are_public=not public))
    assert float(ledger.balance("a").spent) == 0.25


def test_what_was_cancelled_in_the_unbounded_model_is_private_as_well(ledger: Ledger) -> None:
    """Its entry in the log says how many took part, and has a hash of who: any guess could be checked."""
    ledger.grant("a", 1)
    ledger.reserve(asked("a"), request(people_are_public=False)).cancel("nothing was drawn")
    with pytest.raises(InvalidInputError, match="has releases in the unbounded model"):
        ledger.reserve(asked("a"), request())
    with pytest.raises(InvalidInputError, match="Keep one ledger per model"):
        ledger.check_balances_are_public()
    ledger.reserve(asked("a"), request(people_are_public=False)).commit({})


def test_where_records_lay_is_not_kept(ledger: Ledger) -> None:
    """In the bounded model the ledger is public, but the data may be sorted by value."""
    ledger.grant_all([("a", 1), ("b", 2), ("c", 3)])
    reserved = ledger.reserve(asked("c", None, "a", "b"), request())
    assert (reserved.budgets.tolist(), reserved.people.tolist()) == ([3, 0, 1, 2], [3, 0, 1, 2])
    spared = np.array([True, True, False, False])
    reserved.commit({}, Fraction(1, 2), spared)
    assert [float(ledger.balance(person).spent) for person in "abc"] == [1, 2, 1.5]
    with ledger._store.reading() as transaction:
        assert list(transaction.rows("SELECT DISTINCT place FROM costs")) == [(0,)]
    assert ledger.verify().passed


def test_a_release_needs_a_purpose(ledger: Ledger) -> None:
    with pytest.raises(InvalidInputError, match="what the release is for"):
        ledger.reserve(asked(), Request(" "))


def test_what_ended_stays_as_it_ended(ledger: Ledger) -> None:
    ledger.grant("a", 1)
    made = ledger.reserve(asked("a"), request())
    made.commit({})
    for end in (lambda: made.cancel("changed my mind"), lambda: made.commit({}), lambda: ledger.settle(made.number)):
        with pytest.raises(LedgerError, match="is already committed"):
            end()
    with pytest.raises(LedgerError, match="no release 7"):
        ledger.settle(7)
    assert ledger.balance("a").left == NOTHING


def test_a_dangling_reservation_is_listed_and_settled_as_spent_alone(ledger: Ledger) -> None:
    ledger.grant("a", 1)
    made = ledger.reserve(asked("a"), request())
    assert ledger.verify().reserved == (1,)
    ledger.settle(1)
    with pytest.raises(LedgerError, match="is already settled"):
        made.cancel("too late")
    assert ledger.balance("a").left == NOTHING
    assert ledger.verify().reserved == ()
    made.commit({})  # it was not dead after all: that costs nothing more
    assert ledger.releases()[0].state == "committed"
    assert ledger.verify().passed


def test_nothing_is_charged_where_reading_the_data_fails(ledger: Ledger) -> None:
    ledger.grant("a", 1)

    def failing() -> Any:
        yield PeopleAsked(["a"])
        raise InvalidInputError("the file changed", name="values")

    with pytest.raises(InvalidInputError, match="the file changed"):
        ledger.reserve(failing(), request())
    assert ledger.balance("a").spent == NOTHING
    assert ledger.verify().passed


# People


def test_grants_change_and_history_is_kept(ledger: Ledger) -> None:
    ledger.grant("a", "0.5", tier="open", note="by letter")
    ledger.reserve(asked("a"), request()).commit({})
    ledger.grant("a", 2)
    assert str(ledger.balance("a")) == "granted 2, spent 0.5, left 1.5"
    ledger.grant("a", "0.1")
    assert ledger.balance("a").left == NOTHING
    assert [float(granted) for _, _, granted in ledger.statement("a").earlier] == pytest.approx([0.5, 2])
    assert ledger.verify().passed


def test_who_withdraws_takes_no_further_part(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", 0)])
    for person in "ab":
        ledger.withdraw(person)
        assert ledger.balance(person).withdrawn
    assert ledger.reserve(asked("a"), request()).budgets.tolist() == [0]
    ledger.grant("a", 1)
    assert not ledger.balance("a").withdrawn
    with pytest.raises(InvalidInputError, match="has no person 'x'"):
        ledger.withdraw("x")


def test_an_import_adds_and_changes_and_removes_nobody(ledger: Ledger) -> None:
    assert ledger.grant_all([("a", 1), ("b", 1), ("c", 1)]) == (3, 0, 0)
    assert ledger.grant_all([("b", 2), ("c", 1), ("d", 1)]) == (1, 1, 0)
    assert ledger.people() == 4
    with pytest.raises(InvalidInputError, match="listed twice"):
        ledger.grant_all([("e", 1), ("e", 2)])


def test_an_import_brings_nobody_back_who_has_withdrawn(ledger: Ledger) -> None:
    grants = [("a", 1), ("b", 1), ("c", 1)]
    ledger.grant_all(grants)
    ledger.withdraw("b")
    assert ledger.grant_all([*grants, ("d", 1)]) == (1, 0, 1)
    assert ledger.balance("b").withdrawn
    assert ledger.reserve(asked("a", "b"), request()).budgets.tolist() == [1, 0]
    ledger.grant("b", 1)
    assert ledger.grant_all(grants) == (0, 0, 0)
    assert ledger.verify().passed


@pytest.mark.parametrize(
    ("budgets", "message"),
    [
        (["20.5", 1, "inf"], "1 of 2 are above 20"),
        (range(1, 14), "13 different whole numbers"),
        (range(13), None),
        ([*range(1, 14), "0.5"], None),
        ([20, "inf", 0, "0.1"], None),
    ],
)
def test_grants_that_look_like_something_else_are_noticed(ledger: Ledger, budgets: Any, message: str | None) -> None:
    grants = [(f"p{place}", budget) for place, budget in enumerate(budgets)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", BudgetWarning)
        if message is None:
            ledger.grant_all(grants)
        else:
            with pytest.raises(BudgetWarning, match=message):
                ledger.grant_all(grants)
            assert ledger.people() == 0
    assert ledger.verify().passed


@pytest.mark.parametrize("wrong", ["", None, 1.5, True, "a\0b"])
def test_an_id_is_text_or_a_whole_number(ledger: Ledger, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="id must be text or a whole number"):
        ledger.grant(wrong, 1)


def test_whole_numbers_are_ids(ledger: Ledger) -> None:
    ledger.grant(17, 1)  # type: ignore[arg-type]
    assert ledger.balance("17").granted == Amount.rounded_down(1)


def test_ids_are_any_text(ledger: Ledger) -> None:
    ids = ["Zoë", "a'b", 'say "x"', "; DROP TABLE people", "tab\there", "new\nline", "%s ?", " a", "A", "a"]
    assert ledger.grant_all((name, 1) for name in ids) == (len(ids), 0, 0)
    assert ledger.reserve(asked(*ids), request()).budgets.tolist() == [1] * len(ids)


# What is told


def test_what_remains_is_what_a_next_release_would_have(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", 1), ("c", "0.5"), ("d", "inf"), ("e", 0)])
    ledger.reserve(asked("a"), request(share=Fraction(1, 4)))
    assert ledger.remaining() == {0: 1, 0.5: 1, 0.75: 1, 1: 1, math.inf: 1}
    assert ledger.remaining(share=0.5) == {0: 1, 0.25: 1, 0.5: 2, math.inf: 1}
    assert ledger.remaining(spend=0.25) == {0: 1, 0.25: 4}
    with pytest.raises(InvalidInputError, match="not both"):
        ledger.remaining(share=0.5, spend=0.25)
    with pytest.raises(InvalidInputError, match="spend must be above 0"):
        ledger.remaining(spend=0)


def test_a_statement_tells_everything_in_words_and_as_json(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", 1)])
    ledger.reserve(asked("a", "b"), Request("hours at work", "Ada", share=Fraction(1, 4))).commit({})
    ledger.reserve(asked("b"), Request("not a's business", share=Fraction(1, 4))).commit({})
    ledger.reserve(asked("a"), Request("cancelled", share=Fraction(1, 4))).cancel("no need")
    told = ledger.statement("a")
    content = json.loads(json.dumps(told.to_dict()))
    assert [(use["purpose"], use["analyst"], use["cost"]) for use in content["releases"]] == [
        ("hours at work", "Ada", 0.25)
    ]
    assert (content["granted"], content["spent"], content["left"]) == (1, 0.25, 0.75)
    assert re.search(r"1 +\d{4}-\d\d-\d\d +0\.25 +hours at work", str(told))
    assert "business" not in str(told)


@pytest.mark.parametrize(
    ("public", "words"),
    [(True, "with your true value as with any other value."), (False, "with your data as without it.")],
)
def test_a_statement_says_what_a_cost_means_in_the_model_of_the_releases(
    ledger: Ledger, public: bool, words: str
) -> None:
    """A value that is replaced, in the unbounded model, is one removed and one added: twice the cost."""
    ledger.grant("a", 1)
    ledger.reserve(asked("a"), request(people_are_public=public)).commit({})
    told = ledger.statement("a")
    assert words in told.to_dict()["what_a_cost_means"]
    assert words in " ".join(str(told).split())


def test_releases_are_told_with_what_they_were_for(ledger: Ledger) -> None:
    ledger.grant_all([("a", 1), ("b", 1)])
    details = {"dataset": "survey.csv", "columns": {"value": "hours"}}
    ledger.reserve(asked("a", "b"), request(details=details)).commit({"result": "ab12", "shares": {"sum": 1.0}})
    (told,) = ledger.releases()
    assert (told.state, told.people, float(told.total)) == ("committed", 2, 2)
    assert told.details == details | {"result": "ab12", "shares": {"sum": 1.0}}
    assert json.loads(json.dumps(told.to_dict()))["dataset"] == "survey.csv"


def test_tables_are_exported_whole_and_exactly(ledger: Ledger, tmp_path: Path) -> None:
    ledger.grant_all([("a", "0.1"), ("b", "inf")])
    ledger.reserve(asked("a"), request()).commit({})
    for table in ("people", "releases", "costs"):
        ledger.export(tmp_path / "out.csv", table, overwrite=True)
        ledger.export(tmp_path / "out.parquet", table, overwrite=True)
        with (tmp_path / "out.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        same = pq.read_table(tmp_path / "out.parquet").to_pylist()
        assert [{name: "" if entry is None else str(entry) for name, entry in row.items()} for row in same] == rows
    assert rows == [{"release": "1", "id": "a", "cost": "0.1", "cost_units": str(2**40 // 10)}]
    for wrong, table in (("out.txt", "people"), ("out.csv", "secrets")):
        with pytest.raises(InvalidInputError):
            ledger.export(tmp_path / wrong, table, overwrite=True)
    with pytest.raises(InvalidInputError, match="already exists; name another file, or pass overwrite=True"):
        ledger.export(tmp_path / "out.csv")


# Verification


def tampered(ledger: Ledger, sql: str) -> tuple[str, ...]:
    with ledger._store.writing() as transaction:
        assert transaction.change(sql) > 0
    return ledger.verify().problems


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE log SET content = '{}' WHERE number = 3", "log entry 3 was changed"),
        ("UPDATE log SET at = '2020-01-01T00:00:00.000000+00:00' WHERE number = 2", "log entry 2 was changed"),
        ("DELETE FROM log WHERE number = 1", "log entry 1 was changed"),
        ("DELETE FROM log WHERE number = 3", "states of releases differ from the log"),
        (
            "UPDATE balances SET spent_units = 0, spent_nats = 0 WHERE person = 1",
            "1 people have a recorded spending that is not the sum",
        ),
        ("UPDATE balances SET granted_nats = 0 WHERE person = 1", "1 people have spent more than they grant"),
        ("DELETE FROM costs WHERE person = 1", "the cost of release 1 differs from the log"),
        ("UPDATE costs SET person = 99 WHERE person = 1", "1 costs belong to people who are not in the ledger"),
        ("UPDATE releases SET state = 'cancelled'", "states of releases differ from the log"),
        ("UPDATE releases SET people_are_public = 0", "the model of release 1 differs from the log"),
        ("INSERT INTO costs (release, person, place) VALUES (9, 1, 0)", "1 costs belong to releases that are not in"),
        ("UPDATE people SET withdrawn = 1 WHERE id = 'a'", "who has withdrawn differs from the log"),
        ("UPDATE people SET withdrawn = 0 WHERE id = 'c'", "who has withdrawn differs from the log"),
    ],
)
def test_what_was_tampered_with_is_found(ledger: Ledger, sql: str, problem: str) -> None:
    ledger.grant_all([("a", 1), ("b", 2), ("c", 2)])
    details = {"options": {"model": "bounded"}}
    ledger.reserve(asked("a", "b"), request(details=details)).commit({"result": "ab"})
    ledger.withdraw("c")
    ledger.withdraw("c")  # as before
    assert ledger.verify().passed
    assert any(problem in found for found in tampered(ledger, sql))


def test_a_cost_that_was_moved_to_somebody_else_is_found(ledger: Ledger) -> None:
    """Though all sums are right: of each person, of the release, and below every grant."""
    ledger.grant_all([("a", 2), ("b", 2), ("c", 2)])
    ledger.reserve(asked("a", "b"), request(most=Amount.rounded_down(1))).commit({})
    with ledger._store.writing() as transaction:
        for table, name in (("costs", "cost"), ("balances", "spent")):  # half a nat, from the first to the second
            half = f"{name}_nats = person - 1, {name}_units = {2**39}"
            assert transaction.change(f"UPDATE {table} SET {half} WHERE person < 3") == 2
    assert ledger.verify().problems == ("the cost of release 1 differs from the log",)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE balances SET granted_nats = granted_nats + 1 WHERE person = 2",
        "UPDATE balances SET granted_nats = 5 - granted_nats WHERE person IN (2, 4)",  # which exchanges two of them
        "UPDATE people SET id = 'x' WHERE number = 2",
        "UPDATE changes SET granted_nats = 9",
        "DELETE FROM changes",
        "UPDATE people SET since = '2020-01-01T00:00:00.000000+00:00' WHERE number = 3",
    ],
)
def test_a_grant_that_was_changed_without_the_log_is_found(ledger: Ledger, sql: str) -> None:
    ledger.grant_all([("a", 1), ("b", 2), ("ü", "inf")])
    ledger.grant("d", 3)
    ledger.grant_all([("a", 2), ("b", 2)])
    ledger.grant("a", 2)  # as before
    ledger.withdraw("a")
    assert ledger.verify().passed
    assert "grants or ids differ from the log" in tampered(ledger, sql)


def test_the_hash_of_costs_is_the_same_on_every_database(ledger: Ledger) -> None:
    """It is of people in the order of their numbers, whatever order they were asked in."""
    ledger.grant_all((str(number), 1 + number % 3) for number in range(1000))
    order = [str(number * 7 % 1000) for number in range(990)]
    ledger.reserve(asked(*order), request()).commit({})
    rows = np.array([[1 + number, 0, 1 + number % 3, 0] for number in range(1000)], dtype="<i8")
    asked_for = np.isin(np.arange(1000).astype(str), order)
    assert ledger.releases()[0].costs_hash == hashlib.sha256(rows[asked_for].tobytes()).hexdigest()


def test_the_last_hash_covers_everything_before(ledger: Ledger) -> None:
    hashes = [ledger.verify().last_hash]
    ledger.grant("a", 1)
    hashes.append(ledger.verify().last_hash)
    hashes.append(ledger.reserve(asked("a"), request()).commit({}))
    assert len(set(hashes)) == 3
    assert ledger.verify().last_hash == ledger.releases()[0].hash == hashes[-1]


# Formats


def changed_by_hand(where: str, *statements: str) -> None:
    with Ledger(where) as ledger, ledger._store.writing() as transaction:
        for sql in statements:
            transaction.change(sql)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["DROP TABLE ledger_format"], r"early version of pdpmean.*Nothing was changed.*--budget left"),
        (["UPDATE ledger_format SET number = 99"], r"newer version of pdpmean .format 99"),
        (
            ["DROP TABLE ledger_format", "DROP TABLE costs"],
            r"do not belong to a ledger: people, balances, .*of its own",
        ),
    ],
)
def test_tables_of_another_version_are_told_and_left_as_they_are(
    where: str, statements: list[str], message: str
) -> None:
    with Ledger(where) as ledger:
        ledger.grant("a", 1)
    changed_by_hand(where, *statements)
    for _ in range(2):
        with pytest.raises(LedgerError, match=message):
            Ledger(where)


def test_what_is_left_can_be_taken_to_a_new_ledger(ledger: Ledger, tmp_path: Path) -> None:
    """As the error about an early version says; nobody has more than before."""
    grants = ["1e-9", "0.1", "3", "4096.7", "inf", "16384.0000000000028"]  # the last is no double
    ledger.grant_all((f"p{place}", grant) for place, grant in enumerate(grants))
    ledger.reserve(asked("p1", "p2", "p3"), request(share=Fraction(1, 3))).commit({})
    ledger.export(tmp_path / "left.csv")
    with (tmp_path / "left.csv").open(newline="") as file, Ledger(tmp_path / "new.db") as new:
        new.grant_all((row["id"], row["left"]) for row in csv.DictReader(file))
        for place in range(len(grants)):
            before, after = (held.balance(f"p{place}").left for held in (ledger, new))
            assert after <= before <= after + Amount(units=4)  # a number in words is not exact


# Uses


def test_a_ledger_is_there_when_it_is_opened_again(where: str) -> None:
    with Ledger(where) as first:
        first.grant("a", 1)
    with Ledger(where) as second:
        assert second.people() == 1
        copied: Ledger = pickle.loads(pickle.dumps(second))
        with copied:
            assert copied.people() == 1


def test_a_ledger_is_not_made_by_mistake(where: str) -> None:
    for _ in range(2):
        with pytest.raises(InvalidInputError, match=r"there is no ledger .*; create one with pdpmean ledger init "):
            Ledger(where, make=False)
    Ledger(where).close()
    with Ledger(where, make=False) as made:
        assert made.people() == 0


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    ledger.grant("a", 1)
    made: list[Reservation] = []

    def spend() -> None:
        made.extend(ledger.reserve(asked("a"), request(share=Fraction(1, 4))) for _ in range(4))
        ledger.close()

    threads = [threading.Thread(target=spend) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(float(one.budgets[0]) for one in made) == [0] * 8 + [0.25] * 4
    assert ledger.verify().passed
