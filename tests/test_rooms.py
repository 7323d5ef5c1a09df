"""Rooms: where files lie and what they say of it, and that every private release has its file, proof and place."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import pdpmean

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/pdpmean"
ROOMS = sorted(path.parent for path in SOURCE.glob("*/__init__.py") if path.parent.name not in ("cli", "paper"))
STEPS = {"take_census", "weight_squares", "locate", "average"}
PROOF_PARTS = ("Released", "Claim", "Proof", "Tests")


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


# Files


def test_few_files_lie_flat() -> None:
    """The two verbs, errors, randomness and what Python asks for."""
    assert len(list(SOURCE.glob("*.py"))) <= 6


def test_the_rooms_are_these() -> None:
    expected = "core inference laws ledger passes planning randomness release results show sources study"
    assert [room.name for room in ROOMS] == expected.split()


def stated_imports(room: Path) -> set[str] | None:
    """What the docstring of a room says that it may import; None where that is every other room."""
    text = ast.get_docstring(parsed(room / "__init__.py")) or ""
    listed = re.search(r"May import: (.*?)\.(?:\s|$)", text, re.DOTALL)
    assert listed, f"{room.name} does not say what it may import"
    return None if listed[1].startswith("every other room") else set(listed[1].split(", "))


def imports_of(room: Path) -> set[str]:
    """The rooms, and modules outside of rooms, that a room imports: also inside functions, but not for types alone."""
    found = set()
    for path in room.rglob("*.py"):
        tree = parsed(path)
        for_types = {id(node) for block in ast.walk(tree) if is_for_types(block) for node in ast.walk(block)}
        for node in ast.walk(tree):
            if id(node) not in for_types:
                found |= {name.split(".")[1] for name in imported(node) if name.startswith("pdpmean.")}
    return found - {room.name}


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_says_what_lives_there_and_imports_no_more_than_it_says(room: Path) -> None:
    text = ast.get_docstring(parsed(room / "__init__.py")) or ""
    assert re.match(rf"{room.name.capitalize()}: \w.*\.$", text, re.DOTALL)
    assert len(text.splitlines()) <= 4
    stated = stated_imports(room)
    assert stated is None or imports_of(room) <= stated


def test_imports_are_found() -> None:
    """Those at the top of a module, and those inside functions."""
    assert {"core", "laws", "passes", "planning", "randomness"} <= imports_of(SOURCE / "release")
    assert {"errors"} <= imports_of(SOURCE / "core")


def test_the_package_shows_what_it_exports() -> None:
    assert dir(pdpmean) == sorted(pdpmean.__all__)


# Private releases


def function(module: ast.Module, name: str) -> ast.FunctionDef:
    """The function of that name; of overloads, the last."""
    return [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name == name][-1]


def handed_randomness(body: ast.AST) -> set[str]:
    """The functions that are called with `randomness`: what they return of private data has been released."""
    calls = [node for node in ast.walk(body) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    return {call.func.id for call in calls if isinstance(call.func, ast.Name) and "randomness" in names_in(call)}


def names_in(call: ast.Call) -> set[str]:
    return {node.id for node in [*call.args, *(word.value for word in call.keywords)] if isinstance(node, ast.Name)}


def origins(module: ast.Module) -> dict[str, str]:
    """Which module each imported name is from."""
    imports = (node for node in module.body if isinstance(node, ast.ImportFrom) and node.module)
    return {name.asname or name.name: str(node.module) for node in imports for name in node.names}


def released_steps() -> dict[str, str]:
    """The private releases that `estimate_mean` calls, and the module of each."""
    module = parsed(SOURCE / "estimate.py")
    found = handed_randomness(function(module, "estimate_mean")) - {"check_randomness"}
    return {name: origins(module)[name] for name in sorted(found)}


def test_estimate_mean_releases_in_these_steps() -> None:
    assert set(released_steps()) == STEPS


@pytest.mark.parametrize(("step", "module"), released_steps().items())
def test_a_release_lives_in_the_file_of_its_name(step: str, module: str) -> None:
    file_name = step.removeprefix("take_")
    assert module == f"pdpmean.release.{file_name}"
    assert function(parsed(SOURCE / "release" / f"{file_name}.py"), step)


@pytest.mark.parametrize("module", released_steps().values())
def test_a_release_has_its_proof(module: str) -> None:
    """One section, of more than a word, with the name of the file in its heading."""
    path = f"{module.removeprefix('pdpmean.').replace('.', '/')}.py"
    (proof,) = (text for text in sections() if path in named_in_the_heading(text))
    assert [part for part in PROOF_PARTS if f"\n\n**{part}.** " not in proof] == []
    assert len(proof) > 300
    assert "loss" in proof


@pytest.mark.parametrize("module", released_steps().values())
def test_a_release_is_in_the_drawing(module: str) -> None:
    drawing = (ROOT / "docs/pipeline.svg").read_text(encoding="utf-8")
    name = module.rsplit(".", 1)[1].replace("_", " ")
    assert f">{name}</text>" in drawing


def sections() -> list[str]:
    text = (ROOT / "docs/guarantee.md").read_text(encoding="utf-8")
    return re.split(r"^#+ ", text, flags=re.MULTILINE)[1:]


def named_in_the_heading(section: str) -> list[str]:
    """What is in backticks in its first line: ``Census (`release/census.py`)``."""
    return re.findall(r"`([^`]+)`", section.splitlines()[0])


@pytest.mark.parametrize("page", ["guarantee.md", "how-it-works.md"])
def test_files_that_a_page_names_are_there(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+(?:\.py|/))`", text)
    assert len(named) > 3
    folders = (ROOT, SOURCE, *(path for path in (ROOT / "tests").rglob("*") if path.is_dir()), ROOT / "tests")
    assert [name for name in named if not any((folder / name).exists() for folder in folders)] == []


# Shapes


def shape_comparisons(module: ast.Module) -> Iterator[int]:
    """The lines on which a shape is compared with a word: what a shape does is in the classes of that shape."""
    for node in ast.walk(module):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(is_shape(side) for side in sides) and any(holds_a_word(side) for side in sides):
                yield node.lineno
        if isinstance(node, ast.Match) and is_shape(node.subject):
            yield node.lineno


def is_shape(side: ast.expr) -> bool:
    name = side.attr if isinstance(side, ast.Attribute) else side.id if isinstance(side, ast.Name) else ""
    return name == "shape"


def holds_a_word(side: ast.expr) -> bool:
    return any(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in ast.walk(side))


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_shape_is_compared_with_a_word(path: Path) -> None:
    assert list(shape_comparisons(parsed(path))) == []


@pytest.mark.parametrize(
    "text",
    ['plan.shape == "any"', '"any" != shape', 'shape in ("any", "gaussian")', 'match shape:\n  case "any": pass'],
)
def test_a_planted_comparison_is_found(text: str) -> None:
    assert list(shape_comparisons(ast.parse(text))) == [1]


def test_a_shape_of_an_array_is_none() -> None:
    assert list(shape_comparisons(ast.parse("table.shape == (3, 4)"))) == []
