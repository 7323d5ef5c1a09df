"""The released sums of a clipped column, brought to one form for both models.

Within the clip, values are z between -1 and 1. A value far beyond the clip is in no sum but that of its far cell, so
far cells cost nothing extra: no record is in both. They look for rare, large values with the whole weight of the sum.

`PublicTotal` and `PrivateTotal` hold what is released for one group, depending on whether the total weight is public.
`stack_sums` turns many of either kind into `StackedSums`, the arrays from which the mean is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.far_cells import FAR_EDGES, FAR_PLACE
from pdpmean.laws.missing_weight import missing_nodes
from pdpmean.laws.reading import Counted, Reading
from pdpmean.laws.two_point import Bools, Nodes

__all__ = ["PrivateTotal", "PublicTotal", "StackedSums", "stack_far", "stack_sums", "weights_behind_far"]

_LIKELY = 0.5
"""A far cell is measured, and so added to the mean, if it holds something with a larger probability than this."""

_LEAST_NATS = 2.0  # weights are read as at least this
_MOST_NATS = 1e12  # with more, sums of doubles are no more exact


@dataclass(frozen=True, eq=False)
class PublicTotal:
    """Released sums of one group whose total weight is public.

    All are in nats, over records of weight w and value z; Laplace noise has scale 1 unless stated otherwise.
    """

    values: float
    """Sum of w z."""

    weight_less_squares: float
    """Sum of w (1 - z**2); its noise has scale 2."""

    missing: float
    """Sum of w over missing values."""

    below: Floats
    """By far cell: the sum of w d over its values, where d is the distance over the cell's outer edge."""

    above: Floats
    """Like `below`, for values above the clip."""

    far_weight_ratio: float = 1.0
    """Weight behind far cells, over that behind the other sums."""

    far_people_ratio: float = 1.0
    """Effective number of people behind far cells, over that behind the other sums."""

    def present(self, total: float) -> float:
        """An estimate of the weight that is not missing, given the total."""
        return total - max(self.missing, 0.0)

    def row(self, total: float, missing: float, far: float) -> _Row:
        """The sums in common form; weight that is neither missing nor far is inside."""
        inside = max(total - missing - far, _LEAST_NATS)
        return _Row(self.values, self.weight_less_squares, inside, (1.0, 0.0, 0.0))


@dataclass(frozen=True, eq=False)
class PrivateTotal:
    """Released sums of one group whose total weight is private, with u = (z + 1) / 2.

    All are in nats, and all Laplace noise has scale 1. Fields without a description are as in `PublicTotal`.
    """

    low: float
    """Sum of w (1 - u)**2."""

    middle: float
    """Sum of 2 w u (1 - u)."""

    high: float
    """Sum of w u**2."""

    missing: float
    below: Floats
    above: Floats
    far_weight_ratio: float = 1.0
    far_people_ratio: float = 1.0

    def present(self, total: float) -> float:  # noqa: ARG002
        """An estimate of the weight that is neither missing nor far."""
        return self.low + self.middle + self.high

    def row(self, total: float, missing: float, far: float) -> _Row:  # noqa: ARG002
        """The sums in common form; the three add up to the weight inside, so its noise is made of theirs."""
        inside = max(self.low + self.middle + self.high, _LEAST_NATS)
        values = self.high - self.low
        mean = min(max(values / (inside + far), -1.0), 1.0)
        return _Row(values, 2 * self.middle, inside, (1 - mean, 1 + mean, abs(mean)))


class _Row(NamedTuple):
    """The sums of one group, in the form that is common to both models."""

    values: float
    """Sum of w z."""

    weight_less_squares: float
    """Sum of w (1 - z**2)."""

    inside: float
    """Weight within the clip, or beyond it but before the first far cell."""

    noise: tuple[float, float, float]
    """Scales, in nats, of the independent Laplace variables in the sum of w (z - mean)."""


class StackedSums(NamedTuple):
    """The released sums of many groups; the first axis is the group, and weights are in nats."""

    values: Floats
    """This and the next three as in `_Row`."""

    weight_less_squares: Floats
    inside: Floats
    noise: Floats
    far: Floats
    """By side (below, above) and far cell: the released content."""

    occupied_probability: Floats
    """By side and far cell: the probability that the cell holds something."""

    measured_far_weight: Floats
    """Weight in far cells that are measured."""

    missing: Nodes
    """Posterior of the missing weight."""

    total: Floats
    """All weight, as known before the sums were released."""

    total_std: Floats
    """Standard deviation of the total; 0 where it is public."""

    people: Floats
    """How many equally weighted records would have the same sampling error."""

    far_weight_ratio: Floats
    """Weight behind far cells, over that behind the other sums."""

    far_people: Floats
    """Like `people`, for far cells."""

    @property
    def is_measured(self) -> Bools:
        """By side and far cell: whether the cell probably holds something, and is added to the mean."""
        return self.occupied_probability > _LIKELY

    @property
    def present(self) -> Floats:
        """Weight of all values that are not missing."""
        return self.inside + self.measured_far_weight

    @property
    def present_behind_far(self) -> Floats:
        """Weight of all values that are not missing, in the weights that far cells use."""
        return self.present * self.far_weight_ratio

    @property
    def is_public(self) -> bool:
        """Whether the total weight is public."""
        return not self.noise[:, 1:].any()


def stack_far(
    sums: Sequence[PublicTotal | PrivateTotal], clips: Sequence[tuple[float, float]], bounds: tuple[float, float]
) -> Floats:
    """The far cells by group, side and cell; 0 on a side where no value within the bounds is far."""
    far: Floats = np.array([(group.below, group.above) for group in sums]) * _may_be_far(clips, bounds)[..., None]
    return far


def weights_behind_far(sums: Sequence[PublicTotal | PrivateTotal], summed: Sequence[Counted]) -> Floats:
    """By group: an estimate of the weight behind far cells, in nats, before it is known which of them are measured."""
    weights = [
        group.far_weight_ratio * group.present(counted.nats) for group, counted in zip(sums, summed, strict=True)
    ]
    return np.clip(weights, _LEAST_NATS, _MOST_NATS)


def stack_sums(
    sums: Sequence[PublicTotal | PrivateTotal],
    summed: Sequence[Counted],
    readings: Sequence[Reading],
    far: Floats,
    occupied_probability: Floats,
) -> StackedSums:
    """The sums of all groups, which must be of one kind, with their far cells as `stack_far` gives them."""
    total, people, total_std = np.array(summed, dtype=np.float64).T
    total = np.clip(total, _LEAST_NATS, _MOST_NATS)
    far_weight_ratio, far_people_ratio = np.array(
        [(group.far_weight_ratio, group.far_people_ratio) for group in sums]
    ).T
    measured = np.where(occupied_probability > _LIKELY, np.maximum(far, 0.0), 0.0).sum(axis=(1, 2))
    measured_far_weight = measured / FAR_PLACE / far_weight_ratio
    earlier = np.array([(reading.missing, reading.nats) for reading in readings]).T
    missing = missing_nodes(np.array([group.missing for group in sums]), total, *earlier)
    columns = (total.tolist(), missing.means.tolist(), measured_far_weight.tolist())
    rows = [group.row(*numbers) for group, *numbers in zip(sums, *columns, strict=True)]
    values, weight_less_squares, inside, noise = zip(*rows, strict=True)
    return StackedSums(
        values=np.array(values),
        weight_less_squares=np.array(weight_less_squares),
        inside=np.array(inside),
        noise=np.array(noise),
        far=far,
        occupied_probability=occupied_probability,
        measured_far_weight=measured_far_weight,
        missing=missing,
        total=total,
        total_std=total_std,
        people=np.clip(people, 1.0, _MOST_NATS),
        far_weight_ratio=far_weight_ratio,
        far_people=np.clip(people * far_people_ratio, 1.0, _MOST_NATS),
    )


def _may_be_far(clips: Sequence[tuple[float, float]], bounds: tuple[float, float]) -> Bools:
    """By group and side: whether values within the bounds may be far from the middle of the clip."""
    low, high = np.array(clips).T / 2
    middle = low + high
    half = high - low
    farthest = np.stack([middle - bounds[0], bounds[1] - middle], axis=1) / half[:, None]
    may_be_far: Bools = farthest > FAR_EDGES[0]
    return may_be_far
