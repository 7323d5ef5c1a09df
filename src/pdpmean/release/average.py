"""Average: the sum of weighted, clipped values in exact integers, released with discrete noise.

Record i adds ``W_i z_i`` with ``|z_i| <= H``, and the noise has scale ``H 2**q``: adding or removing it costs
``W_i / 2**q``, at most its share (docs/guarantee.md, "Average").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pdpmean.passes.source import Source
from pdpmean.passes.summing import Summing
from pdpmean.randomness import Randomness
from pdpmean.release.clip import Clip
from pdpmean.release.group import Group
from pdpmean.release.shape import ExactSums
from pdpmean.release.shapes import RELEASES

__all__ = ["average", "summing_of"]


def average(source: Source, groups: Sequence[Group], randomness: Randomness) -> list[Group]:
    """Each group with its private average of the values clipped to where they lie, all in one pass."""
    clips = [_clip(group) for group in groups]
    if not any(clips):
        return list(groups)
    table = source.sum(summing_of(clips, grouped=source.groups is not None)).tolist()
    return [
        _released(group, clip, ExactSums.of(row), randomness)
        for group, clip, row in zip(groups, clips, table, strict=False)
    ]


def _clip(group: Group) -> Clip | None:
    if group.plan is None or group.location is None:
        return None
    return RELEASES[group.plan.shape].clip(group.plan, group.location)


def summing_of(clips: Sequence[Clip | None], *, grouped: bool) -> Summing:
    """The sums of these clips, all with squares or all without; nothing is summed where there is none."""
    first = next(clip for clip in clips if clip)
    rules = [clip.rule if clip else None for clip in clips]
    far = any(clip.far for clip in clips if clip)
    return Summing.of(first.model, rules, squares=first.squares, far=far, grouped=grouped)


def _released(group: Group, clip: Clip | None, sums: ExactSums, randomness: Randomness) -> Group:
    if group.plan is None or clip is None:
        return group
    return replace(group, averaged=RELEASES[group.plan.shape].release(group.plan, clip, sums, randomness))
