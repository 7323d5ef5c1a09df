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
from typing import NamedTuple

import numpy as np

from pdpmean.core.numbers import finite
from pdpmean.core.types import Floats
from pdpmean.core.weights import locating_weights
from pdpmean.inference.missing import MissingShare
from pdpmean.inference.population import Population
from pdpmean.laws.clipped_normal import centered
from pdpmean.laws.far_cells import FAR_PLACE
from pdpmean.laws.mixed_law import Part, mix
from pdpmean.laws.pooling import Difference, LevelErrors, Mixed, Pooled
from pdpmean.planning.levels import NEXT_TO_NOTHING, Combined, Levels, combined_far, combined_sums
from pdpmean.planning.plan import Plan, WhoCounts
from pdpmean.planning.released import (
    Average,
    BehindFarCells,
    LevelSums,
    Location,
    PrivateTotalSums,
    PublicTotalSums,
    Released,
    SumsOfOne,
)
from pdpmean.results.mean_estimate import LevelMean

__all__ = ["Levelled"]

# The sums that are single numbers; the others are far cells.
_NUMBERS = {
    PublicTotalSums: ("values", "spread", "missing", "weight"),
    PrivateTotalSums: ("low", "middle", "high", "missing"),
}
_FALSE_ALARM = 0.006  # the probability that levels with equal means are said to differ, over all groups
_SIGNIFICANT_NATS = 5.0  # missing or far weight above this is taken to be more than noise of scale 1
_LEAST_NATS = 1.0  # the smallest weight that a level with a private total is taken to have, whatever the noise
_LEAST_PRESENT = 0.1  # the smallest part of a level's weight that is taken to have a value within the clip
_COUNTED_NATS = 6.0  # from this released weight on, the people of a level are counted by it instead of by the census
_LARGEST_TILT = 20.0  # limits a ratio of tails to exp(20), so that it does not overflow
_LEAST_VARIANCE = 2.0  # the smallest variance of z times the weight in nats: about the variance of the noise


class _Level(NamedTuple):
    """The numbers that the sums of one level amount to.

    Means are measured from the middle of the clip, in half widths of the clip; for a bell, in standard deviations.
    """

    mean: float
    nats: float
    """The total weight of the level."""
    inside: float
    """The weight of the values within the clip, which the mean is taken over."""
    spread: float
    """The sum of ``w (1 - z**2)`` over records of weight w and clipped value z in [-1, 1]; 0 for a bell."""


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
        return isinstance(self._sums[0], Average)

    @cached_property
    def planned(self) -> Levels:
        """The levels as the plan expected them: people, nats and so on by level."""
        assert self.plan.levels is not None
        return self.plan.levels

    @cached_property
    def _levels(self) -> list[_Level]:
        far_share = _far_share(self._sums)
        return [
            _level(sums, self.plan, nats, far_share)
            for sums, nats in zip(self._sums, self.planned.nats.tolist(), strict=True)
        ]

    @cached_property
    def nats(self) -> Floats:
        """The total weight of each level: public, or with noise."""
        return np.array([level.nats for level in self._levels])

    @cached_property
    def people(self) -> Floats:
        """The number of people in each level: public, or inferred from the released weight if that is not all noise.

        Everybody in a level of private budgets has the same weight, the level's cap, so weight / cap counts people.
        """
        if self.plan.model.budgets_are_public:
            return self.planned.people
        counted = self.nats / np.array(self.planned.caps)
        uncounted = np.minimum(self.planned.people, _COUNTED_NATS / self._caps)
        return np.where(self.nats > _COUNTED_NATS, counted, uncounted)

    @property
    def _caps(self) -> Floats:
        """The largest weight that a record of each level may have, in nats."""
        return np.array(self.planned.caps)

    @cached_property
    def effective(self) -> Floats:
        """By level, the number of equally weighted people who would have the same sampling error."""
        return self.planned.effective * self.people / self.planned.people

    @cached_property
    def _deviation(self) -> float:
        """The population's standard deviation within the clip, in the unit of `_raw_means`."""
        if self.is_bell:
            return 1.0
        inside = np.array([level.inside for level in self._levels])
        total = float(inside.sum())
        spread = sum(level.spread for level in self._levels) / total
        mean = float(inside @ self._raw_means) / total
        return math.sqrt(min(max(1 - spread - mean**2, _LEAST_VARIANCE / total), 1.0))

    @cached_property
    def _raw_means(self) -> Floats:
        """The mean of each level, from the middle of the clip, in the unit of `_Level.mean`."""
        return np.array([level.mean for level in self._levels])

    @cached_property
    def means(self) -> Floats:
        """The mean of each level, from the middle of the clip, in standard deviations of the population."""
        return self._raw_means / self._deviation

    @cached_property
    def errors(self) -> LevelErrors:
        """The errors of `means`, in standard deviations of the population."""
        inside = np.array([level.inside for level in self._levels])
        noise_std = _noise_std(self._sums[0], self.plan, self._raw_means) / inside / self._deviation
        return LevelErrors(
            noise_std=noise_std,
            effective=self.effective,
            share=self.people / self.people.sum(),
            budgets=self.planned.middle,
            weighed=self.planned.weighed,
            unevenness=self.planned.unevenness,
            own=float(self.plan.whose.are_these_people),
        )

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
        return self.errors.everyone_std <= NEXT_TO_NOTHING * self.pooled.agreed_std

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
            return [Mixed(self._shares_of_people, 0.0, 1.0, 1.0, agree=False)]
        return self.pooled.unmixed(self.means, self._shares_of_people)

    @cached_property
    def _shares_of_people(self) -> Floats:
        """The share of all people in each level, by which the levels are combined if everyone counts the same.

        If budgets are private, it is taken from the released weights, however noisy. Every level's sums are then
        multiplied by 1 / cap, so that they add up to sums in which each person counts once.
        """
        if self.plan.model.budgets_are_public:
            return self.errors.share
        people = self.nats / self._caps
        parts: Floats = people / people.sum()
        return parts

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
        """The factors by which the tails below and above the clip of this combination exceed those that were located.

        The histogram was weighted by `_located`, and the combination is weighted by `parts`. At a distance x from
        the middle, a bell that is shifted by m standard deviations is exp(m x) times as dense, and tails are taken to
        be tilted likewise. If a tail belongs to one level, its factor is the ratio of that level's two parts.
        """
        means = self._believed_means
        middle = float(parts @ means)
        ends = np.array([-1.0, 1.0]) / self._deviation - middle
        tilts = np.exp(np.clip(np.outer(ends, means - middle), -_LARGEST_TILT, _LARGEST_TILT))
        below, above = ((tilts @ parts) / (tilts @ self._located)).tolist()
        return below, above

    def _location(self, parts: Floats, *, agree: bool) -> Location:
        """The released location, with its tails adjusted to this combination; levels that agree have equal tails."""
        location = self.released.location
        if location.reading is None or agree:
            return location
        return replace(location, reading=location.reading.with_tails(self._tails(parts)))

    def _variant(self, parts: Floats, *, agree: bool) -> Released:
        """The levels combined with these parts in the mean, in the form of one released set of sums."""
        counted = self.plan.weighed.efficiency / float(self.people.sum()) if self.plan.whose.are_these_people else 0.0
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
        sums = [sums for sums in self._sums if not isinstance(sums, Average)]
        missing = sum(level.missing for level in sums)
        total = sum(level.weight for level in sums)
        if not self.plan.model.budgets_are_public:
            total += max(missing, 0.0)
        if missing <= max(total / 2, _SIGNIFICANT_NATS) or self.plan.nothing_missing:
            return None
        # The sum over levels has this noise (std) relative to one level; dividing by it gives noise of scale 1 again.
        relative_noise = math.sqrt(len(sums))
        return MissingShare.of(min(missing / total, 1.0), missing / relative_noise, total / relative_noise)

    def population(self, populations: Sequence[Population]) -> Population:
        """The population of everyone, mixed from the population that each combination implies."""
        if len(self.mixed) == 1:
            return populations[0]
        parts = [
            Part(
                law=population.law,
                mean=population.mean,
                widening=math.sqrt(mixed.variance) * population.scale,
                in_estimate=mixed.in_estimate,
                in_interval=mixed.in_interval,
            )
            # For a bell there is one more population, of all levels by weight: it is only judged, and not mixed.
            for population, mixed in zip(populations, self.mixed, strict=False)
        ]
        law = mix(parts, self.plan.bounds)
        return replace(populations[self.judged], mean=law.mean, law=law)

    def difference(self, part: float) -> Difference | None:
        """How the levels differ, if by more than chance; `part` is this group's part of all false alarms."""
        return self.pooled.difference(self.means, _FALSE_ALARM * part)

    def level_means(self, population: Population) -> tuple[LevelMean, ...]:
        """The mean and error of each level, in the values' unit, shifted so that together they give everyone's mean.

        Levels whose error exceeds a standard deviation of the population are left out: nothing is known about them.
        """
        mean_of_all = float(self.errors.share @ self.means)
        errors = np.sqrt(self.errors.variances)
        return tuple(
            LevelMean(
                *budgets,
                share,
                finite(population.mean + population.scale * (mean - mean_of_all)),
                finite(population.scale * error),
            )
            for budgets, share, mean, error in zip(
                self.planned.budgets,
                self.errors.share.tolist(),
                self.means.tolist(),
                errors.tolist(),
                strict=True,
            )
            if error < 1
        )


def combine(levels: Sequence[SumsOfOne], combined: Combined, far: Combined) -> SumsOfOne:
    """One set of sums: the sums of the levels, each times its multiplier, with `far` multipliers for far cells.

    The noise has the variance of one level's noise, since the squared multipliers add up to 1.
    """
    if isinstance(levels[0], Average):
        return _combined_average([level for level in levels if isinstance(level, Average)], combined.multipliers)
    clipped = [level for level in levels if not isinstance(level, Average)]
    kind = type(clipped[0])
    names = _NUMBERS[kind]
    rows = np.array([[getattr(level, name) for name in names] for level in clipped])
    numbers = (combined.multipliers[:, None] * rows).sum(axis=0)
    cells = far.multipliers @ np.array([(*level.below, *level.above) for level in clipped])
    below, above = cells.reshape(2, -1).tolist()
    behind = BehindFarCells(far.sums.weight / combined.sums.weight, far.sums.people / combined.sums.people)
    return kind(
        **dict(zip(names, numbers.tolist(), strict=True)), below=tuple(below), above=tuple(above), behind_far=behind
    )


def _combined_average(levels: Sequence[Average], multipliers: Floats) -> Average:
    """The same for a bell, whose released numbers are ratios to the sum of tents: these are combined by their sums."""
    totals = multipliers * np.array([level.total for level in levels])
    total = max(float(totals.sum()), 1.0)
    mean, near = (float(totals @ [getattr(level, name) for level in levels]) / total for name in ("mean", "near"))
    doubt = math.hypot(*(totals * [level.doubt for level in levels]).tolist()) / total
    return Average(mean=mean, total=total, near=near, doubt=doubt)


def _far_share(levels: Sequence[SumsOfOne]) -> float:
    """The share of the weight far beyond the clip, in all levels together, since the cells of one are mostly noise."""
    clipped = [level for level in levels if not isinstance(level, Average)]
    if not clipped:
        return 0.0
    cells = np.sum([(*level.below, *level.above) for level in clipped], axis=0)
    far_nats = float(cells[cells > _SIGNIFICANT_NATS * math.sqrt(len(levels))].sum()) / FAR_PLACE
    return min(far_nats / max(sum(level.weight for level in clipped), _LEAST_NATS), 1 - _LEAST_PRESENT)


def _level(sums: SumsOfOne, plan: Plan, nats: float, far_share: float) -> _Level:
    """The mean and weights of a level, from its sums; `nats` is the weight that the plan expected."""
    if isinstance(sums, Average):
        return _bell_level(sums, plan, nats)
    missing = sums.missing if sums.missing > _SIGNIFICANT_NATS and not plan.nothing_missing else 0.0
    if isinstance(sums, PublicTotalSums):
        inside = max(sums.weight * (1 - far_share) - missing, _LEAST_PRESENT * sums.weight)
        mean = sums.values / inside
        return _Level(min(max(mean, -1.0), 1.0), sums.weight, inside, sums.spread)
    assert isinstance(sums, PrivateTotalSums)
    inside = max(sums.weight, _LEAST_NATS)
    mean = (sums.high - sums.low) / inside
    return _Level(
        min(max(mean, -1.0), 1.0), max(inside * (1 + far_share) + missing, _LEAST_NATS), inside, 2 * sums.middle
    )


def _bell_level(sums: Average, plan: Plan, nats: float) -> _Level:
    """The same for a bell, in standard deviations of the population.

    For small shifts, the clipped mean is the shift times the part of the population inside the clip (`inside`).
    """
    clipped = centered(plan.clip_width)
    weight = nats if plan.model.budgets_are_public else max(sums.total * plan.clip_width / clipped.tent, _LEAST_NATS)
    return _Level(sums.mean * sums.total / weight * plan.clip_width / clipped.inside, weight, weight, 0.0)


def _noise_std(sums: SumsOfOne, plan: Plan, means: Floats) -> Floats:
    """The noise (std) of the mean of one nat by level, in the unit of `means`: half widths, or deviations of a bell.

    A private total adds the noise of three sums: ``(high - low) / (low + middle + high)``.
    """
    if isinstance(sums, Average):
        return np.full_like(means, math.sqrt(2) * plan.clip_width / centered(plan.clip_width).inside)
    if isinstance(sums, PublicTotalSums):
        return np.full_like(means, math.sqrt(2))
    noise: Floats = np.sqrt(2 * ((1 - means) ** 2 + (1 + means) ** 2 + means**2))
    return noise
