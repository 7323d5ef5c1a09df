"""Statement: what the ledger holds about one person, as a letter and as JSON.

It answers the question that everybody may ask: which releases used my data, when, what for, and what did each cost me?
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from pdpmean.core.text import as_table
from pdpmean.ledger import queries
from pdpmean.ledger.amount import Amount
from pdpmean.ledger.people import Balance, balance, earlier_grants
from pdpmean.ledger.release import Release, releases
from pdpmean.ledger.store import Transaction

__all__ = ["Statement", "statement"]

_OTHER_VALUE = "with your true value as with any other value"
_WIDTH = 100  # characters of a line


@dataclass(frozen=True)
class Statement:
    """One person's statement: every release that used their data, when, why, what it cost them, and what is left."""

    person: str
    balance: Balance
    uses: tuple[tuple[Release, Amount], ...]
    """Each release, with what it cost this person."""
    earlier: tuple[tuple[str, str, Amount], ...]
    """Former grants: from when, until when, how much."""
    taking_part_is_private: bool = False
    """Whether the releases were in the unbounded model, in which a cost also covers participation."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON; amounts in nats."""
        return {
            "person": self.person,
            "granted": float(self.balance.granted),
            "spent": float(self.balance.spent),
            "left": float(self.balance.left),
            "tier": self.balance.tier,
            "note": self.balance.note,
            "since": self.balance.since,
            "withdrawn": self.balance.withdrawn,
            "releases": [
                {
                    "number": release.number,
                    "at": release.at,
                    "purpose": release.purpose,
                    "analyst": release.analyst,
                    "state": release.state,
                    "cost": float(cost),
                }
                for release, cost in self.uses
            ],
            "earlier_grants": [
                {"since": since, "until": until, "granted": float(granted)} for since, until, granted in self.earlier
            ],
            "what_a_cost_means": self.what_a_cost_means,
        }

    @property
    def what_a_cost_means(self) -> str:
        """What a cost of c nats guarantees, in one sentence for the person concerned."""
        other = "with your data as without it" if self.taking_part_is_private else _OTHER_VALUE
        return f"A cost of c means that any published result is at most exp(c) times as likely {other}."

    def __str__(self) -> str:
        """The statement as a letter to the person."""
        return "\n".join([*self._grant(), "", *self._use()])

    def _grant(self) -> list[str]:
        """The lines about what the person grants and granted."""
        balance = self.balance
        now = (
            f"You withdrew on {_day(balance.since)}: no further release uses your data."
            if balance.withdrawn
            else f"Since {_day(balance.since)} you have granted {balance.granted} nats in total"
            + (f" (tier {balance.tier})." if balance.tier else ".")
        )
        before = [f"From {_day(since)} to {_day(until)} you granted {was}." for since, until, was in self.earlier]
        left = f"Of your grant, {balance.spent} is spent and {balance.left} is left."
        return [f"Statement for {self.person}", "", *before, now, left]

    def _use(self) -> list[str]:
        """The lines about releases that used the person's data."""
        if not self.uses:
            return ["No release has used your data."]
        rows = [("release", "date", "cost", "for what")]
        rows += [
            (str(use.number), _day(use.at), str(cost), use.purpose + (" (not completed)" * (use.state != "committed")))
            for use, cost in self.uses
        ]
        return [
            "Your data was used in these releases, at this cost:",
            "",
            as_table(rows, right_from=len(rows[0])),
            "",
            textwrap.fill(f"{self.what_a_cost_means} For all of them together, c is {self.balance.spent}.", _WIDTH),
        ]


def _day(at: str) -> str:
    """The date of a time in ISO format."""
    return at[:10]


def statement(transaction: Transaction, person: str) -> Statement:
    """The statement of a person; raises if the ledger does not know them."""
    present = balance(transaction, person)
    query = transaction.rows(
        f"SELECT release, people_are_public, {queries.columns('cost')} FROM releases "
        "JOIN costs ON costs.release = releases.number "
        "AND costs.person = (SELECT number FROM people WHERE id = ?) ORDER BY release",
        person,
    )
    rows = list(query)
    costs = {int(release): Amount.of_columns(*cost) for release, _, *cost in rows}
    private = any(not public for _, public, *_ in rows)
    uses = tuple((release, costs[release.number]) for release in releases(transaction) if release.number in costs)
    earlier = tuple((since, until, granted) for since, until, granted, *_ in earlier_grants(transaction, person))
    return Statement(person, present, uses, earlier, private)
