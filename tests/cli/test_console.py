"""Errors: a line or two on standard error, an exit code of their own, no traceback, and nobody's data."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from pdpmean import InvalidInputError, __version__
from pdpmean.cli.console import in_options

from .conftest import Run
from .processes import COMMAND

TIERS = ("--tiers", "0.1:5400,1:900")


def test_version_prints_the_version(run: Run) -> None:
    found = run("--version")
    assert (found.exit_code, found.stdout) == (0, f"pdpmean {__version__}\n")


def test_no_command_is_help_and_wrong_use(run: Run) -> None:
    found = run()
    assert found.exit_code == 2
    assert "estimate" in found.output
    assert "demo" in found.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nonsense",), "No such command 'nonsense'"),
        (("plan", "--nonsense"), "No such option: --nonsense"),
        (("plan", "--modl", "bounded"), "--model"),
        (("plan", *TIERS, "--model", "other"), "'other' is not one of 'bounded', 'unbounded'"),
        (("plan", *TIERS, "--share", "much"), "Invalid value for '--share'"),
        (("plan", *TIERS, "--share", "25%"), "Invalid value for '--share': got '25%'; write 0.25\n"),
        (("plan", *TIERS, "--center-share", "2.5 %"), "Invalid value for '--center-share': got '2.5 %'; write 0.025\n"),
        (("plan", *TIERS, "--share", "a%"), "Invalid value for '--share': got 'a%', which is not a number\n"),
        (
            ("compare", *TIERS, "--runs", "many"),
            "Invalid value for '--runs': got 'many', which is not a whole number\n",
        ),
        (
            ("estimate", "a.csv", "--value", "v", "--budget-for-all", "50%"),
            "Invalid value for '--budget-for-all': got '50%'; write 0.5\n",
        ),
        (("plan", *TIERS, "--share", "2"), "pdpmean: --share must be above 0 and at most 1; got 2.0"),
        (
            ("plan", *TIERS, "--bounds", "20", "0"),
            "pdpmean: --bounds must be LOW HIGH with LOW < HIGH, and none for an end that is not known; got 20 0; "
            "did you mean 0 20?\n",
        ),
        (("plan", *TIERS, "--bounds", "5", "-5"), "not known; got 5 -5; did you mean -5 5?\n"),
        (("plan", *TIERS, "--bounds", "5", "5"), "not known; got 5 5\n"),
        (("plan", *TIERS, "--bounds", "0", "lots"), "not known; got 0 lots; 'lots' is not a number\n"),
        (("plan", *TIERS, "--bounds", "nan", "1"), "not known; got nan 1; 'nan' is not a number\n"),
        (("plan", *TIERS, "--bounds", "inf", "none"), "not known; got inf none\n"),
        (("plan", *TIERS, "--shape", "bounds", "--bounds", "0", "1"), "--shape"),
        (("plan", *TIERS, "--bounds", "5"), "--bounds"),
        (("plan", *TIERS, "--budget-min", "0.1"), "--budget-min and --budget-max go together"),
        (
            ("plan", *TIERS, "--budget-min", "0.1", "--budget-max", "1"),
            "--budget-min and --budget-max go with --model unbounded",
        ),
        (("plan", *TIERS, "--clip-half-width", "-1"), "pdpmean: --clip-half-width must be positive"),
        (("plan",), "plan needs a FILE and its --budget column, or --tiers with people"),
        (("plan", "--tiers", "strict=0.1"), "--tiers must say how many people"),
        (("plan", "--tiers", "0.1:many"), "got '0.1:many'; 'many' is not a number of people\n"),
        (("plan", "--tiers", "strict=10%:5"), "got 'strict=10%:5'; '10%' is not a number, write 0.1\n"),
        (("plan", "--tiers", "strict"), "got 'strict'; 'strict' is not a number\n"),
        (("plan", "--tiers", "open=-1:900"), "all >= 0; got 'open=-1:900'"),
        (("plan", "people.csv"), "--budget must name the column"),
        (("plan", "people.csv", "--budget", "b", "--tiers", "0.1:30"), "--tiers must look like strict=0.1,open=1"),
        (("compare",), "Missing option '--tiers'"),
        (("compare", *TIERS, "--runs", "0"), "Invalid value for '--runs'"),
        (("compare", "--tiers", "0.1:9000000000"), "people"),
    ],
)
def test_wrong_use_is_said_in_a_line_or_two(run: Run, words: tuple[str, ...], said: str) -> None:
    found = run(*words)
    assert found.exit_code == 2
    assert said in found.stderr
    assert found.stderr.startswith("pdpmean: ")
    assert found.stderr.count("\n") <= 2
    assert "Traceback" not in found.stderr
    assert found.stdout == ""


def test_a_refusal_says_what_would_do(run: Run) -> None:
    found = run("plan", "--tiers", "0.1:50")
    assert found.exit_code == 1
    assert found.stderr.startswith("pdpmean: refused: a total budget of 5 is not enough for an answer")
    assert re.search(r"About 2\d\d would be enough: about 2,\d\d\d people like these, or larger budgets", found.stderr)
    assert re.search(r"\. With one bound \(--bounds LOW none\), about \d+ would be enough", found.stderr)
    assert re.search(r"\. With two narrow bounds \(--bounds LOW HIGH\), about \d+ would be enough", found.stderr)
    assert (found.stderr.count("\n"), found.stdout) == (1, "")


def broken(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make planning fail with this error."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("pdpmean.plan_mean", fail, raising=False)


def test_a_fault_is_named_and_not_quoted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(ValueError("could not read '41.17'"), monkeypatch)
    found = run("plan", *TIERS)
    assert found.exit_code == 70
    assert found.stderr.startswith("pdpmean: internal error: ValueError in test_console.py, line ")
    assert "41.17" not in found.output
    assert found.stderr.count("\n") == 1


def test_debug_shows_the_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(ValueError("could not read '41.17'"), monkeypatch)
    found = run("plan", *TIERS, "--debug")
    assert found.exit_code == 70
    assert "Traceback" in found.stderr
    assert "41.17" in found.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (InvalidInputError("column 'x' is missing", name="value"), 2, "pdpmean: column 'x' is missing\n"),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), 2, "pdpmean: x.csv: No such file or directory\n"),
        (OSError(28, "'41.17' does not fit"), 2, "pdpmean: No space left on device\n"),
        (KeyboardInterrupt(), 130, "pdpmean: interrupted; nothing was written\n"),
    ],
)
def test_every_kind_of_error_has_its_code(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str
) -> None:
    broken(error, monkeypatch)
    found = run("plan", *TIERS)
    assert (found.exit_code, found.stderr) == (code, said)


def test_an_error_without_a_file_is_not_quoted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(OSError("bad number '41.17' in line 3"), monkeypatch)
    found = run("plan", *TIERS)
    assert (found.exit_code, "41.17" in found.output) == (70, False)


def test_names_do_nothing_to_a_terminal(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("hours\x1b[2J,epsilon\n1,2\n")
    found = run("estimate", tmp_path / "x.csv", "--value", "hour", "--budget", "epsilon")
    assert found.stderr.endswith("Its columns: hours?[2J, epsilon\n")


@pytest.mark.parametrize(
    ("in_python", "said"),
    [
        ("use shape='any', or bounds=(low, high)", "use --shape any, or --bounds LOW HIGH"),
        ("the model needs budget_range=(smallest, largest)", "the model needs --budget-min and --budget-max"),
        ("budget='a b' must be; give tiers={name: budget}", "--budget a b must be; give --tiers NAME=BUDGET"),
        ("center_share and max_ratio", "--center-share and --max-ratio"),
        ("person can be checked; one person", "--person can be checked; one person"),
        ("value and budget name the same", "--value and --budget name the same"),
        ("its value and budget", "its value and budget"),
    ],
)
def test_advice_is_given_in_options(in_python: str, said: str) -> None:
    assert in_options(in_python) == said


def test_advice_is_given_in_options_wherever_lines_are_folded() -> None:
    assert in_options("with one, bounds=(low,\n  None); or rows") == "with one, --bounds LOW none; or rows"
    assert in_options("rows needs person='...', the ids").startswith("--rows needs --person ...")


def test_a_reader_that_stops_is_not_a_refusal() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with open(theirs, "wb") as nobody_reads:
        ended = subprocess.run([*COMMAND, "plan", *TIERS], stdout=nobody_reads, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.parametrize("command", ["estimate", "plan", "compare", "demo"])
def test_flags_ask_for_no_value(run: Run, command: str) -> None:
    assert re.search(r"--debug +Show", run(command, "--help").stdout)


def test_a_file_that_cannot_be_written_is_said_first(run: Run, tmp_path: Path) -> None:
    found = run("plan", *TIERS, "--plot", tmp_path / "nowhere" / "plan.svg")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "cannot write" in found.stderr
    assert "No such file or directory" in found.stderr


@pytest.mark.parametrize("words", [(), ("estimate",), ("plan",), ("compare",), ("demo",)])
def test_help_shows_no_value_where_an_option_takes_none(run: Run, words: tuple[str, ...]) -> None:
    found = run(*words, "--help")
    assert (found.exit_code, found.stderr) == (0, "")
    assert "--help" in found.stdout
    assert "bool" not in found.stdout
