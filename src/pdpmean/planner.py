"""Planner: the choices of least predicted error.

The error of the mean is Laplace noise plus sampling, a little larger because centre and scale are themselves estimates.
The planner predicts it, in units of the population's standard deviation, and chooses the shares of the budget, the clip
width and the saturation that make it smallest, with room for the chance that `locate` misses. The formulas are in
docs/how-it-works.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri

from pdpmean.census import Census
from pdpmean.choices import SHARE_UNIT, Choices, ShapeName, floor_share
from pdpmean.clipped_normal import clipped_variance, inside
from pdpmean.inputs import Floats
from pdpmean.interval import half_width
from pdpmean.model import Model
from pdpmean.planned import Plan, Shares
from pdpmean.prediction import Sums, product_error

__all__ = ["LARGEST_SAMPLE", "Planner"]

# Of more than a few records `locate` looks at so many times the root of all there are: what a sample errs in centre and
# scale reaches the mean as a product, which then stays small beside the sampling error of all.
_FEW, _SAMPLE_RATE, LARGEST_SAMPLE = 16_000, 20.0, 50_000
_KEEP_ALL = 2.0**900  # a density of keeping at which nobody is dropped
_LARGEST_WEIGHT = 50.0  # nats: a record that may cost this much is as good as public
_LOCATE_CONSTANT = 64.0  # saturation of the locating weights; the optimum is flat

_CHECK_PART, _CHECK_NATS = 0.03, 60.0  # what the check for equal values may use, at most
_SYMMETRY_PART, _SYMMETRY_NATS = 0.1, 200.0  # the centre gets at least the lesser, for the symmetry check's sake
_SQUARES_PART, _SQUARES_NATS = 0.02, 10.0  # what the sum of the squared weights may use, at most
_INFLATION = 0.8  # how much of the product of the two locating errors reaches the mean, by simulation
_LARGEST_LOCATE, _LARGEST_WEIGHTS, _NARROWEST = 0.45, 0.3, 0.3

_ANY_CENTER, _ANY_RADIUS, _ANY_SQUARE, _ANY_WEIGHTS = 130.0, Fraction(15, 100), Fraction(3, 100), 0.05
_ANY_CONSTANT, _ANY_LEAST = 200.0, 300.0

_CLOSELY, _ROUGHLY = (0.5, 0.02, 3e-4), (0.2, 1.0, 3e-3)  # how to search for the least cost


@dataclass(frozen=True)
class Planner:
    """One planning problem."""

    census: Census
    model: Model
    shape: ShapeName
    support: tuple[float, float] | None
    share: Fraction
    choices: Choices
    room: int = LARGEST_SAMPLE
    """How many records `locate` may look at, about."""

    def best(self, near: Plan | None = None) -> Plan:
        """The plan of least predicted error; the best of a census much like this one is `near` it."""
        if self.shape == "any":
            return self._any_plan()
        return self._gaussian_plan(self._optimise(near))

    def needed_total(self) -> float:
        """About the total budget, with this profile and more people, that would not be refused."""
        low, high = 1.0, 1.0
        while high < 2**30 and not self.with_people(high):
            low, high = high, 2 * high
        for _ in range(6):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.with_people(middle) else (middle, high)
        return high * self.census.profile.total * self.model.budget_per_allowance

    def with_people(self, factor: float) -> Plan | None:
        """The plan for so many times as many people; None where it would be refused."""
        plan = replace(self, census=self.census.times(factor)).best()
        return (
            plan if self.wide_enough(plan) and plan.allows(self.choices.max_ratio, self.choices.max_failure) else None
        )

    def wide_enough(self, plan: Plan) -> bool:
        """Whether the width of a population of any shape will be found, if that is asked for."""
        return self.shape == "gaussian" or plan.scale.weight >= _ANY_LEAST

    @cached_property
    def useful_total(self) -> float:
        """What the allowances add up to, none counted beyond where more no longer helps."""
        profile = self.census.profile
        tau = min(profile.saturation(100 * _LOCATE_CONSTANT)[0], _LARGEST_WEIGHT)
        return profile.capped_sums(tau)[0]

    def _optimise(self, near: Plan | None) -> list[float]:
        """Center share, scale share, clip width and, if unbounded, the part of the rest for the weights."""
        coding = _Coding(self)

        def cost(coded: Floats) -> float:
            plan = self._gaussian_plan(coding.decode(coded))
            error = half_width(0.75, plan.noise_scale, plan.sampling_std)
            return math.log(error + plan.failure_probability(self.choices.max_ratio))

        if near:
            return coding.decode(_least(cost, coding.code_plan(near), _ROUGHLY).x)
        levels, left, total = self.census.profile.levels, coding.left, self.useful_total
        starts = [coding.code(55 / total, 35 / total)]
        if levels[-1] > 30 * np.median(levels):
            starts += [coding.code(0.02 * left, 0.02 * left), coding.code(0.15 * left, 0.1 * left)]
        found = [_least(cost, start, _CLOSELY) for start in starts]
        return coding.decode(min(found, key=lambda one: float(one.fun)).x)

    def _gaussian_plan(self, chosen: list[float]) -> Plan:
        center, scale = (max(floor_share(part), Fraction(1, SHARE_UNIT)) for part in chosen[:2])
        left = self.share - self.census.share
        room = left - center - scale
        check = floor_share(min(_CHECK_PART * float(left), _CHECK_NATS / self.useful_total, float(room) / 4))
        check = max(check, Fraction(1, SHARE_UNIT))
        part = chosen[3] if self.census.share else 0.0
        shares = {**self._for_weights(float(room - check), part), "center": center, "scale": scale, "check": check}
        width = chosen[2]
        variance, slope = float(clipped_variance(width)), float(inside(width))
        return self._plan(shares, width, 2 * width**2 / variance, slope, variance)

    def _any_plan(self) -> Plan:
        left = self.share - self.census.share
        total = self.useful_total
        center = max(floor_share(min(0.25 * float(left), _ANY_CENTER / total)), Fraction(1, SHARE_UNIT))
        radius, square = floor_share(_ANY_RADIUS * left), floor_share(_ANY_SQUARE * left)
        shares = {**self._for_weights(float(left), _ANY_WEIGHTS), "center": center, "scale": radius, "square": square}
        # What the radius would be for a bell-shaped population: some 20 nats lie beyond half to a quarter of it.
        beyond = min(20 / (float(radius) * total), 0.3)
        width = 3 * float(ndtri(1 - beyond / 2))
        return self._plan(shares, width, _ANY_CONSTANT, 1.0, 1.0)

    def _for_weights(self, room: float, part: float) -> dict[str, Fraction]:
        """The shares that private budgets ask for: of the census, of the weights, and of their squares if not known."""
        if not self.census.share:
            return {}
        shares = {"census": self.census.share, "weights": floor_share(room * part)}
        low, high = self.model.budget_range or (0.0, math.inf)
        if low < high:
            left = float(self.share - self.census.share)
            squares = floor_share(min(_SQUARES_PART * left, _SQUARES_NATS / self.useful_total, room / 8))
            shares["weight_squares"] = max(squares, Fraction(1, SHARE_UNIT))
        return shares

    def _plan(self, shares: dict[str, Fraction], width: float, constant: float, slope: float, variance: float) -> Plan:
        """A plan with these shares and the rest for the sum, its caps and predictions filled in."""
        shares = {**shares, "sum": self.share - sum(shares.values())}
        locating = float(shares["center"] + shares["scale"])
        locate_cap, located = self._capped(locating, _LOCATE_CONSTANT)
        locate_cap = min(locate_cap, locating * self._largest)  # a coin is soon decided where no rate is large
        people = self.census.profile.people
        sample = min(people if people <= _FEW else _SAMPLE_RATE * math.sqrt(people), self.room)
        thinning = sample / located.weight if people > sample else _KEEP_ALL
        # A sample of so many records has no smaller relative squared weight.
        located = Sums(located.weight, max(located.square, located.weight**2 / sample))
        center, scale = (located.scaled(float(shares[name]) / locating) for name in ("center", "scale"))
        weight_cap, mean = self._capped(float(shares["sum"]), constant)
        if self.choices.saturation:
            weight_cap = min(
                self.choices.saturation / self.model.budget_per_allowance * float(shares["sum"]), _LARGEST_WEIGHT
            )
            mean = self._sums(float(shares["sum"]), weight_cap)
        sampling = math.sqrt(variance * mean.square) / (slope * mean.weight)
        extra = 0.0
        weights = float(shares.get("weights", Fraction(0)) / shares["sum"])
        if self.shape == "gaussian":
            extra = _INFLATION * product_error(center, scale, width, mean, weights)
        return Plan(
            model=self.model,
            shape=self.shape,
            support=self.support,
            shares=Shares(shares),
            clip_width=width,
            locate_cap=locate_cap,
            weight_cap=weight_cap,
            thinning=thinning,
            center=center,
            scale=scale,
            mean=mean,
            noise_scale=width / (slope * mean.weight),
            sampling_std=math.hypot(sampling, extra),
            census=self.census,
            choices=self.choices,
        )

    @property
    def _largest(self) -> float:
        """No allowance is above this, publicly: a level may be the middle of a cell, at most a 16th wide."""
        return (
            self.model.largest_allowance if self.census.share else float(self.census.profile.levels[-1]) * (1 + 2.0**-4)
        )

    def _capped(self, share: float, constant: float) -> tuple[float, Sums]:
        """The cap on the weights ``share * allowance`` that minimises the variance, and the sums it leaves."""
        cap = min(self.census.profile.saturation(constant / share**2)[0] * share, _LARGEST_WEIGHT)
        return cap, self._sums(share, cap)

    def _sums(self, share: float, cap: float) -> Sums:
        weight, square = self.census.profile.capped_sums(cap / share)
        return Sums(weight * share, square * share**2)


@dataclass(frozen=True)
class _Coding:
    """The choices as numbers without limits, to search among."""

    planner: Planner

    @property
    def left(self) -> float:
        """What the census left of the share."""
        return float(self.planner.share - self.planner.census.share)

    @cached_property
    def _rooms(self) -> tuple[float, float]:
        """What center and scale may take, at most."""
        choices = self.planner.choices
        center, scale = self.left - (choices.scale_share or 0), self.left - (choices.center_share or 0)
        return _LARGEST_LOCATE * center, _LARGEST_LOCATE * scale

    @cached_property
    def _steps(self) -> int:
        return 4 if self.planner.census.share else 3

    def decode(self, coded: Floats) -> list[float]:
        """Center share, scale share, clip width and, if unbounded, the part of the rest for the weights."""
        z = np.clip(coded, [-8, -8, -6, -5][: self._steps], [6, 6, 1.6, 6][: self._steps]).tolist()
        choices, rooms = self.planner.choices, self._rooms
        least = min(_SYMMETRY_PART * rooms[0] / _LARGEST_LOCATE, _SYMMETRY_NATS / self.planner.useful_total)
        decoded = [
            choices.center_share or max(rooms[0] * float(expit(z[0])), least),
            choices.scale_share or rooms[1] * float(expit(z[1])),
            choices.clip_width or _NARROWEST + math.exp(z[2]),
        ]
        return [*decoded, *(_LARGEST_WEIGHTS * float(expit(part)) for part in z[3:])]

    def code(self, center: float, scale: float, width: float = 1.04, weights: float = 0.05) -> Floats:
        """The numbers behind such choices, as near as may be."""
        parts = (center / self._rooms[0], scale / self._rooms[1], weights / _LARGEST_WEIGHTS)
        first, second, last = logit(np.clip(parts, 1e-3, 0.98)).tolist()
        return np.array([first, second, math.log(max(width - _NARROWEST, 1e-3)), last][: self._steps])

    def code_plan(self, plan: Plan) -> Floats:
        """The numbers behind a plan for a census of another size: locating takes as many nats."""
        shares, grown = plan.shares, self.planner.census.profile.total / plan.census.profile.total
        center, scale = (float(shares[name]) / grown for name in ("center", "scale"))
        weights = shares.get("weights", Fraction(0))
        return self.code(center, scale, plan.clip_width, float(weights / (weights + shares["sum"])))


def _least(cost: Callable[[Floats], float], start: Floats, steps: tuple[float, float, float]) -> Any:
    """Where the cost is least, from a first step to what differences no longer matter in place and in cost."""
    first, place, difference = steps
    simplex = np.vstack([start, start + first * np.eye(start.size)])
    options: Any = {"xatol": place, "fatol": difference, "maxiter": 220, "initial_simplex": simplex}
    return minimize(cost, start, method="Nelder-Mead", options=options)
