"""Conclude: from the released numbers to one estimate per group, with its interval and warnings.

This is post-processing by construction. The room can import neither data nor randomness, so nothing here can cost
privacy. How a mean follows from the sums depends on the assumed shape, and is left to one class per shape
(`_INFERENCES`). All groups of one shape are solved together, which is much faster than one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pdpmean.core.choices import ShapeName
from pdpmean.core.promise import Promise
from pdpmean.core.question import NAMELESS, Question
from pdpmean.core.text import budget_in_words
from pdpmean.inference.any_shape import AnyShapeInference
from pdpmean.inference.at_bounds import warn_of_bounds
from pdpmean.inference.gaussian import GaussianInference
from pdpmean.inference.known_bounds import KnownBoundsInference
from pdpmean.inference.levels import Levelled
from pdpmean.inference.population import Contradiction, Population, ShapeInference
from pdpmean.laws.missing_weight import NOTHING_MISSING
from pdpmean.laws.pooling import Difference
from pdpmean.planning.released import BellSums, LevelSums, Released
from pdpmean.results.mean_estimate import MeanEstimate

__all__ = ["conclude"]

_INFERENCES: dict[ShapeName, ShapeInference] = {
    "gaussian": GaussianInference(),
    "any": AnyShapeInference(),
    "bounds": KnownBoundsInference(),
}


_RISING = "people with smaller budgets have lower values than people with larger ones"
_FALLING = "people with smaller budgets have higher values than people with larger ones"
_UNKNOWN = (
    "next to nothing is known about people with budgets up to {}, who may be a quarter of all or more: if their values "
    "differ, the interval may be too narrow"
)
_NO_BELL = "{}: together they are not bell-shaped, and larger budgets decided where the bell was located"


def conclude(
    groups: Sequence[Released | None],
    promise: Promise,
    question: Question = NAMELESS,
    budget_warnings: tuple[str, ...] = (),
) -> list[MeanEstimate | None]:
    """The estimate of each group; None where nothing was released, since the group was refused.

    `budget_warnings` were known before anything was released. They come first among the warnings of every estimate.
    """
    candidates = [_Candidates.of(group) if group else None for group in groups]
    shapes = {group.shape for group in candidates if group}
    populations = {shape: iter(_INFERENCES[shape].populations(_all_of(candidates, shape))) for shape in shapes}
    return [
        _estimate(group, [next(populations[group.shape]) for _ in group.variants], promise, question, budget_warnings)
        if group
        else None
        for group in candidates
    ]


class _Candidates(NamedTuple):
    """The released numbers of one group, as one or more sets of sums that each describe everyone in it.

    There is a single variant if all records were summed together. If levels of budgets were summed separately, each
    plausible way to combine them is a variant, and the estimate mixes what follows from each.
    """

    released: Released
    levelled: Levelled | None
    """The levels; None if all records were summed together."""
    variants: list[Released]
    judged: int
    """The index of the variant in which contradictions of the assumed shape are looked for."""

    @classmethod
    def of(cls, released: Released) -> _Candidates:
        """The sums as released, or the combinations of levels."""
        if not isinstance(released.averaged, LevelSums):
            return cls(released, None, [_as_known(released)], 0)
        levelled = Levelled(released)
        return cls(released, levelled, [_as_known(variant) for variant in levelled.variants], levelled.judged)

    @property
    def shape(self) -> ShapeName:
        """The shape that the group's plan assumes."""
        return self.released.plan.shape


def _as_known(group: Released) -> Released:
    """The released numbers, with the noisy missing weight ignored if it is public that no value is missing."""
    if not group.plan.nothing_missing or isinstance(group.averaged, BellSums | LevelSums):
        return group
    return replace(group, averaged=replace(group.averaged, missing=NOTHING_MISSING))


def _all_of(candidates: Sequence[_Candidates | None], shape: ShapeName) -> list[Released]:
    """The variants of all groups of one shape, in order."""
    return [variant for group in candidates if group and group.shape == shape for variant in group.variants]


def _estimate(
    group: _Candidates,
    populations: Sequence[Population],
    promise: Promise,
    question: Question,
    budget_warnings: tuple[str, ...],
) -> MeanEstimate:
    """The estimate of one group, from the population that was inferred from each of its variants."""
    # False alarms are rare over all groups together, so each group may raise only its part of them.
    part = 1 / (promise.groups or 1)
    shape = _INFERENCES[group.shape]
    levelled = group.levelled
    populations = levelled.with_missing(populations) if levelled else populations
    judged = group.variants[group.judged], populations[group.judged], part
    population = levelled.population(populations) if levelled else populations[0]
    levels = levelled.level_means(population) if levelled else ()
    contradictions = shape.contradictions(*judged)
    differs = _in_words(levelled.difference(part)) if levelled and not contradictions else None
    if differs and levelled and levelled.is_bell:
        contradictions = (Contradiction(_NO_BELL.format(differs), "use shape='any'"),)
    unknown = _unknown_in_words(levelled.unknown_up_to(population)) if levelled else None
    of_levels = [text for text in (differs, unknown) if text]
    reading = group.released.location.reading
    at_bounds = warn_of_bounds(population, group.released.plan.bounds, question, reading, part)
    of_released = () if contradictions else (*shape.warnings(*judged), *at_bounds, *of_levels)
    missing = None if group.released.plan.nothing_missing else population.missing
    return MeanEstimate(
        released_mean=population.mean,
        center=group.released.location.center,
        scale=population.scale,
        law=population.law,
        plan=group.released.plan,
        promise=promise,
        weighting=levelled.weighting if levelled else group.released.plan.weighting,
        missing=None if missing is None else missing.about,
        missing_at_most=None if missing is None else missing.at_most,
        missing_is_seen=missing is not None and missing.is_seen,
        assumed=population.assumed,
        question=question,
        warnings=(*budget_warnings, *of_released),
        contradictions=tuple(contradiction.reason for contradiction in contradictions),
        advice=tuple(dict.fromkeys(contradiction.advice for contradiction in contradictions)),
        levels=levels,
        levels_differ=differs is not None,
    )


def _in_words(difference: Difference | None) -> str | None:
    """How values depend on budgets, as a warning says it; None if they do not."""
    return difference and (_RISING if difference.rising else _FALLING)


def _unknown_in_words(budget: float | None) -> str | None:
    """About whom nothing is known, as a warning says it; None if they are few."""
    return None if budget is None else _UNKNOWN.format(budget_in_words(budget))
