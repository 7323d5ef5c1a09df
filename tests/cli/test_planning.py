"""`pdpmean plan`: what the library plans, what dominates, what would help; nothing private."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from pdpmean import plan_mean
from pdpmean.study.what_if import what_if

from .conftest import Run

TIERS, PEOPLE = "0.1:5400,0.5:3700,1:900", {0.1: 5400, 0.5: 3700, 1.0: 900}


def test_the_text_says_what_the_plan_says_and_more(run: Run) -> None:
    found = run("plan", "--tiers", TIERS)
    plan = plan_mean(PEOPLE)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout.startswith(str(plan))
    part = (plan.sampling_std / plan.expected_std) ** 2
    assert f"limited by            sampling, {100 * part:.0f} % of the squared error" in found.stdout
    assert f"helps up to {plan.saturation:.3g} per person; 0 % of the people grant more" in found.stdout
    assert "without privacy       the error (std) would be 0.01\n" in found.stdout
    table = found.stdout.split("\n\n")[1].splitlines()
    assert [line.split("  ")[0] for line in table] == [
        "what if",
        "as it is",
        *(scenario.name for scenario in what_if(plan)),
    ]
    head, as_it_is, *changed = table
    assert {len(line) for line in changed} == {len(head)}
    assert len(as_it_is) == head.index("  change")  # the column of changes is empty there
    twice = plan_mean({budget: 2 * people for budget, people in PEOPLE.items()}).expected_std
    assert table[-1].split()[-3:] == [f"{twice:.4g}", f"{100 * (twice / plan.expected_std - 1):.0f}", "%"]


def test_little_budget_is_limited_by_noise(run: Run) -> None:
    assert "limited by            noise, " in run("plan", "--tiers", "0.01:50000").stdout


def test_json_holds_the_same(run: Run) -> None:
    found = json.loads(run("plan", "--tiers", TIERS, "--json").stdout)
    plan = plan_mean(PEOPLE)
    assert found["expected_std"] == plan.expected_std
    assert found["limited_by"] == "sampling"
    assert found["people_beyond_saturation"] == 0.0
    assert found["without_privacy"] == 0.01
    changes = {row["change"]: row["expected_std"] for row in found["what_if"]}
    assert changes["twice as many people"] == plan_mean({b: 2 * n for b, n in PEOPLE.items()}).expected_std


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
def test_options_reach_the_plan(run: Run, words: tuple[str, ...], options: dict[str, object]) -> None:
    found = json.loads(run("plan", "--tiers", TIERS, "--json", *words).stdout)
    assert found["expected_std"] == plan_mean(PEOPLE, **options).expected_std  # type: ignore[arg-type]
    assert found != json.loads(run("plan", "--tiers", TIERS, "--json").stdout)


def test_shape_and_choices_reach_the_plan(run: Run) -> None:
    chosen = ("--clip-width", "2.5", "--saturation", "0.3", "--center-share", "0.1", "--scale-share", "0.05")
    refused = run("plan", "--tiers", TIERS, *chosen)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "are choices for --shape gaussian alone" in refused.stderr
    found = json.loads(run("plan", "--tiers", TIERS, "--json", "--shape", "gaussian", *chosen).stdout)
    assert (found["clip_width"], found["shares"]["center"]) == (2.5, math.floor(0.1 * 2**20) / 2**20)
    assert found["saturation"] == pytest.approx(0.3)
    assert found["shape"] == "gaussian"
    assert json.loads(run("plan", "--tiers", "0.5:40000", "--json").stdout)["shape"] == "any"
    assert run("plan", "--tiers", "0.1:10000").exit_code == 0
    assert run("plan", "--tiers", "0.1:10000", "--max-failure", "1e-9").exit_code == 1
    assert run("plan", "--tiers", "0.1:10000", "--max-ratio", "1e8").exit_code == 1


def test_a_figure_is_drawn(run: Run, tmp_path: Path) -> None:
    assert run("plan", "--tiers", TIERS, "--plot", tmp_path / "plan.svg").exit_code == 0
    assert "<svg" in (tmp_path / "plan.svg").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["plan.svg"]
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
