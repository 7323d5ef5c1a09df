"""A law on a grid: where the true mean lies, where that has no formula."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    def scaled(self, low: float, width: float) -> GridLaw:
        """The law of ``low + width * mean``; both are finite, and the width is positive."""
        return GridLaw(
            points=low + width * self.points,
            low_chances=self.low_chances,
            high_chances=self.high_chances,
            mean=low + width * self.mean,
            noise_std=width * self.noise_std,
            sampling_std=width * self.sampling_std,
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
        return self.mean, self.noise_std, self.sampling_std
