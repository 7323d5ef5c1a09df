"""Plans for a population of any shape: fixed shares, and how far a clip reaches beyond what was found."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import ndtri

from pdpmean.core.options import Options
from pdpmean.laws.joint_noise import JointNoise
from pdpmean.planning.forecast import ClipEffect, LocatingForecaster
from pdpmean.planning.plan import Plan
from pdpmean.planning.planner import Planner
from pdpmean.planning.prediction import Sums

__all__ = ["REACH_FACTOR", "TAIL_NATS", "AnyShapePlanner", "tail_beyond"]

TAIL_NATS = 16  # of weight that may lie beyond a reach
# The clip is so much wider than that reach, since beyond it, with hardly any weight, lies what moves the mean most.
REACH_FACTOR = 3.0

_CENTER_NATS, _EXTENT_PART, _WEIGHTS_PART = 130.0, 0.15, 0.5
_LEAST_EXTENT_NATS = 300.0
_CAP_CONSTANT = 200.0


@dataclass(frozen=True)
class AnyShapePlanner(LocatingForecaster, Planner):
    """Fixed shares: the extent is found in the data, so that there is little to choose beforehand."""

    shape = "any"
    # The outermost values count here, so that a sample must hold some of them.
    fewest_sampled = 16_000
    sampled_per_root = 20.0
    sampled_in_groups = 2_000_000
    scale_may_miss = False
    bounds_help = False
    too_little = "too little to find how far a population of any shape extends"

    @staticmethod
    def check(options: Options) -> None:
        """Raise if something is chosen that this shape has not."""
        options.choices.check_without_locating()

    def clip_effect(self, width: float, noise: JointNoise) -> ClipEffect:  # noqa: ARG002
        """Next to none: the clip is wide."""
        return ClipEffect(variance=1.0, slope=1.0, cap_constant=_CAP_CONSTANT)

    def locating_error(self, center: Sums, scale: Sums, mean: Sums, width: float) -> float:  # noqa: ARG002
        """None: nothing is undone afterwards."""
        return 0.0

    def best(self, near: Plan | None = None) -> Plan:  # noqa: ARG002
        """The plan with the usual shares, and a clip of half the extent that a bell-shaped population would have."""
        center = min(0.25 * self.left, _CENTER_NATS / self.useful_total)
        shares = {"center": center, "scale": _EXTENT_PART * self.left}
        beyond = min(20 / (shares["scale"] * self.useful_total), 0.3)  # of a side; where so much lies, in half octaves
        room = self.left - sum(shares.values())
        weights = {"weights": room * _WEIGHTS_PART} if self.census.is_noisy else {}
        width = REACH_FACTOR * 2**0.25 * float(ndtri(1 - beyond))
        return self.plan({**self.census_shares(room), **weights, **shares}, width, spare=False)

    def is_wide_enough(self, plan: Plan) -> bool:
        """Whether there is budget enough to find how far the population reaches."""
        return plan.scale.weight >= _LEAST_EXTENT_NATS


def tail_beyond(end: float, weight: float) -> float:
    """What the mean lacks, clipped so far from the centre, if the tail falls as the third power of the distance.

    Of the given weight in nats, some 16 lie beyond a third of the way; a part p there means ``p end / (2 * 3**3)``.
    """
    return TAIL_NATS / weight * (end / (2 * REACH_FACTOR**3))
