"""Levels: bands of budgets whose sums are kept apart, so that everyone can count the same.

A record has one budget and so is in one level: sums by level cost nobody more than one sum of all. Levels come from
public budgets, or from what is public of private ones: their tiers, or their range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.model import Model
from pdpmean.core.profile import Profile
from pdpmean.core.types import Floats
from pdpmean.core.whose import Whose
from pdpmean.laws.pooling import LevelErrors, Pooled
from pdpmean.planning.prediction import Sums

__all__ = [
    "MOST_LEVELS",
    "NEXT_TO_NOTHING",
    "Combined",
    "Levels",
    "LevelsFor",
    "Weighed",
    "combined_far",
    "combined_sums",
]

MOST_LEVELS = 8
_ALIKE = 1.1  # budgets that differ by less are of one level
_BAND = 2.0  # how wide a level is, where there are too many budgets for each to be one
_OFF = 0.004  # standard deviations that the mean may be off by where people of a level weigh unequally
_WIDER, _WORTH = (2.5, 5.0), 1.03  # and where fewer are better, by so much at least: they tell less
_BAND_OF_PRIVATE = 1.5  # and at least, where budgets are private: what is granted beyond its lower end is not used
_CELL_BITS = 46  # of a double that a cell of budgets does not tell: levels end where cells do
_LEAST_SAMPLING = 1e-12  # a squared sampling error, over that of one person: 0 is no number of people
_NOISE_OF_CELL, _FAR_SHARE = 2.0, 0.01  # the variance of a far cell's noise, and what part of all may lie in one
_NOBODY = 1e-3  # people, where none are expected
NEXT_TO_NOTHING = 1.05  # what counting everyone the same may cost, over counting by budgets, where that is left to us


class Combined(NamedTuple):
    """What a combination of levels comes to: as one set of sums with noise of scale 1."""

    multipliers: Floats
    """Of the levels' sums; their squares add up to 1."""
    sums: Sums


@dataclass(frozen=True, eq=False)
class Levels:
    """Where levels begin, and what their people weigh; with what is expected of each.

    `everyone` says how they are combined: by how many people each has, or pooled.
    """

    edges: tuple[float, ...]
    """The allowances at which all levels but the first begin."""
    caps: tuple[float, ...]
    """The most that a record of each level weighs, in nats."""
    budgets: tuple[tuple[float, float], ...]
    """The least and the largest budget of each, publicly."""
    people: Floats
    nats: Floats
    effective: Floats
    """How many equally weighted people would have the same sampling error."""
    middle: Floats
    """The logarithm of the allowance: the mean over the level's people."""
    weighed: Floats
    """The same by what they weigh."""
    unevenness: Floats
    """The relative standard deviation of the weights in each."""
    everyone: bool = True

    def errors(self, noise_std: float, own: float) -> LevelErrors:
        """How exact their means are; the noise is so many standard deviations in a sum of one nat.

        `own` is 1 if the mean is to be that of these people.
        """
        return LevelErrors(
            noise_std=noise_std / self.nats,
            effective=self.effective,
            share=self.people / self.people.sum(),
            budgets=self.middle,
            weighed=self.weighed,
            unevenness=self.unevenness,
            own=own,
        )


def combined_sums(nats: Floats, effective: Floats, parts: Floats, counted: float) -> Combined:
    """What the levels come to if each has its part in the mean.

    `counted` is 0, or one over the number of people whose own mean is asked for: their sampling error is no error.
    """
    multipliers = parts / nats
    size = math.sqrt(float(multipliers @ multipliers))
    weight = float(parts.sum()) / size
    sampling = float(parts**2 @ (1 / effective)) - counted
    return Combined(multipliers / size, Sums(weight, weight**2 * max(sampling, _LEAST_SAMPLING)))


def combined_far(nats: Floats, effective: Floats) -> Combined:
    """The levels combined so that far values are seen best, if each has as many of them."""
    parts = 1 / (_NOISE_OF_CELL / nats**2 + _FAR_SHARE / effective)
    return combined_sums(nats, effective, parts / parts.sum(), 0.0)


class Weighed(NamedTuple):
    """Who counts how much: by budgets, where there are no levels."""

    levels: Levels | None
    price: float
    """The error if everyone counts the same, over that if people count by their budgets."""
    sums: Sums
    """What the weights add up to, as if there were one set of sums; and their squares."""
    efficiency: float
    """Of what the mean of the people in the table owes to who they are, the part that the estimate follows."""
    disagreed: float = 1.0
    """The error if levels disagree, over that if they agree."""
    parts: tuple[float, ...] = ()
    """What part of the mean each level has, if they agree."""


class _People(NamedTuple):
    """Who is in a level, whatever they weigh."""

    allowances: Floats
    counts: Floats
    logs: Floats
    """Of the allowances."""
    number: float
    middle: float
    """The mean of the logarithm of their allowances."""

    @classmethod
    def of(cls, allowances: Floats, counts: Floats) -> _People:
        """Those who hold these allowances."""
        logs, number = np.log(allowances), float(counts.sum())
        return cls(allowances, counts, logs, number, float(counts @ logs) / number)


@dataclass(frozen=True, eq=False)
class LevelsFor:
    """The levels for a census: its people, the share of the sum, and the cap that a single sum would have.

    Nobody weighs more than `largest`, in nats.
    """

    profile: Profile
    model: Model
    share: float
    cap: float
    tiers: tuple[float, ...]
    most: int
    largest: float
    width: float = 0.0
    """How wide levels are, where they are to be fewer than there could be."""

    @cached_property
    def _allowances(self) -> Floats:
        return np.minimum(self.profile.levels, self.largest / self.share)

    @cached_property
    def _starts(self) -> Floats:
        """Where levels begin; the first begins at the least allowance."""
        if self.model.budgets_are_public:
            if self.width:
                return _bands(self._allowances, self.width, self.most)
            return _starts_among(self._allowances, self.most)
        if 0 < self._tiers.size <= self.most:
            return self._tiers
        low, high = self.model.public_range
        bands = min(max(math.ceil(math.log(high / low) / math.log(_BAND_OF_PRIVATE) - 1e-9), 1), self.most)
        return low * (high / low) ** (np.arange(bands) / bands)

    @cached_property
    def _tiers(self) -> Floats:
        """The allowances that people publicly choose from, if any are known."""
        low, high = self.model.public_range
        return np.unique([min(tier, high) for tier in self.tiers if tier >= low])

    @property
    def are_several(self) -> bool:
        """Whether there is more than one."""
        return self._starts.size > 1

    def alike(self) -> Levels:
        """Levels in which everybody weighs the same.

        Where the mean of these people is asked for, only the noise is an error, and one level has the least.
        """
        return self._levels(self._lowest, everyone=True)

    def pooled(self, noise_std: float, own: float) -> Levels:
        """Levels to be pooled, whichever err least: as many as there could be, or fewer, since each has its own noise.

        In each, people weigh the same, or nearly, or by their budgets. Where budgets are private, how many people there
        are is known by what they weigh if all weigh the same.
        """
        if not self.model.budgets_are_public:
            return self._levels(self._lowest, everyone=False)
        fewer = (replace(self, width=width) for width in _WIDER)
        costs = [
            (worth * (_expected(levels, noise_std, own) + bias**2), levels)
            for worth, some in ((1.0, self), *((_WORTH, some) for some in fewer if some.are_several))
            for bias, levels in some._to_be_pooled()
        ]
        return min(costs, key=lambda cost: cost[0])[1]

    def _to_be_pooled(self) -> list[tuple[float, Levels]]:
        """Some levels, and what their means may be off by, since people of a level weigh unequally."""
        by_budgets = [self.cap / self.share] * self._starts.size
        ways = (_OFF, by_budgets), (_OFF, self._lower_ends), (0.0, self._lowest)
        # Where all people of a level have one budget, as with tiers, these are the same.
        different = {tuple(map(min, most, self._highest)): (bias, most) for bias, most in ways}
        return [(bias, self._levels(most, everyone=False)) for bias, most in different.values()]

    def weighed(self, whose: Whose, single: Sums, noise_std: float, efficiency: float) -> Weighed:
        """Who counts how much, as asked or as is best; `single` is what a single sum by budgets would have.

        A sum of one nat has a noise of `noise_std` standard deviations of the population. Of what the table's mean owes
        to who is in it, the part `efficiency` reaches the estimate, too.
        """
        counted = efficiency / self.profile.people if whose.are_these_people else 0.0
        if not self.are_several:
            return Weighed(None, 1.0, _less(single, counted), efficiency)
        by_budgets = _std(noise_std, _less(single, counted if self.model.budgets_are_public else 0.0))
        alike = self.alike() if not whose.are_these_people else replace(self, most=1).alike()
        shares = alike.people / alike.people.sum()
        everyone = combined_sums(alike.nats, alike.effective, shares, counted).sums
        price = _std(noise_std, everyone) / by_budgets
        if whose.weighting == "budgets":
            return Weighed(None, price, _less(single, counted if self.model.budgets_are_public else 0.0), efficiency)
        by_people = Weighed(alike, price, everyone, efficiency, parts=tuple(shares.tolist()))
        is_cheap = price <= NEXT_TO_NOTHING and not whose.are_these_people
        if whose.weighting == "everyone" or (whose.weighting == "auto" and is_cheap):
            return by_people
        own = float(whose.are_these_people)
        levels = self.pooled(noise_std, own)
        pooled = Pooled(levels.errors(noise_std, own))
        if own and alike.errors(noise_std, own).everyone_std <= pooled.agreed_std:
            return by_people
        agreed = combined_sums(levels.nats, levels.effective, pooled.agreed, counted).sums
        disagreed = pooled.disagreed_std / pooled.agreed_std
        return Weighed(levels, price, agreed, efficiency, disagreed, tuple(pooled.agreed.tolist()))

    @cached_property
    def _of(self) -> NDArray[np.intp]:
        """The level of each allowance of the profile."""
        return np.searchsorted(self._starts[1:], self._allowances, side="right")

    @cached_property
    def _lowest(self) -> list[float]:
        """The least allowance of each level."""
        if not self.model.budgets_are_public:
            return [float(start) for start in self._starts]
        return [float(self._allowances[self._of == level].min()) for level in range(self._starts.size)]

    @cached_property
    def _lower_ends(self) -> list[float]:
        """The same, but nowhere below half of the largest."""
        return [max(lowest, highest / _BAND) for lowest, highest in zip(self._lowest, self._highest, strict=True)]

    @cached_property
    def _highest(self) -> list[float]:
        """The largest allowance of each level."""
        return [float(self._allowances[self._of == level].max()) for level in range(self._starts.size)]

    def _levels(self, allowances: list[float], *, everyone: bool) -> Levels:
        """Levels in which so much of an allowance counts, at most."""
        caps = [min(allowance * self.share, self.largest) for allowance in allowances]
        rows = [self._row(people, cap) for people, cap in zip(self._people, caps, strict=True)]
        people, nats, effective, middle, weighed, unevenness = np.array(rows).T
        return Levels(
            edges=tuple(self._starts[1:].tolist()),
            caps=tuple(caps),
            budgets=self._budgets,
            people=people,
            nats=nats,
            effective=effective,
            middle=middle,
            weighed=weighed,
            unevenness=unevenness,
            everyone=everyone,
        )

    def _row(self, people: _People, cap: float) -> tuple[float, float, float, float, float, float]:
        """People, nats, effective people, two means of the logarithm of the allowance, unevenness."""
        weights = np.minimum(people.allowances * self.share, cap)
        nats, squares = float(people.counts @ weights), float(people.counts @ weights**2)
        uneven = math.sqrt(max(people.number * squares / nats**2 - 1, 0.0))
        weighed = float(people.counts * weights @ people.logs) / nats
        return people.number, nats, nats**2 / squares, people.middle, weighed, uneven

    @cached_property
    def _people(self) -> list[_People]:
        """Who is in each level."""
        return [_People.of(*self._holders(level)) for level in range(self._starts.size)]

    def _holders(self, level: int) -> tuple[Floats, Floats]:
        """The allowances of a level, and how many hold each."""
        own = self._of == level
        allowances, counts = self._allowances[own], self.profile.counts[own]
        if not counts.sum() > 0:  # as a noisy census may have it
            allowances, counts = np.array([self._lowest[level]]), np.array([_NOBODY])
        if not self.model.budgets_are_public:  # all that is known of these
            low, high = self._budgets[level]
            allowances, counts = np.array([math.sqrt(low * high)]), np.array([float(counts.sum())])
        return allowances, counts

    @cached_property
    def _budgets(self) -> tuple[tuple[float, float], ...]:
        """The least and the largest budget of each level."""
        return tuple(self._budgets_of(level) for level in range(self._starts.size))

    def _budgets_of(self, level: int) -> tuple[float, float]:
        factor = self.model.budget_per_allowance
        if self.model.budgets_are_public:
            own = self.profile.levels[self._of == level]
            return float(own.min()) * factor, float(own.max()) * factor
        ends = [*self._starts.tolist(), self.model.public_range[1]]
        return ends[level] * factor, ends[level if self._starts is self._tiers else level + 1] * factor


def _less(sums: Sums, counted: float) -> Sums:
    """The sums, with a smaller sampling error, by what is no error."""
    sampling = sums.square / sums.weight**2 - counted
    return Sums(sums.weight, sums.weight**2 * max(sampling, _LEAST_SAMPLING))


def _std(noise_std: float, sums: Sums) -> float:
    """The error with these sums, in standard deviations of the population."""
    return math.sqrt(noise_std**2 + sums.square) / sums.weight


def _starts_among(allowances: Floats, most: int) -> Floats:
    """Where levels begin among public allowances, which ascend: each its own or, if they are many, bands of them.

    If these are too many, too, the last holds all that is left: who grants so little hardly adds to a sum.
    """
    starts = _bands(allowances, _ALIKE, most + 1)
    return starts if starts.size <= most else _bands(allowances, _BAND, most)


def _bands(allowances: Floats, width: float, most: int) -> Floats:
    """Where bands begin in which no allowance is `width` times another or more, from the largest down."""
    starts: list[float] = []
    widened = width * allowances
    highest = float(allowances[-1])
    while len(starts) < most - 1 and widened[0] <= highest:
        first = int(np.searchsorted(widened, highest, side="right"))  # of the band
        highest, lowest = allowances[first - 1 : first + 1].tolist()
        starts.append(_end_of_cell(highest, lowest))
    return np.array([float(allowances[0]), *starts[::-1]])


def _end_of_cell(below: float, above: float) -> float:
    """Between two allowances that stand for cells, where one cell ends; or at the upper one, if they share a cell."""
    bits = np.array([(below + above) / 2]).view(np.int64)
    end = float(((bits >> _CELL_BITS) << _CELL_BITS).view(np.float64)[0])
    return end if end > below else above


def _expected(levels: Levels, noise_std: float, own: float) -> float:
    """The error to expect of pooled levels, agreed or not: the product of both."""
    pooled = Pooled(levels.errors(noise_std, own))
    return pooled.agreed_std * pooled.disagreed_std
