"""The contracts between rooms (pyproject.toml) hold, and a planted import breaks them, also one inside a function."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    """What `lint-imports` says of the package in this folder."""
    command = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--no-cache",
        "--config",
        str(ROOT / "pyproject.toml"),
    ]
    environment = os.environ | {"PYTHONPATH": str(source)}
    return subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)


def test_the_contracts_hold() -> None:
    found = lint(ROOT / "src")
    assert found.returncode == 0, found.stdout
    assert "4 kept, 0 broken" in found.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("planning/plan.py", "from pdpmean.passes.batch import Batch", "What cannot see private data"),
        (
            "inference/conclude.py",
            "def late() -> None:\n    import pdpmean.release.locate",
            "What cannot see private data",
        ),
        ("results/mean_estimate.py", "def late() -> None:\n    import pdpmean.randomness", "draw nothing at random"),
        ("sources/read.py", "def late() -> None:\n    import pdpmean.planning.plan", "knows nothing of plans"),
        ("core/model.py", "def late() -> None:\n    import pdpmean.laws.lattice", "Rooms import downwards"),
    ],
)
def test_a_planted_import_breaks_them(module: str, line: str, contract: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src" / "pdpmean", tmp_path / "pdpmean")
    with (tmp_path / "pdpmean" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{line}\n")
    found = lint(tmp_path)
    assert found.returncode == 1, found.stdout
    broken = [text for text in found.stdout.splitlines() if text.endswith("BROKEN")]
    assert any(contract in text for text in broken)
