"""Plans for a bell-shaped population: the best shares for its centre and its scale, and the best clip.

The clip may be narrow, even narrower than a standard deviation, since clipping a normal population can be undone. The
three numbers are found by a simplex search over forecasts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from pdpmean.core.options import Options
from pdpmean.laws.clipped_normal import centered
from pdpmean.laws.simplex import find_least
from pdpmean.planning.forecast import ONE_IN_FOUR, CenterAndScaleForecaster, ClipEffect, Forecast
from pdpmean.planning.plan import Plan
from pdpmean.planning.planner import Planner
from pdpmean.planning.prediction import WeightSums, product_error, tent_error, tent_trust

__all__ = ["GaussianPlanner"]

_INFLATION = 0.8  # the part of the product of the errors of centre and scale that reaches the mean, by simulation
# The centre gets at least this part of the useful budget or this many nats, whichever is less. Otherwise it would be
# too inexact to be compared with the mean, which is how skewed populations are noticed.
_SYMMETRY_PART, _SYMMETRY_NATS = 0.1, 200.0
# Sparing must lower the logarithm of the error by this much, since large budgets then dominate centre and scale. If
# these have a smaller share than this, there is nothing to gain.
_WORTH_SPARING = 0.05
_HOPELESS = 0.9  # if a miss is at least this probable with the usual shares, no better plan is searched for
_LARGEST_LOCATE = 0.45  # the largest part of the available share that centre or scale may take
_NARROWEST = 0.3  # the smallest half width of the clip, in standard deviations


@dataclass(frozen=True)
class GaussianPlanner(CenterAndScaleForecaster, Planner):
    """Searches for the shares of centre and scale, and the clip, that have the least predicted error."""

    shape = "gaussian"
    # A small sample is enough: only the product of the errors of centre and scale reaches the mean.
    fewest_sampled = 5_000
    sampled_per_root = 3.0
    sampled_in_groups = 1_000_000
    scale_may_miss = True

    @staticmethod
    def check(options: Options) -> None:
        """Do nothing: all parameters may be chosen for this shape."""

    def clip_effect(self, width: float) -> ClipEffect:
        """The effect of a clip on a normal population around its middle."""
        clipped = centered(width)
        return ClipEffect(clipped.variance, clipped.inside, (math.sqrt(2) * width) ** 2 / clipped.variance)

    def locating_error(self, center: WeightSums, scale: WeightSums, mean: WeightSums, width: float) -> float:
        """The error of the mean due to locating: proportional to the product of the errors of centre and scale."""
        tents = mean.weight * centered(width).tent / width
        trust = 1.0 if self.census.is_noisy else tent_trust(scale, width, tents)
        return _INFLATION * product_error(center, scale, width, math.sqrt(trust) * tent_error(tents))

    def efficiency(self, forecast: Forecast) -> float:
        """The efficiency of the mean of a clipped normal, relative to the plain mean."""
        clipped = centered(forecast.clip_half_width)
        return clipped.inside**2 / clipped.variance

    def best(self, near: Plan | None = None) -> Plan:
        """The plan of least predicted error; if a plan for a similar census is given, its choices are reused."""
        coding = _Coding(self)
        if near:
            plan = self._decoded(coding.decode(coding.code_plan(near)), spare=near.spared_from <= near.weight_cap)
            if plan.allows(self.choices.max_ratio, self.choices.max_failure):
                return plan
        usual = coding.decode(coding.usual)
        if self._failure_probability(usual) > _HOPELESS:
            return self._decoded(usual, spare=False)
        plan, cost = self._optimise(coding, spare=False)
        if plan.levels and not self.choices.saturation:  # levels already use what a cap on a single sum would spare
            return plan
        largest = self.census.largest(self.model) * self.model.budget_per_allowance
        locating_share = plan.shares["center"] + plan.shares["scale"]
        if plan.saturation >= largest or locating_share < _WORTH_SPARING:  # nothing to gain
            return plan
        sparing, sparing_cost = self._optimise(coding, spare=True)
        return sparing if sparing_cost < cost - _WORTH_SPARING else plan

    def _optimise(self, coding: _Coding, *, spare: bool) -> tuple[Plan, float]:
        """The best plan and its cost, the logarithm of the predicted error; `spare` is as for `forecast`."""
        least_nats = min(_SYMMETRY_PART * self.share_after_census * self.useful_total, _SYMMETRY_NATS)

        def cost(coded: list[float]) -> float:
            chosen = coding.decode(coded)
            forecast = self.forecast(self.with_sum(self._shares(chosen)), chosen.half_width, spare=spare)
            error = forecast.half_width(ONE_IN_FOUR) + forecast.failure_probability(self.choices.max_ratio)
            return math.log(error) + max(0.0, 1 - forecast.center.weight / least_nats)

        levels = self.census.profile.allowances
        left = self.share_after_census
        starts = [coding.usual]
        # With very uneven budgets the cost may have several local minima, so the search starts from several points.
        if levels[-1] > 30 * np.median(levels):
            starts += [coding.code(0.02 * left, 0.02 * left), coding.code(0.15 * left, 0.1 * left)]
        lowest, best = min(find_least(cost, start) for start in starts)
        return self._decoded(coding.decode(best), spare=spare), lowest

    def _failure_probability(self, chosen: _Chosen) -> float:
        """The probability of a miss with these choices, without making a plan, which would take longer."""
        shares = {name: float(part) for name, part in self.exact(self._shares(chosen)).items()}
        return self.forecast(shares, chosen.half_width, spare=False).failure_probability(self.choices.max_ratio)

    def _decoded(self, chosen: _Chosen, *, spare: bool) -> Plan:
        """The plan with these choices."""
        return self.plan(self._shares(chosen), chosen.half_width, spare=spare)

    def _shares(self, chosen: _Chosen) -> dict[str, float]:
        """The shares of all steps but the sum."""
        room = self.share_after_census - chosen.center - chosen.scale
        return {**self.census_shares(room), "center": chosen.center, "scale": chosen.scale}


class _Chosen(NamedTuple):
    """What a plan for a bell-shaped population has to choose."""

    center: float
    """The share of the centre."""
    scale: float
    """The share of the scale."""
    half_width: float
    """Half the width of the clip, in standard deviations."""


@dataclass(frozen=True)
class _Coding:
    """The three choices as unconstrained numbers, which the simplex search needs.

    Shares are coded by the logit of their part of the largest possible share, the half width of the clip by a
    logarithm.
    """

    planner: Planner

    @cached_property
    def _largest_shares(self) -> tuple[float, float]:
        """The largest shares that centre and scale may take."""
        choices = self.planner.choices
        left = self.planner.share_after_census
        center = left - (choices.scale_share or 0)
        scale = left - (choices.center_share or 0)
        return _LARGEST_LOCATE * center, _LARGEST_LOCATE * scale

    def decode(self, coded: list[float]) -> _Chosen:
        """The choices behind three numbers; what the user chose is kept."""
        limits = (-8.0, 6.0), (-8.0, 6.0), (-6.0, 1.6)
        z = [min(max(number, low), high) for number, (low, high) in zip(coded, limits, strict=True)]
        choices, largest = self.planner.choices, self._largest_shares
        return _Chosen(
            center=choices.center_share or largest[0] * float(expit(z[0])),
            scale=choices.scale_share or largest[1] * float(expit(z[1])),
            half_width=choices.clip_half_width or _NARROWEST + math.exp(z[2]),
        )

    @cached_property
    def usual(self) -> list[float]:
        """The code of the usual choices: 55 nats for the centre and 35 for the scale, or all that is possible."""
        total = self.planner.useful_total
        return self.code(55 / total, 35 / total)

    def code(self, center: float, scale: float, width: float = 1.04) -> list[float]:
        """The numbers that decode to these choices, or to the nearest possible ones."""
        largest_center, largest_scale = self._largest_shares
        parts = (min(max(part, 1e-3), 0.98) for part in (center / largest_center, scale / largest_scale))
        logits = (math.log(part / (1 - part)) for part in parts)
        return [*logits, math.log(max(width - _NARROWEST, 1e-3))]

    def code_plan(self, plan: Plan) -> list[float]:
        """The code of the choices of a plan for another census, with the same number of nats for locating."""
        shares = plan.shares
        growth = plan.located(self.planner.census.profile) / plan.located_people
        center, scale = (float(shares[name]) / growth for name in ("center", "scale"))
        return self.code(center, scale, plan.clip_half_width)
