"""What else one could do, for comparison: each as private as `estimate_mean`, and tuned as well as it can be.

=====================  ===========================================================================
`oracle`               told the population's mean and scale, it only has to average
`threshold_mean`       whoever grants less than a threshold is dropped, the others used at the threshold
`sampling_mean`        the sampling mechanism of Jorgensen, Yu and Cormode (ICDE 2015)
`minimum_mean`         everybody at the smallest budget: an ordinary library for differential privacy
=====================  ===========================================================================

All but the oracle run the steps of `estimate_mean` for a bell-shaped population, so that what differs is only how
unequal budgets are used.
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

_WIDTHS = np.geomspace(0.3, 5.0, 17)
_LARGEST_WEIGHT = 50.0  # nats, as in the plan
_LOCATING = 90.0  # about so many nats of allowance it takes to locate a population
_THRESHOLDS = 12  # so many are tried, at most
_LARGEST_LEVEL = 5.0  # nats: who grants more is as good as public


class BestClip(NamedTuple):
    """The clip width (in standard deviations) and the cap on weights of least error, and the law of that error."""

    width: float
    cap: float
    noise_scale: float
    sampling_std: float

    @property
    def error(self) -> float:
        """What the error exceeds one time in four, in standard deviations."""
        return half_width(0.75, self.noise_scale, self.sampling_std)


def best_clip(profile: Profile) -> BestClip:
    """How an average of people with these allowances, all of them spent on it, errs least if the centre is known."""
    return min((_clip(profile, float(width)) for width in _WIDTHS), key=lambda clip: clip.error)


def _clip(profile: Profile, width: float) -> BestClip:
    variance, slope = centered(width).variance, centered(width).inside
    cap = min(profile.saturation(2 * width**2 / variance)[0], _LARGEST_WEIGHT)
    weight, square = profile.capped_sums(cap)
    return BestClip(width, cap, width / (slope * weight), math.sqrt(variance * square) / (slope * weight))


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
    """An estimate by someone told the answer: clips around it, at the best width, and spends every budget on the sum.

    What any method could hope for. Also told who holds which budget: in the unbounded model that, and so the weight it
    divides by, is private, and only the sum is protected. NaN where nobody grants anything.
    """
    check_positive("std", std)
    chosen = make_model(model, budget_range)
    source = ArraySource(*records(chosen, values, budgets))
    profile = public_census(*count_budgets(source, chosen)).profile
    if profile.levels.size == 0:
        return math.nan
    best = best_clip(profile)
    clip = SquareClip(chosen, Fraction(1), best.cap, mean, best.width * std)
    (row,) = source.sum(summing_of([clip], grouped=False)).tolist()
    sums = ExactSums.of(row)
    released = (randomness or Randomness.secure()).add_laplace(sums.values, laplace_scale(clip.nat, 1))
    # Centred at the truth, the clipped mean is small enough for its slope alone to undo the clipping.
    return float(mean + clip.half * released / (sums.counted * STEPS) / centered(best.width).inside)


@quietly
def minimum_mean(
    values: Any,
    budgets: Any,
    *,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    randomness: Randomness | None = None,
) -> MeanEstimate:
    """The mean with everybody at the smallest positive budget (unbounded: at the lower end of the range)."""
    chosen, randomness = make_model(model, budget_range), randomness or Randomness.secure()
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
    """The mean of those who grant `threshold` or more, each used at the threshold.

    Unless given, it is the one of least predicted error: from the budgets where they are public, otherwise from a noisy
    census, which is charged to everyone and serves the plan as well.
    """
    chosen, randomness = make_model(model, budget_range), randomness or Randomness.secure()
    threshold = _checked(threshold)
    numbers, granted = records(chosen, values, budgets)
    source = ArraySource(numbers, granted)
    census = _census(source, chosen, randomness)
    profile = census.profile

    def kept(level: float) -> float:
        return float(profile.counts[profile.levels >= level].sum())

    if chosen.budgets_are_public:
        least = threshold or _least_near(2 * _best_level(profile.levels, kept), granted)
        source = ArraySource(numbers, np.where(granted >= least, least, 0.0))
        return _run(source, _census(source, chosen, randomness), chosen, randomness)
    # A noisy census tells how many hold at least the lower end of a bucket, and no more.
    level = threshold or _best_level(bucket_edges(chosen.public_range)[:-1], kept)
    reached = Profile.of(np.array([level]), np.array([kept(level)]))
    return _run(source, Census(reached, census.share, census.doubt), _uniform(level), randomness)


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
    """The mean of a random sample, everybody in it used at the threshold (Jorgensen, Yu and Cormode, ICDE 2015).

    A record of allowance a below the threshold t is kept with probability ``(e**a - 1) / (e**t - 1)``, others always;
    what is t-private for adding or removing a record of the sample is then a-private. How many are kept is private in
    either model, so the sample is used as the unbounded model uses records. The threshold (in budgets) is the one of
    least predicted error unless given.
    """
    chosen, randomness = make_model(model, budget_range), randomness or Randomness.secure()
    threshold = _checked(threshold)
    numbers, granted = records(chosen, values, budgets)
    census = _census(ArraySource(numbers, granted), chosen, randomness)
    rest = float(1 - census.share)  # what the census left of every allowance
    profile = Profile(census.profile.levels * rest, census.profile.counts)

    def kept(level: float) -> float:
        return float((profile.counts * _keep_rates(profile.levels, level)).sum())

    level = threshold * rest / chosen.budget_per_allowance if threshold else _best_level(profile.levels, kept)
    expected = Profile.of(np.array([level]), np.array([kept(level)]))
    rates = _keep_rates(round_down(chosen.allowances(granted) * rest), level)
    sample = numbers[randomness.coins(rates)]
    # No census of the sample is needed; the least share marks its size as private.
    inner = Census(expected, Fraction(1, SHARE_UNIT), census.doubt * rest)
    return _run(ArraySource(sample, np.full(sample.size, level)), inner, _uniform(level), randomness)


def _keep_rates(allowances: Floats, level: float) -> Floats:
    """With which probability each record may be used at `level` and lose no more than its allowance."""
    with np.errstate(over="ignore"):
        rates = np.expm1(np.minimum(allowances, level)) / math.expm1(level)
    return np.where(allowances >= level, 1.0, np.minimum(round_down(rates), 1.0))


def _checked(threshold: float | None) -> float | None:
    return None if threshold is None else check_positive("threshold", threshold)


def _best_level(levels: Floats, kept: Callable[[float], float]) -> float:
    """The threshold, among those given, at which the people kept give the least predicted error."""

    def error(level: float) -> float:
        people = kept(level)
        if not people:
            return math.inf
        left = max(1 - _LOCATING / (people * level), 0.05)
        return best_clip(Profile(np.array([level * left]), np.array([people]))).error

    return min(_some(np.unique(np.minimum(levels, _LARGEST_LEVEL)).tolist()), key=error, default=1.0)


def _least_near(level: float, budgets: Floats) -> float:
    """The smallest budget that a public census, whose cells are a little coarse, may have counted at `level`."""
    return float(budgets[budgets >= level * (1 - 2.0**-7)].min(initial=math.inf))


def _some(levels: list[float]) -> Iterable[float]:
    """All levels or, of many, some evenly spaced ones."""
    if len(levels) <= _THRESHOLDS:
        return levels
    return [levels[round(place)] for place in np.linspace(0, len(levels) - 1, _THRESHOLDS)]


def _uniform(level: float) -> Model:
    """Add or remove, all who grant `level` or more at that level."""
    return Model("unbounded", (level, level))


def _census(source: ArraySource, model: Model, randomness: Randomness) -> Census:
    (census,) = take_census(count_budgets(source, model), Options(model, "gaussian"), randomness)
    return census


def _run(source: ArraySource, census: Census, model: Model, randomness: Randomness) -> MeanEstimate:
    """The steps of `estimate_mean` after its census."""
    (held,) = count_budgets(source, model)
    planned = [Group(held, make_plan(census, Options(model, "gaussian", whose=Whose("budgets"))))]
    averaged = average(source, locate(source, planned, randomness), randomness)
    (estimate,) = conclude([group.released for group in averaged], Promise(model, Fraction(1), randomness.private))
    assert estimate
    return estimate
