"""Schema: the tables of a ledger, the same on every database, and how they are created.

An amount takes three columns; see `Amount.columns`. Words in braces stand for the SQL in which databases differ; see
`Store.dialect`.
"""

from __future__ import annotations

from pdpmean.errors import LedgerError
from pdpmean.ledger.amount import UNITS_PER_NAT
from pdpmean.ledger.store import Store, Transaction, no_ledger

__all__ = ["make_temporary", "prepare"]

FORMAT = 1
"""The version of the tables and the log. Increase it whenever an older program could not read what a newer one writes,
or the other way round."""


def _amount(name: str) -> str:
    """The definitions of an amount's three columns."""
    return f"""{name}_infinite BIGINT NOT NULL DEFAULT 0 CHECK ({name}_infinite >= 0),
    {name}_nats BIGINT NOT NULL DEFAULT 0 CHECK ({name}_nats >= 0),
    {name}_units BIGINT NOT NULL DEFAULT 0 CHECK ({name}_units BETWEEN 0 AND {UNITS_PER_NAT - 1})"""


# Everybody who has ever granted something. `since` is when the present grant was made.
_PEOPLE = """
CREATE TABLE people (
    number {key},
    id TEXT NOT NULL UNIQUE,
    tier TEXT,
    note TEXT,
    since TEXT NOT NULL,
    withdrawn INTEGER NOT NULL DEFAULT 0
)"""

# What a person grants and has spent; `before` is what they had spent when they last changed their grant. It is a table
# of its own because every release rewrites it, and small rows are fast to rewrite.
_BALANCES = f"""
CREATE TABLE balances (
    person {{key}},
    {_amount("granted")},
    {_amount("spent")},
    {_amount("before")}
) {{rewritten}}"""

# Former grants, with what had been spent when they ended.
_CHANGES = f"""
CREATE TABLE changes (
    number {{key}},
    person BIGINT NOT NULL,
    tier TEXT,
    note TEXT,
    since TEXT NOT NULL,
    until TEXT NOT NULL,
    {_amount("granted")},
    {_amount("spent")},
    {_amount("before")}
)"""

_LOG = """
CREATE TABLE log (
    number {key},
    at TEXT NOT NULL,
    event TEXT NOT NULL,
    release BIGINT,
    content TEXT NOT NULL,
    hash TEXT NOT NULL
)"""

_RELEASES = """
CREATE TABLE releases (
    number {key},
    state TEXT NOT NULL CHECK (state IN ('reserved', 'committed', 'cancelled', 'settled')),
    people_are_public INTEGER NOT NULL
)"""

# What each release cost each person. It is ordered by release, so that a new release is appended, and finding one
# person's costs takes one look-up per release. `place` is the position of their record in the data; it is set to 0
# before the transaction ends, so every row is updated once.
_COSTS = f"""
CREATE TABLE costs (
    release BIGINT NOT NULL,
    person BIGINT NOT NULL,
    place BIGINT NOT NULL,
    {_amount("cost")},
    PRIMARY KEY (release, person)
) {{clustered}} {{rewritten}}"""

_FORMAT = "CREATE TABLE ledger_format (number INTEGER NOT NULL)"

_TABLES = {
    "people": _PEOPLE,
    "balances": _BALANCES,
    "changes": _CHANGES,
    "log": _LOG,
    "releases": _RELEASES,
    "costs": _COSTS,
}
_INDEXES = ("CREATE INDEX changes_of_a_person ON changes (person)",)

# The people whom a transaction is about, with new grants or with budgets from the data.
_ASKED = """
CREATE TEMPORARY TABLE IF NOT EXISTS asked (
    place {temporary_key},
    id TEXT NOT NULL,
    tier TEXT,
    budget_infinite BIGINT,
    budget_nats BIGINT,
    budget_units BIGINT,
    withdrawn INTEGER NOT NULL DEFAULT 0
) {temporary}"""

# The people whose grant an import changes, with their row in `asked`.
_CHANGED = """
CREATE TEMPORARY TABLE IF NOT EXISTS changed (
    person {temporary_key},
    place BIGINT NOT NULL
) {temporary}"""
_TEMPORARY = {"asked": _ASKED, "changed": _CHANGED}


def prepare(store: Store, where: str, *, make: bool) -> None:
    """Create the tables unless they exist. Existing tables are only read, so that a read-only ledger can be opened.

    Raises if there are no tables and `make` is false, or if a newer version of this library has made them.
    """
    with store.reading() as transaction:
        version = _format(transaction)
    if version is None:
        with store.writing() as transaction:
            version = _format(transaction) or _create_tables(transaction, store, where, make=make)
    _check_format(version)


def _format(transaction: Transaction) -> int | None:
    """The version of the ledger's tables; None if there are none."""
    if not transaction.has_table("ledger_format"):
        return None
    return int(transaction.value("SELECT number FROM ledger_format"))


def _create_tables(transaction: Transaction, store: Store, where: str, *, make: bool) -> int:
    """Create all tables; returns their version."""
    _check_free(transaction)
    if not make:
        raise no_ledger(where)
    for statement in (_FORMAT, *_TABLES.values(), *_INDEXES):
        transaction.change(statement.format(**store.dialect))
    transaction.change("INSERT INTO ledger_format VALUES (?)", FORMAT)
    return FORMAT


def _check_free(transaction: Transaction) -> None:
    """Raise if tables with our names exist already, from an early version or from another program."""
    taken = [name for name in _TABLES if transaction.has_table(name)]
    if len(taken) == len(_TABLES):
        raise LedgerError(
            "this ledger was made by an early version of pdpmean and cannot be read by this one. Nothing was changed. "
            "To carry over what people have left: with that version, run pdpmean ledger export OLD left.csv; with this "
            "one, run pdpmean ledger init NEW and pdpmean ledger import NEW left.csv --person id --budget left"
        )
    if taken:
        raise LedgerError(
            f"the database has tables that do not belong to a ledger: {', '.join(taken)}. Nothing was changed. "
            "Give the ledger a database, or a schema, of its own"
        )


def _check_format(version: int) -> None:
    """Raise if the tables are newer than this version of the library."""
    if version > FORMAT:
        raise LedgerError(
            f"this ledger was made by a newer version of pdpmean (format {version}; this version reads {FORMAT}). "
            "Install that version. Nothing was changed"
        )


def make_temporary(transaction: Transaction, store: Store, name: str) -> None:
    """Create or empty a temporary table of this transaction: `asked` or `changed`."""
    transaction.change(_TEMPORARY[name].format(**store.dialect))
    transaction.empty_temporary(name)
