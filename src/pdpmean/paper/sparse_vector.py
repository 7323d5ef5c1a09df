"""Algorithm 1, SVT (sparse vector technique): privately find the first query that exceeds a threshold."""

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
    """The index (from 0) of the first query that, with noise, exceeds `threshold`; of the last query if none does.

    Algorithm 1, whose accuracy is Lemma 6, on integers. One person changes each query by at most `sensitivity`; the
    threshold has noise of scale ``2 sensitivity / budget``, and each query noise of scale ``4 sensitivity / budget``.
    The printed loop runs over an infinite sequence and need not stop. This one is finite, and returns the last index
    rather than report that no query passed (docs/errata.md, 4).
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
