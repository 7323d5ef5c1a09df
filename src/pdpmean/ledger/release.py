"""Releases: what each was for, what it cost and how it ended, according to the log."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from pdpmean.ledger.amount import INFINITE, Amount
from pdpmean.ledger.log import Entry, entries
from pdpmean.ledger.store import Transaction

__all__ = ["Release", "releases"]

_NO_COSTS = hashlib.sha256().hexdigest()


@dataclass(frozen=True)
class Release:
    """A release that was reserved, and how it ended."""

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
    """A hash of the cost of each of them."""
    details: dict[str, Any] = field(default_factory=dict)
    """Data, columns, options, plan, shares, versions and the hash of the result."""
    hash: str = ""
    """The hash of its last entry in the log, which also covers all entries before that."""

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
    events: dict[int, list[Entry]] = {}
    for entry in entries(transaction, "release IS NOT NULL"):
        events.setdefault(int(entry.release or 0), []).append(entry)
    return [_release(number, told) for number, told in events.items()]


def _release(number: int, told: list[Entry]) -> Release:
    """What the entries about a release say together; later ones add to earlier ones, or correct them."""
    said: dict[str, Any] = {}
    for entry in told:
        said |= entry.details
    cancelled = told[-1].event == "cancelled"
    people, units, costs_hash = (said.pop(name) for name in ("people", "total_units", "costs_hash"))
    total = Amount() if cancelled else INFINITE if units is None else Amount(units=int(units))
    return Release(
        number,
        told[0].at,
        told[-1].event,
        said.pop("purpose"),
        said.pop("analyst"),
        0 if cancelled else people,
        total,
        _NO_COSTS if cancelled else costs_hash,
        said,
        told[-1].hash,
    )
