"""Plan: every choice of an estimate, made from public numbers before a value is read.

The error of the mean is Laplace noise plus sampling, a little larger because centre and scale are themselves estimates.
The plan predicts it, in units of the population's standard deviation, and chooses the shares of the budget, the clip
width and the saturation that make it smallest, with room for the chance that `locate` misses. The formulas are in
docs/how-it-works.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, ndtri

from pdpmean.bounds import lower_bound
from pdpmean.census import CENSUS_PART, Census, expected_census
from pdpmean.choices import (
    SHARE_UNIT,
    SMALLEST_SHARE,
    Choices,
    ShapeName,
    check_choices,
    check_shape,
    check_share,
    check_support,
    floor_share,
)
from pdpmean.clipped_normal import clipped_variance, inside
from pdpmean.errors import InsufficientBudgetError, InvalidInputError
from pdpmean.interval import half_width
from pdpmean.model import Model, make_model
from pdpmean.planned import Plan, Shares
from pdpmean.prediction import Sums, product_error
from pdpmean.profile import Profile
from pdpmean.read import Columns, read_people
from pdpmean.sources import Progress, Source

__all__ = ["Plan", "PlanOptions", "Shares", "make_plan", "plan_groups", "plan_mean", "with_people"]

_SAMPLE = 50_000  # about so many records `locate` looks at, at most
_GROUP_SAMPLE = 4_000  # at least so many in each group, where there are groups
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


def plan_mean(
    budgets: Any,
    *,
    budget: str | None = None,
    tiers: Mapping[Any, float] | None = None,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    shape: ShapeName = "gaussian",
    support: tuple[float, float] | None = None,
    share: float | Fraction = 1,
    choices: Choices | None = None,
    progress: Progress | None = None,
) -> Plan:
    """The plan for these budgets: what to expect before any value is read. Errors are in standard deviations.

    Parameters
    ----------
    budgets
        One budget a person, or how many people hold which: ``{0.1: 5400, 0.5: 3700, 1.0: 900}``. With `tiers`, names
        stand for budgets in either. Or a table, as for `estimate_mean`.
    budget
        The name of the column of budgets, if a table is given; no other is read.
    tiers
        The budget of each tier, by name.
    model, budget_range, shape, support, share, choices, progress
        As for `estimate_mean`.

    Raises
    ------
    InsufficientBudgetError
        No answer can be expected; says what would suffice.

    """
    chosen = make_model(model, budget_range)
    whole = check_share(share)
    people = read_people(budgets, Columns(budget=budget, tiers=tiers), chosen)
    if isinstance(people, Source):
        people.watch(progress, counted=True)
    census = expected_census(people, chosen, floor_share(CENSUS_PART * whole))
    return make_plan(census, chosen, check_shape(shape), check_support(support), whole, check_choices(choices))


def make_plan(
    census: Census,
    model: Model,
    shape: ShapeName,
    support: tuple[float, float] | None,
    share: Fraction,
    choices: Choices,
    *,
    sample: int = _SAMPLE,
) -> Plan:
    """The best plan for a census, refused where `locate` would miss too often; it looks at about `sample` records."""
    if census.profile.levels.size == 0:
        raise InsufficientBudgetError(
            "nobody grants any budget, so nothing can be said about the mean",
            total=0.0,
            needed=math.inf,
            failure_probability=1.0,
        )
    left = share - census.share - SMALLEST_SHARE
    chosen = (choices.center_share or 0) + (choices.scale_share or 0)
    if chosen and chosen > left:
        raise InvalidInputError(
            f"center_share and scale_share must leave something to average; together at most {float(left):g}",
            name="center_share",
        )
    if shape == "any" and (choices.center_share or choices.scale_share or choices.clip_width):
        raise InvalidInputError(
            "center_share, scale_share and clip_width are choices for shape='gaussian' alone",
            name="choices",
            value=choices,
        )
    planner = _Planner(census, model, shape, support, share, choices, sample)
    plan = planner.best()
    chance = plan.failure_probability(choices.max_ratio)
    if chance > choices.max_failure or (shape == "any" and plan.scale.weight < _ANY_LEAST):
        needed = planner.needed_total()
        reason = (
            f"the chance not to find the population is {chance:.2g}, allowed {choices.max_failure:g}"
            if chance > choices.max_failure
            else "too little for the width of a population of any shape"
        )
        hint = ", or a support=(low, high) known to hold the population" if not support and shape == "gaussian" else ""
        if share < 1:
            hint = f", a share above {float(share):.3g}{hint}"
        raise InsufficientBudgetError(
            f"a total budget of {'about ' if census.share else ''}{plan.total:,.0f} cannot carry an answer ({reason}). "
            f"About {needed:,.0f} would: more people or larger budgets{hint}",
            total=plan.total,
            needed=needed,
            failure_probability=chance,
        )
    return plan


class PlanOptions(NamedTuple):
    """What a plan is made with, beside a census; as `make_plan` takes it."""

    model: Model
    shape: ShapeName
    support: tuple[float, float] | None
    share: Fraction
    choices: Choices


def plan_groups(censuses: Sequence[Census], options: PlanOptions) -> list[Plan | InsufficientBudgetError]:
    """The best plan of each group, or why it is refused."""
    sample = max(_SAMPLE // len(censuses), min(_GROUP_SAMPLE, _SAMPLE))

    def outcome(census: Census) -> Plan | InsufficientBudgetError:
        try:
            return make_plan(census, *options, sample=sample)
        except InsufficientBudgetError as refusal:
            return refusal

    return [outcome(census) for census in censuses]


def with_people(plan: Plan, factor: float) -> Plan | None:
    """The plan for `factor` times as many people who grant the same budgets; None where it would be refused."""
    share = sum(plan.shares.values(), Fraction(0))
    return _Planner(plan.census, plan.model, plan.shape, plan.support, share, plan.choices).with_people(factor)


@dataclass(frozen=True)
class _Planner:
    """One planning problem."""

    census: Census
    model: Model
    shape: ShapeName
    support: tuple[float, float] | None
    share: Fraction
    choices: Choices
    sample: int = _SAMPLE

    def best(self) -> Plan:
        """The plan of least predicted error."""
        if self.shape == "any":
            return self._any_plan()
        return self._gaussian_plan(self._optimise())

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
        enough = self.shape == "gaussian" or plan.scale.weight >= _ANY_LEAST
        return plan if enough and plan.allows(self.choices.max_ratio, self.choices.max_failure) else None

    @cached_property
    def _bound(self) -> float:
        return _lower_bound(self.census.profile, self.model)

    @cached_property
    def _useful_total(self) -> float:
        """What the allowances add up to, none counted beyond where more no longer helps."""
        profile = self.census.profile
        tau = min(profile.saturation(100 * _LOCATE_CONSTANT)[0], _LARGEST_WEIGHT)
        return profile.capped_sums(tau)[0]

    def _optimise(self) -> list[float]:
        """Center share, scale share, clip width and, if unbounded, the part of the rest for the weights."""
        left = float(self.share - self.census.share)
        beside_center, beside_scale = left - (self.choices.center_share or 0), left - (self.choices.scale_share or 0)
        steps = 4 if self.census.share else 3

        least = min(_SYMMETRY_PART * beside_scale, _SYMMETRY_NATS / self._useful_total)

        def decode(coded: ArrayLike) -> list[float]:
            z = np.clip(coded, [-8, -8, -6, -5][:steps], [6, 6, 1.6, 6][:steps]).tolist()
            decoded = [
                self.choices.center_share or max(beside_scale * _LARGEST_LOCATE * float(expit(z[0])), least),
                self.choices.scale_share or beside_center * _LARGEST_LOCATE * float(expit(z[1])),
                self.choices.clip_width or _NARROWEST + math.exp(z[2]),
            ]
            return [*decoded, _LARGEST_WEIGHTS * float(expit(z[3]))] if steps == 4 else decoded

        def cost(coded: ArrayLike) -> float:
            plan = self._gaussian_plan(decode(coded))
            error = half_width(0.75, plan.noise_scale, plan.sampling_std)
            return math.log(error + plan.failure_probability(self.choices.max_ratio))

        def code(center: float, scale: float) -> list[float]:
            rooms = ((center, beside_scale), (scale, beside_center))
            parts = [min(max(part / room / _LARGEST_LOCATE, 1e-3), 0.98) for part, room in rooms]
            return [*(math.log(part / (1 - part)) for part in parts), -0.3, -1.6][:steps]

        levels = self.census.profile.levels
        total = self._useful_total
        starts = [code(55 / total, 35 / total)]
        if levels[-1] > 30 * np.median(levels):
            starts += [code(0.02 * left, 0.02 * left), code(0.15 * left, 0.1 * left)]
        found = [
            minimize(
                cost,
                start,
                method="Nelder-Mead",
                options={
                    "xatol": 0.02,
                    "fatol": 3e-4,
                    "maxiter": 220,
                    "initial_simplex": np.vstack([start, np.array(start) + 0.5 * np.eye(steps)]),
                },
            )
            for start in starts
        ]
        return decode(min(found, key=lambda one: float(one.fun)).x)

    def _gaussian_plan(self, chosen: list[float]) -> Plan:
        center, scale = (max(floor_share(part), Fraction(1, SHARE_UNIT)) for part in chosen[:2])
        left = self.share - self.census.share
        room = left - center - scale
        check = floor_share(min(_CHECK_PART * float(left), _CHECK_NATS / self._useful_total, float(room) / 4))
        check = max(check, Fraction(1, SHARE_UNIT))
        part = chosen[3] if self.census.share else 0.0
        shares = {**self._for_weights(float(room - check), part), "center": center, "scale": scale, "check": check}
        width = chosen[2]
        variance, slope = float(clipped_variance(width)), float(inside(width))
        return self._plan(shares, width, 2 * width**2 / variance, slope, variance)

    def _any_plan(self) -> Plan:
        left = self.share - self.census.share
        total = self._useful_total
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
            squares = floor_share(min(_SQUARES_PART * left, _SQUARES_NATS / self._useful_total, room / 8))
            shares["weight_squares"] = max(squares, Fraction(1, SHARE_UNIT))
        return shares

    def _plan(self, shares: dict[str, Fraction], width: float, constant: float, slope: float, variance: float) -> Plan:
        """A plan with these shares and the rest for the sum, its caps and predictions filled in."""
        shares = {**shares, "sum": self.share - sum(shares.values())}
        locating = float(shares["center"] + shares["scale"])
        locate_cap, located = self._capped(locating, _LOCATE_CONSTANT)
        thinning = self.sample / located.weight if self.census.profile.people > self.sample else _KEEP_ALL
        # A sample of so many records has no smaller relative squared weight.
        located = Sums(located.weight, max(located.square, located.weight**2 / self.sample))
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
            lower_bound=self._bound,
            census=self.census,
            choices=self.choices,
        )

    def _capped(self, share: float, constant: float) -> tuple[float, Sums]:
        """The cap on the weights ``share * allowance`` that minimises the variance, and the sums it leaves."""
        cap = min(self.census.profile.saturation(constant / share**2)[0] * share, _LARGEST_WEIGHT)
        return cap, self._sums(share, cap)

    def _sums(self, share: float, cap: float) -> Sums:
        weight, square = self.census.profile.capped_sums(cap / share)
        return Sums(weight * share, square * share**2)


def _lower_bound(profile: Profile, model: Model) -> float:
    """The bound for this profile, which is hardly changed by rounding how many hold at most so much."""
    people = np.diff(np.rint(np.cumsum(profile.counts)), prepend=0.0)
    budgets = profile.levels * model.budget_per_allowance
    return lower_bound({float(budgets[j]): int(people[j]) for j in np.flatnonzero(people)}, model=model.name)
