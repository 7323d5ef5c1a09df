"""The reference documents every command and option, as it is."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run

DOCS = Path(__file__).parents[2] / "docs"
COMMANDS: dict[str, Any] = dict(runpy.run_path(str(DOCS / "make_cli_reference.py"))["all_commands"]())


def test_the_reference_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "make_cli_reference.py"))
    assert (DOCS / "command-line.md").read_text(encoding="utf-8") == made["page"](), "make_cli_reference.py --write"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_in_the_page_and_has_help(name: str) -> None:
    section = (
        (DOCS / "command-line.md").read_text(encoding="utf-8").split(f"### pdpmean {name}\n")[1].split("\n### ")[0]
    )
    for parameter in COMMANDS[name].params:
        assert parameter.help
        assert all(f"`{option}`" in section for option in parameter.opts if option.startswith("-"))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example(run: Run, name: str) -> None:
    found = run(*name.split(), "--help")
    assert found.exit_code == 0
    assert f"Example: pdpmean {name} " in found.stdout.replace("\n", " ")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_breaks_lines_only_where_they_are_full(name: str) -> None:
    assert all("\n" not in paragraph for paragraph in COMMANDS[name].help.split("\n\n"))
