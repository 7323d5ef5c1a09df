"""Extent: how far a population of any shape reaches to either side of its centre, by two sparse vectors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.types import Floats
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.planning.any_shape import REACH_FACTOR, TAIL_NATS
from pdpmean.randomness import Randomness

__all__ = ["find_extent", "first_small_tail"]

_PLACES = range(-2140, 2041)  # reaches of 2**(place / 2) are tried
_QUERY_SCALE, _THRESHOLD_SCALE = 4 * WEIGHT_UNIT, math.nextafter(4 * WEIGHT_UNIT / 3, math.inf)


def find_extent(
    values: Floats, center: float, weights: NDArray[np.int64], smallest: float, randomness: Randomness
) -> tuple[float, float]:
    """How far below and above the centre to clip: three times where, noisily, at most 16 nats of weight lie beyond.

    Record i's loss is ``weights[i] / WEIGHT_UNIT``, since it lies on one side at most. Missing values, and those at the
    centre, are on neither. Reaches much below `smallest` are not tried.
    """
    with np.errstate(all="ignore"):
        offsets = values - center
    first = max(2 * math.frexp(smallest)[1], _PLACES.start)
    below, above = (_reach(side, weights, first, randomness) for side in (-offsets, offsets))
    return below, above


def _reach(distances: Floats, weights: NDArray[np.int64], first: int, randomness: Randomness) -> float:
    beyond = distances > 0
    fractions, exponents = np.frexp(distances[beyond])
    places = np.where(np.isinf(fractions), _PLACES.stop, 2 * exponents - (fractions <= math.sqrt(0.5)))
    sums = np.zeros(_PLACES.stop - first + 1, dtype=np.int64)
    np.add.at(sums, np.clip(places - first, 0, sums.size - 1), weights[beyond])
    tails = (np.cumsum(sums[::-1])[::-1] - sums)[:-1]
    octave, half = divmod(first + first_small_tail(tails.tolist(), randomness), 2)
    return REACH_FACTOR * math.ldexp(math.sqrt(2) if half else 1.0, octave)


def first_small_tail(tails: list[int], randomness: Randomness) -> int:
    """The first index whose tail is noisily at most 16 nats; the last one if none is.

    A sparse vector for queries that one record can only raise, by at most its weight w, all together. With threshold
    noise of scale 4/3 and query noise of scale 4 its loss is at most 3 w / 4 + w / 4 (docs/guarantee.md, "Extent").
    """
    threshold = randomness.add_laplace(TAIL_NATS * WEIGHT_UNIT, _THRESHOLD_SCALE)
    for index, tail in enumerate(tails):
        if not randomness.add_laplace(tail, _QUERY_SCALE) > threshold:
            return index
    return len(tails) - 1
