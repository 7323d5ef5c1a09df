"""The tables of a ledger, the same on every database. An amount is three columns; see `Amount.columns`."""

from __future__ import annotations

from pdpmean.ledger.amount import UNITS_PER_NAT
from pdpmean.ledger.store import Store, Transaction

__all__ = ["create_tables", "make_temporary"]


def _amount(name: str) -> str:
    return f"""{name}_infinite BIGINT NOT NULL DEFAULT 0 CHECK ({name}_infinite >= 0),
    {name}_nats BIGINT NOT NULL DEFAULT 0 CHECK ({name}_nats >= 0),
    {name}_units BIGINT NOT NULL DEFAULT 0 CHECK ({name}_units BETWEEN 0 AND {UNITS_PER_NAT - 1})"""


_PEOPLE = """
CREATE TABLE IF NOT EXISTS people (
    number {key},
    id TEXT NOT NULL UNIQUE,
    tier TEXT,
    note TEXT,
    since TEXT NOT NULL,
    withdrawn INTEGER NOT NULL DEFAULT 0
)"""

# What a person grants and has spent; `before` is what they had spent when they last changed their grant. A table of its
# own, since every release rewrites it: the fewer pages the better.
_BALANCES = f"""
CREATE TABLE IF NOT EXISTS balances (
    person {{key}},
    {_amount("granted")},
    {_amount("spent")},
    {_amount("before")}
) {{rewritten}}"""

# What people had granted until they changed it.
_CHANGES = f"""
CREATE TABLE IF NOT EXISTS changes (
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
CREATE TABLE IF NOT EXISTS log (
    number {key},
    at TEXT NOT NULL,
    event TEXT NOT NULL,
    release BIGINT,
    content TEXT NOT NULL,
    hash TEXT NOT NULL
)"""

_RELEASES = """
CREATE TABLE IF NOT EXISTS releases (
    number {key},
    state TEXT NOT NULL CHECK (state IN ('reserved', 'committed', 'cancelled', 'settled')),
    people_are_public INTEGER NOT NULL
)"""

# In the order of releases, so that a release is appended; what concerns a person is one look-up per release. The place
# is that of their record in the data.
_COSTS = f"""
CREATE TABLE IF NOT EXISTS costs (
    release BIGINT NOT NULL,
    person BIGINT NOT NULL,
    place BIGINT NOT NULL,
    {_amount("cost")},
    PRIMARY KEY (release, person)
) {{clustered}}"""

_INDEXES = ("CREATE INDEX IF NOT EXISTS changes_of_a_person ON changes (person)",)

_ASKED = """
CREATE TEMPORARY TABLE IF NOT EXISTS asked (
    place {key},
    id TEXT NOT NULL,
    tier TEXT,
    budget_infinite BIGINT,
    budget_nats BIGINT,
    budget_units BIGINT,
    withdrawn INTEGER NOT NULL DEFAULT 0
) {temporary}"""

_CHANGED = """
CREATE TEMPORARY TABLE IF NOT EXISTS changed (
    person {key},
    place BIGINT NOT NULL
) {temporary}"""


def create_tables(transaction: Transaction, store: Store) -> None:
    """Make the tables where there are none."""
    for statement in (_PEOPLE, _BALANCES, _CHANGES, _LOG, _RELEASES, _COSTS, *_INDEXES):
        transaction.change(statement.format(**store.dialect))


def make_temporary(transaction: Transaction, store: Store) -> None:
    """Empty tables for what is asked of this transaction, and what it finds."""
    for name, statement in (("asked", _ASKED), ("changed", _CHANGED)):
        transaction.change(statement.format(**store.dialect))
        transaction.change(f"DELETE FROM {name}")
