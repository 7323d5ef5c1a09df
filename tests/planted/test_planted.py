"""Every planted bug is caught by the tests named for it, and those pass without it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from planted import bugs, observers, sources
from planted.bugs import Bug
from planted.server import ROOT, PytestServer

BUGS = (*bugs.BUGS, *sources.BUGS, *observers.BUGS)
PASSED, FAILED = 0, 1  # what pytest exits with; it has other codes for tests that it could not find or run


def copy_of_source(folder: Path) -> Path:
    """The package, in a folder that Python may import it from, with the bytecode of all files, but nothing of Numba."""
    copied = folder / "pdpmean"
    shutil.copytree(ROOT / "src" / "pdpmean", copied, ignore=shutil.ignore_patterns("*.nb[ci]", "*.pyc.*"))
    return copied


def plant(bug: Bug, package: Path) -> None:
    """Edit the copy."""
    file = package / bug.file
    source = file.read_text(encoding="utf-8")
    found = source.count(bug.text)
    assert found == 1, f"{bug.file} has this text {found} times, not once: {bug.text!r}"
    file.write_text(source.replace(bug.text, bug.replacement), encoding="utf-8")
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PytestServer]:
    made = PytestServer(tmp_path_factory.mktemp("planted") / "log")
    yield made
    made.close()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_planted_bug_is_caught(bug: Bug, tmp_path: Path, server: PytestServer) -> None:
    plant(bug, copy_of_source(tmp_path))
    code, printed = server.run(tmp_path, bug.caught_by, compiled=bug.compiled)
    assert code == FAILED, printed


@pytest.mark.parametrize("compiled", sorted({bug.compiled for bug in BUGS}))
def test_a_copy_without_a_bug_passes(compiled: bool, tmp_path: Path, server: PytestServer) -> None:
    """Otherwise a test that fails for another reason, as one that cannot run on a copy, would seem to catch a bug."""
    copy_of_source(tmp_path)
    tests = dict.fromkeys(test for bug in BUGS if bug.compiled == compiled for test in bug.caught_by)
    code, printed = server.run(tmp_path, tests, compiled=compiled)
    assert code == PASSED, printed


@pytest.mark.parametrize("text", ["no such text", "import"])
def test_a_text_that_is_not_there_exactly_once_is_told(text: str, tmp_path: Path) -> None:
    package = copy_of_source(tmp_path)
    with pytest.raises(AssertionError, match="not once"):
        plant(Bug("never planted", "release/census.py", text, "", ()), package)


def test_every_bug_has_a_name_of_its_own() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS)
