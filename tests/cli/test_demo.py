"""`pdpmean demo`: the whole tour runs, shows its commands, and keeps its file only if asked."""

from __future__ import annotations

import csv
import tempfile
from pathlib import Path

import pytest

from pdpmean.cli import demo

from .conftest import Run


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer simulations, so that the tour is quick."""
    tour = {title: command.replace("--runs 100", "--runs 1") for title, command in demo._TOUR.items()}
    monkeypatch.setattr(demo, "_TOUR", tour)


@pytest.mark.usefixtures("brief")
def test_the_tour_shows_and_runs_its_commands(run: Run, tmp_path: Path) -> None:
    before = Path.cwd()
    found = run("demo", "--directory", tmp_path / "tour")
    assert (found.exit_code, found.stderr) == (0, "")
    assert f"in {tmp_path / 'tour' / 'people.csv'}: " in found.stdout
    shown = [line.split()[2] for line in found.stdout.splitlines() if line.startswith("$ pdpmean ")]
    assert shown == ["plan", "estimate", "estimate", "estimate", "compare", "compare"]
    assert found.stdout.count("Pure personalized differential privacy") == 3
    assert found.stdout.count("\npaper: ") == 2
    assert Path.cwd() == before
    with (tmp_path / "tour" / "people.csv").open() as file:
        people = list(csv.DictReader(file))
    assert len(people) == 20_000
    assert {person["tier"]: person["epsilon"] for person in people} == {
        "strict": "0.1",
        "standard": "0.5",
        "open": "1.0",
    }


def test_an_existing_file_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("hours,epsilon\n38,0.5\n")
    found = run("demo", "--directory", tmp_path)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"pdpmean: {tmp_path / 'people.csv'} already exists; choose another --directory\n"
    assert (tmp_path / "people.csv").read_text() == "hours,epsilon\n38,0.5\n"


def test_nothing_stays_unless_asked_for(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo, "_TOUR", {})
    found = run("demo")
    assert (found.exit_code, str(tmp_path) in found.stdout) == (0, False)
    assert "in a temporary file (--directory keeps it)" in found.stdout
    assert list(tmp_path.iterdir()) == []
