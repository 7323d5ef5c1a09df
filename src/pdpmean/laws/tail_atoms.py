"""The tails that readings leave possible, of many groups at once, and what they have beyond a distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.reading import Reading
from pdpmean.laws.tail_fit import Ints
from pdpmean.laws.tails import FINE, tails
from pdpmean.laws.two_point import Bools

__all__ = ["Beyond", "TailAtoms", "half_octaves", "stack_atoms"]

_NO_DISTANCE = 1e-300


class Beyond(NamedTuple):
    """What lies beyond a distance, by group, side, atom and distance."""

    weight: Floats
    """As a share of all."""

    excess: Floats
    """The mean of what values are farther out than that; 0 for the others."""


class TailAtoms(NamedTuple):
    """Tails by group, side (below, above) and atom; distances from the anchor are in a unit of each group's own."""

    family: Ints
    log_scale: Floats
    """In half octaves."""

    mass: Floats
    weight: Floats
    """Chances; they and `empty` add up to 1."""

    empty: Floats
    limit: Floats
    """By group and side: the distance to a bound; there are no values beyond."""

    def beyond(self, distances: Floats) -> Beyond:
        """For distances by group, side and number."""
        if not np.isfinite(self.limit).any():
            return self._beyond(distances)
        near = self._beyond(distances)
        inside = (distances < self.limit[..., None])[:, :, None]
        return Beyond(near.weight * inside, self._up_to_limit(near.excess) * inside)

    def excess_at(self, points: Ints) -> Floats:
        """The excess beyond distances by group, side and number: so many of the tables' points from the unit.

        Scales must be whole half octaves, as cells are.
        """
        scales = self.log_scale.astype(np.int64)[..., None]
        excess = tails().beyond_points(self.family[..., None], points[:, :, None] - FINE * scales)
        excess *= (self.mass * 2 ** (self.log_scale / 2))[..., None]
        if not np.isfinite(self.limit).any():
            return excess
        return self._up_to_limit(excess)

    def _up_to_limit(self, excess: Floats) -> Floats:
        """Without what would lie beyond the limit; nothing there."""
        return np.maximum(excess - self._beyond(self.limit[..., None]).excess, 0)

    def beyond_like_a_power(self, seen: Floats, distances: Floats, power: float) -> Beyond:
        """The same if tails fall like a power of the distance from where they were last `seen`, by group and side.

        There they have the weight of their family and, at first, its mean excess.
        """
        start = self._beyond(seen[..., None])
        scale = power * np.maximum(start.excess / np.maximum(start.weight, _NO_DISTANCE), _NO_DISTANCE)
        farther = 1 + np.maximum(distances - seen[..., None], 0)[:, :, None] / scale
        weight = start.weight * farther**-power
        excess = weight * farther * scale / (power - 1)
        if not np.isfinite(self.limit).any():
            return Beyond(weight, excess)
        to_limit = 1 + np.maximum(self.limit - seen, 0)[..., None, None] / scale
        at_limit = start.weight * to_limit ** (1 - power) * scale / (power - 1)
        inside = (distances < self.limit[..., None])[:, :, None]
        return Beyond(weight * inside, np.maximum(excess - at_limit, 0) * inside)

    def within(self, distances: Floats) -> Beyond:
        """The same of what lies nearer than a distance: the mean of what values are nearer by."""
        d = np.maximum(distances, 0)[:, :, None]
        beyond = self._beyond(distances)
        size = self.mass * 2 ** (self.log_scale / 2) * tails().mean[self.family]
        mass = self.mass[..., None]
        return Beyond(
            np.clip(mass - beyond.weight, 0, 1) * (d > 0),
            np.maximum(mass * d - size[..., None] + beyond.excess, 0) * (d > 0),
        )

    def from_other_side(self, where: Bools) -> TailAtoms:
        """By group and side: where a clip begins beyond the anchor, it cuts what lies on the other side of that."""
        return TailAtoms(
            *(np.where(where.reshape(where.shape + (1,) * (array.ndim - 2)), array[:, ::-1], array) for array in self)
        )

    def likeliest(self, number: int) -> TailAtoms:
        """That many atoms on each side, which stand for all."""
        best = np.argpartition(self.weight, -number, axis=-1)[..., -number:]
        weight = np.take_along_axis(self.weight, best, axis=-1)
        return TailAtoms(
            family=np.take_along_axis(self.family, best, axis=-1),
            log_scale=np.take_along_axis(self.log_scale, best, axis=-1),
            mass=np.take_along_axis(self.mass, best, axis=-1),
            weight=weight * ((1 - self.empty) / np.maximum(weight.sum(axis=-1), _NO_DISTANCE))[..., None],
            empty=self.empty,
            limit=self.limit,
        )

    def _beyond(self, distances: Floats) -> Beyond:
        steps = half_octaves(distances)[:, :, None] - self.log_scale[..., None]
        survival, integral = tails().at(self.family[..., None], steps)
        mass = self.mass[..., None]
        return Beyond(mass * survival, mass * 2 ** (self.log_scale[..., None] / 2) * integral)


def half_octaves(distances: Floats) -> Floats:
    """Twice the binary logarithm; that of the smallest number for none."""
    return 2 * np.log2(np.maximum(distances, _NO_DISTANCE))


def stack_atoms(readings: Sequence[Reading], log_unit: Floats, limit: Floats) -> TailAtoms:
    """With units given in half octaves from each reading's first cell."""
    scale = np.array([reading.scale for reading in readings])
    return TailAtoms(
        family=np.array([reading.family for reading in readings]),
        log_scale=scale - log_unit[:, None, None],
        mass=np.array([reading.mass for reading in readings]),
        weight=np.array([reading.weight for reading in readings]),
        empty=np.array([reading.empty for reading in readings]),
        limit=limit,
    )
