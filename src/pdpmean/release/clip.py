"""Clip: the interval that the values of a group are clipped to, and the weights at which they are summed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from pdpmean.core.integers import LARGEST_SHIFT, STEPS, steps_per_unit, weight_shift
from pdpmean.core.model import Model
from pdpmean.core.rules import SumRule

__all__ = ["Clip"]


@dataclass(frozen=True)
class Clip:
    """Values clipped to ``middle - half`` and ``middle + half``, at weights ``min(share * allowance, cap)`` in nats.

    It exists so that the sums and their noise agree on the sensitivity: how much one record can add to each sum. What
    is summed beside the values, the *extra* sum, depends on the shape.
    """

    model: Model
    share: Fraction
    """The share of the sum, out of every allowance."""
    cap: float
    """No record weighs more, in nats."""
    middle: float
    half: float
    """Half the width of the clip, in the unit of the values."""

    squares: ClassVar[bool]
    """Whether the extra sum is that of the squares; otherwise it is that of the tents."""
    largest_shift: ClassVar[int] = LARGEST_SHIFT
    """The largest `shift`, which limits the noise scale."""
    slack: ClassVar[Fraction]
    """Nats that adding one nat to the extra sum may cost: no more than the record then saves in the sum of values."""

    @property
    def near_steps(self) -> float:
        """See `SumRule.near`."""
        return 0.0

    @property
    def far(self) -> bool:
        """Whether values far beyond the clip are counted separately, in cells by their distance."""
        return False

    @property
    def limits(self) -> tuple[float, float]:
        """See `SumRule.lowest` and `SumRule.highest`: unless a shape says otherwise, no value is far."""
        return -STEPS, STEPS

    @cached_property
    def shift(self) -> int:
        """The integer q such that weights are multiples of ``2**-q`` nats; it depends on public numbers alone."""
        largest = min(self.cap, float(self.share) * self.model.largest_allowance)
        return min(weight_shift(largest), self.largest_shift)

    @property
    def unit(self) -> int:
        """A weight of one nat, as an integer: ``2**q``."""
        return 1 << self.shift

    @property
    def nat(self) -> int:
        """What a record of weight one nat adds to the sum if it lies at an end of the clip, as an integer."""
        return STEPS << self.shift

    @property
    def rule(self) -> SumRule:
        """What each record of the group adds to the sums, as numbers that the passes read."""
        lift, per_unit = steps_per_unit(self.half)
        lowest, highest = self.limits
        return SumRule(
            share=math.ldexp(self.share, self.shift),
            cap=math.ldexp(self.cap, self.shift),
            middle=self.middle,
            lift=lift,
            per_unit=per_unit,
            near=self.near_steps,
            lowest=lowest,
            highest=highest,
        )
