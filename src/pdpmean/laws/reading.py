"""Reading a noisy histogram: where the values on either side of the anchor end, and what tails may lie beyond.

This is post-processing of released numbers and costs no privacy. For each group, `read_histograms` combines

- a posterior over the tails of both sides (`tail_fit.py`),
- the cells that stand out from the noise, which the clip will never cut off,
- a verdict on whether the histogram shows a population at all (`findings.py`).

The result, a `Reading`, is all that later steps need: the clipping bounds (`clip_ends.py`) and the mean with its error
(`far_mean.py`) are computed from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from pdpmean.core.bounds import Bounds
from pdpmean.core.memory import keep_freed_memory
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.laws.findings import Finding, findings_of
from pdpmean.laws.histogram import CELLS, Histogram, Histograms
from pdpmean.laws.left_over import LeftOver
from pdpmean.laws.missing_weight import missing_nodes
from pdpmean.laws.outliers import evidence, find_lumps, sums_of_runs
from pdpmean.laws.tail_fit import Ints, Sides, TailFit, fit_tails
from pdpmean.laws.two_point import Bools

__all__ = ["TOGETHER", "Counted", "Finding", "Reading", "closed_sides", "read_histograms"]

TOGETHER = 32
"""Groups handled at once: with fewer, the interpreter takes longer than the arithmetic; more take much memory."""

_LEAST_NATS = 1.0  # with a smaller total weight a histogram is all noise
_MOST_NATS = 1e12  # with a larger one, sums of doubles are no more exact

# Prior of a population's scale, in half octaves relative to the size of its anchor. The prior is flat within these
# limits. Narrower populations would have a centre of six digits or more. A centre may by chance lie much nearer to zero
# than its population is wide, with a probability that halves for each octave.
_NARROWER_THAN_ANCHOR = 40
_WIDER_THAN_CENTER = 12
_WIDER_THAN_BOUND = 46

# An anchor of zero, or this many half octaves or less from the first cell, has no size to compare with. Then scales
# between 2**-4 and 2**17 are ordinary, and others rare.
_NEXT_TO_ZERO = 40
_ORDINARY = -8, 34  # half octaves from 1

# How fast the log prior falls outside these limits, in nats per cell (half octave).
_PRIOR_SLOPE = math.log(2) / 2
_PRIOR_SLOPE_FROM_ZERO = 0.1

# Scales within `_SAME_BULK` half octaves of the main one belong to one population. Others lose `_NATS_PER_CELL_AWAY`
# nats of log probability for each further half octave.
_SAME_BULK = 12
_NATS_PER_CELL_AWAY = 0.7

# Evidence, in nats of log odds, that a run of cells needs to stand out from the noise. More is needed per half octave
# away from the bulk, so that the false alarms of ever more empty cells have a finite sum; and for each further cell of
# the run.
_STANDS_OUT = 5.0
_STANDS_OUT_PER_CELL_AWAY = 0.45
_STANDS_OUT_PER_CELL_OF_RUN = 1.0
_NEAR_BULK = 4  # half octaves around the bulk that count as no distance from it

_HEAVY = 0.2  # share of the weight in the innermost cell: a side that starts so steeply has no tail towards the anchor
_ALL_SEEN = 1.5  # nats that noise may seem to put elsewhere, when all weight is seen


class Counted(NamedTuple):
    """What is known about the weights behind a step: their total, and how many people they amount to."""

    nats: float
    """Total weight in nats: public and exact, or an estimate."""

    people: float
    """How many equally weighted records would have the same sampling error."""

    nats_std: float = 0.0
    """Standard deviation of `nats`; 0 where the total is public."""


@dataclass(frozen=True, eq=False)
class Reading:
    """What one group's histogram says about its population.

    Reading a histogram takes time and is done once; the reading is kept in its place. Sides are below (0) and above (1)
    the anchor. *Atoms* are the likeliest tails, the support of the posterior.
    """

    finding: Finding
    anchor: float
    first: int
    """Where cells begin; see `Histogram.first`."""

    family: Ints
    """By side and atom, like the next three fields: which family of `tails.py` the tail belongs to."""

    scale: Floats
    """The tail's scale, as a number of cells."""

    mass: Floats
    """Weight on this side, as a share of the weight that is not missing."""

    probability: Floats
    """Posterior probability of the atom; these and `empty` add up to 1 on each side."""

    empty: Floats
    """By side: the probability that nothing lies there."""

    visible: Floats
    """By side: the cell after the outermost one that stands out; 0 where none does."""

    innermost: Floats
    """By side: the innermost cell that stands out, if it holds so much that hardly anything precedes it; else 0."""

    cells: Floats
    """By side: the histogram itself, with which far cells are compared later."""

    center: float
    """Weight at the anchor in nats."""

    missing: float
    """Weight of missing values in nats, as released."""

    nats: float
    """Total weight of the histogram in nats."""

    beyond_bounds: tuple[float, float] = (0.0, 0.0)
    """Weight in nats below the lower and above the upper bound, if it is more than noise; otherwise 0."""

    tail_factors: tuple[float, float] = (1.0, 1.0)
    """By side: how many times more weight the population of interest has there than the one in the histogram.

    They differ if people who grant more, and so weigh more in the histogram, have other values.
    """

    def with_tails(self, factors: tuple[float, float]) -> Reading:
        """The reading for a population with this many times the weight on each side (below, above)."""
        return replace(self, mass=self.mass * np.array(factors)[:, None], tail_factors=factors)


def closed_sides(anchors: Sequence[float], bounds: tuple[float, float]) -> Bools:
    """By anchor and side (below, above): whether the anchor is at that bound, so that no values can lie there."""
    low, high = bounds
    return np.array([(anchor <= low, anchor >= high) for anchor in anchors])


@quietly
def read_histograms(
    histograms: Sequence[Histogram], located: Sequence[Counted], bounds: tuple[float, float]
) -> list[Reading]:
    """One reading per histogram; `located` has the total weight behind each."""
    keep_freed_memory()
    histograms = [histogram.counted_at(Bounds(*bounds)) for histogram in histograms]
    closed = closed_sides([histogram.anchor for histogram in histograms], bounds)
    readings: list[Reading] = []
    for start in range(0, len(histograms), TOGETHER):
        end = start + TOGETHER
        readings += _read(histograms[start:end], located[start:end], closed[start:end])
    return readings


def _read(histograms: Sequence[Histogram], located: Sequence[Counted], closed: Bools) -> Iterator[Reading]:
    """The readings of a few groups; `closed` is as for `Histograms.stack`."""
    stacked = Histograms.stack(histograms, closed)
    nats, people, nats_std = np.array(located, dtype=np.float64).T
    nats = np.clip(nats, _LEAST_NATS, _MOST_NATS)
    present = nats - missing_nodes(stacked.missing, nats, stacked.missing, nats).means
    at_bound = closed[:, 0] | closed[:, 1]
    lumps = find_lumps(stacked.sides, stacked.center, present)
    sides = Sides(
        cells=lumps.others,
        rest=stacked.center + lumps.inside,
        nats=present,
        nats_std=nats_std,
        people=np.clip(people, 1.0, _MOST_NATS),
        log_prior=_log_priors_of_scales(histograms, at_bound),
        closed=closed,
    )
    fit, bulk_probability = _without_distant_scales(fit_tails(sides))
    left_over = LeftOver.from_cells(stacked.sides, stacked.center, present, nats_std)
    seen = _stands_out(left_over, fit)
    findings = findings_of(stacked, sides, fit, seen, bulk_probability, may_miss=~at_bound)
    visible = np.where(seen.any(axis=-1), CELLS - np.argmax(seen[..., ::-1], axis=-1), 0)
    innermost = _steep_starts(stacked.sides, seen, present)
    for number, histogram in enumerate(histograms):
        yield Reading(
            finding=findings[number],
            anchor=histogram.anchor,
            first=histogram.first,
            family=fit.family[number],
            scale=fit.scale[number],
            mass=fit.mass[number],
            probability=fit.probability[number],
            empty=fit.empty[number],
            visible=visible[number].astype(np.float64),
            innermost=innermost[number].astype(np.float64),
            cells=stacked.sides[number],
            center=histogram.center,
            missing=histogram.missing,
            nats=float(nats[number]),
            beyond_bounds=(histogram.below_bound, histogram.above_bound),
        )


def _log_priors_of_scales(histograms: Sequence[Histogram], at_bound: Bools) -> Floats:
    """By group and cell: the log prior probability that the population's scale lies there."""
    return np.array(
        [
            _log_prior_of_scale(histogram.anchor, histogram.first, is_bound=is_bound)
            for histogram, is_bound in zip(histograms, at_bound, strict=True)
        ]
    )


def _log_prior_of_scale(anchor: float, first: int, *, is_bound: bool) -> Floats:
    """The same for one group."""
    anchor_size = 2 * math.frexp(anchor)[1] - first
    low = anchor_size - _NARROWER_THAN_ANCHOR
    high = anchor_size + (_WIDER_THAN_BOUND if is_bound else _WIDER_THAN_CENTER)
    slope = _PRIOR_SLOPE
    if anchor == 0 or anchor_size < _NEXT_TO_ZERO:
        low = _ORDINARY[0] - first
        high = _ORDINARY[1] - first
        slope = _PRIOR_SLOPE_FROM_ZERO
    cell = np.arange(CELLS)
    log_weight = -slope * np.maximum(np.maximum(low - cell, cell - high), 0)
    log_prior: Floats = log_weight - np.log(np.exp(log_weight).sum())
    return log_prior


def _without_distant_scales(fit: TailFit) -> tuple[TailFit, Floats]:
    """The fit without scales far from the bulk, and by group the probability that the bulk lies where it seems to.

    The bulk is the median scale of the side that is more surely occupied. Among many empty cells, noise in one or the
    other looks like a little weight. A clip that reached so far out would be absurdly wide, and a tail there would make
    the mean absurd. So even a small posterior probability of such a scale is reduced further.
    """
    stronger = np.argmin(fit.empty, axis=-1)[:, None]
    bulk = np.take_along_axis(_median_scales(fit), stronger, axis=-1)
    away = np.maximum(np.abs(fit.scale - bulk[..., None]) - _SAME_BULK, 0)
    probability = fit.probability * np.exp(-_NATS_PER_CELL_AWAY * away)
    total = probability.sum(axis=-1) + fit.empty
    near_bulk = np.where(away == 0, fit.probability, 0.0).sum(axis=-1)
    bulk_probability = np.take_along_axis(near_bulk, stronger, axis=-1)[:, 0]
    focused = fit._replace(probability=probability / total[..., None], empty=fit.empty / total)
    return focused, bulk_probability


def _median_scales(fit: TailFit) -> Floats:
    """By group and side: the posterior median of the scale, in cells."""
    order = np.argsort(fit.scale, axis=-1)
    below = np.cumsum(np.take_along_axis(fit.probability, order, axis=-1), axis=-1)
    middle = np.argmax(below >= below[..., -1:] / 2, axis=-1)[..., None]
    medians: Floats = np.take_along_axis(np.take_along_axis(fit.scale, order, axis=-1), middle, axis=-1)[..., 0]
    return medians


def _stands_out(left_over: LeftOver, fit: TailFit) -> Bools:
    """By group, side and cell: whether the cell is more than noise, alone or as part of a run.

    More evidence is asked for far from the bulk, and where the total weight leaves nothing over for the run.
    """
    sides = left_over.cells
    bulk = (fit.probability * fit.scale).sum(axis=-1) / np.maximum(fit.probability.sum(axis=-1), 1e-12)
    stronger = np.argmin(fit.empty, axis=-1)[:, None]
    bulk = np.where(fit.empty > 0.5, np.take_along_axis(bulk, stronger, axis=-1), bulk)
    away = np.maximum(np.abs(np.arange(CELLS) - bulk[..., None]) - _NEAR_BULK, 0)
    runs = evidence(sides)
    further_cells = np.arange(runs.log_odds.shape[-1])
    needed = _STANDS_OUT + _STANDS_OUT_PER_CELL_AWAY * away[..., None] + _STANDS_OUT_PER_CELL_OF_RUN * further_cells
    excess = sums_of_runs(left_over.unoccupied_cells) - left_over.nats[:, None, None, None]
    needed = needed + left_over.penalty(excess)
    seen: Bools = ((runs.log_odds > needed) & (sides[..., None] > 0.6 * runs.level)).any(axis=-1)
    return seen


def _steep_starts(sides: Floats, seen: Bools, nats: Floats) -> Floats:
    """By group and side: the innermost cell that stands out, where the side starts there abruptly; otherwise 0.

    It does if that cell holds much, and the cells from there to the outermost visible one hold all weight.
    """
    start = seen.argmax(axis=-1)[..., None]
    weight_at_start = np.take_along_axis(sides, start, axis=-1)[..., 0]
    cell = np.arange(CELLS)
    last = CELLS - 1 - np.argmax(seen[..., ::-1], axis=-1)[..., None]
    visible_weight = np.where((cell >= start) & (cell <= last), sides, 0.0).sum(axis=-1)
    is_heavy = weight_at_start > _HEAVY * nats[:, None]
    holds_all = visible_weight > nats[:, None] - _ALL_SEEN
    steep = seen.any(axis=-1) & is_heavy & holds_all
    return np.where(steep, start[..., 0], 0)
