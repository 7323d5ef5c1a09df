"""The posterior tails of many groups as arrays, and the weight and excess they have beyond a distance.

An *atom* is one tail of a reading's posterior: a family, a scale, a mass and a probability. The *excess* beyond a
distance d is the mean of max(distance - d, 0) over all values: what a clip at d cuts off the mean.
"""

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

_TINY = 1e-300  # in place of 0 in logarithms and divisions
_EXCESS = 0.4  # by how much values beyond a distance exceed it on average, over the distance, if no family says it


class Beyond(NamedTuple):
    """What a tail has beyond a distance, by group, side, atom and distance."""

    weight: Floats
    """Share of all weight that lies beyond."""

    excess: Floats
    """The mean, over all weight, of how far values lie beyond; 0 for values that do not."""


class TailAtoms(NamedTuple):
    """Tails by group, side (below, above) and atom.

    Distances from the anchor are in a unit that each group has for itself; see `stack_atoms`.
    """

    family: Ints
    """Index in the tables of `tails.py`."""

    log_scale: Floats
    """Scale of the tail, in half octaves from the unit."""

    mass: Floats
    """Share of all weight that lies on this side."""

    probability: Floats
    """Probability of the atom; these and `empty` add up to 1."""

    empty: Floats
    """By group and side: the probability that nothing lies there."""

    limit: Floats
    """By group and side: the distance to the bound, beyond which there are no values; may be infinite."""

    def beyond(self, distances: Floats) -> Beyond:
        """Weight and excess beyond distances that are given by group, side and number."""
        if not np.isfinite(self.limit).any():
            return self._beyond(distances)
        near = self._beyond(distances)
        inside = (distances < self.limit[..., None])[:, :, None]
        return Beyond(near.weight * inside, self._up_to_limit(near.excess) * inside)

    def excess_at(self, points: Ints) -> Floats:
        """The excess beyond distances that are points of the tables, counted from the unit; faster than `beyond`.

        `points` are given by group, side and number. Scales must be whole half octaves from the unit, as cells are.
        """
        scales = self.log_scale.astype(np.int64)[..., None]
        excess = tails().beyond_points(self.family[..., None], points[:, :, None] - FINE * scales)
        excess *= (self.mass * 2 ** (self.log_scale / 2))[..., None]
        if not np.isfinite(self.limit).any():
            return excess
        return self._up_to_limit(excess)

    def _up_to_limit(self, excess: Floats) -> Floats:
        """The excess of the tails if what would lie beyond the limit lies at the limit; 0 at the limit itself."""
        return np.maximum(excess - self._beyond(self.limit[..., None]).excess, 0)

    def in_octave_before(self, distances: Floats) -> Floats:
        """Weight, by group, side and atom, between half of a distance and the distance; given by group and side."""
        weight = self._beyond(distances[..., None] * np.array([0.5, 1.0])).weight
        octave: Floats = weight[..., 0] - weight[..., 1]
        return octave

    def beyond_like_a_power(self, seen: Floats, octaves: Floats, distances: Floats, power: float) -> Beyond:
        """Weight and excess if tails fall like ``distance**-power`` from the distance up to which they were `seen`.

        `seen` is given by group and side. At that distance, the tails have the weight and the mean excess of their
        family, or those that go with the weight in the octave before, if `octaves` has more of it than the family.
        """
        start = self._beyond(seen[..., None])
        like_octave = octaves[..., None] / (2**power - 1)
        excess = like_octave * _EXCESS * seen[..., None, None]
        is_less = start.weight < like_octave
        start = Beyond(np.where(is_less, like_octave, start.weight), np.where(is_less, excess, start.excess))
        scale = power * np.maximum(start.excess / np.maximum(start.weight, _TINY), _TINY)
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
        """Weight nearer than a distance, and in place of the excess the mean of how much nearer values lie."""
        d = np.maximum(distances, 0)[:, :, None]
        beyond = self._beyond(distances)
        mean_distance = self.mass * 2 ** (self.log_scale / 2) * tails().mean[self.family]
        mass = self.mass[..., None]
        return Beyond(
            np.clip(mass - beyond.weight, 0, 1) * (d > 0),
            np.maximum(mass * d - mean_distance[..., None] + beyond.excess, 0) * (d > 0),
        )

    def from_other_side(self, where: Bools) -> TailAtoms:
        """The atoms with sides exchanged `where` a group and side is marked.

        An end of a clip that lies past the anchor cuts into the tail of the other side.
        """
        return TailAtoms(
            *(np.where(where.reshape(where.shape + (1,) * (array.ndim - 2)), array[:, ::-1], array) for array in self)
        )

    def likeliest(self, number: int) -> TailAtoms:
        """The `number` likeliest atoms of each side, rescaled so that they stand for all."""
        best = np.argpartition(self.probability, -number, axis=-1)[..., -number:]
        probability = np.take_along_axis(self.probability, best, axis=-1)
        rescaled = (1 - self.empty) / np.maximum(probability.sum(axis=-1), _TINY)
        return TailAtoms(
            family=np.take_along_axis(self.family, best, axis=-1),
            log_scale=np.take_along_axis(self.log_scale, best, axis=-1),
            mass=np.take_along_axis(self.mass, best, axis=-1),
            probability=probability * rescaled[..., None],
            empty=self.empty,
            limit=self.limit,
        )

    def _beyond(self, distances: Floats) -> Beyond:
        """Weight and excess beyond distances, without regard to the limit."""
        steps = half_octaves(distances)[:, :, None] - self.log_scale[..., None]
        survival, integral = tails().at(self.family[..., None], steps)
        mass = self.mass[..., None]
        return Beyond(mass * survival, mass * 2 ** (self.log_scale[..., None] / 2) * integral)


def half_octaves(distances: Floats) -> Floats:
    """Distances in half octaves: ``2 log2(distance)``, with a tiny distance in place of 0."""
    return 2 * np.log2(np.maximum(distances, _TINY))


def stack_atoms(readings: Sequence[Reading], log_unit: Floats, limit: Floats) -> TailAtoms:
    """The atoms of all readings; `log_unit` is each group's unit, in half octaves from its histogram's first cell."""
    scale = np.array([reading.scale for reading in readings])
    return TailAtoms(
        family=np.array([reading.family for reading in readings]),
        log_scale=scale - log_unit[:, None, None],
        mass=np.array([reading.mass for reading in readings]),
        probability=np.array([reading.probability for reading in readings]),
        empty=np.array([reading.empty for reading in readings]),
        limit=limit,
    )
