"""Missing values: whether noise alone explains what seems to be missing, and how much may be.

Both answers go by the exact law of the noise. The missing weight is released in nats, with Laplace noise of scale 1;
where levels of budgets are combined, with a sum of such noises whose squared multipliers add up to 1, and whose tail
beyond `_NOISE_NATS` is smaller. Noise alone exceeds so many nats in one run out of two thousand. So what is said below
of one run out of a thousand holds with room to spare, also where the total weight is noisy or levels are chosen.
"""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["MissingShare"]

_FALSE_ALARM = 0.0005
_NOISE_NATS = -math.log(2 * _FALSE_ALARM)  # 6.9


class MissingShare(NamedTuple):
    """The part of the weight whose value is missing, as far as the noise lets it be seen."""

    about: float
    """The best guess, which is above 0 even if nothing is missing."""
    at_most: float
    """More than that is missing in at most one run out of a thousand."""
    is_seen: bool
    """Whether anything is missing beyond doubt: if nothing is, this is false in all but one run out of a thousand."""

    @classmethod
    def of(cls, about: float, released_nats: float, total_nats: float) -> MissingShare:
        """From the missing weight as it was released, and the total weight behind it."""
        at_most = (max(released_nats, 0.0) + _NOISE_NATS) / max(total_nats, 1.0)
        is_seen = released_nats > _NOISE_NATS
        return cls(about, min(max(at_most, about), 1.0), is_seen)
