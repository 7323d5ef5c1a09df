"""The identity of a release: its id, data, purpose and losses, and nothing private."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdpmean import Ledger, Randomness, estimate_mean
from pdpmean.core.losses import guesses_right, losses_of
from pdpmean.core.model import BOUNDED
from pdpmean.passes.cells import count_budgets
from pdpmean.show.report import report_html
from pdpmean.sources.arrays import ArraySource

# Once in a while noise is such that there is no answer, which is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")

RNG = np.random.default_rng(11)
VALUES = RNG.normal(38, 6, 3000)
NAMES = RNG.choice(["strict", "usual", "open"], 3000)
TIERS = {"strict": 0.1, "usual": 0.5, "open": 1.0}
FRAME = pd.DataFrame({"hours": VALUES, "tier": NAMES, "epsilon": [TIERS[name] for name in NAMES]})
UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.1, 1.0)}


def told(data: Any = FRAME, **options: Any) -> dict[str, Any]:
    made: Any = estimate_mean(data, **{"value": "hours", "budget": "epsilon", **options})
    found: dict[str, Any] = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    return found


def test_every_release_says_which_it_is() -> None:
    first, second = (told(purpose="hours at work", analyst="Ada")["run"] for _ in range(2))
    assert re.fullmatch("[0-9a-f]{32}", first["id"])
    assert first["id"] != second["id"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", first["at"])
    assert (first["purpose"], first["analyst"], first["release"]) == ("hours at work", "Ada", None)
    assert first["dataset"] == "pandas.DataFrame"
    assert first["fingerprint"] == second["fingerprint"]


def test_a_simulation_is_no_release() -> None:
    found = estimate_mean(VALUES, 1.0, randomness=Randomness.seeded(1)).to_dict()
    assert (found["run"], found["losses"], found["what_a_loss_means"]) == (None, None, None)


# The fingerprint


@pytest.mark.parametrize("model", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_a_fingerprint_does_not_rest_on_values(model: dict[str, Any]) -> None:
    other = FRAME.assign(hours=VALUES[::-1] * 2 + 1)
    assert told(**model)["run"]["fingerprint"] == told(other, **model)["run"]["fingerprint"]


@pytest.mark.parametrize("model", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
def test_a_fingerprint_does_not_rest_on_text_that_arrow_cannot_hold(model: dict[str, Any]) -> None:
    asked = {"value": "tier", "equals": "open", **model}
    column = FRAME["tier"].astype(pd.StringDtype("python"))
    frames = [FRAME.assign(tier=column), FRAME.assign(tier=column.replace("strict", "\ud800"))]
    one, other = (told(frame, **asked)["run"]["fingerprint"] for frame in frames)
    assert one == other


def test_a_fingerprint_rests_on_budgets_only_where_they_are_public() -> None:
    other = FRAME.assign(epsilon=np.where(NAMES == "open", 0.9, FRAME["epsilon"]))
    assert told()["run"]["fingerprint"] != told(other)["run"]["fingerprint"]
    assert told(**UNBOUNDED)["run"]["fingerprint"] == told(other[:2000], **UNBOUNDED)["run"]["fingerprint"]


@pytest.mark.parametrize(
    "options",
    [
        {"shape": "gaussian"},
        {"bounds": (0, None)},
        {"share": 0.5},
        {"weighting": "budgets"},
        {"target": "people"},
        {"missing": "none"},
        UNBOUNDED,
    ],
    ids=str,
)
def test_another_question_has_another_fingerprint(options: dict[str, Any]) -> None:
    assert told(**options)["run"]["fingerprint"] != told()["run"]["fingerprint"]
    assert told(FRAME.assign(hours=VALUES.astype("f4")))["run"]["fingerprint"] != told()["run"]["fingerprint"]


# What it cost whom


def test_tiers_are_told_by_name_and_exactly() -> None:
    counts = {name: NAMES.tolist().count(name) for name in TIERS}
    assert told(budget="tier", tiers=TIERS, share=0.5)["losses"] == [
        {"tiers": [name], "budget_from": budget, "budget_to": budget, "people": counts[name], "loss": budget / 2}
        for name, budget in TIERS.items()
    ]


def test_one_budget_for_all_is_told_exactly() -> None:
    (row,) = told(budget=None, budgets=0.3)["losses"]
    assert (row["budget_from"], row["budget_to"], row["people"], row["loss"]) == (0.3, 0.3, 3000, 0.3)


def test_a_ledger_says_exactly_what_it_charged(tmp_path: Path) -> None:
    with Ledger(tmp_path / "people.db") as ledger:
        ids = [f"p{number}" for number in range(3000)]
        ledger.grant_all(zip(ids, FRAME["epsilon"].tolist(), strict=True))
        table = FRAME.assign(id=ids)
        found = told(table, budget=None, person="id", ledger=ledger, purpose="a test", share=0.5)
        assert [row["loss"] for row in found["losses"]] == pytest.approx([0.05, 0.25, 0.5], rel=1e-9)
        assert [row["budget_from"] for row in found["losses"]] == [row["loss"] for row in found["losses"]]
        details = ledger.releases()[0].details
        assert (details["run"], details["fingerprint"]) == (found["run"]["id"], found["run"]["fingerprint"])
        assert found["run"]["release"] == 1


def test_nobody_is_counted_where_taking_part_is_private() -> None:
    found = told(**UNBOUNDED)
    assert found["losses"] is None
    assert "whether you took part" in found["what_a_loss_means"]["in_words"]


def test_people_of_refused_groups_are_not_counted() -> None:
    by = np.where(np.arange(3000) < 2990, "many", "few")
    found = estimate_mean(VALUES, 0.5, by=by, groups=["many", "few"])
    assert list(found.refused) == ["few"]
    (row,) = found.to_dict()["losses"]
    assert row["people"] == 2990
    assert found.to_dict()["shares"] == {"many": found["many"].shares}


BUDGETS = st.lists(st.floats(0, 2**41) | st.sampled_from([0.1, 0.5, 1.0, math.inf, 2.0**-41]), min_size=1, max_size=40)


@given(BUDGETS, st.booleans(), st.sampled_from([Fraction(1), Fraction(1, 3)]))
def test_everybody_is_in_one_row_and_loses_no_more_than_it_says(
    budgets: Sequence[float], known: bool, spent: Fraction
) -> None:
    column = np.array(budgets)
    (cells,) = count_budgets(ArraySource(column, column), BOUNDED)
    used = [0.0 if budget < 2.0**-40 else budget for budget in budgets]
    rows = losses_of(cells.budget_ranges(BOUNDED), spent, used if known else ())
    assert len(rows) <= 12
    assert sum(row.people for row in rows) == len(budgets)
    for budget in used:
        losses = [row.loss for row in rows if row.budgets[0] <= budget <= row.budgets[1]]
        assert losses
        assert max(losses) >= (math.inf if math.isinf(budget) else float(spent * Fraction(budget)))
    json.dumps([row.to_dict() for row in rows], allow_nan=False)


def test_what_a_loss_means_is_what_a_factor_does_to_even_odds() -> None:
    assert guesses_right(0.0) == 50
    assert guesses_right(math.log(3)) == pytest.approx(75)
    assert guesses_right(math.inf) == 100


# The report


def test_a_report_shows_the_run() -> None:
    found = estimate_mean(FRAME, value="hours", budget="tier", tiers=TIERS, purpose="hours at <work>", analyst="Ada")
    page = report_html(found)
    assert found.promise.run is not None
    for text in (found.promise.run.id, found.promise.run.fingerprint, "hours at &lt;work&gt;", "Ada", "usual (0.5)"):
        assert text in page
    assert "73.1" in page  # times of 100, at a loss of 1
    private = report_html(estimate_mean(FRAME, value="hours", budget="epsilon", **UNBOUNDED))
    assert "numbers of people are not shown here" in private
    simulated = report_html(estimate_mean(VALUES, 1.0, randomness=Randomness.seeded(1)))
    assert "What it cost" not in simulated
