"""Inference for a bell-shaped population: the bias of clipping is undone, since a normal has only two parameters.

A centre (a private median), a private median distance from it and a clipped mean were released. These
determine the mean and standard deviation of a normal population. What does not look normal is a contradiction: many
values near the centre, few values where the population was located, or a mean far from the median.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pdpmean.core.threads import in_threads
from pdpmean.inference.population import (
    LARGEST_ERROR,
    Contradiction,
    Evidence,
    Population,
    ShapeInference,
)
from pdpmean.laws.clipped_normal import centered, clipped_variance, mean_tent, ratio_slope, undo_clipping
from pdpmean.laws.error_law import ErrorLaw, half_width, rank_nodes
from pdpmean.planning.prediction import NARROWEST, TENT_PART, center_error, scale_error, tent_error, tent_trust
from pdpmean.planning.released import BellSums, Released

__all__ = ["GaussianInference"]

_BATCH = 128  # groups that are solved at once; larger arrays would not stay in the processor's cache

# Distances between mean and median, in standard deviations, that are a reason for a warning and for no answer. Rounding
# moves a median, too: rounding to 1/6 of a standard deviation hardly ever by the first, to 1/4 hardly by the second.
_APART, _FAR_APART = 0.17, 0.26
# The part of a normal population within `NEAR` median distances of its centre, and the largest plausible part. Other
# smooth populations have up to a fifth; a normal one rounded to fifths of a standard deviation has up to 23 %.
_NEAR, _MOST_NEAR = 0.14, 0.24
# The smallest plausible sum of tents, relative to that of a normal population. Other smooth populations have more than
# the first, unless there is a gap in the middle. If budgets are private, even half of the expected people have more
# than the second; a noisy census may expect twice as many people as there are.
_LEAST_FOUND, _LEAST_FOUND_UNBOUNDED = 0.7, 0.4
_FALSE_ALARM = 0.001  # the probability that a normal population raises an alarm, over all groups together

_MANY_EQUAL = Contradiction("many values seem to be equal, or nearly so", "use shape='any'")
_FEW_FOUND = Contradiction(
    "too few of the values lie where the population was located: many may be missing or not numbers, the middle of the "
    "population may be empty, or it was located in the wrong place",
    "check that the column holds numbers, and that few of them are missing; if so, use shape='any'",
)
_SKEWED = Contradiction("mean and median differ by more than a bell-shaped population allows", "use shape='any'")
_PERHAPS_SKEWED = (
    "mean and median differ: the population is skewed, unless its values are coarsely rounded: use shape='any'"
)


class _Numbers(NamedTuple):
    """The numbers from which a normal population is solved for: those of one group, or columns with a row per group."""

    center: Any
    median_distance: Any
    half: Any
    """Half the width of the clip."""
    mean: Any
    """The sum of the clipped values z in [-1, 1], by weight, relative to the sum of tents."""
    total: Any
    """The sum of tents, in nats."""
    total_error: Any
    """The relative error (std) of the sum of tents."""
    square: Any
    """The sum of the squared weights in the sums."""
    scale_weight: Any
    """The total weight behind the median distance, in nats."""
    scale_square: Any
    """The squared weights behind the median distance."""


@dataclass(frozen=True)
class _Bell(Evidence):
    """The released numbers of a group whose population is taken to be bell-shaped."""

    @property
    def averaged(self) -> BellSums:
        """The released sums."""
        assert isinstance(self.released.averaged, BellSums)
        return self.released.averaged

    @property
    def released_weight(self) -> float:
        """The total weight that the released sum of tents implies, in nats."""
        return self.averaged.tents / self.tents_per_weight

    @property
    def tents_per_weight(self) -> float:
        """The approximate mean of ``1 - |z|``: the sum of tents, relative to the total weight."""
        return centered(self.plan.clip_half_width).tent / self.plan.clip_half_width

    @property
    def tents(self) -> tuple[float, float]:
        """The sum of tents in nats, and its relative error (std).

        If budgets are public, the total weight predicts it, and prediction and released sum are averaged.
        """
        plan = self.plan
        expected = self.tents_per_weight * self.weight
        trust = 1.0 if plan.census.is_noisy else tent_trust(plan.scale, plan.clip_half_width, expected)
        total = expected + trust * (self.averaged.tents - expected)
        return total, math.sqrt(trust) * tent_error(expected)

    @property
    def numbers(self) -> _Numbers:
        """The numbers from which the normal population is solved for."""
        location = self.released.location
        averaged = self.averaged
        scale = self.plan.scale
        assert location.median_distance is not None
        total, error = self.tents
        return _Numbers(
            center=location.center,
            median_distance=location.median_distance,
            half=location.half,
            mean=averaged.mean * (averaged.tents / total),
            total=total,
            total_error=error,
            square=self.square,
            scale_weight=scale.weight * self.growth,
            scale_square=scale.square * self.growth,
        )


class GaussianInference(ShapeInference):
    """Undoes clipping by solving for the normal population that explains the released numbers."""

    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The normal population behind each set of released numbers."""
        batches = (released[start : start + _BATCH] for start in range(0, len(released), _BATCH))
        return [population for batch in in_threads(_behind_the_clip, batches) for population in batch]

    def contradictions(self, released: Released, population: Population, part: float) -> tuple[Contradiction, ...]:
        """How the released numbers differ from what a bell-shaped population allows."""
        group, location = _Bell(released), released.location
        confidence = 1 - part * _FALSE_ALARM
        if location.degenerate or _many_near(group, confidence):
            return (_MANY_EQUAL,)
        if _few_found(group, confidence):
            return (_FEW_FOUND,)
        gap, by_chance = _gap(group, population, confidence)
        return (_SKEWED,) if gap > max(by_chance, _FAR_APART) else ()

    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:
        """A warning if the population may be skewed."""
        gap, by_chance = _gap(_Bell(released), population, 1 - part * _FALSE_ALARM)
        return (_PERHAPS_SKEWED,) if gap > max(by_chance, _APART) else ()


def _behind_the_clip(released: Sequence[Released]) -> list[Population]:
    """The normal population behind each group, with the distribution of its mean.

    The median distance is noisy, so its true rank is uncertain. The distribution of the mean is a mixture over a few
    ranks, one column each. Rows are groups.
    """
    columns = np.array([_Bell(group).numbers for group in released]).T[..., None]
    numbers = _Numbers(*columns)
    ratio = numbers.half / numbers.median_distance
    # The ranks that the median distance may have. The last column is the median itself, which gives the estimate.
    nodes = rank_nodes(numbers.scale_weight[:, 0], numbers.scale_square[:, 0])
    ranks = np.append(nodes, np.full_like(ratio, 0.5), axis=1)
    shifts, sigmas = undo_clipping(numbers.mean, ratio, ranks)
    widths = ratio / sigmas
    slopes = np.maximum(ratio_slope(widths, shifts, numbers.mean), 0.05)
    weights = numbers.total * (widths / mean_tent(widths, shifts))
    # The mean is a ratio to the sum of tents, so the relative error of that sum moves it in proportion.
    tent_errors = numbers.total_error * numbers.mean * mean_tent(widths, shifts) * weights
    deviations = np.hypot(np.sqrt(clipped_variance(widths, shifts, numbers.mean) * numbers.square), tent_errors)
    with np.errstate(over="ignore"):
        means = np.nan_to_num(numbers.center + shifts * sigmas * numbers.median_distance)
        scales = np.nan_to_num(sigmas * numbers.median_distance)
        errors = (numbers.half / (weights * slopes), scales * deviations / (weights * slopes))
        limited = (np.minimum(np.nan_to_num(error), LARGEST_ERROR) for error in errors)
        laws = map(ErrorLaw, *(parts[:, :-1] for parts in (means, *limited)))
    solved = (means[:, -1].tolist(), scales[:, -1].tolist(), laws)
    return [Population(*population) for population in zip(*solved, strict=True)]


def _gap(group: _Bell, population: Population, confidence: float) -> tuple[float, float]:
    """The distance between mean and median, in standard deviations, and the largest that chance explains."""
    gap = abs(population.mean - group.released.location.center) / population.scale
    noise, sampling = (error / min(group.growth, 1.0) for error in center_error(group.plan.center))
    released_error = math.hypot(population.law.noise_std, population.law.sampling_std) / population.scale
    mean_error = max(group.plan.noise_std, released_error)
    return gap, half_width(confidence, noise, math.hypot(sampling, mean_error))


def _many_near(group: _Bell, confidence: float) -> bool:
    """Whether more of the weight is near the centre than in any smooth population.

    The released part has noise and sampling error, and also depends on the located scale, which has its own error.
    """
    plan, averaged = group.plan, group.averaged
    if plan.clip_half_width <= NARROWEST:  # then no value counts as near
        return False
    part = averaged.tents / group.weight
    noise, sampling = (_NEAR * error / min(group.growth, 1.0) for error in scale_error(plan.scale))
    counted = math.sqrt(_NEAR * group.square) / group.weight
    noise = math.hypot(noise, averaged.near_noise_scale * part)
    by_chance = half_width(confidence, noise, math.hypot(sampling, counted))
    return averaged.near * part > _MOST_NEAR + by_chance


def _few_found(group: _Bell, confidence: float) -> bool:
    """Whether the sum of tents is far below what the plan expected, so that the population is not where it was located.

    The sum has noise and sampling error, and depends on the located scale. The plan may rest on a noisy census.
    """
    plan = group.plan
    weight = group.plan.mean.weight
    tent = group.tents_per_weight
    noise, sampling = (centered(plan.clip_half_width).tent_slope * error for error in scale_error(plan.scale))
    tent_noise = 1 / (float(TENT_PART) * tent * weight)
    tent_sampling = math.sqrt(plan.mean.square / tent) / weight
    census_error = float(plan.shares["sum"]) * plan.census.total_noise_std / weight
    by_chance = half_width(confidence, math.hypot(noise, tent_noise), math.hypot(sampling, tent_sampling, census_error))
    least = _LEAST_FOUND_UNBOUNDED if plan.census.is_noisy else _LEAST_FOUND
    return group.averaged.tents / (tent * weight) < least - by_chance
