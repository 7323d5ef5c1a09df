"""Combinations of levels: the separate sums of levels, weighted so that they look like one ordinary set of sums."""

from __future__ import annotations

import math
from typing import NamedTuple

from pdpmean.core.types import Floats
from pdpmean.planning.prediction import WeightSums

__all__ = ["LEAST_SAMPLING", "Combined", "combined_far", "combined_sums"]

LEAST_SAMPLING = 1e-12
"""The least squared sampling error, relative to that of one person: it must not be 0."""

_FAR_NOISE_VARIANCE = 2.0  # the variance of the noise of a far cell, in squared nats
_FAR_SHARE = 0.01  # the share of the values that is expected in a far cell


class Combined(NamedTuple):
    """A combination of levels, scaled so that it is like one set of sums with noise of scale 1."""

    multipliers: Floats
    """The factor of each level's sums; their squares add up to 1."""
    sums: WeightSums
    """The total weight of the combination, and its squared weights."""


def combined_sums(nats: Floats, effective: Floats, parts: Floats, counted: float) -> Combined:
    """The combination in which each level has the given part in the mean.

    `effective` is the number of equally weighted people with the same sampling error. `counted` is the squared sampling
    error that is no error, since the target is the mean of these people themselves; otherwise 0.
    """
    multipliers = parts / nats
    size = math.sqrt(float(multipliers @ multipliers))
    weight = float(parts.sum()) / size
    sampling = float(parts**2 @ (1 / effective)) - counted
    return Combined(multipliers / size, WeightSums(weight, weight**2 * max(sampling, LEAST_SAMPLING)))


def combined_far(nats: Floats, effective: Floats) -> Combined:
    """The combination in which far values are seen best, if all levels have the same share of them.

    Levels are weighted by the inverse variance of that share: noise plus sampling.
    """
    parts = 1 / (_FAR_NOISE_VARIANCE / nats**2 + _FAR_SHARE / effective)
    return combined_sums(nats, effective, parts / parts.sum(), 0.0)
