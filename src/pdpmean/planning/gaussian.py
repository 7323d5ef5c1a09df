"""Plans for a bell-shaped population: two shares for locating it, and a clip that may be narrow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from pdpmean.core.options import Options
from pdpmean.laws.clipped_normal import centered
from pdpmean.laws.simplex import find_least
from pdpmean.planning.forecast import ClipEffect, Forecast, LocatingForecaster
from pdpmean.planning.plan import Plan
from pdpmean.planning.planner import Planner
from pdpmean.planning.prediction import Sums, product_error, tent_error, tent_trust

__all__ = ["GaussianPlanner"]

_INFLATION = 0.8  # how much of the product of the two locating errors reaches the mean, by simulation
_SYMMETRY_PART, _SYMMETRY_NATS = 0.1, 200.0  # the centre gets the lesser at least, for the symmetry check's sake
# Sparing must make the error so much smaller, relatively: centre and scale are then of those who grant much.
_WORTH = 0.05
_HOPELESS = 0.9  # a chance of a miss, with what locating usually takes, at which no better plan is looked for
_LARGEST_LOCATE, _NARROWEST = 0.45, 0.3


@dataclass(frozen=True)
class GaussianPlanner(LocatingForecaster, Planner):
    """Searches for the two locating shares and the clip width of least predicted error."""

    shape = "gaussian"
    # What a sample errs in centre and scale reaches the mean as a product, and only by what is clipped.
    fewest_sampled = 5_000
    sampled_per_root = 3.0
    sampled_in_groups = 1_000_000
    scale_may_miss = True

    @staticmethod
    def check(options: Options) -> None:
        """All choices are for this shape."""

    def clip_effect(self, width: float) -> ClipEffect:
        """Of a clipped normal."""
        clipped = centered(width)
        return ClipEffect(clipped.variance, clipped.inside, (math.sqrt(2) * width) ** 2 / clipped.variance)

    def locating_error(self, center: Sums, scale: Sums, mean: Sums, width: float) -> float:
        """The product of the two locating errors."""
        tents = mean.weight * centered(width).tent / width
        trust = 1.0 if self.census.is_noisy else tent_trust(scale, width, tents)
        return _INFLATION * product_error(center, scale, width, math.sqrt(trust) * tent_error(tents))

    def efficiency(self, forecast: Forecast) -> float:
        """Of a clipped normal, that of its mean beside the plain one."""
        clipped = centered(forecast.clip_width)
        return clipped.inside**2 / clipped.variance

    def best(self, near: Plan | None = None) -> Plan:
        """The plan of least predicted error; hardly worse, if one is given for a census much like this one."""
        coding = _Coding(self)
        if near:
            plan = self._decoded(coding.decode(coding.code_plan(near)), spare=near.spared_from <= near.weight_cap)
            if plan.allows(self.choices.max_ratio, self.choices.max_failure):
                return plan
        usual = coding.decode(coding.usual)
        if self._failure_probability(usual) > _HOPELESS:
            return self._decoded(usual, spare=False)
        plan, cost = self._optimise(coding, spare=False)
        if plan.levels and not self.choices.saturation:  # they use what a single sum would leave
            return plan
        largest = self.census.largest(self.model) * self.model.budget_per_allowance
        if plan.saturation >= largest or plan.shares["center"] + plan.shares["scale"] < _WORTH:  # nothing to gain
            return plan
        sparing, lower = self._optimise(coding, spare=True)
        return sparing if lower < cost - _WORTH else plan

    def _optimise(self, coding: _Coding, *, spare: bool) -> tuple[Plan, float]:
        """The best of the plans that spare what is capped, or of those that do not; and the logarithm of its error."""
        least = min(_SYMMETRY_PART * self.left * self.useful_total, _SYMMETRY_NATS)

        def cost(coded: list[float]) -> float:
            chosen = coding.decode(coded)
            forecast = self.forecast(self.with_sum(self._shares(chosen)), chosen[2], spare=spare)
            error = forecast.half_width(0.75) + forecast.failure_probability(self.choices.max_ratio)
            return math.log(error) + max(0.0, 1 - forecast.center.weight / least)

        levels, left = self.census.profile.levels, self.left
        starts = [coding.usual]
        if levels[-1] > 30 * np.median(levels):
            starts += [coding.code(0.02 * left, 0.02 * left), coding.code(0.15 * left, 0.1 * left)]
        lowest, found = min(find_least(cost, start) for start in starts)
        return self._decoded(coding.decode(found), spare=spare), lowest

    def _failure_probability(self, chosen: list[float]) -> float:
        """That of a plan, without who counts how much."""
        shares = {name: float(part) for name, part in self.exact(self._shares(chosen)).items()}
        return self.forecast(shares, chosen[2], spare=False).failure_probability(self.choices.max_ratio)

    def _decoded(self, chosen: list[float], *, spare: bool) -> Plan:
        return self.plan(self._shares(chosen), chosen[2], spare=spare)

    def _shares(self, chosen: list[float]) -> dict[str, float]:
        """The shares of all steps but the sum."""
        center, scale = chosen[:2]
        return {**self.census_shares(self.left - center - scale), "center": center, "scale": scale}


@dataclass(frozen=True)
class _Coding:
    """The choices as numbers without limits, to search among."""

    planner: Planner

    @cached_property
    def _rooms(self) -> tuple[float, float]:
        """What center and scale may take, at most."""
        choices = self.planner.choices
        left = self.planner.left
        center, scale = left - (choices.scale_share or 0), left - (choices.center_share or 0)
        return _LARGEST_LOCATE * center, _LARGEST_LOCATE * scale

    def decode(self, coded: list[float]) -> list[float]:
        """Center share, scale share and clip width."""
        limits = (-8.0, 6.0), (-8.0, 6.0), (-6.0, 1.6)
        z = [min(max(number, low), high) for number, (low, high) in zip(coded, limits, strict=True)]
        choices, rooms = self.planner.choices, self._rooms
        return [
            choices.center_share or rooms[0] * float(expit(z[0])),
            choices.scale_share or rooms[1] * float(expit(z[1])),
            choices.clip_width or _NARROWEST + math.exp(z[2]),
        ]

    @cached_property
    def usual(self) -> list[float]:
        """The numbers behind what locating usually takes, or all there is if that is less."""
        total = self.planner.useful_total
        return self.code(55 / total, 35 / total)

    def code(self, center: float, scale: float, width: float = 1.04) -> list[float]:
        """The numbers behind such choices, as near as may be."""
        parts = (min(max(part, 1e-3), 0.98) for part in (center / self._rooms[0], scale / self._rooms[1]))
        odds = (math.log(part / (1 - part)) for part in parts)
        return [*odds, math.log(max(width - _NARROWEST, 1e-3))]

    def code_plan(self, plan: Plan) -> list[float]:
        """The numbers behind a plan for a census of another size: locating takes as many nats."""
        shares, grown = plan.shares, plan.located(self.planner.census.profile) / plan.located_people
        center, scale = (float(shares[name]) / grown for name in ("center", "scale"))
        return self.code(center, scale, plan.clip_width)
