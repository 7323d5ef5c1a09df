"""Bounds: the publicly known bounds of all values, either of which may be unknown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pdpmean.core.numbers import public_number
from pdpmean.core.text import short
from pdpmean.errors import InvalidInputError

__all__ = ["UNKNOWN", "Bounds", "GivenBounds", "check_bounds", "check_fine_enough"]

GivenBounds = tuple[float | None, float | None] | Sequence[float | None]

_LARGEST = 2.0**1000  # no bound is larger, so that their distance and middle are ordinary doubles
_CLOSEST = 2.0**-30  # the smallest distance of two bounds, over their size, so that doubles are fine enough in between


class Bounds(NamedTuple):
    """The bounds of all values; infinite where a bound is not known."""

    low: float = -math.inf
    high: float = math.inf

    @property
    def are_given(self) -> bool:
        """Whether at least one bound is known."""
        return self != UNKNOWN

    @property
    def are_both_known(self) -> bool:
        """Whether both bounds are known."""
        return self.low > -math.inf and self.high < math.inf

    @property
    def unknown_in_words(self) -> str | None:
        """What could still be given, such as "an upper bound"; None if both bounds are known."""
        if not self.are_given:
            return "bounds"
        if self.are_both_known:
            return None
        return "an upper bound" if self.low > -math.inf else "a lower bound"

    @property
    def anchor(self) -> float | None:
        """The bound that distances may be measured from: the lower one if it is known; None if neither is."""
        if not self.are_given:
            return None
        return self.low if self.low > -math.inf else self.high

    @property
    def half(self) -> float:
        """Half the distance between two known bounds; halves are subtracted, so that nothing overflows."""
        return self.high / 2 - self.low / 2

    @property
    def in_words(self) -> str:
        """The range of values in words, such as "0 to 10" or "0 or more"."""
        low, high = (short(end, 6) for end in self)
        if self.are_both_known:
            return f"{low} to {high}"
        return f"{low} or more" if self.low > -math.inf else f"{high} or less"

    @property
    def clipping_in_words(self) -> str:
        """What happens to values beyond the known bounds, in words."""
        low, high = (short(end, 6) for end in self)
        below, above = f"values below {low} count as {low}", f"values above {high} count as {high}"
        if self.are_both_known:
            return f"{below}, {above}"
        return below if self.low > -math.inf else above

    @property
    def ends(self) -> list[float | None] | None:
        """The bounds as in JSON, with None for one that is not known; None if neither is."""
        if not self.are_given:
            return None
        return [end if math.isfinite(end) else None for end in self]


UNKNOWN = Bounds()


def check_bounds(bounds: GivenBounds | None) -> Bounds:
    """The bounds, checked. One that is None or infinite is not known."""
    if bounds is None:
        return UNKNOWN
    try:
        low, high = bounds
        found = Bounds(
            -math.inf if low is None else public_number(low),
            math.inf if high is None else public_number(high),
        )
    except (OverflowError, TypeError, ValueError):
        found = Bounds(math.nan, math.nan)
    if not found.low < found.high:
        hint = f"; did you mean ({high!r}, {low!r})?" if found.low > found.high else ""
        raise InvalidInputError(
            "bounds must be numbers (low, high) with low < high, and None for an end that is not known; "
            f"got {bounds!r}{hint}",
            name="bounds",
            value=bounds,
        )
    return found


def check_fine_enough(bounds: Bounds) -> None:
    """Raise if the bounds are too large or too close for doubles to be fine enough in between."""
    size = max(abs(end) for end in (*bounds, 0.0) if math.isfinite(end))
    too_close = bounds.are_both_known and bounds.high - bounds.low < max(_CLOSEST * size, 1 / _LARGEST)
    if size > _LARGEST or too_close:
        raise InvalidInputError(
            "bounds must be at most 2**1000, and differ by at least 2**-1000 and by 2**-30 of their size; "
            f"got {tuple(bounds)!r}",
            name="bounds",
            value=bounds,
        )
