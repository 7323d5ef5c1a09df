"""Reading a histogram: what lies on either side of the anchor, as far as it can be seen, and what may lie beyond."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.laws.findings import Finding, findings_of
from pdpmean.laws.histogram import CELLS, Cells, Histogram
from pdpmean.laws.left_over import LeftOver
from pdpmean.laws.missing_weight import missing_nodes
from pdpmean.laws.outliers import evidence, find_lumps, sums_of_runs
from pdpmean.laws.tail_fit import Ints, Sides, TailFit, fit_tails
from pdpmean.laws.two_point import Bools

__all__ = ["TOGETHER", "Counted", "Finding", "Reading", "closed_sides", "read_histograms"]

TOGETHER = 8  # groups; arrays of more leave the processor's cache, and are given back to the system each time
_LEAST_NATS, _MOST_NATS = 1.0, 1e12  # with less a histogram is all noise; with more, doubles add up no better

# Where the scale of a population may lie, in half octaves from the size of its anchor. Narrower ones have a centre of
# six digits or more. A centre may happen to be much nearer to zero than its population is wide, with a chance that
# halves for each octave. From zero, or from next to it, numbers between 2**-4 and 2**17 are ordinary, and others rare.
_NARROWER, _WIDER_THAN_CENTER, _WIDER_THAN_BOUND = 40, 12, 46
_NEXT_TO_ZERO = 40
_ORDINARY = -8, 34
_PER_CELL, _PER_CELL_FROM_ZERO = math.log(2) / 2, 0.1  # nats

_SAME_BULK = 12  # half octaves between scales of one population, and less likely so by
_PER_CELL_OFF = 0.7  # nats for each further one
_STANDS_OUT = 5.0  # nats at which a cell is visible,
_FARTHER = 0.45  # and so much more per half octave away from the bulk, so that no number of empty cells adds up
_LONGER = 1.0  # and for each further cell of a run
_NEAR_BULK = 4  # half octaves
_HEAVY = 0.2  # of the weight in the innermost cell: what falls that steeply has no tail towards the anchor
_ALL_SEEN = 1.5  # nats that may seem to lie elsewhere


class Counted(NamedTuple):
    """What is known of the weights behind a step."""

    nats: float
    """Total weight in nats: public and exact, or an estimate."""

    people: float
    """How many equally weighted records would have the same sampling error."""

    nats_std: float = 0.0
    """0 where the total is public."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What a histogram says; it is kept in place of the histogram, which is read once."""

    finding: Finding
    anchor: float
    first: int
    family: Ints
    """By side and atom, as are the following: the likeliest tails."""

    scale: Floats
    """In cells."""

    mass: Floats
    """As a share of the weight that is not missing."""

    weight: Floats
    empty: Floats
    """By side: the chance that nothing lies there."""

    visible: Floats
    """By side: the cell after the outermost one that stands out; 0 where none does."""

    innermost: Floats
    """By side: the innermost cell that stands out, if it holds so much that hardly anything precedes it; or 0."""

    cells: Floats
    """By side: the histogram itself, which far cells are held against."""

    center: float
    """Weight at the anchor in nats."""

    missing: float
    """Weight of missing values in nats, as released."""

    nats: float

    tail_factors: tuple[float, float] = (1.0, 1.0)
    """By side: as many times as much lies there as the histogram says; those in it were others."""

    def with_tails(self, factors: tuple[float, float]) -> Reading:
        """The same of a population that has so many times as much on each side."""
        return replace(self, mass=self.mass * np.array(factors)[:, None], tail_factors=factors)


def closed_sides(anchors: Sequence[float], bounds: tuple[float, float]) -> Bools:
    """By anchor and side: whether nothing can lie below it, or above, since it is at that bound."""
    low, high = bounds
    return np.array([(anchor <= low, anchor >= high) for anchor in anchors])


@quietly
def read_histograms(
    histograms: Sequence[Histogram], located: Sequence[Counted], bounds: tuple[float, float]
) -> list[Reading]:
    """What each histogram says, of which `located` is the total."""
    closed = closed_sides([histogram.anchor for histogram in histograms], bounds)
    readings: list[Reading] = []
    for start in range(0, len(histograms), TOGETHER):
        end = start + TOGETHER
        readings += _read(histograms[start:end], located[start:end], closed[start:end])
    return readings


def _read(histograms: Sequence[Histogram], located: Sequence[Counted], closed: Bools) -> Iterator[Reading]:
    cells = Cells.stack(histograms, closed)
    nats, people, nats_std = np.array(located, dtype=np.float64).T
    nats = np.clip(nats, _LEAST_NATS, _MOST_NATS)
    present = nats - missing_nodes(cells.missing, nats, cells.missing, nats).means
    lumps = find_lumps(cells.sides, cells.center, present)
    at_bound = closed[:, 0] | closed[:, 1]
    places = np.array(
        [_log_place(group.anchor, group.first, is_bound=own) for group, own in zip(histograms, at_bound, strict=True)]
    )
    sides = Sides(
        cells=lumps.others,
        rest=cells.center + lumps.inside,
        nats=present,
        nats_std=nats_std,
        people=np.clip(people, 1.0, _MOST_NATS),
        log_place=places,
        closed=closed,
    )
    fit, sure = _focused(fit_tails(sides))
    left = LeftOver.of(cells.sides, cells.center, present, nats_std)
    seen = _stands_out(left, fit)
    findings = findings_of(cells, sides, fit, seen, sure, may_miss=~at_bound)
    visible = np.where(seen.any(axis=-1), CELLS - np.argmax(seen[..., ::-1], axis=-1), 0)
    innermost = _steep_starts(cells.sides, seen, present)
    for number, group in enumerate(histograms):
        yield Reading(
            finding=findings[number],
            anchor=group.anchor,
            first=group.first,
            family=fit.family[number],
            scale=fit.scale[number],
            mass=fit.mass[number],
            weight=fit.weight[number],
            empty=fit.empty[number],
            visible=visible[number].astype(np.float64),
            innermost=innermost[number].astype(np.float64),
            cells=cells.sides[number],
            center=group.center,
            missing=group.missing,
            nats=float(nats[number]),
        )


def _log_place(anchor: float, first: int, *, is_bound: bool) -> Floats:
    """Prior of a population's scale, by cell."""
    as_far_as_zero = 2 * math.frexp(anchor)[1] - first
    low, high = as_far_as_zero - _NARROWER, as_far_as_zero + (_WIDER_THAN_BOUND if is_bound else _WIDER_THAN_CENTER)
    slope = _PER_CELL
    if anchor == 0 or as_far_as_zero < _NEXT_TO_ZERO:
        low, high = _ORDINARY[0] - first, _ORDINARY[1] - first
        slope = _PER_CELL_FROM_ZERO
    cell = np.arange(CELLS)
    log = -slope * np.maximum(np.maximum(low - cell, cell - high), 0)
    place: Floats = log - np.log(np.exp(log).sum())
    return place


def _focused(fit: TailFit) -> tuple[TailFit, Floats]:
    """The fit without scales far from that of the stronger side, and the chance that this is where the bulk lies.

    Many cells are empty, and in one or the other noise looks like a little weight. An end that far out would make the
    clip absurdly wide, and a tail there the mean absurd, so hardly likely is not likely enough.
    """
    stronger = np.argmin(fit.empty, axis=-1)[:, None]
    main = np.take_along_axis(_median_scales(fit), stronger, axis=-1)
    away = np.maximum(np.abs(fit.scale - main[..., None]) - _SAME_BULK, 0)
    weight = fit.weight * np.exp(-_PER_CELL_OFF * away)
    total = weight.sum(axis=-1) + fit.empty
    near = np.where(away == 0, fit.weight, 0.0).sum(axis=-1)
    located = np.take_along_axis(near, stronger, axis=-1)[:, 0]
    focused = fit._replace(weight=weight / total[..., None], empty=fit.empty / total)
    return focused, located


def _median_scales(fit: TailFit) -> Floats:
    """By side: half of the chances are below."""
    order = np.argsort(fit.scale, axis=-1)
    below = np.cumsum(np.take_along_axis(fit.weight, order, axis=-1), axis=-1)
    middle = np.argmax(below >= below[..., -1:] / 2, axis=-1)[..., None]
    medians: Floats = np.take_along_axis(np.take_along_axis(fit.scale, order, axis=-1), middle, axis=-1)[..., 0]
    return medians


def _stands_out(left: LeftOver, fit: TailFit) -> Bools:
    """Cells that are no noise, alone or in a run; less readily far from the bulk, or where nothing is left over."""
    sides = left.cells
    bulk = (fit.weight * fit.scale).sum(axis=-1) / np.maximum(fit.weight.sum(axis=-1), 1e-12)
    stronger = np.argmin(fit.empty, axis=-1)[:, None]
    bulk = np.where(fit.empty > 0.5, np.take_along_axis(bulk, stronger, axis=-1), bulk)
    away = np.maximum(np.abs(np.arange(CELLS) - bulk[..., None]) - _NEAR_BULK, 0)
    runs = evidence(sides)
    least = _STANDS_OUT + _FARTHER * away[..., None] + _LONGER * np.arange(runs.log_odds.shape[-1])
    least = least + left.against(sums_of_runs(left.elsewhere) - left.nats[:, None, None, None])
    seen: Bools = ((runs.log_odds > least) & (sides[..., None] > 0.6 * runs.level)).any(axis=-1)
    return seen


def _steep_starts(sides: Floats, seen: Bools, nats: Floats) -> Floats:
    """The innermost cell that stands out, if it holds much at once, and it and those farther out hold all; else 0."""
    start = seen.argmax(axis=-1)[..., None]
    holds = np.take_along_axis(sides, start, axis=-1)[..., 0]
    cell = np.arange(CELLS)
    last = CELLS - 1 - np.argmax(seen[..., ::-1], axis=-1)[..., None]
    all_of_them = np.where((cell >= start) & (cell <= last), sides, 0.0).sum(axis=-1)
    steep = seen.any(axis=-1) & (holds > _HEAVY * nats[:, None]) & (all_of_them > nats[:, None] - _ALL_SEEN)
    return np.where(steep, start[..., 0], 0)
