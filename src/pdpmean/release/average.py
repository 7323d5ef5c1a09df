"""Average: the sum of weighted, clipped values in exact integers, released with discrete noise.

Record i adds ``W_i z_i`` with ``|z_i| <= H``, and the noise has scale ``H 2**q``: adding or removing it costs
``W_i / 2**q``, at most its share (docs/guarantee.md, "Average"). Levels of budgets are summed apart, with noise of
their own: a record is in one of them (docs/guarantee.md, "Levels of budgets").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdpmean.passes.source import Source
from pdpmean.passes.summing import Summing
from pdpmean.planning.released import LevelSums
from pdpmean.randomness import Randomness
from pdpmean.release.clip import Clip
from pdpmean.release.group import Group
from pdpmean.release.shape import ExactSums
from pdpmean.release.shapes import RELEASES

__all__ = ["average", "summing_of"]


def average(source: Source, groups: Sequence[Group], randomness: Randomness) -> list[Group]:
    """Each group with its private average of the values clipped to where they lie, all in one pass."""
    clips = [_clips(group) for group in groups]
    summed = [clip for own in clips for clip in own]
    if not any(summed):
        return list(groups)
    edges = [_edges(group) for group in groups]
    rows = iter(source.sum(summing_of(summed, edges, grouped=source.groups is not None)).tolist())
    return [
        _released(group, own, [ExactSums.of(next(rows)) for _ in own], randomness)
        for group, own in zip(groups, clips, strict=True)
    ]


def _clips(group: Group) -> list[Clip | None]:
    """The clip of each level of budgets, which differ in the largest weight alone; None where nothing is summed."""
    if group.plan is None or group.location is None:
        return [None]
    clip = RELEASES[group.plan.shape].clip(group.plan, group.location)
    return [replace(clip, cap=cap) for cap in group.plan.levels.caps] if group.plan.levels else [clip]


def _edges(group: Group) -> tuple[float, ...]:
    """The allowances at which further levels of budgets begin."""
    return group.plan.levels.edges if group.plan and group.plan.levels and group.location else ()


def summing_of(
    clips: Sequence[Clip | None], edges: Sequence[Sequence[float]] | None = None, *, grouped: bool
) -> Summing:
    """The sums of these clips, all with squares or all without; nothing is summed where there is none.

    There is a clip for each group or, where `edges` say at which allowances its levels begin, for each level.
    """
    first = next(clip for clip in clips if clip)
    rules = [clip.rule if clip else None for clip in clips]
    far = any(clip.far for clip in clips if clip)
    return Summing.of(first.model, rules, edges, squares=first.squares, far=far, grouped=grouped)


def _released(group: Group, clips: Sequence[Clip | None], sums: Sequence[ExactSums], randomness: Randomness) -> Group:
    if group.plan is None or clips == [None]:
        return group
    shape = RELEASES[group.plan.shape]
    levels = [shape.release(group.plan, clip, own, randomness) for clip, own in zip(clips, sums, strict=True) if clip]
    return replace(group, averaged=LevelSums(tuple(levels)) if group.plan.levels else levels[0])
