"""Posterior over the tails beyond a clip, given the histogram's reading and what far cells show.

Most of the tails considered are those that the histogram allows, and variations of them: with less or more weight,
falling faster or more slowly. The others are *free*, that is, independent of the histogram: each far cell holds the
same fraction of the one before, up to some last cell. They matter where levels of budgets differ: the histogram says
little about people with small budgets, whose tails may be quite different.

Far cells have the whole weight of the sum behind them, so they say much about which of these tails is likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.far_cells import FAR_EDGES, FAR_PLACE, Geometry
from pdpmean.laws.histogram import CELLS
from pdpmean.laws.reading import Reading
from pdpmean.laws.tail_atoms import Beyond, TailAtoms, stack_atoms
from pdpmean.laws.two_point import Bools

__all__ = ["MISFIT", "SEEN_CELLS", "FarTails", "in_nats", "learn_tails"]

SEEN_CELLS = 10
"""Far cells, from the innermost, that tell tails apart; under nearly all tails those farther out are empty."""

MISFIT = 0.25
"""The fraction by which the weight of a far cell may differ from what its tail predicts."""

_EDGES = FAR_EDGES[: SEEN_CELLS + 1]
_LIKELIEST = 12  # atoms of the histogram's posterior that are varied; the others hold some 2 % together
_MOST_AGAINST = 6.0  # nats: the most that a single far cell may say against a tail

# Variations of a tail. Columns of money and counts often fall like this power of the distance, after a bulk that falls
# faster.
_POWER = 2.5
_OCTAVES = np.arange(-2, 3)  # binary logarithm of how many times the weight a tail may hold
_SLOPE = 0.6  # octaves of weight per cell by which a tail may fall faster or more slowly

# Free tails: the weight of a cell over that of the one before, the number of cells, and the weight of the first cell
# in nats. That goes from the least to the most in `_STARTS` steps, or to more if some far cell holds more. With a ratio
# above a half and no last cell, the variance would be infinite.
_RATIOS = np.array([0.2, 0.35, 0.5, 0.65])
_LASTS = np.array([1, 2, 3, 4, 6, SEEN_CELLS])
_STARTS = 6
_LEAST_START = 0.25
_MOST_START = 8.0

# Between the clip and the first far cell, a free tail holds as much as one more cell would: the histogram shows that
# part better than the rest. This is how far those values exceed the clip on average, in half widths.
_MEAN_EXCESS_IN_GAP = 0.8

# A second population lies in the outermost visible octave if that holds, besides what noise may add, many times what
# the family leaves there.
_NOISE_OF_OCTAVE = 4.0  # nats
_MANY_TIMES = 4.0

# If a tail holds more than this many times what was read (`Reading.tail_factors`), levels differ.
_LEVELS_DIFFER = 1.15


@dataclass(frozen=True, eq=False)
class _Prior:
    """Prior probabilities of the variations of a tail; with those of free tails they add up to 1."""

    octave_odds: float
    """How many times less likely each further octave of weight, more or less than was read, is."""

    like_family: tuple[float, float, float]
    """Relative weights of tails that fall faster than their family, like it, and more slowly."""

    like_power: tuple[float, float]
    """Relative weights of tails that fall like a power of the distance, and more slowly."""

    free: float
    """Probability of all free tails together."""

    @property
    def variations(self) -> Floats:
        """Probabilities by shape and octave, in the order of `_variations`."""
        octaves = self.octave_odds ** -np.abs(_OCTAVES)
        shapes = np.array([*self.like_family, *self.like_power])
        chances: Floats = np.outer(shapes, octaves).ravel() * (1 - self.free) / (shapes.sum() * octaves.sum())
        return chances


_USUAL_PRIOR = _Prior(octave_odds=5.5, like_family=(0.06, 0.7, 0.04), like_power=(0.07, 0.01), free=0.015)
_PRIOR_IF_LEVELS_DIFFER = _Prior(octave_odds=2.5, like_family=(0.08, 0.6, 0.12), like_power=(0.14, 0.06), free=0.06)
# The family of the bulk says little about a second population: it may end at the visible edge, or continue beyond.
_PRIOR_OF_SECOND_POPULATION = _Prior(octave_odds=2.5, like_family=(0.02, 0.36, 0.02), like_power=(0.5, 0.1), free=0.015)


class _Tails(NamedTuple):
    """By group, side and tail: contributions to the mean of what lies beyond the clip, in half widths of the clip.

    The tail is the last axis of all arrays, since there are many more tails than far cells: NumPy is several times
    slower if the last axis is short.
    """

    gap: Floats
    """What clipping takes from values between the clip and the first far cell, which count as the clip's end."""

    cells: Floats
    """Also by far cell, before the tail: what its values add to the mean; the clipped sum counts them as the middle."""

    beyond: Floats
    """What values beyond the first `SEEN_CELLS` far cells add to the mean."""


class FarTails(NamedTuple):
    """The posterior: all tails considered, by group, side and tail, with their probabilities."""

    gap: Floats
    """This and the next two as in `_Tails`: contributions to the mean, in half widths."""

    cells: Floats
    beyond: Floats
    chances: Floats
    """Posterior probability; these and `empty` add up to 1."""

    empty: Floats
    """By group and side: the probability that nothing lies on that side."""

    expected: Floats
    """By group, side and far cell: the mean weight that tails leave there, in nats, as far cells count it."""


def learn_tails(readings: Sequence[Reading], geometry: Geometry, far: Floats, present: Floats) -> FarTails:
    """The posterior over what lies beyond the clip of each group.

    `far` is the released content of the far cells, and `present` the weight behind them, both in nats.
    """
    anchor_outside = geometry.ends < 0
    all_atoms = stack_atoms(readings, geometry.log_unit, geometry.limit)
    atoms = all_atoms.likeliest(_LIKELIEST).from_other_side(anchor_outside)
    seen = _seen_up_to(readings, geometry)
    seconds = _second_populations(readings, atoms, seen)
    varied = _variations(atoms, geometry, seen, seconds)
    starts = _starts(far)
    free = _free_tails(starts, geometry, present)
    tails = _Tails(*(np.concatenate(pair, axis=-1) for pair in zip(varied, free, strict=True)))
    factors = np.array([reading.tail_factors for reading in readings])
    levels_differ = np.where(anchor_outside, factors[:, ::-1], factors) > _LEVELS_DIFFER
    prior_of_varied = _prior_of_varied(atoms, levels_differ, seconds > 0)
    prior = np.concatenate([prior_of_varied, _prior_of_free(atoms, levels_differ, starts)], axis=2)
    nats = in_nats(tails.cells, present)
    chances, empty = _posterior(prior, atoms.empty, nats, far)
    expected = np.zeros_like(far)
    expected[..., :SEEN_CELLS] = (nats @ chances[..., None])[..., 0]
    return FarTails(*tails, chances, empty, expected)


def in_nats(cells: Floats, present: Floats) -> Floats:
    """The nats that far cells would show if they added this much to the mean, by group, side, cell and tail."""
    return cells * (present[:, None] / _EDGES[1:])[:, None, :, None]


def _seen_up_to(readings: Sequence[Reading], geometry: Geometry) -> Floats:
    """By group and side: the distance, within the clip, up to which the histogram shows how a tail falls."""
    visible = np.array([reading.visible for reading in readings])
    distances = np.where(visible > 0, 2 ** ((visible - geometry.log_unit[:, None]) / 2), 0.0)
    return np.minimum(distances, np.maximum(geometry.ends, 0.0))


def _second_populations(readings: Sequence[Reading], atoms: TailAtoms, seen: Floats) -> Floats:
    """By group, side and atom: the weight in the outermost visible octave, if a second population must lie there.

    It must if the octave holds many times what the tail's family leaves there; otherwise 0.
    """
    cell = np.arange(CELLS)
    cells = np.array([reading.cells for reading in readings])
    visible = np.array([reading.visible for reading in readings])[..., None]
    present = np.array([max(reading.nats - reading.missing, 1.0) for reading in readings])
    outermost = np.where((cell < visible) & (cell >= visible - 2), cells, 0.0).sum(axis=-1)
    weight = np.maximum(outermost - _NOISE_OF_OCTAVE, 0.0)[..., None] / present[:, None, None]
    is_second = (weight > _MANY_TIMES * atoms.in_octave_before(seen)) & (seen > 0)[..., None]
    return np.where(is_second, weight, 0.0)


def _variations(atoms: TailAtoms, geometry: Geometry, seen: Floats, seconds: Floats) -> _Tails:
    """The histogram's tails in all variations.

    Five shapes (faster than the family, like it, more slowly; like a power, more slowly), each with various weights.
    """
    distances = geometry.ends[..., None] + np.append(0.0, _EDGES - 1)
    family = atoms.beyond(np.maximum(distances, 0))
    power = atoms.beyond_like_a_power(seen, seconds, np.maximum(distances, 0), _POWER)
    anchor_outside = (geometry.ends < 0)[..., None, None]
    if anchor_outside.any():
        nearer = atoms.within(-distances)
        family = Beyond(*(np.where(anchor_outside, inner, outer) for inner, outer in zip(nearer, family, strict=True)))
        power = Beyond(*(np.where(anchor_outside, 0.0, outer) for outer in power))
    shapes = [*(_sloped(_beyond_clip(family), slope) for slope in (-_SLOPE, 0.0, _SLOPE))]
    shapes += [_sloped(_beyond_clip(power), slope) for slope in (0.0, _SLOPE)]
    return _Tails(*(_in_all_octaves(np.stack(parts, axis=-2)) for parts in zip(*shapes, strict=True)))


def _in_all_octaves(shapes: Floats) -> Floats:
    """All tails along the last axis, from their shapes and atoms along the last two: each with less and more weight."""
    octaves: Floats = shapes[..., None, :] * (2.0**_OCTAVES)[:, None]
    return octaves.reshape(*shapes.shape[:-2], -1)


def _sloped(tails: _Tails, slope: float) -> _Tails:
    """The tails with ``2**slope`` times the content in the first far cell, ``4**slope`` times in the second, etc."""
    return tails._replace(cells=tails.cells * 2.0 ** (slope * np.arange(1, SEEN_CELLS + 1))[:, None])


def _beyond_clip(tail: Beyond) -> _Tails:
    """Contributions to the mean, from the weight and the excess beyond the clip (first) and beyond each edge."""
    weight, excess = (np.swapaxes(each, -1, -2) for each in tail)
    moment = excess[..., 1:, :] + weight[..., 1:, :] * _EDGES[:, None]
    return _Tails(
        gap=np.maximum(excess[..., 0, :] - excess[..., 1, :] - weight[..., 1, :] * (_EDGES[0] - 1), 0),
        cells=np.maximum(moment[..., :-1, :] - moment[..., 1:, :], 0),
        beyond=moment[..., -1, :],
    )


def _starts(far: Floats) -> Floats:
    """By group, side and number: the nats in the first far cell of a free tail, in geometric steps."""
    most = np.maximum(2 * far[..., :SEEN_CELLS].max(axis=-1), _MOST_START)
    starts: Floats = _LEAST_START * (most[..., None] / _LEAST_START) ** np.linspace(0, 1, _STARTS)
    return starts


def _free_tails(starts: Floats, geometry: Geometry, present: Floats) -> _Tails:
    """All free tails, by start, ratio and last cell; empty where no values can lie."""
    cell = np.arange(SEEN_CELLS)[:, None, None]
    shape = _RATIOS[:, None] ** cell * (cell < _LASTS)
    nats = (starts[:, :, None, :, None, None] * shape[:, None]).reshape(*starts.shape[:2], SEEN_CELLS, -1)
    nats *= _can_hold_values(geometry)[..., None]
    in_gap = np.repeat(np.tile(1 / _RATIOS, _STARTS), _LASTS.size) * nats[:, :, 0]
    weight = present[:, None, None]
    return _Tails(
        gap=_MEAN_EXCESS_IN_GAP * in_gap / FAR_PLACE / weight,
        cells=nats * (_EDGES[1:] / present[:, None])[:, None, :, None],
        beyond=np.zeros_like(in_gap),
    )


def _can_hold_values(geometry: Geometry) -> Bools:
    """By group, side and far cell: whether the cell begins within the bounds, and the clip contains the anchor."""
    begins = geometry.ends[..., None] + _EDGES[:-1] - 1
    return (geometry.ends >= 0)[..., None] & (begins < geometry.limit[..., None])


def _prior_of_varied(atoms: TailAtoms, levels_differ: Bools, is_second: Bools) -> Floats:
    """By group, side and varied tail: the probability of the variation times that of the atom."""
    variations = np.where(levels_differ[..., None], _PRIOR_IF_LEVELS_DIFFER.variations, _USUAL_PRIOR.variations)
    of_second = _PRIOR_OF_SECOND_POPULATION.variations[:, None]
    prior = np.where(is_second[:, :, None], of_second, variations[..., None]) * atoms.probability[:, :, None]
    return prior.reshape(*prior.shape[:2], -1)


def _prior_of_free(atoms: TailAtoms, levels_differ: Bools, starts: Floats) -> Floats:
    """By group, side and free tail: in inverse proportion to its start, as a clip is chosen to leave little beyond."""
    free = np.where(levels_differ, _PRIOR_IF_LEVELS_DIFFER.free, _USUAL_PRIOR.free) * (1 - atoms.empty)
    by_start = free[..., None] / starts / (1 / starts).sum(axis=-1, keepdims=True)
    tails_per_start = _RATIOS.size * _LASTS.size
    return np.repeat(by_start / tails_per_start, tails_per_start, axis=-1)


def _posterior(prior: Floats, prior_empty: Floats, nats: Floats, far: Floats) -> tuple[Floats, Floats]:
    """Posterior probabilities of the tails and of an empty side, given the far cells.

    `nats` is what each tail predicts for the cells. The likelihood is Laplace, wider where a tail predicts more. The
    largest arrays are changed in place, which is faster.
    """
    released = far[..., :SEEN_CELLS, None]
    scale = MISFIT * nats
    scale += 1
    against = released - nats  # the negative log density, by cell and tail
    np.abs(against, out=against)
    against /= scale
    np.minimum(against, np.abs(released) + _MOST_AGAINST, out=against)
    against += np.log(scale, out=scale)
    log_ratio = np.abs(released).sum(axis=-2) - against.sum(axis=-2)  # over that of an empty side
    top = np.maximum(log_ratio.max(axis=-1), 0)
    weight = prior * np.exp(log_ratio - top[..., None])
    empty = prior_empty * np.exp(-top)
    total = np.maximum(weight.sum(axis=-1) + empty, 1e-300)
    return weight / total[..., None], empty / total
