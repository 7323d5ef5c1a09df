"""Locate: where each group's population lies and how wide it is, from a sample of the records.

The clipping bounds of the average follow from this. If the clip is public, because it is two known bounds, nothing is
located. Otherwise the centre is a private median, unless a known bound serves as the anchor. How the width is found
depends on the shape. A record's loss is at most its weight: one part is for the centre, the rest for the width
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

# People in the groups that are located together, of whom a sample is kept; larger arrays do not fit into the
# processor's cache.
_TOGETHER = 2**18


def locate(source: Source, groups: Sequence[Group], randomness: Randomness) -> list[Group]:
    """Each group with its location, all from one pass over the records, which keeps a random sample.

    There is no pass if the location of every group is public.
    """
    with_public = [_with_public_location(group) for group in groups]
    plans = [group.plan if group.location is None else None for group in with_public]
    if not any(plans):
        return with_public
    thinning = thinning_of(plans, grouped=source.groups is not None)
    kept = source.sample(thinning, randomness)
    locations = locate_kept(kept, thinning.kept_weights, plans, randomness)
    return [
        replace(group, location=location) if location else group
        for group, location in zip(with_public, locations, strict=True)
    ]


def _with_public_location(group: Group) -> Group:
    """The group with its location, if that is public."""
    if group.plan is None:
        return group
    return replace(group, location=RELEASES[group.plan.shape].public_location(group.plan))


def thinning_of(plans: Sequence[Plan | None], *, grouped: bool) -> Thinning:
    """The probability with which each record is kept, by the plan of its group; nobody of a group without one."""
    model = next(plan.model for plan in plans if plan)
    return Thinning.of(model, [plan.keep_rule if plan else None for plan in plans], grouped=grouped)


def locate_kept(
    kept: Batch, weigh: Callable[[Batch], Floats], plans: Sequence[Plan | None], randomness: Randomness
) -> list[Location | None]:
    """The location of each group that has a plan, from the kept records; None for the others.

    `weigh` says what each kept record may cost, in nats.
    """

    def locate_portion(task: _Task) -> list[Location]:
        portion, own_randomness = task
        # Sorted by value: distances from the centre then fall and rise again, which is quick to sort.
        records = kept.at(np.concatenate([indices[np.argsort(kept.values[indices])] for indices, _ in portion]))
        sizes = np.array([indices.size for indices, _ in portion])
        return _locate_some(records.values, weigh(records), sizes, [plan for _, plan in portion], own_randomness)

    members = [(indices, plan) for indices, plan in zip(kept.by_group(len(plans)), plans, strict=True) if plan]
    tasks = ((portion, randomness.spawn()) for portion in _portions(members))
    locations = itertools.chain.from_iterable(in_threads(locate_portion, tasks))
    return [next(locations) if plan else None for plan in plans]


_Members = tuple[NDArray[np.intp], Plan]  # the indices of a group's records, and its plan
_Task = tuple[list[_Members], Randomness]


def _portions(groups: Sequence[_Members]) -> Iterator[list[_Members]]:
    """The groups in portions that are located together.

    A portion fits into the cache. Either all of its groups have a centre to find, or none has. Plans decide, and not
    the number of kept records, which is private.
    """
    numbers = (np.cumsum([plan.people for _, plan in groups]) // _TOGETHER).tolist()
    kinds = ((number, "center" in plan.shares) for number, (_, plan) in zip(numbers, groups, strict=True))
    portions = itertools.groupby(zip(groups, kinds, strict=True), key=lambda pair: pair[1])
    return ([group for group, _ in portion] for _, portion in portions)


def _locate_some(
    values: Floats, weights: Floats, sizes: Counts, plans: Sequence[Plan], randomness: Randomness
) -> list[Location]:
    """The location of each group of a portion: first its centre, then its width.

    The records of the groups come one group after the other, and sorted within each; `sizes` says how many each has.
    """
    plan = plans[0]  # bounds, lattice and anchor are the same in all of them
    shape = LOCATING[plan.shape]
    values_for_center = shape.located_values(plan, values)
    parts = np.repeat([group_plan.center_part for group_plan in plans], sizes)
    # What a record may cost is divided between the two releases; both parts are rounded down.
    center_weights, width_weights = (integer_weights(round_down(weights * part)) for part in (parts, 1 - parts))
    if "center" in plan.shares:
        lattice = shape.center_lattice(plan)
        centers = private_median.private_medians(
            values_for_center, center_weights, lattice, randomness, grain=plan.center_grain, sizes=sizes
        )
    else:
        centers = [plan.anchor] * len(plans)
    return shape.extents(KeptGroups(values, width_weights, sizes, centers, plans), randomness)
