"""What is cut off by a clip: what far cells have seen of it, and what tails may hide."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.far_cells import FAR_EDGES, FAR_PLACE
from pdpmean.laws.far_sums import Sums
from pdpmean.laws.far_tails import MISFIT, SEEN_CELLS, FarTails, in_nats
from pdpmean.laws.two_point import Bools

__all__ = ["Cut", "cut_off"]

_EDGES = FAR_EDGES[1 : SEEN_CELLS + 1]
_LEAST_FAR = 0.3  # nats of a cell that counts, whatever the noise
_MOST_LOST = 2.0**100  # half widths: so that squares are finite
_FURTHEST = 0.998  # what would be lost with a smaller chance than the rest is taken for no more than this quantile


class Cut(NamedTuple):
    """What the sum within the clip lacks, by group, in half widths of the clip."""

    measured: Floats
    """What far cells add to the mean that hold more than any tail."""

    lost: Floats
    """By side and tail: what is lost to it, beside that."""

    chances: Floats
    values: Floats
    """By side and far cell: what it adds to the mean if it is no noise."""

    real: Floats
    """The chance of that."""

    is_measured: Bools
    """Cells that count, beside all tails."""

    far_noise: Floats
    far_sampling: Floats
    """A variance."""

    tail_noise: Floats
    """The variance of what is lost by noise: of a tail far cells tell as much as they hold more than noise."""

    tail_sampling: Floats
    """The same by who happens to be there."""

    @property
    def noise_variance(self) -> Floats:
        """Of what was measured, which may be noise altogether, and of what is lost to tails."""
        each = 2 * self.far_noise**2 + (1 - self.real) * self.values**2
        variance: Floats = np.where(self.is_measured, each, 0).sum(axis=(1, 2)) + self.tail_noise
        return variance

    @property
    def sampling_variance(self) -> Floats:
        """Of both, by who happens to be there."""
        variance: Floats = np.where(self.is_measured, self.far_sampling, 0).sum(axis=(1, 2)) + self.tail_sampling
        return variance

    @property
    def second_moment(self) -> Floats:
        """Of values in far cells that count."""
        squares: Floats = (np.where(self.is_measured, np.abs(self.values), 0) * FAR_EDGES[1:]).sum(axis=(1, 2))
        return squares


def cut_off(tails: FarTails, sums: Sums) -> Cut:
    """What is cut off each group's mean."""
    sign = np.array([-1.0, 1.0])[:, None]
    behind = sums.behind_far[:, None, None]
    values = sign * np.maximum(sums.far, _LEAST_FAR) / behind * FAR_EDGES[1:]
    cells = _believed(tails, sums)
    lost = tails.gap + cells.nats @ _EDGES / behind + tails.beyond
    if not sums.is_public:  # a far value is not in the total either: it counts as the mean, not as the middle
        unseen = cells.nats.sum(axis=-1) / FAR_PLACE / behind
        lost -= unseen * sign * np.clip(sums.values / sums.present, -1, 1)[:, None, None]
    lost, chances = _with_nothing(np.maximum(lost, 0), tails.chances, tails.empty)
    seen, held = ((tails.chances[..., None, :] @ part)[..., 0, :] for part in (cells.seen, cells.nats))
    return Cut(
        measured=np.where(sums.is_measured, values, 0).sum(axis=(1, 2)),
        lost=_shortened(lost, chances),
        chances=chances,
        values=values,
        real=sums.real,
        is_measured=sums.is_measured,
        far_noise=np.broadcast_to(FAR_EDGES[1:] / behind, values.shape),
        far_sampling=np.abs(values) * FAR_EDGES[1:] / sums.far_people[:, None, None],
        tail_noise=(2 * seen * (_EDGES / behind) ** 2).sum(axis=(1, 2)),
        tail_sampling=(held / behind * _EDGES**2).sum(axis=(1, 2)) / sums.far_people,
    )


class _Cells(NamedTuple):
    """By group, side, tail and far cell; nothing in cells that count anyway."""

    nats: Floats
    """What it holds: between what the tail says and what was seen."""

    seen: Floats
    """How much of that is what was seen: all where it holds much, since tails are not exact, and none where little."""


def _believed(tails: FarTails, sums: Sums) -> _Cells:
    said = in_nats(tails.cells, sums.behind_far)
    inexact = (MISFIT * said) ** 2
    seen = np.where(sums.is_measured[:, :, None, :SEEN_CELLS], 0.0, inexact / (inexact + 1))
    found = np.maximum(sums.far[:, :, None, :SEEN_CELLS], 0)
    nats = np.where(sums.is_measured[:, :, None, :SEEN_CELLS], 0.0, said + seen * (found - said))
    return _Cells(nats, seen)


def _with_nothing(lost: Floats, weight: Floats, empty: Floats) -> tuple[Floats, Floats]:
    """Nothing is lost where a side is empty; chances add up to 1 whatever was released."""
    lost = np.concatenate([lost, np.zeros_like(lost[..., :1])], axis=-1)
    chances = np.concatenate([weight, empty[..., None] + 1e-12], axis=-1)
    return np.minimum(np.nan_to_num(lost), _MOST_LOST), chances / chances.sum(axis=-1, keepdims=True)


def _shortened(lost: Floats, chances: Floats) -> Floats:
    """The law's grid reaches as far as the largest loss, so that one that is hardly likely must not be huge."""
    order = np.argsort(lost, axis=-1)
    below = np.cumsum(np.take_along_axis(chances, order, axis=-1), axis=-1)
    at = np.argmax(below >= _FURTHEST, axis=-1)[..., None]
    most = np.take_along_axis(np.take_along_axis(lost, order, axis=-1), at, axis=-1)
    return np.minimum(lost, most)
