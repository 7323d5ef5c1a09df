"""The release of a population of any shape: a histogram of distances, then sums within the clip that it suggests.

The clip follows from the released histogram alone, so choosing it costs nothing. Values far beyond it are not clipped
but summed separately, in cells by their distance, so that a heavy tail the histogram did not show is noticed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdpmean.core.bounds import UNKNOWN, Bounds
from pdpmean.core.integers import STEPS, steps_per_unit
from pdpmean.core.types import Floats
from pdpmean.laws.clip_ends import choose_clips, should_span_bounds
from pdpmean.laws.lattice import Lattice, everywhere
from pdpmean.laws.reading import Counted, Reading, read_histograms
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, PrivateTotalSums, PublicTotalSums
from pdpmean.randomness import Randomness
from pdpmean.release.clip import Clip
from pdpmean.release.histogram import noisy_histograms
from pdpmean.release.shape import ExactSums, KeptGroups
from pdpmean.release.squares import SquareClip, noisy_sums

__all__ = ["AnyShapeRelease", "FarClip"]


@dataclass(frozen=True)
class FarClip(SquareClip):
    """A clip that counts far values separately; values beyond a known bound count as the bound, which may be far."""

    bounds: Bounds = UNKNOWN

    @property
    def far(self) -> bool:
        """True: far values are counted separately."""
        return True

    @property
    def limits(self) -> tuple[float, float]:
        """The known bounds in steps, at the ends of the clip or beyond: values beyond a bound count as the bound."""
        lift, per_unit = steps_per_unit(self.half)
        lowest, highest = ((bound - self.middle) * lift * per_unit for bound in self.bounds)
        return min(lowest, -STEPS), max(highest, STEPS)


class AnyShapeRelease:
    """Release without assumptions on the shape: a histogram of the distances from the centre decides the clip.

    Distances are measured from a known bound instead, if the plan has no share for a centre.
    """

    def public_location(self, plan: Plan) -> None:
        """None: the population must be located."""

    def located_values(self, plan: Plan, values: Floats) -> Floats:
        """The values as they count: those beyond a known bound are moved to it."""
        return np.clip(values, *plan.bounds)

    def center_lattice(self, plan: Plan) -> Lattice:
        """All doubles within the bounds; round numbers are preferred, because many values may equal one, such as 0."""
        return everywhere().within(*plan.bounds).with_round_numbers()

    def extents(self, kept: KeptGroups, randomness: Randomness) -> list[Location]:
        """The location of each group: its centre, and the clip that its noisy histogram suggests."""
        bounds = kept.plans[0].bounds  # the same in all plans
        histograms = noisy_histograms(kept.values, kept.weights, kept.sizes, kept.centers, randomness, bounds)
        readings = read_histograms(histograms, [plan.behind_histogram for plan in kept.plans], bounds)
        summed = list(map(_relative_to_noise, kept.plans))
        clips = choose_clips(readings, summed, bounds)
        groups = zip(kept.centers, kept.plans, readings, summed, clips, strict=True)
        return [
            _location(center, reading, bounds if _spans_bounds(plan, reading, counted, clip) else clip)
            for center, plan, reading, counted, clip in groups
        ]

    def clip(self, plan: Plan, location: Location) -> FarClip:
        """The clip that the histogram suggested."""
        where = location.middle, location.half
        return FarClip(plan.model, plan.shares["sum"], plan.largest_weight, *where, plan.bounds)

    def release(
        self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness
    ) -> PublicTotalSums | PrivateTotalSums:
        """The noisy sums of values, squares, missing weight and far cells."""
        return noisy_sums(plan, clip, sums, randomness)


def _relative_to_noise(plan: Plan) -> Counted:
    """The weights behind the sums, relative to the noise scale of the mean of one nat."""
    counted = plan.behind_sums
    return counted._replace(nats=counted.nats / plan.census.noise_of_sums)


def _spans_bounds(plan: Plan, reading: Reading, summed: Counted, clip: tuple[float, float]) -> bool:
    """Whether to clip at two known bounds, as a narrower clip would not be justified, or hardly be better.

    For the mean of these people themselves, where sampling is no error, noise is all that counts.
    """
    if not plan.bounds.are_both_known:
        return False
    if reading.finding != "found":
        return True
    return not plan.whose.are_these_people and should_span_bounds(reading, summed, clip, plan.bounds)


def _location(center: float, reading: Reading, clip: tuple[float, float]) -> Location:
    """A location with these clipping bounds; halves are taken first, since the width may overflow."""
    low, high = clip
    half = high / 2 - low / 2
    return Location(center, half, offset=low / 2 + high / 2 - center, reading=reading)
