"""The commands and their options as a section of docs/command-line.md, made from the commands themselves.

python docs/make_cli_reference.py prints the section; with --write it takes its place in the page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from pdpmean.cli import app

PAGE = Path(__file__).parent / "command-line.md"
MARK = "## Reference\n"


def reference() -> str:
    """The section: for each command, a heading and a table of its options."""
    return MARK + "".join(text for name, command in all_commands() for text in _command(name, command))


def all_commands() -> Iterator[tuple[str, Any]]:
    """Every command and its name; those of a group have two words."""
    for name, command in vars(get_command(app))["commands"].items():
        inner: dict[str, Any] = vars(command).get("commands", {})
        if inner:
            yield from ((f"{name} {word}", one) for word, one in inner.items())
        else:
            yield name, command


def _command(name: str, command: Any) -> Iterator[str]:
    yield f"\n### pdpmean {name}\n\n{command.help.split(chr(10))[0]}\n\n| option | what it is |\n|---|---|\n"
    for parameter in command.params:
        yield f"| {_names(parameter)} | {parameter.help.replace('|', '/')}{_default(parameter)} |\n"


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}{' ...' * (parameter.nargs != 1)}`"
    return ", ".join(f"`{name}`" for name in parameter.opts) + (f" {parameter.metavar}" if parameter.metavar else "")


def _default(parameter: Any) -> str:
    return "" if parameter.default is None or parameter.default is False else f" Default: {parameter.default}."


def page() -> str:
    """The whole page, with the section as it should be."""
    return PAGE.read_text(encoding="utf-8").split(MARK)[0] + reference()


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(reference())
