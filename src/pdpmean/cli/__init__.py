"""The command line ``pdpmean``, one module per command.

`options.py` declares the options, and `console.py` turns errors into messages and exit codes. Each command imports what
it needs only when it runs, so that ``--help`` is fast. May import: every other room; estimate, plan.
"""

from __future__ import annotations

from typing import Annotated

import typer

from pdpmean import __version__
from pdpmean.cli import compare, demo, estimate, ledger, plan
from pdpmean.cli.console import Command, Commands

__all__ = ["app"]

app = typer.Typer(
    name="pdpmean",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    epilog="Example: pdpmean demo",
)
for command in (estimate.estimate, plan.plan, compare.compare, demo.demo):
    app.command(cls=Command)(command)
app.add_typer(ledger.app, name="ledger")


def _print_version(requested: bool) -> None:
    """Print the version and exit, if ``--version`` is given."""
    if requested:
        typer.echo(f"pdpmean {__version__}")
        raise typer.Exit


@app.callback()
def everything(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """The mean of a population in which every person sets their own privacy budget."""
