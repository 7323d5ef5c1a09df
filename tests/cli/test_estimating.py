"""`pdpmean estimate`: every option reaches the library, every output form holds its answer, and nothing private."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pytest

from pdpmean import Choices, GroupedEstimate, InsufficientBudgetError, InvalidInputError, Randomness, estimate_mean
from pdpmean.cli import estimate as estimate_command
from pdpmean.cli.console import in_options

from .conftest import Run

PEOPLE = 4321
BUDGETS = {"strict": 0.1373, "standard": 0.5373, "open": 0.9373}
COLUMNS = ("--value", "hours", "--budget", "epsilon")
CHOICES = {
    "clip-half-width": 2.0,
    "saturation": 0.5,
    "center-share": 0.1,
    "scale-share": 0.2,
    "max-failure": 0.01,
    "max-ratio": 100.0,
}
SECRETS = (str(PEOPLE), f"{PEOPLE:,}", *(str(budget) for budget in BUDGETS.values()))


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of people: id, tier, its budget, region, hours, and incomes that are far from bell-shaped."""
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("data") / "people.csv"
    tiers = rng.choice(list(BUDGETS), PEOPLE)
    regions = rng.choice(["north", "south", "far, far east"], PEOPLE, p=[0.5, 0.49, 0.01])
    hours, incomes = rng.normal(38, 6, PEOPLE).round(2), rng.lognormal(3, 1, PEOPLE).round(2)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "tier", "epsilon", "region", "hours", "income", "note"])
        for row in zip(range(PEOPLE), tiers, regions, hours, incomes, strict=True):
            number, tier, region, *values = row
            writer.writerow([number, tier, BUDGETS[tier], region, *values, "x"])
    return path


def same(people: Path, seed: int = 7, **options: Any) -> Any:
    """What the library says to the same question."""
    return estimate_mean(people, value="hours", randomness=Randomness.seeded(seed), **options)


def test_the_text_is_the_estimates_own(run: Run, people: Path) -> None:
    found = run("estimate", people, *COLUMNS, "--seed", 7)
    assert found.exit_code == 0
    assert found.stdout == f"{same(people, budget='epsilon')}\n"
    assert found.stderr == "pdpmean: NOT PRIVATE: --seed is for simulations. Do not publish.\n"


def test_without_a_seed_it_is_private_and_says_nothing_else(run: Run, people: Path) -> None:
    first, second = (run("estimate", people, *COLUMNS) for _ in range(2))
    assert (first.exit_code, first.stderr) == (0, "")
    assert "Pure personalized differential privacy" in first.stdout
    assert first.stdout != second.stdout


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (("--budget", "epsilon"), {"budget": "epsilon"}),
        (("--budget-for-all", "0.5"), {"budgets": 0.5}),
        (("--budget", "tier", "--tiers", "a=0.1,b=1"), {"budget": "tier", "tiers": {"a": 0.1, "b": 1.0}}),
        (("--budget", "b", "--person", "id"), {"person": "id"}),
        (("--budget", "b", "--person", "id", "--rows", "mean"), {"person": "id", "rows": "mean"}),
        (
            ("--budget", "b", "--by", "r", "--groups", 'n,"s, t"', "--groups", "u"),
            {"by": "r", "groups": ["n", "s, t", "u"]},
        ),
        (
            ("--budget", "b", "--model", "unbounded", "--budget-min", "0.1", "--budget-max", "2"),
            {"model": "unbounded", "budget_range": (0.1, 2.0)},
        ),
        (
            ("--budget", "b", "--model", "unbounded", "--tiers", "a=0.1,b=1"),
            {"model": "unbounded", "budget_range": (0.1, 1.0)},
        ),
        (("--budget", "b", "--shape", "any"), {"shape": "any"}),
        (("--budget", "b", "--bounds", "-5.5", "-1e-3"), {"bounds": (-5.5, -1e-3)}),
        (("--budget", "b", "--bounds", "-5.5", "none"), {"bounds": (-5.5, None)}),
        (("--budget", "b", "--bounds", "None", "1e3"), {"bounds": (None, 1e3)}),
        (("--budget", "b", "--bounds", "-inf", "inf"), {"bounds": (-math.inf, math.inf)}),
        (("--budget", "b", "--share", "0.25"), {"share": 0.25}),
        (
            ("--budget", "b", *(word for name, number in CHOICES.items() for word in (f"--{name}", str(number)))),
            {"choices": Choices(**{name.replace("-", "_"): number for name, number in CHOICES.items()})},
        ),
    ],
)
def test_every_option_reaches_the_library(
    run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], options: dict[str, object]
) -> None:
    asked: dict[str, object] = {}

    def remember(files: list[str], **given: object) -> NoReturn:
        asked.update(given, files=files)
        raise InvalidInputError("enough", name="test")

    monkeypatch.setattr("pdpmean.estimate_mean", remember, raising=False)
    found = run("estimate", "a.csv", "b.csv", "--value", "v", *words)
    assert found.stderr == "pdpmean: enough\n"
    assert {"files": ["a.csv", "b.csv"], "value": "v"}.items() <= asked.items()
    assert options.items() <= asked.items()


def test_json_holds_the_estimate_at_the_level_asked(run: Run, people: Path) -> None:
    found = run("estimate", people, *COLUMNS, "--seed", 7, "--json", "--level", 0.8)
    estimate = same(people, budget="epsilon")
    content = json.loads(found.stdout)
    low, high = estimate.interval(0.8)
    assert content == estimate.to_dict(0.8)
    assert content["interval"] == {"low": low, "high": high, "level": 0.8}
    assert [name for name in content if "interval" in name or name == "level"] == ["interval"]
    assert content["private"] is False
    assert "NOT PRIVATE" in found.stderr


@pytest.mark.parametrize("bounds", [("0,100",), ("0,100", "--json"), ("0,", "100"), ("0",)], ids=str)
def test_bounds_with_a_comma_say_what_to_write(run: Run, people: Path, bounds: tuple[str, ...]) -> None:
    found = run("estimate", people, *COLUMNS, "--bounds", *bounds)
    hint = "pdpmean: --bounds takes two numbers, with a blank between them: --bounds 0 100, or --bounds 0 none\n"
    assert found.stderr.startswith(hint)
    assert found.exit_code == 2


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("-0.25", "has -0.25. Use 0 to leave a record out"),
        (
            "standard",
            "has 'standard', which is not a number. Use 0 to leave a record out; for tier names, pass --tiers ",
        ),
        ("50%", "has '50%', which is not a number. Use 0 to leave a record out; for 50%, write 0.5\n"),
        (" 7.5 % ", "has '7.5 %', which is not a number. Use 0 to leave a record out; for 7.5 %, write 0.075\n"),
        ("", "is empty. Use 0 to leave a record out\n"),
        ("NA", "has 'NA', which is not a number. Use 0 to leave a record out\n"),
        ("0.5.1", "has '0.5.1', which is not a number. Use 0 to leave a record out\n"),
        (3000 * "m", f"has '{40 * 'm'}', which is not a number. "),
    ],
)
def test_a_wrong_budget_in_a_file_is_quoted_with_its_column_and_row(
    run: Run, tmp_path: Path, entry: str, told: str
) -> None:
    path = tmp_path / "wrong.csv"
    path.write_text("hours,epsilon,id\n38,0.5,1\n39,0.5,2\n40," + entry + ",3\n41,0.5,4\n")
    run("ledger", "init", tmp_path / "people.db")
    for words in (
        ("estimate", path, *COLUMNS),
        ("plan", path, "--budget", "epsilon"),
        ("ledger", "import", tmp_path / "people.db", path, "--person", "id", "--budget", "epsilon"),
    ):
        found = run(*words)
        assert found.stderr.startswith(
            f"pdpmean: column 'epsilon' must have budgets >= 0; row 3 below the header {told}"
        )
        assert found.exit_code == 2


def test_a_wrong_budget_in_many_rows_and_files_is_found(run: Run, tmp_path: Path) -> None:
    rows = "38,0.5\n" * 700_000  # several blocks
    (tmp_path / "a.csv").write_text(f"hours,epsilon\n{rows}")
    (tmp_path / "b.csv").write_text(f"hours,epsilon\n{rows}38,open\n")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert "row 700001 below the header has 'open'" in run("plan", files[1], "--budget", "epsilon").stderr
    assert "record 1400000 has 'open'" in run("plan", *files, "--budget", "epsilon").stderr


@pytest.mark.parametrize("entry", ["-0.25", "much", "0.5"])
def test_where_budgets_are_private_a_wrong_one_is_not_told(run: Run, tmp_path: Path, entry: str) -> None:
    """Its record is left out, and nothing says so."""
    path = tmp_path / "wrong.csv"
    path.write_text("hours,epsilon\n" + "38,0.5\n" * 40 + f"40,{entry}\n")
    unbounded = ("--model", "unbounded", "--budget-min", 0.1, "--budget-max", 1, "--seed", 1)
    found = run("estimate", path, *COLUMNS, *unbounded)
    assert found.exit_code == 1
    assert not {"column", "row", "'much'", "much", "-0.25"} & set(found.stderr.split())


def test_where_budgets_are_private_a_refusal_says_that_they_must_be_numbers(run: Run, tmp_path: Path) -> None:
    """Whatever the entries are; with tiers, or in a file with types, they cannot be anything else."""
    path = tmp_path / "few.csv"
    unbounded = ("--value", "hours", "--model", "unbounded", "--budget-min", 0.1, "--budget-max", 1, "--seed", 1)
    hint = "Budgets that are not numbers are left out; for tier names, pass --tiers NAME=BUDGET"
    for entry in ("0.5", "open"):
        path.write_text("hours,epsilon,id\n" + "".join(f"38,{entry},{person}\n" for person in range(40)))
        for words in ((), ("--by", "hours", "--groups", "38,39"), ("--person", "id", "--rows", "mean")):
            found = run("estimate", path, "--budget", "epsilon", *unbounded, *words)
            assert found.exit_code == 1
            assert hint in " ".join(found.output.split())
    for budget in (("--budget", "epsilon", "--tiers", "open=1"), ("--budget-for-all", "0.1")):
        found = run("estimate", path, *unbounded, *budget)
        assert found.exit_code == 1
        assert "not numbers" not in found.output
    table = pa.table({"hours": [38.0] * 40, "epsilon": [0.1] * 40})
    with pytest.raises(InsufficientBudgetError) as caught:
        estimate_mean(table, value="hours", budget="epsilon", model="unbounded", budget_range=(0.1, 1))
    assert "not numbers" not in str(caught.value)
    assert "not numbers" not in run("plan", path, "--budget", "epsilon").output


def test_csv_is_a_header_and_a_line(run: Run, people: Path) -> None:
    found = run("estimate", people, *COLUMNS, "--seed", 7, "--csv", "--level", 0.99)
    estimate = same(people, budget="epsilon")
    (row,) = csv.DictReader(io.StringIO(found.stdout))
    assert (float(row["mean"]), float(row["low"])) == (estimate.mean, estimate.interval(0.99)[0])
    assert (row["level"], row["private"]) == ("0.99", "False")


def test_the_level_shows_in_the_text(run: Run, people: Path) -> None:
    assert "\n80 % interval" in run("estimate", people, *COLUMNS, "--level", 0.8).stdout
    assert "\n99.9 % interval" in run("estimate", people, *COLUMNS, "--level", 0.999).stdout


GROUPS = ("--by", "region", "--groups", 'north,"far, far east"', "--groups", "south")


def test_groups_in_every_form(run: Run, people: Path) -> None:
    labels = ["north", "far, far east", "south"]
    estimate: GroupedEstimate = same(people, budget="epsilon", by="region", groups=labels)
    text, rows, content = (
        run("estimate", people, *COLUMNS, *GROUPS, "--seed", 7, *form) for form in ((), ("--csv",), ("--json",))
    )
    assert text.stdout == f"{in_options(str(estimate))}\n"
    lines = list(csv.DictReader(io.StringIO(rows.stdout)))
    assert [line["group"] for line in lines] == labels
    assert [float(line["mean"]) if line["mean"] else None for line in lines] == [row["mean"] for row in estimate.rows()]
    assert lines[1]["refused"].startswith("a total budget of ")
    assert json.loads(content.stdout) == estimate.to_dict()
    for found in (text, rows, content):
        assert found.exit_code == 0
        assert "pdpmean: refused: 1 of 3 groups\n" in found.stderr


def test_the_exit_code_is_1_if_every_group_is_refused(run: Run, people: Path) -> None:
    found = run("estimate", people, *COLUMNS, "--by", "region", "--groups", '"far, far east",nowhere', "--csv")
    assert found.exit_code == 1
    assert len(found.stdout.splitlines()) == 3
    assert "pdpmean: refused: 2 of 2 groups\n" in found.stderr


def test_too_little_budget_is_refused(run: Run, people: Path) -> None:
    found = run("estimate", people, *COLUMNS, "--share", 0.01)
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr.startswith("pdpmean: refused: ")


def test_numbers_that_contradict_themselves_are_no_answer(run: Run, people: Path, tmp_path: Path) -> None:
    words = ("estimate", people, "--value", "income", "--budget-for-all", "2", "--shape", "gaussian")
    found = run(*words, "--json")
    assert found.exit_code == 3
    assert re.fullmatch(r"pdpmean: no answer: .*\npdpmean: what to do next: use --shape any\n", found.stderr)
    content = json.loads(found.stdout)
    assert content["contradicted"]
    assert content["advice"] == ["use shape='any'"]
    assert (content["mean"], content["interval"], content["warnings"]) == (None, None, [])
    (row,) = csv.DictReader(io.StringIO(run(*words, "--csv").stdout))
    assert (row["mean"], row["low"], row["high"]) == ("", "", "")
    assert row["contradiction"]
    assert row["advice"] == "use shape='any'"
    page = tmp_path / "page.html"
    text = run(*words, "--report", page)
    assert text.exit_code == 3
    assert text.stdout.startswith("NO ANSWER")
    assert "interval" not in text.stdout
    assert "this run has spent all of every budget; another run would spend as much again" in " ".join(
        text.stdout.split()
    )
    shown = page.read_text(encoding="utf-8")
    assert "<h1><small>Mean of income</small> No answer</h1>" in shown
    assert "% interval" not in shown.split("What was planned")[0]
    assert "<p>What to do next: use shape=&#39;any&#39;.</p>\n<p>Before another run: this run has spent" in shown


def test_a_terminal_shows_why_there_is_no_answer_once(run: Run, people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(estimate_command, "sys", SimpleNamespace(stdout=terminal, stderr=terminal))
    words = ("estimate", people, "--value", "income", "--budget-for-all", 1, "--shape", "gaussian", "--quiet")
    text = run(*words)
    assert text.exit_code == 3
    assert text.stdout.startswith("NO ANSWER")
    assert text.stderr == ""
    assert "no answer" in run(*words, "--json").stderr


def test_groups_whose_numbers_contradict_themselves(run: Run, people: Path) -> None:
    """Code 3 if no group has an answer; in the table they are named."""
    words = ("--budget-for-all", 20, "--by", "region", "--groups", "north,south", "--shape", "gaussian", "--csv")
    found = run("estimate", people, "--value", "income", *words, "--force")
    assert found.exit_code == 3
    rows = list(csv.DictReader(io.StringIO(found.stdout)))
    assert [(row["mean"], row["low"]) for row in rows] == [("", ""), ("", "")]
    assert all(row["contradiction"] and row["advice"] for row in rows)
    assert "pdpmean: what to do next: use --shape any (groups: north, south)\n" in found.stderr
    assert run("estimate", people, "--value", "hours", *words, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--value", "hours"), "give a --budget column or --budget-for-all"),
        ((*COLUMNS, "--budget-for-all", "1"), "give a --budget column or --budget-for-all, not both"),
        (("--value", "epsilon", "--budget", "epsilon"), "--value and --budget name the same column, 'epsilon'"),
        (("--value", "hours", "--budget", "tier"), "for tier names, pass --tiers NAME=BUDGET"),
        ((*COLUMNS, "--json", "--csv"), "--json and --csv cannot be combined"),
        ((*COLUMNS, "--level", "95"), "--level must lie strictly between 0 and 1, such as 0.95 for 95 %; got 95"),
        ((*COLUMNS, "--by", "region"), "--by and --groups go together: a column and the public list of its groups"),
        ((*COLUMNS, "--groups", "a"), "--by and --groups go together"),
        ((*COLUMNS, "--tiers", "0.1:30"), "--tiers must look like strict=0.1,open=1"),
        ((*COLUMNS, "--model", "unbounded"), "--budget-min and --budget-max"),
        (("--budget", "epsilon"), "Missing option '--value'"),
        (("--value", "nothing", "--budget", "epsilon"), "'nothing'"),
        (("--value", "hours", "--budget", "nothing"), "'nothing'"),
        (("--value", "hours", "--budget", "tier", "--tiers", "strict=0.1,open=1"), "'standard'"),
        ((*COLUMNS, "--person", "tier"), "more than one record"),
        ((*COLUMNS, "--seed", "x"), "Invalid value for '--seed'"),
    ],
)
def test_wrong_use_is_said_in_a_line_or_two(run: Run, people: Path, words: tuple[str, ...], said: str) -> None:
    found = run("estimate", people, *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert said in found.stderr
    assert found.stderr.count("\n") <= 2


def test_a_file_that_is_not_there(run: Run, tmp_path: Path) -> None:
    found = run("estimate", tmp_path / "nobody.csv", *COLUMNS)
    assert found.exit_code == 2
    assert "nobody.csv" in found.stderr
    assert found.stderr.count("\n") == 1


def test_a_report_is_written_with_its_command(run: Run, people: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    found = run("estimate", people, *COLUMNS, "--report", path, "--level", 0.9)
    page = re.sub(r"<[^>]*>", "", path.read_text(encoding="utf-8"))
    assert found.exit_code == 0
    assert "Pure personalized differential privacy" in page
    assert f"pdpmean estimate {people} --value hours --budget epsilon" in page
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_is_never_overwritten_silently_and_nothing_is_spent(run: Run, people: Path, tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    path.write_text("an earlier release")
    found = run("estimate", people, *COLUMNS, "--report", path)
    assert (found.exit_code, found.stdout) == (2, "")
    assert "already exists; name another file, or pass --overwrite" in found.stderr
    assert path.read_text() == "an earlier release"
    assert run("estimate", people, *COLUMNS, "--report", path, "--overwrite").exit_code == 0
    assert "What it cost" in path.read_text(encoding="utf-8")


def test_a_report_of_groups(run: Run, people: Path, tmp_path: Path) -> None:
    found = run("estimate", people, *COLUMNS, *GROUPS, "--report", tmp_path / "out.html")
    assert found.exit_code == 0
    assert "far, far east" in (tmp_path / "out.html").read_text(encoding="utf-8")


def test_a_refusal_leaves_no_report(run: Run, people: Path, tmp_path: Path) -> None:
    assert run("estimate", people, *COLUMNS, "--report", tmp_path / "out.html", "--share", 0.01).exit_code == 1
    assert list(tmp_path.iterdir()) == []


def test_a_report_that_cannot_be_written_spends_nothing(
    run: Run, people: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pdpmean.estimate_mean", lambda *_, **__: pytest.fail("it was estimated"), raising=False)
    found = run("estimate", people, *COLUMNS, "--report", tmp_path / "no" / "out.html")
    assert found.exit_code == 2
    assert "cannot write" in found.stderr


@pytest.mark.parametrize("form", [(), ("--json",), ("--csv",), GROUPS, ("--value", "note")])
def test_nothing_private_shows_where_taking_part_is_secret(run: Run, people: Path, form: tuple[str, ...]) -> None:
    public = ("--model", "unbounded", "--budget-min", "0.1", "--budget-max", "1")
    for share in ("1", "0.01"):
        found = run("estimate", people, *COLUMNS, *public, *form, "--share", share)
        assert found.exit_code in (0, 1, 2, 3)
        assert secrets_in(found.output.replace(str(people), "")) == []


def secrets_in(text: str) -> list[str]:
    """The secrets that are told; not those whose digits happen to stand within another number."""
    return [secret for secret in SECRETS if re.search(rf"(?<![\d.]){re.escape(secret)}(?!\d)", text)]


def test_secrets_in_finds_planted_secrets() -> None:
    assert secrets_in(f"1{PEOPLE} 0.{PEOPLE} {PEOPLE}0 0.13731") == []
    assert secrets_in(f"n={PEOPLE}, or 4,321: [0.1373, 2]") == [str(PEOPLE), f"{PEOPLE:,}", "0.1373"]


def test_secrets_in_finds_the_number_of_people_in_an_output(run: Run, people: Path) -> None:
    found = run("plan", people, "--budget", "epsilon")
    assert f"{1 / PEOPLE**0.5:.4g}" in found.stdout


@pytest.mark.parametrize(
    ("budget", "said"),
    [
        (
            ("--budget", "0.5"),
            "no column '0.5'; for one budget for everybody, pass --budget-for-all 0.5\nIts columns: ",
        ),
        (("--budget-for-all", "-0.5"), "pdpmean: --budget-for-all must be >= 0; got -0.5\n"),
        (
            ("--budget", "tier"),
            "; for tier names, pass --tiers NAME=BUDGET",
        ),
        (("--budget", "tier", "--tiers", "strict=0.1"), "pdpmean: the column of budgets holds the tier "),
        (("--budget", "tier", "--tiers", "strict=0.1"), ", which --tiers does not list: strict\n"),
    ],
)
def test_wrong_budgets_are_told_in_options(run: Run, people: Path, budget: tuple[str, ...], said: str) -> None:
    found = run("estimate", people, "--value", "hours", *budget)
    assert (found.exit_code, found.stdout) == (2, "")
    assert said in found.stderr


def test_names_that_differ_in_case_are_suggested(run: Run, people: Path) -> None:
    found = run("estimate", people, "--value", "HOURS", "--budget", "epsilon")
    assert "no column 'HOURS'; did you mean 'hours'?" in found.stderr
    tiers = ("--budget", "tier", "--tiers", "Strict=0.1,Standard=0.5,Open=1")
    found = run("estimate", people, "--value", "hours", *tiers)
    assert re.search(
        r"list: Strict, Standard, Open; upper and lower case differ: in --tiers, write '(\w+)' instead of '(?i:\1)'\n",
        found.stderr,
    )
    shown = re.findall(r"write '(\w+)' instead of '(\w+)'", found.stderr)
    assert [(one.islower(), other.istitle()) for one, other in shown] == [(True, True)]


def test_yes_and_no_between_bounds(run: Run, tmp_path: Path) -> None:
    """As the library answers, in every form."""
    rng = np.random.default_rng(3)
    said = np.where(rng.random(500) < 0.1, "", np.where(rng.random(500) < 0.37, "1", "0"))
    path = tmp_path / "votes.csv"
    path.write_text("vote,epsilon\n" + "".join(f"{vote},0.5\n" for vote in said), encoding="utf-8")
    words = ("estimate", path, "--value", "vote", "--budget", "epsilon", "--bounds", "0", "1", "--seed", 7)
    expected = estimate_mean(path, value="vote", budget="epsilon", bounds=(0, 1), randomness=Randomness.seeded(7))
    found = run(*words)
    assert found.exit_code == 0
    assert found.stdout == f"{expected}\n"
    assert "as a percentage" in found.stdout
    (row,) = csv.DictReader(io.StringIO(run(*words, "--csv").stdout))
    assert float(row["missing"]) == expected.missing
    assert json.loads(run(*words, "--json").stdout)["missing"] == expected.missing
    page = tmp_path / "page.html"
    assert run(*words, "--report", page).exit_code == 0
    assert "as a percentage" in page.read_text(encoding="utf-8")


def test_the_share_of_an_entry(run: Run, tmp_path: Path) -> None:
    """The same answer to the same people, whether they are written as words or as numbers."""
    rng = np.random.default_rng(3)
    yes, missing = rng.random(500) < 0.37, rng.random(500) < 0.1
    printed = []
    for names, equals in ((("yes", "no"), "yes"), (("1.0", "0.0"), "1")):
        path = tmp_path / f"{equals}.csv"
        said = np.where(missing, "", np.where(yes, *names))
        path.write_text("vote,epsilon\n" + "".join(f"{vote},0.5\n" for vote in said), encoding="utf-8")
        found = run("estimate", path, "--value", "vote", "--equals", equals, "--budget", "epsilon", "--seed", 7)
        assert found.exit_code == 0
        printed.append(found.stdout)
    expected = estimate_mean(
        np.where(missing, np.nan, yes), np.full(500, 0.5), bounds=(0, 1), randomness=Randomness.seeded(7)
    )
    lines = [line for line in str(expected).splitlines(keepends=True) if not line.startswith("bounds")]
    assert printed == ["".join(lines) + "\n"] * 2
    wrong = run("estimate", path, "--value", "vote", "--equals", " ", "--budget", "epsilon")
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "--equals must be an entry of the column" in wrong.stderr


def test_budgets_that_look_wrong_are_refused_unless_forced(run: Run, people: Path, tmp_path: Path) -> None:
    words = ("estimate", people, "--value", "hours", "--budget", "id")
    found = run(*words)
    assert (found.exit_code, found.stdout) == (4, "")
    assert found.stderr.endswith("? If they are right, pass --force. Nothing was spent\n")
    warning = "budgets look wrong: 4,3"
    report = tmp_path / "out.html"
    forced = run(*words, "--force", "--report", report)
    assert forced.exit_code == 0
    assert re.search(f"^warning +{warning}", forced.stdout, re.MULTILINE)
    assert forced.stderr.count(f"warning: {warning}") == 1
    assert warning in report.read_text(encoding="utf-8")
    assert json.loads(run(*words, "--force", "--json").stdout)["warnings"][0].startswith(warning)
    assert warning in run(*words, "--force", "--csv").stdout
    assert run(*words, "--force", "--strict").exit_code == 4


def test_strict_shows_the_answer_that_it_warns_of(run: Run, people: Path, tmp_path: Path) -> None:
    path = tmp_path / "missing.csv"
    path.write_text("hours\n" + "".join(f"{'' if person % 3 else person % 10}\n" for person in range(900)))
    words = ("estimate", path, "--value", "hours", "--budget-for-all", 5, "--bounds", 0, 10)
    assert run(*words).exit_code == 0
    found = run(*words, "--strict")
    assert found.exit_code == 4
    assert "95 % interval" in found.stdout
    assert run("estimate", people, *COLUMNS, "--bounds", 0, 100, "--strict").exit_code == 0


def test_an_empty_tier_can_be_left_out(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "tiers.csv"
    path.write_text(
        "hours,tier\n" + "".join(f"{person % 50},{'' if person % 9 else 'open'}\n" for person in range(9000))
    )
    words = ("estimate", path, "--value", "hours", "--budget", "tier", "--tiers")
    found = run(*words, "open=1")
    assert found.exit_code == 2
    assert "which --tiers does not list: open; to leave people without a tier out, pass --tiers ...,=0" in found.stderr
    assert run(*words, "open=1,=0").exit_code == 0


def test_a_column_of_words_is_told_what_to_do(run: Run, tmp_path: Path) -> None:
    """CSV has no types, so that this shows only afterwards, and only in what was released."""
    rows = "".join(f"{'yes' if number % 3 else 'no'},1\n" for number in range(3000))
    path = tmp_path / "words.csv"
    path.write_text("insured,epsilon\n" + rows)
    found = run("estimate", path, "--value", "insured", "--budget", "epsilon", "--seed", "1")
    assert found.exit_code == 3
    assert "use --equals yes for the share of an entry" in found.stderr
