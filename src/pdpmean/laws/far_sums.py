"""The released sums of a clipped column, in either model, as what the mean is made of.

Values are z between -1 and 1 within the clip. A value far beyond it is in no sum but that of its far cell, and so is
nobody's z: far cells cost nothing, and look for what is rare and far with all the weight of the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.far_cells import FAR_PLACE
from pdpmean.laws.missing_weight import missing_nodes
from pdpmean.laws.reading import Counted, Reading
from pdpmean.laws.two_point import Bools, Nodes

__all__ = ["LIKELY", "PrivateTotal", "PublicTotal", "Sums", "stack_far", "stack_sums", "weights_behind_far"]

LIKELY = 0.5
"""A far cell that holds something with a larger chance counts."""

_AT_A_BOUND = 2.0**-10  # half widths: so near to a bound an end is one
_LEAST_NATS = 2.0
_MOST_NATS = 1e12


@dataclass(frozen=True, eq=False)
class PublicTotal:
    """Sums over a clipped column whose total weight is public; in nats, noise of scale 1, or as it says."""

    values: float
    """Of w z."""

    spread: float
    """Of w (1 - z**2); noise of scale 2."""

    missing: float
    """Of w over missing values."""

    below: Floats
    """By far cell: of w over values there, times their distance over the largest of that cell."""

    above: Floats
    far_weight: float = 1.0
    """The weight behind far cells, over that behind the other sums."""

    far_people: float = 1.0
    """The same of people that would have the same sampling error."""

    def present(self, total: float) -> float:
        """About the weight that is not missing."""
        return total - max(self.missing, 0.0)

    def row(self, total: float, missing: float, far: float) -> _Row:
        """Weight that is neither missing nor far is inside."""
        inside = max(total - missing - far, _LEAST_NATS)
        return _Row(self.values, self.spread, inside, (1.0, 0.0, 0.0))


@dataclass(frozen=True, eq=False)
class PrivateTotal:
    """The same where the total weight is private, with u = (z + 1) / 2; all with noise of scale 1."""

    low: float
    """Of w (1 - u)**2."""

    middle: float
    """Of 2 w u (1 - u)."""

    high: float
    """Of w u**2."""

    missing: float
    below: Floats
    above: Floats
    far_weight: float = 1.0
    far_people: float = 1.0

    def present(self, total: float) -> float:  # noqa: ARG002
        """About the weight that is neither missing nor far."""
        return self.low + self.middle + self.high

    def row(self, total: float, missing: float, far: float) -> _Row:  # noqa: ARG002
        """The three add up to the weight inside, so that its noise is part of theirs."""
        inside = max(self.low + self.middle + self.high, _LEAST_NATS)
        values = self.high - self.low
        mean = min(max(values / (inside + far), -1.0), 1.0)
        return _Row(values, 2 * self.middle, inside, (1 - mean, 1 + mean, abs(mean)))


class _Row(NamedTuple):
    """One group."""

    values: float
    """Sum of w z."""

    spread: float
    """Sum of w (1 - z**2)."""

    inside: float
    """Weight within the clip, or a little beyond it."""

    noise: tuple[float, float, float]
    """Scales of Laplace noise, in nats, that the sum of w (z - mean) has."""


class Sums(NamedTuple):
    """Released sums by group."""

    values: Floats
    spread: Floats
    inside: Floats
    noise: Floats
    far: Floats
    """By side (below, above) and far cell."""

    real: Floats
    """The chance that each of these holds something."""

    far_weight: Floats
    """Weight in those that count."""

    missing: Nodes
    """The missing weight."""

    total: Floats
    """All weight, as it was thought to be."""

    total_std: Floats
    people: Floats
    more_behind_far: Floats
    """How much more weight is behind far cells than behind the other sums."""

    far_people: Floats

    @property
    def is_measured(self) -> Bools:
        """Far cells that count."""
        return self.real > LIKELY

    @property
    def present(self) -> Floats:
        """Weight of all that is not missing."""
        return self.inside + self.far_weight

    @property
    def behind_far(self) -> Floats:
        """The same, as far cells count it."""
        return self.present * self.more_behind_far

    @property
    def is_public(self) -> bool:
        """Whether the total weight is."""
        return not self.noise[:, 1:].any()


def stack_far(
    sums: Sequence[PublicTotal | PrivateTotal], clips: Sequence[tuple[float, float]], bounds: tuple[float, float]
) -> Floats:
    """By group, side and far cell; nothing is far on a side where the clip ends at a bound."""
    far: Floats = np.array([(group.below, group.above) for group in sums]) * _may_be_far(clips, bounds)[..., None]
    return far


def weights_behind_far(sums: Sequence[PublicTotal | PrivateTotal], summed: Sequence[Counted]) -> Floats:
    """By group: about the weight of what far cells are a part of, as they count it."""
    weights = [group.far_weight * group.present(counted.nats) for group, counted in zip(sums, summed, strict=True)]
    return np.clip(weights, _LEAST_NATS, _MOST_NATS)


def stack_sums(
    sums: Sequence[PublicTotal | PrivateTotal],
    summed: Sequence[Counted],
    readings: Sequence[Reading],
    far: Floats,
    real: Floats,
) -> Sums:
    """The sums of all groups, which are of one model; far cells, and the chances that they hold something."""
    total, people, total_std = np.array(summed, dtype=np.float64).T
    total = np.clip(total, _LEAST_NATS, _MOST_NATS)
    more_behind_far, more_people = np.array([(group.far_weight, group.far_people) for group in sums]).T
    counts = np.where(real > LIKELY, np.maximum(far, 0.0), 0.0).sum(axis=(1, 2))
    far_weight = counts / FAR_PLACE / more_behind_far
    earlier = np.array([(reading.missing, reading.nats) for reading in readings]).T
    missing = missing_nodes(np.array([group.missing for group in sums]), total, *earlier)
    rows = [
        group.row(*numbers)
        for group, *numbers in zip(sums, total.tolist(), missing.means.tolist(), far_weight.tolist(), strict=True)
    ]
    values, spread, inside, noise = zip(*rows, strict=True)
    return Sums(
        values=np.array(values),
        spread=np.array(spread),
        inside=np.array(inside),
        noise=np.array(noise),
        far=far,
        real=real,
        far_weight=far_weight,
        missing=missing,
        total=total,
        total_std=total_std,
        people=np.clip(people, 1.0, _MOST_NATS),
        more_behind_far=more_behind_far,
        far_people=np.clip(people * more_people, 1.0, _MOST_NATS),
    )


def _may_be_far(clips: Sequence[tuple[float, float]], bounds: tuple[float, float]) -> Bools:
    """By group and side."""
    low, high = np.array(clips).T
    least = _AT_A_BOUND * (high / 2 - low / 2)
    return np.stack([low > bounds[0] + least, high < bounds[1] - least], axis=1)
