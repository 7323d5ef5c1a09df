"""The log: every change to a ledger, in order, each entry with a hash of itself and of the entry before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pdpmean.errors import LedgerError
from pdpmean.ledger.store import Row, Store, Transaction

__all__ = ["BEGINNING", "Entry", "append", "entries", "hash_of", "moment"]

BEGINNING = "0" * 64  # the hash before the first entry
_SLACK = timedelta(minutes=1)  # how far the clocks of two machines may differ


@dataclass(frozen=True)
class Entry:
    """A line of the log. Its hash covers the line and, through the hash before it, all earlier lines."""

    number: int
    at: str
    event: str
    release: int | None
    content: str
    hash: str

    @property
    def details(self) -> dict[str, Any]:
        """What else it says."""
        held: dict[str, Any] = json.loads(self.content)
        return held


def hash_of(number: int, at: str, event: str, release: int | None, content: str, previous: str) -> str:
    """The hash of an entry."""
    text = json.dumps([number, at, event, release, content, previous], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def append(
    transaction: Transaction, store: Store, event: str, content: Mapping[str, Any], release: int | None = None
) -> Entry:
    """Add an entry."""
    number, before, previous = _last(transaction)
    at = _after(before, store.now())
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    entry = Entry(number + 1, at, event, release, text, hash_of(number + 1, at, event, release, text, previous))
    transaction.change(
        "INSERT INTO log (number, at, event, release, content, hash) VALUES (?, ?, ?, ?, ?, ?)",
        *(entry.number, entry.at, entry.event, entry.release, entry.content, entry.hash),
    )
    return entry


def _last(transaction: Transaction) -> Row:
    return transaction.row("SELECT number, at, hash FROM log ORDER BY number DESC LIMIT 1") or (0, "", BEGINNING)


def moment(transaction: Transaction, store: Store) -> str:
    """The time, in words. Raises if the clock is behind the last entry: dates that go backwards prove nothing."""
    return _after(_last(transaction)[1], store.now())


def _after(before: str, now: datetime) -> str:
    """The time in words, later than `before` unless that is empty."""
    if before and now < datetime.fromisoformat(before) - _SLACK:
        raise LedgerError(
            f"the clock says {now:%Y-%m-%d %H:%M}, but the ledger's last entry is dated "
            f"{before[:16].replace('T', ' ')}: set the clock and try again. Nothing was changed"
        )
    if before and now <= datetime.fromisoformat(before):
        now = datetime.fromisoformat(before) + timedelta(microseconds=1)  # no two entries share a time
    return now.isoformat(timespec="microseconds")


def entries(transaction: Transaction, where: str = "1 = 1", *parameters: Any) -> Iterator[Entry]:
    """The entries in order."""
    sql = f"SELECT number, at, event, release, content, hash FROM log WHERE {where} ORDER BY number"
    return (Entry(*row) for row in transaction.rows(sql, *parameters))
