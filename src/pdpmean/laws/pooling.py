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
class _Size:
    """One size of disagreement: how levels are best combined if it is the true one, and how likely that is."""

    parts: Floats
    variance: float
    between: Floats
    """The covariance of the levels' own means."""
    inverse: Floats
    """Of the covariance of their released means."""
    summed: Floats
    """The sum of each of its rows."""

    @property
    def known(self) -> float:
        """How exactly a common mean is known: one over its variance."""
        return float(np.ones_like(self.summed) @ self.inverse @ np.ones_like(self.summed))

    @cached_property
    def evidence(self) -> Floats:
        """The inverse covariance of the levels' means around a common one that is not known."""
        evidence: Floats = self.inverse - np.outer(self.summed, self.summed) / self.known
        return evidence

    @cached_property
    def drawn(self) -> Floats:
        """The matrix that draws released means to a common one, as far as they differ by chance."""
        drawn: Floats = np.outer(np.ones_like(self.parts), self.summed / self.known) + self.between @ self.evidence
        return drawn

    @cached_property
    def log_chance(self) -> float:
        """Of the size, up to what the released means say."""
        return (float(np.linalg.slogdet(self.inverse)[1]) - math.log(self.known)) / 2


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
    def own_covariance(self) -> Floats:
        """The covariance of the levels' own means, for a trend of 1."""
        within = self.off_trend + (_WITHIN * self.unevenness) ** 2
        covariance: Floats = np.outer(self.places, self.places) + np.diag(within)
        return covariance

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
    def _sizes(self) -> list[_Size]:
        return [self._agreed, *(self._disagreed if size == _LARGE_SIZE else self._of(size) for size in _SIZES[1:])]

    @cached_property
    def _agreed(self) -> _Size:
        return self._of(_SIZES[0])

    @cached_property
    def _disagreed(self) -> _Size:
        return self._of(_LARGE_SIZE)

    def _of(self, size: float) -> _Size:
        """What follows if levels disagree by so much: their common mean may be anything."""
        errors, one = self.errors, np.ones_like(self.errors.share)
        between = size**2 * errors.own_covariance
        between_all = size**2 * errors.off_trend * errors.share
        with_all = between_all + errors.own * errors.share / errors.effective
        inverse = np.asarray(np.linalg.inv(np.diag(errors.variances) + between), dtype=np.float64)
        summed = inverse @ one
        known = float(one @ inverse @ one)
        common = summed / known
        own = with_all @ inverse
        parts = common + own - float(own.sum()) * common
        left = float(between_all @ errors.share - 2 * parts @ between_all + parts @ between @ parts)
        return _Size(parts, max(left, 0.0), between, inverse, summed)

    def error_of(self, size: _Size) -> float:
        """Of the combination for this size, if it is the true one."""
        return math.hypot(self.errors.std(size.parts), math.sqrt(size.variance))

    @property
    def agreed(self) -> Floats:
        """The parts of the levels, if they agree."""
        return self._agreed.parts

    @property
    def agreed_std(self) -> float:
        """The error if levels agree."""
        return self.error_of(self._agreed)

    @property
    def disagreed_std(self) -> float:
        """The error if they disagree by much."""
        return self.error_of(self._disagreed)

    def _likely(self, means: Floats) -> Floats:
        """How likely the released means are for each size, up to a factor."""
        logs = np.array([size.log_chance - float(means @ size.evidence @ means) / 2 for size in self._sizes])
        likely: Floats = np.exp(logs - logs.max())
        return likely

    def believed(self, means: Floats) -> Floats:
        """What the means of the levels are likely to be: drawn together, as far as they differ by chance."""
        chances = _chances(self._likely(means), _AGREE_FOR_INTERVAL)
        found: Floats = np.sum(
            [chance * size.drawn @ means for chance, size in zip(chances, self._sizes, strict=True)], axis=0
        )
        return found

    def mixed(self, means: Floats) -> list[Mixed]:
        """How to combine the levels, given their means: one for each size that is not improbable."""
        likely = self._likely(means)
        estimate, interval = (_chances(likely, agree) for agree in (_AGREE_FOR_ESTIMATE, _AGREE_FOR_INTERVAL))
        kept = np.flatnonzero(np.maximum(estimate, interval) > _LEAST)
        estimate, interval = (chances / chances[kept].sum() for chances in (estimate, interval))
        return [
            Mixed(self._sizes[k].parts, self._sizes[k].variance, float(estimate[k]), float(interval[k]), k == 0)
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
