"""Log: every change to a ledger, in order, as a chain of hashes.

The hash of an entry covers the entry itself and the hash before it. So nobody can change or remove an earlier entry
without changing the last hash, of which a data-protection officer may keep a copy.
"""

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

BEGINNING = "0" * 64  # what stands for the previous hash in the first entry
_CLOCK_TOLERANCE = timedelta(minutes=1)  # how far the clocks of two machines may differ


@dataclass(frozen=True)
class Entry:
    """An entry of the log. Its hash covers the entry and, through the hash before it, all earlier entries."""

    number: int
    """Entries are numbered from 1 without gaps."""
    at: str
    """The time, in ISO format."""
    event: str
    """What happened, such as "granted", "reserved" or "committed"."""
    release: int | None
    """The number of the release, if it is about one."""
    content: str
    """All details, as JSON."""
    hash: str

    @property
    def details(self) -> dict[str, Any]:
        """The content, parsed."""
        details: dict[str, Any] = json.loads(self.content)
        return details


def hash_of(number: int, at: str, event: str, release: int | None, content: str, previous: str) -> str:
    """The SHA-256 hash of an entry, given the hash of the `previous` one."""
    text = json.dumps([number, at, event, release, content, previous], ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def append(
    transaction: Transaction, store: Store, event: str, content: Mapping[str, Any], release: int | None = None
) -> Entry:
    """Add an entry to the log, and return it."""
    number, previous_time, previous = _last(transaction)
    at = _time_after(previous_time, store.now())
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    entry = Entry(number + 1, at, event, release, text, hash_of(number + 1, at, event, release, text, previous))
    transaction.change(
        "INSERT INTO log (number, at, event, release, content, hash) VALUES (?, ?, ?, ?, ?, ?)",
        *(entry.number, entry.at, entry.event, entry.release, entry.content, entry.hash),
    )
    return entry


def _last(transaction: Transaction) -> Row:
    """The number, time and hash of the last entry; those of an imaginary entry 0 if the log is empty."""
    return transaction.row("SELECT number, at, hash FROM log ORDER BY number DESC LIMIT 1") or (0, "", BEGINNING)


def moment(transaction: Transaction, store: Store) -> str:
    """The current time in ISO format, later than the last entry.

    Raises if the clock is behind the last entry: dates that go backwards prove nothing.
    """
    return _time_after(_last(transaction)[1], store.now())


def _time_after(before: str, now: datetime) -> str:
    """The time `now` in ISO format, moved to just after `before` if clocks differ a little; `before` may be empty."""
    if before and now < datetime.fromisoformat(before) - _CLOCK_TOLERANCE:
        raise LedgerError(
            f"the clock says {now:%Y-%m-%d %H:%M}, but the ledger's last entry is dated "
            f"{before[:16].replace('T', ' ')}: set the clock and try again. Nothing was changed"
        )
    if before and now <= datetime.fromisoformat(before):
        now = datetime.fromisoformat(before) + timedelta(microseconds=1)  # no two entries share a time
    return now.isoformat(timespec="microseconds")


def entries(transaction: Transaction, where: str = "1 = 1", *parameters: Any) -> Iterator[Entry]:
    """The entries that meet the SQL condition `where`, in order; all of them by default."""
    sql = f"SELECT number, at, event, release, content, hash FROM log WHERE {where} ORDER BY number"
    return (Entry(*row) for row in transaction.rows(sql, *parameters))
