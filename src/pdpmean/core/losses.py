"""Losses: how many people a release costs how much, where budgets are public; and what a loss means, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["Loss", "guesses_right", "losses_of", "what_losses_mean"]

_MOST = 12  # rows
_SHOWN = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0)  # losses whose meaning is told

Cell = tuple[float, float, int]  # from which budget, to which, and how many people


@dataclass(frozen=True)
class Loss:
    """How many people grant a budget between two, and what the release costs each of them at most."""

    tiers: tuple[str, ...]
    """Their names, where they have some."""
    budgets: tuple[float, float]
    people: int
    loss: float

    @property
    def budget(self) -> str:
        """The budget, or between which ones it lies."""
        low, high = self.budgets
        return f"{low:.6g}" if low == high else f"{low:.3g} to {high:.3g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON, which has no infinity."""
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
    """What a release costs those in each cell, from the smallest budget on; cells that are many are joined.

    Where budgets are `known`, as those of `tiers` are, or a cell begins and ends with the same one, they are told
    exactly, and otherwise by the ends of their cell.
    """
    cells = list(cells)
    named = dict(tiers or {})
    exact = {*known, *named.values(), *(low for low, high, _ in cells if low == high)}
    largest = max((high for _, high, _ in cells), default=0.0)
    people: dict[tuple[float, float], int] = {}
    for low, high, count in cells:
        found = [budget for budget in exact if low <= budget < high or budget == low or budget == high == largest]
        ends = (min(found), max(found)) if found else (low, high)
        people[ends] = people.get(ends, 0) + count
    return tuple(_loss(part, spent, named, exact | {largest}) for part in _few(sorted(people.items())))


def _few(rows: Sequence[tuple[tuple[float, float], int]]) -> Iterator[Sequence[tuple[tuple[float, float], int]]]:
    """The rows in at most so many parts of neighbours."""
    size = max(1, -(-len(rows) // _MOST))
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _loss(
    rows: Sequence[tuple[tuple[float, float], int]], spent: Fraction, tiers: Mapping[str, float], exact: Set[float]
) -> Loss:
    low, high = _rounded_outwards(rows[0][0][0], max(ends[1] for ends, _ in rows), exact)
    names = tuple(name for name, budget in tiers.items() if low <= budget <= high)
    loss = high if math.isinf(high) else float(spent * Fraction(high))
    return Loss(names, (low, high), sum(count for _, count in rows), loss)


def _rounded_outwards(low: float, high: float, exact: Set[float]) -> tuple[float, float]:
    """The ends of a cell to three digits, unless they are budgets that are known exactly."""
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
    """How often, of 100 times, who has to choose between two equally likely cases is right at most."""
    return 100 / (1 + math.exp(-loss))


def what_losses_mean(*, bounded: bool) -> tuple[str, list[tuple[str, str]]]:
    """A sentence, and a row for each of some losses: how often a guess is right that would be so 50 times of 100."""
    question = "which of two values is yours" if bounded else "whether you took part"
    sentence = (
        f"Suppose somebody can only guess {question}, and is right 50 times out of 100. After seeing the result, they "
        "are right at most this often, whatever else they know."
    )
    return sentence, [(f"{loss:g}", f"{guesses_right(loss):.1f} times out of 100") for loss in _SHOWN]
