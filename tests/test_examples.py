"""The examples run, and come near the truth they print."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from pages import ROOT


def run(name: str, *options: str) -> str:
    """What an example prints, with noise that repeats itself."""
    command = [sys.executable, "-m", "repeatable", str(ROOT / "examples" / name), *options]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "support")])
    made = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_spark_job() -> None:
    printed = run("spark_job.py", "--rows", "3e5")
    means = re.findall(r"^(?:north|south|west) +(\S+) ", printed, flags=re.MULTILINE)
    assert [float(mean) for mean in means] == pytest.approx([36, 38, 41], abs=0.4)


def estimated_mean(printed: str) -> float:
    return float(re.search(r"^mean +(\S+)$", printed, flags=re.MULTILINE)[1])  # type: ignore[index]


def test_salaries_by_tier() -> None:
    printed = run("salaries_by_tier.py")
    rows = [line.replace(",", "").split() for line in printed.split("truth", 2)[2].splitlines()[1:]]
    assert [row[0] for row in rows] == ["care", "sales", "research"]
    for _, mean, true_mean, median, true_median in rows:
        assert float(mean) == pytest.approx(float(true_mean), rel=0.05)
        assert float(median) == pytest.approx(float(true_median), rel=0.02)
    assert re.search(r"^legal +- +refused", printed, flags=re.MULTILINE)


def test_larger_than_memory() -> None:
    printed = run("larger_than_memory.py", "--rows", "6e7", "--memory", "800")
    assert "60,000,000 rows, 960 MB as numbers" in printed
    assert float(re.search(r"at most (\d+) MB", printed)[1]) < 800  # type: ignore[index]
    assert estimated_mean(printed) == pytest.approx(52, abs=0.1)
