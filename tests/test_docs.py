"""What the documents say is true: code and commands run, links lead somewhere, tests exist, the site builds."""

from __future__ import annotations

import contextlib
import doctest
import hashlib
import io
import itertools
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, Block, Command, blocks, commands, is_shown

import pdpmean
import pdpmean.errors
import pdpmean.paper
from pdpmean.randomness import Randomness
from pdpmean.randomness.single_draws import simulated_laplace

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TEST_SOURCES = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
TARGETS = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
COMMANDS = [command for page in PAGES for block in blocks(page) for command in commands(block)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to be in, with the file that the quick start makes."""
    monkeypatch.chdir(tmp_path)
    first = next(block for block in blocks(ROOT / "docs/quick-start.md") if block.language == "python")
    exec(first.text, {})
    assert (tmp_path / "people.csv").exists()
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_tests_and_files_exist(page: Path) -> None:
    text = page.read_text()
    missing = [name for name in re.findall(r"`(test_\w+)`", text) if f"def {name}(" not in TEST_SOURCES]
    missing += [
        path
        for path in re.findall(r"`((?:tests|benchmarks|docs|src|examples)/[\w./-]+)`", text)
        if not (ROOT / path).exists()
    ]
    assert missing == []


@pytest.fixture
def repeatable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise that the pages were printed with: errors differ much from one noise to another."""
    number = itertools.count()

    def secure() -> Randomness:
        key = hashlib.sha256(str(next(number)).encode()).digest()
        return Randomness(lambda: key, simulated_laplace, private=True)

    monkeypatch.setattr(Randomness, "secure", secure)


@pytest.mark.usefixtures("folder", "repeatable")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_and_print_what_is_shown(page: Path) -> None:
    run_python(blocks(page), page.name)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run_and_print_what_is_shown(page: Path, folder: Path) -> None:
    for command in (command for block in blocks(page) for command in commands(block)):
        if is_run(command.line):
            ran = run_command(command.line, folder)
            said = ran.stdout + ran.stderr
            assert is_shown(command.output, said), f"{command.line}\n{said}"
            assert ran.returncode == 0 or "error" in command.output, f"{command.line}\n{said}"


def test_other_commands_are_examples_targets_of_make_or_installations() -> None:
    others = [command.line for command in COMMANDS if not is_run(command.line)]
    assert [line for line in others if not is_known(line)] == []


@pytest.mark.parametrize(
    ("page", "heading"), [("README.md", "## What it costs"), ("docs/ledger.md", "## How fast, how safe")]
)
def test_figures_are_measured_ones(page: str, heading: str) -> None:
    section = (ROOT / page).read_text().split(heading)[1].split("\n## ")[0]
    quoted = [line for line in section.splitlines() if line.startswith(("- ", "|"))]
    measured = {line for file in (ROOT / "benchmarks/results").glob("*.md") for line in file.read_text().splitlines()}
    assert len(quoted) > 5
    assert [line for line in quoted if line not in measured] == []


def test_the_totals_in_the_readme_are_enough_and_hardly_less_is() -> None:
    said = (ROOT / "README.md").read_text().split("**What do you know of the values?**")[1]
    found = re.findall(r"[Ff]rom a total\s+(?:budget\s+\([^)]*\) )?of (?:about )?([\d,]+)", said)
    totals = [int(total.replace(",", "")) for total in found]
    shapes: tuple[dict[str, Any], ...] = ({}, {"bounds": (0, None)}, {"bounds": (0, 1)}, {"shape": "gaussian"})
    for shape, total in zip(shapes, totals, strict=True):
        assert pdpmean.plan_mean({0.1: 10 * total}, **shape).expected_std < 1
        with pytest.raises(pdpmean.InsufficientBudgetError):
            pdpmean.plan_mean({0.1: 7 * total}, **shape)


def test_the_citation_is_of_this_version() -> None:
    assert f"\nversion: {pdpmean.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_reference_has_every_public_name() -> None:
    text = (ROOT / "docs/api.rst").read_text()
    names = {f"pdpmean.{name}" for name in pdpmean.__all__ if callable(getattr(pdpmean, name))}
    names |= {f"pdpmean.paper.{name}" for name in pdpmean.paper.__all__ if name.islower()}
    errors = {f"pdpmean.{name}" for name in pdpmean.errors.__all__}  # by their module
    assert sorted(name for name in names - errors if f":: {name}" not in text) == []


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-n", "-q", str(ROOT / "docs"), str(tmp_path)]
    made = subprocess.run(build, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    pages = "".join(page.read_text() for page in tmp_path.rglob("*.html"))
    assert re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="https?:[^"]*"', pages) == []


def test_the_pictures_are_those_of_their_script_and_are_shown(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "docs/make_pictures.py"))
    script["write_pictures"](tmp_path)
    kept = {path.name: path.read_text() for path in (ROOT / "docs/pictures").iterdir()}
    assert sorted(kept) == sorted(f"{name}.svg" for name in script["PICTURES"])
    page = (ROOT / "docs/how-it-works.md").read_text()
    for name, text in kept.items():
        assert f"](pictures/{name})" in page
        assert is_same_picture(text, (tmp_path / name).read_text()), f"{name}: run docs/make_pictures.py"


def test_the_checks_catch_what_they_should() -> None:
    assert is_shown("mean 38.0\n...\nguarantee  Pure", "mean   37\nerror 1e-3\nguarantee Pure personalized")
    assert not is_shown("mean 38.0\nguarantee", "mean 37\nerror 0.1\nguarantee")
    assert is_shown("6,595.8, +- 1e-3", "about 4000, +- 0.0015", factor=2)
    assert not is_shown("6,595.8, +- 1e-3", "about 4000, +- 0.003", factor=2)
    wrong = [Block("python", "print('one', 2)\n"), Block("text", "two 2\n")]
    with pytest.raises(AssertionError, match="one 2"):
        run_python(wrong, "wrong")
    run_python([Block("python", ">>> 1 + 1\n2.05\n\n")], "nearly right")
    with pytest.raises(AssertionError, match="Expected"):
        run_python([Block("python", ">>> 1 + 1\n2.15\n\n")], "wrong")
    shown = "$ pdpmean plan \\\n  x.csv\nerror 0.1\n$ make docs\n"
    assert commands(Block("console", shown)) == [
        Command("pdpmean plan    x.csv", "error 0.1\n"),
        Command("make docs", ""),
    ]
    assert is_same_picture("M 4.000 5.1 L 1", "M 4.004 5.1 L 1")
    assert not is_same_picture("M 4.000 5.1 L 1", "M 4.020 5.1 L 1")
    assert not is_same_picture("M 4.000 5.1 L 1", "M 4.000 5.1 L 2")
    assert not is_known("make nothing")
    assert not is_known("python examples/nothing.py")


def is_same_picture(first: str, second: str) -> bool:
    """Whether two drawings have the same words, and numbers that differ by less than can be seen.

    The ids of parts are hashes of unrounded numbers, whose last bits depend on the processor.
    """
    first, second = (re.sub(r"(?<=[#\"])[mp][0-9a-f]{10}\b", "part", picture) for picture in (first, second))
    number = r"-?\d+\.\d+"
    if re.split(number, first) != re.split(number, second):
        return False
    pairs = zip(re.findall(number, first), re.findall(number, second), strict=True)
    return all(abs(float(a) - float(b)) < 0.01 for a, b in pairs)


def run_python(page: list[Block], name: str) -> None:
    """Run the Python blocks of a page one after the other; a `text` block is what the one before it prints."""
    namespace: dict[str, object] = {}
    printed = ""
    for block in page:
        if block.language == "text":
            assert is_shown(block.text, printed, factor=2), printed
        elif block.language == "python" and ">>>" in block.text:
            run_doctest(block.text, namespace, name)
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(block.text, name, "exec"), namespace)
            printed = stream.getvalue()


def run_doctest(text: str, namespace: dict[str, object], name: str) -> None:
    """Run an interactive session in a namespace, which keeps what it defines."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    test.globs = namespace
    complaints = io.StringIO()
    runner = doctest.DocTestRunner(Nearly(), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=complaints.write, clear_globs=False)
    assert runner.failures == 0, complaints.getvalue()


class Nearly(doctest.OutputChecker):
    """Takes numbers that differ by a twentieth to be the same, so that a better plan need not rewrite the pages."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether what came is what was shown."""
        nearly = len(want.split()) == len(got.split()) and is_shown(want, got, factor=1.05)
        return nearly or super().check_output(want, got, optionflags)


def run_command(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line as a shell would, `python` and `pdpmean` being this environment's, with noise that repeats itself."""
    here = shlex.quote(sys.executable)
    shell = f'python() {{ {here} "$@"; }}; pdpmean() {{ {here} -m repeatable pdpmean "$@"; }}; {line}'
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests" / "support")])
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": path, "TERM": "dumb"}
    return subprocess.run(["bash", "-c", shell], cwd=folder, env=environment, capture_output=True, text=True)


def is_run(line: str) -> bool:
    """Whether a command is run here; examples have tests of their own."""
    return line.startswith(("pdpmean", "python")) and not line.startswith("python examples/")


def is_known(line: str) -> bool:
    """Whether a command that is not run here is at least one that could be."""
    words = line.split()
    if words[0] == "python":
        return (ROOT / words[1]).exists() and f'"{Path(words[1]).name}"' in TEST_SOURCES
    return (words[0] == "make" and words[1] in TARGETS) or words[:2] == ["pip", "install"]
