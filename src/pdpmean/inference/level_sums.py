"""The sums of levels of budgets: what those of one level amount to, and those of several as one set of sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.clipped_normal import centered
from pdpmean.laws.far_cells import FAR_PLACE
from pdpmean.planning.combined_levels import Combined
from pdpmean.planning.plan import Plan
from pdpmean.planning.prediction import TENT_PART
from pdpmean.planning.released import BehindFarCells, BellSums, PrivateTotalSums, PublicTotalSums, SumsOfOne

__all__ = [
    "SIGNIFICANT_NATS",
    "OneLevel",
    "combine",
    "level_of",
    "mean_noise_std",
    "share_far_off",
    "total_or_inside",
    "weight_noise_std",
]

SIGNIFICANT_NATS = 5.0  # missing or far weight above this is taken to be more than noise of scale 1
# The sums that are single numbers; the others are far cells.
_NUMBERS = {
    PublicTotalSums: ("values", "weight_less_squares", "missing", "total_weight"),
    PrivateTotalSums: ("low", "middle", "high", "missing"),
}
_LEAST_NATS = 1.0  # the smallest released weight that is compared with other weights, whatever the noise
_LEAST_WEIGHT = 1e-12  # nats; weights are rounded down, so that of a level with tiny budgets may be 0
_LEAST_PRESENT = 0.1  # the smallest part of a level's weight that is taken to have a value within the clip


class OneLevel(NamedTuple):
    """The numbers that the sums of one level amount to.

    Values are measured from the middle of the clip, in half widths of the clip; for a bell, in standard deviations.
    """

    values: float
    """The sum of the values within the clip, each times its weight."""
    nats: float
    """The total weight of the level as released: public, or with noise."""
    present: float
    """The part of the weight whose values are within the clip."""
    weight_less_squares: float
    """The sum of ``w (1 - z**2)`` over records of weight w and clipped value z in [-1, 1]; 0 for a bell."""


def combine(levels: Sequence[SumsOfOne], combined: Combined, far: Combined) -> SumsOfOne:
    """One set of sums: the sums of the levels, each times its multiplier, with `far` multipliers for far cells.

    The noise has the variance of one level's noise, since the squared multipliers add up to 1.
    """
    if isinstance(levels[0], BellSums):
        return _combined_bells([level for level in levels if isinstance(level, BellSums)], combined.multipliers)
    clipped = [level for level in levels if not isinstance(level, BellSums)]
    kind = type(clipped[0])
    names = _NUMBERS[kind]
    rows = np.array([[getattr(level, name) for name in names] for level in clipped])
    numbers = (combined.multipliers[:, None] * rows).sum(axis=0)
    cells = far.multipliers @ np.array([(*level.below, *level.above) for level in clipped])
    below, above = cells.reshape(2, -1).tolist()
    behind = BehindFarCells(far.sums.weight / combined.sums.weight, far.sums.people / combined.sums.people)
    return kind(
        **dict(zip(names, numbers.tolist(), strict=True)), below=tuple(below), above=tuple(above), behind_far=behind
    )


def _combined_bells(levels: Sequence[BellSums], multipliers: Floats) -> BellSums:
    """The same for a bell, whose released numbers are ratios to the sum of tents: these are combined by their sums."""
    tents_of_levels = multipliers * np.array([level.tents for level in levels])
    tents = max(float(tents_of_levels.sum()), 1.0)
    mean = float(tents_of_levels @ [level.mean for level in levels]) / tents
    near = float(tents_of_levels @ [level.near for level in levels]) / tents
    near_noise_scales = tents_of_levels * [level.near_noise_scale for level in levels]
    near_noise_scale = math.hypot(*near_noise_scales.tolist()) / tents
    return BellSums(mean=mean, tents=tents, near=near, near_noise_scale=near_noise_scale)


def share_far_off(levels: Sequence[SumsOfOne]) -> float:
    """The share of the weight far beyond the clip, in all levels together, since the cells of one are mostly noise."""
    clipped = [level for level in levels if not isinstance(level, BellSums)]
    if not clipped:
        return 0.0
    cells = np.sum([(*level.below, *level.above) for level in clipped], axis=0)
    far_nats = float(cells[cells > SIGNIFICANT_NATS * math.sqrt(len(levels))].sum()) / FAR_PLACE
    return min(far_nats / max(sum(map(total_or_inside, clipped)), _LEAST_NATS), 1 - _LEAST_PRESENT)


def total_or_inside(sums: PublicTotalSums | PrivateTotalSums) -> float:
    """The total weight if it is public; otherwise the released weight whose values are neither missing nor far."""
    return sums.total_weight if isinstance(sums, PublicTotalSums) else sums.weight_inside


def level_of(sums: SumsOfOne, plan: Plan, nats: float, far_share: float) -> OneLevel:
    """The mean and weights of a level, from its sums; `nats` is the weight that the plan expected."""
    if isinstance(sums, BellSums):
        return _bell_level(sums, plan, nats)
    missing = sums.missing if sums.missing > SIGNIFICANT_NATS and not plan.nothing_missing else 0.0
    if isinstance(sums, PublicTotalSums):
        total_weight = max(sums.total_weight, _LEAST_WEIGHT)
        present = max(1 - far_share - missing / total_weight, _LEAST_PRESENT)
        return OneLevel(sums.values, total_weight, present, sums.weight_less_squares)
    assert isinstance(sums, PrivateTotalSums)
    released_nats = sums.weight_inside * (1 + far_share) + missing
    present = max(sums.weight_inside, _LEAST_NATS) / max(released_nats, _LEAST_NATS * (1 + far_share))
    return OneLevel(sums.high - sums.low, released_nats, present, 2 * sums.middle)


def _bell_level(sums: BellSums, plan: Plan, nats: float) -> OneLevel:
    """The same for a bell, in standard deviations of the population.

    For small shifts, the clipped mean is the shift times the part of the population inside the clip (`inside`).
    """
    clipped = centered(plan.clip_half_width)
    weight = nats if plan.model.budgets_are_public else sums.tents * plan.clip_half_width / clipped.tent
    return OneLevel(sums.mean * sums.tents * plan.clip_half_width / clipped.inside, weight, 1.0, 0.0)


def weight_noise_std(sums: SumsOfOne, plan: Plan) -> float:
    """The noise (std) of the released weight of a level, in nats, if it is private."""
    if isinstance(sums, BellSums):
        return math.sqrt(2) / float(TENT_PART) * plan.clip_half_width / centered(plan.clip_half_width).tent
    return math.sqrt(6)  # of three sums


def mean_noise_std(sums: SumsOfOne, plan: Plan, means: Floats) -> Floats:
    """The noise (std) of the mean of one nat by level, in the unit of `means`: half widths, or deviations of a bell.

    A private total adds the noise of three sums: ``(high - low) / (low + middle + high)``.
    """
    if isinstance(sums, BellSums):
        return np.full_like(means, math.sqrt(2) * plan.clip_half_width / centered(plan.clip_half_width).inside)
    if isinstance(sums, PublicTotalSums):
        return np.full_like(means, math.sqrt(2))
    noise: Floats = np.sqrt(2 * ((1 - means) ** 2 + (1 + means) ** 2 + means**2))
    return noise
