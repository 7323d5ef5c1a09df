"""What follows from the released numbers whatever the shape: the mean within the clip, and what may lie beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.inference.population import Evidence, Population, ShapeInference, averaging_weights, weight_variation
from pdpmean.laws.far_mean import FarMean, PrivateTotal, PublicTotal, conclude_means
from pdpmean.laws.reading import Counted, Reading
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, PrivateTotalSums, PublicTotalSums, Released

__all__ = ["AnyShapeInference"]

_MANY = 0.5  # of the values may be missing without a warning
_MANY_MISSING = "more than half of the values seem to be missing or not numbers: the mean is that of the others"


@dataclass(frozen=True)
class _Clipped(Evidence):
    """What was released of a population of any shape."""

    @property
    def released_weight(self) -> float:
        """The total weight: public, or what the noisy sums add up to."""
        sums = self.released.averaged
        if isinstance(sums, PublicTotalSums):
            return sums.weight
        assert isinstance(sums, PrivateTotalSums)
        return max(sums.weight + sums.missing, 1.0)

    @property
    def reading(self) -> Reading:
        """What the histogram said."""
        assert self.released.location.reading is not None
        return self.released.location.reading

    @property
    def counted(self) -> Counted:
        """What is known of the weights in the sums: more than when they were planned, once they are released."""
        planned = self.plan.behind_sums
        if self.plan.model.budgets_are_public:
            return planned._replace(nats=self.released_weight)
        return planned._replace(people=max(self.weight**2 / self.square, 1.0))

    @property
    def sums(self) -> PublicTotal | PrivateTotal:
        """What the sums are, as a law takes them."""
        sums = self.released.averaged
        if isinstance(sums, PublicTotalSums):
            below, above = np.array(sums.below), np.array(sums.above)
            return PublicTotal(sums.values, sums.spread, sums.missing, below, above)
        assert isinstance(sums, PrivateTotalSums)
        below, above = np.array(sums.below), np.array(sums.above)
        return PrivateTotal(sums.low, sums.middle, sums.high, sums.missing, below, above)


class AnyShapeInference(ShapeInference):
    """The mean is that within the clip, what lies far beyond, and what a tail that falls as others do may add."""

    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The population behind each group."""
        groups = [_Clipped(group) for group in released]
        means = conclude_means(
            [group.reading for group in groups],
            [_ends(group.released.location) for group in groups],
            [group.sums for group in groups],
            [group.counted for group in groups],
            groups[0].plan.bounds,
        )
        return [_population(mean) for mean in means]

    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:  # noqa: ARG002
        """Whether most values seem to be missing."""
        return (_MANY_MISSING,) if (population.missing or 0.0) > _MANY else ()

    def unevenness(self, plan: Plan) -> float:
        """Of the weights in the sums."""
        return weight_variation(plan, averaging_weights(plan))


def _ends(location: Location) -> tuple[float, float]:
    return location.middle - location.half, location.middle + location.half


def _population(mean: FarMean) -> Population:
    return Population(mean=mean.mean, scale=mean.scale, law=mean.law, missing=mean.missing)
