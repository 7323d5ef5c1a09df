"""`pdpmean ledger`, and what `estimate` and `plan` do with one."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import pytest

from pdpmean import Ledger, LedgerError
from pdpmean.ledger.reservation import Reservation

from .conftest import Run

TIERS = "strict=0.2,standard=0.5,open=2"
PEOPLE = 3000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with a file of people."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    with Path("people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "hours", "tier", "epsilon"])
        for number in range(PEOPLE):
            writer.writerow([number, round(rng.normal(38, 10), 1), ["strict", "standard", "open"][number % 3], 0.5])
    return tmp_path


@pytest.fixture
def ledger(run: Run, folder: Path) -> Path:
    """A ledger of them."""
    assert run("ledger", "init", "people.db").stdout == "people.db is a ledger of 0 people\n"
    found = run("ledger", "import", "people.db", "people.csv", "--person", "id", "--budget", "tier", "--tiers", TIERS)
    assert (found.stdout, found.exit_code) == ("3,000 people added, 0 changed\n", 0), found.stderr
    return folder / "people.db"


ASKED = ("--value", "hours", "--person", "id", "--ledger", "people.db", "--purpose", "hours at work")


def balance(ledger: Path, person: str) -> str:
    with Ledger(ledger) as held:
        return str(held.balance(person))


def test_an_import_of_numbers_changes_grants(run: Run, ledger: Path) -> None:
    words = ("import", "people.db", "people.csv", "--person", "id", "--budget", "epsilon", "--note", "second wave")
    assert run("ledger", *words).stdout == "0 people added, 3,000 changed\n"
    assert balance(ledger, "0") == "granted 0.5, spent 0, left 0.5"


def test_an_import_of_wrong_budgets_changes_nothing(run: Run, folder: Path) -> None:
    (folder / "wrong.csv").write_text("id,epsilon\na,1\nb,-1\n")
    run("ledger", "init", "new.db")
    found = run("ledger", "import", "new.db", "wrong.csv", "--person", "id", "--budget", "epsilon")
    assert found.exit_code == 2
    assert "column 'epsilon' must have budgets >= 0; row 2 below the header has -1" in found.stderr
    assert run("ledger", "init", "new.db").stdout == "new.db is a ledger of 0 people\n"


@pytest.mark.usefixtures("ledger")
def test_an_import_of_another_column_is_noticed(run: Run) -> None:
    words = ("import", "people.db", "people.csv", "--person", "id", "--budget", "hours")
    refused = run("ledger", *words)
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert re.search(r"look wrong: 2,\d\d\d of \d,\d\d\d are above 20", refused.stderr)
    assert refused.stderr.endswith("? If they are right, pass --force. Nothing was spent\n")
    assert json.loads(run("ledger", "show", "people.db", "--json").stdout)["left"] == {
        "0.2": 1000,
        "0.5": 1000,
        "2": 1000,
    }
    told = run("ledger", *words, "--force")
    assert (told.exit_code, told.stdout) == (0, "0 people added, 3,000 changed\n")
    assert "pdpmean: warning: budgets look wrong" in told.stderr
    assert told.stderr.endswith("Is this what people grant?\n")


@pytest.mark.usefixtures("ledger")
def test_a_grant_in_percent_is_noticed(run: Run) -> None:
    refused = run("ledger", "grant", "people.db", "4", "50")
    assert (refused.exit_code, refused.stdout) == (4, "")
    assert "50 is above 20" in refused.stderr
    assert refused.stderr.endswith("? If they are right, pass --force. Nothing was spent\n")
    told = run("ledger", "grant", "people.db", "4", "50", "--force")
    assert (told.exit_code, told.stdout) == (0, "4: granted 50, spent 0, left 50\n")
    assert "pdpmean: warning: budgets look wrong" in told.stderr


def test_of_two_tiers_with_one_budget_neither_is_taken_for_the_other(run: Run, ledger: Path) -> None:
    words = ("import", "people.db", "people.csv", "--person", "id", "--budget", "tier")
    run("ledger", *words, "--tiers", "strict=0.2,standard=0.2,open=2")
    with Ledger(ledger) as held:
        assert [held.balance(person).tier for person in "012"] == [None, None, "open"]


def test_an_interrupt_says_where_to_see_what_was_charged(
    run: Run, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pdpmean.estimate.locate", mock.Mock(side_effect=KeyboardInterrupt))
    found = run("estimate", "people.csv", *ASKED)
    assert found.exit_code == 130
    assert "counts as spent; see pdpmean ledger show" in found.stderr
    assert balance(ledger, "1") == "granted 0.5, spent 0.5, left 0"


def test_grants_and_withdrawals(run: Run, ledger: Path) -> None:
    assert run("ledger", "grant", "people.db", "0", "0.75", "--tier", "own").stdout == (
        "0: granted 0.75, spent 0, left 0.75\n"
    )
    assert "0 has withdrawn" in run("ledger", "withdraw", "people.db", "0").stdout
    assert balance(ledger, "0") == "granted 0, spent 0, left 0"
    found = run("ledger", "grant", "people.db", "0", "much")
    assert (found.exit_code, found.stderr) == (2, "pdpmean: budget must be a number >= 0 (or inf); got 'much'\n")


def test_an_estimate_is_charged(run: Run, ledger: Path) -> None:
    found = run("estimate", "people.csv", *ASKED, "--share", "0.5", "--analyst", "Ada")
    assert found.exit_code == 0, found.stderr
    assert "where cost is what the ledger charged them for release 1" in " ".join(found.stdout.split())
    assert balance(ledger, "1") == "granted 0.5, spent 0.25, left 0.25"
    assert run("estimate", "people.csv", *ASKED, "--spend", "0.2").exit_code == 0
    assert balance(ledger, "1") == "granted 0.5, spent 0.45, left 0.05"


@pytest.mark.usefixtures("ledger")
def test_show_statement_and_releases_after_an_estimate(run: Run) -> None:
    run("estimate", "people.csv", *ASKED, "--share", "0.5")
    shown = run("ledger", "show", "people.db").stdout
    assert "3,000, of whom 3,000 have budget left" in shown
    assert "committed  3,000   1350        hours at work" in shown
    assert json.loads(run("ledger", "show", "people.db", "--json").stdout)["left"] == {
        "0.1": 1000,
        "0.25": 1000,
        "1": 1000,
    }
    assert "0.1   hours at work" in run("ledger", "statement", "people.db", "0").stdout
    assert json.loads(run("ledger", "statement", "people.db", "2", "--json").stdout)["left"] == 1
    (release,) = json.loads(run("ledger", "releases", "people.db", "--json").stdout)["releases"]
    assert release["dataset"] == "people.csv"
    assert "hours at work" in run("ledger", "releases", "people.db").stdout


def test_verify_says_what_is_wrong_by_its_exit_code(run: Run, ledger: Path) -> None:
    found = run("ledger", "verify", "people.db")
    assert (found.exit_code, "nobody above their grant" in found.stdout) == (0, True)
    with Ledger(ledger) as held, held._store.writing() as transaction:
        transaction.change("UPDATE balances SET spent_nats = 1 WHERE person = 1")
    found = run("ledger", "verify", "people.db", "--json")
    assert found.exit_code == 1
    assert json.loads(found.stdout)["passed"] is False


def test_a_release_that_was_cut_off_is_settled(run: Run, ledger: Path) -> None:
    def killed(*_: Any) -> Any:
        raise LedgerError("the connection was lost")

    with mock.patch.object(Reservation, "commit", killed), mock.patch("pdpmean.ledger.charge.settle", killed):
        found = run("estimate", "people.csv", *ASKED)
    assert found.exit_code == 5
    assert "95 % interval" in found.stdout, "the answer is paid for, so it is shown"
    assert "the connection was lost" in found.stderr
    assert "Releases still reserved, neither committed nor cancelled: 1." in run("ledger", "verify", "people.db").stdout
    assert run("ledger", "settle", "people.db", "1").stdout == "release 1 is settled as spent\n"
    assert run("ledger", "settle", "people.db", "1").exit_code == 5
    assert ledger.exists()


@pytest.mark.usefixtures("ledger")
def test_tables_are_exported_and_overwritten_only_if_told_to(run: Run) -> None:
    assert run("ledger", "export", "people.db", "out.csv").stdout == "people written to out.csv\n"
    assert len(Path("out.csv").read_text().splitlines()) == PEOPLE + 1
    refused = run("ledger", "export", "people.db", "out.csv", "--table", "releases")
    assert refused.stderr == "pdpmean: out.csv already exists; name another file, or pass --overwrite\n"
    assert refused.exit_code == 2
    assert len(Path("out.csv").read_text().splitlines()) == PEOPLE + 1
    assert run("ledger", "export", "people.db", "out.csv", "--table", "releases", "--overwrite").exit_code == 0
    assert Path("out.csv").read_text().startswith("number,")
    assert run("ledger", "export", "people.db", "out.parquet", "--table", "costs").exit_code == 0
    assert pq.read_table("out.parquet").num_rows == 0


@pytest.mark.usefixtures("ledger")
def test_plans_are_for_what_is_left(run: Run) -> None:
    run("estimate", "people.csv", *ASKED, "--share", "0.5")
    whole = json.loads(run("plan", "--ledger", "people.db", "--json").stdout)
    assert whole["total_budget"] == pytest.approx(1350, rel=0.02)
    few = Path("few.csv")
    few.write_text("".join(Path("people.csv").read_text().splitlines(keepends=True)[:1501]))
    part = run(
        "plan", few, "--ledger", "people.db", "--person", "id", "--spend", "0.5", "--bounds", "0", "100", "--json"
    )
    assert json.loads(part.stdout)["total_budget"] == pytest.approx(425, rel=0.02)
    found = run("plan", "--ledger", "people.db", "--model", "unbounded", "--budget-min", "0.1", "--budget-max", "1")
    assert (found.exit_code, "is private" in found.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("estimate", "people.csv", "--value", "hours", "--ledger", "no.db"),
            "create one with pdpmean ledger init no.db",
        ),
        (("ledger", "show", "no.db"), "create one with pdpmean ledger init no.db"),
        (("estimate", "people.csv", "--value", "hours", "--ledger", "people.db"), "--person"),
        (("estimate", "people.csv", *ASKED[:-2]), "--purpose TEXT"),
        (("estimate", "people.csv", *ASKED, "--share", "0.5", "--spend", "1"), "not both"),
        (("ledger", "statement", "people.db", "nobody"), "has no person 'nobody'"),
        (
            ("ledger", "grant", "people.db", "alice", "-1"),
            "budgets must be >= 0. Before an id that starts with a minus",
        ),
        (("ledger", "grant", "people.db", "alice", "-0.5"), "budgets must be >= 0"),
        (("ledger", "grant", "people.db", "--", "alice", "-1"), "budget must be a number >= 0 (or inf); got '-1'"),
        (("ledger", "export", "people.db", "."), "cannot write .: it is a folder; name a file"),
    ],
)
@pytest.mark.usefixtures("ledger")
def test_wrong_uses_say_what_to_do(run: Run, words: tuple[str, ...], message: str) -> None:
    found = run(*words)
    assert found.exit_code == 2
    assert message in found.stderr
    assert not Path("no.db").exists()


def test_a_folder_is_no_ledger(run: Run, tmp_path: Path) -> None:
    for words in (("ledger", "init", tmp_path), ("ledger", "show", tmp_path)):
        found = run(*words)
        assert f"{tmp_path} is a folder; a ledger is a file" in found.stderr
        assert found.exit_code == 5


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("terminal", "quiet", "told"), [(True, [], 1), (False, [], 0), (True, ["--quiet"], 0)])
def test_without_a_ledger_one_line_says_so_on_a_terminal(
    run: Run, terminal: bool, quiet: list[str], told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pdpmean.cli.estimate.is_terminal", lambda: terminal)
    found = run("estimate", "people.csv", "--value", "hours", "--budget", "epsilon", *quiet)
    assert found.exit_code == 0
    assert found.stderr.count("this cost is not recorded; to record it, use --ledger people.db") == told
