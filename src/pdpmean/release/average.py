"""Average: the sum of weighted, clipped values in exact integers, released with discrete Laplace noise.

Record i adds ``W_i z_i``. The integer W_i is its weight, and z_i is its clipped value in steps from the middle of the
clip, with ``|z_i| <= H``. The noise has scale ``H 2**q``, so adding or removing the record costs ``W_i / 2**q`` nats,
at most its share (docs/guarantee.md, "Average"). Each level of budgets has its own sums and its own noise, and a record
is in one level only (docs/guarantee.md, "Levels of budgets").
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
    """Each group with the noisy sums of its clipped values, all from one pass over the records."""
    clips_by_group = [_clips(group) for group in groups]
    all_clips = [clip for clips in clips_by_group for clip in clips]
    if not any(all_clips):
        return list(groups)
    edges = [_edges(group) for group in groups]
    rows = iter(source.sum(summing_of(all_clips, edges, grouped=source.groups is not None)).tolist())
    return [
        _released(group, clips, [ExactSums.of(next(rows)) for _ in clips], randomness)
        for group, clips in zip(groups, clips_by_group, strict=True)
    ]


def _clips(group: Group) -> list[Clip | None]:
    """One clip per level of budgets; they differ only in their cap. A single None if nothing is summed."""
    if group.plan is None or group.location is None:
        return [None]
    clip = RELEASES[group.plan.shape].clip(group.plan, group.location)
    return [replace(clip, cap=cap) for cap in group.plan.levels.caps] if group.plan.levels else [clip]


def _edges(group: Group) -> tuple[float, ...]:
    """The allowances at which the second level of budgets and all further ones begin."""
    return group.plan.levels.edges if group.plan and group.plan.levels and group.location else ()


def summing_of(
    clips: Sequence[Clip | None], edges: Sequence[Sequence[float]] | None = None, *, grouped: bool
) -> Summing:
    """The pass that sums values by these clips, all of them with squares or all without.

    There is one clip per group; where `edges` lists the allowances at which further levels of a group begin, there is
    one per level. Where there is no clip, nothing is summed.
    """
    first = next(clip for clip in clips if clip)
    rules = [clip.rule if clip else None for clip in clips]
    far = any(clip.far for clip in clips if clip)
    return Summing.of(first.model, rules, edges, squares=first.squares, far=far, grouped=grouped)


def _released(group: Group, clips: Sequence[Clip | None], sums: Sequence[ExactSums], randomness: Randomness) -> Group:
    """The group with its sums and their noise; as it is, if nothing was summed."""
    if group.plan is None or clips == [None]:
        return group
    shape = RELEASES[group.plan.shape]
    levels = [
        shape.release(group.plan, clip, level_sums, randomness)
        for clip, level_sums in zip(clips, sums, strict=True)
        if clip
    ]
    return replace(group, averaged=LevelSums(tuple(levels)) if group.plan.levels else levels[0])
