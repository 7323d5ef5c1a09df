"""Help, versions and completions come at once: nothing that takes long to import is imported for them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .processes import run_process

HEAVY = {"numpy", "scipy", "numba", "pyarrow", "matplotlib", "mpmath", "opendp", "cryptography"}


@pytest.mark.parametrize("words", [["--help"], ["estimate", "--help"], ["--version"], ["plan", "--nonsense"]])
def test_nothing_heavy_is_imported(words: list[str]) -> None:
    script = f"""
import sys
from pdpmean.cli import app
try:
    app({words!r}, prog_name="pdpmean")
finally:
    print(*sys.modules, file=sys.stderr)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    loaded = set(found.stderr.split())
    assert "pdpmean.cli" in loaded
    assert loaded & HEAVY == set()


def test_the_module_is_the_command() -> None:
    found = run_process("--version")
    assert (found.returncode, found.stdout.split()[0], found.stderr) == (0, "pdpmean", "")


def test_the_script_is_declared() -> None:
    import tomllib
    from pathlib import Path

    from pdpmean.__main__ import main

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"pdpmean": f"{main.__module__}:{main.__name__}"}
