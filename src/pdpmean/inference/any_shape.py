"""What follows from the released numbers whatever the shape: the mean within the clip, and what may lie beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.core.bounds import Bounds
from pdpmean.core.numbers import finite
from pdpmean.inference.known_bounds import MANY_MISSING, KnownBoundsInference
from pdpmean.inference.missing import MissingShare
from pdpmean.inference.population import Evidence, Population, ShapeInference
from pdpmean.laws.far_mean import FarMean, PrivateTotal, PublicTotal, conclude_means
from pdpmean.laws.missing_weight import MOST_MISSING
from pdpmean.laws.reading import Counted, Reading
from pdpmean.planning.released import Location, PrivateTotalSums, PublicTotalSums, Released
from pdpmean.results.assumed_tails import AssumedTails

__all__ = ["AnyShapeInference"]

_MANY = 0.5  # of the values may be missing without a warning
_ROUNDED = 2.0**-20  # what may be lost of the width of a clip by rounding
_TOO_FEW_LEFT = (
    "more than half of the values seem to be missing or not numbers, and the rest reveal too little; convert text to "
    "numbers, or use equals='yes' for the share of an entry such as yes"
)
_CONTRADICTIONS = {
    "nothing": "only one value can be seen: all values are equal, or those that differ are too few to be seen",
    "unseen": "much of the weight cannot be seen: the values are spread too widely for this budget",
    "too far": "many values are infinite, or larger than about 1e16 times the median (or than 1e16, if that is near 0)",
    "far": "many values lie far beyond the range that the histogram showed",
    "total": "the released weights do not add up to the expected total",
    "sums": "the released sums are inconsistent",
}


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
        return max(sums.weight + max(sums.missing, 0.0), 1.0)

    @property
    def reading(self) -> Reading:
        """What the histogram said."""
        assert self.released.location.reading is not None
        return self.released.location.reading

    @property
    def counted(self) -> Counted:
        """What is known of the weights in the sums: more than when they were planned, once they are released."""
        planned, people = self.plan.behind_sums, self.present * self.weight**2 / self.square
        if self.plan.model.budgets_are_public:
            return planned._replace(nats=self.released_weight, people=max(people, 1.0))
        return planned._replace(people=max(people, 1.0))

    @property
    def present(self) -> float:
        """About the part of the weight whose value is not missing."""
        assert isinstance(self.released.averaged, PublicTotalSums | PrivateTotalSums)
        return 1 - min(max(self.released.averaged.missing / self.released_weight, 0.0), MOST_MISSING)

    def missing(self, planned: float) -> MissingShare:
        """The part of the weight that is missing, which is about so much of the planned one."""
        sums = self.released.averaged
        assert isinstance(sums, PublicTotalSums | PrivateTotalSums)
        about = planned
        if isinstance(sums, PrivateTotalSums):
            nats = planned * self.plan.behind_sums.nats
            about = nats / (nats + max(sums.weight, 1.0))
        return MissingShare.of(about, sums.missing, self.released_weight)

    @property
    def sums(self) -> PublicTotal | PrivateTotal:
        """What the sums are, as a law takes them."""
        sums = self.released.averaged
        if isinstance(sums, PublicTotalSums):
            below, above = np.array(sums.below), np.array(sums.above)
            return PublicTotal(sums.values, sums.spread, sums.missing, below, above, *sums.behind_far)
        assert isinstance(sums, PrivateTotalSums)
        below, above = np.array(sums.below), np.array(sums.above)
        return PrivateTotal(sums.low, sums.middle, sums.high, sums.missing, below, above, *sums.behind_far)


class AnyShapeInference(ShapeInference):
    """The mean is that within the clip, what lies far beyond, and what a tail that falls as others do may add."""

    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The population behind each group; where the clip is two known bounds, as between these."""
        kinds = [None if _is_between_bounds(group) else group.plan.bounds for group in released]
        found = {
            ends: iter(_populations([group for group, kind in zip(released, kinds, strict=True) if kind == ends], ends))
            for ends in set(kinds)
        }
        return [next(found[kind]) for kind in kinds]

    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:  # noqa: ARG002
        """Whether most values seem to be missing, where there is an answer."""
        many = not population.contradictions and population.missing_share > _MANY
        return (MANY_MISSING,) if many else ()

    def contradictions(self, released: Released, population: Population, part: float) -> tuple[str, ...]:  # noqa: ARG002
        """What does not fit together in the histogram and in the sums; of next to no values, that there are none."""
        mostly_missing = population.missing_share > _MANY
        return (_TOO_FEW_LEFT,) if population.contradictions and mostly_missing else population.contradictions


def _is_between_bounds(released: Released) -> bool:
    """Whether nothing was cut: two bounds are known, and the clip is as wide."""
    bounds, half = released.plan.bounds, released.location.half
    return bounds.are_both_known and half >= bounds.half * (1 - _ROUNDED)


def _populations(released: Sequence[Released], ends: Bounds | None) -> list[Population]:
    """Of groups that all have these ends; or the clip of each is its two bounds."""
    if ends is None:
        return KnownBoundsInference().populations(released)
    groups = [_Clipped(group) for group in released]
    means = conclude_means(
        [group.reading for group in groups],
        [_ends(group.released.location) for group in groups],
        [group.sums for group in groups],
        [group.counted for group in groups],
        ends,
    )
    return [_population(group, mean) for group, mean in zip(groups, means, strict=True)]


def _ends(location: Location) -> tuple[float, float]:
    return finite(location.middle - location.half), finite(location.middle + location.half)


def _population(group: _Clipped, mean: FarMean) -> Population:
    return Population(
        mean=mean.mean,
        scale=mean.scale,
        law=mean.law,
        missing=group.missing(mean.missing),
        assumed=AssumedTails(mean.smallest_visible),
        contradictions=tuple(_CONTRADICTIONS[code] for code in mean.contradictions),
    )
