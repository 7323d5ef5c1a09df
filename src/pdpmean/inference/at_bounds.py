"""Warnings about known bounds that may be wrong: values lie beyond one, or the mean lies at one.

Values beyond a bound count as the bound, so a bound that is not true biases the mean. If the population was located,
the histogram says how many values lie beyond each bound. Otherwise, only a mean next to a bound is suspicious. Only
released numbers are used.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pdpmean.core.bounds import Bounds
from pdpmean.core.question import Question
from pdpmean.core.text import short
from pdpmean.inference.population import Population
from pdpmean.laws.histogram import MORE_THAN_NOISE
from pdpmean.laws.reading import Reading

__all__ = ["warn_of_bounds"]

_CLOSE = 0.05  # the distance of the mean from a bound, relative to the width between two bounds, that is close
# The distance of the mean from a bound, in standard deviations of the values, below which values pile up at the bound.
# The mean of values that are spread evenly, or fall off from the bound, is further away.
_PILED = 0.5
_BY_CHANCE = 2.0  # the distance, in standard deviations of the error, that chance explains: about a 95 % interval
_YES_AND_NO = Bounds(0.0, 1.0)
_RARE = (0.0, _YES_AND_NO)  # the bound and bounds that never raise a warning: a share may well be next to 0


def warn_of_bounds(
    population: Population, bounds: Bounds, question: Question, reading: Reading | None, part: float
) -> tuple[str, ...]:
    """Warnings if values lie beyond a bound, or if the mean lies at one; or if an entry may not occur at all.

    `part` is the part of all false alarms that this group may raise.
    """
    if question.is_boolean:
        return ()  # nothing can lie beyond these bounds
    if question.is_share:
        return (_NOWHERE.format(question.equals),) if _is_by_chance(population, population.mean) else ()
    if reading:
        beyond = zip((_LOWER, _UPPER), bounds, _shares_beyond(reading, part), strict=True)
        return tuple(_warning_of_values(side, bound, share) for side, bound, share in beyond if share)
    ends = zip((_LOWER, _UPPER), bounds, strict=True)
    return tuple(_warning_of_mean(side, end) for side, end in ends if _is_suspicious(population, end, bounds))


class _Side(NamedTuple):
    """The words for one of the two bounds."""

    name: str
    beyond: str
    others: str
    wrong: str


_LOWER = _Side("lower", "below", "smaller", "high")
_UPPER = _Side("upper", "above", "larger", "low")


def _warning_of_values(side: _Side, bound: float, share_beyond: float) -> str:
    """The warning that values lie beyond a bound."""
    about = short(100 * share_beyond, 2)
    return _BEYOND.format(about=about, beyond=side.beyond, name=side.name, bound=short(bound, 6), wrong=side.wrong)


def _warning_of_mean(side: _Side, bound: float) -> str:
    """The warning that the mean lies at a bound."""
    return _AT_BOUND.format(name=side.name, bound=short(bound, 6), others=side.others, wrong=side.wrong)


def _shares_beyond(reading: Reading, part: float) -> tuple[float, float]:
    """The fraction of the weight below the lower and above the upper bound, by the histogram; 0 if it may be noise."""
    least = MORE_THAN_NOISE - math.log(part)  # over all groups together, noise reaches it as rarely as for one
    below, above = (min(nats / reading.nats, 1.0) if nats > least else 0.0 for nats in reading.beyond_bounds)
    return below, above


def _is_suspicious(population: Population, bound: float, bounds: Bounds) -> bool:
    """Whether nearly all values seem to lie at one of two known bounds.

    The mean must be close to it, and either values pile up there or chance explains the distance. Values between 0 and
    1 may be yes and no, which pile up by nature, so that only chance counts.
    """
    distance = abs(population.mean - bound)
    if (bound, bounds) == _RARE or distance / 2 > _CLOSE * bounds.half:
        return False
    is_piled = distance <= _PILED * population.scale
    return (is_piled and bounds != _YES_AND_NO) or _is_by_chance(population, distance)


def _is_by_chance(population: Population, distance: float) -> bool:
    """Whether the error of the mean explains this distance."""
    law = population.law
    return distance <= _BY_CHANCE * math.hypot(law.noise_std, law.sampling_std)


_NOWHERE = "there may be no {!r} in the data: is it spelled as there? Upper and lower case differ"
_AT_BOUND = (
    "nearly all values seem to lie at the {name} bound {bound}. Values beyond it count as {bound}: if {others} values "
    "are possible, the mean is too {wrong}"
)
_BEYOND = (
    "about {about} % of the values lie {beyond} the {name} bound {bound}, and count as {bound}: unless that is "
    "intended, the bound is wrong and the mean too {wrong}"
)
