"""What is cut off by a clip: what far cells have seen of it, and what tails may hide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.far_cells import FAR_EDGES, Geometry
from pdpmean.laws.far_sums import Sums
from pdpmean.laws.reading import Reading
from pdpmean.laws.tail_atoms import Beyond, TailAtoms, stack_atoms
from pdpmean.laws.two_point import Bools

__all__ = ["Cut", "cut_off"]

_LIKELIEST = 32  # atoms; the others have next to no chance together
_LEARNT_FROM = 12  # far cells that tell tails apart: those farther out are empty in all of them
_WORST = 6.0  # nats that a single far cell may say against a tail
_MOST_LOST = 2.0**100  # half widths: so that squares are finite
# Beyond what can be seen no tail is exactly one of those thought of: it may hold less or more, with these chances,
_LESS_OR_MORE = ((0.4, 0.2), (1.0, 0.4), (2.5, 0.2))
# or go on like a power of the distance, as those of money and of counts often do after a bulk that falls faster.
_POWER = 2.5
_LIKE_A_POWER = 0.2
_FURTHEST = 0.998  # what would be lost with a smaller chance than the rest is taken for no more than this quantile


class Cut(NamedTuple):
    """What the sum within the clip lacks, by group, in half widths of the clip."""

    measured: Floats
    """What far cells add to the mean beyond doubt."""

    lost: Floats
    """By side and atom: what is lost to a tail, beside that."""

    chances: Floats
    values: Floats
    """By side and far cell: what it adds to the mean if it is no noise."""

    real: Floats
    """The chance of that."""

    is_measured: Bools
    """Cells that count."""

    far_noise: Floats
    far_sampling: Floats
    """A variance."""

    @property
    def variance(self) -> Floats:
        """Of what is lost."""
        mean = (self.lost * self.chances).sum(axis=-1)
        square = (self.lost**2 * self.chances).sum(axis=-1)
        variance: Floats = (square - mean**2).sum(axis=-1)
        return np.maximum(variance, 0)

    @property
    def noise_variance(self) -> Floats:
        """Of what was measured, which may be noise altogether."""
        each = 2 * self.far_noise**2 + (1 - self.real) * self.values**2
        variance: Floats = np.where(self.is_measured, each, 0).sum(axis=(1, 2))
        return variance

    @property
    def sampling_variance(self) -> Floats:
        """Of what was measured, by who happens to be there."""
        variance: Floats = np.where(self.is_measured, self.far_sampling, 0).sum(axis=(1, 2))
        return variance

    @property
    def second_moment(self) -> Floats:
        """Of values in far cells."""
        squares: Floats = (np.where(self.is_measured, np.abs(self.values), 0) * FAR_EDGES[1:]).sum(axis=(1, 2))
        return squares


def cut_off(
    readings: Sequence[Reading], clips: Sequence[tuple[float, float]], sums: Sums, bounds: tuple[float, float]
) -> Cut:
    """What is cut off each group's mean."""
    geometry = Geometry.of(readings, clips, bounds)
    atoms = stack_atoms(readings, geometry.log_unit, geometry.limit).likeliest(_LIKELIEST)
    atoms = atoms.from_other_side(geometry.ends < 0)
    sign = np.array([-1.0, 1.0])[:, None]
    present = sums.present[:, None, None]
    values = sign * np.maximum(sums.far, 0.3) / present * FAR_EDGES[1:]
    losses = _losses(atoms, geometry, _seen_up_to(readings, geometry))
    weight, empty = _learn(losses, atoms, sums)
    measured = sums.is_measured[:, :, None, :_LEARNT_FROM]
    lost = losses.whole - (losses.cells * measured).sum(axis=-1)
    if not sums.is_public:  # an unseen far value is not in the total either: it counts as the mean, not as the middle
        unseen = losses.far - (losses.cells / FAR_EDGES[1 : _LEARNT_FROM + 1] * measured).sum(axis=-1)
        lost -= np.maximum(unseen, 0) * sign * np.clip(sums.values / sums.present, -1, 1)[:, None, None]
    lost, chances = _with_nothing(np.maximum(lost, 0), weight, empty)
    return Cut(
        measured=np.where(sums.is_measured, values, 0).sum(axis=(1, 2)),
        lost=_shortened(lost, chances),
        chances=chances,
        values=values,
        real=sums.real,
        is_measured=sums.is_measured,
        far_noise=np.broadcast_to(FAR_EDGES[1:] / present, values.shape),
        far_sampling=np.abs(values) * FAR_EDGES[1:] / sums.people[:, None, None],
    )


def _seen_up_to(readings: Sequence[Reading], geometry: Geometry) -> Floats:
    """By group and side: the distance up to which the histogram shows how a tail falls, within the clip."""
    visible = np.array([reading.visible for reading in readings])
    distances = np.where(visible > 0, 2 ** ((visible - geometry.log_unit[:, None]) / 2), 0.0)
    return np.minimum(distances, np.maximum(geometry.ends, 0.0))


class _Losses(NamedTuple):
    """By group, side and atom, of which there are several in place of each: as its family falls, and as it may."""

    whole: Floats
    far: Floats
    """Weight in far cells, as a share."""

    cells: Floats
    """The part that far cells see, by cell."""


def _losses(atoms: TailAtoms, geometry: Geometry, seen: Floats) -> _Losses:
    """A value just beyond the clip counts as its end; one in a far cell counts as the middle, and in that cell."""
    edges = FAR_EDGES[: _LEARNT_FROM + 1]
    distances = geometry.ends[..., None] + np.append(0.0, edges - 1)
    cut = atoms.beyond(np.maximum(distances, 0))
    like_a_power = atoms.beyond_like_a_power(seen, np.maximum(distances, 0), _POWER)
    raised = (geometry.ends < 0)[..., None, None]
    if raised.any():
        nearer = atoms.within(-distances)
        cut = Beyond(*(np.where(raised, inner, outer) for inner, outer in zip(nearer, cut, strict=True)))
        like_a_power = Beyond(*(np.where(raised, 0.0, outer) for outer in like_a_power))
    weight, excess = (
        np.concatenate([*(factor * as_family for factor, _ in _LESS_OR_MORE), as_power], axis=2)
        for as_family, as_power in zip(cut, like_a_power, strict=True)
    )
    moment = excess[..., 1:] + weight[..., 1:] * edges
    return _Losses(
        whole=excess[..., 0] + weight[..., 1],
        far=weight[..., 1],
        cells=np.maximum(moment[..., :-1] - moment[..., 1:], 0),
    )


def _learn(losses: _Losses, atoms: TailAtoms, sums: Sums) -> tuple[Floats, Floats]:
    """Chances of atoms and of nothing, given far cells: they saw the tails with all the weight of the sum."""
    far = sums.far[:, :, None, :_LEARNT_FROM]
    expected = sums.present[:, None, None, None] * losses.cells / FAR_EDGES[1 : _LEARNT_FROM + 1]
    off = np.abs(far - expected)
    log = (np.maximum(-off, -np.abs(far) - _WORST) + np.abs(far)).sum(axis=-1)
    top = np.maximum(log.max(axis=-1), 0)
    before = np.concatenate([*(chance * atoms.weight for _, chance in _LESS_OR_MORE), _LIKE_A_POWER * atoms.weight], 2)
    weight = before * np.exp(log - top[..., None])
    empty = atoms.empty * np.exp(-top)
    total = np.maximum(weight.sum(axis=-1) + empty, 1e-300)
    return weight / total[..., None], empty / total


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
