"""``pdpmean ledger``: records what people grant, shows what every release cost them, and checks that all adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pdpmean.cli import options as given
from pdpmean.cli.console import REFUSED, Command, Group, printed_warnings
from pdpmean.cli.output import as_json
from pdpmean.cli.tiers import read_tiers, tier_budgets
from pdpmean.core.text import as_facts, as_table, without_password

if TYPE_CHECKING:
    from pdpmean import Ledger
    from pdpmean.ledger.release import Release

__all__ = ["app", "open_ledger"]

app = typer.Typer(
    help="Keep a ledger of the budgets that people grant and of what every release costs them.",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog="Example: pdpmean ledger init people.db",
)

_NEGLIGIBLE = 1e-6  # nats; a smaller rest of a grant is due to rounding, and does not count as budget left
_SHOWN_RELEASES = 5  # how many releases `show` lists

Db = Annotated[str, typer.Argument(metavar="DB", help="The ledger: a file, or postgresql://...")]
Person = Annotated[str, typer.Argument(metavar="ID", help="The person's id.")]
Note = Annotated[str | None, typer.Option("--note", help="A note to record with it.", metavar="TEXT")]


def open_ledger(where: str) -> Ledger:
    """An existing ledger. A mistyped path is an error, and does not create a new one."""
    from pdpmean import Ledger

    return Ledger(where, make=False)


@app.command("init", cls=Command)
def init(
    db: Db,
    moved: Annotated[
        bool, typer.Option("--moved", help="Confirm that the file was moved or restored, and no other copy is in use.")
    ] = False,
) -> None:
    """Create a ledger, or show how many people are in one.

    Example: pdpmean ledger init people.db
    """
    from pdpmean import Ledger

    with Ledger(db, moved=moved) as ledger:
        typer.echo(f"{without_password(db)} is a ledger of {ledger.people():,} people")


@app.command("import", cls=Command)
def import_people(
    db: Db,
    files: given.Files,
    person: Annotated[str, given.column("--person", "The column of ids.")],
    budget: Annotated[str, given.column("--budget", "The column of total budgets that people grant, or of tiers.")],
    tiers: given.Tiers = None,
    note: Note = None,
    force: Annotated[bool, typer.Option("--force", help="Import budgets even if they look wrong.")] = False,
) -> None:
    """Record what many people grant. For people already in the ledger this is a new grant, unless they have withdrawn.

    Nobody is removed. Somebody who has withdrawn takes part again only after `pdpmean ledger grant`. Budgets that look
    wrong, such as ids or percent, are not imported.

    Example: pdpmean ledger import people.db people.csv --person id --budget epsilon
    """
    budgets = tier_budgets(read_tiers(tiers))
    with open_ledger(db) as ledger, printed_warnings("always" if force else "error"):
        imported = ledger.import_rows(_rows(files, person, budget, budgets), note=note)
    withdrawn = f"; {imported.withdrawn:,} have withdrawn and remain so" if imported.withdrawn else ""
    typer.echo(f"{imported.added:,} people added, {imported.changed:,} changed{withdrawn}")


def _rows(files: list[str], person: str, budget: str, tiers: dict[str, float] | None) -> Iterator[tuple[Any, ...]]:
    """The rows for `Ledger.import_rows`: a row number, an id, the name of a tier, and the columns of an amount."""
    from pdpmean.core.checks import check_budgets, in_column
    from pdpmean.ledger.amount import columns_of_budgets
    from pdpmean.sources.layout import Layout
    from pdpmean.sources.opening import open_table

    budget_of_tier = tiers or {}
    tiers_with = Counter(budget_of_tier.values())
    # The tier is inferred from the budget, so its name is left out where two tiers have the same budget.
    tier_with = {amount: name for name, amount in budget_of_tier.items() if tiers_with[amount] == 1}
    place = 0
    source = open_table(files, Layout(None, budget, tiers, person=person))
    for ids, budgets in source.people():
        with in_column(source.budget_column):
            columns = columns_of_budgets(check_budgets(budgets, place))
        tier_names = (tier_with.get(amount) for amount in budgets.tolist())
        places = range(place, place + len(ids))
        yield from zip(places, ids, tier_names, *(column.tolist() for column in columns), strict=True)
        place += len(ids)


@app.command("grant", cls=Command)
def grant(
    db: Db,
    person: Person,
    budget: Annotated[
        str, typer.Argument(metavar="BUDGET", help=f"The total budget they grant, or inf. {given.NATS_HINT}")
    ],
    tier: Annotated[str | None, typer.Option("--tier", help="The tier they chose.", metavar="NAME")] = None,
    note: Note = None,
    force: Annotated[bool, typer.Option("--force", help="Record the budget even if it looks wrong.")] = False,
) -> None:
    """Record what a person grants from now on. A budget that looks wrong, as in percent, is not recorded.

    Example: pdpmean ledger grant people.db 4711 0.5
    """
    with open_ledger(db) as ledger, printed_warnings("always" if force else "error"):
        ledger.grant(person, budget, tier=tier, note=note)
        typer.echo(f"{person}: {ledger.balance(person)}")


@app.command("withdraw", cls=Command)
def withdraw(db: Db, person: Person, note: Note = None) -> None:
    """Record that a person withdraws: no further release uses their data.

    Example: pdpmean ledger withdraw people.db 4711
    """
    with open_ledger(db) as ledger:
        ledger.withdraw(person, note=note)
        typer.echo(f"{person} has withdrawn: {ledger.balance(person)}")


@app.command("show", cls=Command)
def show(db: Db, json: given.Json = False) -> None:
    """Show how many people there are, what they have left, and the last releases.

    In the unbounded model, show this only to people who may see who takes part.

    Example: pdpmean ledger show people.db
    """
    with open_ledger(db) as ledger:
        left = ledger.remaining()
        made = ledger.releases()
    people = sum(left.values())
    open_ones = [release.number for release in made if release.state == "reserved"]
    if json:
        content = {"people": people, "left": {f"{budget:.9g}": count for budget, count in left.items()}}
        typer.echo(as_json(content | {"releases": len(made), "reserved": open_ones}))
        return
    facts = [
        ("people", f"{people:,}, of whom {_people_with_budget(left):,} have budget left"),
        ("releases", f"{len(made):,}" + f", of which {len(open_ones)} still reserved" * bool(open_ones)),
    ]
    typer.echo(as_facts(facts) + (f"\n\n{_table(made[-_SHOWN_RELEASES:])}" if made else ""))


def _people_with_budget(left: dict[float, int]) -> int:
    """How many people have budget left, from the number of people by remaining budget."""
    return sum(people for budget, people in left.items() if budget > _NEGLIGIBLE)


def _table(made: list[Release]) -> str:
    """A table of releases, one line each."""
    rows = [("release", "date", "state", "people", "total cost", "for what")]
    rows += [
        (
            str(release.number),
            release.at[:10],
            release.state,
            f"{release.people:,}",
            str(release.total),
            release.purpose,
        )
        for release in made
    ]
    return as_table(rows, right_from=len(rows[0]))


@app.command("statement", cls=Command)
def statement(db: Db, person: Person, json: given.Json = False) -> None:
    """Show a person's statement: every release that used their data, and what it cost them.

    Example: pdpmean ledger statement people.db 4711
    """
    with open_ledger(db) as ledger:
        letter = ledger.statement(person)
    typer.echo(as_json(letter.to_dict()) if json else str(letter))


@app.command("releases", cls=Command)
def releases(db: Db, json: given.Json = False) -> None:
    """List all releases: their dates, purposes, costs and states.

    Example: pdpmean ledger releases people.db
    """
    with open_ledger(db) as ledger:
        made = ledger.releases()
    typer.echo(as_json({"releases": [release.to_dict() for release in made]}) if json else _table(made))


@app.command("verify", cls=Command)
def verify(db: Db, json: given.Json = False) -> None:
    """Check that the log is complete, sums are right and nobody is above their grant; exit code 1 if not.

    Example: pdpmean ledger verify people.db
    """
    with open_ledger(db) as ledger:
        verification = ledger.verify()
    content = {
        "passed": verification.passed,
        "problems": list(verification.problems),
        "people": verification.people,
        "entries": verification.entries,
        "last_hash": verification.last_hash,
        "reserved": list(verification.reserved),
    }
    typer.echo(as_json(content) if json else str(verification))
    if not verification.passed:
        raise typer.Exit(REFUSED)


@app.command("settle", cls=Command)
def settle(
    db: Db,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The number of the release.")],
    note: Note = None,
) -> None:
    """Settle a release that was cut off while it ran. It counts as spent, since noise may have been drawn.

    Example: pdpmean ledger settle people.db 3
    """
    with open_ledger(db) as ledger:
        ledger.settle(number, note or "cut off")
    typer.echo(f"release {number} is settled as spent")


@app.command("export", cls=Command)
def export(
    db: Db,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A file that ends in .csv or .parquet.")],
    table: Annotated[
        Literal["people", "releases", "costs"], typer.Option("--table", help="The table to export.")
    ] = "people",
    overwrite: given.OverwriteTable = False,
) -> None:
    """Write a table as CSV or Parquet.

    Example: pdpmean ledger export people.db balances.csv
    """
    with open_ledger(db) as ledger:
        ledger.export(out, table, overwrite=overwrite)
    typer.echo(f"{table} written to {out}")
