"""The paper's forms as printed, where they fail. For tests only: NOT private, NOT correct, never shipped.

Each function takes one line of Dong and Ge (arXiv 2601.15682) at its word; `docs/errata.md` says which line, and
`tests/test_errata.py` runs the counterexample. Nothing in `src/` may import this module.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DISTANCE_AFTER_SAMPLING = 2  # 11: "differ by at most two elements"
OPTIMALITY_CONSTANT = math.sqrt(256 / 443)  # 18: Lemma 12
PARALLEL_COMPOSITION_FACTOR = 1  # 19: Lemmas 3 and 10, said to hold for both neighbour relations


def rates_of_algorithm_6(budgets: Floats, tau: float) -> Floats:
    """1: ``eps_i / tau``, 1 from tau on."""
    return np.minimum(budgets / tau, 1.0)


def rates_of_the_text(budgets: Floats, tau: float) -> Floats:
    """1: ``eps_i / (2 tau)``, 1/2 from tau on."""
    return np.minimum(budgets / (2 * tau), 0.5)


def quantile_law(
    values: Sequence[int], rank: float, budget: float, grid: Sequence[int], beta: float
) -> dict[int, float] | None:
    """2: the law of Algorithm 2, which moves the rank by a branch on ``len(values)``; None if no such rank exists."""
    slack = 2 / budget * math.log(len(grid) / beta)
    if rank < slack:
        rank = slack
    elif rank > len(values) - slack:
        rank = len(values) - slack
    position = round(rank)
    if not 1 <= position <= len(values):
        return None  # no data set of this size has such a quantile, so every score is minus infinity
    scores = {y: -_changes_until_quantile(values, position, y) for y in grid}
    total = sum(math.exp(budget * score / 2) for score in scores.values())
    return {y: math.exp(budget * score / 2) / total for y, score in scores.items()}


def _changes_until_quantile(values: Sequence[int], position: int, y: int) -> int:
    """How many values must change for the one at `position` (from 1, ascending) to be y."""
    below, up_to = sum(value < y for value in values), sum(value <= y for value in values)
    return max(below - position + 1, position - up_to, 0)


def count_scale(left: float) -> float:
    """3: the noise on the size of the bucket ``[left, 2 left)`` in Algorithm 8."""
    return 1 / left


def sparse_vector(queries: Iterable[int], threshold: float, query_noise: Iterable[float]) -> int:
    """4: the loop of Algorithm 1, index from 1, over a sequence that need not end; the noise is handed in."""
    for index, (query, noise) in enumerate(zip(queries, query_noise, strict=False), start=1):
        if query + noise > threshold:
            return index
    raise AssertionError("the sequence was endless, and ended")


def without_placeholder(values: Floats) -> Floats:
    """5: ``D intersected with the positive numbers``."""
    return values[values > 0]


def radius(index: int, spacing: float) -> float:
    """6: what Algorithm 5 returns for the query at `index`, counted from 1; that query was at 2**(index - 1) b."""
    return 2.0 ** (index - 2) * spacing


def median_rank(rates: Floats) -> float:
    """7: half the expected number of survivors."""
    return float(rates.sum()) / 2


def adpm_weights(budgets: Sequence[float]) -> list[float]:
    """8: the running minimum of Algorithm 3, unnormalised."""
    ascending = sorted(budgets)
    weights = ascending[:1]
    for k in range(1, len(ascending)):
        before = ascending[:k]
        weights.append(min(ascending[k], (sum(budget**2 for budget in before) + 8) / sum(before)))
    return weights


def saturation_index(budgets: Sequence[float]) -> int:
    """9: ``min(argmax_j eps_j < (sum_{i<=j} eps_i^2 + 8) / sum_{i<=j} eps_i)``, j from 1."""
    ascending = sorted(budgets)
    below = [
        j
        for j in range(1, len(ascending) + 1)
        if ascending[j - 1] < (sum(budget**2 for budget in ascending[:j]) + 8) / sum(ascending[:j])
    ]
    largest = max(ascending[j - 1] for j in below)
    return min(j for j in below if ascending[j - 1] == largest)


def number_of_buckets(low: float, high: float) -> int:
    """10: ``floor(log2 T)``."""
    return math.floor(math.log2(high / low))


def count_offset(left: float, buckets: int, beta: float) -> float:
    """10: what is taken off a noisy size, with the printed number of buckets."""
    return 1 / left * math.log(2 * buckets / beta)


def normal_distance(t: float, sigma: float) -> float:
    """12: the total variation distance of N(-t, sigma^2) and N(t, sigma^2)."""
    return math.erf(t / sigma) / math.sqrt(2)


def sample_or_pad(values: Floats, order: NDArray[Any], size: int) -> Floats:
    """13: WORSample, padded with zeros."""
    drawn = values[order[:size]]
    return np.concatenate([drawn, np.zeros(size - drawn.size)])


def pair_distances(values: Floats) -> Floats:
    """14: pairs among the survivors, here in the order they come."""
    pairs = values.size // 2
    return np.abs(values[0 : 2 * pairs : 2] - values[1 : 2 * pairs : 2])


def chance_of_few_survivors(expected: float) -> float:
    """15: the last term of Lemma 18."""
    return math.exp(-expected / 4)


def proof_noise_scale(width: float, total: float) -> float:
    """16: the noise in the proof of Theorem 11."""
    return 8 * width / total


def spacing(outward: int, inward: int) -> float:
    """17: the end of Algorithm 4, both indices counted from 1."""
    size = 2.0 ** (outward - 2) if outward > 1 else 2.0**-inward
    return size / 2


def noisy_size(size: int, left: float, buckets: int, beta: float, laplace: float) -> float:
    """20: the number of elements that Algorithm 8 draws, for a standard Laplace variable."""
    return size + laplace / left - count_offset(left, buckets, beta)


def deleted_at_most(left: float, buckets: int, beta: float) -> float:
    """21: the bound on the records taken from one bucket in the proof of Theorem 13."""
    return 1 / left * math.log(buckets / beta)


def records_for_the_spacing(smallest_budget: float, beta: float, sigma: float) -> float:
    """22: what Lemma 16 asks of n, with the constant 1."""
    return (math.log(1 / beta) + math.log(math.log(1 / sigma))) / smallest_budget


def weighted_mean_scale(values: Sequence[float], weights: Sequence[float], budget: float) -> float:
    """23: the noise of Lemma 11, taken from the range of the data at hand."""
    return (max(values) - min(values)) * max(weights) / budget
