"""The paper's theorems and lemmas about error, as functions of public numbers.

They touch neither data nor randomness. Theorems, lemmas and definitions are numbered as in the compiled paper,
where each kind has a counter of its own and the informal theorems of the introduction are Theorems 1 to 4.
"""

from __future__ import annotations

import math
import operator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pdpmean.core.checks import check_budgets, check_positive, check_probability
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.paper.mean_unbounded import bucket_ends
from pdpmean.paper.saturation import saturation

__all__ = ["lower_bound", "ratio_bound", "required_records", "two_stage_bound", "upper_bound"]


def lower_bound(budgets: ArrayLike, sigma: float = 1.0) -> float:
    """The error that, according to the paper, every private estimator reaches with probability at least 1/4.

    Theorem 9 (bounded) and Theorem 12 (unbounded) print the same expression: with budgets ascending, the
    largest over k = 1, ..., n of ``sigma / (sqrt(2) (sum_{i<=k} eps_i + 2 sqrt(n - k)))``. It is infinite if there
    are no records, or if every budget is 0.

    The printed proof does not reach these constants. `pdpmean.lower_bound` does, and exceeds the expression,
    in the bounded model; `pdpmean.laws.lower_bound.stepwise_lower_bound` does in the unbounded one for budgets up to 1
    (docs/lower-bound.md, "The paper's expression").
    """
    check_positive("sigma", sigma)
    ascending = np.sort(check_budgets(budgets))
    if not ascending.any():
        return math.inf
    free = np.arange(ascending.size - 1, -1, -1)
    return sigma / (math.sqrt(2) * float(np.min(np.cumsum(ascending) + 2 * np.sqrt(free))))


def upper_bound(budgets: ArrayLike, sigma: float = 1.0, *, beta: float = 0.05, constant: float = 1.0) -> float:
    """The error that Algorithm 7 stays below with probability 1 - beta, by Theorem 11, up to its constant.

    With k and tau as in `saturation`, ``W = sum_{i<=k} eps_i + (n - k) tau`` and
    ``Q = sum_{i<=k} eps_i**2 + (n - k) tau**2 + 8`` it is `constant` times ::

        sigma log(W) / W * log(log(log(W / (beta tau))) / beta) + sigma sqrt(Q) / W * log(W) log(1 / beta)

    The theorem requires budgets of at most 1 and `required_records`. Each logarithm is taken to be at least 1, since
    for small arguments the printed ones are 0, negative or undefined. The bound is infinite if nobody grants anything,
    or if everybody's value is public, so that W is infinite.
    """
    check_positive("sigma", sigma)
    check_positive("constant", constant)
    check_probability("beta", beta)
    weights = _saturated_sums(check_budgets(budgets))
    if not 0 < weights.total < math.inf:
        return math.inf
    outliers = _log(_log(_log(weights.total / (beta * weights.tau))) / beta)
    sampling = math.sqrt(weights.squares + 8) * _log(1 / beta)
    return constant * sigma * _log(weights.total) / weights.total * (outliers + sampling)


def required_records(
    budgets: ArrayLike,
    *,
    beta: float = 0.05,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    constant: float = 1.0,
) -> int:
    """The number of records, at least 1, that the upper bounds require, up to the constant of their Omega.

    With W as in `upper_bound`, both models need `constant` times
    ``log(log(log(W / beta)) / beta) log(1 / beta) / eps_1`` (Theorem 11), where eps_1 is the smallest budget;
    the unbounded one adds ``log(buckets / beta) / eps_1**1.5`` (Theorem 13), with the number of buckets that
    the public `budget_range` takes, ``floor(log2(eps_max / eps_min)) + 1`` (docs/errata.md, 10). Logarithms are
    at least 1. W is the sum over the given budgets, so the requirement is met if ``len(budgets)`` is at least this
    number.
    """
    check_positive("constant", constant)
    check_probability("beta", beta)
    if model not in ("bounded", "unbounded"):
        raise InvalidInputError(f"model must be 'bounded' or 'unbounded'; got {model!r}", name="model", value=model)
    granted = check_budgets(budgets)
    smallest = _check_smallest(granted)
    if math.isinf(smallest):
        return 1
    total = _saturated_sums(granted).total
    needed = _log(_log(_log(total / beta)) / beta) * _log(1 / beta) / smallest
    if model == "unbounded":
        needed += _log(_number_of_buckets(budget_range) / beta) / smallest**1.5
    return max(1, math.ceil(constant * needed))


def two_stage_bound(values: ArrayLike, rates: ArrayLike, m: int, t: float) -> float:
    """A bound on the probability that the sum of m twice-sampled values exceeds its expectation by t (Lemma 18).

    Every value a_i is kept with its own probability p_i, and m of those kept are then drawn without
    replacement. With ``mu_N = sum p_i``, ``mu_T = sum p_i a_i / mu_N``, ``eta = n max p_i / mu_N``, the width g
    and the variance v of all values, the sum T of the m drawn satisfies ::

        P(T - m mu_T >= t) <= exp(-t**2 / (16 m n v / mu_N + 8/3 g t))
                            + exp(-t**2 mu_N / (32 m**2 eta v + 16/3 g m t)) + exp(-mu_N / 8)

    If fewer than m are kept, that counts as no excess. The printed last term, ``exp(-mu_N / 4)``, does not follow from
    the proof. The proof uses ``exp(-mu_N / 8)`` twice for the same event (that fewer than mu_N / 2 are kept), so once
    is enough. The values need not lie in [0, 1]; only their width matters.
    """
    population = _population(values, rates)
    size = _check_size(m)
    excess = check_positive("t", t)
    subsampling = 16 * size * population.n * population.variance / population.kept + 8 / 3 * population.width * excess
    ratio = 32 * size**2 * population.eta * population.variance + 16 / 3 * population.width * size * excess
    return min(
        1.0,
        _tail(excess**2, subsampling) + _tail(excess**2 * population.kept, ratio) + math.exp(-population.kept / 8),
    )


def ratio_bound(values: ArrayLike, rates: ArrayLike, m: int, t: float) -> float:
    """A bound on the probability that the mean of the kept values exceeds its expectation by t / m (Lemma 19).

    In the notation of `two_stage_bound`, with mu_S the mean of the kept values, ::

        P(m (mu_S - mu_T) >= t) <= exp(-t**2 mu_N / (8 m**2 eta v + 4/3 g m t)) + exp(-mu_N / 8)
    """
    population = _population(values, rates)
    size = _check_size(m)
    excess = check_positive("t", t)
    spread = 8 * size**2 * population.eta * population.variance + 4 / 3 * population.width * size * excess
    return min(1.0, _tail(excess**2 * population.kept, spread) + math.exp(-population.kept / 8))


class _Sums(NamedTuple):
    """The sum and the sum of squares of budgets, where those above tau count as tau."""

    tau: float
    total: float
    squares: float


def _saturated_sums(budgets: Floats) -> _Sums:
    threshold = saturation(budgets)
    below = np.sort(budgets)[: threshold.k]
    above = budgets.size - threshold.k
    total = float(below.sum())
    squares = float((below**2).sum())
    if above:  # tau may be infinite, and 0 * inf would be NaN
        total = total + above * threshold.tau
        squares = squares + above * threshold.tau**2
    return _Sums(threshold.tau, total, squares)


def _log(number: float) -> float:
    """The natural logarithm, but at least 1."""
    return max(1.0, math.log(number))


def _check_smallest(budgets: Floats) -> float:
    """The smallest budget; raises unless it is above 0."""
    smallest = float(budgets.min(initial=math.inf))
    if budgets.size == 0 or smallest == 0:
        raise InvalidInputError(
            "budgets must be above 0 here: the theorems ask for a multiple of 1 / min(budgets) records. "
            "Leave out the records whose budget is 0",
            name="budgets",
            value=smallest,
        )
    return smallest


def _number_of_buckets(budget_range: tuple[float, float] | None) -> int:
    if budget_range is None:
        raise InvalidInputError(
            "model='unbounded' needs budget_range=(smallest, largest): it is public, the budgets are not",
            name="budget_range",
        )
    return bucket_ends(budget_range).size


class _Population(NamedTuple):
    """What the two concentration lemmas use of the values and their rates, in the notation of `two_stage_bound`."""

    n: int
    kept: float
    """The expected number of kept values, mu_N."""
    eta: float
    width: float
    variance: float


def _population(values: ArrayLike, rates: ArrayLike) -> _Population:
    numbers = _column("values", values)
    probabilities = _column("rates", rates)
    if numbers.size != probabilities.size:
        raise InvalidInputError(
            f"values and rates must go together: {numbers.size} values, {probabilities.size} rates", name="rates"
        )
    if not ((probabilities >= 0) & (probabilities <= 1)).all() or not probabilities.any():
        raise InvalidInputError("rates must lie in [0, 1], and one of them above 0", name="rates")
    kept = float(probabilities.sum())
    eta = numbers.size * float(probabilities.max()) / kept
    return _Population(numbers.size, kept, eta, float(np.ptp(numbers)), float(numbers.var()))


def _column(name: str, numbers: ArrayLike) -> Floats:
    """The numbers as an array; raises unless they are one column of finite numbers."""
    try:
        column = np.atleast_1d(np.asarray(numbers, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be numbers", name=name) from None
    if column.ndim != 1 or not np.isfinite(column).all():
        raise InvalidInputError(f"{name} must be one column of finite numbers", name=name)
    return column


def _check_size(m: int) -> int:
    """The number m; raises unless it is a whole number >= 1."""
    try:
        size = operator.index(m)
    except TypeError:
        size = 0
    if size < 1:
        raise InvalidInputError(f"m must be a whole number >= 1; got {m!r}", name="m", value=m)
    return size


def _tail(numerator: float, denominator: float) -> float:
    """exp(-numerator / denominator), which is 0 when all values are equal and nothing can deviate."""
    return math.exp(-numerator / denominator) if denominator > 0 else 0.0
