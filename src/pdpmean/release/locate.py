"""Locate: where the population lies and how wide it is, from a sample of the records.

Between known bounds nothing is located. Otherwise the centre is a private median; how the width is found is each
shape's own. A record costs what its weight says, a part of it for the centre and the rest for the width
(docs/guarantee.md, "Locate").
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.threads import in_threads
from pdpmean.core.types import Counts, Floats
from pdpmean.core.weights import round_down
from pdpmean.passes.batch import Batch
from pdpmean.passes.source import Source
from pdpmean.passes.thinning import Thinning
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location
from pdpmean.randomness import Randomness
from pdpmean.release import private_median
from pdpmean.release.group import Group
from pdpmean.release.private_median import integer_weights
from pdpmean.release.shape import KeptGroups
from pdpmean.release.shapes import LOCATING, RELEASES

__all__ = ["locate", "locate_kept", "thinning_of"]

_TOGETHER = 2**16  # values of groups that are located at once; the arrays of more leave the processor's cache


def locate(source: Source, groups: Sequence[Group], randomness: Randomness) -> list[Group]:
    """Each group with where it lies; all in one pass over the records, of which a sample is kept.

    No pass is made where that is public.
    """
    known = [_publicly(group) for group in groups]
    plans = [group.plan if group.location is None else None for group in known]
    if not any(plans):
        return known
    thinning = thinning_of(plans, grouped=source.groups is not None)
    kept = source.sample(thinning, randomness)
    located = locate_kept(kept, thinning.kept_weights, plans, randomness)
    return [
        replace(group, location=location) if location else group for group, location in zip(known, located, strict=True)
    ]


def _publicly(group: Group) -> Group:
    """The group where it publicly lies, if it does."""
    if group.plan is None:
        return group
    return replace(group, location=RELEASES[group.plan.shape].public_location(group.plan))


def thinning_of(plans: Sequence[Plan | None], *, grouped: bool) -> Thinning:
    """Who is kept, as planned; nobody where there is no plan."""
    model = next(plan.model for plan in plans if plan)
    return Thinning.of(model, [plan.keep_rule if plan else None for plan in plans], grouped=grouped)


def locate_kept(
    kept: Batch, weigh: Callable[[Batch], Floats], plans: Sequence[Plan | None], randomness: Randomness
) -> list[Location | None]:
    """Where the kept values of each group with a plan lie. A record may cost as many nats as `weigh` says."""

    def one(task: _Task) -> list[Location]:
        portion, coins = task
        # In order: around the centre, distances then fall and rise again, and are sorted at once.
        some = kept.at(np.concatenate([own[np.argsort(kept.values[own])] for own, _ in portion]))
        sizes = np.array([own.size for own, _ in portion])
        return _locate_some(some.values, weigh(some), sizes, [plan for _, plan in portion], coins)

    members = [(own, plan) for own, plan in zip(kept.by_group(len(plans)), plans, strict=True) if plan]
    tasks = ((portion, randomness.spawn()) for portion in _portions(members))
    found = itertools.chain.from_iterable(in_threads(one, tasks))
    return [next(found) if plan else None for plan in plans]


_Members = tuple[NDArray[np.intp], Plan]  # where the records of a group are, and its plan
_Task = tuple[list[_Members], Randomness]


def _portions(groups: Sequence[_Members]) -> Iterator[list[_Members]]:
    """Groups in portions of so many records that they stay in the cache, and all with a centre to seek or none."""
    portions = (np.cumsum([own.size for own, _ in groups]) // _TOGETHER).tolist()
    kinds = ((portion, "center" in plan.shares) for portion, (_, plan) in zip(portions, groups, strict=True))
    together = itertools.groupby(zip(groups, kinds, strict=True), key=lambda pair: pair[1])
    return ([group for group, _ in portion] for _, portion in together)


def _locate_some(
    values: Floats, weights: Floats, sizes: Counts, plans: Sequence[Plan], randomness: Randomness
) -> list[Location]:
    """The same, of groups one after the other, each of its size and sorted."""
    plan = plans[0]  # all seek in the same places
    shape = LOCATING[plan.shape]
    values = shape.located_values(plan, values)
    parts = np.repeat([p.center_part for p in plans], sizes)
    of_centers, rest = (integer_weights(round_down(weights * part)) for part in (parts, 1 - parts))
    if "center" in plan.shares:
        centers = private_median.private_medians(
            values, of_centers, shape.center_lattice(plan), randomness, grain=plan.center_grain, sizes=sizes
        )
    else:
        centers = [plan.anchor] * len(plans)
    return shape.extents(KeptGroups(values, rest, sizes, centers, plans), randomness)
