"""The condition on which an interval holds is said directly below it, in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pdpmean import GroupedEstimate, MeanEstimate, Randomness, estimate_mean
from pdpmean.results.assumed_tails import AssumedTails
from pdpmean.show.report import report_html

pytestmark = pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
RNG = np.random.default_rng(1)
WAGES = RNG.lognormal(3, 0.6, 6000)
BELL = "the population is bell-shaped"


def estimated(values: Any = WAGES, budgets: Any = 0.5, **options: Any) -> MeanEstimate:
    result: MeanEstimate = estimate_mean(values, budgets, randomness=Randomness.seeded(1), **options)
    return result


def names(result: MeanEstimate) -> list[str]:
    """The names of the rows that are printed."""
    return [line[:16].rstrip() for line in str(result).splitlines() if line[0] != " "]


def words(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


@pytest.mark.parametrize(("options", "condition"), [({}, "no small group"), ({"shape": "gaussian"}, BELL)])
def test_the_condition_follows_the_interval(options: dict[str, Any], condition: str) -> None:
    result = estimated(RNG.normal(38, 6, 6000), **options)
    assert result.holds_if is not None
    assert result.holds_if.startswith(condition)
    assert names(result)[2:4] == ["95 % interval", "holds if"]
    assert words(str(result)).count(result.holds_if) == 1
    assert words(report_html(result)).count(f"</strong>.</p> <p>This holds if {result.holds_if}.</p>") == 1
    assert result.to_dict()["holds_if"] == result.holds_if


def test_between_two_bounds_there_is_no_condition() -> None:
    result = estimated(RNG.random(6000) < 0.3)
    assert result.holds_if is None
    assert "holds if" not in str(result)
    assert "This holds if" not in report_html(result)


def test_without_an_answer_there_is_no_condition() -> None:
    result = estimated(np.full(6000, 7.0))
    assert result.contradicted
    assert result.holds_if is None
    assert "This holds if" not in report_html(result)


@pytest.mark.parametrize(
    ("visible", "said"),
    [
        (0.0821, "no small group has values far from all others. At this budget, one of about 8.2 % of the people"),
        (0.2, "no small group has values far from all others. At this budget, one of about 20 % of the people"),
        (0.44, "Take care: at this budget, even one as large as 44 % of the people would go unseen"),
        (1.0, "Take care: at this budget, even one as large as 50 % of the people would go unseen"),
    ],
)
def test_a_group_that_is_not_small_calls_for_care(visible: float, said: str) -> None:
    assert said in AssumedTails(visible).holds_if()


@pytest.mark.parametrize(
    ("bounds", "helps"),
    [(None, "bounds or more"), ((0, None), "an upper bound or more"), ((None, 1e9), "a lower bound or more")],
)
def test_what_would_narrow_the_interval_is_not_what_was_given(bounds: Any, helps: str) -> None:
    """The tails of these values are long on the side that has no bound."""
    skewed = np.random.default_rng(2).lognormal(3, 1.6, 6000)
    result = estimated(-skewed if bounds and bounds[0] is None else skewed, bounds=bounds)
    assert f"due to such tails: {helps} budget would make the interval narrower" in words(str(result))


def test_groups_have_one_condition_below_the_table() -> None:
    by = RNG.choice(["large", "small"], WAGES.size, p=[0.8, 0.2])
    result: GroupedEstimate = estimate_mean(
        WAGES, 0.5, by=by, groups=["large", "small"], randomness=Randomness.seeded(1)
    )
    assert result["small"].assumed is not None
    condition = result["small"].assumed.holds_if("subgroup", "a group")  # the group in which most goes unseen
    assert result.holds_if == (condition,)
    assert words(str(result)).count(f"holds if: {condition}") == 1
    assert report_html(result).count(f"<p>This holds if {condition}.</p>") == 1
    assert result.to_dict()["holds_if"] == [condition]
    assert max(map(len, str(result).splitlines())) <= 100


@pytest.mark.parametrize("options", [{}, {"bounds": (0, None)}])
def test_a_group_near_the_clip_must_be_seen_in_the_histogram(options: dict[str, Any]) -> None:
    """No far cell counts it there, and the histogram has only a part of the budget."""
    result = estimated(**options)
    assert result.assumed is not None
    nats_of_histogram = result.plan.behind_histogram.nats
    assert nats_of_histogram < 0.4 * result.plan.total / 2
    assert result.assumed.smallest_visible >= 9 / nats_of_histogram
