"""Assumed tails: what an interval takes for granted of values that the budget cannot show."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AssumedTails"]


@dataclass(frozen=True)
class AssumedTails:
    """Beyond the clip, tails are taken to fall like common ones; no interval is right for every population."""

    share: float
    """The part of the squared half width of an interval that is due to what may lie there."""
    smallest_visible: float
    """The part of the weight that a separate group of far values needs to be seen."""

    def __str__(self) -> str:
        return (
            f"tails fall like common ones, which makes up {100 * self.share:.0f} % of the squared width; "
            f"a far group of less than {100 * self.smallest_visible:.2g} % could not be seen"
        )
