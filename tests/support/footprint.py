"""A fresh installation in a folder of its own, and all that estimates leave there."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pdpmean

Footprint = dict[str, str]  # what each path is: a hash of what a file holds, or what else it is
_FOLDERS = ("package", "home", "temporary", "work", "bytecode")


def install(folder: Path) -> None:
    """The package, nothing of it compiled yet, and empty folders for whatever a process may write."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in _FOLDERS:
        (folder / name).mkdir(parents=True)
    here = Path(pdpmean.__file__).parent
    shutil.copytree(here, folder / "package" / "pdpmean", ignore=shutil.ignore_patterns("__pycache__"))


def run_there(folder: Path, *words: str, bytecode: bool = True) -> None:
    """Run Python with these words; all it can write to is in the folder, also bytecode of whatever it imports.

    To write all of that takes some seconds.
    """
    settings = {
        "PYTHONPATH": os.pathsep.join([str(folder / "package"), str(Path(__file__).parent)]),
        **({"PYTHONPYCACHEPREFIX": str(folder / "bytecode")} if bytecode else {"PYTHONDONTWRITEBYTECODE": "1"}),
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "temporary"),
    }
    subprocess.run([sys.executable, *words], cwd=folder / "work", env=_environment() | settings, check=True)


def _environment() -> dict[str, str]:
    """What is set here, without what says where or whether anything is written."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON", "XDG"))}


def footprint(folder: Path) -> Footprint:
    """All that is there."""
    return {str(path.relative_to(folder)): _described(path) for path in sorted(folder.rglob("*"))}


def _described(path: Path) -> str:
    if path.is_dir():
        return "folder"
    if path.suffix == ".pyc":
        return "bytecode"  # which differs from run to run
    return hashlib.sha256(path.read_bytes()).hexdigest()
