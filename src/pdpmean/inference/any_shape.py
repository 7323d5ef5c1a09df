"""Inference for a population of any shape: the mean within the clip, and what may lie beyond it.

The histogram of `locate` and the sums of the clipped values are read together. Tails that neither shows are assumed to
be ordinary (`AssumedTails`), since no interval is valid for every population. Where the clip coincides with two known
bounds, nothing can lie beyond it, and the inference is that of `known_bounds.py`. The mathematics is in
`laws/far_mean.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.core.bounds import Bounds
from pdpmean.core.numbers import finite
from pdpmean.inference.known_bounds import MANY_MISSING, TOO_FEW_LEFT, KnownBoundsInference, is_none_left
from pdpmean.inference.missing import MissingShare
from pdpmean.inference.population import Contradiction, Evidence, Population, ShapeInference
from pdpmean.laws.far_mean import FarMean, PrivateTotal, PublicTotal, conclude_means
from pdpmean.laws.missing_weight import MOST_MISSING
from pdpmean.laws.reading import Counted, Reading
from pdpmean.planning.released import Location, PrivateTotalSums, PublicTotalSums, Released
from pdpmean.results.assumed_tails import AssumedTails

__all__ = ["AnyShapeInference"]

_ROUNDED = 2.0**-20  # how much narrower than its bounds, relatively, rounding may make a clip
_BOTH_BOUNDS = "pass both bounds if they are publicly known, bounds=(low, high), or ask for more budget or more people"
_CODES_OR_BOUNDS = (
    "convert codes such as 999999999 and infinite values to missing entries, or pass publicly known bounds that are "
    "close to the other values, bounds=(low, high)"
)
_RUN_AGAIN = "check that nothing changes the data during a run, and run it again: chance hardly ever explains this"

# Where the histogram found no population, that alone is said: the sums are then taken around the wrong place.
_NOT_FOUND = {
    "nothing": Contradiction(
        "only one value can be seen: all values are equal, or those that differ are too few to be seen", _BOTH_BOUNDS
    ),
    "unseen": Contradiction(
        "much of the weight cannot be seen: the values are spread too widely for this budget", _BOTH_BOUNDS
    ),
    "too far": Contradiction(
        "many values are infinite, or larger than about 1e16 times the median (or than 1e16, if that is near 0)",
        "convert infinite values and codes such as 999999999 to missing entries; otherwise, use a larger unit, or pass "
        "both bounds, bounds=(low, high)",
    ),
    "missed": Contradiction(
        "the centre that was drawn lies far from the values, by chance or because they differ only in late digits",
        "run it again; if that fails too, subtract a public number that is close to all values from each of them",
    ),
}
_INCONSISTENT = {
    "far": Contradiction("many values lie far beyond the range that the histogram showed", _CODES_OR_BOUNDS),
    "beyond": Contradiction(
        "some values lie about ten thousand times as far out as the others, or farther: too far to be averaged with "
        "them",
        _CODES_OR_BOUNDS,
    ),
    "total": Contradiction("the released weights do not add up to the expected total", _RUN_AGAIN),
    "sums": Contradiction("the released sums are inconsistent", _RUN_AGAIN),
}
_COARSE = Contradiction(
    "the values differ only from about the eighth digit on",
    "subtract a public number that is close to all values from each of them",
)


@dataclass(frozen=True)
class _Clipped(Evidence):
    """The released numbers of a population of any shape, in the form that the laws take."""

    @property
    def released_weight(self) -> float:
        """The total weight in nats: public, or the sum of the noisy sums; at least 1."""
        sums = self.released.averaged
        if isinstance(sums, PublicTotalSums):
            return sums.total_weight
        assert isinstance(sums, PrivateTotalSums)
        return max(sums.weight_inside + max(sums.missing, 0.0), 1.0)

    @property
    def reading(self) -> Reading:
        """What the released histogram says about the population."""
        assert self.released.location.reading is not None
        return self.released.location.reading

    @property
    def counted(self) -> Counted:
        """What is known about the weights in the sums: as planned, updated by what was released."""
        planned = self.plan.behind_sums
        people = self.present * self.weight**2 / self.square
        if self.plan.model.budgets_are_public:
            return planned._replace(nats=self.released_weight, people=max(people, 1.0))
        return planned._replace(people=max(people, 1.0))

    @property
    def present(self) -> float:
        """The approximate part of the weight whose value is not missing."""
        assert isinstance(self.released.averaged, PublicTotalSums | PrivateTotalSums)
        return 1 - min(max(self.released.averaged.missing / self.released_weight, 0.0), MOST_MISSING)

    def missing(self, planned: float) -> MissingShare:
        """The part of the weight that is missing; `planned` is its posterior mean, relative to the planned weight."""
        sums = self.released.averaged
        assert isinstance(sums, PublicTotalSums | PrivateTotalSums)
        about = planned
        if isinstance(sums, PrivateTotalSums):
            nats = planned * self.plan.behind_sums.nats
            about = nats / (nats + max(sums.weight_inside, 1.0))
        return MissingShare.of(about, sums.missing, self.released_weight)

    @property
    def sums(self) -> PublicTotal | PrivateTotal:
        """The released sums, in the form that `laws/far_mean.py` takes."""
        sums = self.released.averaged
        if isinstance(sums, PublicTotalSums):
            below, above = np.array(sums.below), np.array(sums.above)
            return PublicTotal(sums.values, sums.weight_less_squares, sums.missing, below, above, *sums.behind_far)
        assert isinstance(sums, PrivateTotalSums)
        below, above = np.array(sums.below), np.array(sums.above)
        return PrivateTotal(sums.low, sums.middle, sums.high, sums.missing, below, above, *sums.behind_far)


class AnyShapeInference(ShapeInference):
    """The mean within the clip, plus far values that were seen, plus what ordinary tails that were not seen may add."""

    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The population behind each set of released numbers."""
        # Groups with the same bounds are solved together; None stands for a clip that is as wide as its two bounds.
        kinds = [None if _is_between_bounds(group) else group.plan.bounds for group in released]
        populations = {
            bounds: iter(
                _populations([group for group, kind in zip(released, kinds, strict=True) if kind == bounds], bounds)
            )
            for bounds in set(kinds)
        }
        return [next(populations[kind]) for kind in kinds]

    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:  # noqa: ARG002
        """A warning if most values seem to be missing."""
        return (MANY_MISSING,) if population.is_mostly_missing else ()

    def contradictions(self, released: Released, population: Population, part: float) -> tuple[Contradiction, ...]:  # noqa: ARG002
        """Where histogram and sums do not fit together; if most values are missing, that alone is said."""
        if _is_between_bounds(released) and is_none_left(released, population):
            return (TOO_FEW_LEFT,)
        if population.contradictions:
            return (TOO_FEW_LEFT,) if population.is_mostly_missing else population.contradictions
        return (_COARSE,) if _is_coarse(released) else ()


def _is_coarse(released: Released) -> bool:
    """Whether the located values are closer together than the centres that `locate` can tell apart."""
    location = released.location
    return "center" in released.plan.shares and location.half < released.plan.center_cell(location.center)


def _is_between_bounds(released: Released) -> bool:
    """Whether clipping cut nothing off: two bounds are known, and the clip is as wide as they are."""
    bounds, half = released.plan.bounds, released.location.half
    return bounds.are_both_known and half >= bounds.half * (1 - _ROUNDED)


def _populations(released: Sequence[Released], bounds: Bounds | None) -> list[Population]:
    """The populations of groups with these bounds or, if None, of groups whose clip is as wide as their two bounds."""
    if bounds is None:
        return KnownBoundsInference().populations(released)
    groups = [_Clipped(group) for group in released]
    means = conclude_means(
        [group.reading for group in groups],
        [_clipping_bounds(group.released.location) for group in groups],
        [group.sums for group in groups],
        [group.counted for group in groups],
        bounds,
    )
    return [_population(group, mean) for group, mean in zip(groups, means, strict=True)]


def _clipping_bounds(location: Location) -> tuple[float, float]:
    """The lower and upper end of the clip."""
    return finite(location.middle - location.half), finite(location.middle + location.half)


def _population(group: _Clipped, mean: FarMean) -> Population:
    return Population(
        mean=mean.mean,
        scale=mean.scale,
        law=mean.law,
        missing=group.missing(mean.missing),
        assumed=AssumedTails(mean.smallest_visible),
        contradictions=_in_words(mean.contradictions),
    )


def _in_words(codes: Sequence[str]) -> tuple[Contradiction, ...]:
    """What the codes of contradictions mean."""
    not_found = tuple(_NOT_FOUND[code] for code in codes if code in _NOT_FOUND)
    return not_found or tuple(_INCONSISTENT[code] for code in codes)
