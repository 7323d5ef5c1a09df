"""Algorithm 1, SVT: the first query that exceeds a threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pdpmean.core.checks import check_budget
from pdpmean.errors import InvalidInputError
from pdpmean.randomness import Randomness, laplace_scale

__all__ = ["sparse_vector"]


def sparse_vector(
    queries: Sequence[int],
    *,
    threshold: float,
    budget: float,
    sensitivity: int = 1,
    randomness: Randomness | None = None,
) -> int:
    """The index (from 0) of the first query that noisily exceeds `threshold`, the last one if none does.

    Algorithm 1 (SVT, with Lemma 6 for its accuracy) on integers: one person changes no query by more than
    `sensitivity`, the threshold carries noise of scale ``2 sensitivity / budget`` and each query of
    ``4 sensitivity / budget``. The printed loop runs over an endless sequence and need not stop; this one is
    finite, and returns its end rather than tell that nothing passed (docs/errata.md, 4).
    """
    check_budget(budget)
    if not queries:
        raise InvalidInputError("queries must not be empty", name="queries")
    randomness = randomness or Randomness.secure()
    # Queries and noise are integers, and an integer exceeds the threshold when it exceeds its floor.
    noisy_threshold = randomness.add_laplace(math.floor(threshold), laplace_scale(2 * sensitivity, budget))
    query_scale = laplace_scale(4 * sensitivity, budget)
    for index, query in enumerate(queries):
        if randomness.add_laplace(query, query_scale) > noisy_threshold:
            return index
    return len(queries) - 1
