"""The mean of a column of any shape: what was summed, what far cells have seen, and what tails may add."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from pdpmean.core.numbers import finite
from pdpmean.core.quiet import quietly
from pdpmean.core.threads import in_threads
from pdpmean.core.types import Floats
from pdpmean.laws.cut_off import Cut, cut_off
from pdpmean.laws.far_cells import FAR_CELLS, Geometry, reality
from pdpmean.laws.far_sums import PrivateTotal, PublicTotal, Sums, stack_far, stack_sums, weights_behind_far
from pdpmean.laws.far_tails import learn_tails
from pdpmean.laws.grid_law import GridLaw
from pdpmean.laws.mean_law import CHANCES, ErrorGrid, Transform
from pdpmean.laws.reading import TOGETHER, Counted, Reading
from pdpmean.laws.tail_fit import Ints
from pdpmean.laws.two_point import Bools

__all__ = ["FAR_CELLS", "FarMean", "PrivateTotal", "PublicTotal", "conclude_means"]

_LEAST_VARIANCE = 2.0  # of z, over the weight in nats: about what its noise is
_SLACK = 1.1  # the variance is itself seen through noise, and the sum of skewed values is not quite normal
_SEEN = 8.2  # nats: a separate population that is seen in a far cell more often than not
_UNLIKELY = 0.02  # a far cell that holds something with a smaller chance is taken for empty
_NOISE_OF_WEIGHT = 3.5  # nats: standard deviation of the sum of three sums, the missing weight and some far cells
_MANY_FAR = 0.15  # of the weight in far cells: the histogram had not shown them
_NOISE_OF_TWO = 12.0  # nats that two noisy sums exceed what is possible by once in 10^5 times
_RARELY = 5.0  # standard deviations that two releases of one number may differ by


@dataclass(frozen=True, eq=False)
class FarMean:
    """What the released numbers say of a column."""

    mean: float
    law: GridLaw
    """Where the true mean lies."""

    scale: float
    """The population's standard deviation."""

    missing: float
    """As a share of the weight."""

    smallest_visible: float
    """Share of the weight that a separate, far population needs in order to be seen."""

    contradictions: tuple[str, ...]
    """Codes: why the released numbers are no answer, if they are none."""


@quietly
def conclude_means(
    readings: Sequence[Reading],
    clips: Sequence[tuple[float, float]],
    sums: Sequence[PublicTotal | PrivateTotal],
    summed: Sequence[Counted],
    bounds: tuple[float, float],
) -> list[FarMean]:
    """The mean of each group."""

    def some_of_them(some: slice) -> list[FarMean]:
        far = stack_far(sums[some], clips[some], bounds)
        behind = weights_behind_far(sums[some], summed[some])
        geometry = Geometry.of(readings[some], clips[some], bounds)
        tails = learn_tails(readings[some], geometry, far, behind)
        real = reality(readings[some], geometry, far, behind, tails.expected)
        stacked = stack_sums(sums[some], summed[some], readings[some], far, real)
        return list(_conclude(readings[some], clips[some], stacked, cut_off(tails, stacked), bounds))

    portions = [slice(start, start + TOGETHER) for start in range(0, len(readings), TOGETHER)]
    return list(chain.from_iterable(in_threads(some_of_them, portions)))


class _Parts(NamedTuple):
    """The parts of the error, in half widths of the clip."""

    start: Floats
    """The mean of what was summed, from the middle of the clip."""

    noise: Floats
    sampling: Floats
    """A variance."""

    cut: Cut
    wrong_weight: Floats
    """How the mean moves by a nat of missing weight."""


def _conclude(
    readings: Sequence[Reading], clips: Sequence[tuple[float, float]], sums: Sums, cut: Cut, bounds: tuple[float, float]
) -> Iterator[FarMean]:
    present = sums.present
    values = np.clip(sums.values / present, -1.0, 1.0)
    variance = _variances(sums)
    start = values + cut.measured
    parts = _Parts(
        start=start,
        noise=sums.noise / present[:, None],
        sampling=variance / sums.people,
        cut=cut,
        wrong_weight=start / present if sums.is_public else np.zeros_like(start),
    )
    middle, points = _law(parts, sums)
    noise = 2 * (parts.noise**2).sum(axis=1) + cut.noise_variance + _variance_of_missing(parts, sums)
    sampling = _SLACK * parts.sampling + cut.sampling_variance
    low, high = np.array(clips).T / 2
    half = high - low
    means = _placed(low + high, half, middle[:, None], bounds)[:, 0]
    points = _placed(low + high, half, points, bounds)
    columns = (
        means,
        half * np.sqrt(noise),
        half * np.sqrt(sampling),
        half * np.sqrt(variance + cut.second_moment),
        sums.missing.means / sums.total,
        np.minimum(_SEEN / present, 1.0),
    )
    for number, reading in enumerate(readings):
        mean, noise_std, sampling_std, scale, missing, smallest = (float(each[number]) for each in columns)
        yield FarMean(
            mean=mean,
            law=GridLaw(points[number], CHANCES, CHANCES, mean, finite(noise_std), finite(sampling_std)).with_tails(),
            scale=finite(scale),
            missing=missing,
            smallest_visible=smallest,
            contradictions=_contradictions(reading, sums, number),
        )


def _placed(origin: Floats, half: Floats, places: Floats, bounds: tuple[float, float]) -> Floats:
    """By group, from half widths to numbers, within the bounds and finite."""
    largest = np.finfo(np.float64).max
    numbers = origin[:, None] + half[:, None] * places
    numbers = np.where(np.isnan(numbers), origin[:, None], numbers)
    return np.clip(numbers, max(bounds[0], -largest), min(bounds[1], largest))


def _variance_of_missing(parts: _Parts, sums: Sums) -> Floats:
    """Of the mean, by how much weight is missing, of which noise leaves some doubt."""
    off = sums.missing.places - sums.missing.means[:, None]
    variance: Floats = parts.wrong_weight**2 * (sums.missing.chances * off**2).sum(axis=1)
    return variance


def _variances(sums: Sums) -> Floats:
    """Of z inside the clip, at least about what its noise is."""
    mean = np.clip(sums.values / sums.inside, -1.0, 1.0)
    square = 1 - sums.spread / sums.inside
    return np.clip(square - mean**2, np.minimum(_LEAST_VARIANCE / sums.inside, 1.0), 1.0)


def _law(parts: _Parts, sums: Sums) -> tuple[Floats, Floats]:
    """The estimate, and the law's points at `CHANCES`."""
    cut = parts.cut
    gone = sums.missing.places - sums.missing.means[:, None]
    off = parts.wrong_weight[:, None] * gone
    normal = _SLACK * parts.sampling + cut.tail_noise + cut.tail_sampling
    reach = 11 * parts.noise.sum(axis=1) + 7 * np.sqrt(normal) + cut.lost.max(axis=(1, 2)) + np.abs(off).max(axis=1)
    spans = np.abs(cut.values) + 9 * cut.far_noise
    grid = ErrorGrid(reach + np.where(cut.is_measured, spans, 0.0).sum(axis=(1, 2)))
    transform = grid.normal(normal) * grid.discrete(off, sums.missing.chances)
    for scale in parts.noise.T:
        transform = transform * grid.laplace(scale)
    transform = transform * np.conj(grid.discrete(cut.lost[:, 0], cut.chances[:, 0]))
    transform = transform * grid.discrete(cut.lost[:, 1], cut.chances[:, 1])
    estimate = grid.best(transform)
    measured = np.nonzero(cut.is_measured)
    np.multiply.at(transform, measured[0], _measured_errors(cut, grid.of(measured[0]), measured))
    points = grid.quantiles(transform, CHANCES)
    maybe = (cut.real > _UNLIKELY) & ~cut.is_measured
    for group in np.flatnonzero(maybe.any(axis=(1, 2))).tolist():
        points[group] = _with_maybe(points[group], cut, group, maybe[group], spans[group])
    return parts.start + estimate, parts.start[:, None] + points


def _measured_errors(cut: Cut, grid: ErrorGrid, cells: tuple[Ints, ...]) -> Transform:
    """Of far cells that count, one row each: known with an error, or noise after all and counted in vain."""
    chance = cut.real[cells][:, None]
    errors: Transform = (1 - chance) * grid.shift(-cut.values[cells]) + chance * _cell_errors(cut, grid, cells)
    return errors


def _cell_errors(cut: Cut, grid: ErrorGrid, cells: tuple[Ints, ...]) -> Floats:
    """Of far cells that hold something, one row each."""
    return grid.laplace(cut.far_noise[cells]) * grid.normal(cut.far_sampling[cells])


def _with_maybe(points: Floats, cut: Cut, group: int, maybe: Bools, spans: Floats) -> Floats:
    """The law of a group, by its points at `CHANCES`, if some far cells may hold something, too.

    Those may reach so far that a grid over all is too coarse for the other errors. So the law is a mixture: none of
    them holds anything, which leaves it as it is, or some do, and it is on a grid of its own.
    """
    side, cell = np.nonzero(maybe)
    cells = (np.full(side.size, group), side, cell)
    chance = cut.real[cells]
    none = float(np.prod(1 - chance))
    reach = np.abs(points[[0, -1]]).max() + spans[maybe].sum()
    grid = ErrorGrid(np.full(side.size, reach))
    there = grid.shift(cut.values[cells]) * _cell_errors(cut, grid, cells)
    some = np.prod(1 - chance[:, None] + chance[:, None] * there, axis=0) - none
    others = grid.of(np.zeros(1, dtype=np.intp))
    atoms = others.discrete((points[None, 1:] + points[None, :-1]) / 2, np.diff(CHANCES)[None])
    ends, below = others.cumulative(atoms * some)
    places = np.sort(np.concatenate([points, ends[0]]))
    chances = none * np.interp(places, points, CHANCES) + (1 - none) * np.interp(places, ends[0], below[0])
    mixed: Floats = np.interp(CHANCES, chances, places)
    return mixed


def _contradictions(reading: Reading, sums: Sums, number: int) -> tuple[str, ...]:
    """What does not fit together."""
    total, present = float(sums.total[number]), float(sums.present[number])
    found: list[str] = [] if reading.finding == "found" else [reading.finding]
    if float(sums.far_weight[number]) > _MANY_FAR * present:
        found.append("far")
    apart = abs(present + float(sums.missing.means[number]) - total)
    if not sums.is_public and apart > _RARELY * math.hypot(float(sums.total_std[number]), _NOISE_OF_WEIGHT):
        found.append("total")
    # |z| + (1 - z**2) / 2 is at most 1.
    if abs(float(sums.values[number])) + float(sums.spread[number]) / 2 > present + _NOISE_OF_TWO:
        found.append("sums")
    return tuple(found)
