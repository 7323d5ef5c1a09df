"""How much weight is missing, from noisy numbers: most often nothing."""

from __future__ import annotations

import math

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.two_point import Nodes

__all__ = ["MOST_MISSING", "NOTHING_MISSING", "missing_nodes"]

NOTHING_MISSING = -math.inf
"""In place of a released weight: publicly nothing is missing, whatever was released."""

_NONE_MISSING = 0.5  # prior: nothing is missing
_SOME_MISSING = 4.0  # nats; prior of what is missing otherwise: half of it below
MOST_MISSING = 0.98  # of all weight
_REACH, _NODES = 8.0, 24  # nats to either side of what was released


def missing_nodes(released: Floats, weights: Floats, earlier: Floats, earlier_weights: Floats) -> Nodes:
    """By group: nothing (the first node), or anything up to nearly all.

    Of the weight missing from `weights`, and from the smaller `earlier_weights` of an earlier step; both released with
    noise of scale 1.
    """
    center = np.clip(released, 0.0, MOST_MISSING * weights)
    start = np.maximum(center - _REACH, 0.0)[:, None]
    width = (center[:, None] + _REACH - start) / _NODES
    some = np.minimum(start + (np.arange(_NODES) + 0.5) * width, MOST_MISSING * weights[:, None])
    prior = (1 - _NONE_MISSING) * _SOME_MISSING / (_SOME_MISSING + some) ** 2 * width
    places = np.concatenate([np.zeros_like(start), some], axis=1)
    prior = np.concatenate([np.full_like(start, _NONE_MISSING), prior], axis=1)
    parts = (earlier_weights / weights)[:, None]
    off = np.abs(center[:, None] - places) + np.abs(np.maximum(earlier, 0.0)[:, None] - parts * places)
    likely = prior * np.exp(off.min(axis=1, keepdims=True) - off)
    likely[released == NOTHING_MISSING, 1:] = 0.0
    return Nodes(places, likely / likely.sum(axis=1, keepdims=True))
