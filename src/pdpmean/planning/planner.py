"""Planner: the choices of least predicted error.

It chooses the shares of the budget and the clip width whose forecast has the smallest error, with room for the chance
that `locate` misses. How it searches is each shape's own: `gaussian.py`, `any_shape.py`, `known_bounds.py`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from pdpmean.core.choices import SHARE_UNIT, floor_share
from pdpmean.core.options import Options
from pdpmean.core.whose import AUTO, Whose
from pdpmean.planning.forecast import LARGEST_SAMPLE, Forecast, Forecaster
from pdpmean.planning.levels import MOST_LEVELS, LevelsFor, Weighed
from pdpmean.planning.plan import Plan, Shares
from pdpmean.planning.prediction import Sums

__all__ = ["Planner"]

_SQUARES_PART, _SQUARES_NATS = 0.02, 10.0  # what the sum of the squared weights may use, at most
# Every level takes time to sum. With so many people, noise is next to nothing however coarsely they are told apart.
_MANY_PEOPLE, _FEW_LEVELS = 3e6, 3
_MOST_TIMES = 2.0**30  # the people there are, in the search for how many would be enough
_ABOUT = 1.02  # what a needed total is raised by, since the least error is found only about


@dataclass(frozen=True)
class Planner(Forecaster):
    """One planning problem: what the forecasts are for, and the part of every budget to share out."""

    share: Fraction = Fraction(1)
    whose: Whose = AUTO
    most_levels: int = MOST_LEVELS

    sampled_in_groups: ClassVar[int] = LARGEST_SAMPLE
    """Records that `locate` may look at in all groups together."""
    too_little: ClassVar[str] = ""
    """Why a plan is refused, though the population would be found."""

    @staticmethod
    @abstractmethod
    def check(options: Options) -> None:
        """Raise if these options are not for this shape."""

    @abstractmethod
    def best(self, near: Plan | None = None) -> Plan:
        """The plan of least predicted error; hardly worse, if one is given for a census much like this one."""

    def or_better(self) -> Planner:
        """The planner itself, or that of another shape which suits what is publicly known better."""
        return self

    def is_wide_enough(self, plan: Plan) -> bool:  # noqa: ARG002 (most shapes ask for no more than to be found)
        """Whether the budget carries what this shape needs beside finding the population."""
        return True

    def needed_total(self) -> float:
        """About the least total budget, with this profile and more or fewer people, that would not be refused."""
        low, high = 1.0, 1.0
        while low > 1 / _MOST_TIMES and self.with_people(low):
            low, high = low / 2, low
        while not self.with_people(high):
            low, high = high, 2 * high
            if high > _MOST_TIMES:
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
        """Whether the population will be found, and all that its shape needs."""
        return plan.allows(self.choices.max_ratio, self.choices.max_failure) and self.is_wide_enough(plan)

    def census_shares(self, room: float) -> dict[str, float]:
        """The shares that private budgets ask for: of the census, and of the squared weights if they are not known."""
        if not self.census.is_noisy:
            return {}
        shares = {"census": float(self.census.share)}
        low, high = self.model.budget_range or (0.0, math.inf)
        if low < high and self.whose.weighting == "budgets":
            shares["weight_squares"] = min(_SQUARES_PART * self.left, _SQUARES_NATS / self.useful_total, room / 8)
        return shares

    def with_sum(self, shares: dict[str, float]) -> dict[str, float]:
        """These shares, and what they leave for the sum."""
        return {**shares, "sum": float(self.share) - sum(shares.values())}

    def plan(self, shares: dict[str, float], width: float, *, spare: bool) -> Plan:
        """The plan with these shares, made exact, and the rest for the sum."""
        exact = self.exact(shares)
        forecast = self.forecast({name: float(part) for name, part in exact.items()}, width, spare=spare)
        weighed = self.weighed(forecast, float(exact["sum"]))
        return Plan(
            **vars(self.with_sums(forecast, weighed.sums)),
            model=self.model,
            shares=Shares(exact),
            census=self.census,
            choices=self.choices,
            whose=self.whose,
            weighed=weighed,
        )

    def exact(self, shares: dict[str, float]) -> dict[str, Fraction]:
        """These shares as fractions, none of them nothing, and the rest for the sum."""
        exact = {name: max(floor_share(part), Fraction(1, SHARE_UNIT)) for name, part in shares.items()}
        exact["sum"] = self.share - sum(exact.values())
        return exact

    def weighed(self, forecast: Forecast, share: float) -> Weighed:
        """Who counts how much, by what a single sum by budgets is forecast to come to."""
        levels = LevelsFor(
            profile=self.census.profile,
            model=self.model,
            share=share,
            cap=forecast.weight_cap,
            tiers=self.whose.tiers,
            most=min(self.most_levels, _FEW_LEVELS) if self.census.profile.people > _MANY_PEOPLE else self.most_levels,
            largest=self.largest_weight(share),
        )
        noise_std = self.noise_in_deviations(forecast)
        return levels.weighed(self.whose, forecast.mean, noise_std, self.efficiency(forecast))

    def noise_in_deviations(self, forecast: Forecast) -> float:
        """The noise (std) of a sum of one nat, in standard deviations of the values."""
        return forecast.noise_std / forecast.sampling_std * math.sqrt(forecast.mean.square)

    def with_sums(self, forecast: Forecast, sums: Sums) -> Forecast:
        """The forecast if weights add up to this instead."""
        before = forecast.mean
        sampling = math.sqrt(sums.square / before.square) * before.weight / sums.weight
        return replace(
            forecast,
            mean=sums,
            noise_scale=forecast.noise_scale * before.weight / sums.weight,
            sampling_std=forecast.sampling_std * sampling,
        )

    def efficiency(self, forecast: Forecast) -> float:  # noqa: ARG002 (of the plain mean it is all)
        """Of what the mean of the people in the table owes to who they are, the part that the estimate follows."""
        return 1.0

    @cached_property
    def left(self) -> float:
        """What the census left of the share."""
        return float(self.share - self.census.share)
