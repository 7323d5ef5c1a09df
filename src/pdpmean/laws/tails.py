"""Families of tails: how the weight on one side of an anchor may fall with the distance.

No released number says what lies beyond the visible values, so something must be assumed: that each side falls like
one of these families. They are survival functions of the distance d at scale 1, all with a finite variance, and each
has a prior weight. Everyday kinds (normal, exponential, uniform) have most of it; the others bracket columns of money,
counts and durations. `tails()` tabulates them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfc, ndtr

from pdpmean.core.types import Floats

__all__ = ["AFTER", "BEFORE", "FINE", "WINDOW", "Tails", "tails"]

BEFORE, AFTER = 14, 20
"""Half octaves of a family before and after its scale that are compared with the cells of a histogram."""

WINDOW = BEFORE + AFTER
"""Half octaves of a family that are compared with cells."""

FINE = 4
"""Points of the tables per half octave."""

_REACH = 52  # half octaves after the scale in the tables; beyond lies 1e-9 of the mean of the power 2.3
_NODES = 16  # nodes of the integral between two points of the tables

Survival = Callable[[Floats], Floats]
Places = NDArray[np.integer[Any]]


def _log_normal(spread: float, d: Floats, median: float = 1.0) -> Floats:
    return np.asarray(ndtr(-np.log(d / median) / spread))


def _folded_log_normal(spread: float, d: Floats) -> Floats:
    """Falls from the anchor on, and like a log-normal far out: a skewed column seen from its median."""
    return np.asarray(2 * ndtr(-np.log1p(d) / spread))


def _lomax(power: float, d: Floats) -> Floats:
    return np.asarray((1 + d) ** -power)


def _student(power: float, d: Floats) -> Floats:
    return np.asarray((1 + d * d) ** (-power / 2))


def _log_logistic(power: float, d: Floats) -> Floats:
    """A bulk away from the anchor, and a power of the distance beyond it."""
    return np.asarray(1 / (1 + d**power))


def _frechet(power: float, d: Floats) -> Floats:
    return np.asarray(-np.expm1(-(d**-power)))


def _stretched(power: float, d: Floats) -> Floats:
    return np.asarray(np.exp(-(d**power)))


def _even(power: float, d: Floats) -> Floats:
    """Ends at the scale: a uniform distribution for a power of 1, thinning out towards the end for a larger one."""
    return np.asarray(np.clip(1 - d, 0, 1) ** power)


def _one_cell(more: float, d: Floats) -> Floats:
    """Nearly equal values, and a share of `more` a little farther out.

    Without that share, a column of bunched values would be clipped right at its bunch.
    """
    return np.where(d < 0.75, 1.0, more * np.clip((1.9 - d) / 1.15, 0, 1) ** 1.5)


def _with_second(first: Survival, share: float, ratio: float, d: Floats) -> Floats:
    """A second population that is `ratio` times as far away: common, and hard to see."""
    return (1 - share) * first(d) + share * _log_normal(0.4, d, median=ratio)


def _normal(d: Floats) -> Floats:
    return np.asarray(erfc(d / np.sqrt(2)))


def _families() -> Iterator[tuple[float, Survival]]:
    """Prior weight (relative) and survival function of each family, sorted by kind."""
    yield 0.22, _normal
    yield 0.12, partial(_stretched, 1.0)
    yield 0.06, partial(_stretched, 0.7)
    for weight, spread in ((0.045, 0.25), (0.045, 0.5), (0.045, 0.8), (0.045, 1.1), (0.045, 1.5), (0.03, 2.0)):
        yield weight, partial(_log_normal, spread)
    for median in (1.05, 1.16, 1.29):  # narrow for its distance from the anchor, anywhere within a half octave
        yield 0.02, partial(_log_normal, 0.07, median=median)
        yield 0.02, partial(_log_normal, 0.14, median=median)
    for weight, spread in ((0.045, 0.4), (0.045, 0.7), (0.045, 1.0), (0.045, 1.4), (0.03, 1.8)):
        yield weight, partial(_folded_log_normal, spread)
    for weight, power in ((0.03, 2.3), (0.04, 3.0), (0.04, 4.0), (0.04, 6.0)):
        yield weight, partial(_lomax, power)
    for power in (3.0, 5.0):
        yield 0.04, partial(_student, power)
    for weight, power in ((0.10, 1.0), (0.06, 2.0)):
        yield weight, partial(_even, power)
    for power in (3.0, 4.5):
        yield 0.03, partial(_log_logistic, power)
        yield 0.03, partial(_frechet, power)
    for first in (_normal, partial(_log_normal, 0.4), partial(_one_cell, 0.0)):
        for share in (0.08, 0.2):
            for ratio in (4.0, 9.0):
                yield 0.006, partial(_with_second, first, share, ratio)
    for weight, more in ((0.03, 0.0), (0.02, 0.08), (0.02, 0.2)):
        yield weight, partial(_one_cell, more)


class Tails(NamedTuple):
    """Tables of all families at scale 1.

    In `survival` and `beyond`, the points are distances in steps of ``1 / FINE`` half octaves, from `BEFORE` half
    octaves before the scale.
    """

    cells: Floats
    """Weight by family and half octave; the first and the last also hold everything before and after."""

    survival: Floats
    """Weight beyond a distance, by family and point."""

    beyond: Floats
    """Integral of the survival from a distance on, by family and point: what a clip there cuts off the mean."""

    mean: Floats
    """Mean distance, by family."""

    log_prior: Floats
    """Log prior probability, by family."""

    def beyond_points(self, family: Places, steps: Places) -> Floats:
        """The integral of `beyond` at points of the tables; `steps` counts them from the scale."""
        points = self.beyond.shape[1]
        place = np.clip(steps + BEFORE * FINE, 0, points - 1)
        place += family * points
        return self.beyond.take(place)

    def at(self, family: Places, steps: Floats) -> tuple[Floats, Floats]:
        """Survival and its integral at any distances; `steps` are half octaves from the scale."""
        points = self.survival.shape[1]
        position = np.clip((steps + BEFORE) * FINE, 0, points - 1.001)
        place = position.astype(np.int64)
        fraction = np.subtract(position, place, out=position)
        place += family * points
        return _between(self.survival, place, fraction), _between(self.beyond, place, fraction)


def _between(table: Floats, place: Places, fraction: Floats) -> Floats:
    """Linear interpolation between places of the flattened table and the next ones."""
    before = table.take(place)
    between = table.ravel()[1:].take(place)
    between -= before
    between *= fraction
    between += before
    return between


@lru_cache(maxsize=1)
def tails() -> Tails:
    """The tables of all families, computed once."""
    weights, survivals = zip(*_families(), strict=True)
    half_octaves = np.arange(-BEFORE, AFTER + 1) / 2
    points = 2.0 ** (np.arange(-BEFORE * FINE, _REACH * FINE + 1) / (2 * FINE))
    beyond = [_integral_beyond(survival, points) for survival in survivals]
    prior = np.array(weights)
    return Tails(
        cells=np.array([_cell_weights(survival(2.0**half_octaves)) for survival in survivals]),
        survival=np.array([survival(points) for survival in survivals]),
        beyond=np.array(beyond),
        mean=np.array([integral[0] + points[0] for integral in beyond]),
        log_prior=np.log(prior / prior.sum()),
    )


def _cell_weights(survival: Floats) -> Floats:
    """Weight between neighbouring edges, given the survival there; all outside is in the outermost cells."""
    inner = survival[1:-1]
    return -np.diff(np.concatenate([[1.0], inner, [0.0]]))


def _integral_beyond(survival: Survival, points: Floats) -> Floats:
    """Integral of the survival from each point to the last, by the midpoint rule in equal steps of the logarithm."""
    edges = np.geomspace(points[0], points[-1], (points.size - 1) * _NODES + 1)
    middles = np.sqrt(edges[1:] * edges[:-1])
    areas = (survival(middles) * np.diff(edges)).reshape(-1, _NODES).sum(axis=1)
    return np.append(np.cumsum(areas[::-1])[::-1], 0.0)
