"""`MissingShare`: how many values are missing, at most, and whether any are, beyond noise.

Both follow from the exact distribution of the noise. The missing weight is released in nats with Laplace noise of scale
1. If levels of budgets are combined, it is a sum of such noises whose squared multipliers add up to 1, and its tail
beyond `_NOISE_NATS` is lighter. Noise alone exceeds that in one run out of two thousand. So the claims below, of one
run out of a thousand, leave a margin for noise in the total weight and for the choice of a combination.
"""

from __future__ import annotations

import math
from typing import NamedTuple

__all__ = ["MissingShare"]

_FALSE_ALARM = 0.0005  # the probability that Laplace noise of scale 1 exceeds the next number
_NOISE_NATS = -math.log(2 * _FALSE_ALARM)  # 6.9 nats


class MissingShare(NamedTuple):
    """The part of the weight whose value is missing: an estimate, and what the noise allows to say for sure."""

    about: float
    """The estimate, which is above 0 even if nothing is missing."""
    at_most: float
    """An upper bound, which is exceeded in at most one run out of a thousand."""
    is_seen: bool
    """Whether values are missing beyond doubt. If none are, this is True in at most one run out of a thousand."""

    @classmethod
    def of(cls, about: float, released_nats: float, total_nats: float) -> MissingShare:
        """From an estimate, the released missing weight, and the total weight that it is a part of."""
        at_most = (max(released_nats, 0.0) + _NOISE_NATS) / max(total_nats, 1.0)
        is_seen = released_nats > _NOISE_NATS
        return cls(about, min(max(at_most, about), 1.0), is_seen)
