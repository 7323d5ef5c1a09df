"""What is released of a population of any shape: a histogram of distances, and sums within the clip it suggests."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pdpmean.core.bounds import UNKNOWN, Bounds
from pdpmean.core.rules import FAR_FROM
from pdpmean.core.types import Floats
from pdpmean.laws.clip_ends import choose_clips
from pdpmean.laws.lattice import Lattice, everywhere
from pdpmean.laws.reading import Reading, read_histograms
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, PrivateTotalSums, PublicTotalSums
from pdpmean.randomness import Randomness
from pdpmean.release.clip import Clip
from pdpmean.release.histogram import noisy_histograms
from pdpmean.release.shape import ExactSums, KeptGroups
from pdpmean.release.squares import SquareClip, noisy_sums

__all__ = ["AnyShapeRelease", "FarClip"]

_NEXT_TO = 2.0**-10
# What tails are multiplied by where levels may differ; by simulation, with an optimum that is flat.
_LARGEST_FACTOR, _LITTLE_TO_SEE, _FACTOR_POWER = 2.0, 250.0, 0.4


@dataclass(frozen=True)
class FarClip(SquareClip):
    """Values far beyond the clip are counted apart, on sides where it does not end at a known bound.

    Values beyond a bound count as the bound where the clip ends there; where it ends before, they are merely far.
    """

    bounds: Bounds = UNKNOWN

    @property
    def far(self) -> bool:
        """Yes."""
        return True

    @property
    def far_steps(self) -> tuple[float, float]:
        """From somewhat beyond the clip on, where it does not end at a bound."""
        low, high = self.bounds
        least = _NEXT_TO * self.half  # an end at a bound is off by what is rounded
        return (
            FAR_FROM if self.middle - self.half > low + least else math.inf,
            FAR_FROM if self.middle + self.half < high - least else math.inf,
        )


class AnyShapeRelease:
    """The distances from the centre, or from a known bound, make a histogram; what it says decides the clip."""

    def public_location(self, plan: Plan) -> None:
        """None: it must be located."""

    def located_values(self, plan: Plan, values: Floats) -> Floats:
        """Values beyond a bound count as the bound."""
        return np.clip(values, *plan.bounds)

    def center_lattice(self, plan: Plan) -> Lattice:
        """All doubles within the bounds, round numbers first: many values may be equal, to 0 for instance."""
        return everywhere().within(*plan.bounds).with_round_numbers()

    def extents(self, kept: KeptGroups, randomness: Randomness) -> list[Location]:
        """The location of each group, whose values come one after the other."""
        plan = kept.plans[0]  # all have the same bounds
        histograms = noisy_histograms(kept.values, kept.weights, kept.sizes, kept.centers, randomness)
        readings = read_histograms(histograms, [each.behind_histogram for each in kept.plans], plan.bounds)
        summed = [each.behind_sums for each in kept.plans]
        clips = choose_clips(readings, summed, plan.bounds, list(map(_tail_factor, kept.plans)))
        return [
            _location(center, reading, plan.bounds if _has_to_be_wide(reading, plan) else clip)
            for center, reading, clip in zip(kept.centers, readings, clips, strict=True)
        ]

    def clip(self, plan: Plan, location: Location) -> FarClip:
        """Where the histogram says that the population lies."""
        where = location.middle, location.half
        return FarClip(plan.model, plan.shares["sum"], plan.largest_weight, *where, plan.bounds)

    def release(
        self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness
    ) -> PublicTotalSums | PrivateTotalSums:
        """The sums that the model asks for."""
        return noisy_sums(plan, clip, sums, randomness)


def _tail_factor(plan: Plan) -> float:
    """As many times as much as was read may lie in the tails, where levels may differ.

    The histogram shows people by their budgets, and those who grant little may have the longer tails. Where there is
    little to see, a wider clip costs more than it saves.
    """
    if plan.levels is None:
        return 1.0
    factor: float = (plan.behind_sums.nats / _LITTLE_TO_SEE) ** _FACTOR_POWER
    return min(max(factor, 1.0), _LARGEST_FACTOR)


def _has_to_be_wide(reading: Reading, plan: Plan) -> bool:
    """Whether nothing was found that would make the clip narrower than two known bounds."""
    return plan.bounds.are_both_known and reading.finding != "found"


def _location(center: float, reading: Reading, clip: tuple[float, float]) -> Location:
    low, high = clip
    half = high / 2 - low / 2
    return Location(center, spread=half, half=half, offset=low / 2 + high / 2 - center, reading=reading)
