"""Lower bounds on the error of every private estimator of the mean.

Both functions are theorems about all mechanisms at once. Their proofs, and the test that pins each step, are in
``docs/lower-bound.md``, which uses the names below (splits, free records, steps) in the same sense.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, erfc, erfcinv

from pdpmean.core.checks import check_budgets, check_positive, check_probability
from pdpmean.core.model import check_model_name
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError

__all__ = ["lower_bound", "stepwise_lower_bound"]

# How many steps between neighbours change one value: replace it, or remove it and add the new one.
_STEPS = {"bounded": 1, "unbounded": 2}

# In units of sigma. Normal samples with means this far apart are told apart with certainty, to the last bit.
_BEYOND = 64.0

# Bisection ends at this relative width, far below anything the bound is used for.
_WIDTH = 1e-12

# Up to this many splits, all are tried. Of more, only those whose numbers of free records differ by this ratio.
_ALL_SPLITS = 8192
_RATIO = 1.002


class _Splits(NamedTuple):
    """Ways to split the n records, budgets ascending, into k that pay and n - k that are free; one entry per split."""

    paid: Floats
    """The sum of the first k budgets; twice that if a replacement takes two steps."""
    free: Floats
    """The number n - k of records whose privacy is given up."""
    step: Floats
    """The largest privacy loss of one step among the first k records; inf where the bound does not use it."""


@quietly
def lower_bound(
    budgets: ArrayLike | Mapping[float, int],
    sigma: float = 1.0,
    *,
    probability: float = 0.25,
    model: str = "bounded",
) -> float:
    """An error that every private estimator makes, or exceeds, with at least this probability.

    For every mechanism that keeps each record's loss within its budget there is a mean mu such that, for n
    independent records from N(mu, sigma^2), ``abs(estimate - mu) >= lower_bound(...)`` happens with at least
    `probability`.

    Parameters
    ----------
    budgets
        One budget per record, in any order; or a number, for a single record; or a mapping from a budget to the
        number of records that hold it. 0 and inf are budgets like any other.
    sigma
        Standard deviation of the population.
    probability
        Below 1/2: telling two means apart can always be guessed right half the time.
    model
        "bounded" (neighbours replace a record) or "unbounded" (neighbours add or remove one).

    Returns
    -------
    float
        inf where the budgets are so small that nothing can be said about the mean: without records, and
        wherever the total budget (twice that, if unbounded) is at most ``log((1 - probability) / probability)``.

    Examples
    --------
    >>> from pdpmean.laws.lower_bound import lower_bound
    >>> round(lower_bound([0.01] * 10_000), 6)
    0.013769
    >>> lower_bound({0.01: 10_000}, sigma=2.0) == 2 * lower_bound([0.01] * 10_000)
    True
    >>> lower_bound([0.5, 0.5])
    inf

    """
    return _bound(budgets, sigma, probability, model, stepwise=False)


@quietly
def stepwise_lower_bound(
    budgets: ArrayLike | Mapping[float, int],
    sigma: float = 1.0,
    *,
    probability: float = 0.25,
    model: str = "bounded",
) -> float:
    """A lower bound of the same meaning as `lower_bound`, never below it.

    Where `lower_bound` uses only that two samples are as close as the total budget of the records in which they
    differ, this one also uses that every sample on the way from one to the other is close to the next. With
    many small budgets it is ``2 log 2 / log 3``, or 1.26, times larger, and then no bound that compares two
    means can be larger still: counting signs with Laplace noise attains it.

    Examples
    --------
    >>> from pdpmean.laws.lower_bound import lower_bound, stepwise_lower_bound
    >>> budgets = {0.001: 100_000}
    >>> round(stepwise_lower_bound(budgets) / lower_bound(budgets), 2)
    1.26

    """
    return _bound(budgets, sigma, probability, model, stepwise=True)


def _bound(
    budgets: ArrayLike | Mapping[float, int], sigma: float, probability: float, model: str, *, stepwise: bool
) -> float:
    sigma = check_positive("sigma", sigma)
    slack = 2 * _check_below_half(probability)
    splits = _splits(*_tiers(budgets), steps=_STEPS[check_model_name(model)], stepwise=stepwise)
    return sigma * _largest_shift(splits, slack)


def _check_below_half(probability: float) -> float:
    if check_probability("probability", probability) >= 0.5:
        raise InvalidInputError(
            f"probability must be below 1/2, since two means can be told apart by guessing; got {probability!r}",
            name="probability",
            value=probability,
        )
    return float(probability)


def _tiers(budgets: ArrayLike | Mapping[float, int]) -> tuple[Floats, Floats]:
    """The distinct budgets, ascending, and how many records hold each."""
    if isinstance(budgets, Mapping):
        levels = _exact_budgets(list(budgets.keys()))
        counts = np.array([_check_count(*tier) for tier in budgets.items()], dtype=np.float64)
        order = np.argsort(levels)
        return levels[order], counts[order]
    levels, repeats = np.unique(_exact_budgets(budgets), return_counts=True)
    return levels, repeats.astype(np.float64)


def _exact_budgets(budgets: ArrayLike) -> Floats:
    """The budgets as given, once checked. Checking rounds extreme budgets down, which would raise the lower bound."""
    check_budgets(budgets)
    return np.atleast_1d(np.asarray(budgets, dtype=np.float64))


def _check_count(budget: float, count: int) -> float:
    try:
        if operator.index(count) >= 0:
            return float(count)
    except TypeError:
        pass
    raise InvalidInputError(
        f"a mapping of budgets must give a number of records >= 0 for each; budget {budget!r} has {count!r}",
        name="budgets",
        value=count,
    )


def _splits(levels: Floats, counts: Floats, *, steps: int, stepwise: bool) -> _Splits:
    """The splits at which the bound can be largest: those that part no two records of equal budget.

    Along records of equal budget the total variation bound is a concave function of k, plus another one, so it
    is smallest at an end. A public record (inf) never pays: its share of the total variation would be 1.
    """
    paying = int(np.isfinite(levels).sum())
    with np.errstate(over="ignore"):
        paid = steps * np.cumsum(levels[:paying] * counts[:paying])
    # Summed from the far end, so that it ends in an exact 0 however many records there are.
    free = np.append(np.cumsum(counts[::-1])[::-1], 0.0)[: paying + 1]
    step = levels[:paying] if stepwise else np.full(paying, math.inf)
    return _Splits(np.append(0.0, paid), free, np.append(0.0, step))


def _largest_shift(splits: _Splits, slack: float) -> float:
    """Largest t, in units of sigma, at which some split leaves means -t and t confused with this slack.

    Every split bounds the total variation of the outputs on its own, so leaving splits out can only lower the
    result, and a lower lower bound still holds.
    """
    if _slack(splits, _BEYOND).max() >= slack:
        return math.inf
    shift = math.sqrt(2 / splits.free[0]) * float(erfcinv(slack))  # the split at k = 0, in closed form
    if splits.free.size <= _ALL_SPLITS:
        return _bisect(splits, slack, shift)
    chosen = _thinned(splits.free)
    shift = _bisect(_take(splits, chosen), slack, shift)
    best = int(np.argmax(_slack(_take(splits, chosen), shift)))
    start, stop = chosen[max(best - 1, 0)], np.append(chosen, splits.free.size)[best + 1]
    return _bisect(_take(splits, np.arange(start, stop)), slack, shift)


def _thinned(free: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Which splits to keep, so that the best of them is within a factor of sqrt(_RATIO) of the best of all.

    A kept split in place of one with a larger k and at most _RATIO times fewer free records pays no more, and
    has the same sampling term at a shift that is sqrt(_RATIO) times smaller.
    """
    cell = np.floor(np.log(np.maximum(free, 0.5)) / math.log(_RATIO))
    return np.flatnonzero(np.diff(cell, prepend=math.inf))


def _take(splits: _Splits, chosen: np.ndarray[tuple[int], np.dtype[np.intp]]) -> _Splits:
    return _Splits(splits.paid[chosen], splits.free[chosen], splits.step[chosen])


def _bisect(splits: _Splits, slack: float, low: float) -> float:
    high = _BEYOND
    while high > low * (1 + _WIDTH):
        middle = math.sqrt(low * high)
        if _slack(splits, middle).max() >= slack:
            low = middle
        else:
            high = middle
    return low


def _slack(splits: _Splits, shift: float) -> Floats:
    """One minus the bound on the total variation of the outputs at means -shift and shift, for each split.

    The records that pay add ``1 - exp(-loss/2) / cosh(min(loss, step)/2)``, which is ``tanh(loss/2)`` where no
    step is known to be smaller than the whole loss; the free ones add what n - k plain samples tell.
    """
    loss = erf(shift / math.sqrt(2)) * splits.paid
    step = np.minimum(loss, splits.step)
    log_hidden = math.log(2) - (loss + step) / 2 - np.log1p(np.exp(-step))
    told_by_paid = -np.expm1(log_hidden)
    told_by_free = erf(shift * np.sqrt(splits.free / 2))
    # Subtract the smaller from the complement of the larger, so that a slack near 0 keeps its digits.
    slack: Floats = np.where(
        told_by_paid > told_by_free,
        np.exp(log_hidden) - told_by_free,
        erfc(shift * np.sqrt(splits.free / 2)) - told_by_paid,
    )
    return slack
