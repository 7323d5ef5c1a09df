"""Assumed tails: what an interval assumes about values that the budget cannot show."""

from __future__ import annotations

from dataclasses import dataclass

from pdpmean.core.text import short

__all__ = ["AssumedTails"]

_LARGE = 0.2  # the largest fraction of the people that is still called a small group
_HALF = 0.5  # of two groups that are far from each other, the smaller one holds at most half of the people


@dataclass(frozen=True)
class AssumedTails:
    """Beyond the clip, tails are assumed to be ordinary, since no interval is valid for every population."""

    smallest_visible: float
    """The fraction of the weight that a separate group of far values needs in order to be seen."""

    def __str__(self) -> str:
        return "tails that cannot be seen are ordinary"

    def holds_if(self, group: str = "group", people: str = "the people") -> str:
        """The condition on which the interval holds, in words; `group` is a part of `people`."""
        unseen = f"{short(100 * min(self.smallest_visible, _HALF), 2)} % of {people}"
        if self.smallest_visible > _LARGE:
            return (
                f"no {group} has values far from all others. "
                f"Take care: at this budget, even one as large as {unseen} would go unseen"
            )
        return (
            f"no small {group} has values far from all others. "
            f"At this budget, one of about {unseen} would go unseen, or a larger one if its values vary widely"
        )
