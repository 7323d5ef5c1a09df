"""Plans for values between known bounds: nothing is located, so that all the budget goes to the sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pdpmean.core.bounds import check_fine_enough
from pdpmean.core.options import Options
from pdpmean.planning.any_shape import AnyShapePlanner
from pdpmean.planning.forecast import NOBODY, OUT_OF_REACH, Forecast
from pdpmean.planning.named_shapes import EVENLY, expected_between, shapes_between
from pdpmean.planning.plan import Plan
from pdpmean.planning.planner import Planner

__all__ = ["LEAST_NATS", "KnownBoundsPlanner"]

LEAST_NATS = 8.0  # of weight in the sums: with less, the interval holds about everything between the bounds
# The squared noise over the largest variance that one person of weight 1 can add, both in the unit of half the width:
# Laplace noise of scale 1 has 2, and so have the sums of either half, which private totals need; twice that, since the
# variance is seldom the largest there can be.
_CAP_CONSTANT, _CAP_CONSTANT_UNBOUNDED = 4.0, 8.0
# By how much locating may increase the error of values that are spread evenly between the bounds. Shares, ratings and
# grades fill their bounds. Hours a week, ages or wages do not: there it makes the error two to four times smaller, by
# simulation.
_WIDEST_SCALE = 10.0
_NEXT_TO_NOTHING, _WORTH_LOCATING = 1.02, 1.14


@dataclass(frozen=True)
class KnownBoundsPlanner(Planner):
    """No search: the clip is the bounds, and the sums get what the census leaves."""

    shape = "bounds"
    needs_locating = False
    too_little = "too little for an estimate that tells more than the bounds do"

    @staticmethod
    def check(options: Options) -> None:
        """Raise if something is chosen that this shape has not, or if doubles are too coarse for the bounds."""
        options.choices.check_without_locating()
        check_fine_enough(options.bounds)

    def best(self, near: Plan | None = None) -> Plan:  # noqa: ARG002
        """The only plan there is."""
        return self.plan(self.census_shares(self.left), self.bounds.half, spare=False)

    def or_better(self) -> Planner:
        """The plan of any shape, where locating costs little even if the values fill the bounds.

        If they do not, which nobody knows beforehand, a narrower clip means far less noise.
        """
        locating = AnyShapePlanner(**vars(self))
        plan = locating.best()
        if not locating.accepts(plan):
            return self
        error, with_locating = (self._evenly_spread(each) for each in (self.best(), plan))
        allowed = _NEXT_TO_NOTHING if 2 * self.bounds.half <= _WIDEST_SCALE else _WORTH_LOCATING
        return locating if with_locating <= allowed * error else self

    def _evenly_spread(self, plan: Plan) -> float:
        """The error (std) for values spread evenly between the bounds."""
        return expected_between(EVENLY, self.bounds.half, plan.mean, self.noise_of_sums).std

    def forecast(self, shares: Mapping[str, float], width: float, *, spare: bool) -> Forecast:  # noqa: ARG002
        """The noise of the sums, and the sampling error of values that fill bounds so far from the middle."""
        private = self.census.is_noisy
        weight_cap, mean = self.averaging(shares["sum"], _CAP_CONSTANT_UNBOUNDED if private else _CAP_CONSTANT)
        expected = expected_between(shapes_between(self.bounds)[0], width, mean, self.noise_of_sums)
        return Forecast(
            shape=self.shape,
            bounds=self.bounds,
            clip_width=expected.clip_width,
            locate_cap=0.0,
            weight_cap=weight_cap,
            spared_from=OUT_OF_REACH,
            thinning=0.0,
            center=NOBODY,
            scale=NOBODY,
            mean=mean,
            certain_part=1.0,
            noise_scale=expected.noise_scale,
            sampling_std=expected.sampling_std,
            prior_of_center=1.0,
            scale_may_miss=False,
            needs_locating=self.needs_locating,
            in_deviations=False,
        )

    def noise_in_deviations(self, forecast: Forecast) -> float:  # noqa: ARG002
        """Of values at either bound, whose standard deviation is the largest there can be."""
        return math.sqrt(2) * self.noise_of_sums

    def is_wide_enough(self, plan: Plan) -> bool:
        """Whether the noise leaves something between the bounds."""
        return plan.mean.weight >= LEAST_NATS
