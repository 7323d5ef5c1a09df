"""What follows from the released numbers whatever the shape: the clipped mean as it is, and what a tail may add."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.core.numbers import finite
from pdpmean.inference.population import (
    LARGEST_ERROR,
    Evidence,
    Population,
    ShapeInference,
    averaging_weights,
    weight_variation,
)
from pdpmean.laws.error_law import ErrorLaw
from pdpmean.planning.any_shape import tail_beyond
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Average, Released

__all__ = ["AnyShapeInference"]

_ALL_EQUAL = "all values seem to be equal, missing or not numbers"


@dataclass(frozen=True)
class _Clipped(Evidence):
    """What was released of a population of any shape."""

    @property
    def averaged(self) -> Average:
        """Its sums."""
        assert isinstance(self.released.averaged, Average)
        return self.released.averaged

    @property
    def released_weight(self) -> float:
        """Everybody's weight is counted as it is."""
        return self.averaged.total


class AnyShapeInference(ShapeInference):
    """Nothing is undone; the interval allows for what either tail may add."""

    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The clipped mean of each group."""
        return [_as_it_is(_Clipped(group)) for group in released]

    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:  # noqa: ARG002
        """Whether there is no width at all."""
        return (_ALL_EQUAL,) if released.location.degenerate else ()

    def unevenness(self, plan: Plan) -> float:
        """Of the weights in the sum."""
        return weight_variation(plan, averaging_weights(plan))


def _as_it_is(group: _Clipped) -> Population:
    """The clipped mean itself, as it is or with what either tail may add; sampling from the released mean square."""
    plan, location, averaged = group.plan, group.released.location, group.averaged
    half, offset = location.half, location.offset
    assert averaged.square is not None
    mean = finite(location.middle + half * averaged.mean)
    deviation = math.sqrt(max(averaged.square - averaged.mean**2, 0.0) + averaged.doubt)
    moved = plan.noise.weight_std * averaged.mean
    sampling = half * (math.hypot(deviation * math.sqrt(group.square), moved) / averaged.total)
    tails = (tail_beyond(end, plan.scale.weight * group.growth) for end in (half - offset, half + offset))
    errors = (plan.noise.scale * half / averaged.total, sampling, *tails)
    noise, sampling, below, above = (min(error, LARGEST_ERROR) for error in errors)
    means = np.array([mean, finite(mean + above), finite(mean - below), finite(mean + (above - below))])
    law = ErrorLaw(means, np.full(4, noise), np.full(4, sampling), plan.noise.doubled)
    return Population(mean, finite(half * deviation), law)
