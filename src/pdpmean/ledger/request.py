"""Request: what a release asks of the people in it, before anything is drawn."""

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
    """Some records in order: the id of each, None if it takes no part, and its budget if the data has one."""

    ids: Sequence[str | None]
    budgets: Floats | None = None


@dataclass(frozen=True)
class Request:
    """What a release may cost each person: a share of their grant, but at most what is left of it, and at most `most`.

    Anyone who would take part with less than `least` takes part with nothing.
    """

    purpose: str
    analyst: str | None = None
    share: Fraction = Fraction(1)
    most: Amount = INFINITE
    least: Amount = ONE_UNIT
    people_are_public: bool = True
    """Whether errors may reveal that somebody is unknown or has two records, as in the bounded model."""
    budgets_in_data: bool = False
    """Whether the data has budgets, which are then checked against the ledger."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What else the log should record: data, options, versions."""

    @property
    def limits(self) -> tuple[Fraction, Amount, Amount]:
        """What the queries need of it."""
        return self.share, self.most, self.least


def exact_share(share: float | Fraction) -> Fraction:
    """The share as written, such as 1/3 or 0.1; rounded down to a multiple of 2**-20 if its denominator is larger."""
    check_share(share)
    exact = Fraction(str(share))
    return exact if exact.denominator <= LARGEST_DENOMINATOR else floor_share(exact)
