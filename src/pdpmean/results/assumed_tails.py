"""Assumed tails: what an interval assumes about values that the budget cannot show."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AssumedTails"]


@dataclass(frozen=True)
class AssumedTails:
    """Beyond the clip, tails are assumed to be ordinary, since no interval is valid for every population."""

    smallest_visible: float
    """The fraction of the weight that a separate group of far values needs in order to be seen."""

    def __str__(self) -> str:
        smallest = f"{100 * self.smallest_visible:.2g} %"
        return f"tails that cannot be seen are ordinary. A distant group of less than {smallest} would not be seen"
