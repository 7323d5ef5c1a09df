"""Planner: the choices of least predicted error.

It chooses the shares of the budget and the clip width whose forecast has the smallest error, with room for the chance
that `locate` misses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy.special import expit, ndtri

from pdpmean.core.choices import SHARE_UNIT, floor_share
from pdpmean.laws.simplex import find_least
from pdpmean.planning.forecast import Forecaster
from pdpmean.planning.plan import Plan, Shares

__all__ = ["Planner"]

_SYMMETRY_PART, _SYMMETRY_NATS = 0.1, 200.0  # the centre gets the lesser at least, for the symmetry check's sake
_SQUARES_PART, _SQUARES_NATS = 0.02, 10.0  # what the sum of the squared weights may use, at most
# Sparing must make the error so much smaller, relatively: centre and scale are then of those who grant much.
_WORTH = 0.05
_HOPELESS = 0.9  # a chance of a miss, with what locating usually takes, at which no better plan is looked for
_ABOUT = 1.02  # what a needed total is raised by, since the least error is found only about
_LARGEST_LOCATE, _NARROWEST = 0.45, 0.3

_ANY_CENTER, _ANY_EXTENT, _ANY_WEIGHTS = 130.0, 0.15, 0.5
_ANY_LEAST = 300.0


@dataclass(frozen=True)
class Planner(Forecaster):
    """One planning problem: what the forecasts are for, and the part of every budget to share out."""

    share: Fraction = Fraction(1)

    def best(self, near: Plan | None = None) -> Plan:
        """The plan of least predicted error; hardly worse, if one is given for a census much like this one."""
        if self.shape == "any":
            return self._plan(*self._any_shares(), spare=False)
        coding = _Coding(self)
        if near:
            plan = self._gaussian_plan(coding.decode(coding.code_plan(near)), spare=near.spared_from <= near.weight_cap)
            if plan.allows(self.choices.max_ratio, self.choices.max_failure):
                return plan
        plan = self._gaussian_plan(coding.decode(coding.usual), spare=False)
        if plan.failure_probability(self.choices.max_ratio) > _HOPELESS:
            return plan
        plan, cost = self._optimise(coding, spare=False)
        largest = self.census.largest(self.model) * self.model.budget_per_allowance
        if plan.saturation >= largest or plan.shares["center"] + plan.shares["scale"] < _WORTH:  # nothing to gain
            return plan
        sparing, lower = self._optimise(coding, spare=True)
        return sparing if lower < cost - _WORTH else plan

    def needed_total(self) -> float:
        """About the total budget, with this profile and more people, that would not be refused."""
        low, high = 1.0, 1.0
        while not self.with_people(high):
            low, high = high, 2 * high
            if high > 2**30:
                return math.inf
        for _ in range(6):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.with_people(middle) else (middle, high)
        return _ABOUT * high * self.census.profile.total * self.model.budget_per_allowance

    def with_people(self, factor: float) -> Plan | None:
        """The plan for so many times as many people; None where it would be refused."""
        plan = replace(self, census=self.census.times(factor)).best()
        return plan if self.accepts(plan) else None

    def accepts(self, plan: Plan) -> bool:
        """Whether the population will be found and, if it may be of any shape, its width."""
        found = plan.allows(self.choices.max_ratio, self.choices.max_failure)
        return found and (self.shape == "gaussian" or plan.scale.weight >= _ANY_LEAST)

    def _optimise(self, coding: _Coding, *, spare: bool) -> tuple[Plan, float]:
        """The best of the plans that spare what is capped, or of those that do not; and the logarithm of its error."""
        least = min(_SYMMETRY_PART * self.left * self.useful_total, _SYMMETRY_NATS)

        def cost(coded: list[float]) -> float:
            chosen = coding.decode(coded)
            forecast = self.forecast(self._with_sum(self._gaussian_shares(chosen)), chosen[2], spare=spare)
            error = forecast.half_width(0.75) + forecast.failure_probability(self.choices.max_ratio)
            return math.log(error) + max(0.0, 1 - forecast.center.weight / least)

        levels, left = self.census.profile.levels, self.left
        starts = [coding.usual]
        if levels[-1] > 30 * np.median(levels):
            starts += [coding.code(0.02 * left, 0.02 * left), coding.code(0.15 * left, 0.1 * left)]
        lowest, found = min(find_least(cost, start) for start in starts)
        return self._gaussian_plan(coding.decode(found), spare=spare), lowest

    def _gaussian_plan(self, chosen: list[float], *, spare: bool) -> Plan:
        return self._plan(self._gaussian_shares(chosen), chosen[2], spare=spare)

    def _gaussian_shares(self, chosen: list[float]) -> dict[str, float]:
        """The shares of all steps but the sum."""
        center, scale = chosen[:2]
        return {**self._for_census(self.left - center - scale), "center": center, "scale": scale}

    def _any_shares(self) -> tuple[dict[str, float], float]:
        """The shares of all steps but the sum, and half what the extent would be for a bell-shaped population."""
        center = min(0.25 * self.left, _ANY_CENTER / self.useful_total)
        shares = {"center": center, "scale": _ANY_EXTENT * self.left}
        beyond = min(20 / (shares["scale"] * self.useful_total), 0.3)  # of a side; where so much lies, in half octaves
        room = self.left - sum(shares.values())
        weights = {"weights": room * _ANY_WEIGHTS} if self.census.share else {}
        return {**self._for_census(room), **weights, **shares}, 3 * 2**0.25 * float(ndtri(1 - beyond))

    def _for_census(self, room: float) -> dict[str, float]:
        """The shares that private budgets ask for: of the census, and of the squared weights if they are not known."""
        if not self.census.share:
            return {}
        shares = {"census": float(self.census.share)}
        low, high = self.model.budget_range or (0.0, math.inf)
        if low < high:
            shares["weight_squares"] = min(_SQUARES_PART * self.left, _SQUARES_NATS / self.useful_total, room / 8)
        return shares

    def _with_sum(self, shares: dict[str, float]) -> dict[str, float]:
        return {**shares, "sum": float(self.share) - sum(shares.values())}

    def _plan(self, shares: dict[str, float], width: float, *, spare: bool) -> Plan:
        """The plan with these shares, made exact, and the rest for the sum."""
        exact = {name: max(floor_share(part), Fraction(1, SHARE_UNIT)) for name, part in shares.items()}
        exact["sum"] = self.share - sum(exact.values())
        forecast = self.forecast({name: float(part) for name, part in exact.items()}, width, spare=spare)
        return Plan(**vars(forecast), model=self.model, shares=Shares(exact), census=self.census, choices=self.choices)

    @cached_property
    def left(self) -> float:
        """What the census left of the share."""
        return float(self.share - self.census.share)


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
