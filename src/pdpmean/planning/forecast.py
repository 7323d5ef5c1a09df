"""Forecast: what shares of the budget and a clip width lead to, in plain doubles, before a value is read.

The error of the mean is Laplace noise plus sampling, a little larger because centre and scale are themselves estimates.
All errors are in units of the population's standard deviation or, for any shape between two known bounds, in the
values' own. The formulas are in docs/how-it-works.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from pdpmean.core.bounds import Bounds
from pdpmean.core.checks import check_probability
from pdpmean.core.choices import Choices, ShapeName
from pdpmean.core.model import Model
from pdpmean.core.profile import Profile
from pdpmean.core.quiet import quietly
from pdpmean.core.weights import locating_weights
from pdpmean.laws.error_law import half_width
from pdpmean.planning.census import Buckets, Census
from pdpmean.planning.prediction import Sums, miss_probability

__all__ = [
    "KEEP_ALL",
    "LARGEST_SAMPLE",
    "LARGEST_WEIGHT",
    "LOCATING_STEPS",
    "NOBODY",
    "OUT_OF_REACH",
    "ClipEffect",
    "Forecast",
    "Forecaster",
    "Located",
    "Locating",
    "LocatingForecaster",
    "weighed",
]

_ALL_UP_TO, LARGEST_SAMPLE = 16_000, 50_000  # of more records than the first `locate` looks at a sample
KEEP_ALL = 2.0**900  # a density of keeping at which nobody is dropped
LARGEST_WEIGHT = 50.0  # nats: a record that may cost this much is as good as public
_LOCATE_CONSTANT = 64.0  # saturation of the locating weights; the optimum is flat
# Of the noisy total, so many standard deviations may not be there, for the chance of a miss; by simulation. And so much
# of the locating weights is counted on where the census says next to nothing.
_DOUBTED, _LEAST_SURE = 1.25, 0.05
OUT_OF_REACH = 2.0**100  # nats; finite, since budgets may be infinite
LOCATING_STEPS = ("center", "scale", "histogram")  # what `locate` may have shares for
NOBODY = Sums(0.0, 0.0)  # where nobody is looked at


@dataclass(frozen=True)
class Forecast:
    """How good an estimate will be, and the numbers that it rests on."""

    shape: ShapeName
    bounds: Bounds
    clip_width: float
    """Values are clipped so far from the centre, in the unit of the errors."""
    locate_cap: float
    weight_cap: float
    spared_from: float
    """Weight in the sum above which a record's unspent share goes to `locate`: the cap, or out of reach."""
    thinning: float
    center: Sums
    scale: Sums
    mean: Sums
    sure: float
    """The part of the locating weights to count on, for the worst budgets that a noisy census may stand for."""
    noise_scale: float
    """Of Laplace noise with the predicted standard deviation."""
    sampling_std: float
    """Predicted standard deviation of the error due to who is in the sample."""
    prior_of_center: float
    """The part of the prior by which the centre is sought among all doubles; the rest is for round numbers."""
    scale_may_miss: bool
    """Whether the scale is sought among all doubles, and so may be missed as the centre may."""
    needs_locating: bool
    """Whether the population must first be found; between known bounds it need not."""
    in_deviations: bool
    """Whether errors are in standard deviations of the population.

    If not, they are in the values' own unit, for values that fill two known bounds (`shapes_between`).
    """

    @property
    def noise_std(self) -> float:
        """Predicted standard deviation of the noise."""
        return math.sqrt(2) * self.noise_scale

    @property
    def expected_std(self) -> float:
        """Predicted standard deviation of the error."""
        return math.hypot(self.noise_std, self.sampling_std)

    def half_width(self, level: float = 0.95) -> float:
        """Predicted half width of the confidence interval."""
        return half_width(check_probability("level", level), self.noise_scale, self.sampling_std)

    @property
    def effective_records(self) -> float:
        """How many equally weighted records would have the same sampling error."""
        return self.mean.weight**2 / self.mean.square

    @quietly
    def failure_probability(self, ratio: float = 1e4) -> float:
        """The chance that `locate` misses, for a mean `ratio` standard deviations from 0 (or bounds so wide)."""
        if self.center == NOBODY:
            return 0.0
        return miss_probability(
            self.center.scaled(self.sure),
            self.scale.scaled(self.sure) if self.scale_may_miss else None,
            ratio,
            prior=self.prior_of_center,
            within_bounds=self.bounds.are_both_known,
        )

    def allows(self, ratio: float = 1e4, chance: float = 0.05) -> bool:
        """Whether an answer is to be expected for such a mean."""
        return self.failure_probability(ratio) <= chance


class ClipEffect(NamedTuple):
    """What clipping does to a population of standard deviation 1, and to the best cap on the weights."""

    variance: float
    slope: float
    """How much the clipped mean moves when the population moves by 1."""
    cap_constant: float
    """The cap on the weights minimises ``(sum w**2 + cap_constant) / (sum w)**2``."""


class Located(NamedTuple):
    """What `locate` rests on: the cap on its weights, how densely records are kept, sums, what to count on of them."""

    cap: float
    density: float
    sums: Sums
    sure: float


@dataclass(frozen=True)
class Forecaster(ABC):
    """Forecasts for one census; a shape of population says what is its own."""

    census: Census
    model: Model
    bounds: Bounds
    choices: Choices
    room: int = LARGEST_SAMPLE
    """How many records `locate` may look at, about."""

    shape: ClassVar[ShapeName]
    needs_locating: ClassVar[bool]
    """See `Forecast.needs_locating`."""

    @abstractmethod
    def forecast(self, shares: Mapping[str, float], width: float, *, spare: bool) -> Forecast:
        """What these shares lead to, and a clip so wide to either side; and to `spare` what is capped."""

    @cached_property
    def useful_total(self) -> float:
        """What the allowances add up to, none counted beyond where more no longer helps."""
        profile = self.census.profile
        tau = min(profile.saturation(100 * _LOCATE_CONSTANT)[0], LARGEST_WEIGHT)
        return profile.capped_sums(tau)[0]

    def averaging(self, share: float, constant: float) -> tuple[float, Sums]:
        """The cap on the weights ``share * allowance`` that minimises the variance, and the sums it leaves."""
        profile = self.census.profile
        cap = profile.saturation(constant, share)[0]
        cap = self.largest_weight(share) if self.choices.saturation else min(cap, LARGEST_WEIGHT)
        return cap, Sums(*profile.capped_sums(cap, share))

    def largest_weight(self, share: float) -> float:
        """No record weighs more in a sum with this share, by choice or since more would not help."""
        if not self.choices.saturation:
            return LARGEST_WEIGHT
        return min(self.choices.saturation / self.model.budget_per_allowance * share, LARGEST_WEIGHT)

    @property
    def noise_of_sums(self) -> float:
        """The scale of the noise of a clipped mean, in halves of the clip per nat.

        Private totals are the sum of what lies to either side of the middle, whose noise is twice in the mean.
        """
        return math.sqrt(2) if self.census.is_noisy else 1.0


@dataclass(frozen=True)
class Locating(Forecaster):
    """Forecasts of a population of which a sample must first be looked at, in units of its standard deviation."""

    needs_locating = True
    fewest_sampled: ClassVar[int]
    """Of more than 16,000 records, `locate` looks at so many at least."""
    sampled_per_root: ClassVar[float]
    """And at so many times the root of all."""

    def locating(self, shares: Mapping[str, float], spared_from: float) -> Located:
        """What `locate` rests on, with these shares."""
        rule = sum(shares.get(name, 0.0) for name in LOCATING_STEPS), shares["sum"], spared_from
        profile, share = weighed(self.census.profile, *rule)
        largest = float(locating_weights(self.census.largest(self.model), *rule))
        # At most the largest weight, since coins are soon decided where no rate is large.
        cap = min(profile.saturation(_LOCATE_CONSTANT, share)[0], LARGEST_WEIGHT, largest)
        weight, square = profile.capped_sums(cap, share)
        people = profile.people
        sample = min(self._wanted(people), self.room)
        density = sample / weight if people > sample else KEEP_ALL
        # A sample of so many records has no smaller relative squared weight.
        sums = Sums(weight, max(square, weight**2 / sample))
        least = _least_weight(self.census.buckets, self.census.doubt, cap, rule) if self.census.buckets else weight
        return Located(cap, density, sums, min(max(least / weight, _LEAST_SURE), 1.0))

    def _wanted(self, people: float) -> float:
        """How many of so many records `locate` looks at, if there is room."""
        return people if people <= _ALL_UP_TO else max(self.fewest_sampled, self.sampled_per_root * math.sqrt(people))


@dataclass(frozen=True)
class LocatingForecaster(Locating):
    """Forecasts of a population that is found by a centre and a scale, and clipped by as many of the latter."""

    scale_may_miss: ClassVar[bool]

    @abstractmethod
    def clip_effect(self, width: float) -> ClipEffect:
        """What a clip of so many standard deviations does."""

    @abstractmethod
    def locating_error(self, center: Sums, scale: Sums, mean: Sums, width: float) -> float:
        """The error that reaches the mean from centre and scale being estimates."""

    def forecast(self, shares: Mapping[str, float], width: float, *, spare: bool) -> Forecast:
        """What these shares lead to, and a clip of so many standard deviations; and to `spare` what is capped."""
        effect = self.clip_effect(width)
        weight_cap, mean = self.averaging(shares["sum"], effect.cap_constant)
        spared_from = weight_cap if spare else OUT_OF_REACH
        located = self.locating(shares, spared_from)
        parts = [shares[name] / (shares["center"] + shares["scale"]) for name in ("center", "scale")]
        center, scale = (located.sums.scaled(part) for part in parts)
        sampling = math.sqrt(effect.variance * mean.square) / (effect.slope * mean.weight)
        return Forecast(
            shape=self.shape,
            bounds=self.bounds,
            clip_width=width,
            locate_cap=located.cap,
            weight_cap=weight_cap,
            spared_from=spared_from,
            thinning=located.density,
            center=center,
            scale=scale,
            mean=mean,
            sure=located.sure,
            noise_scale=width / (effect.slope * mean.weight),
            sampling_std=math.hypot(sampling, self.locating_error(center, scale, mean, width)),
            prior_of_center=1.0,
            scale_may_miss=self.scale_may_miss,
            needs_locating=self.needs_locating,
            in_deviations=True,
        )


def _least_weight(buckets: Buckets, doubt: float, cap: float, rule: tuple[float, float, float]) -> float:
    """What all records weigh in `locate`, if the budgets in each bucket are the worst there may be.

    The weight over the budget first grows with it, as more is left, and falls beyond the cap: it is least at an end.
    And some of the budget, if it is noise, may not be there: of that which weighs most.
    """
    ends = np.array([buckets.lows, buckets.highs])
    worth = np.min(np.minimum(locating_weights(ends, *rule), cap) / ends, axis=0)
    order = np.argsort(-worth)
    there = np.diff(np.maximum(np.cumsum(buckets.sums[order]) - _DOUBTED * doubt, 0.0), prepend=0.0)
    return float((there * worth[order]).sum())


def weighed(profile: Profile, share: float, sum_share: float, spared_from: float) -> tuple[Profile, float]:
    """The people, and a share: that of their level is what they may cost in `locate`."""
    if spared_from >= OUT_OF_REACH:
        return profile, share
    return Profile(locating_weights(profile.levels, share, sum_share, spared_from), profile.counts), 1.0
