"""One estimate per group: the numbers, the refusals, and the forms in which they are shown."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from messages import messages_of

from pdpmean import GroupedEstimate, InvalidInputError, MeanEstimate, PopulationWarning, Randomness, estimate_mean

MEANS = {"north": 10.0, "south": 30.0, "east": -5.0}
LABELS = [*MEANS, "empty"]
UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.1, 1.0)}
MODELS = pytest.mark.parametrize("options", [{}, UNBOUNDED], ids=["bounded", "unbounded"])
SHAPES = pytest.mark.parametrize("shape", ["gaussian", "any"])
RNG = np.random.default_rng(5)
REGION = RNG.choice([*MEANS, "elsewhere"], 60_000)
VALUES = RNG.normal([MEANS.get(region, 1e6) for region in REGION], 2.0)
BUDGETS = RNG.choice([0.1, 0.5, 1.0], REGION.size)


def grouped(**options: Any) -> GroupedEstimate:
    options = {"by": REGION, "groups": LABELS, "randomness": Randomness.seeded(3), **options}
    found = estimate_mean(VALUES, BUDGETS, **options)
    assert isinstance(found, GroupedEstimate)
    return found


@MODELS
@SHAPES
def test_each_group_gets_its_own_mean(options: dict[str, Any], shape: str) -> None:
    result = grouped(shape=shape, **options)
    assert list(result) == list(MEANS)
    for group, mean in MEANS.items():
        low, high = result[group].interval(0.9999)
        assert low < mean < high
        assert result[group].std < 0.1


@MODELS
def test_a_group_that_cannot_be_answered_is_refused(options: dict[str, Any]) -> None:
    result = grouped(**options)
    assert list(result.refused) == ["empty"]
    assert len(result) == 3
    assert "empty" not in result
    with pytest.raises(KeyError, match=r"empty.*has no estimate: "):
        result["empty"]


@MODELS
def test_a_result_whose_groups_are_all_refused(options: dict[str, Any]) -> None:
    result = grouped(groups=["nobody", "none"], **options)
    assert len(result) == 0
    assert list(result.refused) == ["nobody", "none"]
    assert "refused" in str(result)


@MODELS
def test_one_group_of_all_is_the_estimate(options: dict[str, Any]) -> None:
    """The same coins and noise, so nearly the same number: only the grid of the census is coarser."""
    everyone = np.zeros(BUDGETS.size, dtype=int)
    values = VALUES - np.array([MEANS.get(region, 1e6) for region in REGION])
    result = estimate_mean(values, BUDGETS, by=everyone, groups=[0], randomness=Randomness.seeded(3), **options)
    alone = estimate_mean(values, BUDGETS, randomness=Randomness.seeded(3), **options)
    assert result[0].mean == pytest.approx(alone.mean, abs=4 * alone.std)
    assert result[0].std == pytest.approx(alone.std, rel=0.2)


def test_unlisted_groups_are_left_out() -> None:
    """Values far away, in a group nobody asked for, change nothing."""
    others = REGION == "elsewhere"
    moved = np.where(others, np.inf, VALUES)
    once = estimate_mean(VALUES, BUDGETS, by=REGION, groups=list(MEANS), randomness=Randomness.seeded(3))
    again = estimate_mean(moved, BUDGETS, by=REGION, groups=list(MEANS), randomness=Randomness.seeded(3))
    assert once.to_dict() == again.to_dict()


def test_groups_are_independent() -> None:
    """Other values in one group leave the others' centres and means where they were."""
    moved = np.where(REGION == "east", VALUES * 3 + 100, VALUES)
    once, again = grouped(), estimate_mean(moved, BUDGETS, by=REGION, groups=LABELS, randomness=Randomness.seeded(3))
    assert once["east"].mean != again["east"].mean
    assert once["north"].mean == pytest.approx(again["north"].mean, abs=6 * once["north"].std)


def test_rows_and_intervals_hold_every_group() -> None:
    result = grouped()
    rows = result.rows(level=0.8)
    assert [row["group"] for row in rows] == LABELS
    assert (rows[0]["low"], rows[0]["high"]) == pytest.approx(result["north"].interval(0.8), rel=1e-9)
    assert result.intervals(0.8).keys() == result.estimates.keys()
    assert rows[-1]["mean"] is None
    assert rows[-1]["refused"] == result.refused["empty"]
    table = result.to_arrow(level=0.8)
    assert table.column("group").to_pylist() == LABELS
    assert table.column("mean").to_pylist()[:3] == [result[group].mean for group in MEANS]
    frame = result.to_pandas()
    assert frame.shape == (4, 14)
    assert frame.loc[0, "std"] == result["north"].std
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    content = result.to_dict(level=0.8)["groups"]
    assert content[0]["interval"] == {"low": rows[0]["low"], "high": rows[0]["high"], "level": 0.8}
    assert content[-1]["interval"] is None
    assert not {"low", "high", "level"} & (content[0].keys() | result.to_dict().keys())


def test_a_grouped_estimate_prints_as_a_table() -> None:
    lines = str(grouped()).splitlines()
    assert lines[0].startswith("NOT PRIVATE")
    assert lines[2].split()[:2] == ["group", "mean"]
    assert [line.split()[0] for line in lines[3:7]] == LABELS
    assert len({line.index(" to ") for line in lines[3:6]}) <= 2
    assert lines[6].split() == ["empty", "-", "refused"]
    assert lines[8].startswith("holds if: no small subgroup")
    assert lines[11].startswith("refused: there are no records")
    assert repr(grouped()) == "<GroupedEstimate of 4 groups, 1 refused, NOT PRIVATE>"


def test_a_refusal_is_printed_once_with_its_groups() -> None:
    """Below the table; and no more of them than anybody would read."""
    found = grouped(groups=["north", "empty", "void"])
    notes = [line for line in str(found).splitlines() if line.startswith("refused:")]
    assert lines_of(found, "refused") == [
        "there are no records, so nothing can be said about the mean. Is the name of the group spelled as in the data? "
        "Case matters (groups: empty, void)"
    ]
    assert len(notes) == 1
    assert str(found).count("there are no records") == 1
    assert "there are no records" in found._repr_html_()
    others = replace(found, refused={f"group {number}": f"reason {number}" for number in range(9)})
    notes = [line for line in str(replace(others, groups=("north",))).splitlines() if line.startswith("refused:")]
    assert notes == [
        *(f"refused: reason {number} (groups: group {number})" for number in range(5)),
        "refused: and 4 others",
    ]


def test_a_refused_group_may_be_misspelt() -> None:
    """Where participation is private, every refusal has the same hint, so that it says nothing about the records."""
    hint = ". Is the name of the group spelled as in the data? Case matters"
    by = np.where(np.arange(REGION.size) < 2, "two", np.where(np.arange(REGION.size) < 4, "none", REGION))
    budgets = np.where(by == "none", 0.0, BUDGETS)
    groups = ["North", "two", "none", "north"]
    found = estimate_mean(VALUES, budgets, by=by, groups=groups, randomness=Randomness.seeded(3))
    assert {group: text.endswith(hint) for group, text in found.refused.items()} == {
        "North": True,
        "two": False,
        "none": False,
    }
    found = estimate_mean(VALUES, budgets, by=by, groups=groups, randomness=Randomness.seeded(3), **UNBOUNDED)
    assert {group: text.endswith(hint) for group, text in found.refused.items()} == dict.fromkeys(groups[:3], True)


def lines_of(found: GroupedEstimate, name: str) -> list[str]:
    """The texts of this name below the table, without line breaks."""
    below = str(found).replace("\n  ", " ").splitlines()
    return [line.removeprefix(f"{name}: ") for line in below if line.startswith(f"{name}: ")]


def test_what_holds_for_all_groups_is_printed_once() -> None:
    found = grouped(groups=["north", "south", "empty"], bounds=(0, 45), weighting="everyone")
    assert lines_of(found, "bounds") == ["values below 0 count as 0, values above 45 count as 45"]
    assert lines_of(found, "whose mean") == [found["north"].whose_mean]
    assert len(lines_of(found, "missing")) == 1
    assert "values above 45 count as 45." in found._repr_html_()
    assert lines_of(grouped(groups=["north"]), "bounds") == []
    assert lines_of(grouped(groups=["empty"], bounds=(0, 20)), "bounds") == []


def test_what_differs_between_groups_is_printed_with_them() -> None:
    values = np.where((REGION == "south") & (RNG.random(REGION.size) < 0.3), np.nan, VALUES)
    options: dict[str, Any] = {"by": REGION, "randomness": Randomness.seeded(3)}
    found = estimate_mean(values, BUDGETS, groups=["north", "south", "east"], **options)
    unseen, seen = sorted(lines_of(found, "missing"), reverse=True)
    assert seen.startswith("about ")
    assert seen.endswith(" % of the values (groups: south)")
    assert unseen.startswith("less than ")
    assert unseen.endswith(" % of the values (groups: north, east)")
    assert all(f"{100 * (found[group].missing_at_most or 1):.2g}" <= unseen.split()[2] for group in ("north", "east"))
    weighted = {**found.estimates, "east": replace(found["east"], weighting="budgets")}
    texts = lines_of(replace(found, estimates=weighted), "whose mean")
    assert [text.rpartition(" (")[2] for text in texts] == ["groups: north, south)", "groups: east)"]


def test_the_mean_by_budget_is_shown_for_groups_where_it_differs() -> None:
    values = VALUES - 8.0 * ((REGION == "south") & (BUDGETS == 0.1))
    with pytest.warns(PopulationWarning, match=r"people with smaller budgets have lower values.*\(groups: south\)"):
        found = estimate_mean(values, BUDGETS, by=REGION, groups=LABELS, randomness=Randomness.seeded(3))
    south = found["south"].levels
    assert found.level_rows() == [
        ("south", level.in_words, level.mean_in_words, f"{100 * level.share:.2g} %") for level in south
    ]
    assert [row[1] for row in found.level_rows()] == ["0.1", "0.5", "1"]
    table = str(found).split("\n\n")[3].splitlines()
    assert re.split("  +", table[0]) == ["group", "budget", "mean +- error (std)", "share of people"]
    assert [tuple(re.split("  +", line)) for line in table[1:]] == found.level_rows()
    assert found._repr_html_().count(f"<td>{south[0].mean_in_words}</td>") == 1
    by_group = {row["group"]: row for row in found.to_dict()["groups"]}
    assert by_group["south"]["levels"] == found["south"].to_dict()["levels"]
    assert {group: row["levels_differ"] for group, row in by_group.items()} == {
        "north": False,
        "south": True,
        "east": False,
        "empty": False,
    }
    assert by_group["empty"]["levels"] == []
    assert "share of people" not in str(grouped())
    assert grouped().level_rows() == []


def test_shares_are_printed_as_percentages_where_a_single_one_is() -> None:
    yes = np.random.default_rng(1).random(REGION.size) < 0.3
    options: dict[str, Any] = {"by": REGION, "groups": ["north", "empty"], "randomness": Randomness.seeded(3)}
    for values, bounds in ((yes, {}), (yes.astype(float), {"bounds": (0, 1)}), (yes.tolist(), {"equals": "True"})):
        found = estimate_mean(values, BUDGETS, **options, **bounds)
        percentage = dict(found["north"].further_rows())["as a percentage"].replace("95 % interval ", "")
        head, north, empty = str(found).splitlines()[2:5]
        assert re.split("  +", head) == ["group", "mean", "95 % interval", "as a percentage", "error (std)"]
        assert re.split("  +", north)[3] == percentage
        assert empty.split() == ["empty", "-", "refused"]
    assert "as a percentage" not in str(grouped())
    assert "as a percentage" not in str(grouped(groups=["north"], bounds=(0, 100)))


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
def test_a_group_without_an_answer_is_told_what_to_do_and_what_it_costs() -> None:
    values = np.where(REGION == "south", 7.0, VALUES)
    options: dict[str, Any] = {"by": REGION, "randomness": Randomness.seeded(3)}
    found = estimate_mean(values, BUDGETS * 4, groups=["north", "south"], **options)
    (advice,) = found["south"].advice
    assert found.advice == (f"{advice} (groups: south)",)
    assert lines_of(found, "what to do next") == list(found.advice)
    assert lines_of(found, "before another run") == [found["south"].cost_of_another]
    assert [row["advice"] for row in found.rows()] == [None, advice]
    assert found.to_arrow().column("advice").to_pylist() == [None, advice]
    some_refused = estimate_mean(values, BUDGETS * 4, groups=["south", "empty"], **options)
    (cost,) = lines_of(some_refused, "before another run")
    assert cost.endswith(". People in refused groups have spent less, or nothing")
    assert lines_of(grouped(), "before another run") == []


def test_a_grouped_estimate_prints_intervals_of_any_level() -> None:
    result = grouped()
    assert result.text(0.8).splitlines()[2].split()[2:5] == ["80", "%", "interval"]
    low, high = result["north"].interval(0.8)
    line = next(line for line in result.text(0.8).splitlines() if line.startswith("north"))
    shown = [float(word) for word in line.split()[2:5:2]]
    assert shown == pytest.approx([low, high], abs=result["north"].std / 20)
    assert shown != pytest.approx(result["north"].interval(), abs=result["north"].std / 20)


def test_a_grouped_estimate_has_html_for_notebooks() -> None:
    result = estimate_mean(
        VALUES, BUDGETS, by=np.where(REGION == "north", "<b>", REGION), groups=["<b>"], randomness=Randomness.seeded(1)
    )
    assert "&lt;b&gt;" in result._repr_html_()
    assert "<b>" not in result._repr_html_()


def test_the_guarantee_speaks_of_groups() -> None:
    result = estimate_mean(VALUES, BUDGETS, by=REGION, groups=["north"])
    assert result.private
    assert "all groups together" in result.guarantee
    assert result["north"].guarantee == result.guarantee


def test_warnings_name_their_groups() -> None:
    values = np.where(REGION == "south", 7.0, VALUES)
    with pytest.warns(PopulationWarning, match=r"only one value can be seen.*\(groups: south\)"):
        estimate_mean(values, BUDGETS * 4, by=REGION, groups=["north", "south"], randomness=Randomness.seeded(3))


@pytest.mark.parametrize("bounds", [(0, None), (0, 1000)], ids=str)
@pytest.mark.parametrize("groups", [["large", "small", "huge", "tiny"], ["tiny", "huge", "small", "large"]], ids=str)
def test_groups_of_any_size_are_located_each_in_its_way(groups: list[str], bounds: Any) -> None:
    """From a bound the large ones have a centre as well, and the small ones none; their order does not matter."""
    by = np.repeat(["large", "small", "huge", "tiny"], [8000, 700, 20_000, 650])
    values = np.random.default_rng(9).normal(100.0, 10.0, by.size)
    found = estimate_mean(values, 0.9, by=by, groups=groups, bounds=bounds, randomness=Randomness.seeded(1))
    assert len({frozenset(estimate.plan.shares) for estimate in found.values()}) == 2
    for estimate in found.values():
        assert messages_of(estimate) == ()
        assert abs(estimate.mean - 100.0) < 4.5 * estimate.std


@pytest.mark.filterwarnings("ignore:next to nothing is known:pdpmean.PopulationWarning")
@MODELS
def test_some_groups_between_known_bounds_are_located_and_others_are_not(options: dict[str, Any]) -> None:
    """Groups of one size, whose total budgets lie on both sides of where locating begins to pay."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 10, 2000)
    budgets = rng.choice([0.1, 0.5, 1.0, 4.0], group.size)
    options = {**options, "budget_range": (0.1, 4.0)} if options else {}
    found = estimate_mean(
        rng.random(group.size) < 0.4,
        budgets,
        by=group,
        groups=range(10),
        bounds=(0, 1),
        randomness=Randomness.seeded(0),
        **options,
    )
    assert len(found) == 10
    if not options:
        assert {"histogram" in estimate.plan.shares for estimate in found.values()} == {False, True}


def test_a_skewed_group_is_right_and_does_not_warn() -> None:
    skewed = np.where(REGION == "south", np.random.default_rng(1).exponential(2.0, REGION.size) ** 2, VALUES)
    found = estimate_mean(skewed, BUDGETS * 4, by=REGION, groups=["north", "south"], randomness=Randomness.seeded(3))
    assert found.warnings == ()
    assert abs(found["south"].mean - 8.0) < 4.5 * found["south"].std


def test_many_warned_groups_are_not_all_named() -> None:
    group = np.arange(60_000) % 8
    with pytest.warns(PopulationWarning, match=r"groups: 0, 1, 2, 3, 4, and 3 more"):
        estimate_mean(np.ones(60_000), 1.0, by=group, groups=range(8), randomness=Randomness.seeded(3))


def test_a_hundred_groups() -> None:
    group = np.random.default_rng(1).integers(0, 100, 200_000)
    values = group + np.random.default_rng(2).normal(0.0, 1.0, group.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PopulationWarning)
        result = estimate_mean(values, 0.5, by=group, groups=range(100), randomness=Randomness.seeded(1))
    assert len(result) == 100
    errors = np.array(
        [(estimate.mean - label) / estimate.std for label, estimate in result.items() if not estimate.contradicted]
    )
    assert errors.size >= 97  # released numbers contradict each other in at most some 1 % of all runs
    assert np.abs(errors).max() < 5
    assert 0.4 < np.sqrt(np.mean(errors**2)) < 1.35  # below 1: a bell has no tails like those that may be there


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": REGION[:-1]}, "values and by must go together"),
        ({"by": "region"}, "by='region' names a column, but no table was given"),
        ({"groups": None}, "by and groups go together"),
        ({"by": 5}, "by must be one column"),
        ({"by": np.zeros((3, 3))}, "by must be one column"),
        ({"person": [[1]] * REGION.size}, "person must be a column of numbers or text"),
    ],
)
def test_groups_that_the_column_cannot_have_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        estimate_mean(VALUES, BUDGETS, **{"by": REGION, "groups": LABELS, **options})


def test_people_are_checked_where_they_are_public() -> None:
    ids = list(range(BUDGETS.size))
    result = estimate_mean(VALUES, BUDGETS, person=ids, shape="any")
    assert isinstance(result, MeanEstimate)
    assert "No two records have the same person's id." in result.guarantee
    with pytest.raises(InvalidInputError, match="a person has more than one record"):
        estimate_mean(VALUES, BUDGETS, person=[0, *ids[:-1]])
    with pytest.raises(InvalidInputError, match="values and person must go together"):
        estimate_mean(VALUES, BUDGETS, person=ids[1:])
    with pytest.raises(InvalidInputError, match="only in the bounded model"):
        estimate_mean(VALUES, BUDGETS, person=ids, **UNBOUNDED)


def test_groups_that_are_assumed_to_be_bell_shaped_say_so_once() -> None:
    rng = np.random.default_rng(1)
    by = np.repeat(["a", "b"], 4000)
    found = estimate_mean(
        rng.normal(50, 10, 8000),
        0.5,
        by=by,
        groups=["a", "b"],
        shape="gaussian",
        randomness=Randomness.seeded(1),
    )
    assert str(found).count("bell-shaped") == 1
