"""Posterior of the weight of missing values, given what was released with noise.

Most columns have no missing values, so half of the prior is on exactly nothing.
"""

from __future__ import annotations

import math

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.laws.two_point import Nodes

__all__ = ["MOST_MISSING", "NOTHING_MISSING", "missing_nodes"]

NOTHING_MISSING = -math.inf
"""In place of a released weight: it is public that nothing is missing, so no posterior is needed."""

MOST_MISSING = 0.98
"""The largest share of the weight that is considered to be missing."""

_NONE_MISSING = 0.5  # prior probability that nothing is missing
_MEDIAN_MISSING = 4.0  # nats; prior median of the missing weight, if there is any
_REACH = 8.0  # nats to either side of the released weight that the nodes cover
_NODES = 24  # nodes within the reach


def missing_nodes(released: Floats, weights: Floats, earlier: Floats, earlier_weights: Floats) -> Nodes:
    """The posterior of the missing weight of each group, in nats; the first node is that nothing is missing.

    `released` is the missing weight among the total `weights`, `earlier` that among the smaller `earlier_weights` of an
    earlier step. Both were released with Laplace noise of scale 1.
    """
    center = np.clip(released, 0.0, MOST_MISSING * weights)
    start = np.maximum(center - _REACH, 0.0)[:, None]
    width = (center[:, None] + _REACH - start) / _NODES
    some = np.minimum(start + (np.arange(_NODES) + 0.5) * width, MOST_MISSING * weights[:, None])
    prior = (1 - _NONE_MISSING) * _MEDIAN_MISSING / (_MEDIAN_MISSING + some) ** 2 * width
    places = np.concatenate([np.zeros_like(start), some], axis=1)
    prior = np.concatenate([np.full_like(start, _NONE_MISSING), prior], axis=1)
    ratio = (earlier_weights / weights)[:, None]
    distance = np.abs(center[:, None] - places) + np.abs(np.maximum(earlier, 0.0)[:, None] - ratio * places)
    posterior = prior * np.exp(distance.min(axis=1, keepdims=True) - distance)
    posterior[released == NOTHING_MISSING, 1:] = 0.0
    return Nodes(places, posterior / posterior.sum(axis=1, keepdims=True))
