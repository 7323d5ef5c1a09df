"""Pooling: the mean of everyone from the released means of levels of budgets, which may or may not agree.

A level's mean errs by noise and by sampling, and that of a level with small budgets errs most. If all levels have the
same true mean, they are best averaged by their precision. If each has its own, the mean of everyone is their average by
numbers of people. Which of these holds is unknown, so both are compared with the released means. Let x be the rank of
the budget among everyone's, as a normal score: few people who grant next to nothing are then not taken to be far from
all others. Scores are centred and divided by their standard deviation. The model of a level's true mean is::

    mu + tau (b x + e)      b ~ N(0, 1),  e ~ N(0, (0.3 max(1, |x|))**2), independent for each level

Here tau is the *size* of the disagreement: 0 if the levels agree, or one of a few positive sizes. For each size, the
mean of everyone is normal around a weighted mean of the levels. The estimate mixes the sizes with a prior that favours
agreement. The interval uses a prior that does not, so it is as wide as the disagreement that the released numbers
cannot exclude. All means and errors are in standard deviations of the population.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.error_law import half_width

__all__ = ["Difference", "LevelErrors", "Mixed", "Pooled"]

_SIZES = (0.0, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)  # what tau may be; with the first, levels agree
# Relative prior probabilities of the positive sizes. Levels can differ by more than the population's standard deviation
# only if it is underestimated, since most of the weight may be in levels whose values hardly vary.
_CHANCES_OF_SIZES = np.array([1.0, 1.0, 1.0, 1.0, 0.3, 0.1, 0.03])
_LARGE_SIZE = 0.4  # the disagreement that a plan allows for; one of the sizes
_OFF_TREND = 0.3  # standard deviation of e over that of b, where |x| <= 1

# How far unequal weights within a level may move its mean, over tau and the weights' relative standard deviation.
_BY_UNEVENNESS = 0.5

# Prior probability that levels agree.
_AGREE_FOR_ESTIMATE = 0.9
_AGREE_FOR_INTERVAL = 0.4

_LEAST_PROBABILITY = 0.005  # sizes that are less likely are left out
_LEAST_SPREAD = 1e-9  # avoids a division by zero
_LEAST_SPREAD_OF_SCORES = 0.3  # where nearly everyone is in one level, the others are no farther away for that
_NOTHING_BUT_NOISE = 1e100  # the noise of a level that counts for nothing: its square is finite


class Mixed(NamedTuple):
    """One component of the mixture: how levels are combined for one size of disagreement, and its probabilities."""

    parts: Floats
    """Weights of the levels' means; they add up to 1."""
    variance: float
    """Variance of the combination's error because levels differ in a way that their released means do not show."""
    in_estimate: float
    """Probability under the prior of the estimate."""
    in_interval: float
    """Probability under the prior of the interval."""
    agree: bool
    """Whether this is the component in which levels do not differ at all."""


class Difference(NamedTuple):
    """How levels differ, if by more than noise and sampling explain."""

    rising: bool
    """Whether people who grant more have larger values on the whole."""


class Trend(NamedTuple):
    """How the means of levels depend on the rank of the budget."""

    slope: float
    """How far the mean rises per unit of x."""
    std: float
    """Standard error of the slope."""


@dataclass(frozen=True, eq=False)
class _Sizes:
    """The covariance of the released means for every size of disagreement, and what follows from its inverse.

    The covariance is diagonal plus the outer product of a vector with itself, so its inverse has a formula (Sherman and
    Morrison, 1950). The last two axes of all arrays are sizes and levels; axes before them are several sets of levels.
    """

    squares: Floats
    """tau**2, by size."""
    diagonal: Floats
    """Variances of the released means around the trend."""
    positions: Floats
    """The x of each level: the vector of the outer product, up to tau."""
    off_trend: Floats
    """Variances of the levels' true means around the trend, over tau**2."""

    @cached_property
    def _solved(self) -> Floats:
        """The inverse of the diagonal times the positions."""
        return self.positions / self.diagonal

    @cached_property
    def _stretch(self) -> Floats:
        """By size: the determinant of the covariance over that of its diagonal."""
        stretch: Floats = 1 + self.squares * np.vecdot(self._solved, self.positions)
        return stretch

    def solve(self, levels: Floats) -> Floats:
        """The inverse covariance times a vector, by size; `levels` is one vector for all sizes or one per size."""
        along = self.squares / self._stretch * np.vecdot(self._solved, levels)
        solved: Floats = levels / self.diagonal - self._solved * along[..., None]
        return solved

    @cached_property
    def row_sums(self) -> Floats:
        """The sum of each row of the inverse covariance."""
        return self.solve(np.ones_like(self.positions))

    @cached_property
    def precision(self) -> Floats:
        """By size: one over the variance of the best estimate of a common mean."""
        precision: Floats = self.row_sums.sum(axis=-1)
        return precision

    def log_likelihoods(self, means: Floats) -> Floats:
        """By size: the log likelihood of the released means around an unknown common mean, up to a shared constant."""
        chi_square = np.vecdot(self.solve(means), means) - np.vecdot(self.row_sums, means) ** 2 / self.precision
        log_determinant = np.log(self.diagonal).sum(axis=-1) + np.log(self._stretch) + np.log(self.precision)
        logs: Floats = -(log_determinant + chi_square) / 2
        return logs

    def shrunk(self, means: Floats) -> Floats:
        """By size and level: the posterior mean of the level's true mean, shrunk towards a common one."""
        common = (np.vecdot(self.row_sums, means) / self.precision)[..., None]
        residual = self.solve(means) - self.row_sums * common
        moved = self.positions * np.vecdot(residual, self.positions)[..., None] + self.off_trend * residual
        shrunk: Floats = common + self.squares[:, None] * moved
        return shrunk

    def variances(self, parts: Floats) -> Floats:
        """By size: the variance of a combination of the levels' true means; `parts` has one combination per size."""
        on_trend = np.vecdot(parts, self.positions) ** 2
        variances: Floats = self.squares * (on_trend + np.vecdot(parts**2, self.off_trend))
        return variances


@dataclass(frozen=True, eq=False)
class LevelErrors:
    """How exact the mean of each level is, in standard deviations of the population, and who is in each level.

    The last axis of all arrays is the level; an axis before it is one of several sets of levels (`stacked`).
    """

    noise_std: Floats
    """Standard deviation of the noise."""
    effective: Floats
    """How many equally weighted people would have the same sampling error."""
    share: Floats
    """Share of all people."""
    score_by_people: Floats
    """Mean normal score of the rank of the budget, over the level's people."""
    score_by_weight: Floats
    """The same mean, each person counted by their weight."""
    unevenness: Floats
    """The relative standard deviation of the weights in the level."""
    share_covariance: Floats | None = None
    """Covariance of the errors of `share`; None if the numbers of people are public."""
    own: float = 0.0
    """1 if the target is the mean of these very people: sampling is then no error, as far as all count the same."""

    @classmethod
    def stacked(cls, sets: Sequence[LevelErrors]) -> LevelErrors:
        """Several sets of levels for the same target, to be compared; sets with fewer levels get some without people.

        The added levels have so much noise that they count for nothing.
        """
        most = max(errors.share.size for errors in sets)

        def column(name: str, of_added_levels: float) -> Floats:
            rows = np.full((len(sets), most), of_added_levels)
            for row, errors in zip(rows, sets, strict=True):
                row[: errors.share.size] = getattr(errors, name)
            return rows

        return cls(
            noise_std=column("noise_std", _NOTHING_BUT_NOISE),
            effective=column("effective", 1.0),
            share=column("share", 0.0),
            score_by_people=column("score_by_people", 0.0),
            score_by_weight=column("score_by_weight", 0.0),
            unevenness=column("unevenness", 0.0),
            own=sets[0].own,
        )

    @cached_property
    def variances(self) -> Floats:
        """Variances of the levels' released means around their true ones."""
        return self.noise_std**2 + 1 / self.effective

    @cached_property
    def positions(self) -> Floats:
        """The x of each level, as its people are weighted; in standard deviations over all people."""
        middle = np.vecdot(self.share, self.score_by_people)[..., None]
        spread = np.sqrt(np.vecdot(self.share, (self.score_by_people - middle) ** 2))[..., None]
        positions: Floats = (self.score_by_weight - middle) / np.maximum(spread, _LEAST_SPREAD_OF_SCORES)
        return positions

    @cached_property
    def off_trend(self) -> Floats:
        """Variance of each level's true mean around the trend, over tau**2."""
        off_trend: Floats = _OFF_TREND**2 * np.maximum(self.positions**2, 1)
        return off_trend

    @cached_property
    def off_trend_weighted(self) -> Floats:
        """Like `off_trend`, for the weighted mean of the level: unequal weights within it may add to the variance."""
        variances: Floats = self.off_trend + (_BY_UNEVENNESS * self.unevenness) ** 2
        return variances

    def variance(self, parts: Floats) -> Floats:
        """The squared standard error of everyone's mean, if levels agree and are combined with these weights."""
        sampled_parts = parts - self.own * self.share
        variance: Floats = np.vecdot(parts**2, self.noise_std**2) + np.vecdot(sampled_parts**2, 1 / self.effective)
        return variance

    @property
    def everyone_std(self) -> float:
        """The standard error of everyone's mean, if levels are combined by their numbers of people."""
        return math.sqrt(self.variance(self.share))


@dataclass(frozen=True, eq=False)
class Pooled:
    """Combinations of the levels of one group, for every size of disagreement between them.

    `costs` compares several sets of levels; all else is for one.
    """

    errors: LevelErrors

    @cached_property
    def _sizes(self) -> _Sizes:
        squares = np.array(_SIZES) ** 2
        off_trend = self.errors.off_trend_weighted
        diagonal = self.errors.variances[..., None, :] + squares[:, None] * off_trend[..., None, :]
        return _Sizes(squares, diagonal, self.errors.positions[..., None, :], off_trend[..., None, :])

    @cached_property
    def _parts(self) -> Floats:
        """By size: the weights of the levels in the best linear unbiased prediction of everyone's mean.

        Weights add up to 1, so that nothing need be known about the common mean.
        """
        errors = self.errors
        sizes = self._sizes
        covariance = self._with_everyone + (errors.own * errors.share / errors.effective)[..., None, :]
        for_common_mean = sizes.row_sums / sizes.precision[..., None]
        for_deviations = sizes.solve(covariance)
        parts: Floats = for_common_mean + for_deviations - for_deviations.sum(axis=-1)[..., None] * for_common_mean
        return parts

    @cached_property
    def _with_everyone(self) -> Floats:
        """By size and level: the covariance of the level's true mean, around the trend, with the mean of everyone."""
        of_levels = (self.errors.off_trend * self.errors.share)[..., None, :]
        with_everyone: Floats = self._sizes.squares[:, None] * of_levels
        return with_everyone

    @cached_property
    def _variances(self) -> Floats:
        """By size: the variance of the combination's error that is due to differences between levels."""
        with_everyone = self._with_everyone
        share = self.errors.share[..., None, :]
        missed = np.vecdot(with_everyone, share) - 2 * np.vecdot(self._parts, with_everyone)
        variances: Floats = np.maximum(missed + self._sizes.variances(self._parts), 0.0)
        return variances

    def _stds_if(self, size: float) -> Floats:
        """The standard error of the combination for this size, if it is the true one; by set of levels."""
        number = _SIZES.index(size)
        stds: Floats = np.sqrt(self.errors.variance(self._parts[..., number, :]) + self._variances[..., number])
        return stds

    @property
    def costs(self) -> Floats:
        """By set of levels: the product of the standard errors if levels agree and if they disagree strongly."""
        return self._stds_if(_SIZES[0]) * self._stds_if(_LARGE_SIZE)

    @property
    def agreed(self) -> Floats:
        """The weights of the levels if they agree."""
        agreed: Floats = self._parts[0]
        return agreed

    @property
    def agreed_std(self) -> float:
        """The standard error if levels agree."""
        return float(self._stds_if(_SIZES[0]))

    @property
    def disagreed_std(self) -> float:
        """The standard error if levels disagree strongly."""
        return float(self._stds_if(_LARGE_SIZE))

    def _likelihoods(self, means: Floats) -> Floats:
        """By size: the likelihood of the released means, relative to the largest."""
        logs = self._sizes.log_likelihoods(means)
        likelihoods: Floats = np.exp(logs - logs.max())
        return likelihoods

    def believed(self, means: Floats) -> Floats:
        """Posterior means of the levels: the released means, shrunk together as far as chance explains differences."""
        believed: Floats = _posterior(self._likelihoods(means), _AGREE_FOR_INTERVAL) @ self._sizes.shrunk(means)
        return believed

    def _variances_by_shares(self, means: Floats) -> Floats:
        """By size: the variance of everyone's mean because the levels' numbers of people are not exactly known."""
        if self.errors.share_covariance is None:
            return np.zeros(len(_SIZES))
        level_means = self._sizes.shrunk(means)
        from_everyone = level_means - (level_means @ self.errors.share)[:, None]
        variances: Floats = ((from_everyone @ self.errors.share_covariance) * from_everyone).sum(axis=1)
        return variances

    def mixed(self, means: Floats) -> list[Mixed]:
        """How to combine the levels given their released means: one component per size that is not improbable."""
        likelihoods = self._likelihoods(means)
        variances = self._variances + self._variances_by_shares(means)
        estimate, interval = (_posterior(likelihoods, agree) for agree in (_AGREE_FOR_ESTIMATE, _AGREE_FOR_INTERVAL))
        kept = np.flatnonzero(np.maximum(estimate, interval) > _LEAST_PROBABILITY)
        estimate, interval = (chances / chances[kept].sum() for chances in (estimate, interval))
        return [
            Mixed(self._parts[k], float(variances[k]), float(estimate[k]), float(interval[k]), k == 0)
            for k in kept.tolist()
        ]

    def unmixed(self, means: Floats, parts: Floats) -> list[Mixed]:
        """The levels combined with given weights, whether they agree or not; with the probabilities of either."""
        likelihoods = self._likelihoods(means)
        estimate = float(_posterior(likelihoods, _AGREE_FOR_ESTIMATE)[0])
        interval = float(_posterior(likelihoods, _AGREE_FOR_INTERVAL)[0])
        if interval < _LEAST_PROBABILITY:
            return [Mixed(parts, 0.0, 1.0, 1.0, agree=False)]
        return [
            Mixed(parts, 0.0, estimate, interval, agree=True),
            Mixed(parts, 0.0, 1 - estimate, 1 - interval, agree=False),
        ]

    def trend(self, means: Floats) -> Trend:
        """The line that fits the released means best, each weighted by its precision."""
        precision = 1 / self.errors.variances
        positions = self.errors.positions
        away = positions - float(precision @ positions) / float(precision.sum())
        squares = max(float(precision @ away**2), _LEAST_SPREAD)
        return Trend(float(precision * away @ means) / squares, 1 / math.sqrt(squares))

    def difference(self, means: Floats, false_alarm: float) -> Difference | None:
        """How the levels differ, if a test with this probability of a false alarm rejects that they agree.

        Half of that probability goes to a test of a trend, half to tests of each level against the others.
        """
        precision = 1 / self.errors.variances
        positions = self.errors.score_by_weight
        if positions.size == 1:
            return None
        trend = precision * (positions - float(precision @ positions) / float(precision.sum()))
        contrasts = [(trend, false_alarm / 2)]
        for level in range(positions.size if positions.size > 2 else 0):
            others = np.where(np.arange(positions.size) == level, 0.0, precision)
            contrast = np.eye(positions.size)[level] - others / others.sum()
            contrasts.append((contrast, false_alarm / 2 / positions.size))
        differs = any(self._exceeds(contrast, means, chance) for contrast, chance in contrasts)
        return Difference(rising=float(trend @ means) > 0) if differs else None

    def _exceeds(self, contrast: Floats, means: Floats, chance: float) -> bool:
        """Whether a contrast of the means is larger than noise and sampling make it with this probability."""
        noise = math.sqrt(float((contrast * self.errors.noise_std) ** 2 @ np.ones_like(contrast)) / 2)
        sampling = math.sqrt(float(contrast**2 @ (1 / self.errors.effective)))
        return abs(float(contrast @ means)) > half_width(1 - chance, noise, sampling)


def _posterior(likelihoods: Floats, agree: float) -> Floats:
    """Posterior probabilities of the sizes; `agree` is the prior of the first, that levels agree."""
    prior = np.append(agree, (1 - agree) * _CHANCES_OF_SIZES / _CHANCES_OF_SIZES.sum())
    posterior: Floats = prior * likelihoods / float(prior @ likelihoods)
    return posterior
