"""What follows from the released numbers if the population is bell-shaped: clipping is undone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pdpmean.core.threads import in_threads
from pdpmean.inference.population import (
    LARGEST_ERROR,
    Evidence,
    Population,
    ShapeInference,
)
from pdpmean.laws.clipped_normal import centered, clipped_variance, mean_tent, ratio_slope, undo_clipping
from pdpmean.laws.error_law import ErrorLaw, half_width, rank_nodes
from pdpmean.planning.prediction import NARROWEST, TENT_PART, center_error, scale_error, tent_error, tent_trust
from pdpmean.planning.released import Average, Released

__all__ = ["GaussianInference"]

_TOGETHER = 128  # groups solved for at once; the arrays of more would not stay in the processor's cache

# Standard deviations between mean and median. Values rounded to a sixth of one hardly ever move their median as far as
# the first, values rounded to a quarter hardly as far as the second.
_APART, _FAR_APART = 0.17, 0.26
# Within `NEAR` of the median distance lie 14 % of a normal population, and up to a fifth of other smooth ones; rounded
# to steps of a fifth of a standard deviation, up to 23 % of one.
_NEAR, _MOST_NEAR = 0.14, 0.24
# The tents of other smooth populations add up to more than this part of those of a normal one, unless there is a gap in
# the middle. Where budgets are private, so do those of half the people: a census may have overrated them so much.
_LEAST_FOUND, _LEAST_FOUND_UNBOUNDED = 0.7, 0.4
_FALSE_ALARM = 0.001

_MANY_EQUAL = "many values seem to be equal, or nearly so: use shape='any'"
_FEW_FOUND = (
    "too few of the values lie where the population was located: many may be missing or not numbers, the middle of the "
    "population may be empty, or it was located in the wrong place"
)
_SKEWED = "mean and median differ by more than a bell-shaped population allows: use shape='any'"
_PERHAPS_SKEWED = (
    "mean and median differ: the population is skewed, unless its values are coarsely rounded: use shape='any'"
)


class _Numbers(NamedTuple):
    """What a population is solved for from: one number per group, or columns of them."""

    center: Any
    spread: Any
    half: Any
    mean: Any
    total: Any
    total_error: Any
    square: Any
    scale_weight: Any
    scale_square: Any


@dataclass(frozen=True)
class _Bell(Evidence):
    """What was released of a bell-shaped population."""

    @property
    def averaged(self) -> Average:
        """Its sums."""
        assert isinstance(self.released.averaged, Average)
        return self.released.averaged

    @property
    def released_weight(self) -> float:
        """Behind the tents."""
        return self.averaged.total / self.total_per_weight

    @property
    def total_per_weight(self) -> float:
        """The mean tent, about."""
        return centered(self.plan.clip_width).tent / self.plan.clip_width

    @property
    def tents(self) -> tuple[float, float]:
        """What the tents add up to, and the relative error of that.

        Where budgets are public it is known about what they should, and the released number is trusted only so far.
        """
        plan, expected = self.plan, self.total_per_weight * self.weight
        trust = 1.0 if plan.census.is_noisy else tent_trust(plan.scale, plan.clip_width, expected)
        total = expected + trust * (self.averaged.total - expected)
        return total, math.sqrt(trust) * tent_error(expected)

    @property
    def numbers(self) -> _Numbers:
        """What the population is solved for from."""
        location, averaged, scale = self.released.location, self.averaged, self.plan.scale
        total, error = self.tents
        return _Numbers(
            center=location.center,
            spread=location.spread,
            half=location.half,
            mean=averaged.mean * (averaged.total / total),
            total=total,
            total_error=error,
            square=self.square,
            scale_weight=scale.weight * self.growth,
            scale_square=scale.square * self.growth,
        )


class GaussianInference(ShapeInference):
    """Clipping is undone by solving for the normal population behind the released numbers."""

    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The normal population behind each group."""
        parts = (released[start : start + _TOGETHER] for start in range(0, len(released), _TOGETHER))
        return [population for part in in_threads(_behind_the_clip, parts) for population in part]

    def contradictions(self, released: Released, population: Population, part: float) -> tuple[str, ...]:
        """What released numbers of a bell cannot be."""
        group, location = _Bell(released), released.location
        rarely = 1 - part * _FALSE_ALARM
        if location.degenerate or _many_near(group, rarely):
            return (_MANY_EQUAL,)
        if _few_found(group, rarely):
            return (_FEW_FOUND,)
        gap, by_chance = _gap(group, population, rarely)
        return (_SKEWED,) if gap > max(by_chance, _FAR_APART) else ()

    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:
        """Whether it may be no bell, where nothing contradicts that."""
        if self.contradictions(released, population, part):
            return ()
        gap, by_chance = _gap(_Bell(released), population, 1 - part * _FALSE_ALARM)
        return (_PERHAPS_SKEWED,) if gap > max(by_chance, _APART) else ()


def _behind_the_clip(released: Sequence[Released]) -> list[Population]:
    """Normal populations, and the laws of the error, mixed over the true rank of the spread: one row per group."""
    columns = np.array([_Bell(group).numbers for group in released]).T[..., None]
    found = _Numbers(*columns)
    ratio = found.half / found.spread
    # The last one is the median itself; the others are what its rank may have been.
    nodes = rank_nodes(found.scale_weight[:, 0], found.scale_square[:, 0])
    levels = np.append(nodes, np.full_like(ratio, 0.5), axis=1)
    shifts, sigmas = undo_clipping(found.mean, ratio, levels)
    widths = ratio / sigmas
    slopes = np.maximum(ratio_slope(widths, shifts, found.mean), 0.05)
    weights = found.total * (widths / mean_tent(widths, shifts))
    # The error of the total moves the mean in proportion to itself; so do those who are in the sample.
    moved = found.total_error * found.mean * mean_tent(widths, shifts) * weights
    deviations = np.hypot(np.sqrt(clipped_variance(widths, shifts, found.mean) * found.square), moved)
    with np.errstate(over="ignore"):
        means = np.nan_to_num(found.center + shifts * sigmas * found.spread)
        scales = np.nan_to_num(sigmas * found.spread)
        errors = (found.half / (weights * slopes), scales * deviations / (weights * slopes))
        limited = (np.minimum(np.nan_to_num(error), LARGEST_ERROR) for error in errors)
        laws = map(ErrorLaw, *(parts[:, :-1] for parts in (means, *limited)))
    solved = (means[:, -1].tolist(), scales[:, -1].tolist(), laws)
    return [Population(*one) for one in zip(*solved, strict=True)]


def _gap(group: _Bell, population: Population, rarely: float) -> tuple[float, float]:
    """How far mean and median lie apart, in standard deviations, and how far they may by chance."""
    gap = abs(population.mean - group.released.location.center) / population.scale
    noise, sampling = (error / min(group.growth, 1.0) for error in center_error(group.plan.center))
    own_error = math.hypot(population.law.noise_std, population.law.sampling_std) / population.scale
    own = max(group.plan.noise_std, own_error)
    return gap, half_width(rarely, noise, math.hypot(sampling, own))


def _many_near(group: _Bell, rarely: float) -> bool:
    """Whether more of the weight is near than a smooth population has there.

    That part errs by its noise and by who is in the sample, and follows the located scale.
    """
    plan, averaged = group.plan, group.averaged
    if averaged.near is None or plan.clip_width <= NARROWEST:
        return False
    part = averaged.total / group.weight
    noise, sampling = (_NEAR * error / min(group.growth, 1.0) for error in scale_error(plan.scale))
    counted = math.sqrt(_NEAR * group.square) / group.weight
    by_chance = half_width(rarely, math.hypot(noise, averaged.doubt * part), math.hypot(sampling, counted))
    return averaged.near * part > _MOST_NEAR + by_chance


def _few_found(group: _Bell, rarely: float) -> bool:
    """Whether the tents add up to far less than the plan had led to expect.

    They err by their noise and by who is in the sample, and follow the located scale; and the plan may rest on a noisy
    census.
    """
    plan, weight, tent = group.plan, group.plan.mean.weight, group.total_per_weight
    noise, sampling = (centered(plan.clip_width).tent_slope * error for error in scale_error(plan.scale))
    of_tents = 1 / (float(TENT_PART) * tent * weight)
    counted = math.sqrt(plan.mean.square / tent) / weight
    of_census = float(plan.shares["sum"]) * plan.census.doubt / weight
    by_chance = half_width(rarely, math.hypot(noise, of_tents), math.hypot(sampling, counted, of_census))
    least = _LEAST_FOUND_UNBOUNDED if plan.census.is_noisy else _LEAST_FOUND
    return group.averaged.total / (tent * weight) < least - by_chance
