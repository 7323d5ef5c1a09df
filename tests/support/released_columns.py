"""What would be released about a column, with floating-point noise, and what inference makes of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Floats
from pdpmean.laws.clip_ends import choose_clips
from pdpmean.laws.far_cells import FAR_EDGES
from pdpmean.laws.far_mean import FAR_CELLS, FarMean, PrivateTotal, PublicTotal, conclude_means
from pdpmean.laws.histogram import CELLS, Histogram
from pdpmean.laws.reading import Counted, Reading, read_histograms

UNBOUNDED = (-math.inf, math.inf)
Draw = Callable[[np.random.Generator, int], NDArray[np.floating[Any]]]
Clip = tuple[float, float]


@dataclass(frozen=True)
class Column:
    """A population of which samples are taken; all records weigh the same."""

    draw: Draw
    anchor: float
    bounds: tuple[float, float] = UNBOUNDED
    located_nats: float = 100.0
    summed_nats: float = 300.0
    people: int = 1000
    missing: float = 0.0
    private: bool = False
    noise: float = 1.0
    """In units of what the laws believe."""


@dataclass(frozen=True)
class Runs:
    readings: list[Reading]
    clips: list[Clip]
    means: list[FarMean]

    def coverage(self, truth: float, level: float) -> float:
        intervals = (mean.law.interval(level) for mean in self.means)
        return float(np.mean([low <= truth <= high for low, high in intervals]))


def first_cell(anchor: float) -> int:
    return 2 * (math.frexp(anchor)[1] - 32) if anchor else -80


def histogram(values: Floats, nats: float, anchor: float, rng: np.random.Generator, noise: float = 1.0) -> Histogram:
    """Of equal weights that add up to so many nats; NaN is missing."""
    first, weight = first_cell(anchor), nats / values.size
    distance = values - anchor
    with np.errstate(divide="ignore", invalid="ignore"):
        cell = np.floor(2 * np.log2(np.abs(distance))) - first
    near = (distance == 0) | (cell < 0)

    def noisy(count: float | NDArray[Any], size: int | None = None) -> Floats:
        return np.asarray(weight * np.asarray(count) + noise * rng.laplace(size=size))

    def side(sign: int) -> tuple[Floats, float]:
        mine = cell[(sign * distance > 0) & ~near]
        counts = np.bincount(mine[mine < CELLS].astype(int), minlength=CELLS)
        return noisy(counts, CELLS), float(noisy(float(np.sum(mine >= CELLS))))

    (below, far_below), (above, far_above) = side(-1), side(1)
    center = float(noisy(float(np.sum(near))))
    missing = float(noisy(float(np.sum(np.isnan(values)))))
    return Histogram(anchor, first, below, above, far_below, far_above, center, missing)


def sums(
    values: Floats, nats: float, clip: Clip, rng: np.random.Generator, *, private: bool, noise: float = 1.0
) -> PublicTotal | PrivateTotal:
    weight = nats / values.size
    middle, half = (clip[0] + clip[1]) / 2, (clip[1] - clip[0]) / 2
    z = (values - middle) / half
    missing = float(weight * np.isnan(z).sum() + noise * rng.laplace())
    z = z[~np.isnan(z)]
    is_far = np.abs(z) >= FAR_EDGES[0]

    def far(sign: int) -> Floats:
        mine = np.abs(z[is_far & (sign * z > 0)])
        cell = np.minimum(np.searchsorted(FAR_EDGES, mine, side="right") - 1, FAR_CELLS - 1)
        parts = np.minimum(mine / FAR_EDGES[cell + 1], 1)
        return weight * np.bincount(cell, parts, FAR_CELLS) + noise * rng.laplace(size=FAR_CELLS)

    inside = np.clip(z[~is_far], -1, 1)
    u = (inside + 1) / 2
    first, second, third = noise * rng.laplace(size=3)
    if private:
        low, mixed, high = (float(weight * np.sum(part)) for part in ((1 - u) ** 2, 2 * u * (1 - u), u**2))
        return PrivateTotal(low + first, mixed + second, high + third, missing, far(-1), far(1))
    total, spread = float(weight * np.sum(inside)), float(weight * np.sum(1 - inside**2))
    return PublicTotal(total + first, spread + 2 * second, missing, far(-1), far(1))


def run(column: Column, runs: int, seed: int) -> Runs:
    """All steps, on as many samples."""
    rng = np.random.default_rng(seed)
    samples = [column.draw(rng, column.people).astype(np.float64) for _ in range(runs)]
    for sample in samples:
        sample[rng.random(sample.size) < column.missing] = math.nan
    histograms = [histogram(sample, column.located_nats, column.anchor, rng, column.noise) for sample in samples]
    error = 0.02 if column.private else 0.0
    located = [_counted(column.located_nats, column.people, error, rng) for _ in samples]
    summed = [_counted(column.summed_nats, column.people, error, rng) for _ in samples]
    readings = read_histograms(histograms, located, column.bounds)
    clips = choose_clips(readings, summed, column.bounds)
    released = [
        sums(sample, column.summed_nats, clip, rng, private=column.private, noise=column.noise)
        for sample, clip in zip(samples, clips, strict=True)
    ]
    return Runs(readings, clips, conclude_means(readings, clips, released, summed, column.bounds))


def _counted(nats: float, people: int, error: float, rng: np.random.Generator) -> Counted:
    return Counted(nats * (1 + error * rng.standard_normal()), people, error * nats)
