"""Statement: what a person may ask for, in words and as JSON."""

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
    """Every release that used a person's data: when, why, what it cost them, and what is left."""

    person: str
    balance: Balance
    uses: tuple[tuple[Release, Amount], ...]
    """Each release, with what it cost this person."""
    earlier: tuple[tuple[str, str, Amount], ...]
    """Former grants: from when, until when, how much."""
    taking_part_is_private: bool = False
    """Whether the releases were in the unbounded model, in which a cost has another meaning."""

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
        """What a cost c promises, in words."""
        other = "with your data as without it" if self.taking_part_is_private else _OTHER_VALUE
        return f"A cost of c means that any published result is at most exp(c) times as likely {other}."

    def __str__(self) -> str:
        """The statement as a letter would say it."""
        return "\n".join([*self._grant(), "", *self._use()])

    def _grant(self) -> list[str]:
        held = self.balance
        now = (
            f"You withdrew on {_day(held.since)}: no further release uses your data."
            if held.withdrawn
            else f"Since {_day(held.since)} you have granted {held.granted} nats in total"
            + (f" (tier {held.tier})." if held.tier else ".")
        )
        before = [f"From {_day(since)} to {_day(until)} you granted {was}." for since, until, was in self.earlier]
        left = f"Of your grant, {held.spent} is spent and {held.left} is left."
        return [f"Statement for {self.person}", "", *before, now, left]

    def _use(self) -> list[str]:
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
    return at[:10]


def statement(transaction: Transaction, person: str) -> Statement:
    """The statement of a person."""
    held = balance(transaction, person)
    found = transaction.rows(
        f"SELECT release, people_are_public, {queries.columns('cost')} FROM releases "
        "JOIN costs ON costs.release = releases.number "
        "AND costs.person = (SELECT number FROM people WHERE id = ?) ORDER BY release",
        person,
    )
    rows = list(found)
    costs = {int(release): Amount.of_columns(*cost) for release, _, *cost in rows}
    private = any(not public for _, public, *_ in rows)
    uses = tuple((release, costs[release.number]) for release in releases(transaction) if release.number in costs)
    earlier = tuple((since, until, granted) for since, until, granted, *_ in earlier_grants(transaction, person))
    return Statement(person, held, uses, earlier, private)
