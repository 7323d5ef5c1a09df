"""Losses: what a release costs how many people, if budgets are public; and what a privacy loss means, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pdpmean.core.text import short

__all__ = ["Loss", "guesses_right", "losses_of", "what_losses_mean"]

_MOST_ROWS = 12  # in a table of losses
_EXPLAINED = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0)  # the losses whose meaning is put into words, in nats

Cell = tuple[float, float, int]  # the smallest and the largest budget in a cell, and the number of people
_Row = tuple[tuple[float, float], int]  # a range of budgets, and the number of people


@dataclass(frozen=True)
class Loss:
    """A range of budgets, how many people hold one of them, and what the release costs each of them at most."""

    tiers: tuple[str, ...]
    """The names of the tiers in this range, if there are tiers."""
    budgets: tuple[float, float]
    people: int
    loss: float
    """In nats, an upper bound."""

    @property
    def budget(self) -> str:
        """The budget or the range of budgets, as text."""
        low, high = self.budgets
        return short(low, 6) if low == high else f"{short(low)} to {short(high)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON; None stands for infinity, which JSON lacks."""
        low, high = (None if math.isinf(end) else end for end in self.budgets)
        return {
            "tiers": list(self.tiers),
            "budget_from": low,
            "budget_to": high,
            "people": self.people,
            "loss": None if math.isinf(self.loss) else self.loss,
        }


def losses_of(
    cells: Iterable[Cell], spent: Fraction, known: Iterable[float] = (), tiers: Mapping[str, float] | None = None
) -> tuple[Loss, ...]:
    """What a release that spends this share of every budget costs people, in order of their budgets.

    A budget is stated exactly if it is one of `known`, if it is that of a tier, or if a cell holds no other. Otherwise
    the ends of its cell are stated. If there are many cells, neighbours are joined.
    """
    cells = list(cells)
    budgets_of_tiers = dict(tiers or {})
    exact = {*known, *budgets_of_tiers.values(), *(low for low, high, _ in cells if low == high)}
    largest = max((high for _, high, _ in cells), default=0.0)
    people: dict[tuple[float, float], int] = {}
    for low, high, count in cells:
        in_cell = [budget for budget in exact if low <= budget < high or budget == low or budget == high == largest]
        ends = (min(in_cell), max(in_cell)) if in_cell else (low, high)
        people[ends] = people.get(ends, 0) + count
    return tuple(_loss(rows, spent, budgets_of_tiers, exact | {largest}) for rows in _joined(sorted(people.items())))


def _joined(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    """The rows in at most `_MOST_ROWS` runs of neighbours."""
    size = max(1, -(-len(rows) // _MOST_ROWS))
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _loss(rows: Sequence[_Row], spent: Fraction, tiers: Mapping[str, float], exact: Set[float]) -> Loss:
    """The loss of the people in several neighbouring rows."""
    low, high = _rounded_outwards(rows[0][0][0], max(ends[1] for ends, _ in rows), exact)
    names = tuple(name for name, budget in tiers.items() if low <= budget <= high)
    loss = high if math.isinf(high) else float(spent * Fraction(high))
    return Loss(names, (low, high), sum(count for _, count in rows), loss)


def _rounded_outwards(low: float, high: float, exact: Set[float]) -> tuple[float, float]:
    """A range of budgets, its ends rounded outwards to three digits unless they are exact budgets."""
    return (
        low if low in exact else _three_digits(low, math.floor),
        high if high in exact else _three_digits(high, math.ceil),
    )


def _three_digits(number: float, rounding: Any) -> float:
    if number == 0 or math.isinf(number):
        return number
    digits = 2 - math.floor(math.log10(number))
    unit = Fraction(1, 10**digits) if digits >= 0 else Fraction(10**-digits)
    return float(rounding(Fraction(number) / unit) * unit)


def guesses_right(loss: float) -> float:
    """How often, out of 100 times, somebody can at most guess right between two cases that were equally likely."""
    return 100 / (1 + math.exp(-loss))


def what_losses_mean(*, bounded: bool) -> tuple[str, list[tuple[str, str]]]:
    """A sentence that explains losses, and for several losses how often a guess that was even is then right."""
    question = "which of two values is yours" if bounded else "whether you took part"
    sentence = (
        f"Suppose somebody can only guess {question}, and is right 50 times out of 100. After seeing the result, they "
        "are right at most this often, whatever else they know."
    )
    return sentence, [(f"{loss:g}", f"{guesses_right(loss):.1f} times out of 100") for loss in _EXPLAINED]
