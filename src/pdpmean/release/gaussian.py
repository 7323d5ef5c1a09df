"""What is released of a bell-shaped population: its spread, and the sums of values and of tents."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pdpmean.core.integers import STEPS
from pdpmean.core.types import Floats
from pdpmean.laws.clipped_normal import MEDIAN_SIZE
from pdpmean.laws.lattice import Lattice
from pdpmean.planning.plan import Plan
from pdpmean.planning.prediction import NARROWEST, NEAR, TENT_PART
from pdpmean.planning.released import Average, Location
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.release import private_median
from pdpmean.release.clip import Clip
from pdpmean.release.shape import ExactSums, KeptGroups

__all__ = ["SPREAD_GRAIN", "GaussianRelease", "TentClip"]

SPREAD_GRAIN = 2**40  # doubles in a cell: 2**-12 of the spread


@dataclass(frozen=True)
class TentClip(Clip):
    """Beside the values are summed the tents, which are what |z| leaves of 1, and the weight of the values `near`.

    Near is within so many steps of the middle. A missing value weighs nothing.
    """

    near: int

    squares = False
    slack = TENT_PART

    @property
    def near_steps(self) -> float:
        """As planned."""
        return float(self.near)

    @property
    def near_slack(self) -> Fraction:
        """What adding 1 to the weight that is near may cost: who does has a tent at least so high."""
        return (1 - TENT_PART) * Fraction(STEPS - self.near, STEPS)


class GaussianRelease:
    """The spread is the private median of the distances to the centre; the clip is as wide as planned."""

    def public_location(self, plan: Plan) -> None:
        """None: it must be located."""

    def located_values(self, plan: Plan, values: Floats) -> Floats:  # noqa: ARG002
        """All as they are."""
        return values

    def center_lattice(self, plan: Plan) -> Lattice:
        """As planned."""
        return plan.center_lattice

    def extents(self, kept: KeptGroups, randomness: Randomness) -> list[Location]:
        """The location of each group, whose values come one after the other and sorted."""
        distances = _distances(kept.values, np.repeat(kept.centers, kept.sizes))
        lattice = kept.plans[0].spread_lattice  # all seek in the same places
        spreads = private_median.private_medians(
            distances, kept.weights, lattice, randomness, grain=SPREAD_GRAIN, sizes=kept.sizes
        )
        return [_with_spread(*found) for found in zip(kept.centers, spreads, kept.plans, strict=True)]

    def clip(self, plan: Plan, location: Location) -> TentClip:
        """As planned, where the population was located."""
        width = plan.clip_width
        near = math.floor(STEPS * (NEAR * MEDIAN_SIZE) / width) if width > NARROWEST else 0
        return TentClip(plan.model, plan.shares["sum"], plan.largest_weight, location.middle, location.half, near)

    def release(self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness) -> Average:  # noqa: ARG002
        """From the sums of W z, of the W that are near, and of the tents.

        Only the first is paid for: who adds to the others adds less to it.
        """
        assert isinstance(clip, TentClip)
        number = randomness.add_laplace(sums.values, laplace_scale(clip.nat, 1))
        tents = max(randomness.add_laplace(sums.extra, laplace_scale(clip.nat, clip.slack)), clip.nat)
        near = randomness.add_laplace(sums.counted, laplace_scale(clip.unit, clip.near_slack))
        return Average(
            mean=number / tents,
            total=tents / clip.nat,
            doubt=clip.nat / float(tents * clip.near_slack),
            near=near * STEPS / tents,
        )


def _distances(values: Floats, centers: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.abs(values - centers)


def _with_spread(center: float, spread: float, plan: Plan) -> Location:
    most = sys.float_info.max / 8 / max(plan.clip_width, 1.0)
    limited = min(max(spread, 2.0**-1000), most)
    return Location(
        center,
        limited,
        half=plan.clip_width * limited / MEDIAN_SIZE,
        degenerate=spread <= max(4 * plan.center_cell(center), 2.0**-1000),
    )
