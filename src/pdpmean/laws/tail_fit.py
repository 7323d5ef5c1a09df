"""Which tails a noisy histogram allows: a posterior over family, scale and mass of each side.

All families at all scales are scored at once by a normal approximation, which is two matrix products. The best of them
are then weighed by the Laplace law of the noise, for all masses, and the two sides together: their scales are likely
near each other, and their masses and the weight at the anchor add up to the total.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from pdpmean.core.types import Floats
from pdpmean.laws.histogram import CELLS
from pdpmean.laws.left_over import PLAIN, LeftOver
from pdpmean.laws.tails import AFTER, BEFORE, tails

__all__ = ["Sides", "TailFit", "fit_tails"]

_PAIRS = 96  # (family, scale) that are weighed exactly
_SCALES = 40  # at these scales at most
_EVERY = 5  # of the families, which are sorted by kind, one stands for so many at first
_MASSES = np.array([0.03, 0.07, 0.12, 0.18, 0.25, 0.33, 0.41, 0.5, 0.59, 0.7, 0.85, 1.0])
_LEAST_MASSES = np.append(_MASSES[0] / 2, (_MASSES[1:] + _MASSES[:-1]) / 2)  # that each of these stands for
_SURPLUS = 1.04  # masses of both sides may add up to this: they are on a grid
_EMPTY = np.log(1.5 / 2.5)  # prior of a side without any weight
_SAME_SCALE = 0.3  # prior: nats per half octave between the scales of the two sides
_TOGETHER = np.exp(-_SAME_SCALE * np.arange(CELLS)) * np.tanh(_SAME_SCALE / 2)
_OTHER_SCALE = 0.003  # and that they have nothing to do with each other
_MISFIT = 0.3  # no family is exact: its outer cells are off by this fraction,
_MISFIT_INWARD = 0.15  # and so much more per half octave further in: tails are read off the outer cells
_LARGEST_MISFIT = 1.0
_OUTER = 1  # half octaves: further in, an empty cell says no more than one that holds much; whole numbers leave gaps
_ADDING_UP = 0.03  # of the total: masses on a grid add up no better
_ALL_CELLS = np.ones(BEFORE + AFTER, dtype=np.float32)

Ints = NDArray[np.integer[Any]]


class Sides(NamedTuple):
    """What the fit is to explain, by group."""

    cells: Floats
    """Weight by side and cell."""

    rest: Floats
    """Weight that lies on neither side."""

    nats: Floats
    """The total of both."""

    nats_std: Floats
    people: Floats
    log_place: Floats
    """Prior of a scale, by cell."""

    closed: NDArray[np.bool_]
    """Sides where nothing can lie."""


class TailFit(NamedTuple):
    """The likeliest tails, by group and side."""

    family: Ints
    scale: Floats
    """In cells."""

    mass: Floats
    """As a share of the total."""

    weight: Floats
    """Chances; they and `empty` add up to 1."""

    empty: Floats
    """The chance that there is nothing on this side."""

    nothing: Floats
    """The chance that there is nothing on either side."""


def fit_tails(sides: Sides) -> TailFit:
    """The posterior of both sides."""
    pairs = _shortlist(sides)
    log = _log_likelihoods(sides, _inward(sides), pairs)
    place = np.take_along_axis(sides.log_place[:, None], pairs.scale, axis=-1)
    log += (tails().log_prior[pairs.family] + place - np.log(_MASSES.size))[..., None]
    log -= _more_than_is_left(sides)[:, :, None]
    log = np.where(sides.closed[..., None, None], -np.inf, log)
    weight, empty, nothing = _together(sides, log, pairs)
    return _without_masses(pairs, weight, empty, nothing)


def _inward(sides: Sides) -> Ints:
    """How many half octaves a cell lies before the outer ones, which are the last that plainly hold something."""
    plain = sides.cells > PLAIN
    last = np.where(plain.any(axis=-1), CELLS - 1 - np.argmax(plain[..., ::-1], axis=-1), 0)
    inward: Ints = np.maximum(last[..., None] - np.arange(CELLS) - 2, 0)
    return inward


def _misfits(sides: Sides, inward: Ints) -> Floats:
    """By which fraction of its weight a cell may differ from a family: by sampling, and as no family is exact."""
    misfit = np.minimum(_MISFIT + _MISFIT_INWARD * inward, _LARGEST_MISFIT)
    sampling = np.sqrt(0.5 * (sides.nats / sides.people)[:, None, None] / np.maximum(sides.cells, 1.0))
    off: Floats = np.hypot(misfit, sampling)
    return off


class _Pairs(NamedTuple):
    """Families and scales that are weighed, by group and side."""

    family: Ints
    scale: Ints
    scales: Ints
    """All scales there are among them,"""

    number: Ints
    """and which of these each pair has."""


def _windows(cells: Floats) -> NDArray[np.float32]:
    """By group, side and scale: the cells around it; nothing is known beyond the ends."""
    padded = np.zeros((*cells.shape[:-1], BEFORE + CELLS + AFTER - 1), dtype=np.float32)
    padded[..., BEFORE : BEFORE + CELLS] = cells
    return sliding_window_view(padded, BEFORE + AFTER, axis=-1)


_KNOWN = _windows(np.ones(CELLS))  # by scale: which of the cells around it there are


def _shortlist(sides: Sides) -> _Pairs:
    """The best families and scales by a normal law, whose variance lets a large cell say no more than Laplace noise.

    A few families say which scales are worth trying with all of them.
    """
    size = np.abs(sides.cells)
    precision = 1 / np.maximum(2.0, size / 2)
    nats = sides.nats[:, None, None]
    linear = _windows(nats * sides.cells * precision)
    square = _windows(nats**2 * precision)
    place = sides.log_place.astype(np.float32)[:, None]
    few = slice(None, None, _EVERY)
    roughly = _scores(np.ascontiguousarray(linear), np.ascontiguousarray(square), few).max(axis=-1) + place
    scales = np.argpartition(roughly, -_SCALES, axis=-1)[..., -_SCALES:]
    near = (np.arange(size.shape[0])[:, None, None], np.arange(2)[:, None], scales)
    score = _scores(linear[near], square[near], slice(None)) + np.take_along_axis(place, scales, axis=-1)[..., None]
    best = np.argpartition(score.reshape(*size.shape[:2], -1), -_PAIRS, axis=-1)[..., -_PAIRS:]
    number, family = np.divmod(best, score.shape[-1])
    return _Pairs(family, np.take_along_axis(scales, number, axis=-1), scales, number)


def _scores(linear: NDArray[np.float32], square: NDArray[np.float32], families: slice) -> NDArray[np.float32]:
    """By group, side, scale and family, each with its best mass."""
    weight = tails().cells[families].T.astype(np.float32)
    slope = linear @ weight
    curvature = square @ weight**2
    mass = slope / np.maximum(curvature, np.float32(1e-9))
    np.clip(mass, np.float32(_MASSES[0]), np.float32(1), out=mass)
    prior = tails().log_prior[families].astype(np.float32)
    scores: NDArray[np.float32] = mass * (slope - mass * curvature / 2) + prior
    return scores


def _log_likelihoods(sides: Sides, inward: Ints, pairs: _Pairs) -> Floats:
    """By group, side, pair and mass: over that of noise alone. Of all that is done here, this takes longest."""
    group, side = np.ogrid[: pairs.scale.shape[0], :2]
    around = group[..., None], side[..., None], pairs.scale
    window = _windows(sides.cells)[around]
    inexact = _windows(_misfits(sides, inward))[around]
    expected = tails().cells.astype(np.float32)[pairs.family]
    expected *= sides.nats.astype(np.float32)[:, None, None, None]
    expected *= _KNOWN[pairs.scale]
    held = _windows(np.where(inward > _OUTER, np.inf, np.maximum(sides.cells, 0)))[around]
    nothing = np.abs(window) @ _ALL_CELLS
    log = np.empty((*pairs.family.shape, _MASSES.size))
    here, off = np.empty_like(window), np.empty_like(window)
    for number, mass in enumerate(_MASSES.astype(np.float32)):
        np.multiply(expected, mass, out=here)
        np.abs(np.subtract(window, here, out=off), out=off)
        np.multiply(np.minimum(here, held, out=here), inexact, out=here)
        here += 1
        off /= here
        log[..., number] = nothing - off @ _ALL_CELLS
    return log


def _more_than_is_left(sides: Sides) -> Floats:
    """By group, side and mass: how much speaks against so much, since the other side and the anchor have the rest."""
    left = LeftOver.of(sides.cells, sides.rest, sides.nats, sides.nats_std)
    return left.against(sides.nats[:, None, None] * _LEAST_MASSES - left.for_sides()[..., None])


def _together(sides: Sides, log: Floats, pairs: _Pairs) -> tuple[Floats, Floats, Floats]:
    """Chances of all pairs and masses, of either side's being empty, and of both: what one side says of the other."""
    top = np.maximum(log.max(axis=(2, 3)), 0)
    likely = np.exp(log - top[..., None, None])
    empty = np.exp(_EMPTY - top)
    fits = _adding_up(sides)
    near = _near(sides, pairs.scales)
    by_scale = pairs.number[..., None] == np.arange(_SCALES)
    weight = np.empty_like(likely)
    alone = np.empty_like(empty)
    for own, other, link in ((0, 1, near), (1, 0, near.transpose(0, 2, 1))):
        of_scales = by_scale[:, other].transpose(0, 2, 1).astype(np.float64) @ likely[:, other]
        message = (link @ of_scales) @ fits[:, :-1, :-1]
        message += (empty[:, other, None] * fits[:, -1, :-1])[:, None]
        weight[:, own] = likely[:, own] * np.take_along_axis(message, pairs.number[:, own, :, None], axis=1)
        if_empty = np.einsum("gm,gm->g", likely[:, other].sum(axis=1), fits[:, :-1, -1])
        alone[:, own] = empty[:, own] * (if_empty + empty[:, other] * fits[:, -1, -1])
    total = weight.sum(axis=(2, 3)) + alone
    nothing = empty[:, 0] * empty[:, 1] * fits[:, -1, -1] / total[:, 0]
    return weight / total[..., None, None], alone / total, nothing


def _near(sides: Sides, scales: Ints) -> Floats:
    """How much likelier two scales are together than if they had nothing to do with each other."""
    likelier: Floats = _TOGETHER.take(np.abs(scales[:, 0, :, None] - scales[:, 1, None, :]))
    likelier /= np.exp(sides.log_place.max(axis=1))[:, None, None]
    likelier += _OTHER_SCALE
    return likelier


def _adding_up(sides: Sides) -> Floats:
    """By masses of the two sides, the last of which is 0: how well they and the rest add up to the total."""
    masses = np.append(_MASSES, 0.0)
    both = masses[:, None] + masses
    nats = sides.nats[:, None, None]
    spread = np.sqrt(1 + (_ADDING_UP * sides.nats) ** 2 + sides.nats_std**2)[:, None, None]
    off = np.abs(sides.rest[:, None, None] - (1 - both) * nats) / spread
    off = off - off.min(axis=(1, 2), keepdims=True)
    fits: Floats = np.exp(-np.minimum(off, 100.0) - 750 * np.maximum(both - _SURPLUS, 0))
    return fits


def _without_masses(pairs: _Pairs, weight: Floats, empty: Floats, nothing: Floats) -> TailFit:
    """One atom a pair, with its mean mass: to keep the likeliest masses instead would lose the less likely tails."""
    chances = weight.sum(axis=-1)
    return TailFit(
        family=pairs.family,
        scale=pairs.scale.astype(np.float64),
        mass=(weight @ _MASSES) / np.maximum(chances, 1e-300),
        weight=chances,
        empty=empty,
        nothing=nothing,
    )
