"""Conclude: the estimates behind the released numbers. Post-processing by construction: nothing else is seen here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pdpmean.core.asked import NAMELESS, Asked
from pdpmean.core.choices import ShapeName
from pdpmean.core.promise import Promise
from pdpmean.inference.any_shape import AnyShapeInference
from pdpmean.inference.at_bounds import warn_of_bounds
from pdpmean.inference.gaussian import GaussianInference
from pdpmean.inference.known_bounds import KnownBoundsInference
from pdpmean.inference.levels import Levelled
from pdpmean.inference.population import Population, ShapeInference
from pdpmean.laws.missing_weight import NOTHING_MISSING
from pdpmean.laws.pooling import Difference
from pdpmean.planning.released import Average, LevelSums, Released
from pdpmean.results.mean_estimate import MeanEstimate

__all__ = ["INFERENCES", "conclude"]

INFERENCES: dict[ShapeName, ShapeInference] = {
    "gaussian": GaussianInference(),
    "any": AnyShapeInference(),
    "bounds": KnownBoundsInference(),
}


_RISING = "people with smaller budgets have lower values than people with larger ones"
_FALLING = "people with smaller budgets have higher values than people with larger ones"
_NO_BELL = (
    "{}: together they are not bell-shaped, and larger budgets decided where the bell was located: use shape='any'"
)


def conclude(groups: Sequence[Released | None], promise: Promise, asked: Asked = NAMELESS) -> list[MeanEstimate | None]:
    """The estimate of each group; None where nothing was released."""
    parts = [_Parts.of(group) if group else None for group in groups]
    shapes = {part.shape for part in parts if part}
    populations = {shape: iter(INFERENCES[shape].populations(_all_of(parts, shape))) for shape in shapes}
    return [
        _estimate(part, [next(populations[part.shape]) for _ in part.variants], promise, asked) if part else None
        for part in parts
    ]


class _Parts(NamedTuple):
    """What was released of a group, as sets of sums that say something of everyone: one, or combinations of levels."""

    released: Released
    levelled: Levelled | None
    variants: list[Released]
    judged: int
    """Which of them is held against what its shape allows."""

    @classmethod
    def of(cls, released: Released) -> _Parts:
        """The sums as they are, or the combinations of levels."""
        if not isinstance(released.averaged, LevelSums):
            return cls(released, None, [_as_known(released)], 0)
        levelled = Levelled(released)
        return cls(released, levelled, [_as_known(variant) for variant in levelled.variants], levelled.judged)

    @property
    def shape(self) -> ShapeName:
        """What the group goes by."""
        return self.released.plan.shape


def _as_known(group: Released) -> Released:
    """What was released; of missing values nothing, where it is publicly known that there are none."""
    if not group.plan.nothing_missing or isinstance(group.averaged, Average | LevelSums):
        return group
    return replace(group, averaged=replace(group.averaged, missing=NOTHING_MISSING))


def _all_of(parts: Sequence[_Parts | None], shape: ShapeName) -> list[Released]:
    """Those of one shape, which are concluded together."""
    return [variant for part in parts if part and part.shape == shape for variant in part.variants]


def _estimate(parts: _Parts, found: Sequence[Population], promise: Promise, asked: Asked) -> MeanEstimate:
    part = 1 / (promise.groups or 1)
    shape, levelled = INFERENCES[parts.shape], parts.levelled
    found = levelled.with_missing(found) if levelled else found
    judged = parts.variants[parts.judged], found[parts.judged], part
    population = levelled.population(found) if levelled else found[0]
    levels = levelled.level_means(population) if levelled else ()
    contradictions = shape.contradictions(*judged)
    differs = _in_words(levelled.difference(part)) if levelled and not contradictions else None
    if differs and levelled and levelled.is_bell:
        contradictions = (_NO_BELL.format(differs),)
    at_bounds = warn_of_bounds(population, parts.released.plan.bounds, asked)
    missing = None if parts.released.plan.nothing_missing else population.missing
    return MeanEstimate(
        mean=population.mean,
        center=parts.released.location.center,
        scale=population.scale,
        law=population.law,
        plan=parts.released.plan,
        promise=promise,
        weighting=levelled.weighting if levelled else parts.released.plan.weighting,
        missing=None if missing is None else missing.about,
        missing_at_most=None if missing is None else missing.at_most,
        missing_is_seen=missing is not None and missing.is_seen,
        assumed=population.assumed,
        asked=asked,
        warnings=() if contradictions else (*shape.warnings(*judged), *at_bounds, *([differs] if differs else [])),
        contradictions=contradictions,
        levels=levels,
        levels_differ=differs is not None,
    )


def _in_words(difference: Difference | None) -> str | None:
    """How levels differ, if they do."""
    return difference and (_RISING if difference.rising else _FALLING)
