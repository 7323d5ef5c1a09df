"""`pdpmean plan`: what the library plans, what dominates, what would help; nothing private."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from pdpmean import plan_mean, what_if
from pdpmean.cli.output import as_json
from pdpmean.study.what_if import WhatIf

from .conftest import Run

TIERS, PEOPLE = "0.1:5400,0.5:3700,1:900", {0.1: 5400, 0.5: 3700, 1.0: 900}


def errors_of(scenarios: WhatIf) -> list[float]:
    return [scenario.plan.expected_std for scenario in scenarios if scenario.plan]


def test_the_text_says_what_the_plan_says_and_more(run: Run) -> None:
    found = run("plan", "--tiers", TIERS)
    plan = plan_mean(PEOPLE)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout.startswith(str(plan))
    part = (plan.sampling_std / plan.expected_std) ** 2
    assert f"limited by            sampling, {100 * part:.0f} % of the squared error" in found.stdout
    assert "total budget          3,290, all of which counts" in found.stdout
    assert "without privacy       the error (std) would be 0.01 standard deviations\n" in found.stdout
    assert found.stdout == f"{plan}\n\n{what_if(plan)}\n"
    _, *table = str(what_if(plan)).splitlines()
    assert [line.split("  ")[0] for line in table] == [
        "what if",
        "no change",
        *(scenario.name for scenario in what_if(plan)),
    ]
    assert len({len(line) for line in table}) == 1
    raised = errors_of(what_if(plan))[0]
    assert f" {raised:.4g} {100 * (raised / plan.expected_std - 1):.0f} % " in table[2]


def test_little_budget_is_limited_by_noise(run: Run) -> None:
    assert "limited by            noise, " in run("plan", "--tiers", "0.01:50000").stdout


def test_json_holds_the_same(run: Run) -> None:
    found = json.loads(run("plan", "--tiers", TIERS, "--json").stdout)
    plan = plan_mean(PEOPLE)
    assert found["expected_std"] == plan.expected_std
    assert found["limited_by"] == "sampling"
    assert found["people_beyond_saturation"] == 0.0
    assert found["without_privacy"] == 0.01
    assert found == json.loads(as_json(plan.to_dict() | {"what_if": what_if(plan).to_list()}))
    assert len(found["what_if"]) == 9


def test_a_public_person_makes_an_infinite_total_which_json_cannot_hold(run: Run) -> None:
    assert json.loads(run("plan", "--tiers", "inf:10,0.1:6000", "--json").stdout)["total_budget"] is None


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("--model", "unbounded"), {"model": "unbounded", "budget_range": (0.1, 1.0)}),
        (
            ("--model", "unbounded", "--budget-min", "0.05", "--budget-max", "2"),
            {"model": "unbounded", "budget_range": (0.05, 2.0)},
        ),
        (("--share", "0.5"), {"share": 0.5}),
        (("--bounds", "-1e3", "-2"), {"bounds": (-1e3, -2.0)}),
        (("--bounds", "0", "none"), {"bounds": (0, None)}),
        (("--bounds", "none", "-2"), {"bounds": (None, -2)}),
        (("--shape", "gaussian"), {"shape": "gaussian"}),
    ],
)
def test_options_reach_the_plan(run: Run, words: tuple[str, ...], options: dict[str, Any]) -> None:
    found = json.loads(run("plan", "--tiers", TIERS, "--json", *words).stdout)
    assert found["expected_std"] == plan_mean(PEOPLE, **options).expected_std
    assert found != json.loads(run("plan", "--tiers", TIERS, "--json").stdout)


def test_shape_and_choices_reach_the_plan(run: Run) -> None:
    chosen = ("--clip-half-width", "2.5", "--saturation", "0.3", "--center-share", "0.1", "--scale-share", "0.05")
    refused = run("plan", "--tiers", TIERS, *chosen)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "apply only to --shape gaussian" in refused.stderr
    found = json.loads(run("plan", "--tiers", TIERS, "--json", "--shape", "gaussian", *chosen).stdout)
    assert (found["clip_half_width"], found["shares"]["center"]) == (2.5, math.floor(0.1 * 2**20) / 2**20)
    assert found["saturation"] == pytest.approx(0.3)
    assert found["shape"] == "gaussian"
    assert json.loads(run("plan", "--tiers", "0.5:40000", "--json").stdout)["shape"] == "any"
    assert run("plan", "--tiers", "0.1:10000").exit_code == 0
    assert run("plan", "--tiers", "0.1:10000", "--max-failure", "1e-9").exit_code == 1
    assert run("plan", "--tiers", "0.1:10000", "--max-ratio", "1e8").exit_code == 1


def test_plot_writes_a_figure(run: Run, tmp_path: Path) -> None:
    assert run("plan", "--tiers", TIERS, "--plot", tmp_path / "plan.svg").exit_code == 0
    assert "<svg" in (tmp_path / "plan.svg").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["plan.svg"]
    (tmp_path / "plan.svg").write_text("kept")
    found = run("plan", "--tiers", TIERS, "--plot", tmp_path / "plan.svg")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "already exists; name another file, or pass --overwrite" in found.stderr
    assert (tmp_path / "plan.svg").read_text() == "kept"
    assert run("plan", "--tiers", TIERS, "--plot", tmp_path / "plan.svg", "--overwrite").exit_code == 0
    assert "<svg" in (tmp_path / "plan.svg").read_text()
    found = run("plan", "--tiers", TIERS, "--plot", tmp_path / "plan.xyz")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "svg" in found.stderr


def test_private_budgets_are_not_planned_from(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("epsilon\n" + "0.73\n" * 41)
    found = run("plan", tmp_path / "people.csv", "--budget", "epsilon", "--model", "unbounded")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "the budgets in a file are private" in found.stderr
    assert "41" not in found.stderr.replace(str(tmp_path), "")
    assert "0.73" not in found.stderr


def test_who_counts_and_whose_mean(run: Run) -> None:
    """By budgets, budgets above the saturation add nothing; the mean of these people has no sampling error."""
    found = run("plan", "--tiers", TIERS, "--weighting", "budgets", "--json")
    by_budgets = json.loads(found.stdout)
    assert by_budgets["weighting"] == "budgets"
    assert by_budgets["people_beyond_saturation"] > 0
    of_these = "--weighting", "everyone", "--target", "people"
    everyone = json.loads(run("plan", "--tiers", TIERS, *of_these, "--json").stdout)
    assert (everyone["weighting"], everyone["target"]) == ("everyone", "people")
    assert everyone["sampling_std"] < 1e-4 < by_budgets["sampling_std"]
    assert everyone["what_if"][0]["price_of_everyone"] > 0


# Plans for what will be run, as it will be run


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Ids of which each is there twice, regions, and budgets of 0.1 and 1."""
    rows = [f"{row // 2},{'ns'[row % 3 == 0]},{(0.1, 1)[row % 4 == 0]},{row}" for row in range(9000)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["id,region,epsilon,row", *rows]))
    return path


def test_the_share_of_an_entry_is_planned_for(run: Run) -> None:
    found = run("plan", "--tiers", TIERS, "--equals", "yes")
    assert found.stdout == run("plan", "--tiers", TIERS, "--bounds", "0", "1").stdout
    assert "if half are yes and half are no" in found.stdout


def test_one_plan_per_group(run: Run, people: Path) -> None:
    words = ("plan", people, "--budget", "epsilon", "--by", "region", "--groups", "n,s,w", "--bounds", "0", "1")
    head, north, south, west = run(*words).stdout.splitlines()
    assert head.split("  ")[:2] == ["group", "people"]
    assert "expected error (std), in the values' unit" in head
    assert (north.split()[:2], south.split()[:2]) == (["n", "6,000"], ["s", "3,000"])
    assert west.endswith("refused: there are no records")
    groups = json.loads(run(*words, "--json").stdout)["groups"]
    assert [group["group"] for group in groups] == ["n", "s", "w"]
    alone = plan_mean({0.1: 4500, 1.0: 1500}, bounds=(0, 1))
    assert groups[0]["expected_std"] == pytest.approx(alone.expected_std, rel=0.02)
    assert groups[2] == {"group": "w", "refused": "there are no records, so nothing can be said about the mean"}
    assert run(*words, "--plot", people.with_suffix(".svg")).stderr.startswith("pdpmean: --plot draws one plan")


def test_a_grouped_plan_lists_its_refused_groups(people: Path) -> None:
    found = plan_mean(str(people), budget="epsilon", by="region", groups=["n", "s", "w"])
    assert list(found) == ["n", "s"]
    assert len(found) == 2
    assert found["n"].people == 6000
    assert repr(found) == "<GroupedPlan of 3 groups, 1 refused>"
    assert "<table" in found._repr_html_()
    with pytest.raises(KeyError, match="there are no records"):
        found["w"]
    few = plan_mean(str(people), budget="epsilon", by="row", groups=[7, 8])
    assert "refused: needs" in str(few)


def test_people_are_counted_once(run: Run, people: Path) -> None:
    """Ids are checked to be unique, as an estimate would, or rows are merged."""
    found = run("plan", people, "--budget", "epsilon", "--person", "id")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "a person has more than one record" in found.stderr
    unique = run("plan", people, "--budget", "epsilon", "--person", "row")
    assert unique.stdout == run("plan", people, "--budget", "epsilon").stdout
    assert (
        run("plan", people, "--budget", "epsilon", "--person", "id", "--rows", "mean", "--bounds", "0", "1").exit_code
        == 0
    )


@pytest.mark.parametrize(
    "words", [("--person", "id"), ("--rows", "mean", "--person", "id"), ("--by", "region", "--groups", "n,s")]
)
def test_columns_need_a_file(run: Run, words: tuple[str, ...]) -> None:
    found = run("plan", "--tiers", TIERS, *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert " goes with a FILE and its --budget column" in found.stderr


def test_spend_needs_a_ledger(run: Run, people: Path) -> None:
    found = run("plan", people, "--budget", "epsilon", "--spend", "0.1")
    assert "--spend goes with a ledger; without one, use --share" in found.stderr


def test_no_budget_above_the_largest_is_named(run: Run, people: Path) -> None:
    """Budgets of a file are counted in cells: what is told of them agrees with what is told of tiers."""
    for words in ((people, "--budget", "epsilon"), ("--tiers", "0.1:6750,1:2250")):
        assert run("plan", *words).stdout.splitlines()[0].split("  ")[-1].strip() == "2,925, all of which counts"
    capped = run("plan", people, "--budget", "epsilon", "--weighting", "budgets").stdout
    exact = run("plan", "--tiers", "0.1:6750,1:2250", "--weighting", "budgets").stdout
    assert re.search(r"budgets above 0\.\d+ count as 0\.\d+, and 25 % grant more", capped)
    assert capped.splitlines()[0] == exact.splitlines()[0]


def test_a_plan_for_percent_is_made_with_a_warning(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "percent.csv"
    path.write_text("eps\n" + "10\n50\n100\n" * 300)
    found = run("plan", path, "--budget", "eps", "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["total_budget"] == 48_000
    assert "pdpmean: warning: budgets look wrong: 900 of 900 are above 5." in found.stderr


def test_a_plan_takes_the_column_of_values_and_does_not_read_it(run: Run, people: Path) -> None:
    words = ("plan", people, "--budget", "epsilon", "--json")
    assert run(*words, "--value", "no such column").stdout == run(*words).stdout
