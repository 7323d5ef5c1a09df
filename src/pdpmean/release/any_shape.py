"""What is released of a population of any shape: how far it reaches, and the sums of values and of squares."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

from pdpmean.core.integers import STEPS
from pdpmean.core.types import Counts, Floats
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Average, Location
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.release.clip import Clip
from pdpmean.release.extent import find_extent
from pdpmean.release.shape import ExactSums, KeptGroups

__all__ = ["AnyShapeRelease", "SquareClip"]


@dataclass(frozen=True)
class SquareClip(Clip):
    """Beside the values are summed the weights and the squares; a missing value counts as one so many steps off."""

    missing: int = 0

    squares = True
    slack = Fraction(1, 2)  # 1 - z**2 is at most twice 1 - |z|

    @property
    def missing_step(self) -> float:
        """They count as the centre."""
        return float(self.missing)


class AnyShapeRelease:
    """How far the population reaches is found on either side of the centre; the clip is wider."""

    def public_location(self, plan: Plan) -> None:
        """None: it must be located."""

    def extents(self, kept: KeptGroups, randomness: Randomness) -> list[Location]:
        """The location of each group, whose values come one after the other and sorted."""
        ends = itertools.pairwise([0, *kept.sizes.cumsum().tolist()])
        return [
            _with_extent(kept.values[start:end], kept.weights[start:end], center, plan.center_cell(center), randomness)
            for (start, end), center, plan in zip(ends, kept.centers, kept.plans, strict=True)
        ]

    def clip(self, plan: Plan, location: Location) -> SquareClip:
        """Where the population was located; there, at its centre, missing values count."""
        missing = round(STEPS * min(max(-location.offset / location.half, -1.0), 1.0))
        return SquareClip(plan.model, plan.shares["sum"], plan.largest_weight, location.middle, location.half, missing)

    def release(self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness) -> Average:
        """From the sums of W z, of W and of W z**2.

        The total weight is public in the bounded model; in the unbounded one it gets noise together with the first, at
        their shares together. The last costs nothing more: who adds to it adds less to the first.
        """
        number, weight = sums.values, sums.counted
        others = weight * STEPS - sums.extra  # of W (1 - z**2)
        part = plan.shares.get("weights", Fraction(0)) / plan.shares["sum"]
        if part:
            scales = laplace_scale(clip.unit, 1), laplace_scale(clip.unit, part)
            number, weight = randomness.add_joint_laplace((number, weight), STEPS, scales)
            weight = max(weight, clip.unit)
        else:
            number = randomness.add_laplace(number, laplace_scale(clip.nat, 1))
            weight = max(weight, 1)  # public budgets may be too small for a unit
        others = randomness.add_laplace(others, laplace_scale(clip.nat, clip.slack))
        total = weight * STEPS
        return Average(
            mean=number / total,
            total=weight / clip.unit,
            doubt=clip.unit / (weight * float(clip.slack)),
            square=1 - others / total,
        )


def _with_extent(values: Floats, weights: Counts, center: float, cell: float, randomness: Randomness) -> Location:
    below, above = find_extent(values, center, weights, cell, randomness)
    half = below / 2 + above / 2
    return Location(
        center,
        spread=half,
        half=half,
        degenerate=half <= max(16 * cell, 2.0**-1000),
        offset=above / 2 - below / 2,
    )
