"""Levels: bands of budgets that are summed separately, so that everyone can count the same.

In a single sum people would count by their budgets, and the mean would be biased if values correlate with budgets. With
one sum per level, inference can reweight the levels by their numbers of people, or pool them as far as they agree.
Each record is in one level, so separate sums cost nobody more than a single one; but each has its own noise. Levels are
chosen from public budgets or, if budgets are private, from their public tiers or range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pdpmean.core.model import Model
from pdpmean.core.profile import Profile
from pdpmean.core.types import Floats
from pdpmean.core.whose import Whose
from pdpmean.laws.normal_scores import normal_scores
from pdpmean.laws.pooling import LevelErrors, Pooled
from pdpmean.planning.bands import BAND, starts_among, starts_of_bands
from pdpmean.planning.combined_levels import LEAST_SAMPLING, combined_sums
from pdpmean.planning.prediction import WeightSums

__all__ = [
    "CHEAP_ENOUGH_FOR_EVERYONE",
    "MOST_LEVELS",
    "ChosenWeighting",
    "Levels",
    "LevelsFor",
]

MOST_LEVELS = 8  # levels of one group
# Wider levels that are tried as well, since fewer levels have less noise. As they also show less of how values depend
# on budgets, they must lower the expected error by this factor.
_WIDER_BANDS = (2.5, 5.0)
_WORTH_WIDENING = 1.03
# The smallest ratio if budgets are private. The narrower a level, the better its weight says how many people it holds.
_PRIVATE_BAND = 1.5
_UNEVEN_BIAS = 0.004  # standard deviations: the bias to reckon with if weights differ within a level
# Private budgets are taken to be spread evenly over a level, on the logarithmic scale: these are a few of them, as
# fractions of the level. Their mean may be off by this fraction of their standard deviation.
_INSIDE = (np.arange(4) + 0.5) / 4
_MEAN_WEIGHT_ERROR = 0.6
_NOBODY = 1e-3  # people in a level where the census expects none, so that nothing is divided by 0
# With weighting="auto" everyone counts the same if the error is at most this many times that of counting by budgets.
CHEAP_ENOUGH_FOR_EVERYONE = 1.05


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of one group: where they begin, how they are weighted, and how many people and nats are expected.

    Arrays have one entry per level, from the smallest budgets up.
    """

    edges: tuple[float, ...]
    """The allowances at which all levels but the first begin."""
    caps: tuple[float, ...]
    """The largest weight that a record of each level may have, in nats."""
    budgets: tuple[tuple[float, float], ...]
    """The smallest and the largest budget of each level, as far as is public."""
    people: Floats
    nats: Floats
    """The expected total weight."""
    effective: Floats
    """The number of equally weighted people who would have the same sampling error."""
    middle: Floats
    """The mean logarithm of the allowance, over the level's people."""
    score_by_people: Floats
    """The mean rank of the allowance among everyone's, as a normal score (`laws/normal_scores.py`), over the people."""
    score_by_weight: Floats
    """The same mean, over the weight: each person counted by theirs."""
    unevenness: Floats
    """The relative standard deviation of the weights in each level."""
    mean_weight_error: Floats
    """The relative standard error of nats / people, the mean weight: 0 if budgets are public, or all weigh the same."""
    everyone: bool = True
    """Whether levels are combined in proportion to their people, so that everyone counts the same, or pooled."""

    def errors(self, noise_std: float, of_these_people: float) -> LevelErrors:
        """The expected errors of the levels' means, in standard deviations of the population.

        `noise_std` is the noise (std) of a sum of one nat in the same unit. `of_these_people` is 1 if the target is the
        mean of these people themselves, and 0 if it is the mean of the population.
        """
        return LevelErrors(
            noise_std=noise_std / self.nats,
            effective=self.effective,
            share=self.people / self.people.sum(),
            score_by_people=self.score_by_people,
            score_by_weight=self.score_by_weight,
            unevenness=self.unevenness,
            own=of_these_people,
        )


class ChosenWeighting(NamedTuple):
    """The weighting that a plan decided on: how much each person counts, and at what price."""

    levels: Levels | None
    """None if there is a single sum, in which people count by their budgets."""
    price_of_everyone: float
    """The error if everyone counts the same, relative to the error if people count by their budgets."""
    sums: WeightSums
    """The total weight and the squared weights, as if there were one set of sums."""
    efficiency: float
    """The part of the sampling variance of the plain mean that the estimate shares: 1 unless values are clipped."""
    error_ratio_if_levels_differ: float = 1.0
    """The error if levels disagree strongly, relative to the error if they agree."""
    parts: tuple[float, ...] = ()
    """The part that each level has in the mean, if they agree."""


class _People(NamedTuple):
    """The people of one level, independently of their weights."""

    allowances: Floats
    counts: Floats
    """The number of people at each allowance."""
    scores: Floats
    """The ranks of the allowances among everyone's, as normal scores."""
    number: float
    """The total number of people."""
    middle: float
    """The mean logarithm of the allowance."""
    mean_score: float

    @classmethod
    def of(cls, allowances: Floats, counts: Floats, scores: Floats) -> _People:
        """The people who hold these allowances."""
        number = float(counts.sum())
        shares = counts / number
        return cls(allowances, counts, scores, number, float(shares @ np.log(allowances)), float(shares @ scores))


class _LevelRow(NamedTuple):
    """One level, as the numbers that `Levels` has for all of them, under the same names."""

    people: float
    nats: float
    effective: float
    middle: float
    score_by_people: float
    score_by_weight: float
    unevenness: float
    mean_weight_error: float


@dataclass(frozen=True, eq=False)
class LevelsFor:
    """Chooses the levels for one census, and how people count."""

    profile: Profile
    model: Model
    share: float
    """The share of every allowance that the sums may use."""
    cap: float
    """The largest weight that a record would have in a single sum, in nats."""
    tiers: tuple[float, ...]
    """The allowances of public tiers; empty if there are none."""
    most: int
    """The largest number of levels."""
    largest: float
    """The largest weight that a record may have in any level, in nats."""
    width: float = 0.0
    """The ratio of the largest to the smallest budget of a level; 0 for as many levels as there may be."""

    @cached_property
    def _allowances(self) -> Floats:
        """The allowances of the profile, cut where the weight reaches `largest`."""
        return np.minimum(self.profile.allowances, self.largest / self.share)

    @cached_property
    def _starts(self) -> Floats:
        """The smallest allowance of each level, ascending."""
        if self.model.budgets_are_public:
            if self.width:
                return starts_of_bands(self._allowances, self.width, self.most)
            return starts_among(self._allowances, self.most)
        if 0 < self._tiers.size <= self.most:
            return self._tiers
        low, high = self.model.public_range
        bands = min(max(math.ceil(math.log(high / low) / math.log(_PRIVATE_BAND) - 1e-9), 1), self.most)
        return low * (high / low) ** (np.arange(bands) / bands)

    @cached_property
    def _tiers(self) -> Floats:
        """The allowances that people publicly choose from, within the public range; empty if there are no tiers."""
        low, high = self.model.public_range
        return np.unique([min(tier, high) for tier in self.tiers if tier >= low])

    @property
    def are_several(self) -> bool:
        """Whether there is more than one level."""
        return self._starts.size > 1

    def alike(self) -> Levels:
        """Levels in which all records weigh the same: as the smallest allowance of their level."""
        return self._levels(self._lowest, everyone=True)

    def pooled(self, noise_std: float, of_these_people: float) -> Levels:
        """The levels of least expected error if levels are pooled; arguments as for `Levels.errors`.

        Candidates differ in how unequal weights within a level may be and, if budgets are public, in the number of
        levels, since each has its own noise.
        """
        widths = _WIDER_BANDS if self.model.budgets_are_public else ()
        with_wider_bands = (replace(self, width=width) for width in widths)
        candidates = ((1.0, self), *((_WORTH_WIDENING, wider) for wider in with_wider_bands if wider.are_several))
        factors, biases, levels = zip(
            *((factor, bias, levels) for factor, candidate in candidates for bias, levels in candidate._to_be_pooled()),
            strict=True,
        )
        expected = Pooled(LevelErrors.stacked([each.errors(noise_std, of_these_people) for each in levels])).costs
        costs = np.array(factors) * (expected + np.array(biases) ** 2)
        best: Levels = levels[int(np.argmin(costs))]
        return best

    def _to_be_pooled(self) -> list[tuple[float, Levels]]:
        """Pairs of a bias and these levels, with weights that are more or less unequal within a level.

        The bias, in standard deviations, is what unequal weights may cause if values depend on budgets.
        """
        by_budgets = [self.cap / self.share] * self._starts.size
        candidates = (_UNEVEN_BIAS, by_budgets), (_UNEVEN_BIAS, self._lower_ends), (0.0, self._lowest)
        # If all people of each level have one budget, as with tiers, the candidates coincide; the last has no bias.
        different = {tuple(map(min, counted, self._highest)): (bias, counted) for bias, counted in candidates}
        return [(bias, self._levels(counted, everyone=False)) for bias, counted in different.values()]

    def chosen_weighting(
        self, whose: Whose, single: WeightSums, noise_std: float, efficiency: float
    ) -> ChosenWeighting:
        """The weighting to use: as requested or, with "auto", as is best.

        Parameters
        ----------
        whose
            The requested weighting and target.
        single
            The weights of a single sum, in which people count by their budgets.
        noise_std
            The noise (std) of a sum of one nat, in standard deviations of the population.
        efficiency
            See `ChosenWeighting.efficiency`.

        """
        counted = efficiency / self.profile.people if whose.are_these_people else 0.0
        if not self.are_several:
            return ChosenWeighting(None, 1.0, _without_counted(single, counted), efficiency)
        by_budgets = _without_counted(single, counted if self.model.budgets_are_public else 0.0)
        # For the mean of these people themselves only noise is an error, and a single level has the least noise.
        alike = self.alike() if not whose.are_these_people else replace(self, most=1).alike()
        shares = alike.people / alike.people.sum()
        everyone = combined_sums(alike.nats, alike.effective, shares, counted).sums
        price = _error_std(noise_std, everyone) / _error_std(noise_std, by_budgets)
        if whose.weighting == "budgets":
            return ChosenWeighting(None, price, by_budgets, efficiency)
        by_people = ChosenWeighting(alike, price, everyone, efficiency, parts=tuple(shares.tolist()))
        is_cheap = price <= CHEAP_ENOUGH_FOR_EVERYONE and not whose.are_these_people
        if whose.weighting == "everyone" or (whose.weighting == "auto" and is_cheap):
            return by_people
        of_these_people = float(whose.are_these_people)
        levels = self.pooled(noise_std, of_these_people)
        pooled = Pooled(levels.errors(noise_std, of_these_people))
        if of_these_people and alike.errors(noise_std, of_these_people).everyone_std <= pooled.agreed_std:
            return by_people
        agreed = combined_sums(levels.nats, levels.effective, pooled.agreed, counted).sums
        disagreed = pooled.disagreed_std / pooled.agreed_std
        return ChosenWeighting(levels, price, agreed, efficiency, disagreed, tuple(pooled.agreed.tolist()))

    @cached_property
    def _slices(self) -> list[slice]:
        """Where the allowances of each level are in the profile, which has them in ascending order."""
        first = [0, *np.searchsorted(self._allowances, self._starts[1:]).tolist(), self._allowances.size]
        return list(map(slice, first[:-1], first[1:]))

    @cached_property
    def _lowest(self) -> list[float]:
        """The smallest allowance of each level."""
        if not self.model.budgets_are_public:
            return [float(start) for start in self._starts]
        return [float(self._allowances[in_level.start]) for in_level in self._slices]

    @cached_property
    def _lower_ends(self) -> list[float]:
        """The smallest allowance of each level, but at least half of the largest."""
        return [max(lowest, highest / BAND) for lowest, highest in zip(self._lowest, self._highest, strict=True)]

    @cached_property
    def _highest(self) -> list[float]:
        """The largest allowance of each level."""
        if not self.model.budgets_are_public:
            return [budget / self.model.budget_per_allowance for _, budget in self._budgets]
        return [float(self._allowances[in_level.stop - 1]) for in_level in self._slices]

    def _levels(self, allowances: list[float], *, everyone: bool) -> Levels:
        """The levels, if allowances in each count only up to the given one."""
        caps = [min(allowance * self.share, self.largest) for allowance in allowances]
        rows = [self._row(people, cap) for people, cap in zip(self._people, caps, strict=True)]
        columns = {name: np.array([getattr(row, name) for row in rows]) for name in _LevelRow._fields}
        return Levels(
            edges=tuple(self._starts[1:].tolist()),
            caps=tuple(caps),
            budgets=self._budgets,
            everyone=everyone,
            **columns,
        )

    def _row(self, people: _People, cap: float) -> _LevelRow:
        """One level, if its weights are capped."""
        weights = np.minimum(people.allowances * self.share, cap)
        nats = float(people.counts @ weights)
        squares = float(people.counts @ weights**2)
        unevenness = math.sqrt(max(people.number * squares / nats**2 - 1, 0.0))
        return _LevelRow(
            people=people.number,
            nats=nats,
            effective=nats**2 / squares,
            middle=people.middle,
            score_by_people=people.mean_score,
            score_by_weight=float(people.counts * weights @ people.scores) / nats,
            unevenness=unevenness,
            mean_weight_error=0.0 if self.model.budgets_are_public else _MEAN_WEIGHT_ERROR * unevenness,
        )

    @cached_property
    def _people(self) -> list[_People]:
        """The people of each level."""
        holders = [self._holders(level) for level in range(self._starts.size)]
        scores = normal_scores(np.concatenate([counts for _, counts in holders]))
        ends = np.cumsum([counts.size for _, counts in holders])
        by_level = np.split(scores, ends[:-1])
        return [_People.of(*people, own) for people, own in zip(holders, by_level, strict=True)]

    def _holders(self, level: int) -> tuple[Floats, Floats]:
        """The allowances in a level, and the number of people at each."""
        in_level = self._slices[level]
        allowances = self._allowances[in_level]
        counts = self.profile.counts[in_level]
        if not counts.sum() > 0:  # possible in a noisy census
            allowances, counts = np.array([self._lowest[level]]), np.array([_NOBODY])
        if not self.model.budgets_are_public:  # only the ends of the level are known
            allowances = np.unique(self._lowest[level] * (self._highest[level] / self._lowest[level]) ** _INSIDE)
            counts = np.full(allowances.size, float(counts.sum()) / allowances.size)
        return allowances, counts

    @cached_property
    def _budgets(self) -> tuple[tuple[float, float], ...]:
        """The smallest and the largest budget of each level."""
        return tuple(self._budgets_of(level) for level in range(self._starts.size))

    def _budgets_of(self, level: int) -> tuple[float, float]:
        factor = self.model.budget_per_allowance
        if self.model.budgets_are_public:
            allowances = self.profile.allowances[self._slices[level]]
            return float(allowances[0]) * factor, float(allowances[-1]) * factor
        ends = [*self._starts.tolist(), self.model.public_range[1]]
        return ends[level] * factor, ends[level if self._starts is self._tiers else level + 1] * factor


def _without_counted(sums: WeightSums, counted: float) -> WeightSums:
    """The sums, with the squared sampling error reduced by `counted`, as in `combined_sums`."""
    sampling = sums.square / sums.weight**2 - counted
    return WeightSums(sums.weight, sums.weight**2 * max(sampling, LEAST_SAMPLING))


def _error_std(noise_std: float, sums: WeightSums) -> float:
    """The error (std) of a mean with these weights, in standard deviations of the population."""
    return math.sqrt(noise_std**2 + sums.square) / sums.weight
