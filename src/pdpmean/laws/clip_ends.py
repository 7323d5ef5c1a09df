"""Choice of the clipping bounds of each group from the reading of its histogram.

A wider clip needs more noise; a narrower one cuts more off the mean. `choose_clips` balances the two under the
posterior over tails, for both ends together. Ends are first found as *reaches*: distances from the anchor, in units of
the lower edge of the histogram's first cell.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from pdpmean.core.numbers import finite
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.laws.histogram import CELLS
from pdpmean.laws.reading import TOGETHER, Counted, Reading, closed_sides
from pdpmean.laws.tail_atoms import TailAtoms, stack_atoms
from pdpmean.laws.tails import FINE
from pdpmean.laws.two_point import Bools

__all__ = ["choose_clips", "should_span_bounds"]

# The cost of an end is the mean of this power of the squared error. In a mean square, tails that are improbable but
# huge would decide.
_POWER = 0.1

_DEVIATION = 0.7  # roughly: the standard deviation of a side over its scale
_TRIED = FINE // 2 * np.arange(-10, 40)  # ends that are tried: every quarter octave around the scale, in table points
_BEYOND_VISIBLE = 12  # half octaves: no end lies farther beyond the outermost visible cell
_LIKELIEST = 64  # atoms per side that enter the cost

# The clip is at two known bounds if the variance of the noise is then at most this many times that of sampling. More is
# allowed if they are not much wider than the clip would be.
_LITTLE_NOISE = 0.7
_SOME_NOISE = 6.0
_NOT_MUCH_WIDER = 2.5

_NARROWEST = 2.0**-38  # least width of a clip, relative to the size of its ends
_LEAST_WIDTH = 2.0**-1000  # least width of a clip in absolute terms

# The clip may leave the anchor outside if both hold:
_QUIET_CENTER = 4.0  # less weight than this at the anchor, in nats
_EMPTY = 0.8  # a larger probability than this that the other side is empty


@quietly
def choose_clips(
    readings: Sequence[Reading], summed: Sequence[Counted], bounds: tuple[float, float]
) -> list[tuple[float, float]]:
    """The clipping bounds (low, high) of each group: finite, within `bounds`, and low < high.

    `summed` has the weights behind the sums that will be clipped, relative to the noise scale of their mean.
    """
    closed = closed_sides([reading.anchor for reading in readings], bounds)
    clips: list[tuple[float, float]] = []
    for start in range(0, len(readings), TOGETHER):
        end = start + TOGETHER
        batch = readings[start:end]
        reaches = _reaches(batch, summed[start:end], _distances_to_bounds(batch, bounds), closed[start:end])
        clips += [
            _ends(reading, below, above, bounds)
            for reading, (below, above) in zip(batch, reaches.tolist(), strict=True)
        ]
    return clips


def should_span_bounds(
    reading: Reading, summed: Counted, clip: tuple[float, float], bounds: tuple[float, float]
) -> bool:
    """Whether to clip at the two known bounds instead: nothing need then be assumed of what the histogram hides.

    That is so if the noise is then small compared with the sampling error; or not too large, if the clip is not much
    narrower. `summed` is as in `choose_clips`.
    """
    width, narrower = (high / 2 - low / 2 for low, high in (bounds, clip))
    noise_variance = 2 * (_in_units(width, reading) / summed.nats) ** 2
    allowed = _SOME_NOISE if width <= _NOT_MUCH_WIDER * narrower else _LITTLE_NOISE
    return noise_variance <= allowed * _visible_variance(reading) / max(summed.people, 1.0)


def _visible_variance(reading: Reading) -> float:
    """The variance of the values up to the outermost visible cell of each side, in units of the first cell."""
    inside = np.where(np.arange(CELLS) < reading.visible[:, None], reading.cells, 0.0) / reading.nats
    distances = 2.0 ** ((np.arange(CELLS) + 0.5) / 2)  # in the middle of each cell
    mean = float((inside[1] - inside[0]) @ distances)
    return max(float((inside @ distances**2).sum()) - mean**2, 0.0)


def _distances_to_bounds(readings: Sequence[Reading], bounds: tuple[float, float]) -> Floats:
    """By group and side: the distance from the anchor to the bound, in units of the first cell."""
    low, high = bounds
    return np.array(
        [(_in_units(reading.anchor - low, reading), _in_units(high - reading.anchor, reading)) for reading in readings]
    )


def _in_units(distance: float, reading: Reading) -> float:
    """The distance in units of the first cell; 0 if it is negative."""
    return float(np.ldexp(max(distance, 0.0), -(reading.first // 2)))


def _reaches(readings: Sequence[Reading], summed: Sequence[Counted], limit: Floats, closed: Bools) -> Floats:
    """By group and side (below, above): the distance of that end from the anchor, in units of the first cell.

    A negative distance means that the end lies on the other side of the anchor.
    """
    atoms = stack_atoms(readings, np.zeros(len(readings)), limit).likeliest(_LIKELIEST)
    nats, people, _ = np.maximum(np.array(summed, dtype=np.float64), 1.0).T
    visible = np.array([reading.visible for reading in readings])
    at_least = np.minimum(np.where(visible > 0, 2 ** (visible / 2), 0.0), limit)
    is_empty = (atoms.empty > 0.5) & (visible == 0) | closed
    # No end before the outermost visible cell is tried; that cell's own end is, as the tail may be improbable.
    last_visible = FINE * visible.astype(np.int64)
    around = np.where(visible > 0, np.minimum(_mean_scales(atoms), visible), _mean_scales(atoms))
    tried = np.maximum(FINE * np.round(around).astype(np.int64)[..., None] + _TRIED, last_visible[..., None])
    ends = 2 ** (tried / (2 * FINE))
    without_noise = _squares_without_noise(atoms, people, atoms.excess_at(tried))
    if_empty = _squares_if_empty(atoms, people)
    reach = np.where(is_empty, 0.0, at_least)
    for _ in range(2):  # each end depends on the other, but only through the noise
        noise = 0.5 * ((ends + reach[:, ::-1, None]) / nats[:, None, None]) ** 2
        best = _cost(atoms, noise, without_noise, if_empty).argmin(axis=-1)[..., None]
        best_end = np.take_along_axis(ends, best, axis=-1)[..., 0]
        reach = np.where(is_empty, 0.0, np.maximum(best_end, at_least))
    outermost = visible.max(axis=1, keepdims=True)
    at_most = np.where(outermost > 0, 2 ** ((outermost + _BEYOND_VISIBLE) / 2), np.inf)
    return _past_anchor(readings, atoms, nats, people, np.minimum(np.minimum(reach, at_most), limit))


def _mean_scales(atoms: TailAtoms) -> Floats:
    """By group and side: the posterior mean of the log scale, in half octaves."""
    total = np.maximum(atoms.probability.sum(axis=-1), 1e-300)
    mean_scales: Floats = (atoms.probability * atoms.log_scale).sum(axis=-1) / total
    return mean_scales


def _squares_without_noise(atoms: TailAtoms, people: Floats, bias: Floats) -> Floats:
    """By group, side, atom and end: the squared error from sampling and from the bias of the clip."""
    return _squares_of_sampling(atoms, people)[..., None] + bias**2


def _squares_if_empty(atoms: TailAtoms, people: Floats) -> Floats:
    """By group and side: the squared error from sampling if this side is empty, so that only the other one varies."""
    by_side: Floats = (atoms.probability * _squares_of_sampling(atoms, people)).sum(axis=-1)
    return by_side[:, ::-1]


def _squares_of_sampling(atoms: TailAtoms, people: Floats) -> Floats:
    """By group, side and atom: the squared error from sampling."""
    squares: Floats = _DEVIATION**2 * 2**atoms.log_scale / people[:, None, None]
    return squares


def _cost(atoms: TailAtoms, noise: Floats, without_noise: Floats, if_empty: Floats) -> Floats:
    """By group, side and end: the posterior mean of ``squared_error ** _POWER``; `noise` is a variance.

    `without_noise` is the squared error besides noise under each atom, and `if_empty` the same on an empty side.
    """
    error = without_noise + noise[:, :, None]
    np.power(error, _POWER, out=error)
    if_occupied: Floats = (atoms.probability[:, :, None] @ error)[:, :, 0]
    return if_occupied + atoms.empty[..., None] * (if_empty[..., None] + noise) ** _POWER


def _past_anchor(readings: Sequence[Reading], atoms: TailAtoms, nats: Floats, people: Floats, reach: Floats) -> Floats:
    """The reaches, with an end moved past the anchor where only noise lies at the anchor and on that end's side."""
    innermost = np.array([reading.innermost for reading in readings])
    is_quiet = np.array([reading.center < _QUIET_CENTER for reading in readings])
    other_side_empty = ((atoms.empty > _EMPTY) & (reach == 0))[:, ::-1]
    may_move = other_side_empty & is_quiet[:, None] & (innermost > 0) & (2 ** (innermost / 2) < reach)
    if not may_move.any():
        return reach
    # Starts that are tried: the anchor itself, and quarter octaves up to the innermost visible cell.
    starts = np.where(may_move, 2 ** (innermost / 2), 1.0)[..., None] * np.append(0.0, 2 ** (-np.arange(9) / 4))
    noise = 0.5 * ((reach[..., None] - starts) / nats[:, None, None]) ** 2
    without_noise = _squares_without_noise(atoms, people, atoms.within(starts).excess)
    cost = _cost(atoms, noise, without_noise, _squares_if_empty(atoms, people))
    best = np.take_along_axis(starts, cost.argmin(axis=-1)[..., None], axis=-1)[..., 0]
    moved: Floats = np.where(may_move[:, ::-1], -best[:, ::-1], reach)
    return moved


def _ends(reading: Reading, below: float, above: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """The clipping bounds at these reaches: distinct, within `bounds`, and finite."""
    low = max(bounds[0], -sys.float_info.max)
    high = min(bounds[1], sys.float_info.max)
    anchor = min(max(finite(reading.anchor), low), high)
    start = min(max(_moved(anchor, -below, reading.first), low), high)
    end = min(max(_moved(anchor, above, reading.first), low), high)
    unit = float(np.ldexp(1.0, reading.first // 2))  # the histogram says nothing about smaller distances
    least = max(_NARROWEST * max(abs(start), abs(end)), unit, _LEAST_WIDTH)
    if end / 2 - start / 2 < least / 2:  # halves, since the width itself may overflow
        middle = start / 2 + end / 2
        start = max(finite(middle - least), low)
        end = min(finite(middle + least), high)
    return start, end


def _moved(anchor: float, distance: float, first: int) -> float:
    """The number at this distance from the anchor, in units of the first cell."""
    return finite(anchor + float(np.ldexp(distance, first // 2)))
