"""A distribution of the true mean on a grid, for where it has no formula."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pdpmean.core.numbers import finite
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats

__all__ = ["GridLaw"]

# Slopes between points larger than the first might overflow, so such points are divided by the second.
_HUGE = 2.0**900
_HUGE_UNIT = 2.0**200


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Where the true mean lies, given all released numbers: a distribution function, linear between points.

    There are two distribution functions, since counts are discrete. No interval for a share covers the truth with
    exactly 95 % probability for every true share, and with a single function the coverage would fall below that for
    some. So the lower end of an interval is read off a distribution that is tilted downwards a little, and the upper
    end off one that is tilted upwards. The two are the same where no counts are involved.
    """

    points: Floats
    low_chances: Floats
    """At each point: at least the probability that the true mean lies below it."""

    high_chances: Floats
    """At each point: at most that probability."""

    mean: float
    """The estimate."""

    noise_std: float
    """Standard deviation of the noise."""

    sampling_std: float
    """Standard deviation of the sampling error."""

    has_tails: bool = False
    """Whether tails that no released number could show may add to the error."""

    @quietly
    def cdf(self, x: float) -> float:
        """P(true mean <= x): the average of the two distribution functions."""
        below = np.interp(x, self.points, self.low_chances) + np.interp(x, self.points, self.high_chances)
        return float(below) / 2

    @quietly
    def interval(self, level: float) -> tuple[float, float]:
        """An interval that contains the true mean with probability at least `level`, and always the estimate.

        It is extended to the estimate because one beyond a bound is moved there, where the law may have no weight.
        """
        unit = _HUGE_UNIT if float(np.abs(self.points).max()) > _HUGE else 1.0
        low = unit * float(np.interp((1 - level) / 2, self.low_chances, self.points / unit))
        high = unit * float(np.interp((1 + level) / 2, self.high_chances, self.points / unit))
        return min(low, self.mean), max(high, self.mean)

    @cached_property
    @quietly
    def tails_std(self) -> float:
        """Standard deviation of the error due to unseen tails: what neither noise nor sampling explains."""
        if not self.has_tails:
            return 0.0
        stds = self._error_std, self.noise_std, self.sampling_std
        largest = max(stds) or 1.0
        error, noise, sampling = (std / largest for std in stds)
        return largest * math.sqrt(max(error**2 - noise**2 - sampling**2, 0.0))

    @property
    def _error_std(self) -> float:
        """Root mean square distance of the true mean from the estimate.

        Distances beyond twice those of the 95 % interval count as that much: rare, huge errors would otherwise hide all
        others.
        """
        low, high = (end - self.mean for end in self.interval(0.95))
        reach = max(high, -low)
        if not 0 < reach < math.inf:
            return finite(reach)
        errors = np.clip((self.points - self.mean) / reach, 2 * low / reach, 2 * high / reach)
        before, after = errors[:-1], errors[1:]
        chances = np.diff(self.low_chances + self.high_chances) / 2
        return finite(reach * math.sqrt(float(chances @ (before**2 + before * after + after**2)) / 3))

    @quietly
    def scaled(self, low: float, width: float) -> GridLaw:
        """The law of ``low + width * mean``, for a finite `low` and a finite, positive `width`."""
        return GridLaw(
            points=low + width * self.points,
            low_chances=self.low_chances,
            high_chances=self.high_chances,
            mean=low + width * self.mean,
            noise_std=width * self.noise_std,
            sampling_std=width * self.sampling_std,
            has_tails=self.has_tails,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GridLaw):
            return NotImplemented
        arrays = zip(self._arrays, other._arrays, strict=True)
        return self._numbers == other._numbers and all(np.array_equal(one, another) for one, another in arrays)

    def __hash__(self) -> int:
        return hash(self._numbers)

    @property
    def _arrays(self) -> tuple[Floats, ...]:
        return self.points, self.low_chances, self.high_chances

    @property
    def _numbers(self) -> tuple[float, ...]:
        return self.mean, self.noise_std, self.sampling_std, self.tails_std
