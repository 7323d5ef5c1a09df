"""Clip: which interval the values of a group are clipped to, and at what weights they are summed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from pdpmean.core.integers import STEPS, steps_per_unit, weight_shift
from pdpmean.core.model import Model
from pdpmean.core.rules import SumRule

__all__ = ["Clip"]


@dataclass(frozen=True)
class Clip:
    """Values clipped to middle +- half, at weights ``min(share * allowance, cap)``.

    It exists to say, once for the sums and for their noise, how large a record's part of each can be. What is summed
    beside the values is each shape's own.
    """

    model: Model
    share: Fraction
    cap: float
    middle: float
    half: float

    squares: ClassVar[bool]
    """Whether squares are summed beside the values."""
    slack: ClassVar[Fraction]
    """What adding 1 to the extra sum may cost, over the share of the sum: no more than the record then saves there."""

    @property
    def near_steps(self) -> float:
        """See `SumRule.near`."""
        return 0.0

    @property
    def far(self) -> bool:
        """Whether values far beyond the clip are counted apart."""
        return False

    @property
    def far_steps(self) -> tuple[float, float]:
        """See `SumRule.far_below` and `SumRule.far_above`: unless a shape says otherwise, nothing is far."""
        return math.inf, math.inf

    @property
    def shift(self) -> int:
        """Weights are multiples of 2**-shift; from public numbers alone."""
        return weight_shift(min(self.cap, float(self.share) * self.model.largest_allowance))

    @property
    def unit(self) -> int:
        """A weight of one nat, as an integer."""
        return 1 << self.shift

    @property
    def nat(self) -> int:
        """What a weight of one nat adds at the end of the clip, as an integer."""
        return STEPS << self.shift

    @property
    def rule(self) -> SumRule:
        """What the records of the group add to the sums."""
        lift, per_unit = steps_per_unit(self.half)
        far_below, far_above = self.far_steps
        return SumRule(
            share=math.ldexp(self.share, self.shift),
            cap=math.ldexp(self.cap, self.shift),
            middle=self.middle,
            lift=lift,
            per_unit=per_unit,
            near=self.near_steps,
            far_below=far_below,
            far_above=far_above,
        )
