"""Where to clip: noise grows with the width, and what is cut off the mean falls."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from pdpmean.core.numbers import finite
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.laws.reading import TOGETHER, Counted, Reading, closed_sides
from pdpmean.laws.tail_atoms import TailAtoms, stack_atoms
from pdpmean.laws.tails import FINE
from pdpmean.laws.two_point import Bools

__all__ = ["choose_clips"]

_POWER = 0.15  # of the squared error: what is hardly likely and huge shall not decide, as it would in a mean square
_DEVIATION = 0.7  # a side's standard deviation over its scale, roughly
_TRIED = FINE // 2 * np.arange(-10, 40)  # ends, every quarter octave from the scale, in points of the tables
_BEYOND_VISIBLE = 12  # half octaves: no tail that is thought of asks for an end farther beyond what is visible
_LIKELIEST = 64  # atoms that decide
_VARIANCE_SEEN = 25.0  # nats per squared half width: beyond, noise hides the variance itself
_NEXT_TO_NOTHING = 0.25  # noise over sampling, both standard deviations: together they are 3 % more than sampling alone
_NARROWEST = 2.0**-38  # of a clip, over the size of its ends
_LEAST_WIDTH = 2.0**-1000
_QUIET_CENTER = 4.0  # nats at the anchor; with less the clip may begin beyond it
_EMPTY = 0.8  # chance of an empty side, above which the clip may begin beyond the anchor


@quietly
def choose_clips(
    readings: Sequence[Reading],
    summed: Sequence[Counted],
    bounds: tuple[float, float],
    tail_factors: Sequence[float] | None = None,
) -> list[tuple[float, float]]:
    """Finite ends of each clip, within the bounds, the lower one below the upper one.

    The tails of each group may hold as many times as much as was read.
    """
    if tail_factors is not None:
        readings = [
            reading.with_tails((factor, factor)) for reading, factor in zip(readings, tail_factors, strict=True)
        ]
    closed = closed_sides([reading.anchor for reading in readings], bounds)
    clips: list[tuple[float, float]] = []
    for start in range(0, len(readings), TOGETHER):
        end = start + TOGETHER
        some = readings[start:end]
        reaches = _reaches(some, summed[start:end], _limits(some, bounds), closed[start:end])
        clips += [
            _ends(reading, below, above, bounds) for reading, (below, above) in zip(some, reaches.tolist(), strict=True)
        ]
    return clips


def _limits(readings: Sequence[Reading], bounds: tuple[float, float]) -> Floats:
    """Distances from the anchors to the bounds, in units of the first cell."""
    low, high = bounds
    return np.array([(_in_cells(read.anchor - low, read), _in_cells(high - read.anchor, read)) for read in readings])


def _in_cells(distance: float, reading: Reading) -> float:
    """In units of the first cell."""
    return float(np.ldexp(max(distance, 0.0), -(reading.first // 2)))


def _reaches(readings: Sequence[Reading], summed: Sequence[Counted], limit: Floats, closed: Bools) -> Floats:
    """Distances of both ends from the anchor, in units of the first cell: below, above; negative beyond the anchor."""
    atoms = stack_atoms(readings, np.zeros(len(readings)), limit).likeliest(_LIKELIEST)
    nats, people, _ = np.maximum(np.array(summed, dtype=np.float64), 1.0).T
    visible = np.array([reading.visible for reading in readings])
    at_least = np.minimum(np.where(visible > 0, 2 ** (visible / 2), 0.0), limit)
    nobody = (atoms.empty > 0.5) & (visible == 0) | closed
    tried = FINE * np.round(_middles(atoms)).astype(np.int64)[..., None] + _TRIED
    ends = 2 ** (tried / (2 * FINE))
    expected = _squares_without_noise(atoms, people, atoms.excess_at(tried))
    reach = np.where(nobody, 0.0, at_least)
    for _ in range(2):  # each end depends on the other by the noise alone
        noise = 0.5 * ((ends + reach[:, ::-1, None]) / nats[:, None, None]) ** 2
        best = _cost(atoms, noise, expected).argmin(axis=-1)[..., None]
        outer = np.take_along_axis(ends, best, axis=-1)[..., 0]
        reach = np.where(nobody, 0.0, np.maximum(outer, at_least))
    reach = reach * _room_to_spare(atoms, ~nobody, nats, people, reach)
    outermost = visible.max(axis=1, keepdims=True)
    at_most = np.where(outermost > 0, 2 ** ((outermost + _BEYOND_VISIBLE) / 2), np.inf)
    return _raised(readings, atoms, nats, people, np.minimum(np.minimum(reach, at_most), limit))


def _room_to_spare(atoms: TailAtoms, held: Bools, nats: Floats, people: Floats, reach: Floats) -> Floats:
    """How many times wider a clip may be at next to no cost: what lies beyond is never quite as it was thought.

    Only sides on which something is held say how far values vary.
    """
    variance = np.where(held, (atoms.weight * atoms.mass * 2**atoms.log_scale).sum(axis=2), 0.0).sum(axis=1)
    cheap = _NEXT_TO_NOTHING * np.sqrt(2 * variance / people) * nats
    widest = np.minimum(cheap, np.sqrt(variance * nats / _VARIANCE_SEEN))
    total = reach.sum(axis=1)
    factor: Floats = np.where(total > 0, np.maximum(widest / np.maximum(total, 1e-300), 1.0), 1.0)
    return factor[:, None]


def _middles(atoms: TailAtoms) -> Floats:
    """The mean scale of each side, in half octaves."""
    total = np.maximum(atoms.weight.sum(axis=-1), 1e-300)
    middles: Floats = (atoms.weight * atoms.log_scale).sum(axis=-1) / total
    return middles


def _squares_without_noise(atoms: TailAtoms, people: Floats, lost: Floats) -> Floats:
    """By group, side, atom and end: the squared error due to sampling and to what is lost."""
    sampling = _DEVIATION**2 * 2**atoms.log_scale / people[:, None, None]
    return sampling[..., None] + lost**2


def _cost(atoms: TailAtoms, noise: Floats, without_noise: Floats) -> Floats:
    """The mean of a power of the squared error, by group, side and end."""
    error = without_noise + noise[:, :, None]
    np.power(error, _POWER, out=error)
    cost: Floats = (atoms.weight[:, :, None] @ error)[:, :, 0]
    return cost


def _raised(readings: Sequence[Reading], atoms: TailAtoms, nats: Floats, people: Floats, reach: Floats) -> Floats:
    """The clip may begin beyond the anchor where nothing but noise lies at it and on its other side."""
    innermost = np.array([reading.innermost for reading in readings])
    quiet = np.array([reading.center < _QUIET_CENTER for reading in readings])
    others_empty = ((atoms.empty > _EMPTY) & (reach == 0))[:, ::-1]
    may_rise = others_empty & quiet[:, None] & (innermost > 0) & (2 ** (innermost / 2) < reach)
    if not may_rise.any():
        return reach
    starts = np.where(may_rise, 2 ** (innermost / 2), 1.0)[..., None] * np.append(0.0, 2 ** (-np.arange(9) / 4))
    noise = 0.5 * ((reach[..., None] - starts) / nats[:, None, None]) ** 2
    cost = _cost(atoms, noise, _squares_without_noise(atoms, people, atoms.within(starts).excess))
    best = np.take_along_axis(starts, cost.argmin(axis=-1)[..., None], axis=-1)[..., 0]
    raised: Floats = np.where(may_rise[:, ::-1], -best[:, ::-1], reach)
    return raised


def _ends(reading: Reading, below: float, above: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """The ends themselves: apart from each other, within the bounds, and finite."""
    low, high = (max(bounds[0], -sys.float_info.max), min(bounds[1], sys.float_info.max))
    anchor = min(max(finite(reading.anchor), low), high)
    start = min(max(_moved(anchor, -below, reading.first), low), high)
    end = min(max(_moved(anchor, above, reading.first), low), high)
    unit = float(np.ldexp(1.0, reading.first // 2))  # nearer to the anchor nothing is known
    least = max(_NARROWEST * max(abs(start), abs(end)), unit, _LEAST_WIDTH)
    if end / 2 - start / 2 < least / 2:
        middle = start / 2 + end / 2
        start, end = max(finite(middle - least), low), min(finite(middle + least), high)
    return start, end


def _moved(anchor: float, cells: float, first: int) -> float:
    """So many units of the first cell from the anchor."""
    return finite(anchor + float(np.ldexp(cells, first // 2)))
