"""`Planner`: the base class that turns forecasts into the plan of least predicted error.

A planner chooses the shares of the budget and the clip, so that the predicted error is small and `locate` rarely
misses. How it searches depends on the shape: see `gaussian.py`, `any_shape.py` and `known_bounds.py`. What all shapes
have in common is here: exact shares, the weighting of people, and the budget that would be enough.
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
from pdpmean.planning.levels import MOST_LEVELS, ChosenWeighting, LevelsFor
from pdpmean.planning.plan import Plan, Shares
from pdpmean.planning.prediction import WeightSums

__all__ = ["Planner"]

# The sum of the squared weights gets at most this part of the share, and at most this many nats.
_SQUARES_PART, _SQUARES_NATS = 0.02, 10.0
# With more people than this, there are few levels: each takes time to sum, and noise is negligible even with few.
_MANY_PEOPLE, _FEW_LEVELS = 3e6, 3
_LARGEST_FACTOR = 2.0**30  # the search for enough people ends at this many times those at hand
_SAFETY = 1.02  # the factor by which a needed total is raised, since the search for the best plan is approximate


@dataclass(frozen=True)
class Planner(Forecaster):
    """One planning problem: the census and options that forecasts are for, and the share of every budget to divide."""

    share: Fraction = Fraction(1)
    """The share of every budget that all steps together may use."""
    whose: Whose = AUTO
    """The requested target and weighting."""
    most_levels: int = MOST_LEVELS

    sampled_in_groups: ClassVar[int] = LARGEST_SAMPLE
    """The number of records that `locate` may look at in all groups together."""
    too_little: ClassVar[str] = ""
    """The reason, in words, to refuse a plan although the population would be located."""

    @staticmethod
    @abstractmethod
    def check(options: Options) -> None:
        """Raise if these options do not apply to this shape."""

    @abstractmethod
    def best(self, near: Plan | None = None) -> Plan:
        """The plan of least predicted error; if a plan for a similar census is given, its choices may be reused."""

    def or_better(self) -> Planner:
        """The same planner, or that of another shape if it makes better use of the known bounds."""
        return self

    def has_enough_budget(self, plan: Plan) -> bool:  # noqa: ARG002 (most shapes need nothing else)
        """Whether the budget is enough for what this shape needs apart from locating the population."""
        return True

    def needed_total(self) -> float:
        """The approximate total budget that would be enough, from more or fewer people with the same profile."""
        # Factors of the number of people. After both loops, `low` is refused (or next to 0), and `high` is accepted.
        low, high = 1.0, 1.0
        while low > 1 / _LARGEST_FACTOR and self.with_people(low):
            low, high = low / 2, low
        while not self.with_people(high):
            low, high = high, 2 * high
            if high > _LARGEST_FACTOR:
                return math.inf
        for _ in range(6):
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.with_people(middle) else (middle, high)
        return _SAFETY * high * self.census.profile.total * self.model.budget_per_allowance

    def with_people(self, factor: float) -> Plan | None:
        """The plan for `factor` times as many people; None where it would be refused."""
        plan = replace(self, census=self.census.times(factor)).best()
        return plan if self.accepts(plan) else None

    def accepts(self, plan: Plan) -> bool:
        """Whether the population will be located, and whatever else its shape needs is there."""
        return plan.allows(self.choices.max_ratio, self.choices.max_failure) and self.has_enough_budget(plan)

    def census_shares(self, room: float) -> dict[str, float]:
        """The shares that only private budgets need: for the census and, if weights differ, for their squares.

        `room` is the share that is left for the squared weights and the sums together.
        """
        if not self.census.is_noisy:
            return {}
        shares = {"census": float(self.census.share)}
        low, high = self.model.budget_range or (0.0, math.inf)
        if low < high and self.whose.weighting == "budgets":
            largest = _SQUARES_PART * self.share_after_census
            shares["weight_squares"] = min(largest, _SQUARES_NATS / self.useful_total, room / 8)
        return shares

    def with_sum(self, shares: dict[str, float]) -> dict[str, float]:
        """These shares, with the rest for the sum."""
        return {**shares, "sum": float(self.share) - sum(shares.values())}

    def plan(self, shares: dict[str, float], width: float, *, spare: bool) -> Plan:
        """The plan with these shares, made exact, and the rest for the sum; arguments as for `forecast`."""
        exact = self.exact(shares)
        forecast = self.forecast({name: float(part) for name, part in exact.items()}, width, spare=spare)
        weighting = self.chosen_weighting(forecast, float(exact["sum"]))
        return Plan(
            **vars(self.with_sums(forecast, weighting.sums)),
            model=self.model,
            shares=Shares(exact),
            census=self.census,
            choices=self.choices,
            whose=self.whose,
            chosen_weighting=weighting,
        )

    def exact(self, shares: dict[str, float]) -> dict[str, Fraction]:
        """These shares as exact positive fractions, with the rest for the sum."""
        exact = {name: max(floor_share(part), Fraction(1, SHARE_UNIT)) for name, part in shares.items()}
        exact["sum"] = self.share - sum(exact.values())
        return exact

    def chosen_weighting(self, forecast: Forecast, share: float) -> ChosenWeighting:
        """The weighting to use, given the forecast for a single sum and the share of the sum."""
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
        return levels.chosen_weighting(self.whose, forecast.mean, noise_std, self.efficiency(forecast))

    def noise_in_deviations(self, forecast: Forecast) -> float:
        """The noise (std) of a sum of one nat, in standard deviations of the values."""
        return forecast.noise_std / forecast.sampling_std * math.sqrt(forecast.mean.square)

    def with_sums(self, forecast: Forecast, sums: WeightSums) -> Forecast:
        """The forecast with these weights in the sums instead."""
        before = forecast.mean
        sampling_factor = math.sqrt(sums.square / before.square) * before.weight / sums.weight
        return replace(
            forecast,
            mean=sums,
            noise_scale=forecast.noise_scale * before.weight / sums.weight,
            sampling_std=forecast.sampling_std * sampling_factor,
        )

    def efficiency(self, forecast: Forecast) -> float:  # noqa: ARG002 (without clipping, it is 1)
        """The part of the sampling variance of the plain mean that the estimate shares."""
        return 1.0

    @cached_property
    def share_after_census(self) -> float:
        """The share that is left after the census."""
        return float(self.share - self.census.share)
