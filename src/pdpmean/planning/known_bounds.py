"""Plans for values between two known bounds: nothing needs to be located, so the whole budget can go to the sums.

If the bounds are wide compared with the values, a narrower clip has less noise. So the plan of any shape, which locates
the values first, is taken instead where that costs little even for values that fill the bounds.
"""

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

__all__ = ["KnownBoundsPlanner"]

_LEAST_NATS = 6.0  # the smallest total weight of the sums: with less, intervals are half as wide as the bounds
# See `ClipEffect.cap_constant`: the variance of the noise, relative to the variance that one person of weight 1 adds,
# in squared half widths. The noise of one sum has variance 2, that of the two sums of a private total 4. The variance
# of the values is taken to be 1/2, half of the largest possible.
_CAP_CONSTANT, _CAP_CONSTANT_UNBOUNDED = 4.0, 8.0
# The factor by which locating may increase the error of values that are spread evenly between the bounds. Values with
# bounds at most 10 apart, such as shares, ratings and grades, mostly fill them, so the factor may be only 1.02. Hours a
# week, ages or wages do not fill theirs: locating makes their error two to four times smaller, by simulation.
_WIDEST_SCALE = 10.0
_LARGEST_LOSS_IF_NARROW = 1.02
_LARGEST_LOSS_IF_WIDE = 1.2


@dataclass(frozen=True)
class KnownBoundsPlanner(Planner):
    """Plans without a search: values are clipped at the known bounds, and the sums get all that the census leaves."""

    shape = "bounds"
    needs_locating = False
    too_little = "too little for an estimate that tells more than the bounds do"

    @staticmethod
    def check(options: Options) -> None:
        """Raise if a chosen parameter does not apply to this shape, or if doubles are too coarse for the bounds."""
        options.choices.check_without_locating()
        check_fine_enough(options.bounds)

    def best(self, near: Plan | None = None) -> Plan:  # noqa: ARG002
        """The only possible plan."""
        return self.plan(self.census_shares(self.share_after_census), self.bounds.half, spare=False)

    def or_better(self) -> Planner:
        """The planner of any shape, if locating costs little even for values that fill the bounds; otherwise this one.

        Whether they do is not known beforehand. If they do not, a narrower clip has far less noise.
        """
        locating = AnyShapePlanner(**vars(self))
        plan = locating.best()
        if not locating.accepts(plan):
            return self
        error, with_locating = (self._error_if_even(choice) for choice in (self.best(), plan))
        allowed = _LARGEST_LOSS_IF_NARROW if 2 * self.bounds.half <= _WIDEST_SCALE else _LARGEST_LOSS_IF_WIDE
        return locating if with_locating <= allowed * error else self

    def _error_if_even(self, plan: Plan) -> float:
        """The error (std) of a plan if values are spread evenly between the bounds."""
        return expected_between(EVENLY, self.bounds.half, plan.mean, self.census.noise_of_sums).std

    def forecast(self, shares: Mapping[str, float], width: float, *, spare: bool) -> Forecast:  # noqa: ARG002
        """The forecast for these shares, if values fill the bounds, which are `width` from their middle."""
        private = self.census.is_noisy
        weight_cap, mean = self.averaging(shares["sum"], _CAP_CONSTANT_UNBOUNDED if private else _CAP_CONSTANT)
        expected = expected_between(shapes_between(self.bounds)[0], width, mean, self.census.noise_of_sums)
        return Forecast(
            shape=self.shape,
            bounds=self.bounds,
            clip_half_width=expected.clip_half_width,
            locate_cap=0.0,
            weight_cap=weight_cap,
            spared_from=OUT_OF_REACH,
            keep_density=0.0,
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
        """The noise (std) of a sum of one nat, in standard deviations of values that are all at either bound.

        Their standard deviation, half the width of the bounds, is the largest possible.
        """
        return math.sqrt(2) * self.census.noise_of_sums

    def has_enough_budget(self, plan: Plan) -> bool:
        """Whether the weight is large enough for an interval that is narrower than the bounds."""
        return plan.mean.weight >= _LEAST_NATS
