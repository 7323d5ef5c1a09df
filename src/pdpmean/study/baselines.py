"""Baselines: other private estimators of a mean, to compare `estimate_mean` with, each tuned as well as possible.

=====================  ===========================================================================
`oracle`               is told the population's mean and standard deviation, and only has to average
`threshold_mean`       drops people who grant less than a threshold, and uses all others at the threshold
`sampling_mean`        the sampling mechanism of Jorgensen, Yu and Cormode (ICDE 2015)
`minimum_mean`         uses everybody at the smallest budget, as a library without personal budgets would
=====================  ===========================================================================

All are as private as `estimate_mean`, except that the oracle knows the answer. All but the oracle run the steps of
`estimate_mean` for a Gaussian population, so that they differ from it only in how they use unequal budgets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from pdpmean.core.checks import check_positive
from pdpmean.core.choices import SHARE_UNIT
from pdpmean.core.integers import STEPS
from pdpmean.core.model import Model, make_model
from pdpmean.core.options import Options
from pdpmean.core.profile import Profile
from pdpmean.core.promise import Promise
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.core.weights import round_down
from pdpmean.core.whose import Whose
from pdpmean.inference.conclude import conclude
from pdpmean.laws.clipped_normal import centered
from pdpmean.laws.error_law import half_width
from pdpmean.passes.cells import count_budgets
from pdpmean.planning.census import Census, bucket_edges
from pdpmean.planning.forecast import LARGEST_WEIGHT, ONE_IN_FOUR
from pdpmean.planning.make import make_plan
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.release.average import average, summing_of
from pdpmean.release.census import public_census, take_census
from pdpmean.release.group import Group
from pdpmean.release.locate import locate
from pdpmean.release.shape import ExactSums
from pdpmean.release.squares import SquareClip
from pdpmean.results.mean_estimate import MeanEstimate
from pdpmean.sources.arrays import ArraySource
from pdpmean.sources.private_columns import records

__all__ = ["BestClip", "best_clip", "minimum_mean", "oracle", "sampling_mean", "threshold_mean"]

_HALF_WIDTHS = np.geomspace(0.3, 5.0, 17)  # of the clips that are tried, in standard deviations
_NATS_TO_LOCATE = 90.0  # roughly the total allowance that it takes to locate a population
_MOST_THRESHOLDS = 12  # how many thresholds are tried, at most
_LARGEST_LEVEL = 5.0  # nats, the largest threshold that is tried; with more, noise hardly matters


class BestClip(NamedTuple):
    """The clip and the cap on weights that minimize the error, and the distribution of that error.

    All but the cap are in standard deviations of the population.
    """

    half: float
    """Half the distance between the clipping bounds."""
    cap: float
    """The largest weight, in nats."""
    noise_scale: float
    """The scale of the Laplace noise in the mean."""
    sampling_std: float

    @property
    def error(self) -> float:
        """The error that one run in four exceeds, in standard deviations."""
        return half_width(ONE_IN_FOUR, self.noise_scale, self.sampling_std)


def best_clip(profile: Profile) -> BestClip:
    """The clip of least error for an average that spends people's whole allowances, if the centre is known."""
    return min((_clip(profile, float(half)) for half in _HALF_WIDTHS), key=lambda clip: clip.error)


def _clip(profile: Profile, half: float) -> BestClip:
    """The best cap for a clip of this half width, and its error.

    Clipping shrinks a small shift of the mean by `slope`, the probability of a value between the bounds.
    """
    variance = centered(half).variance
    slope = centered(half).inside
    cap = min(profile.saturation(2 * half**2 / variance)[0], LARGEST_WEIGHT)
    weight, square = profile.capped_sums(cap)
    return BestClip(half, cap, half / (slope * weight), math.sqrt(variance * square) / (slope * weight))


@quietly
def oracle(
    values: Any,
    budgets: Any,
    *,
    mean: float,
    std: float,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    randomness: Randomness | None = None,
) -> float:
    """The estimate of an oracle: it clips around the true mean at the best width, and spends all budgets on the sum.

    It shows what any method could hope for. In the unbounded model it also knows everybody's budget: it protects only
    the sum, and not the total weight that the sum is divided by. NaN if nobody grants anything.
    """
    check_positive("std", std)
    chosen = make_model(model, budget_range)
    source = ArraySource(*records(chosen, values, budgets))
    profile = public_census(*count_budgets(source, chosen)).profile
    if profile.allowances.size == 0:
        return math.nan
    best = best_clip(profile)
    clip = SquareClip(chosen, Fraction(1), best.cap, mean, best.half * std)
    (row,) = source.sum(summing_of([clip], grouped=False)).tolist()
    sums = ExactSums.of(row)
    released = (randomness or Randomness.secure()).add_laplace(sums.values, laplace_scale(clip.nat, 1))
    # The clip is centred at the true mean, so the clipped mean is near 0, and dividing by the slope undoes the
    # clipping.
    return float(mean + clip.half * released / (sums.counted * STEPS) / centered(best.half).inside)


@quietly
def minimum_mean(
    values: Any,
    budgets: Any,
    *,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    randomness: Randomness | None = None,
) -> MeanEstimate:
    """The mean with everybody at the smallest positive budget (unbounded: at the lower end of the public range)."""
    chosen = make_model(model, budget_range)
    randomness = randomness or Randomness.secure()
    numbers, granted = records(chosen, values, budgets)
    if chosen.budgets_are_public:
        positive = granted[granted > 0]
        granted = np.where(granted > 0, positive.min() if positive.size else 0.0, 0.0)
    else:
        chosen = _uniform(chosen.public_range[0])
    source = ArraySource(numbers, granted)
    return _run(source, _census(source, chosen, randomness), chosen, randomness)


@quietly
def threshold_mean(
    values: Any,
    budgets: Any,
    *,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    threshold: float | None = None,
    randomness: Randomness | None = None,
) -> MeanEstimate:
    """The mean of people who grant `threshold` or more, each used at the threshold.

    By default the threshold is the one with the least predicted error. It is chosen from the budgets where they are
    public, and otherwise from a noisy census, which everyone pays for and which the plan uses as well.
    """
    chosen = make_model(model, budget_range)
    randomness = randomness or Randomness.secure()
    threshold = _checked_threshold(threshold)
    numbers, granted = records(chosen, values, budgets)
    source = ArraySource(numbers, granted)
    census = _census(source, chosen, randomness)
    profile = census.profile

    def kept(level: float) -> float:
        return float(profile.counts[profile.allowances >= level].sum())

    if chosen.budgets_are_public:
        # Levels are allowances, which are half the budgets in the bounded model.
        least = threshold or _smallest_budget_at(2 * _best_level(profile.allowances, kept), granted)
        source = ArraySource(numbers, np.where(granted >= least, least, 0.0))
        return _run(source, _census(source, chosen, randomness), chosen, randomness)
    # A noisy census only tells how many people grant at least the lower end of each bucket.
    level = threshold or _best_level(bucket_edges(chosen.public_range)[:-1], kept)
    reached = Profile.of(np.array([level]), np.array([kept(level)]))
    return _run(source, Census(reached, census.share, census.total_noise_std), _uniform(level), randomness)


@quietly
def sampling_mean(
    values: Any,
    budgets: Any,
    *,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    threshold: float | None = None,
    randomness: Randomness | None = None,
) -> MeanEstimate:
    """The mean of a random sample, with every record used at the threshold (Jorgensen, Yu and Cormode, ICDE 2015).

    A record with an allowance a below the threshold t is kept with probability ``(e**a - 1) / (e**t - 1)``; all others
    are kept always. A step that is t-private for adding or removing a record of the sample is then a-private for this
    record. The size of the sample is private in either model, so it is treated as in the unbounded model. By default
    the threshold, a budget, is the one with the least predicted error.
    """
    chosen = make_model(model, budget_range)
    randomness = randomness or Randomness.secure()
    threshold = _checked_threshold(threshold)
    numbers, granted = records(chosen, values, budgets)
    census = _census(ArraySource(numbers, granted), chosen, randomness)
    rest = float(1 - census.share)  # the fraction of every allowance that is left after the census
    profile = Profile(census.profile.allowances * rest, census.profile.counts)

    def kept(level: float) -> float:
        return float((profile.counts * _keep_rates(profile.allowances, level)).sum())

    level = threshold * rest / chosen.budget_per_allowance if threshold else _best_level(profile.allowances, kept)
    expected = Profile.of(np.array([level]), np.array([kept(level)]))
    rates = _keep_rates(round_down(chosen.allowances(granted) * rest), level)
    sample = numbers[randomness.coins(rates)]
    # The sample needs no census of its own. A share above 0, here the smallest, marks its size as private.
    sample_census = Census(expected, Fraction(1, SHARE_UNIT), census.total_noise_std * rest)
    return _run(ArraySource(sample, np.full(sample.size, level)), sample_census, _uniform(level), randomness)


def _keep_rates(allowances: Floats, level: float) -> Floats:
    """The probability with which each record may be used at `level`, such that it loses at most its allowance."""
    with np.errstate(over="ignore"):
        rates = np.expm1(np.minimum(allowances, level)) / math.expm1(level)
    return np.where(allowances >= level, 1.0, np.minimum(round_down(rates), 1.0))


def _checked_threshold(threshold: float | None) -> float | None:
    """The threshold; raises unless it is None or a positive number."""
    return None if threshold is None else check_positive("threshold", threshold)


def _best_level(levels: Floats, kept: Callable[[float], float]) -> float:
    """The level with the least predicted error, if `kept(level)` people are used at it."""

    def error(level: float) -> float:
        people = kept(level)
        if not people:
            return math.inf
        # The fraction of every allowance that is left for the average after locating the population.
        left = max(1 - _NATS_TO_LOCATE / (people * level), 0.05)
        return best_clip(Profile(np.array([level * left]), np.array([people]))).error

    return min(_evenly_spaced(np.unique(np.minimum(levels, _LARGEST_LEVEL)).tolist()), key=error, default=1.0)


def _smallest_budget_at(level: float, budgets: Floats) -> float:
    """The smallest budget that a public census may have counted at `level`.

    A census counts budgets in narrow cells, so that a budget may lie below its level by a fraction of up to 2**-7.
    """
    return float(budgets[budgets >= level * (1 - 2.0**-7)].min(initial=math.inf))


def _evenly_spaced(levels: list[float]) -> Iterable[float]:
    """All levels if they are few, otherwise 12 at evenly spaced ranks."""
    if len(levels) <= _MOST_THRESHOLDS:
        return levels
    return [levels[round(rank)] for rank in np.linspace(0, len(levels) - 1, _MOST_THRESHOLDS)]


def _uniform(level: float) -> Model:
    """The unbounded model in which everyone who grants `level` or more is used at that level."""
    return Model("unbounded", (level, level))


def _census(source: ArraySource, model: Model, randomness: Randomness) -> Census:
    """The census of the budgets, noisy where they are private."""
    (census,) = take_census(count_budgets(source, model), Options(model, "gaussian"), randomness)
    return census


def _run(source: ArraySource, census: Census, model: Model, randomness: Randomness) -> MeanEstimate:
    """Run the steps of `estimate_mean` that follow the census."""
    (cells,) = count_budgets(source, model)
    planned = [Group(cells, make_plan(census, Options(model, "gaussian", whose=Whose("budgets"))))]
    averaged = average(source, locate(source, planned, randomness), randomness)
    (estimate,) = conclude([group.released for group in averaged], Promise(model, Fraction(1), randomness.private))
    assert estimate
    return estimate
