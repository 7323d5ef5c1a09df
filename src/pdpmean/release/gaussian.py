"""The release of a bell-shaped population: its spread, then the sums of clipped values and of tents.

The mean and the standard deviation of a clipped normal follow from these sums. The sum of the values alone is paid for:
whatever a record adds to the sum of the tents ``1 - |z|``, it does not add to the sum of the values
(docs/guarantee.md, "Average").
"""

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
from pdpmean.planning.released import BellSums, Location
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.release import private_median
from pdpmean.release.clip import Clip
from pdpmean.release.shape import ExactSums, KeptGroups

__all__ = ["SPREAD_GRAIN", "GaussianRelease", "TentClip"]

# Neighbouring doubles that count as one candidate for the spread: 2**-12 of it, finer than it needs to be known.
SPREAD_GRAIN = 2**40
# The smallest spread, far from underflow.
_SMALLEST_SPREAD = 2.0**-1000


@dataclass(frozen=True)
class TentClip(Clip):
    """A clip whose extra sum is that of the tents ``1 - |z|``; the weight of the values near the middle is summed too.

    A missing value adds nothing to any sum.
    """

    near: int
    """A value is near the middle if it is fewer steps away than this."""

    squares = False
    slack = TENT_PART

    @property
    def near_steps(self) -> float:
        """See `SumRule.near`."""
        return float(self.near)

    @property
    def near_slack(self) -> Fraction:
        """Nats that adding one nat to the near weight may cost.

        No more than a near record saves in the sum of the values and does not spend on its tent.
        """
        return (1 - TENT_PART) * Fraction(STEPS - self.near, STEPS)


class GaussianRelease:
    """Release of a bell-shaped population: its spread is the private median of the distances from the centre.

    The plan says how wide the clip is, in standard deviations.
    """

    def public_location(self, plan: Plan) -> None:
        """None: the population must be located."""

    def located_values(self, plan: Plan, values: Floats) -> Floats:  # noqa: ARG002
        """The values as they are."""
        return values

    def center_lattice(self, plan: Plan) -> Lattice:
        """The lattice of the plan."""
        return plan.center_lattice

    def extents(self, kept: KeptGroups, randomness: Randomness) -> list[Location]:
        """The location of each group: its centre, and a private median of the distances from it."""
        distances = _distances(kept.values, np.repeat(kept.centers, kept.sizes))
        lattice = kept.plans[0].spread_lattice  # the same in all plans
        spreads = private_median.private_medians(
            distances, kept.weights, lattice, randomness, grain=SPREAD_GRAIN, sizes=kept.sizes
        )
        return [
            _location(center, spread, plan)
            for center, spread, plan in zip(kept.centers, spreads, kept.plans, strict=True)
        ]

    def clip(self, plan: Plan, location: Location) -> TentClip:
        """A clip of the planned width around the released centre; a very narrow one has no near values."""
        width = plan.clip_half_width
        near = math.floor(STEPS * (NEAR * MEDIAN_SIZE) / width) if width > NARROWEST else 0
        return TentClip(plan.model, plan.shares["sum"], plan.largest_weight, location.middle, location.half, near)

    def release(self, plan: Plan, clip: Clip, sums: ExactSums, randomness: Randomness) -> BellSums:  # noqa: ARG002
        """The mean of z from the noisy sums of values, tents and near weight.

        Only the sum of the values is paid for: a record that adds to the other two adds less to this one.
        """
        assert isinstance(clip, TentClip)
        values = randomness.add_laplace(sums.values, laplace_scale(clip.nat, 1))
        # At least one nat, so that the quotients below are finite.
        tents = max(randomness.add_laplace(sums.extra, laplace_scale(clip.nat, clip.slack)), clip.nat)
        near = randomness.add_laplace(sums.counted, laplace_scale(clip.unit, clip.near_slack))
        return BellSums(
            mean=values / tents,
            tents=tents / clip.nat,
            near_noise_scale=clip.nat / float(tents * clip.near_slack),
            near=near * STEPS / tents,
        )


def _distances(values: Floats, centers: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.abs(values - centers)


def _location(center: float, spread: float, plan: Plan) -> Location:
    """The location with this spread, limited so that the ends of the clip are ordinary doubles.

    It is degenerate if the spread is hardly more than the distance below which centres are not told apart.
    """
    largest_spread = sys.float_info.max / 8 / max(plan.clip_half_width, 1.0)
    limited = min(max(spread, _SMALLEST_SPREAD), largest_spread)
    return Location(
        center,
        half=plan.clip_half_width * limited / MEDIAN_SIZE,
        median_distance=limited,
        degenerate=spread <= max(4 * plan.center_cell(center), _SMALLEST_SPREAD),
    )
