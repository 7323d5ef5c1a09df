"""Population: the mean and scale behind what was released of each group, and the law of the error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.average import Average
from pdpmean.clipped_normal import clipped_variance, inside, undo_clipping
from pdpmean.extent import tail_beyond
from pdpmean.interval import ErrorLaw, finite, rank_nodes
from pdpmean.locate import Location
from pdpmean.planned import Plan

__all__ = ["Population", "Released", "find_populations"]

_BUCKET_DOUBT = 0.5  # how far, relatively, a noisy census misstates the squared weights: its buckets are wide
_LARGEST_ERROR = 2.0**1013  # so that a few of them add up to a number
_TOGETHER = 128  # groups solved for at once; the arrays of more would not stay in the processor's cache


@dataclass(frozen=True)
class Released:
    """What was released of a group, and its plan; `squares`, of the weights, where they are not in the plan."""

    plan: Plan
    location: Location
    half: float
    averaged: Average
    squares: float | None

    @property
    def grown(self) -> float:
        """How much more weight was released than the noisy census had led to expect."""
        if "weights" not in self.plan.shares:
            return 1.0
        return min(max(self.averaged.weight / self.plan.mean.weight, 0.4), 2.5)

    @property
    def square(self) -> float:
        """The sum of the squared weights: between the plan's and the released one, the nearer to each the surer."""
        plan, expected = self.plan, self.plan.mean.square * self.grown
        if self.squares is None:
            return expected
        noise = math.sqrt(2) * plan.largest_weight * float(plan.shares["sum"] / plan.shares["weight_squares"])
        trust = 1 / (1 + (noise / (_BUCKET_DOUBT * expected)) ** 2)
        least = min(float(plan.shares["sum"]) * plan.model.limits[0], plan.largest_weight)
        found = expected + trust * (self.squares - expected)
        return min(max(found, least * self.averaged.weight), plan.largest_weight * self.averaged.weight)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Its row in `_behind_the_clip`."""
        location, averaged, scale, noise = self.location, self.averaged, self.plan.scale, self.plan.noise
        # The noise of the total weight moves the clipped mean in proportion to itself.
        moved = noise.weight_std * abs(averaged.mean) / averaged.weight
        errors = self.square, noise.scale, moved, scale.weight * self.grown, scale.square * self.grown
        return location.center, location.spread, self.half, averaged.mean, averaged.weight, *errors


@dataclass(frozen=True)
class Population:
    """The mean, the standard deviation, the law of the mean's error, and how much a value moves the clipped mean."""

    mean: float
    scale: float
    law: ErrorLaw
    slope: float = 1.0


def find_populations(released: Sequence[Released]) -> list[Population]:
    """The population behind each group, all of one shape."""
    if any(group.plan.shape == "any" for group in released):
        return [_as_it_is(group) for group in released]
    parts = (released[start : start + _TOGETHER] for start in range(0, len(released), _TOGETHER))
    return [population for part in parts for population in _behind_the_clip(part)]


def _as_it_is(group: Released) -> Population:
    """The clipped mean itself, as it is or with what either tail may add; sampling from the released mean square."""
    plan, half, averaged, offset = group.plan, group.half, group.averaged, group.location.offset
    assert averaged.square is not None
    mean = finite(group.location.middle + half * averaged.mean)
    deviation = math.sqrt(max(averaged.square - averaged.mean**2, 0.0) + averaged.doubt)
    moved = plan.noise.weight_std * averaged.mean
    sampling = half * (math.hypot(deviation * math.sqrt(group.square), moved) / averaged.weight)
    tails = (tail_beyond(end, plan.scale.weight * group.grown) for end in (half - offset, half + offset))
    errors = (plan.noise.scale * half / averaged.weight, sampling, *tails)
    noise, sampling, below, above = (min(error, _LARGEST_ERROR) for error in errors)
    means = np.array([mean, finite(mean + above), finite(mean - below), finite(mean + (above - below))])
    law = ErrorLaw(means, np.full(4, noise), np.full(4, sampling), plan.noise.doubled)
    return Population(mean, finite(half * deviation), law)


def _behind_the_clip(released: Sequence[Released]) -> list[Population]:
    """Normal populations, and the laws of the error, mixed over the true rank of the spread: one row a group."""
    columns = np.array([group.numbers for group in released]).T[..., None]
    center, spread, half, mean, weight, square, noise, moved, scale_weight, scale_square = columns
    ratio = half / spread
    # The last one is the median itself; the others are what its rank may have been.
    levels = np.append(rank_nodes(scale_weight, scale_square), np.full_like(ratio, 0.5), axis=1)
    shifts, sigmas = undo_clipping(mean, ratio, levels)
    slopes = np.maximum(inside(ratio / sigmas, shifts), 0.05)
    deviations = np.sqrt(clipped_variance(ratio / sigmas, shifts) * square) / weight
    sampling = np.hypot(deviations * sigmas, ratio * moved) / slopes
    with np.errstate(over="ignore"):
        means, scales = np.nan_to_num(center + shifts * sigmas * spread), np.nan_to_num(sigmas * spread)
        errors = (noise * half / (weight * slopes), sampling * spread)
        limited = (np.minimum(np.nan_to_num(error), _LARGEST_ERROR) for error in errors)
        doubled = [group.plan.noise.doubled for group in released]
        laws = map(ErrorLaw, *(parts[:, :-1] for parts in (means, *limited)), doubled)
    found = (means[:, -1].tolist(), scales[:, -1].tolist(), laws, slopes[:, :-1].mean(axis=1).tolist())
    return [Population(*one) for one in zip(*found, strict=True)]
