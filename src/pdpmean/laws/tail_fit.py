"""Posterior over the tails that fit a noisy histogram: the family, scale and mass of each side.

Families are those of `tails.py`; a scale is a cell of the histogram, and a mass the share of the weight on that side.
First, all families at all scales are scored at once by a normal approximation, which takes two matrix products. The
best pairs of family and scale are then weighted by the exact Laplace likelihood, for all masses. Finally, both sides
are considered jointly: their scales are probably close to each other, and their masses and the weight at the anchor
must add up to the total.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from pdpmean.core.types import Floats
from pdpmean.laws.histogram import CELLS
from pdpmean.laws.left_over import OCCUPIED_NATS, LeftOver
from pdpmean.laws.tails import AFTER, BEFORE, WINDOW, tails

__all__ = ["Sides", "TailFit", "fit_tails"]

_PAIRS = 96  # pairs of family and scale, per side, that get an exact likelihood
_SCALES = 40  # scales, per side, that all families are tried at
_EVERY = 5  # families are sorted by kind, so the first, rough scores take only every fifth

# Masses that are tried, as shares of the total weight, and the least mass that each of them stands for.
_MASSES = np.array([0.03, 0.07, 0.12, 0.18, 0.25, 0.33, 0.41, 0.5, 0.59, 0.7, 0.85, 1.0])
_LEAST_MASSES = np.append(_MASSES[0] / 2, (_MASSES[1:] + _MASSES[:-1]) / 2)

# Since masses are on a grid, those of both sides may add up to a little more than 1, and to the total only roughly.
_LARGEST_SUM = 1.04
_GRID_ERROR = 0.03  # of the total

_LOG_PRIOR_OF_EMPTY = np.log(1.5 / 2.5)  # of a side without any weight

# Prior of the distance between the scales of the two sides: it falls by this many nats per half octave, or, with a
# small weight, the scales are independent.
_NATS_PER_CELL_APART = 0.3
_PRIOR_OF_DISTANCE = np.exp(-_NATS_PER_CELL_APART * np.arange(CELLS)) * np.tanh(_NATS_PER_CELL_APART / 2)
_INDEPENDENT_SCALES = 0.003

# No family is exact. The weight of an outer cell may be wrong by the first fraction, and by the second more for each
# half octave further in, up to the third: tails are to be read off the outer cells.
_MISFIT = 0.3
_MISFIT_PER_CELL_INWARD = 0.15
_LARGEST_MISFIT = 1.0

# Inner cells are compared in bins of this many half octaves. Whole numbers leave gaps between half octaves, and heap up
# in others. Cell by cell, families of whole numbers would fit so much better than all others that their tails, too,
# would be taken for certain.
_INNER_BIN = 4

_ALL_CELLS = np.ones(WINDOW, dtype=np.float32)

Ints = NDArray[np.integer[Any]]
Reals = TypeVar("Reals", Floats, NDArray[np.float32])


class Sides(NamedTuple):
    """The histograms that are to be explained, with what is known beforehand; the first axis is the group."""

    cells: Floats
    """Noisy weight by side and cell, in nats."""

    rest: Floats
    """Weight on neither side, in nats: at the anchor, or in lumps."""

    nats: Floats
    """Total weight in nats."""

    nats_std: Floats
    """Standard deviation of the total; 0 where it is public."""

    people: Floats
    """How many equally weighted records would have the same sampling error."""

    log_prior: Floats
    """Log prior probability of a scale, by cell."""

    closed: NDArray[np.bool_]
    """By side: whether no values can lie there."""


class TailFit(NamedTuple):
    """The posterior, by group and side, on its likeliest tails (the last axis of the first four fields)."""

    family: Ints
    scale: Floats
    """In cells."""

    mass: Floats
    """Posterior mean of the weight on this side, as a share of the total."""

    probability: Floats
    """Posterior probability; these and `empty` add up to 1."""

    empty: Floats
    """The probability that there is nothing on this side."""

    nothing: Floats
    """By group: the probability that there is nothing on either side."""


def fit_tails(sides: Sides) -> TailFit:
    """The joint posterior of both sides of each group."""
    pairs = _shortlist(sides)
    log_weight = _log_likelihoods(sides, _Bins.of(sides), pairs)
    log_prior_of_scale = np.take_along_axis(sides.log_prior[:, None], pairs.scale, axis=-1)
    log_weight += (tails().log_prior[pairs.family] + log_prior_of_scale - np.log(_MASSES.size))[..., None]
    log_weight -= _penalty_of_masses(sides)[:, :, None]
    log_weight = np.where(sides.closed[..., None, None], -np.inf, log_weight)
    weight, empty, nothing = _joint_posterior(sides, log_weight, pairs)
    return _averaged_over_masses(pairs, weight, empty, nothing)


def _cells_inward(sides: Sides) -> Ints:
    """By group, side and cell: how many half octaves the cell lies before the outer ones.

    The outer cells are the last one that is clearly occupied, the two before it, and all beyond.
    """
    is_occupied = sides.cells > OCCUPIED_NATS
    last = np.where(is_occupied.any(axis=-1), CELLS - 1 - np.argmax(is_occupied[..., ::-1], axis=-1), 0)
    inward: Ints = np.maximum(last[..., None] - np.arange(CELLS) - 2, 0)
    return inward


class _Bins(NamedTuple):
    """The cells as they are compared with families: outer ones one by one, inner ones in bins of several cells.

    All fields are by group, side and cell. The last cell of a bin stands for all of it, and the others are empty.
    """

    before: Floats
    """How many cells of the bin lie before this one."""

    is_last: Floats
    """1 for the last cell of a bin, 0 for the others."""

    cells: Floats
    """Noisy weight in nats."""

    noise: Floats
    """The size of the noise."""

    misfits: Floats
    """The fraction by which the weight may differ from a family's, by sampling or as no family is exact."""

    largest_base: Floats
    """That is a fraction of what the family expects, but of no more than this: in outer cells, of what they hold."""

    @classmethod
    def of(cls, sides: Sides) -> _Bins:
        """The bins of these histograms."""
        inward = _cells_inward(sides)
        is_inner = inward > 0
        place_in_bin = (inward - 1) % _INNER_BIN  # counted inwards
        before = np.where(is_inner, _INNER_BIN - 1 - place_in_bin, 0)
        is_last = (~is_inner | (place_in_bin == 0)).astype(np.float64)
        cells = _sums_of_bins(sides.cells, np.maximum(np.arange(CELLS) - before, 0), is_last)
        misfit = np.minimum(_MISFIT + _MISFIT_PER_CELL_INWARD * inward, _LARGEST_MISFIT)
        sampling = np.sqrt(0.5 * (sides.nats / sides.people)[:, None, None] / np.maximum(cells, 1.0))
        largest_base = np.where(is_inner, np.inf, np.maximum(cells, 0))
        return cls(
            before=before.astype(np.float64),
            is_last=is_last,
            cells=cells,
            noise=np.sqrt(before + 1),
            misfits=np.hypot(misfit, sampling),
            largest_base=largest_base,
        )


def _sums_of_bins(cells: Reals, starts: Ints, is_last: Reals) -> Reals:
    """The sum of each bin in the place of its last cell, and 0 elsewhere; `starts` are the first cells of the bins."""
    up_to = np.zeros((*cells.shape[:-1], cells.shape[-1] + 1), dtype=cells.dtype)
    np.cumsum(cells, axis=-1, out=up_to[..., 1:])
    sums: Reals = (up_to[..., 1:] - np.take_along_axis(up_to, starts, axis=-1)) * is_last
    return sums


class _Pairs(NamedTuple):
    """The shortlist of families and scales, by group and side."""

    family: Ints
    scale: Ints
    scales: Ints
    """The distinct scales that occur in pairs."""

    number: Ints
    """For each pair, the index of its scale in `scales`."""


def _windows(cells: Floats) -> NDArray[np.float32]:
    """By group, side and scale: the cells around that scale; 0 beyond the ends of the histogram."""
    padded = np.zeros((*cells.shape[:-1], BEFORE + CELLS + AFTER - 1), dtype=np.float32)
    padded[..., BEFORE : BEFORE + CELLS] = cells
    return sliding_window_view(padded, WINDOW, axis=-1)


_IS_IN_HISTOGRAM = _windows(np.ones(CELLS))  # by scale: 1 for cells around it that exist, 0 for those beyond the ends


def _shortlist(sides: Sides) -> _Pairs:
    """The best families and scales by a normal approximation of the likelihood.

    Its variance grows with the weight of a cell, so that a large cell says no more than under Laplace noise. A few
    families decide which scales are worth trying with all of them.
    """
    size = np.abs(sides.cells)
    precision = 1 / np.maximum(2.0, size / 2)
    nats = sides.nats[:, None, None]
    linear = _windows(nats * sides.cells * precision)
    square = _windows(nats**2 * precision)
    log_prior = sides.log_prior.astype(np.float32)[:, None]
    few = slice(None, None, _EVERY)
    rough = _scores(np.ascontiguousarray(linear), np.ascontiguousarray(square), few).max(axis=-1) + log_prior
    scales = np.argpartition(rough, -_SCALES, axis=-1)[..., -_SCALES:]
    kept = (np.arange(size.shape[0])[:, None, None], np.arange(2)[:, None], scales)
    score = _scores(linear[kept], square[kept], slice(None)) + np.take_along_axis(log_prior, scales, axis=-1)[..., None]
    best = np.argpartition(score.reshape(*size.shape[:2], -1), -_PAIRS, axis=-1)[..., -_PAIRS:]
    number, family = np.divmod(best, score.shape[-1])
    return _Pairs(family, np.take_along_axis(scales, number, axis=-1), scales, number)


def _scores(linear: NDArray[np.float32], square: NDArray[np.float32], families: slice) -> NDArray[np.float32]:
    """Log posterior by group, side, scale and family, each with its best mass; up to a constant.

    The log likelihood is a parabola in the mass, ``slope * mass - curvature * mass**2 / 2``.
    """
    weight = tails().cells[families].T.astype(np.float32)
    slope = linear @ weight
    curvature = square @ weight**2
    mass = slope / np.maximum(curvature, np.float32(1e-9))
    np.clip(mass, np.float32(_MASSES[0]), np.float32(1), out=mass)
    prior = tails().log_prior[families].astype(np.float32)
    scores: NDArray[np.float32] = mass * (slope - mass * curvature / 2) + prior
    return scores


def _log_likelihoods(sides: Sides, bins: _Bins, pairs: _Pairs) -> Floats:
    """By group, side, pair and mass: the log likelihood minus that of noise alone.

    This is the slowest part of a reading, hence single precision and arrays that are reused.
    """
    group, side = np.ogrid[: pairs.scale.shape[0], :2]
    around = group[..., None], side[..., None], pairs.scale
    columns = (bins.cells, bins.noise, bins.misfits, bins.largest_base)
    window, noise, misfit, largest_base = (_windows(column)[around] for column in columns)
    noise = np.maximum(noise, 1)  # beyond the ends of the histogram
    expected = _expected(sides, bins, pairs, around)
    noise_alone = (np.abs(window) / noise) @ _ALL_CELLS
    log = np.empty((*pairs.family.shape, _MASSES.size))
    scale = np.empty_like(window)  # holds the expected weight first, then the scale of the error
    distance = np.empty_like(window)
    for number, mass in enumerate(_MASSES.astype(np.float32)):
        np.multiply(expected, mass, out=scale)
        np.abs(np.subtract(window, scale, out=distance), out=distance)
        np.multiply(np.minimum(scale, largest_base, out=scale), misfit, out=scale)
        scale += noise
        distance /= scale
        log[..., number] = noise_alone - distance @ _ALL_CELLS
    return log


def _expected(sides: Sides, bins: _Bins, pairs: _Pairs, around: tuple[Ints, ...]) -> NDArray[np.float32]:
    """By group, side, pair and cell of the window: the weight of the bin if all weight is on this side, in nats."""
    cells = tails().cells.astype(np.float32)[pairs.family]
    cells *= sides.nats.astype(np.float32)[:, None, None, None]
    cells *= _IS_IN_HISTOGRAM[pairs.scale]
    starts = np.maximum(np.arange(WINDOW) - _windows(bins.before)[around], 0)
    return _sums_of_bins(cells, starts.astype(np.int64), _windows(bins.is_last)[around])


def _penalty_of_masses(sides: Sides) -> Floats:
    """By group, side and mass, in nats: how much speaks against that mass, given what lies elsewhere."""
    left_over = LeftOver.from_cells(sides.cells, sides.rest, sides.nats, sides.nats_std)
    return left_over.penalty(sides.nats[:, None, None] * _LEAST_MASSES - left_over.available_to_sides()[..., None])


def _joint_posterior(sides: Sides, log_weight: Floats, pairs: _Pairs) -> tuple[Floats, Floats, Floats]:
    """Probabilities of all pairs and masses, of each side being empty, and of both being empty.

    The two sides form a chain, so each side's marginal is its own likelihood times a message from the other side.
    """
    top = np.maximum(log_weight.max(axis=(2, 3)), 0)
    likelihood = np.exp(log_weight - top[..., None, None])
    empty = np.exp(_LOG_PRIOR_OF_EMPTY - top)
    mass_link = _mass_link(sides)
    scale_link = _scale_link(sides, pairs.scales)
    has_scale = pairs.number[..., None] == np.arange(_SCALES)
    weight = np.empty_like(likelihood)
    alone = np.empty_like(empty)
    for this, other, link in ((0, 1, scale_link), (1, 0, scale_link.transpose(0, 2, 1))):
        by_scale = has_scale[:, other].transpose(0, 2, 1).astype(np.float64) @ likelihood[:, other]
        message = (link @ by_scale) @ mass_link[:, :-1, :-1]
        message += (empty[:, other, None] * mass_link[:, -1, :-1])[:, None]
        weight[:, this] = likelihood[:, this] * np.take_along_axis(message, pairs.number[:, this, :, None], axis=1)
        if_empty = np.einsum("gm,gm->g", likelihood[:, other].sum(axis=1), mass_link[:, :-1, -1])
        alone[:, this] = empty[:, this] * (if_empty + empty[:, other] * mass_link[:, -1, -1])
    total = weight.sum(axis=(2, 3)) + alone
    nothing = empty[:, 0] * empty[:, 1] * mass_link[:, -1, -1] / total[:, 0]
    return weight / total[..., None, None], alone / total, nothing


def _scale_link(sides: Sides, scales: Ints) -> Floats:
    """By group, scale below and scale above: how much likelier the two are together than if they were independent."""
    ratio: Floats = _PRIOR_OF_DISTANCE.take(np.abs(scales[:, 0, :, None] - scales[:, 1, None, :]))
    ratio /= np.exp(sides.log_prior.max(axis=1))[:, None, None]
    ratio += _INDEPENDENT_SCALES
    return ratio


def _mass_link(sides: Sides) -> Floats:
    """By group and the masses of both sides: how well these and the rest add up to the total; the last mass is 0."""
    masses = np.append(_MASSES, 0.0)
    both = masses[:, None] + masses
    nats = sides.nats[:, None, None]
    spread = np.sqrt(1 + (_GRID_ERROR * sides.nats) ** 2 + sides.nats_std**2)[:, None, None]
    distance = np.abs(sides.rest[:, None, None] - (1 - both) * nats) / spread
    distance = distance - distance.min(axis=(1, 2), keepdims=True)
    link: Floats = np.exp(-np.minimum(distance, 100.0) - 750 * np.maximum(both - _LARGEST_SUM, 0))
    return link


def _averaged_over_masses(pairs: _Pairs, weight: Floats, empty: Floats, nothing: Floats) -> TailFit:
    """One atom per pair, with its mean mass: keeping only the likeliest masses would lose the less likely tails."""
    probability = weight.sum(axis=-1)
    return TailFit(
        family=pairs.family,
        scale=pairs.scale.astype(np.float64),
        mass=(weight @ _MASSES) / np.maximum(probability, 1e-300),
        probability=probability,
        empty=empty,
        nothing=nothing,
    )
