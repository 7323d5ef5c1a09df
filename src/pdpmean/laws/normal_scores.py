"""Normal scores: ranks on the scale of a standard normal variable."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from pdpmean.core.types import Floats

__all__ = ["normal_scores"]


def normal_scores(counts: Floats) -> Floats:
    """The mean normal score of each of several classes of people, in ascending order of their ranks.

    A score is the standard normal quantile at a person's rank; `counts` are the sizes of the classes.
    """
    shares = counts / counts.sum()
    edges = ndtri(np.clip(np.cumsum(shares), 0.0, 1.0)[:-1])
    densities = np.concatenate([[0.0], np.exp(-(edges**2) / 2) / math.sqrt(2 * math.pi), [0.0]])
    scores: Floats = -np.diff(densities) / shares
    return scores
