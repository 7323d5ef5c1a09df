"""Warnings about a mean that lies at a known bound, as it does if the bound is wrong and most values lie beyond it.

Values beyond a bound count as the bound, so a bound that is not true biases the mean. Only released numbers are used.
"""

from __future__ import annotations

import math

from pdpmean.core.asked import Asked
from pdpmean.core.bounds import Bounds
from pdpmean.core.text import short
from pdpmean.inference.population import Population

__all__ = ["warn_of_bounds"]

_CLOSE = 0.05  # the distance of the mean from a bound, relative to the width between two bounds, that is close
# The distance of the mean from a bound, in standard deviations of the values, below which values pile up at the bound.
# The mean of values that are spread evenly, or fall off from the bound, is further away.
_PILED = 0.5
_BY_CHANCE = 2.0  # the distance, in standard deviations of the error, that chance explains: about a 95 % interval
_YES_AND_NO = Bounds(0.0, 1.0)
_RARE = (0.0, _YES_AND_NO)  # the bound and bounds that never raise a warning: a share may well be next to 0


def warn_of_bounds(population: Population, bounds: Bounds, asked: Asked) -> tuple[str, ...]:
    """Warnings if the mean lies at a bound: values beyond it count as the bound, or an entry may not occur at all."""
    if asked.yes_or_no:
        return ()  # nothing can lie beyond these bounds
    if asked.is_share:
        return (_NOWHERE.format(asked.equals),) if _is_by_chance(population, population.mean) else ()
    sides = (("lower", bounds.low, "smaller", "high"), ("upper", bounds.high, "larger", "low"))
    return tuple(
        _AT_BOUND.format(side=side, bound=short(bound, 6), others=others, wrong=wrong)
        for side, bound, others, wrong in sides
        if math.isfinite(bound)
        and (bound, bounds) != _RARE
        and _is_at(population, abs(population.mean - bound), bounds)
    )


def _is_at(population: Population, distance: float, bounds: Bounds) -> bool:
    """Whether nearly all values seem to lie at a bound, which is at this distance from the mean.

    Between two bounds, the mean must be close to one, and either values pile up there or chance explains the distance.
    Values between 0 and 1 may be yes and no, which pile up by nature, so that only chance counts. With a single bound
    nothing says what is close, so both conditions must hold.
    """
    is_piled = distance <= _PILED * population.scale
    if not bounds.are_both_known:
        return is_piled and _is_by_chance(population, distance)
    if distance / 2 > _CLOSE * bounds.half:
        return False
    return (is_piled and bounds != _YES_AND_NO) or _is_by_chance(population, distance)


def _is_by_chance(population: Population, distance: float) -> bool:
    """Whether the error of the mean explains this distance."""
    law = population.law
    return distance <= _BY_CHANCE * math.hypot(law.noise_std, law.sampling_std)


_NOWHERE = "there may be no {!r} in the data: is it spelled as there? Upper and lower case differ"
_AT_BOUND = (
    "nearly all values seem to lie at the {side} bound {bound}. Values beyond it count as {bound}: if {others} values "
    "are possible, the mean is too {wrong}"
)
