"""The mean of a column of any shape, with the distribution of its error, from released numbers alone.

The mean is the clipped sum over its weight, plus what far cells measure beyond the clip (`cut_off.py`). Its error has
several independent parts: noise, sampling, the weight that may be missing, and what tails may hold beyond the clip.
Their distribution is computed on a grid, as a product of Fourier transforms (`mean_law.py`). The estimate and all
confidence intervals are read off it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from pdpmean.core.memory import keep_freed_memory
from pdpmean.core.numbers import finite
from pdpmean.core.quiet import quietly
from pdpmean.core.threads import in_threads
from pdpmean.core.types import Floats
from pdpmean.laws.cut_off import Cut, cut_off
from pdpmean.laws.far_cells import FAR_CELLS, Geometry, occupied_probabilities
from pdpmean.laws.far_sums import PrivateTotal, PublicTotal, StackedSums, stack_far, stack_sums, weights_behind_far
from pdpmean.laws.far_tails import learn_tails
from pdpmean.laws.grid_law import GridLaw
from pdpmean.laws.mean_law import CHANCES, ErrorGrid, Transform
from pdpmean.laws.reading import TOGETHER, Counted, Reading
from pdpmean.laws.tail_fit import Ints
from pdpmean.laws.two_point import Bools

__all__ = ["FAR_CELLS", "LEAST_VARIANCE", "FarMean", "PrivateTotal", "PublicTotal", "conclude_means"]

LEAST_VARIANCE = 2.0  # least variance of clipped z, times the weight in nats: about the noise of the variance itself

# Factor on the sampling variance, which is itself seen through noise; and sums of skewed values are not quite normal.
_SLACK = 1.1

# Nats: a separate population of this weight is seen more often than not, even if it lies far out and across two cells.
_SEEN = 16.0
_SEEN_IN_HISTOGRAM = 9.0
_UNLIKELY = 0.02  # far cells that are occupied with a smaller probability are taken for empty

# Limits beyond which released numbers contradict each other.
_MANY_FAR = 0.15  # share of the weight in far cells: the histogram should have shown it
_IN_LAST_CELL = 9.0  # nats in the last far cell, which holds everything beyond; noise reaches it once in 10^4 times
_NOISE_OF_WEIGHT = 3.5  # nats: standard deviation of the sum of three sums, the missing weight and some far cells
_RARELY = 5.0  # standard deviations by which two releases of one number may differ
_NOISE_OF_TWO = 12.0  # nats by which two noisy sums exceed what is possible once in 10^5 times


@dataclass(frozen=True, eq=False)
class FarMean:
    """The mean of one group, and what else the released numbers say about its column."""

    mean: float
    law: GridLaw
    """Where the true mean lies."""

    scale: float
    """Estimate of the population's standard deviation."""

    missing: float
    """Share of the weight that is missing."""

    smallest_visible: float
    """Share of the weight that a separate, far population needs in order to be seen."""

    contradictions: tuple[str, ...]
    """Codes of why the released numbers are no answer; empty if they are one."""


@quietly
def conclude_means(
    readings: Sequence[Reading],
    clips: Sequence[tuple[float, float]],
    sums: Sequence[PublicTotal | PrivateTotal],
    summed: Sequence[Counted],
    bounds: tuple[float, float],
) -> list[FarMean]:
    """The mean of each group, from its reading, its clip, its released sums and the weights behind them."""

    def conclude_batch(batch: slice) -> list[FarMean]:
        far = stack_far(sums[batch], clips[batch], bounds)
        behind_far = weights_behind_far(sums[batch], summed[batch])
        geometry = Geometry.from_clips(readings[batch], clips[batch], bounds)
        tails = learn_tails(readings[batch], geometry, far, behind_far)
        probabilities = occupied_probabilities(readings[batch], geometry, far, behind_far, tails.expected)
        stacked = stack_sums(sums[batch], summed[batch], readings[batch], far, probabilities)
        return list(_conclude(readings[batch], clips[batch], stacked, cut_off(tails, stacked), bounds))

    keep_freed_memory()
    batches = [slice(start, start + TOGETHER) for start in range(0, len(readings), TOGETHER)]
    return list(chain.from_iterable(in_threads(conclude_batch, batches)))


class _Errors(NamedTuple):
    """The parts of the error of the mean, by group, in half widths of the clip."""

    start: Floats
    """The mean of what was summed and measured, from the middle of the clip; errors are relative to it."""

    noise: Floats
    """Scales of the independent Laplace variables in the clipped sum."""

    sampling: Floats
    """Variance due to sampling of the values within the clip."""

    cut: Cut
    """What the clip cuts off."""

    per_missing_nat: Floats
    """How far the mean moves if one nat more is missing; 0 if the total is private, which excludes missing values."""


def _conclude(
    readings: Sequence[Reading],
    clips: Sequence[tuple[float, float]],
    sums: StackedSums,
    cut: Cut,
    bounds: tuple[float, float],
) -> Iterator[FarMean]:
    """The means of a few groups: first in half widths from the middle of the clip, then in the column's own unit."""
    variance = _variances(sums)
    errors = _errors(sums, variance, cut)
    estimates, points = _estimates_and_points(errors, sums)
    noise = 2 * (errors.noise**2).sum(axis=1) + cut.noise_variance + _variance_of_missing(errors, sums)
    sampling = _SLACK * errors.sampling + cut.sampling_variance
    low, high = np.array(clips).T / 2
    middle = low + high
    half = high - low
    means = _placed(middle, half, estimates[:, None], bounds)[:, 0]
    points = _placed(middle, half, points, bounds)
    columns = (
        means,
        half * np.sqrt(noise),
        half * np.sqrt(sampling),
        half * np.sqrt(variance + cut.second_moment),
        sums.missing.means / sums.total,
        np.minimum(np.maximum(_SEEN / sums.present, _seen_in_histogram(readings)), 1.0),
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for row, points_of_group, codes in zip(rows, points, _contradictions(readings, sums), strict=True):
        mean, noise_std, sampling_std, scale, missing, smallest = row
        yield FarMean(
            mean=mean,
            law=GridLaw(
                points_of_group, CHANCES, CHANCES, mean, finite(noise_std), finite(sampling_std), has_tails=True
            ),
            scale=finite(scale),
            missing=missing,
            smallest_visible=smallest,
            contradictions=codes,
        )


def _errors(sums: StackedSums, variance: Floats, cut: Cut) -> _Errors:
    """The parts of the error of each mean; `variance` is that of the values within the clip."""
    present = sums.present
    start = np.clip(sums.values / present, -1.0, 1.0) + cut.measured
    return _Errors(
        start=start,
        noise=sums.noise / present[:, None],
        sampling=variance / sums.people,
        cut=cut,
        per_missing_nat=start / present if sums.is_public else np.zeros_like(start),
    )


def _seen_in_histogram(readings: Sequence[Reading]) -> Floats:
    """By group: the share of the weight that a separate population near the clip needs, where no far cell counts it."""
    return np.array([_SEEN_IN_HISTOGRAM / max(reading.nats - reading.missing, 1.0) for reading in readings])


def _placed(middle: Floats, half: Floats, places: Floats, bounds: tuple[float, float]) -> Floats:
    """Places in half widths from the middle of each group's clip as numbers, within the bounds and finite."""
    largest = np.finfo(np.float64).max
    numbers = middle[:, None] + half[:, None] * places
    numbers = np.where(np.isnan(numbers), middle[:, None], numbers)
    return np.clip(numbers, max(bounds[0], -largest), min(bounds[1], largest))


def _variance_of_missing(errors: _Errors, sums: StackedSums) -> Floats:
    """By group: the variance of the mean because the missing weight is not exactly known."""
    deviations = sums.missing.places - sums.missing.means[:, None]
    variance: Floats = errors.per_missing_nat**2 * (sums.missing.chances * deviations**2).sum(axis=1)
    return variance


def _variances(sums: StackedSums) -> Floats:
    """By group: the variance of z inside the clip, at least about as large as its noise."""
    mean = np.clip(sums.values / sums.inside, -1.0, 1.0)
    square = 1 - sums.weight_less_squares / sums.inside
    return np.clip(square - mean**2, np.minimum(LEAST_VARIANCE / sums.inside, 1.0), 1.0)


def _estimates_and_points(errors: _Errors, sums: StackedSums) -> tuple[Floats, Floats]:
    """By group: the estimate of the mean, and the quantiles of its distribution at `CHANCES`.

    The distribution allows for tails that are heavier than most, so that intervals hold. An estimate in its middle
    would correct most columns too much, so the correction is reduced as far as nothing that was released confirms it.
    Far cells that are not measured but may hold something widen the distribution without moving the estimate.
    """
    cut = errors.cut
    by_missing = errors.per_missing_nat[:, None] * (sums.missing.places - sums.missing.means[:, None])
    normal = _SLACK * errors.sampling + cut.tail_noise + cut.tail_sampling
    # The grid reaches 11 scales of Laplace noise, 7 standard deviations of normal errors, and all discrete errors.
    laplace_reach = 11 * errors.noise.sum(axis=1)
    reach = laplace_reach + 7 * np.sqrt(normal) + cut.lost.max(axis=(1, 2)) + np.abs(by_missing).max(axis=1)
    far_reach = np.abs(cut.values) + 9 * cut.far_noise
    grid = ErrorGrid(reach + np.where(cut.is_measured, far_reach, 0.0).sum(axis=(1, 2)))
    transform = grid.normal(normal) * grid.discrete(by_missing, sums.missing.chances)
    for scale in errors.noise.T:
        transform = transform * grid.laplace(scale)
    # What is lost below the clip lowers the mean: the conjugate is the transform of the negative error.
    transform = transform * np.conj(grid.discrete(cut.lost[:, 0], cut.chances[:, 0]))
    transform = transform * grid.discrete(cut.lost[:, 1], cut.chances[:, 1])
    estimate = grid.best(transform)
    measured = np.nonzero(cut.is_measured)
    np.multiply.at(transform, measured[0], _measured_errors(cut, grid.of(measured[0]), measured))
    points = grid.quantiles(transform, CHANCES)
    maybe = (cut.occupied_probability > _UNLIKELY) & ~cut.is_measured
    for group in np.flatnonzero(maybe.any(axis=(1, 2))).tolist():
        points[group] = _with_uncertain_cells(points[group], cut, group, maybe[group], far_reach[group])
    return errors.start + cut.certainty * estimate, errors.start[:, None] + points


def _measured_errors(cut: Cut, grid: ErrorGrid, cells: tuple[Ints, ...]) -> Transform:
    """Transforms of the errors of measured far cells, one row each.

    Either the cell is occupied, and its content has an error; or it was just noise, and all of it was added wrongly.
    """
    chance = cut.occupied_probability[cells][:, None]
    errors: Transform = (1 - chance) * grid.shift(-cut.values[cells]) + chance * _cell_errors(cut, grid, cells)
    return errors


def _cell_errors(cut: Cut, grid: ErrorGrid, cells: tuple[Ints, ...]) -> Floats:
    """Transforms of the errors of far cells that are occupied, one row each."""
    return grid.laplace(cut.far_noise[cells]) * grid.normal(cut.far_sampling[cells])


def _with_uncertain_cells(points: Floats, cut: Cut, group: int, maybe: Bools, far_reach: Floats) -> Floats:
    """A group's quantiles at `CHANCES`, widened by far cells that are not measured but may hold something.

    These may reach so far that one grid over everything would be too coarse for the other errors. So the distribution
    is a mixture. Either none of them is occupied, which leaves it as it is; or some are, and it has a grid of its own.
    """
    side, cell = np.nonzero(maybe)
    cells = (np.full(side.size, group), side, cell)
    chance = cut.occupied_probability[cells]
    none_occupied = float(np.prod(1 - chance))
    reach = np.abs(points[[0, -1]]).max() + far_reach[maybe].sum()
    grid = ErrorGrid(np.full(side.size, reach))
    if_occupied = grid.shift(cut.values[cells]) * _cell_errors(cut, grid, cells)
    some_occupied = np.prod(1 - chance[:, None] + chance[:, None] * if_occupied, axis=0) - none_occupied
    one_row = grid.of(np.zeros(1, dtype=np.intp))
    other_errors = one_row.discrete((points[None, 1:] + points[None, :-1]) / 2, np.diff(CHANCES)[None])
    ends, below = one_row.cumulative(other_errors * some_occupied)
    places = np.sort(np.concatenate([points, ends[0]]))
    if_none = np.interp(places, points, CHANCES)
    if_some = np.interp(places, ends[0], below[0])
    chances = none_occupied * if_none + (1 - none_occupied) * if_some
    mixed: Floats = np.interp(CHANCES, chances, places)
    return mixed


def _contradictions(readings: Sequence[Reading], sums: StackedSums) -> Iterator[tuple[str, ...]]:
    """By group: codes of what does not fit together in the released numbers."""
    present = sums.present
    apart = np.abs(present + sums.missing.means - sums.total)
    has_other_total = apart > _RARELY * np.hypot(sums.total_std, _NOISE_OF_WEIGHT)
    contradictions = {
        "far": sums.measured_far_weight > _MANY_FAR * present,
        "beyond": sums.far[..., -1].max(axis=1) > _IN_LAST_CELL,
        "total": has_other_total if not sums.is_public else np.zeros_like(has_other_total),
        # |z| + (1 - z**2) / 2 is at most 1.
        "sums": np.abs(sums.values) + sums.weight_less_squares / 2 > present + _NOISE_OF_TWO,
    }
    for number, reading in enumerate(readings):
        found = () if reading.finding == "found" else (reading.finding,)
        yield (*found, *(code for code, holds in contradictions.items() if holds[number]))
