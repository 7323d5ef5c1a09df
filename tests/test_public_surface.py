"""What the package exports resolves, is documented in one line, and is annotated in full."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import pdpmean
import pdpmean.paper

MODULES = ["pdpmean", *(module.name for module in pkgutil.walk_packages(pdpmean.__path__, "pdpmean."))]
PACKAGES = [pdpmean, pdpmean.paper]
ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.real_noise  # what makes it is looked at as it is shipped


def public_functions(module_name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function that a module exports, and every public method of the classes it exports."""
    module = importlib.import_module(module_name)
    for name in getattr(module, "__all__", []):
        thing = getattr(module, name, None)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            for attribute, member in vars(thing).items():
                function = getattr(member, "__func__", getattr(member, "fget", member))
                if not attribute.startswith("_") and inspect.isfunction(function):
                    yield f"{name}.{attribute}", function


def faults(function: Callable[..., Any]) -> list[str]:
    """What a public function lacks: a one-line summary, an annotation."""
    found = []
    summary = (function.__doc__ or "").split("\n", 1)[0].strip()
    if not summary:
        found.append("no summary")
    if len(summary) >= 120:
        found.append(f"a summary of {len(summary)} characters")
    signature = inspect.signature(function)
    for position, parameter in enumerate(signature.parameters.values()):
        receiver = position == 0 and parameter.name in ("self", "cls")
        if parameter.annotation is parameter.empty and not receiver:
            found.append(f"no annotation of {parameter.name}")
    if signature.return_annotation is signature.empty:
        found.append("no annotation of what it returns")
    return found


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_exported_name_resolves_once(package: Any) -> None:
    assert len(set(package.__all__)) == len(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_star_import_gives_exactly_what_is_exported(package: Any) -> None:
    names: dict[str, object] = {}
    exec(f"from {package.__name__} import *", names)
    assert set(names) - {"__builtins__"} == set(package.__all__)


@pytest.mark.parametrize("module_name", MODULES)
def test_every_module_says_what_it_is(module_name: str) -> None:
    module = importlib.import_module(module_name)
    assert module.__doc__
    assert len(module.__doc__.split("\n", 1)[0]) < 120
    for name in getattr(module, "__all__", []):
        assert hasattr(module, name), f"{module_name} exports {name}, which it does not have"


def exported_by(text: str) -> list[str]:
    """The names in the ``__all__`` of a module with this source."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def exported_for_nobody(files: Mapping[str, str]) -> list[str]:
    """Each ``file name`` that a Python file of the source exports, and that no other file has as a word."""
    words = {path: set(re.findall(r"\w+", text)) for path, text in files.items()}
    users = Counter(chain.from_iterable(words.values()))  # of each word, the number of files
    modules = (path for path in files if path.startswith("src/") and path.endswith(".py"))
    return [f"{path} {name}" for path in modules for name in exported_by(files[path]) if users[name] < 2]


def test_what_a_module_exports_is_used_elsewhere() -> None:
    folders = ("src", "tests", "benchmarks", "docs", "examples")
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".rst"))
    files = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    assert len(files) > 300
    assert exported_for_nobody(files) == []


def test_a_name_that_nobody_uses_is_found() -> None:
    files = {"src/a.py": '__all__ = ["one", "two"]\none = two = 1', "docs/b.md": "`a.two` is two"}
    assert exported_for_nobody(files) == ["src/a.py one"]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_the_package_docstring_is_the_index(package: Any) -> None:
    functions = [name for name in package.__all__ if inspect.isfunction(getattr(package, name))]
    missing = [name for name in functions if f"`{name}`" not in (package.__doc__ or "")]
    assert not missing


@pytest.mark.parametrize("module_name", MODULES)
def test_public_functions_are_documented_and_annotated(module_name: str) -> None:
    found = {name: faults(function) for name, function in public_functions(module_name)}
    assert {name: lacking for name, lacking in found.items() if lacking} == {}


def test_the_functions_are_found() -> None:
    top, paper = dict(public_functions("pdpmean")), dict(public_functions("pdpmean.paper"))
    assert {"lower_bound", "Randomness.secure", "Randomness.add_laplace"} <= top.keys()
    assert {"mean_bounded", "sparse_vector"} <= paper.keys()
    assert {"pdpmean", "pdpmean.paper", "pdpmean.paper.adpm", "pdpmean.release.exact_choice"} <= set(MODULES)


def test_the_checks_catch_what_they_should() -> None:
    def bare(first, *, second=1):  # type: ignore[no-untyped-def]
        pass

    def wordy(first: int) -> int:
        return first

    wordy.__doc__ = "word " * 30
    assert faults(bare) == [
        "no summary",
        "no annotation of first",
        "no annotation of second",
        "no annotation of what it returns",
    ]
    assert faults(wordy) == ["a summary of 149 characters"]


def test_the_version_is_the_distributions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert pdpmean.__version__ == project["version"]


def test_importing_the_package_waits_with_what_takes_long() -> None:
    loaded = "print('numpy' in sys.modules, 'scipy' in sys.modules)"
    script = f"import sys, pdpmean; {loaded}; pdpmean.estimate_mean; {loaded}"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False", "True", "True"]


@pytest.mark.parametrize("module_name", ["pdpmean.study.compare", "pdpmean.study.what_if", "pdpmean.paper"])
def test_modules_can_be_imported_before_the_names_of_the_package(module_name: str) -> None:
    script = f"import {module_name}, pdpmean; print(pdpmean.compare.__module__, pdpmean.paper.__name__)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["pdpmean.study.compare", "pdpmean.paper"]


def test_a_name_that_is_not_exported_is_not_found() -> None:
    with pytest.raises(AttributeError, match=r"module 'pdpmean' has no attribute 'nonsense'"):
        pdpmean.nonsense  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(pdpmean, "nonsense")
    assert set(pdpmean.__all__) <= set(dir(pdpmean))
