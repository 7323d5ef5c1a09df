"""Conclude: the estimates behind the released numbers. Post-processing by construction: nothing else is seen here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdpmean.core.choices import ShapeName
from pdpmean.core.numbers import finite
from pdpmean.core.promise import Promise
from pdpmean.inference.any_shape import AnyShapeInference
from pdpmean.inference.gaussian import GaussianInference
from pdpmean.inference.known_bounds import KnownBoundsInference
from pdpmean.inference.population import Population, ShapeInference
from pdpmean.laws.missing_weight import NOTHING_MISSING
from pdpmean.planning.released import Average, Released
from pdpmean.results.mean_estimate import MeanEstimate

__all__ = ["INFERENCES", "conclude"]

INFERENCES: dict[ShapeName, ShapeInference] = {
    "gaussian": GaussianInference(),
    "any": AnyShapeInference(),
    "bounds": KnownBoundsInference(),
}


def conclude(groups: Sequence[Released | None], promise: Promise) -> list[MeanEstimate | None]:
    """The estimate of each group; None where nothing was released."""
    groups = [group and _as_known(group) for group in groups]
    shapes = {group.plan.shape for group in groups if group}
    populations = {shape: iter(INFERENCES[shape].populations(_all_of(groups, shape))) for shape in shapes}
    return [
        _estimate(INFERENCES[group.plan.shape], group, next(populations[group.plan.shape]), promise) if group else None
        for group in groups
    ]


def _as_known(group: Released) -> Released:
    """What was released; of missing values nothing, where it is publicly known that there are none."""
    if not group.plan.nothing_missing or isinstance(group.averaged, Average):
        return group
    return replace(group, averaged=replace(group.averaged, missing=NOTHING_MISSING))


def _all_of(groups: Sequence[Released | None], shape: ShapeName) -> list[Released]:
    """Those of one shape, which are concluded together."""
    return [group for group in groups if group and group.plan.shape == shape]


def _estimate(shape: ShapeInference, group: Released, population: Population, promise: Promise) -> MeanEstimate:
    part = 1 / (promise.groups or 1)
    bound = 2 * (group.location.half * shape.unevenness(group.plan) / population.slope)
    return MeanEstimate(
        mean=population.mean,
        center=group.location.center,
        scale=population.scale,
        law=population.law,
        plan=group.plan,
        promise=promise,
        selection_bound=finite(bound),
        missing=None if group.plan.nothing_missing else population.missing,
        assumed=population.assumed,
        warnings=shape.warnings(group, population, part),
        contradictions=shape.contradictions(group, population, part),
    )
