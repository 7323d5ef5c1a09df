"""Forecast: the error to expect from given shares of the budget and a given clip, before any value is read.

A planner compares many forecasts, so they are plain doubles and quick to compute; only the best becomes a `Plan` with
exact shares. The error of the mean is Laplace noise plus sampling error, slightly larger because centre and scale are
themselves estimates. All errors are in standard deviations of the population or, for any shape between two known
bounds, in the unit of the values. The formulas are in docs/how-it-works.md.
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
from pdpmean.planning.prediction import WeightSums, miss_probability

__all__ = [
    "KEEP_ALL",
    "LARGEST_SAMPLE",
    "LARGEST_WEIGHT",
    "LOCATING_STEPS",
    "NOBODY",
    "ONE_IN_FOUR",
    "OUT_OF_REACH",
    "CenterAndScaleForecaster",
    "ClipEffect",
    "Forecast",
    "Forecaster",
    "LocatingForecaster",
    "costs_in_locate",
]

_ALL_UP_TO = 16_000  # records: of more, `locate` looks at a sample
LARGEST_SAMPLE = 50_000  # records in that sample, about
KEEP_ALL = 2.0**900  # a density so large that every record is kept with probability 1
LARGEST_WEIGHT = 50.0  # nats: a record with this privacy loss is as good as public
_LOCATE_CONSTANT = 64.0  # the constant of `Profile.saturation` for the weights in `locate`; the optimum is flat
# The total of a noisy census may be too large by this many standard deviations, when the probability of a miss is
# predicted; by simulation.
_OVERRATED_DEVIATIONS = 1.25
_LEAST_CERTAIN = 0.05  # the smallest part of the weights in `locate` to rely on, however noisy the census
OUT_OF_REACH = 2.0**100  # nats that no weight reaches; finite, since budgets may be infinite
LOCATING_STEPS = ("center", "scale", "histogram")  # the steps of `locate`, each of which may have a share
ONE_IN_FOUR = 0.75
"""The quantile of the error at which the lower bound is stated: one run in four errs by more."""
NOBODY = WeightSums(0.0, 0.0)  # the weights of a step that looks at no records


@dataclass(frozen=True)
class Forecast:
    """The predicted accuracy of an estimate, and the numbers that the prediction rests on."""

    shape: ShapeName
    bounds: Bounds
    clip_half_width: float
    """Half the width of the clip, in the unit of the errors."""
    locate_cap: float
    """The largest weight of a record in `locate`, in nats."""
    weight_cap: float
    """The largest weight of a record in a single sum, in nats."""
    spared_from: float
    """Weight in the sum above which a record's unspent share goes to `locate`: the cap, or `OUT_OF_REACH`."""
    keep_density: float
    """The density with which `locate` keeps records: the probability is this times the weight, at most 1."""
    center: WeightSums
    """The weights behind the located centre."""
    scale: WeightSums
    """The weights behind the located scale, or the histogram."""
    mean: WeightSums
    """The weights behind the mean."""
    certain_part: float
    """The part of the weights in `locate` to rely on, for the worst budgets that are consistent with a noisy census."""
    noise_scale: float
    """The scale of Laplace noise that has the predicted standard deviation."""
    sampling_std: float
    """The predicted standard deviation of the sampling error."""
    prior_of_center: float
    """The part of the centre's prior that is spread over all doubles; the rest is for round numbers."""
    scale_may_miss: bool
    """Whether the scale is sought among all doubles, so that it may be missed like the centre."""
    needs_locating: bool
    """Whether the population must be located first, which is not necessary between known bounds."""
    in_deviations: bool
    """Whether errors are in standard deviations of the population.

    If not, they are in the unit of the values, for values that fill two known bounds (`shapes_between`).
    """

    @property
    def noise_std(self) -> float:
        """The predicted standard deviation of the noise."""
        return math.sqrt(2) * self.noise_scale

    @property
    def expected_std(self) -> float:
        """The predicted standard deviation of the whole error."""
        return math.hypot(self.noise_std, self.sampling_std)

    def half_width(self, level: float = 0.95) -> float:
        """The predicted half width of the confidence interval at this level."""
        return half_width(check_probability("level", level), self.noise_scale, self.sampling_std)

    @property
    def effective_records(self) -> float:
        """The number of equally weighted records that would have the same sampling error."""
        return self.mean.weight**2 / self.mean.square

    @quietly
    def failure_probability(self, ratio: float = 1e4) -> float:
        """The probability that `locate` misses, for a mean `ratio` standard deviations from 0 (or bounds so wide)."""
        if self.center == NOBODY:
            return 0.0
        return miss_probability(
            self.center.scaled(self.certain_part),
            self.scale.scaled(self.certain_part) if self.scale_may_miss else None,
            ratio,
            prior=self.prior_of_center,
            within_bounds=self.bounds.are_both_known,
        )

    def allows(self, ratio: float = 1e4, chance: float = 0.05) -> bool:
        """Whether the probability of a miss is at most `chance`, for a mean `ratio` standard deviations from 0."""
        return self.failure_probability(ratio) <= chance


class ClipEffect(NamedTuple):
    """The effect of clipping on a population of standard deviation 1, and on the best cap on the weights."""

    variance: float
    """The variance of the clipped values."""
    slope: float
    """The derivative of the clipped mean with respect to the mean of the population."""
    cap_constant: float
    """The cap on the weights minimises ``(sum w**2 + cap_constant) / (sum w)**2``."""


class LocatingWeights(NamedTuple):
    """The weights in `locate`, and the sample it looks at."""

    cap: float
    """The largest weight of a record, in nats."""
    density: float
    """See `Forecast.keep_density`."""
    sums: WeightSums
    certain_part: float
    """See `Forecast.certain_part`."""


@dataclass(frozen=True)
class Forecaster(ABC):
    """Makes forecasts for one census. Subclasses say what is different for each shape of population."""

    census: Census
    model: Model
    bounds: Bounds
    choices: Choices
    room: int = LARGEST_SAMPLE
    """The approximate number of records that `locate` may look at."""

    shape: ClassVar[ShapeName]
    needs_locating: ClassVar[bool]
    """See `Forecast.needs_locating`."""

    @abstractmethod
    def forecast(self, shares: Mapping[str, float], width: float, *, spare: bool) -> Forecast:
        """The forecast for these shares, and a clip of this half width in the unit of the errors.

        With `spare`, what a record cannot spend in the sum because of the cap is spent in `locate`.
        """

    @cached_property
    def useful_total(self) -> float:
        """The sum of the allowances, each counted only as far as more would help."""
        profile = self.census.profile
        tau = min(profile.saturation(100 * _LOCATE_CONSTANT)[0], LARGEST_WEIGHT)
        return profile.capped_sums(tau)[0]

    def averaging(self, share: float, constant: float) -> tuple[float, WeightSums]:
        """The cap on the weights ``share * allowance`` that minimises the variance, and the sums of the capped weights.

        `constant` is that of `ClipEffect.cap_constant`.
        """
        profile = self.census.profile
        cap = profile.saturation(constant, share)[0]
        cap = self.largest_weight(share) if self.choices.saturation else min(cap, LARGEST_WEIGHT)
        return cap, WeightSums(*profile.capped_sums(cap, share))

    def largest_weight(self, share: float) -> float:
        """The largest weight of a record in a sum with this share, in nats: as chosen, or where more would not help."""
        if not self.choices.saturation:
            return LARGEST_WEIGHT
        return min(self.choices.saturation / self.model.budget_per_allowance * share, LARGEST_WEIGHT)


@dataclass(frozen=True)
class LocatingForecaster(Forecaster):
    """Makes forecasts for a population that must be located first, from all records or a sample of them."""

    needs_locating = True
    fewest_sampled: ClassVar[int]
    """The smallest sample, if there are more than 16,000 records."""
    sampled_per_root: ClassVar[float]
    """The size of larger samples, relative to the square root of the number of records."""

    def locating(self, shares: Mapping[str, float], spared_from: float) -> LocatingWeights:
        """The weights in `locate` with these shares; `spared_from` is that of `Forecast`."""
        rule = sum(shares.get(name, 0.0) for name in LOCATING_STEPS), shares["sum"], spared_from
        profile, share = costs_in_locate(self.census.profile, *rule)
        largest = float(locating_weights(self.census.largest(self.model), *rule))
        # A cap above the largest weight would change nothing, but sampling is faster if the cap bounds rates tightly.
        cap = min(profile.saturation(_LOCATE_CONSTANT, share)[0], LARGEST_WEIGHT, largest)
        weight, square = profile.capped_sums(cap, share)
        people = profile.people
        sample = min(self._sample_size(people), self.room)
        density = sample / weight if people > sample else KEEP_ALL
        # A sample cannot have more effective records, weight**2 / square, than it has records.
        sums = WeightSums(weight, max(square, weight**2 / sample))
        least = weight
        if self.census.buckets:
            least = _least_weight(self.census.buckets, self.census.total_noise_std, cap, rule)
        return LocatingWeights(cap, density, sums, min(max(least / weight, _LEAST_CERTAIN), 1.0))

    def _sample_size(self, people: float) -> float:
        """The number of records that `locate` should look at, if `room` allows."""
        return people if people <= _ALL_UP_TO else max(self.fewest_sampled, self.sampled_per_root * math.sqrt(people))


@dataclass(frozen=True)
class CenterAndScaleForecaster(LocatingForecaster):
    """Makes forecasts for a population that is located by a centre and a scale, and clipped at a multiple of the scale.

    All errors are in standard deviations of the population.
    """

    scale_may_miss: ClassVar[bool]

    @abstractmethod
    def clip_effect(self, width: float) -> ClipEffect:
        """The effect of a clip of `width` standard deviations to either side."""

    @abstractmethod
    def locating_error(self, center: WeightSums, scale: WeightSums, mean: WeightSums, width: float) -> float:
        """The error (std) of the mean that is due to the errors of the located centre and scale."""

    def forecast(self, shares: Mapping[str, float], width: float, *, spare: bool) -> Forecast:
        """The forecast for these shares and a clip of `width` standard deviations to either side; see `Forecaster`."""
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
            clip_half_width=width,
            locate_cap=located.cap,
            weight_cap=weight_cap,
            spared_from=spared_from,
            keep_density=located.density,
            center=center,
            scale=scale,
            mean=mean,
            certain_part=located.certain_part,
            noise_scale=width / (effect.slope * mean.weight),
            sampling_std=math.hypot(sampling, self.locating_error(center, scale, mean, width)),
            prior_of_center=1.0,
            scale_may_miss=self.scale_may_miss,
            needs_locating=self.needs_locating,
            in_deviations=True,
        )


def _least_weight(buckets: Buckets, total_noise_std: float, cap: float, rule: tuple[float, float, float]) -> float:
    """The total weight of all records in `locate` in nats, for the worst budgets consistent with a noisy census.

    Within a bucket, the weight per nat of budget first grows, as more is spared from the sum, and falls beyond the cap:
    so it is smallest at one of the two ends. In addition, the census may overrate the total by some multiple of its
    standard deviation, `total_noise_std`; the worst case is that this is missing where the weight per nat is largest.
    """
    ends = np.array([buckets.lows, buckets.highs])
    weight_per_nat = np.min(np.minimum(locating_weights(ends, *rule), cap) / ends, axis=0)
    order = np.argsort(-weight_per_nat)
    overrated = _OVERRATED_DEVIATIONS * total_noise_std
    certain_sums = np.diff(np.maximum(np.cumsum(buckets.sums[order]) - overrated, 0.0), prepend=0.0)
    return float((certain_sums * weight_per_nat[order]).sum())


def costs_in_locate(profile: Profile, share: float, sum_share: float, spared_from: float) -> tuple[Profile, float]:
    """A profile and a share such that ``share * allowance`` is what each person may cost in `locate`, before any cap.

    That is the given profile unless something is spared from the sum, which makes costs nonlinear in allowances.
    """
    if spared_from >= OUT_OF_REACH:
        return profile, share
    return Profile(locating_weights(profile.allowances, share, sum_share, spared_from), profile.counts), 1.0
