"""Named shapes: what error to expect of populations that people know, since of any shape no single number is true.

Without two known bounds, errors are in standard deviations of the population. Between two, they are in the values'
unit: there the noise is known, and the sampling error for values that fill the bounds in a named way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from pdpmean.core.bounds import Bounds
from pdpmean.core.types import Floats
from pdpmean.planning.prediction import Sums

__all__ = [
    "BELL",
    "EVENLY",
    "NAMED_SHAPES",
    "SKEWED",
    "ExpectedError",
    "NamedShape",
    "ShapeBetween",
    "expected_between",
    "expected_error",
    "shapes_between",
]

_CUTS = np.geomspace(1e-9, 0.4, 120)  # parts of either tail that may be clipped
_SKEW = 0.7  # standard deviation of the logarithm of a wage, about
# What not knowing the clip costs: the error relative to that of the best clip in hindsight, by simulation.
_LOST_PER_ROOT, _LEAST_WEIGHT = 7.4, 50.0


@dataclass(frozen=True)
class NamedShape:
    """A population of standard deviation 1: how far a clip must reach, and what it loses."""

    words: str
    tails: Callable[[], tuple[Floats, Floats]]
    """Half the width of each clip that is tried, and how far at most the mean moves by it."""

    def best_width(self, weight: float) -> float:
        """Half the width of the clip of least error, with a total weight of so many nats."""
        halves, losses = self.tails()
        return float(halves[np.argmin(2 * (halves / weight) ** 2 + losses**2)])


@lru_cache(maxsize=1)
def _of_bell() -> tuple[Floats, Floats]:
    ends = -ndtri(_CUTS)
    density = np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi)
    return ends, 2 * (density - ends * _CUTS)


@lru_cache(maxsize=1)
def _of_skewed() -> tuple[Floats, Floats]:
    """A log-normal, clipped above; below it ends at 0."""
    ends = np.exp(-_SKEW * ndtri(_CUTS))
    mean = math.exp(_SKEW**2 / 2)
    deviation = mean * math.sqrt(math.expm1(_SKEW**2))
    beyond = mean * ndtr(_SKEW + ndtri(_CUTS)) - ends * _CUTS
    return ends / 2 / deviation, beyond / deviation


@lru_cache(maxsize=1)
def _of_two_values() -> tuple[Floats, Floats]:
    """As many have the one as the other: both are one standard deviation from the mean."""
    return np.ones(1), np.zeros(1)


BELL = NamedShape("bell-shaped", _of_bell)
SKEWED = NamedShape("skewed like wages", _of_skewed)
NAMED_SHAPES = (BELL, SKEWED, NamedShape("yes or no", _of_two_values))


class ShapeBetween(NamedTuple):
    """Values that fill two known bounds in a way that people know."""

    words: str
    deviation: float
    """Their standard deviation, in halves of the width: at most 1."""

    @property
    def is_widest(self) -> bool:
        """Whether no other values between the bounds have a larger standard deviation."""
        return self.deviation == 1


EVENLY = ShapeBetween("spread evenly between the bounds", 1 / math.sqrt(3))
_AT_EITHER_END = ShapeBetween("half are at either bound", 1.0)
_HALF_YES = ShapeBetween("half are yes and half are no", 1.0)
_FEW_YES = ShapeBetween("one in ten is yes", 0.6)


def shapes_between(bounds: Bounds) -> tuple[ShapeBetween, ShapeBetween]:
    """The shape that is expected between two known bounds, and another: between 0 and 1 are mostly yes and no."""
    return (_HALF_YES, _FEW_YES) if bounds == (0.0, 1.0) else (EVENLY, _AT_EITHER_END)


class ExpectedError(NamedTuple):
    """What to expect of a population of a named shape: in its standard deviations or, between bounds, in its unit."""

    clip_width: float
    noise_scale: float
    sampling_std: float

    @property
    def std(self) -> float:
        """Standard deviation of the error."""
        return math.hypot(math.sqrt(2) * self.noise_scale, self.sampling_std)


def expected_error(shape: NamedShape, mean: Sums, noise_of_sums: float) -> ExpectedError:
    """With these weights in the sums; the noise is so many halves of the clip per nat."""
    width = shape.best_width(mean.weight / noise_of_sums)
    lost = 1 + _LOST_PER_ROOT / math.sqrt(max(mean.weight, _LEAST_WEIGHT))
    return ExpectedError(
        clip_width=width,
        noise_scale=lost * noise_of_sums * width / mean.weight,
        sampling_std=lost * math.sqrt(mean.square) / mean.weight,
    )


def expected_between(shape: ShapeBetween, half: float, mean: Sums, noise_of_sums: float) -> ExpectedError:
    """Of values between bounds `half` from their middle: all of the width is summed, found or not."""
    return ExpectedError(
        clip_width=half,
        noise_scale=noise_of_sums * half / mean.weight,
        sampling_std=shape.deviation * half * math.sqrt(mean.square) / mean.weight,
    )
