"""Plans for a population of any shape: fixed shares for a centre and a histogram, and the rest for the sums.

Where to clip is read off the released histogram, so there is little to optimise beforehand. The shares are power laws
of the total budget, found by simulation. If a bound is known and the budget is small, no centre is located: the
histogram then counts distances from the bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pdpmean.core.bounds import check_fine_enough
from pdpmean.core.options import Options
from pdpmean.planning.forecast import NOBODY, OUT_OF_REACH, Forecast, LocatingForecaster
from pdpmean.planning.named_shapes import (
    BELL,
    SKEWED,
    ExpectedError,
    expected_between,
    expected_error,
    shapes_between,
)
from pdpmean.planning.plan import Plan
from pdpmean.planning.planner import Planner
from pdpmean.planning.prediction import WeightSums

__all__ = ["AnyShapePlanner"]

# The shares of the centre and of the histogram, by simulation; the optimum is flat. With a total of T nats:
# centre: _CENTER_NATS * (T / _TYPICAL_NATS)**_CENTER_POWER nats, but at most _LARGEST_CENTER_PART of T;
# histogram: _HISTOGRAM_PART * (_TYPICAL_NATS / T)**_HISTOGRAM_POWER of T, but at most _LARGEST_HISTOGRAM_PART of T.
# The larger the total, the more the sums are worth, so that both grow more slowly than T.
_TYPICAL_NATS = 250.0
_CENTER_NATS = 48.0
_CENTER_POWER = 0.3
_LARGEST_CENTER_PART = 0.32
_HISTOGRAM_PART = 0.32
_HISTOGRAM_POWER = 0.42
_LARGEST_HISTOGRAM_PART = 0.38
# The part of the budget that `locate` usually gets. It decides where the weights of a few very large budgets are
# capped, before the shares are known.
_USUAL_PART = 0.25
# Nats below which a histogram does not show reliably how far a population reaches: around a centre, and from a known
# bound. For equal budgets in the bounded model, they correspond to total budgets of about 210 and 200. Around a centre,
# the probability of a miss asks for more: a total of about 270.
_LEAST_HISTOGRAM = 40.0
_LEAST_FROM_BOUND = 37.9
# Nats above which a centre is worth its price even if a bound is known, since few populations begin at their bound. By
# simulation: at 250 nats the bound is still slightly better, at 500 the centre is.
_ENOUGH_FOR_CENTER = 350.0
_FINE_PART = 0.5  # the part of the centre's prior that is spread over all doubles; the rest is for round numbers
# The width of the clip that the weights are chosen for, relative to the best for skewed values: tails may be longer.
_LONGER = 1.4


@dataclass(frozen=True)
class AnyShapePlanner(LocatingForecaster, Planner):
    """Plans with fixed shares, since where to clip is read off the released histogram."""

    shape = "any"
    # The sample must contain some of the outermost values, since they decide where to clip.
    fewest_sampled = 16_000
    sampled_per_root = 20.0
    sampled_in_groups = 2_000_000
    too_little = "too little to find out how far a population of any shape extends"

    @staticmethod
    def check(options: Options) -> None:
        """Raise if a chosen parameter does not apply to this shape, or if doubles are too coarse for the bounds."""
        options.choices.check_without_locating()
        check_fine_enough(options.bounds)

    def best(self, near: Plan | None = None) -> Plan:  # noqa: ARG002
        """The plan around a located centre or, if a centre is not worth its price, from a known bound."""
        if self.bounds.anchor is None:
            return self._around_center()
        if self.share_after_census * self.useful_total < _ENOUGH_FOR_CENTER:
            return self._from_bound()
        plan = self._around_center()
        return plan if self.accepts(plan) else self._from_bound()

    def _around_center(self) -> Plan:
        """The plan that locates a centre, and counts distances from it in the histogram."""
        nats = self.share_after_census * self.locatable_total
        part = _CENTER_NATS * (nats / _TYPICAL_NATS) ** _CENTER_POWER / nats
        center = min(part, _LARGEST_CENTER_PART) * self.share_after_census
        return self._with_shares({"center": center, "histogram": self._histogram_share})

    def _from_bound(self) -> Plan:
        """The plan that counts distances from a known bound in the histogram."""
        return self._with_shares({"histogram": self._histogram_share})

    @property
    def _histogram_share(self) -> float:
        nats = self.share_after_census * self.locatable_total
        part: float = _HISTOGRAM_PART * (_TYPICAL_NATS / nats) ** _HISTOGRAM_POWER
        return min(part, _LARGEST_HISTOGRAM_PART) * self.share_after_census

    def _with_shares(self, locating: Mapping[str, float]) -> Plan:
        """The plan with these shares for `locate`; the census and the sums get the rest."""
        room = self.share_after_census - sum(locating.values())
        return self.plan({**self.census_shares(room), **locating}, 0.0, spare=False)

    @cached_property
    def locatable_total(self) -> float:
        """The sum of the allowances, with very large ones capped as in `locate`."""
        share = _USUAL_PART * self.share_after_census
        located = self.locating({"histogram": share, "sum": self.share_after_census - share}, OUT_OF_REACH)
        return located.sums.weight / share

    def forecast(self, shares: Mapping[str, float], width: float, *, spare: bool) -> Forecast:  # noqa: ARG002
        """The forecast for these shares, if the population is bell-shaped or, between two known bounds, fills them."""
        weight_cap, mean = self.averaging(shares["sum"], self.noise_per_variance(shares["sum"] * self.locatable_total))
        located = self.locating(shares, OUT_OF_REACH)
        center_part = shares.get("center", 0.0) / (shares.get("center", 0.0) + shares["histogram"])
        expected = self._expected(mean)
        return Forecast(
            shape=self.shape,
            bounds=self.bounds,
            clip_half_width=expected.clip_half_width,
            locate_cap=located.cap,
            weight_cap=weight_cap,
            spared_from=OUT_OF_REACH,
            keep_density=located.density,
            center=located.sums.scaled(center_part) if center_part else NOBODY,
            scale=located.sums.scaled(1 - center_part),
            mean=mean,
            certain_part=located.certain_part,
            noise_scale=expected.noise_scale,
            sampling_std=expected.sampling_std,
            prior_of_center=_FINE_PART,
            scale_may_miss=False,
            needs_locating=self.needs_locating,
            in_deviations=not self.bounds.are_both_known,
        )

    def with_sums(self, forecast: Forecast, sums: WeightSums) -> Forecast:
        """The forecast with these weights in the sums instead, for which another clip is best."""
        expected = self._expected(sums)
        return replace(
            forecast,
            clip_half_width=expected.clip_half_width,
            mean=sums,
            noise_scale=expected.noise_scale,
            sampling_std=expected.sampling_std,
        )

    def _expected(self, sums: WeightSums) -> ExpectedError:
        """The error with these weights, in standard deviations or, between two known bounds, in the values' unit."""
        if self.bounds.are_both_known:
            return expected_between(shapes_between(self.bounds)[0], self.bounds.half, sums, self.census.noise_of_sums)
        return expected_error(BELL, sums, self.census.noise_of_sums)

    def noise_in_deviations(self, forecast: Forecast) -> float:
        """The noise (std) of a sum of one nat, in standard deviations of a skewed population, even if bounds are known.

        The weighting is chosen by it. A bell would have less noise, so that counting everyone the same would seem
        cheaper than it is for most columns.
        """
        noise = self.census.noise_of_sums
        return math.sqrt(2) * noise * SKEWED.best_half_width(forecast.mean.weight / noise)

    def noise_per_variance(self, nats: float) -> float:
        """The variance of the noise in a sum of one nat, relative to that of the values, if the total is `nats`."""
        width = _LONGER * SKEWED.best_half_width(nats)
        return 2 * (self.census.noise_of_sums * width) ** 2

    def has_enough_budget(self, plan: Plan) -> bool:
        """Whether the histogram has enough nats to show how far the population reaches."""
        return plan.scale.weight >= (_LEAST_HISTOGRAM if "center" in plan.shares else _LEAST_FROM_BOUND)
