"""`Levelled`: the mean of everyone from the separate sums of levels of budgets, and whether the levels agree.

A weighted combination of the levels' sums, with squared multipliers that add up to 1, looks like one ordinary set of
sums: it has noise of scale 1, a total weight, and an effective number of people. So every shape can treat it as it
treats the sums of a group without levels. This module only decides which combinations to try, and mixes the results.
How levels are pooled, given their means and errors, is in `laws/pooling.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pdpmean.core.numbers import finite
from pdpmean.core.types import Floats
from pdpmean.core.weights import locating_weights
from pdpmean.inference.level_sums import (
    SIGNIFICANT_NATS,
    OneLevel,
    combine,
    level_of,
    mean_noise_std,
    share_far_off,
    total_or_inside,
    weight_noise_std,
)
from pdpmean.inference.missing import MissingShare
from pdpmean.inference.population import Population
from pdpmean.laws.far_mean import LEAST_VARIANCE
from pdpmean.laws.level_sizes import LevelSizes, level_sizes
from pdpmean.laws.mixed_law import Hypothesis, mix
from pdpmean.laws.normal_scores import normal_scores
from pdpmean.laws.pooling import Difference, LevelErrors, Mixed, Pooled
from pdpmean.laws.two_point import Bools
from pdpmean.planning.combined_levels import combined_far, combined_sums
from pdpmean.planning.levels import CHEAP_ENOUGH_FOR_EVERYONE, Levels
from pdpmean.planning.plan import Plan, WhoCounts
from pdpmean.planning.released import BellSums, LevelSums, Location, Released, SumsOfOne
from pdpmean.results.mean_estimate import LevelMean

__all__ = ["Levelled"]

_FALSE_ALARM = 0.006  # the probability that levels with equal means are said to differ, over all groups
_ONE_SIDED = 1.64  # standard deviations above which noise is 5 % of the time
_MANY_UNKNOWN = 0.25  # the share of people above which it is said that nothing is known about them
_FAR_OUT = 2.0  # half widths of the interval by which such people may move the mean before it is said
_TAIL_PLACE = 1.4  # half widths from the middle of the clip: where a tail beyond it is compared between levels
_LARGEST_TILT = 20.0  # limits a ratio of tails to exp(20), so that it does not overflow


@dataclass(frozen=True)
class Levelled:
    """The released numbers of a group whose levels of budgets were summed separately.

    `variants` are the combinations of levels from which a shape infers a population each; `population` mixes these into
    that of everyone.
    """

    released: Released

    @property
    def plan(self) -> Plan:
        """The plan that the numbers were released by."""
        return self.released.plan

    @cached_property
    def _sums(self) -> tuple[SumsOfOne, ...]:
        assert isinstance(self.released.averaged, LevelSums)
        return self.released.averaged.levels

    @property
    def is_bell(self) -> bool:
        """Whether the population is taken to be bell-shaped, so that clipping can be undone."""
        return isinstance(self._sums[0], BellSums)

    @cached_property
    def planned(self) -> Levels:
        """The levels as the plan expected them: people, nats and so on by level."""
        assert self.plan.levels is not None
        return self.plan.levels

    @cached_property
    def _levels(self) -> list[OneLevel]:
        far_share = share_far_off(self._sums)
        return [
            level_of(sums, self.plan, nats, far_share)
            for sums, nats in zip(self._sums, self.planned.nats.tolist(), strict=True)
        ]

    @cached_property
    def _sizes(self) -> LevelSizes | None:
        """The numbers of people in the levels, inferred from the released weights; None if budgets are public.

        Private budgets of a level are nearly equal, so its weight over the mean weight of one person counts people.
        """
        if self.plan.model.budgets_are_public:
            return None
        return level_sizes(self._released_people, self._people_std)

    @cached_property
    def _share_covariance(self) -> Floats | None:
        """Covariance of the errors of the levels' shares of all people; None if the numbers of people are public."""
        if self._sizes is None:
            return None
        by_mean_weight = np.diag((self.people * self.planned.mean_weight_error) ** 2)
        covariance: Floats = (self._sizes.covariance + by_mean_weight) / self.people.sum() ** 2
        return covariance

    @cached_property
    def _released_people(self) -> Floats:
        """The number of people in each level that the released weight amounts to, with all its noise."""
        released: Floats = np.array([level.nats for level in self._levels]) / self._mean_weights
        return released

    @property
    def _people_std(self) -> Floats:
        """The noise (std) of `_released_people`."""
        return weight_noise_std(self._sums[0], self.plan) / self._mean_weights

    @cached_property
    def people(self) -> Floats:
        """The number of people in each level: public, or the mean of the posterior."""
        return self.planned.people if self._sizes is None else self._sizes.people

    @cached_property
    def nats(self) -> Floats:
        """The total weight of each level: public, or that of `people`."""
        return self._mean_weights * (self._released_people if self._sizes is None else self.people)

    @cached_property
    def _inside(self) -> Floats:
        """The weight of the values within the clip, by level."""
        return self.nats * [level.present for level in self._levels]

    @property
    def _mean_weights(self) -> Floats:
        """The mean weight of a person in each level, in nats, as planned."""
        return self.planned.nats / self.planned.people

    @cached_property
    def effective(self) -> Floats:
        """By level, the number of equally weighted people who would have the same sampling error."""
        return self.planned.effective * self.people / self.planned.people

    @cached_property
    def _deviation(self) -> float:
        """The population's standard deviation within the clip, in the unit of `_raw_means`."""
        if self.is_bell:
            return 1.0
        total = float(self._inside.sum())
        narrowness = sum(level.weight_less_squares for level in self._levels) / total
        mean = float(self._inside @ self._raw_means) / total
        return math.sqrt(min(max(1 - narrowness - mean**2, LEAST_VARIANCE / total), 1.0))

    @cached_property
    def _raw_means(self) -> Floats:
        """The mean of each level, from the middle of the clip, in the unit of `OneLevel.values`."""
        means: Floats = np.array([level.values for level in self._levels]) / self._inside
        return means if self.is_bell else np.clip(means, -1.0, 1.0)

    @cached_property
    def means(self) -> Floats:
        """The mean of each level, from the middle of the clip, in standard deviations of the population."""
        return self._raw_means / self._deviation

    @cached_property
    def errors(self) -> LevelErrors:
        """The errors of `means`, in standard deviations of the population."""
        noise_std = mean_noise_std(self._sums[0], self.plan, self._raw_means) / self._inside / self._deviation
        return LevelErrors(
            noise_std=noise_std,
            effective=self.effective,
            share=self.people / self.people.sum(),
            share_covariance=self._share_covariance,
            score_by_people=self._scores(self.planned.score_by_people),
            score_by_weight=self._scores(self.planned.score_by_weight),
            unevenness=self.planned.unevenness,
            own=float(self.plan.whose.are_these_people),
        )

    def _scores(self, planned: Floats) -> Floats:
        """The mean normal score of each level: as planned or, if budgets are private, by the inferred numbers."""
        return planned if self._sizes is None else normal_scores(self.people)

    @cached_property
    def pooled(self) -> Pooled:
        """How the levels are best pooled, given their errors."""
        return Pooled(self.errors)

    @cached_property
    def is_everyone(self) -> bool:
        """Whether everyone counts the same: on request, or as planned if that still costs next to nothing.

        The cost depends on how widely the values are spread within the clip, which the plan could not know.
        """
        if not self.planned.everyone or self.plan.whose.weighting == "everyone":
            return self.planned.everyone
        return self.errors.everyone_std <= CHEAP_ENOUGH_FOR_EVERYONE * self.pooled.agreed_std

    @property
    def weighting(self) -> WhoCounts:
        """How much each person counts, in one word."""
        return "everyone" if self.is_everyone else "pooled"

    @cached_property
    def mixed(self) -> list[Mixed]:
        """The combinations of levels to mix, with their probabilities.

        If everyone counts the same, levels are combined in proportion to their people. There may still be two
        combinations then: if levels agree, far values can be combined in another way, in which they are seen better.
        """
        if not self.is_everyone:
            return self.pooled.mixed(self.means)
        if self.released.location.reading is None or self.is_bell:
            return [Mixed(self.errors.share, 0.0, 1.0, 1.0, agree=False)]
        return self.pooled.unmixed(self.means, self.errors.share)

    @cached_property
    def variants(self) -> list[Released]:
        """Each combination of levels, in the form in which one set of sums would have been released.

        For a bell, the last variant is all levels by weight. A bell is located by weight, so whether the released
        numbers contradict its shape is judged by weight, too.
        """
        combinations = [self._variant(combination.parts, agree=combination.agree) for combination in self.mixed]
        return [*combinations, self._all_by_weight] if self.is_bell else combinations

    @property
    def _all_by_weight(self) -> Released:
        """All levels combined by weight, with a plan that says what their sums were expected to be."""
        whole = self._variant(self.nats / self.nats.sum(), agree=True)
        nats = self.planned.nats
        expected = combined_sums(nats, self.planned.effective, nats / nats.sum(), 0.0).sums
        return replace(whole, plan=replace(whole.plan, mean=expected))

    @property
    def judged(self) -> int:
        """The index of the variant in which contradictions are looked for: for a bell the last, else the likeliest."""
        if self.is_bell:
            return len(self.mixed)
        return max(range(len(self.mixed)), key=lambda number: self.mixed[number].in_estimate)

    @cached_property
    def _located(self) -> Floats:
        """The part of each level in the weight that `locate` looked at, where larger budgets weigh more."""
        rule = self.plan.keep_rule
        weights = locating_weights(np.exp(self.planned.middle), rule.share, rule.sum_share, rule.spared_from)
        nats = self.people * np.minimum(weights, rule.cap)
        located: Floats = nats / nats.sum()
        return located

    @cached_property
    def _believed_means(self) -> Floats:
        """The means of the levels, shrunk towards each other as far as they may differ by chance."""
        return self.pooled.believed(self.means)

    def _tails(self, parts: Floats) -> tuple[float, float]:
        """The factors by which everyone's tails below and above the clip exceed those that were located.

        The histogram was weighted by `_located`, and everyone counts by their number. At a distance x from the middle,
        a bell that is shifted by m standard deviations is exp(m x) times as dense, and tails are taken to be tilted
        likewise. The standard deviation is that of the combination. If a tail belongs to one level, its factor is the
        ratio of that level's share of the people to its part in the histogram.
        """
        deviation = self._deviation_of(parts)
        means = self._believed_means * self._deviation / deviation
        share = self.errors.share
        middle = float(share @ means)
        ends = np.array([-_TAIL_PLACE, _TAIL_PLACE]) / deviation - middle
        tilts = np.exp(np.clip(np.outer(ends, means - middle), -_LARGEST_TILT, _LARGEST_TILT))
        below, above = ((tilts @ share) / (tilts @ self._located)).tolist()
        return below, above

    def _deviation_of(self, parts: Floats) -> float:
        """The standard deviation within the clip, in half widths, of the levels combined with these parts."""
        narrowness = np.array([level.weight_less_squares for level in self._levels]) / self._inside
        variance = 1 - float(parts @ narrowness) - float(parts @ self._raw_means) ** 2
        return math.sqrt(min(max(variance, self._deviation**2), 1.0))

    def _location(self, parts: Floats, *, agree: bool) -> Location:
        """The released location, with its tails adjusted to this combination; levels that agree have equal tails."""
        location = self.released.location
        if location.reading is None or agree:
            return location
        return replace(location, reading=location.reading.with_tails(self._tails(parts)))

    def _variant(self, parts: Floats, *, agree: bool) -> Released:
        """The levels combined with these parts in the mean, in the form of one released set of sums."""
        counted = 0.0
        if self.plan.whose.are_these_people:
            counted = self.plan.chosen_weighting.efficiency / float(self.people.sum())
        combined = combined_sums(self.nats, self.effective, parts, counted)
        far = combined_far(self.nats, self.effective) if agree else combined
        sums = combine(self._sums, combined, far)
        return replace(
            self.released,
            plan=replace(self.plan, mean=combined.sums),
            location=self._location(parts, agree=agree),
            averaged=sums,
            weight_squares=None,
        )

    def with_missing(self, populations: Sequence[Population]) -> Sequence[Population]:
        """The populations, with the missing share of all levels together if most of the weight is missing.

        A combination weights levels by how exact they are, so it may not show that most people have no value.
        """
        share = self._mostly_missing
        return [replace(population, missing=share) for population in populations] if share else populations

    @cached_property
    def _mostly_missing(self) -> MissingShare | None:
        """The share of the weight that is missing in all levels together; None if it is less than half, or noise."""
        sums = [sums for sums in self._sums if not isinstance(sums, BellSums)]
        missing = sum(level.missing for level in sums)
        total = sum(map(total_or_inside, sums))
        if not self.plan.model.budgets_are_public:
            total += max(missing, 0.0)
        if missing <= max(total / 2, SIGNIFICANT_NATS) or self.plan.nothing_missing:
            return None
        # The sum over levels has this noise (std) relative to one level; dividing by it gives noise of scale 1 again.
        relative_noise = math.sqrt(len(sums))
        return MissingShare.of(min(missing / total, 1.0), missing / relative_noise, total / relative_noise)

    def population(self, populations: Sequence[Population]) -> Population:
        """The population of everyone, mixed from the population that each combination implies."""
        if len(self.mixed) == 1:
            return populations[0]
        hypotheses = [
            Hypothesis(
                law=population.law,
                mean=population.mean,
                widening=math.sqrt(mixed.variance) * population.scale,
                in_estimate=mixed.in_estimate,
                in_interval=mixed.in_interval,
            )
            # For a bell there is one more population, of all levels by weight: it is only judged, and not mixed.
            for population, mixed in zip(populations, self.mixed, strict=False)
        ]
        law = mix(hypotheses, self.plan.bounds)
        return replace(populations[self.judged], mean=law.mean, law=law)

    def difference(self, part: float) -> Difference | None:
        """How the levels differ, if by more than chance; `part` is this group's part of all false alarms."""
        return self.pooled.difference(self.means, _FALSE_ALARM * part)

    def unknown_up_to(self, population: Population) -> float | None:
        """The largest budget of the lowest levels, if they are unknown and may move the mean far out of its interval.

        How many people they may hold follows from the released weights alone, whatever the other levels hold. How far
        their values may lie from the others follows from the trend of those, as far as it is known.
        """
        unknown_levels = int(np.argmin(np.append(~self._is_known, False)))  # from the lowest on
        people = float(self.people[:unknown_levels].sum())
        if self._sizes is not None:
            people = float(self._released_people[:unknown_levels].sum())
            people += _ONE_SIDED * math.hypot(*self._people_std[:unknown_levels])
        at_most = min(max(people / float(self.people.sum()), 0.0), 1.0)
        if at_most <= _MANY_UNKNOWN:
            return None
        trend = self.pooled.trend(self.means)
        away = float(np.abs(self.errors.positions[:unknown_levels]).max()) * (abs(trend.slope) + _ONE_SIDED * trend.std)
        low, high = population.law.interval(0.95)
        is_covered = at_most * away * population.scale <= _FAR_OUT * (high / 2 - low / 2)
        return None if is_covered else self.planned.budgets[unknown_levels - 1][1]

    @cached_property
    def _is_known(self) -> Bools:
        """Whether anything is known about each level: whether its error is below one standard deviation."""
        return self.errors.variances < 1

    def level_means(self, population: Population) -> tuple[LevelMean, ...]:
        """The mean and error of each level, in the values' unit, shifted so that together they give everyone's mean.

        They lie within the bounds. Levels about which nothing is known are left out.
        """
        unit = population.scale if self.is_bell else self._deviation * self.released.location.half
        low, high = self.plan.bounds
        mean_of_all = float(self.errors.share @ self.means)
        errors = np.sqrt(self.errors.variances)
        return tuple(
            LevelMean(
                *budgets,
                share,
                finite(min(max(population.mean + unit * (mean - mean_of_all), low), high)),
                finite(unit * error),
            )
            for budgets, share, mean, error, is_known in zip(
                self.planned.budgets,
                self.errors.share.tolist(),
                self.means.tolist(),
                errors.tolist(),
                self._is_known.tolist(),
                strict=True,
            )
            if is_known
        )
