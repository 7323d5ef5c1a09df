"""Population: the mean and scale behind what was released of each group, and the law of the error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.core.threads import in_threads
from pdpmean.laws.clipped_normal import centered, clipped_variance, mean_tent, ratio_slope, undo_clipping
from pdpmean.laws.error_law import ErrorLaw, finite, rank_nodes
from pdpmean.planning.plan import Plan
from pdpmean.planning.prediction import tent_error, tent_trust
from pdpmean.release.average import Average
from pdpmean.release.extent import tail_beyond
from pdpmean.release.locate import Location

__all__ = ["Population", "Released", "find_populations"]

_BUCKET_DOUBT = 0.5  # how far, relatively, a noisy census misstates the squared weights: its buckets are wide
_MORE = 0.7  # of a standard deviation, by simulation
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
    def weight(self) -> float:
        """The total weight: that of the plan, if budgets are public; else behind what was released."""
        if not self.plan.census.share:
            return self.plan.mean.weight
        return self.averaged.total / self.tent

    @property
    def tent(self) -> float:
        """What a person adds to the released total, over their weight: if bell-shaped, about so much on average."""
        width = self.plan.clip_width
        return 1.0 if self.plan.shape == "any" else centered(width).tent / width

    @property
    def tents(self) -> tuple[float, float]:
        """What the tents of a bell add up to, and the relative error of that.

        Where budgets are public it is known about what they should, and the released number is trusted only so far.
        """
        released, expected = self.averaged.total, self.tent * self.weight
        trust = 1.0 if self.plan.census.share else tent_trust(self.plan.scale, self.plan.clip_width, expected)
        return expected + trust * (released - expected), math.sqrt(trust) * tent_error(expected)

    @property
    def grown(self) -> float:
        """How much more weight was released than the noisy census had led to expect."""
        return min(max(self.weight / self.plan.mean.weight, 0.4), 2.5)

    @property
    def square(self) -> float:
        """The sum of the squared weights: between the plan's and the released one, the nearer to each the surer.

        And a little more, since too small a sum makes intervals fail more often than too large a one makes them hold.
        """
        plan, expected = self.plan, self.plan.mean.square * self.grown
        if self.squares is None:
            return expected
        noise = math.sqrt(2) * plan.largest_weight * float(plan.shares["sum"] / plan.shares["weight_squares"])
        trust = 1 / (1 + (noise / (_BUCKET_DOUBT * expected)) ** 2)
        least = min(float(plan.shares["sum"]) * plan.model.limits[0], plan.largest_weight)
        found = expected + trust * (self.squares - expected) + _MORE * math.sqrt(trust) * noise
        return min(max(found, least * self.weight), plan.largest_weight * self.weight)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Its row in `_behind_the_clip`."""
        location, averaged, scale, grown = self.location, self.averaged, self.plan.scale, self.grown
        (total, error), sums = self.tents, (self.square, scale.weight * grown, scale.square * grown)
        ratio = averaged.mean * (averaged.total / total)
        return location.center, location.spread, self.half, ratio, total, error, *sums


@dataclass(frozen=True)
class Population:
    """The mean, the standard deviation, the law of the mean's error, and how much it moves what a value moves by 1."""

    mean: float
    scale: float
    law: ErrorLaw
    slope: float = 1.0


def find_populations(released: Sequence[Released]) -> list[Population]:
    """The population behind each group, all of one shape."""
    if any(group.plan.shape == "any" for group in released):
        return [_as_it_is(group) for group in released]
    parts = (released[start : start + _TOGETHER] for start in range(0, len(released), _TOGETHER))
    return [population for part in in_threads(_behind_the_clip, parts) for population in part]


def _as_it_is(group: Released) -> Population:
    """The clipped mean itself, as it is or with what either tail may add; sampling from the released mean square."""
    plan, half, averaged, offset = group.plan, group.half, group.averaged, group.location.offset
    assert averaged.square is not None
    mean = finite(group.location.middle + half * averaged.mean)
    deviation = math.sqrt(max(averaged.square - averaged.mean**2, 0.0) + averaged.doubt)
    moved = plan.noise.weight_std * averaged.mean
    sampling = half * (math.hypot(deviation * math.sqrt(group.square), moved) / averaged.total)
    tails = (tail_beyond(end, plan.scale.weight * group.grown) for end in (half - offset, half + offset))
    errors = (plan.noise.scale * half / averaged.total, sampling, *tails)
    noise, sampling, below, above = (min(error, _LARGEST_ERROR) for error in errors)
    means = np.array([mean, finite(mean + above), finite(mean - below), finite(mean + (above - below))])
    law = ErrorLaw(means, np.full(4, noise), np.full(4, sampling), plan.noise.doubled)
    return Population(mean, finite(half * deviation), law)


def _behind_the_clip(released: Sequence[Released]) -> list[Population]:
    """Normal populations, and the laws of the error, mixed over the true rank of the spread: one row a group."""
    columns = np.array([group.numbers for group in released]).T[..., None]
    center, spread, half, mean, total, error, square, scale_weight, scale_square = columns
    ratio = half / spread
    # The last one is the median itself; the others are what its rank may have been.
    levels = np.append(rank_nodes(scale_weight[:, 0], scale_square[:, 0]), np.full_like(ratio, 0.5), axis=1)
    shifts, sigmas = undo_clipping(mean, ratio, levels)
    widths = ratio / sigmas
    slopes = np.maximum(ratio_slope(widths, shifts, mean), 0.05)
    weights = total * (widths / mean_tent(widths, shifts))
    # The error of the total moves the mean in proportion to itself; so do those who are in the sample.
    moved = error * mean * mean_tent(widths, shifts) * weights
    deviations = np.hypot(np.sqrt(clipped_variance(widths, shifts, mean) * square), moved)
    with np.errstate(over="ignore"):
        means, scales = np.nan_to_num(center + shifts * sigmas * spread), np.nan_to_num(sigmas * spread)
        errors = (half / (weights * slopes), scales * deviations / (weights * slopes))
        limited = (np.minimum(np.nan_to_num(error), _LARGEST_ERROR) for error in errors)
        laws = map(ErrorLaw, *(parts[:, :-1] for parts in (means, *limited)))
    # Of what the mean follows from, the clipped value less its tent times the ratio, over half of its range.
    leverages = slopes[:, :-1].mean(axis=1) * (2 / (1 + np.maximum(np.abs(mean[:, 0]), 1)))
    found = (means[:, -1].tolist(), scales[:, -1].tolist(), laws, leverages.tolist())
    return [Population(*one) for one in zip(*found, strict=True)]
