"""Request: what a release asks of the people in it, before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from pdpmean.core.choices import check_share, floor_share
from pdpmean.core.types import Floats
from pdpmean.ledger.amount import INFINITE, ONE_UNIT, Amount, columns_of_budgets
from pdpmean.ledger.queries import LARGEST_DENOMINATOR

__all__ = ["Asked", "PeopleAsked", "Request", "exact_share"]


class PeopleAsked(NamedTuple):
    """Some records, in order: the id of each (None for one that takes no part), and its budget if the data says it."""

    ids: Sequence[str | None]
    budgets: Floats | None = None


@dataclass(frozen=True)
class Request:
    """What a release may cost each person: a share of their grant, at most what is left of it and at most `most`.

    Who would take part with less than `least` takes part with nothing.
    """

    purpose: str
    analyst: str | None = None
    share: Fraction = Fraction(1)
    most: Amount = INFINITE
    least: Amount = ONE_UNIT
    people_are_public: bool = True
    """Whether it may be told that somebody is not in the ledger, or is there twice: the bounded model."""
    budgets_in_data: bool = False
    """Whether the data says what people grant; the ledger then checks that they do."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What the log is to say besides: data, options, versions."""

    @property
    def limits(self) -> tuple[Fraction, Amount, Amount]:
        """What the queries need to know of it."""
        return self.share, self.most, self.least


def exact_share(share: float | Fraction) -> Fraction:
    """The share as it is written, a third or a tenth; rounded down to a multiple of 2**-20 where that takes more."""
    check_share(share)
    exact = Fraction(str(share))
    return exact if exact.denominator <= LARGEST_DENOMINATOR else floor_share(exact)


class Asked:
    """Records as rows to be loaded into a database, counted on the way."""

    def __init__(self, people: Iterable[PeopleAsked]) -> None:
        self._people = people
        self.records = 0
        """How many there were."""
        self.asked = 0
        """How many had an id."""

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """A row per record that has an id: its place, the id and, if the data says it, the budget."""
        for ids, budgets in self._people:
            places = range(self.records, self.records + len(ids))
            self.records += len(ids)
            columns = [] if budgets is None else [column.tolist() for column in columns_of_budgets(budgets)]
            rows: Iterable[tuple[Any, ...]] = zip(places, ids, *columns, strict=True)
            missing = sum(1 for person in ids if person is None) if None in ids else 0
            self.asked += len(ids) - missing
            yield from (row for row in rows if row[1] is not None) if missing else rows
