"""Joint noise: for the weighted sum and the total weight together, where both are private.

A record of weight w adds w z to the sum, with |z| at most 1, and w to the weight. Noise X and Y on them, of density
proportional to ``exp(-|X| - part * max(|X|, |Y|))``, costs it ``|w z| + part * max(|w z|, w)``, at most ``(1 + part)
w``. Independent noise has |Y| for the maximum, and costs as much: whoever pays for the weight has paid for less noise
on the sum, too (docs/guarantee.md, "Average"). It is drawn by `Randomness.add_joint_laplace`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["JointNoise"]


@dataclass(frozen=True)
class JointNoise:
    """What the noise is like, for weights in nats; `part` is the share for the total weight over that for the sum.

    With a part of 0 there is no noise on the weight, and Laplace noise of scale 1 on the sum.
    """

    part: float

    @property
    def scale(self) -> float:
        """The noise on the sum is Laplace of this scale or, with probability `doubled`, the sum of two of one sign."""
        return 1 / (1 + self.part)

    @property
    def doubled(self) -> float:
        """How often it is the sum of two."""
        return self.part / (1 + 2 * self.part)

    @property
    def sum_std(self) -> float:
        """Standard deviation of the noise on the sum."""
        return self.scale * math.sqrt(2 + 4 * self.doubled)

    @property
    def weight_std(self) -> float:
        """Standard deviation of the noise on the total weight."""
        return math.hypot(1 / self.part, self.scale) * math.sqrt(2) if self.part else 0.0
