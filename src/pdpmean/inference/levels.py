"""The mean of everyone from the sums of levels: how they are combined, and whether the levels agree.

A combination of levels is as good as one set of sums: noise of scale 1 on each, and a weight and a number of people of
its own. So every shape concludes from it what it always does; here it is only said which combinations there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pdpmean.core.numbers import finite
from pdpmean.core.types import Floats
from pdpmean.core.weights import locating_weights
from pdpmean.inference.missing import MissingShare
from pdpmean.inference.population import Population
from pdpmean.laws.clipped_normal import centered
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

_FAR_CELLS = ("below", "above")
_FALSE_ALARM = 0.006  # of the test whether levels agree
_PLAIN = 5.0  # nats: missing or far weight that is there beyond doubt
_FAR_PLACE = 0.85  # where far values of a cell lie on average, over its end
_LEAST_NATS = 1.0  # of a level whose weight is private, whatever the noise
_LEAST_PRESENT = 0.1  # of the weight of a level, whatever seems to be missing
_COUNTED = 6.0  # nats from which on a level's people are counted by its own sums
_MOST_TILTED = 20.0  # the power of e by which one level's tail may exceed another's
_LEAST_VARIANCE = 2.0  # of z, over the weight in nats: about what its noise is


class _Level(NamedTuple):
    """What the sums of a level say, in the unit of its clip; for a bell, in standard deviations."""

    mean: float
    nats: float
    inside: float
    """The weight that the mean is of."""
    spread: float
    """The sum of w (1 - z**2)."""


@dataclass(frozen=True)
class Levelled:
    """What was released of a group whose levels were summed apart."""

    released: Released

    @property
    def plan(self) -> Plan:
        """What it was released by."""
        return self.released.plan

    @cached_property
    def _sums(self) -> tuple[SumsOfOne, ...]:
        assert isinstance(self.released.averaged, LevelSums)
        return self.released.averaged.levels

    @property
    def is_bell(self) -> bool:
        """Whether clipping is undone as a bell's."""
        return isinstance(self._sums[0], Average)

    @cached_property
    def planned(self) -> Levels:
        """The levels as they were expected to be."""
        assert self.plan.levels is not None
        return self.plan.levels

    @cached_property
    def _levels(self) -> list[_Level]:
        far = _far_share(self._sums)
        return [
            _level(sums, self.plan, nats, far)
            for sums, nats in zip(self._sums, self.planned.nats.tolist(), strict=True)
        ]

    @cached_property
    def nats(self) -> Floats:
        """What each level weighs."""
        return np.array([level.nats for level in self._levels])

    @cached_property
    def people(self) -> Floats:
        """How many are in each level: public, or by what they weigh, where that is more than noise."""
        if self.plan.model.budgets_are_public:
            return self.planned.people
        counted = self.nats / np.array(self.planned.caps)
        return np.where(self.nats > _COUNTED, counted, np.minimum(self.planned.people, _COUNTED / self._caps))

    @property
    def _caps(self) -> Floats:
        return np.array(self.planned.caps)

    @cached_property
    def effective(self) -> Floats:
        """How many equally weighted people would have the same sampling error, by level."""
        return self.planned.effective * self.people / self.planned.people

    @cached_property
    def _deviation(self) -> float:
        """The population's standard deviation, in the unit of the levels' means."""
        if self.is_bell:
            return 1.0
        inside = np.array([level.inside for level in self._levels])
        total = float(inside.sum())
        spread = sum(level.spread for level in self._levels) / total
        mean = float(inside @ self._raw_means) / total
        return math.sqrt(min(max(1 - spread - mean**2, _LEAST_VARIANCE / total), 1.0))

    @cached_property
    def _raw_means(self) -> Floats:
        return np.array([level.mean for level in self._levels])

    @cached_property
    def means(self) -> Floats:
        """The mean of each level, from the middle of the clip, in standard deviations."""
        return self._raw_means / self._deviation

    @cached_property
    def errors(self) -> LevelErrors:
        """How exact they are."""
        inside = np.array([level.inside for level in self._levels])
        noise = _noise_std(self._sums[0], self.plan, self._raw_means) / inside / self._deviation
        return LevelErrors(
            noise_std=noise,
            effective=self.effective,
            share=self.people / self.people.sum(),
            budgets=self.planned.middle,
            weighed=self.planned.weighed,
            unevenness=self.planned.unevenness,
            own=float(self.plan.whose.are_these_people),
        )

    @cached_property
    def pooled(self) -> Pooled:
        """The levels, to be pooled."""
        return Pooled(self.errors)

    @cached_property
    def is_everyone(self) -> bool:
        """Whether everyone counts the same: as asked, or as planned if that still costs next to nothing.

        What it costs depends on how far values lie apart, which nobody knows beforehand.
        """
        if not self.planned.everyone or self.plan.whose.weighting == "everyone":
            return self.planned.everyone
        return self.errors.everyone_std <= NEXT_TO_NOTHING * self.pooled.agreed_std

    @property
    def weighting(self) -> WhoCounts:
        """Who counts how much, in a word."""
        return "everyone" if self.is_everyone else "pooled"

    @cached_property
    def mixed(self) -> list[Mixed]:
        """How they are combined: each by its people or, where they are pooled, in some ways with their chances.

        Even if everyone counts the same, tails are seen better if levels agree.
        """
        if not self.is_everyone:
            return self.pooled.mixed(self.means)
        if self.released.location.reading is None or self.is_bell:
            return [Mixed(self._of_everyone, 0.0, 1.0, 1.0, agree=False)]
        return self.pooled.unmixed(self.means, self._of_everyone)

    @cached_property
    def _of_everyone(self) -> Floats:
        """Parts in proportion to people: where budgets are private, what everybody adds up to, whatever the noise."""
        if self.plan.model.budgets_are_public:
            return self.errors.share
        people = self.nats / self._caps
        parts: Floats = people / people.sum()
        return parts

    @cached_property
    def variants(self) -> list[Released]:
        """What would have been released of each combination, had it been one set of sums.

        For a bell also of all levels just added up: it was located by who weighs what, and is judged by the same.
        """
        found = [self._variant(combination.parts, agree=combination.agree) for combination in self.mixed]
        return [*found, self._whole] if self.is_bell else found

    @property
    def _whole(self) -> Released:
        """All levels added up, to be held against what they were expected to come to."""
        whole, nats = self._variant(self.nats / self.nats.sum(), agree=True), self.planned.nats
        expected = combined_sums(nats, self.planned.effective, nats / nats.sum(), 0.0).sums
        return replace(whole, plan=replace(whole.plan, mean=expected))

    @property
    def judged(self) -> int:
        """Which of them is held against what its shape allows: the last for a bell, otherwise the likeliest."""
        if self.is_bell:
            return len(self.mixed)
        return max(range(len(self.mixed)), key=lambda number: self.mixed[number].in_estimate)

    @cached_property
    def _located(self) -> Floats:
        """The levels' parts in what was located: those who grant more have more to say there."""
        rule = self.plan.keep_rule
        weights = locating_weights(np.exp(self.planned.middle), rule.share, rule.sum_share, rule.spared_from)
        found = self.people * np.minimum(weights, rule.cap)
        located: Floats = found / found.sum()
        return located

    @cached_property
    def _believed_means(self) -> Floats:
        return self.pooled.believed(self.means)

    def _tails(self, parts: Floats) -> tuple[float, float]:
        """How much more of the weight lies far below, and far above, if levels have these parts than was located.

        The further out, the more of a tail is theirs whose mean lies on that side: by e to the power of their mean
        times the distance, as for a bell. If the tail is all of one level, it is as much more as that level's part is.
        """
        means = self._believed_means
        middle = float(parts @ means)
        ends = np.array([-1.0, 1.0]) / self._deviation - middle
        more = np.exp(np.clip(np.outer(ends, means - middle), -_MOST_TILTED, _MOST_TILTED))
        below, above = ((more @ parts) / (more @ self._located)).tolist()
        return below, above

    def _location(self, parts: Floats, *, agree: bool) -> Location:
        """Where it was located, with the tails of this combination, which are all alike if levels agree."""
        location = self.released.location
        if location.reading is None or agree:
            return location
        return replace(location, reading=location.reading.with_tails(self._tails(parts)))

    def _variant(self, parts: Floats, *, agree: bool) -> Released:
        counted = self.plan.weighed.efficiency / float(self.people.sum()) if self.plan.whose.are_these_people else 0.0
        found = combined_sums(self.nats, self.effective, parts, counted)
        far = combined_far(self.nats, self.effective) if agree else found
        sums = combine(self._sums, found, far)
        return replace(
            self.released,
            plan=replace(self.plan, mean=found.sums),
            location=self._location(parts, agree=agree),
            averaged=sums,
            weight_squares=None,
        )

    def with_missing(self, found: Sequence[Population]) -> Sequence[Population]:
        """The same, where most of the weight is missing: a combination of empty levels does not show that."""
        share = self._mostly_missing
        return [replace(population, missing=share) for population in found] if share else found

    @cached_property
    def _mostly_missing(self) -> MissingShare | None:
        """How much of all levels together is missing, if it is more than what is left."""
        sums = [sums for sums in self._sums if not isinstance(sums, Average)]
        missing = sum(level.missing for level in sums)
        total = sum(level.weight for level in sums)
        if not self.plan.model.budgets_are_public:
            total += max(missing, 0.0)
        if missing <= max(total / 2, _PLAIN) or self.plan.nothing_missing:
            return None
        noises = math.sqrt(len(sums))
        return MissingShare.of(min(missing / total, 1.0), missing / noises, total / noises)

    def population(self, found: Sequence[Population]) -> Population:
        """What is concluded of everyone, from what is concluded of each combination."""
        if len(self.mixed) == 1:
            return found[0]
        parts = [
            Part(
                law=population.law,
                mean=population.mean,
                widening=math.sqrt(mixed.variance) * population.scale,
                in_estimate=mixed.in_estimate,
                in_interval=mixed.in_interval,
            )
            for population, mixed in zip(found, self.mixed, strict=False)
        ]
        law = mix(parts, self.plan.bounds)
        return replace(found[self.judged], mean=law.mean, law=law)

    def difference(self, part: float) -> Difference | None:
        """How the levels differ, if they do; a false alarm is as rare as its part of all."""
        return self.pooled.difference(self.means, _FALSE_ALARM * part)

    def level_means(self, population: Population) -> tuple[LevelMean, ...]:
        """The mean of each level of which something is known, with its error: together, about that of everyone."""
        around = float(self.errors.share @ self.means)
        deviations = np.sqrt(self.errors.variances)
        return tuple(
            LevelMean(
                *ends,
                share,
                finite(population.mean + population.scale * (mean - around)),
                finite(population.scale * error),
            )
            for ends, share, mean, error in zip(
                self.planned.budgets,
                self.errors.share.tolist(),
                self.means.tolist(),
                deviations.tolist(),
                strict=True,
            )
            if error < 1
        )


def combine(levels: Sequence[SumsOfOne], found: Combined, far: Combined) -> SumsOfOne:
    """The sums of levels, each times its multiplier: their noise is that of one, as the squares add up to 1.

    Far cells may be combined in their own way.
    """
    if isinstance(levels[0], Average):
        return _combined_average([level for level in levels if isinstance(level, Average)], found.multipliers)
    numbers: dict[str, Any] = {}
    for name in (field.name for field in fields(levels[0]) if field.name != "behind_far"):
        multipliers = (far if name in _FAR_CELLS else found).multipliers
        combined = np.tensordot(multipliers, np.array([getattr(level, name) for level in levels]), axes=1).tolist()
        numbers[name] = tuple(combined) if isinstance(combined, list) else combined
    behind = BehindFarCells(far.sums.weight / found.sums.weight, far.sums.people / found.sums.people)
    return type(levels[0])(**numbers, behind_far=behind)


def _combined_average(levels: Sequence[Average], multipliers: Floats) -> Average:
    totals = multipliers * np.array([level.total for level in levels])
    total = max(float(totals.sum()), 1.0)
    mean, near = (float(totals @ [getattr(level, name) for level in levels]) / total for name in ("mean", "near"))
    doubt = math.hypot(*(totals * [level.doubt for level in levels]).tolist()) / total
    return Average(mean=mean, total=total, near=near, doubt=doubt)


def _far_share(levels: Sequence[SumsOfOne]) -> float:
    """The part of the weight that is far beyond the clip: of all levels, since one alone shows mostly noise."""
    clipped = [level for level in levels if not isinstance(level, Average)]
    if not clipped:
        return 0.0
    cells = np.sum([(*level.below, *level.above) for level in clipped], axis=0)
    far = float(cells[cells > _PLAIN * math.sqrt(len(levels))].sum()) / _FAR_PLACE
    return min(far / max(sum(level.weight for level in clipped), _LEAST_NATS), 1 - _LEAST_PRESENT)


def _level(sums: SumsOfOne, plan: Plan, nats: float, far_share: float) -> _Level:
    if isinstance(sums, Average):
        return _bell_level(sums, plan, nats)
    missing = sums.missing if sums.missing > _PLAIN and not plan.nothing_missing else 0.0
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
    """How far the level is from the middle, in standard deviations: its clipped mean, over what that is of one."""
    clipped = centered(plan.clip_width)
    weight = nats if plan.model.budgets_are_public else max(sums.total * plan.clip_width / clipped.tent, _LEAST_NATS)
    return _Level(sums.mean * sums.total / weight * plan.clip_width / clipped.inside, weight, weight, 0.0)


def _noise_std(sums: SumsOfOne, plan: Plan, means: Floats) -> Floats:
    """Of the mean of one nat, in the unit of the levels' means."""
    if isinstance(sums, Average):
        return np.full_like(means, math.sqrt(2) * plan.clip_width / centered(plan.clip_width).inside)
    if isinstance(sums, PublicTotalSums):
        return np.full_like(means, math.sqrt(2))
    noise: Floats = np.sqrt(2 * ((1 - means) ** 2 + (1 + means) ** 2 + means**2))
    return noise
