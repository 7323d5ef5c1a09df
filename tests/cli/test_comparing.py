"""`pdpmean compare`: what the library simulates, as a table, as JSON and as a figure; the same every time."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from pdpmean.results.comparison import Comparison, MethodRuns
from pdpmean.study.compare import METHODS, compare

from .conftest import Run

TIERS, PEOPLE = "0.1:2000,1:500", {0.1: 2000, 1.0: 500}


def test_the_table_has_a_line_per_method(run: Run) -> None:
    found = run("compare", "--tiers", TIERS, "--runs", 2)
    assert (found.exit_code, found.stderr) == (0, "")
    table = found.stdout.split("\n\n")[1].splitlines()
    assert table[0].split() == ["error", "95", "%", "interval", "over", "bound", "misses", "refused"]
    assert [line.split(":")[0] for line in table[1:]] == [*METHODS, "lower bound"]
    assert found.stdout.startswith("2 simulated samples of 2,500 people, bounded model, seed 0\n")
    assert run("compare", "--tiers", TIERS, "--runs", 2).stdout == found.stdout


def test_json_holds_what_the_library_found(run: Run) -> None:
    words = ("--runs", 2, "--seed", 5, "--mean", -3, "--model", "unbounded", "--json")
    found = json.loads(run("compare", "--tiers", TIERS, *words).stdout)
    expected = compare(PEOPLE, runs=2, seed=5, mean=-3.0, model="unbounded", budget_range=(0.1, 1.0))
    assert found["methods"] == [
        row | {"error_interval": [end if math.isfinite(end) else None for end in row["error_interval"]]}
        for row in expected.rows()
    ]
    assert {name: found[name] for name in ("model", "people", "runs", "mean", "seed", "lower_bound")} == {
        "model": "unbounded",
        "people": 2500,
        "runs": 2,
        "mean": -3.0,
        "seed": 5,
        "lower_bound": expected.lower_bound,
    }


def test_refusals_are_no_answer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = Comparison((MethodRuns("pdpmean", (), 2),), 0.25, "bounded", 100, 2, 10.0, 0)
    monkeypatch.setattr("pdpmean.study.compare.compare", lambda *_, **__: refused)
    found = run("compare", "--tiers", "0.1:100")
    line = next(line for line in found.stdout.splitlines() if line.startswith("pdpmean:"))
    assert line.split("library")[1].split() == ["no", "answer", "no", "answer", "-", "100.0", "%"]
    assert found.exit_code == 0
    row = json.loads(run("compare", "--tiers", "0.1:100", "--json").stdout)["methods"][0]
    assert (row["error"], row["misses"], row["refused"]) == (None, None, 1.0)


def test_plot_writes_a_figure(run: Run, tmp_path: Path) -> None:
    assert run("compare", "--tiers", TIERS, "--runs", 1, "--plot", tmp_path / "out.svg").exit_code == 0
    assert "<svg" in (tmp_path / "out.svg").read_text()


def test_an_existing_figure_is_replaced_only_with_overwrite(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "out.svg"
    path.write_text("an earlier figure")
    words = ("compare", "--tiers", TIERS, "--runs", 1, "--plot", path)
    found = run(*words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == f"pdpmean: {path} already exists; name another file, or pass --overwrite\n"
    assert path.read_text() == "an earlier figure"
    assert run(*words, "--overwrite").exit_code == 0
    assert "<svg" in path.read_text()
