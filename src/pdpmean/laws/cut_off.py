"""What clipping cuts off the mean: the part that far cells measure, and the part that tails may hide.

A far cell that clearly holds more than any tail predicts is *measured*: its released content is added to the mean. All
other far cells only inform the posterior over tails (`far_tails.py`), and the loss to those tails is uncertain. `Cut`
holds both parts and their errors, in half widths of the clip.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.far_cells import FAR_EDGES, FAR_PLACE
from pdpmean.laws.far_sums import StackedSums
from pdpmean.laws.far_tails import MISFIT, SEEN_CELLS, FarTails, in_nats
from pdpmean.laws.two_point import Bools

__all__ = ["Cut", "cut_off"]

_EDGES = FAR_EDGES[1 : SEEN_CELLS + 1]  # outer edges of the cells that tell tails apart
_LEAST_FAR = 0.3  # nats: a far cell is read as holding at least this, whatever the noise
_MOST_LOST = 2.0**100  # half widths: keeps squares finite
_TINY = 1e-300  # avoids a division by zero
_LARGEST_QUANTILE = 0.998  # losses beyond this quantile of their distribution are reduced to it


class Cut(NamedTuple):
    """What the sum within the clip lacks, by group, in half widths of the clip."""

    measured: Floats
    """What measured far cells add to the mean."""

    lost: Floats
    """By side and tail: what the clip cuts off besides that, if this tail is the true one; always >= 0."""

    chances: Floats
    """By side and tail: the probability of the tail."""

    values: Floats
    """By side and far cell: what the cell adds to the mean, if its content is not just noise."""

    occupied_probability: Floats
    """By side and far cell: the probability that its content is not just noise."""

    is_measured: Bools
    """By side and far cell: whether the cell is added to the mean, besides all tails."""

    far_noise: Floats
    """By side and far cell: the scale of the Laplace noise in `values`."""

    far_sampling: Floats
    """By side and far cell: the variance of `values` due to sampling."""

    tail_noise: Floats
    """Variance of the loss to tails due to noise: far cells with much weight are believed more than their tail."""

    tail_sampling: Floats
    """Variance of the loss to tails due to sampling."""

    @property
    def noise_variance(self) -> Floats:
        """Variance due to noise, of measured cells (which may be noise altogether) and of the loss to tails."""
        by_cell = 2 * self.far_noise**2 + (1 - self.occupied_probability) * self.values**2
        variance: Floats = np.where(self.is_measured, by_cell, 0).sum(axis=(1, 2)) + self.tail_noise
        return variance

    @property
    def sampling_variance(self) -> Floats:
        """Variance due to sampling, of measured cells and of the loss to tails."""
        variance: Floats = np.where(self.is_measured, self.far_sampling, 0).sum(axis=(1, 2)) + self.tail_sampling
        return variance

    @property
    def certainty(self) -> Floats:
        """How far the loss to tails is known, from 0 to 1: its squared mean over its mean square."""
        mean = (self.chances * self.lost).sum(axis=-1)
        variance = (self.chances * self.lost**2).sum(axis=-1) - mean**2
        square = (mean**2).sum(axis=1)
        certainty: Floats = square / np.maximum(square + np.maximum(variance, 0).sum(axis=1), _TINY)
        return certainty

    @property
    def second_moment(self) -> Floats:
        """What measured far cells add to the mean square of the values."""
        squares: Floats = (np.where(self.is_measured, np.abs(self.values), 0) * FAR_EDGES[1:]).sum(axis=(1, 2))
        return squares


def cut_off(tails: FarTails, sums: StackedSums) -> Cut:
    """What each group's clip cuts off its mean."""
    sign = np.array([-1.0, 1.0])[:, None]
    behind_far = sums.present_behind_far[:, None, None]
    values = sign * np.maximum(sums.far, _LEAST_FAR) / behind_far * FAR_EDGES[1:]
    cells = _shrunk_to_tails(tails, sums)
    lost = tails.gap + _EDGES @ cells.nats / behind_far + tails.beyond
    if not sums.is_public:
        # A far value is not in the total either, so it counts as the mean of the others and not as the middle.
        unseen = cells.nats.sum(axis=-2) / FAR_PLACE / behind_far
        lost -= unseen * sign * np.clip(sums.values / sums.present, -1, 1)[:, None, None]
    lost, chances = _with_empty_side(np.maximum(lost, 0), tails.chances, tails.empty)
    reliance = (cells.reliance @ tails.chances[..., None])[..., 0]
    nats = (cells.nats @ tails.chances[..., None])[..., 0]
    return Cut(
        measured=np.where(sums.is_measured, values, 0).sum(axis=(1, 2)),
        lost=_without_extremes(lost, chances),
        chances=chances,
        values=values,
        occupied_probability=sums.occupied_probability,
        is_measured=sums.is_measured,
        far_noise=np.broadcast_to(FAR_EDGES[1:] / behind_far, values.shape),
        far_sampling=np.abs(values) * FAR_EDGES[1:] / sums.far_people[:, None, None],
        tail_noise=(2 * reliance * (_EDGES / behind_far) ** 2).sum(axis=(1, 2)),
        tail_sampling=(nats / behind_far * _EDGES**2).sum(axis=(1, 2)) / sums.far_people,
    )


class _Cells(NamedTuple):
    """Content of far cells under each tail, by group, side, cell and tail; 0 in measured cells."""

    nats: Floats
    """The content in nats: a compromise between what the tail predicts and what was released."""

    reliance: Floats
    """The weight of the released content in that compromise: near 1 where the tail predicts much, since tails are not
    exact, and near 0 where it predicts less than the noise."""


def _shrunk_to_tails(tails: FarTails, sums: StackedSums) -> _Cells:
    """The released far cells, shrunk towards what each tail predicts."""
    predicted = in_nats(tails.cells, sums.present_behind_far)
    # These are large arrays, so they are changed in place, which is faster.
    reliance = (MISFIT * predicted) ** 2
    reliance /= reliance + 1
    nats = np.maximum(sums.far[..., :SEEN_CELLS, None], 0) - predicted
    nats *= reliance
    nats += predicted
    measured = np.nonzero(sums.is_measured[..., :SEEN_CELLS])
    reliance[measured] = 0.0
    nats[measured] = 0.0
    return _Cells(nats, reliance)


def _with_empty_side(lost: Floats, weight: Floats, empty: Floats) -> tuple[Floats, Floats]:
    """Losses and probabilities with one more entry: the side is empty and nothing is lost.

    The probabilities are normalized, so that they add up to 1 whatever was released.
    """
    lost = np.concatenate([lost, np.zeros_like(lost[..., :1])], axis=-1)
    chances = np.concatenate([weight, empty[..., None] + 1e-12], axis=-1)
    return np.minimum(np.nan_to_num(lost), _MOST_LOST), chances / chances.sum(axis=-1, keepdims=True)


def _without_extremes(lost: Floats, chances: Floats) -> Floats:
    """The losses, limited to a high quantile of their distribution.

    The grid of the error distribution reaches as far as the largest loss, so an improbable one must not be huge.
    """
    order = np.argsort(lost, axis=-1)
    below = np.cumsum(np.take_along_axis(chances, order, axis=-1), axis=-1)
    index = np.argmax(below >= _LARGEST_QUANTILE, axis=-1)[..., None]
    most = np.take_along_axis(np.take_along_axis(lost, order, axis=-1), index, axis=-1)
    return np.minimum(lost, most)
