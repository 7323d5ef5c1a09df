"""Request: what a release asks of the ledger, before anything is drawn.

It names the people in the data and the rules by which the ledger turns each person's grant into their cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from pdpmean.core.choices import check_share, floor_share
from pdpmean.core.types import Floats
from pdpmean.ledger.amount import INFINITE, ONE_UNIT, Amount
from pdpmean.ledger.queries import LARGEST_DENOMINATOR

__all__ = ["PeopleAsked", "Request", "exact_share"]


class PeopleAsked(NamedTuple):
    """A batch of records in order: the id of each (None if it takes no part), and its budget if the data has one."""

    ids: Sequence[str | None]
    budgets: Floats | None = None


@dataclass(frozen=True)
class Request:
    """The rules for what a release costs each person, and what the log should say about it.

    The cost is the smallest of three amounts: `share` times the grant (or the budget in the data), the part of the
    grant that is left, and `most`. Anyone whose cost would be below `least` does not take part, and pays nothing.
    """

    purpose: str
    analyst: str | None = None
    share: Fraction = Fraction(1)
    most: Amount = INFINITE
    least: Amount = ONE_UNIT
    people_are_public: bool = True
    """Whether error messages may reveal that somebody is unknown or has two records, as in the bounded model."""
    budgets_in_data: bool = False
    """Whether the data has a column of budgets. The share is then taken of those, and the ledger checks them."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else the log records: the data set, the options, the versions of the software."""

    @property
    def asks_for_all(self) -> bool:
        """Whether the release may cost everybody all that they have left."""
        return self.share == 1 and self.most.infinite and not self.budgets_in_data

    @property
    def limits(self) -> tuple[Fraction, Amount, Amount]:
        """`share`, `most` and `least`: the arguments of the queries that compute costs."""
        return self.share, self.most, self.least


def exact_share(share: float | Fraction) -> Fraction:
    """The share as an exact fraction: the float 0.1 becomes 1/10.

    Fractions with a denominator above 2**20 are rounded down to a multiple of 2**-20, so that SQL can multiply by them
    within 64 bits.
    """
    check_share(share)
    exact = Fraction(str(share))
    return exact if exact.denominator <= LARGEST_DENOMINATOR else floor_share(exact)
