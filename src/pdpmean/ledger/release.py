"""Release: what each release was for, what it cost and how it ended, reconstructed from the log.

From the log rather than from the tables, since the log is protected by its hashes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from pdpmean.ledger.amount import INFINITE, NOTHING, Amount
from pdpmean.ledger.log import Entry, entries
from pdpmean.ledger.store import Transaction

__all__ = ["Release", "releases"]

_NO_COSTS = hashlib.sha256().hexdigest()  # the hash of a release that charges nobody


@dataclass(frozen=True)
class Release:
    """A release: when it was reserved, what for, what it cost, and how it ended."""

    number: int
    at: str
    """When it was reserved."""
    state: str
    """"reserved" while it runs or after a crash, "committed", "cancelled" or "settled"."""
    purpose: str
    analyst: str | None
    people: int
    """How many people were charged."""
    total: Amount
    """The sum of their costs."""
    costs_hash: str
    """A hash of everybody's cost, which `verify` compares with the table of costs."""
    details: dict[str, Any] = field(default_factory=dict)
    """Data, columns, options, plan, shares, versions and the hash of the result."""
    hash: str = ""
    """The hash of its last entry in the log, which covers all earlier entries as well."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON."""
        return {
            "number": self.number,
            "at": self.at,
            "state": self.state,
            "purpose": self.purpose,
            "analyst": self.analyst,
            "people": self.people,
            "total": float(self.total),
            "costs_hash": self.costs_hash,
            **self.details,
            "hash": self.hash,
        }


def releases(transaction: Transaction) -> list[Release]:
    """All releases, oldest first."""
    entries_by_release: dict[int, list[Entry]] = {}
    for entry in entries(transaction, "release IS NOT NULL"):
        entries_by_release.setdefault(int(entry.release or 0), []).append(entry)
    return [_release(number, its_entries) for number, its_entries in entries_by_release.items()]


def _release(number: int, its_entries: list[Entry]) -> Release:
    """The release that these log entries describe together; later entries add to earlier ones, or correct them."""
    details: dict[str, Any] = {}
    for entry in its_entries:
        details |= entry.details
    cancelled = its_entries[-1].event == "cancelled"
    people, units, costs_hash = (details.pop(name) for name in ("people", "total_units", "costs_hash"))
    total = INFINITE if units is None else Amount(units=int(units))
    return Release(
        number=number,
        at=its_entries[0].at,
        state=its_entries[-1].event,
        purpose=details.pop("purpose"),
        analyst=details.pop("analyst"),
        people=0 if cancelled else people,
        total=NOTHING if cancelled else total,
        costs_hash=_NO_COSTS if cancelled else costs_hash,
        details=details,
        hash=its_entries[-1].hash,
    )
