"""The tails that may lie beyond a clip, weighed by what far cells have seen of them with all the weight of the sum.

Most are those that the histogram allows, and variations of these: with less or more, falling faster or more slowly.
Some are free of it: they fall by the same part from cell to cell and may end anywhere. The histogram says little of
those whose budgets are small, so that where levels differ the tails may be rather others than it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.far_cells import FAR_EDGES, FAR_PLACE, Geometry
from pdpmean.laws.reading import Reading
from pdpmean.laws.tail_atoms import Beyond, TailAtoms, stack_atoms
from pdpmean.laws.two_point import Bools

__all__ = ["MISFIT", "SEEN_CELLS", "FarTails", "in_nats", "learn_tails"]

SEEN_CELLS = 10
"""Far cells that tell tails apart: those farther out are empty in nearly all of them."""

MISFIT = 0.25
"""The part by which a cell may hold more or less than its tail says."""

_EDGES = FAR_EDGES[: SEEN_CELLS + 1]
_LIKELIEST = 12  # tails of the histogram; the others have next to no chance together
_WORST = 6.0  # nats that a single far cell may say against a tail
_POWER = 2.5  # of the distance that tails of money and of counts often fall like, after a bulk that falls faster
_OCTAVES = np.arange(-2, 3)  # of the weight, that a tail may hold less or more
_SLOPE = 0.6  # octaves of the weight per cell, by which it may fall faster or more slowly

_RATIOS = np.array([0.2, 0.4, 0.6, 0.8])  # free tails: what a cell holds over what the one before does,
_LASTS = np.array([1, 2, 3, 4, 6, SEEN_CELLS])  # and how many cells there are
_STARTS, _LEAST_START, _MOST_START = 6, 0.25, 8.0  # and what the first may hold, in nats; more if some cell does
_IN_GAP = 0.2  # half widths that values between the clip and the first far cell lie beyond the clip, on average
_DIFFER = 1.15  # as many times as much in a tail as was read: levels differ


@dataclass(frozen=True, eq=False)
class _Prior:
    """The chances of all variations of a tail, in their order; they and those of free tails add up to 1."""

    steadily: float
    """Less or more by an octave is so many times less likely."""
    like_family: tuple[float, float, float]
    """Faster, as it falls, and more slowly."""
    like_power: tuple[float, float]
    """As it falls, and more slowly."""
    free: float

    @property
    def variations(self) -> Floats:
        """By shape and octave."""
        octaves = self.steadily ** -np.abs(_OCTAVES)
        shapes = np.array([*self.like_family, *self.like_power])
        chances: Floats = np.outer(shapes, octaves).ravel() * (1 - self.free) / (shapes.sum() * octaves.sum())
        return chances


_AS_READ = _Prior(steadily=3.0, like_family=(0.06, 0.7, 0.09), like_power=(0.12, 0.03), free=0.04)
_IF_LEVELS_DIFFER = _Prior(steadily=2.5, like_family=(0.08, 0.6, 0.12), like_power=(0.14, 0.06), free=0.06)


class _Tails(NamedTuple):
    """By group, side and tail: what lies beyond the clip, as parts of the mean, in half widths."""

    gap: Floats
    """What is lost of values just beyond the clip, which count as its end."""

    cells: Floats
    """What values in far cells add, by cell: they count as the middle otherwise."""

    beyond: Floats
    """What lies beyond these cells."""


class FarTails(NamedTuple):
    """All tails that are thought of, with their chances."""

    gap: Floats
    cells: Floats
    beyond: Floats
    chances: Floats
    """They and `empty` add up to 1."""

    empty: Floats
    expected: Floats
    """By group, side and far cell: what tails leave there on average, in nats, as far cells count it."""


def learn_tails(readings: Sequence[Reading], geometry: Geometry, far: Floats, present: Floats) -> FarTails:
    """What may lie beyond the clip of each group, of which far cells and the weight that is present are known."""
    raised = geometry.ends < 0
    atoms = stack_atoms(readings, geometry.log_unit, geometry.limit).likeliest(_LIKELIEST).from_other_side(raised)
    read = _variations(atoms, geometry, _seen_up_to(readings, geometry))
    starts = _starts(far)
    free = _free_tails(starts, geometry, present)
    tails = _Tails(*(np.concatenate(pair, axis=2) for pair in zip(read, free, strict=True)))
    factors = np.array([reading.tail_factors for reading in readings])
    differ = np.where(raised, factors[:, ::-1], factors) > _DIFFER
    before = np.concatenate([_prior_of_read(atoms, differ), _prior_of_free(atoms, differ, starts)], axis=2)
    nats = in_nats(tails.cells, present)
    chances, empty = _learn(before, atoms.empty, nats, far)
    expected = np.zeros_like(far)
    expected[..., :SEEN_CELLS] = (chances[..., None, :] @ nats)[..., 0, :]
    return FarTails(*tails, chances, empty, expected)


def in_nats(cells: Floats, present: Floats) -> Floats:
    """What far cells would show of what they add to the mean, by group first and cell last."""
    return present.reshape(-1, 1, 1, 1) * cells / _EDGES[1:]


def _seen_up_to(readings: Sequence[Reading], geometry: Geometry) -> Floats:
    """By group and side: the distance up to which the histogram shows how a tail falls, within the clip."""
    visible = np.array([reading.visible for reading in readings])
    distances = np.where(visible > 0, 2 ** ((visible - geometry.log_unit[:, None]) / 2), 0.0)
    return np.minimum(distances, np.maximum(geometry.ends, 0.0))


def _variations(atoms: TailAtoms, geometry: Geometry, seen: Floats) -> _Tails:
    """The tails of the histogram: as their family falls, faster, more slowly, and like a power; with less or more."""
    distances = geometry.ends[..., None] + np.append(0.0, _EDGES - 1)
    family = atoms.beyond(np.maximum(distances, 0))
    power = atoms.beyond_like_a_power(seen, np.maximum(distances, 0), _POWER)
    raised = (geometry.ends < 0)[..., None, None]
    if raised.any():
        nearer = atoms.within(-distances)
        family = Beyond(*(np.where(raised, inner, outer) for inner, outer in zip(nearer, family, strict=True)))
        power = Beyond(*(np.where(raised, 0.0, outer) for outer in power))
    shapes = [*(_sloped(_beyond_clip(family), slope) for slope in (-_SLOPE, 0.0, _SLOPE))]
    shapes += [_sloped(_beyond_clip(power), slope) for slope in (0.0, _SLOPE)]
    return _Tails(
        *(
            np.concatenate([factor * part for part in parts for factor in 2.0**_OCTAVES], axis=2)
            for parts in zip(*shapes, strict=True)
        )
    )


def _sloped(tails: _Tails, slope: float) -> _Tails:
    """The same if cells hold more by so many octaves, each more than the one before it."""
    return tails._replace(cells=tails.cells * 2.0 ** (slope * np.arange(1, SEEN_CELLS + 1)))


def _beyond_clip(tail: Beyond) -> _Tails:
    """The parts of a tail, of which all is known beyond the clip and beyond each edge."""
    weight, excess = tail
    moment = excess[..., 1:] + weight[..., 1:] * _EDGES
    return _Tails(
        gap=np.maximum(excess[..., 0] - excess[..., 1] - weight[..., 1] * (_EDGES[0] - 1), 0),
        cells=np.maximum(moment[..., :-1] - moment[..., 1:], 0),
        beyond=moment[..., -1],
    )


def _starts(far: Floats) -> Floats:
    """By group, side and number: what the first far cell of a free tail holds, in nats."""
    most = np.maximum(2 * far[..., :SEEN_CELLS].max(axis=-1), _MOST_START)
    starts: Floats = _LEAST_START * (most[..., None] / _LEAST_START) ** np.linspace(0, 1, _STARTS)
    return starts


def _free_tails(starts: Floats, geometry: Geometry, present: Floats) -> _Tails:
    """Tails that fall by the same part from cell to cell and end somewhere: wherever values can be far at all."""
    cell = np.arange(SEEN_CELLS)
    shape = _RATIOS[:, None, None] ** cell * (cell < _LASTS[:, None])
    nats = (starts[..., None, None, None] * shape).reshape(*starts.shape[:2], -1, SEEN_CELLS)
    nats *= _can_hold(geometry)[:, :, None]
    first = np.repeat(np.tile(1 / _RATIOS, _STARTS), _LASTS.size) * nats[..., 0]
    weight = present[:, None, None]
    return _Tails(
        gap=_IN_GAP * first / FAR_PLACE / weight,
        cells=nats * _EDGES[1:] / weight[..., None],
        beyond=np.zeros_like(first),
    )


def _can_hold(geometry: Geometry) -> Bools:
    """By group, side and far cell: whether values can lie there, within the bounds and beyond the anchor."""
    begins = geometry.ends[..., None] + _EDGES[:-1] - 1
    return (geometry.ends >= 0)[..., None] & (begins < geometry.limit[..., None])


def _prior_of_read(atoms: TailAtoms, differ: Bools) -> Floats:
    variations = np.where(differ[..., None], _IF_LEVELS_DIFFER.variations, _AS_READ.variations)
    prior = variations[..., None] * atoms.weight[:, :, None]
    return prior.reshape(*prior.shape[:2], -1)


def _prior_of_free(atoms: TailAtoms, differ: Bools, starts: Floats) -> Floats:
    """In inverse proportion to what they hold: a clip is chosen so that little lies beyond."""
    free = np.where(differ, _IF_LEVELS_DIFFER.free, _AS_READ.free) * (1 - atoms.empty)
    each = free[..., None] / starts / (1 / starts).sum(axis=-1, keepdims=True)
    alike = _RATIOS.size * _LASTS.size
    return np.repeat(each / alike, alike, axis=-1)


def _learn(before: Floats, empty: Floats, nats: Floats, far: Floats) -> tuple[Floats, Floats]:
    """Chances of tails, and of nothing, given far cells and what they had beforehand."""
    found = far[:, :, None, :SEEN_CELLS]
    inexact = 1 + MISFIT * nats
    fits = np.maximum(-np.abs(found - nats) / inexact, -np.abs(found) - _WORST) - np.log(inexact)
    log = fits.sum(axis=-1) + np.abs(found).sum(axis=-1)
    top = np.maximum(log.max(axis=-1), 0)
    weight = before * np.exp(log - top[..., None])
    nothing = empty * np.exp(-top)
    total = np.maximum(weight.sum(axis=-1) + nothing, 1e-300)
    return weight / total[..., None], nothing / total
