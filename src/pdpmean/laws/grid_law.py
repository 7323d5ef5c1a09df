"""A law on a grid: where the true mean lies, where that has no formula."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pdpmean.core.numbers import finite
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats

__all__ = ["GridLaw"]

_HUGE, _DOWN = 2.0**900, 2.0**200  # slopes between points beyond the first might overflow; over the second, they do not


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Where the true mean lies, given all released numbers: chances at points, linear in between.

    There are two of them at each point, since counts are discrete: no interval for a share covers exactly 95 % whatever
    the share is, and one from a single law would cover less by turns. So the lower end of an interval is read off
    chances that lean downwards a little, the upper end off chances that lean upwards.
    """

    points: Floats
    low_chances: Floats
    """At least the chance that the true mean is below a point."""

    high_chances: Floats
    """At most that chance."""

    mean: float
    noise_std: float
    """Standard deviation of the noise."""

    sampling_std: float
    """Standard deviation from who happens to be in the sample."""

    tails_std: float = 0.0
    """Standard deviation of the rest, from what may lie where nothing released could show it."""

    @quietly
    def cdf(self, x: float) -> float:
        """P(true mean <= x): half way between the two chances."""
        below = np.interp(x, self.points, self.low_chances) + np.interp(x, self.points, self.high_chances)
        return float(below) / 2

    @quietly
    def interval(self, level: float) -> tuple[float, float]:
        """Holds the true mean with at least the probability `level`, and always the estimate.

        An estimate beyond a bound is answered with that bound, where the law need not have any of its chances.
        """
        unit = _DOWN if float(np.abs(self.points).max()) > _HUGE else 1.0
        low = unit * float(np.interp((1 - level) / 2, self.low_chances, self.points / unit))
        high = unit * float(np.interp((1 + level) / 2, self.high_chances, self.points / unit))
        return min(low, self.mean), max(high, self.mean)

    @quietly
    def with_tails(self) -> GridLaw:
        """The same, where all of its error that is due neither to noise nor to the sample is due to unseen tails."""
        largest = max(self._error_std, self.noise_std, self.sampling_std) or 1.0
        error, noise, sampling = (std / largest for std in (self._error_std, self.noise_std, self.sampling_std))
        return replace(self, tails_std=largest * math.sqrt(max(error**2 - noise**2 - sampling**2, 0.0)))

    @property
    def _error_std(self) -> float:
        """How far the true mean lies from the estimate, in the mean square.

        What is further off than twice the ends of the 95 % interval counts as that: so rare and large an error would
        make the standard deviation say nothing of all others.
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
        """The law of ``low + width * mean``; both are finite, and the width is positive."""
        return GridLaw(
            points=low + width * self.points,
            low_chances=self.low_chances,
            high_chances=self.high_chances,
            mean=low + width * self.mean,
            noise_std=width * self.noise_std,
            sampling_std=width * self.sampling_std,
            tails_std=width * self.tails_std,
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
