"""Pooling: the mean of everyone from the means of levels of budgets, which may or may not agree.

A level's mean errs by noise and by who is in the sample; low levels err by much. If all levels have one mean, they are
best averaged by how exact they are; if each has its own, everyone's mean is that of the levels, by how many people each
has. What is true is not known, so both are held against the released means. With x the logarithm of the budget, in its
standard deviations over all people, the mean of a level is::

    mu + tau (b x + e)      b normal, e normal, each level's own: of a third of b, and of b x where that is more

tau is 0, the levels agree, or one of a few sizes. For each the mean of everyone is normal, around a weighted mean of
those of the levels. The estimate mixes them, and takes it for likelier that levels agree; the interval does not, so
that it is as wide as the disagreement that the released numbers cannot exclude. All is in standard deviations of the
population.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.error_law import half_width

__all__ = ["Difference", "LevelErrors", "Mixed", "Pooled"]

_SIZES = (0.0, 0.1, 0.2, 0.4, 0.8)  # what tau may be; the first is that levels agree
_OWN = 0.3  # how far a level is from the trend, over the trend: the farther out, the more
_WITHIN = 0.5  # how far unequal weights in a level may move its mean, over their variation, beyond the trend
_AGREE_FOR_ESTIMATE, _AGREE_FOR_INTERVAL = 0.8, 0.4  # the chance beforehand that levels agree
_LEAST = 0.005  # chance of a size that is looked at
_NARROWEST = 1e-9  # of logarithms of budgets that are told apart
_LARGE_SIZE = 0.4  # the size of disagreement that a plan reckons with


class Mixed(NamedTuple):
    """One size of disagreement: how the levels are combined, and what chances it has."""

    parts: Floats
    """Of the levels' means; they add up to 1."""
    variance: float
    """Of what the levels may differ by, which no combination of their means shows."""
    in_estimate: float
    in_interval: float
    agree: bool
    """Whether this is that levels do not differ at all."""


class Difference(NamedTuple):
    """How levels differ beyond noise."""

    rising: bool
    """Whether those who grant more have the larger values, by and large."""


@dataclass(frozen=True, eq=False)
class _Sizes:
    """All sizes of disagreement: how levels are best combined if one is the true one, and how likely that is.

    The covariance of the released means is a diagonal plus one product of a vector with itself, so its inverse has a
    formula (Sherman and Morrison, 1950). Rows are sizes, columns are levels.
    """

    squares: Floats
    """Of the sizes."""
    diagonal: Floats
    """Variances of the released means around the trend."""
    places: Floats
    """Of the levels, along the trend."""
    off_trend: Floats
    """Variances of the levels' own means around the trend, for a trend of 1."""

    @cached_property
    def _solved(self) -> Floats:
        return self.places / self.diagonal

    @cached_property
    def _stretch(self) -> Floats:
        """The determinant of the covariance, over that of its diagonal."""
        stretch: Floats = 1 + self.squares * (self._solved @ self.places)
        return stretch

    def solve(self, levels: Floats) -> Floats:
        """The inverse covariance times a vector, or times one per size."""
        along = self.squares / self._stretch * (self._solved * levels).sum(axis=1)
        solved: Floats = levels / self.diagonal - self._solved * along[:, None]
        return solved

    @cached_property
    def summed(self) -> Floats:
        """The sum of each row of the inverse covariance."""
        return self.solve(np.ones_like(self.places))

    @cached_property
    def known(self) -> Floats:
        """How exactly a common mean is known: one over its variance."""
        known: Floats = self.summed.sum(axis=1)
        return known

    def log_likelihoods(self, means: Floats) -> Floats:
        """Of the released means around a common one that is not known, up to a term that all sizes share."""
        apart = self.solve(means) @ means - (self.summed @ means) ** 2 / self.known
        spread = np.log(self.diagonal).sum(axis=1) + np.log(self._stretch) + np.log(self.known)
        logs: Floats = -(spread + apart) / 2
        return logs

    def drawn(self, means: Floats) -> Floats:
        """The released means drawn to a common one, as far as they differ by chance."""
        common = (self.summed @ means / self.known)[:, None]
        apart = self.solve(means) - self.summed * common
        moved = self.places * (apart @ self.places)[:, None] + self.off_trend * apart
        drawn: Floats = common + self.squares[:, None] * moved
        return drawn

    def variances(self, parts: Floats) -> Floats:
        """Of combinations of the levels' own means, one per size."""
        variances: Floats = self.squares * ((parts @ self.places) ** 2 + parts**2 @ self.off_trend)
        return variances


@dataclass(frozen=True, eq=False)
class LevelErrors:
    """How exact the means of the levels are, in standard deviations of the population; and who is in each."""

    noise_std: Floats
    effective: Floats
    """How many equally weighted people would have the same sampling error."""
    share: Floats
    """Of all people."""
    budgets: Floats
    """The logarithm of the budget: the mean over the level's people."""
    weighed: Floats
    """The same by what they weigh."""
    unevenness: Floats
    """The relative standard deviation of the weights in the level."""
    own: float = 0.0
    """1 if the mean is to be that of these people: who they are is then no error, as far as each counts the same."""

    @cached_property
    def variances(self) -> Floats:
        """Of the levels' means."""
        return self.noise_std**2 + 1 / self.effective

    @cached_property
    def places(self) -> Floats:
        """Where each level lies as it is weighed: from the mean of all people, in their standard deviations."""
        middle = float(self.share @ self.budgets)
        spread = math.sqrt(float(self.share @ (self.budgets - middle) ** 2))
        return (self.weighed - middle) / max(spread, _NARROWEST)

    @cached_property
    def off_trend(self) -> Floats:
        """The variance of each level's own mean around the trend, for a trend of 1."""
        off_trend: Floats = _OWN**2 * np.maximum(self.places**2, 1)
        return off_trend

    @cached_property
    def off_everything(self) -> Floats:
        """The same with what unequal weights in a level may add."""
        variances: Floats = self.off_trend + (_WITHIN * self.unevenness) ** 2
        return variances

    def std(self, parts: Floats) -> float:
        """The error of everyone's mean if levels have these parts in it, and agree."""
        strayed = parts - self.own * self.share
        return math.sqrt(float(parts**2 @ self.noise_std**2 + strayed**2 @ (1 / self.effective)))

    @property
    def everyone_std(self) -> float:
        """The error of everyone's mean if each level speaks for itself."""
        return self.std(self.share)


@dataclass(frozen=True, eq=False)
class Pooled:
    """The levels of one group."""

    errors: LevelErrors

    @cached_property
    def _sizes(self) -> _Sizes:
        squares = np.array(_SIZES) ** 2
        own = self.errors.off_everything
        return _Sizes(squares, self.errors.variances + squares[:, None] * own, self.errors.places, own)

    @cached_property
    def _parts(self) -> Floats:
        """By size: how levels are best combined, if their common mean may be anything."""
        errors, sizes = self.errors, self._sizes
        with_all = self._with_everyone + errors.own * errors.share / errors.effective
        common = sizes.summed / sizes.known[:, None]
        own = sizes.solve(with_all)
        parts: Floats = common + own - own.sum(axis=1)[:, None] * common
        return parts

    @cached_property
    def _with_everyone(self) -> Floats:
        """By size: the covariance of the levels' own means with that of everyone."""
        with_everyone: Floats = self._sizes.squares[:, None] * self.errors.off_trend * self.errors.share
        return with_everyone

    @cached_property
    def _variances(self) -> Floats:
        """By size: of what the combination misses, since levels differ."""
        with_everyone, share = self._with_everyone, self.errors.share
        missed = with_everyone @ share - 2 * (self._parts * with_everyone).sum(axis=1)
        variances: Floats = np.maximum(missed + self._sizes.variances(self._parts), 0.0)
        return variances

    def _error_if(self, size: float) -> float:
        """Of the combination for this size, if it is the true one."""
        number = _SIZES.index(size)
        return math.hypot(self.errors.std(self._parts[number]), math.sqrt(float(self._variances[number])))

    @property
    def agreed(self) -> Floats:
        """The parts of the levels, if they agree."""
        agreed: Floats = self._parts[0]
        return agreed

    @property
    def agreed_std(self) -> float:
        """The error if levels agree."""
        return self._error_if(_SIZES[0])

    @property
    def disagreed_std(self) -> float:
        """The error if they disagree by much."""
        return self._error_if(_LARGE_SIZE)

    def _likely(self, means: Floats) -> Floats:
        """How likely the released means are for each size, up to a factor."""
        logs = self._sizes.log_likelihoods(means)
        likely: Floats = np.exp(logs - logs.max())
        return likely

    def believed(self, means: Floats) -> Floats:
        """What the means of the levels are likely to be: drawn together, as far as they differ by chance."""
        found: Floats = _chances(self._likely(means), _AGREE_FOR_INTERVAL) @ self._sizes.drawn(means)
        return found

    def mixed(self, means: Floats) -> list[Mixed]:
        """How to combine the levels, given their means: one for each size that is not improbable."""
        likely = self._likely(means)
        estimate, interval = (_chances(likely, agree) for agree in (_AGREE_FOR_ESTIMATE, _AGREE_FOR_INTERVAL))
        kept = np.flatnonzero(np.maximum(estimate, interval) > _LEAST)
        estimate, interval = (chances / chances[kept].sum() for chances in (estimate, interval))
        return [
            Mixed(self._parts[k], float(self._variances[k]), float(estimate[k]), float(interval[k]), k == 0)
            for k in kept.tolist()
        ]

    def unmixed(self, means: Floats, parts: Floats) -> list[Mixed]:
        """The levels combined by these parts, whether they agree or not: as likely as that is, given their means."""
        likely = self._likely(means)
        estimate, interval = (float(_chances(likely, agree)[0]) for agree in (_AGREE_FOR_ESTIMATE, _AGREE_FOR_INTERVAL))
        if interval < _LEAST:
            return [Mixed(parts, 0.0, 1.0, 1.0, agree=False)]
        return [
            Mixed(parts, 0.0, estimate, interval, agree=True),
            Mixed(parts, 0.0, 1 - estimate, 1 - interval, agree=False),
        ]

    def difference(self, means: Floats, false_alarm: float) -> Difference | None:
        """How the levels differ, if by more than chance explains but for that part of all cases.

        Half of these are for a trend, half for any one level beside the others.
        """
        precision = 1 / self.errors.variances
        places = self.errors.weighed
        if places.size == 1:
            return None
        trend = precision * (places - float(precision @ places) / float(precision.sum()))
        contrasts = [(trend, false_alarm / 2)]
        for level in range(places.size if places.size > 2 else 0):
            others = np.where(np.arange(places.size) == level, 0.0, precision)
            contrasts.append((np.eye(places.size)[level] - others / others.sum(), false_alarm / 2 / places.size))
        differs = any(self._exceeds(contrast, means, chance) for contrast, chance in contrasts)
        return Difference(rising=float(trend @ means) > 0) if differs else None

    def _exceeds(self, contrast: Floats, means: Floats, chance: float) -> bool:
        """Whether a contrast of the means is larger than noise and sampling make it but for this chance."""
        noise = math.sqrt(float((contrast * self.errors.noise_std) ** 2 @ np.ones_like(contrast)) / 2)
        sampling = math.sqrt(float(contrast**2 @ (1 / self.errors.effective)))
        return abs(float(contrast @ means)) > half_width(1 - chance, noise, sampling)


def _chances(likely: Floats, agree: float) -> Floats:
    """Chances of all sizes, if that levels agree has this one beforehand and the others are alike."""
    prior = np.full(likely.size, (1 - agree) / (likely.size - 1))
    prior[0] = agree
    chances: Floats = prior * likely / float(prior @ likely)
    return chances
