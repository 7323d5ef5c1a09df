"""Plans for values between known bounds: nothing is located, so that all the budget goes to the sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pdpmean.core.bounds import check_fine_enough
from pdpmean.core.options import Options
from pdpmean.planning.any_shape import AnyShapePlanner
from pdpmean.planning.forecast import NOBODY, OUT_OF_REACH, Forecast
from pdpmean.planning.plan import Plan
from pdpmean.planning.planner import Planner

__all__ = ["LEAST_NATS", "KnownBoundsPlanner"]

LEAST_NATS = 8.0  # of weight in the sums: with less, the interval holds about everything between the bounds
# The squared noise over the largest variance that one person of weight 1 can add, both in the unit of half the width:
# Laplace noise of scale 1 has 2, and so have the sums of either half, which private totals need; twice that, since the
# variance is seldom the largest there can be.
_CAP_CONSTANT, _CAP_CONSTANT_UNBOUNDED = 4.0, 8.0


# What locating may cost, relative to the error, of values that are spread evenly between the bounds; and the variance
# of these, in the unit of half the width.
_NEXT_TO_NOTHING, _EVEN_VARIANCE = 1.02, 1 / 3


@dataclass(frozen=True)
class KnownBoundsPlanner(Planner):
    """No search: the clip is the bounds, and the sums get what the census leaves."""

    shape = "bounds"
    needs_locating = False
    too_little = "too little for a mean that tells more than the bounds do"

    @staticmethod
    def check(options: Options) -> None:
        """Raise if something is chosen that this shape has not, or if doubles are too coarse for the bounds."""
        options.choices.check_without_locating()
        check_fine_enough(options.bounds)

    def best(self, near: Plan | None = None) -> Plan:  # noqa: ARG002
        """The only plan there is."""
        return self.plan(self.census_shares(self.left), self.bounds.half, spare=False)

    def or_better(self) -> Planner:
        """That of any shape, where locating costs next to nothing even if the values fill the bounds.

        Where they do not, which nobody knows beforehand, a narrower clip makes for less noise.
        """
        locating = AnyShapePlanner(**vars(self))
        plan = locating.best()
        if not locating.accepts(plan):
            return self
        error, with_locating = (_evenly_spread(each) for each in (self.best(), plan))
        return locating if with_locating <= _NEXT_TO_NOTHING * error else self

    def forecast(self, shares: Mapping[str, float], width: float, *, spare: bool) -> Forecast:  # noqa: ARG002
        """The noise of the sums, and the largest sampling error there can be between bounds so far from the middle."""
        private = self.census.is_noisy
        weight_cap, mean = self.averaging(shares["sum"], _CAP_CONSTANT_UNBOUNDED if private else _CAP_CONSTANT)
        return Forecast(
            shape=self.shape,
            bounds=self.bounds,
            clip_width=width,
            locate_cap=0.0,
            weight_cap=weight_cap,
            spared_from=OUT_OF_REACH,
            thinning=0.0,
            center=NOBODY,
            scale=NOBODY,
            mean=mean,
            sure=1.0,
            noise_scale=self.noise_of_sums * width / mean.weight,
            sampling_std=width * math.sqrt(mean.square) / mean.weight,
            prior_of_center=1.0,
            scale_may_miss=False,
            needs_locating=self.needs_locating,
            in_deviations=False,
        )

    def is_wide_enough(self, plan: Plan) -> bool:
        """Whether the noise leaves something between the bounds."""
        return plan.mean.weight >= LEAST_NATS


def _evenly_spread(plan: Plan) -> float:
    """The error (std) for values spread evenly between the bounds, all of which is summed; in halves of the width."""
    noise = math.sqrt(2) * (math.sqrt(2) if plan.census.is_noisy else 1.0)
    return math.sqrt(noise**2 + _EVEN_VARIANCE * plan.mean.square) / plan.mean.weight
