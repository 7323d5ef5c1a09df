"""Whether the mean sits at a bound, as it does if most values lie beyond: from released numbers alone."""

from __future__ import annotations

import math

from pdpmean.core.asked import Asked
from pdpmean.core.bounds import Bounds
from pdpmean.core.text import short
from pdpmean.inference.population import Population

__all__ = ["warn_of_bounds"]

_CLOSE = 0.05  # of the width between two bounds
_PILED = 0.5  # standard deviations of the values: what lies evenly or falls off from a bound is further from it
_BY_CHANCE = 2.0  # standard deviations of the error: about where an interval begins
_YES_AND_NO = Bounds(0.0, 1.0)
_RARE = (0.0, _YES_AND_NO)  # a share next to 0: a rare yes is nothing odd


def warn_of_bounds(population: Population, bounds: Bounds, asked: Asked) -> tuple[str, ...]:
    """What to know about a mean at a bound: that values beyond it count as the bound, or that an entry is rare."""
    if asked.yes_or_no:
        return ()  # there is nothing beyond these bounds
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
    """Whether nearly all values seem to lie at a bound, so far from the mean.

    Close to it, that is so if values pile up there or chance explains the distance. But rare ones among yes and no pile
    up, too; and where there is one bound, nothing says what is close: then it takes more.
    """
    is_piled = distance <= _PILED * population.scale
    if not bounds.are_both_known:
        return is_piled and _is_by_chance(population, distance)
    if distance / 2 > _CLOSE * bounds.half:
        return False
    return (is_piled and bounds != _YES_AND_NO) or _is_by_chance(population, distance)


def _is_by_chance(population: Population, distance: float) -> bool:
    law = population.law
    return distance <= _BY_CHANCE * math.hypot(law.noise_std, law.sampling_std)


_NOWHERE = "there may be no {!r} in the data: is it spelled as there? Upper and lower case differ"
_AT_BOUND = (
    "nearly all values seem to lie at the {side} bound {bound}. Values beyond it count as {bound}: if {others} values "
    "are possible, the mean is too {wrong}"
)
