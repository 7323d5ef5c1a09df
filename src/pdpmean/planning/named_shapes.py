"""Named shapes: the expected error for familiar populations, such as bell-shaped ones or yes and no.

If the shape of a population is unknown, no single number is the expected error. So a plan predicts the error for a few
shapes that readers can compare with theirs. Errors are in standard deviations of the population. Between two known
bounds they are in the unit of the values: there the noise is known, and the sampling error depends on how values fill
the bounds.
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
from pdpmean.planning.prediction import WeightSums

__all__ = [
    "BELL",
    "EVENLY",
    "NAMED_SHAPES",
    "SKEWED",
    "ExpectedError",
    "NamedShape",
    "expected_between",
    "expected_error",
    "shapes_between",
]

_CUTS = np.geomspace(1e-9, 0.4, 120)  # the fractions of a tail that clips are tried for
_SKEW = 0.7  # the standard deviation of the logarithm of wages, about
# The best clip is not known, but read off the histogram. Relative to that of the best clip in hindsight, the error is
# 1 + 3.5 / sqrt(weight), with the weight in nats but at least 50; by simulation.
_LOST_PER_ROOT, _LEAST_WEIGHT = 3.5, 50.0


@dataclass(frozen=True)
class NamedShape:
    """A population of standard deviation 1, and what clipping does to it."""

    words: str
    tails: Callable[[], tuple[Floats, Floats]]
    """Half the width of each clip that is tried, and an upper bound on the bias that it causes."""

    def best_half_width(self, weight: float) -> float:
        """Half the width of the clip of least squared error, noise plus bias, with a total weight in nats."""
        halves, biases = self.tails()
        return float(halves[np.argmin(2 * (halves / weight) ** 2 + biases**2)])


@lru_cache(maxsize=1)
def _of_bell() -> tuple[Floats, Floats]:
    """A normal population, clipped symmetrically."""
    ends = -ndtri(_CUTS)
    density = np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi)
    return ends, 2 * (density - ends * _CUTS)


@lru_cache(maxsize=1)
def _of_skewed() -> tuple[Floats, Floats]:
    """A log-normal population, clipped above; below, the clip begins at 0."""
    ends = np.exp(-_SKEW * ndtri(_CUTS))
    mean = math.exp(_SKEW**2 / 2)
    deviation = mean * math.sqrt(math.expm1(_SKEW**2))
    beyond = mean * ndtr(_SKEW + ndtri(_CUTS)) - ends * _CUTS
    return ends / 2 / deviation, beyond / deviation


@lru_cache(maxsize=1)
def _of_two_values() -> tuple[Floats, Floats]:
    """Two equally frequent values, both one standard deviation from the mean: nothing is ever cut off."""
    return np.ones(1), np.zeros(1)


BELL = NamedShape("bell-shaped", _of_bell)
SKEWED = NamedShape("skewed like wages", _of_skewed)
NAMED_SHAPES = (BELL, SKEWED, NamedShape("yes or no", _of_two_values))


class ShapeBetween(NamedTuple):
    """A familiar way in which values fill two known bounds."""

    words: str
    deviation: float
    """The standard deviation, relative to half the width of the bounds: at most 1."""

    @property
    def is_widest(self) -> bool:
        """Whether no other values between the bounds have a larger standard deviation."""
        return self.deviation == 1


EVENLY = ShapeBetween("spread evenly between the bounds", 1 / math.sqrt(3))
_AT_EITHER_END = ShapeBetween("half are at either bound", 1.0)
_HALF_YES = ShapeBetween("half are yes and half are no", 1.0)
_FEW_YES = ShapeBetween("one in ten is yes", 0.6)


def shapes_between(bounds: Bounds) -> tuple[ShapeBetween, ShapeBetween]:
    """The shape that is expected between two known bounds, and another one to compare.

    Between 0 and 1 these are yes and no, since most such data are.
    """
    return (_HALF_YES, _FEW_YES) if bounds == (0.0, 1.0) else (EVENLY, _AT_EITHER_END)


class ExpectedError(NamedTuple):
    """The expected error for a named shape: in standard deviations or, between bounds, in the unit of the values."""

    clip_half_width: float
    """Half the width of the clip."""
    noise_scale: float
    """The scale of Laplace noise."""
    sampling_std: float

    @property
    def std(self) -> float:
        """The standard deviation of the whole error."""
        return math.hypot(math.sqrt(2) * self.noise_scale, self.sampling_std)


def expected_error(shape: NamedShape, mean: WeightSums, noise_of_sums: float) -> ExpectedError:
    """The expected error with these weights in the sums; `noise_of_sums` is that of `Census`."""
    width = shape.best_half_width(mean.weight / noise_of_sums)
    inflation = 1 + _LOST_PER_ROOT / math.sqrt(max(mean.weight, _LEAST_WEIGHT))
    return ExpectedError(
        clip_half_width=width,
        noise_scale=inflation * noise_of_sums * width / mean.weight,
        sampling_std=inflation * math.sqrt(mean.square) / mean.weight,
    )


def expected_between(shape: ShapeBetween, half: float, mean: WeightSums, noise_of_sums: float) -> ExpectedError:
    """The same between known bounds that are `half` from their middle, if the clip is as wide as the bounds."""
    return ExpectedError(
        clip_half_width=half,
        noise_scale=noise_of_sums * half / mean.weight,
        sampling_std=shape.deviation * half * math.sqrt(mean.square) / mean.weight,
    )
