"""Plans for a population of any shape: fixed shares for a centre and a histogram, and the rest for the sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pdpmean.core.bounds import check_fine_enough
from pdpmean.core.options import Options
from pdpmean.planning.forecast import NOBODY, OUT_OF_REACH, Forecast, Locating
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
from pdpmean.planning.prediction import Sums

__all__ = ["AnyShapePlanner"]

# Nats for the centre, which a population must first be found by, and for the histogram; by simulation, with an optimum
# that is flat. The more there are, the more the sum is worth, so that both grow more slowly than the total.
_CENTER_NATS, _CENTER_AT, _CENTER_POWER = 40.0, 250.0, 0.4
_HISTOGRAM_PART, _HISTOGRAM_AT, _HISTOGRAM_POWER = 0.32, 250.0, 0.42
_LARGEST_PART = 0.38
_USUAL_PART = 0.25  # of the budget, for both: it is what a few who grant much are capped by
# With fewer nats than these a histogram hardly ever shows how far a population reaches: from a total budget of about
# 500 on it does, and with a known bound, from which distances are measured at no cost, of 250.
_LEAST_HISTOGRAM, _LEAST_FROM_BOUND = 72.0, 44.0
# With so many nats a centre is worth its price even if a bound is known: few populations begin at their bound. By
# simulation: at 500 nats the bound is still somewhat better, at 1,000 the centre is.
_ENOUGH_FOR_CENTER = 650.0
_FINE_PART = 0.5  # of the centre's prior: the other half is for round numbers
_LONGER = 1.4  # a clip over that of skewed values: for the noise that weights are chosen by, since tails may be longer


@dataclass(frozen=True)
class AnyShapePlanner(Locating, Planner):
    """Fixed shares: where to clip is read off the histogram, so that there is little to choose beforehand."""

    shape = "any"
    # The outermost values count here, so that a sample must hold some of them.
    fewest_sampled = 16_000
    sampled_per_root = 20.0
    sampled_in_groups = 2_000_000
    too_little = "too little to find out how far a population of any shape extends"

    @staticmethod
    def check(options: Options) -> None:
        """Raise if something is chosen that this shape has not, or if doubles are too coarse for the bounds."""
        options.choices.check_without_locating()
        check_fine_enough(options.bounds)

    def best(self, near: Plan | None = None) -> Plan:  # noqa: ARG002
        """The plan with the usual shares: around a centre, or from a known bound if a centre is not worth its price."""
        if self.bounds.anchor is None:
            return self._around_center()
        if self.left * self.useful_total < _ENOUGH_FOR_CENTER:
            return self._from_bound()
        plan = self._around_center()
        return plan if self.accepts(plan) else self._from_bound()

    def _around_center(self) -> Plan:
        nats = self.left * self.locatable_total
        center = min(_CENTER_NATS * (nats / _CENTER_AT) ** _CENTER_POWER / nats, 0.25) * self.left
        return self._with_shares({"center": center, "histogram": self._histogram_share})

    def _from_bound(self) -> Plan:
        return self._with_shares({"histogram": self._histogram_share})

    @property
    def _histogram_share(self) -> float:
        nats = self.left * self.locatable_total
        part: float = _HISTOGRAM_PART * (_HISTOGRAM_AT / nats) ** _HISTOGRAM_POWER
        return min(part, _LARGEST_PART) * self.left

    def _with_shares(self, locating: Mapping[str, float]) -> Plan:
        """What is not for locating goes to the sums and to what they need."""
        room = self.left - sum(locating.values())
        return self.plan({**self.census_shares(room), **locating}, 0.0, spare=False)

    @cached_property
    def locatable_total(self) -> float:
        """What the allowances add up to in `locate`, where those of a few who grant much are capped."""
        share = _USUAL_PART * self.left
        located = self.locating({"histogram": share, "sum": self.left - share}, OUT_OF_REACH)
        return located.sums.weight / share

    def forecast(self, shares: Mapping[str, float], width: float, *, spare: bool) -> Forecast:  # noqa: ARG002
        """What these shares lead to if the population is bell-shaped or, between two known bounds, fills them."""
        weight_cap, mean = self.averaging(shares["sum"], self.noise_per_variance(shares["sum"] * self.locatable_total))
        located = self.locating(shares, OUT_OF_REACH)
        center = shares.get("center", 0.0) / (shares.get("center", 0.0) + shares["histogram"])
        expected = self._expected(mean)
        return Forecast(
            shape=self.shape,
            bounds=self.bounds,
            clip_width=expected.clip_width,
            locate_cap=located.cap,
            weight_cap=weight_cap,
            spared_from=OUT_OF_REACH,
            thinning=located.density,
            center=located.sums.scaled(center) if center else NOBODY,
            scale=located.sums.scaled(1 - center),
            mean=mean,
            sure=located.sure,
            noise_scale=expected.noise_scale,
            sampling_std=expected.sampling_std,
            prior_of_center=_FINE_PART,
            scale_may_miss=False,
            needs_locating=self.needs_locating,
            in_deviations=not self.bounds.are_both_known,
        )

    def with_sums(self, forecast: Forecast, sums: Sums) -> Forecast:
        """The forecast if weights add up to this instead: the clip is then another, too."""
        expected = self._expected(sums)
        return replace(
            forecast,
            clip_width=expected.clip_width,
            mean=sums,
            noise_scale=expected.noise_scale,
            sampling_std=expected.sampling_std,
        )

    def _expected(self, sums: Sums) -> ExpectedError:
        """The error with these weights, in the unit that the bounds allow."""
        if self.bounds.are_both_known:
            return expected_between(shapes_between(self.bounds)[0], self.bounds.half, sums, self.noise_of_sums)
        return expected_error(BELL, sums, self.noise_of_sums)

    def noise_in_deviations(self, forecast: Forecast) -> float:
        """Of a bell, whatever is known of the bounds."""
        return math.sqrt(2) * self.noise_of_sums * BELL.best_width(forecast.mean.weight / self.noise_of_sums)

    def noise_per_variance(self, nats: float) -> float:
        """The squared noise of the sum over the variance of the values, both of one nat, with so many nats in all."""
        width = _LONGER * SKEWED.best_width(nats)
        return 2 * (self.noise_of_sums * width) ** 2

    def is_wide_enough(self, plan: Plan) -> bool:
        """Whether there is budget enough to find how far the population reaches."""
        return plan.scale.weight >= (_LEAST_HISTOGRAM if "center" in plan.shares else _LEAST_FROM_BOUND)
