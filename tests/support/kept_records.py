"""Records with known rates, and whether as many of them were kept as independent coins keep, singly and in pairs.

A count is accepted if it lies in the central range of its binomial law, which all but one in a million do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rules import UNCAPPED
from scipy.stats import binom
from source_builders import Rows

from pdpmean.core.model import BOUNDED
from pdpmean.core.types import Floats
from pdpmean.passes.thinning import Thinning

ONE_IN_A_MILLION = 1e-6
Strata = dict[Any, tuple[int, int]]  # of each rate: how many there are, and how many of them were kept
ASKED = ("north", "south")
# Of each group; of all, where there are none.
DENSITIES: dict[str | None, float] = {None: 0.1, "north": 0.1, "south": 0.15, "west": 0.0}


def rule_of(groups: tuple[str, ...] | None, factor: float = 1.0) -> Thinning:
    """Keeps a record of budget b with probability b / 20, in the south 3 b / 40; the rates of mutants have a factor."""
    densities = [DENSITIES[None]] if groups is None else [*(DENSITIES[group] for group in groups), 0.0]
    ones = np.ones(len(densities))
    return Thinning(BOUNDED, ones, ones, UNCAPPED * ones, 4.0 * ones, factor * np.array(densities))


def rates_of(rows: Rows, groups: tuple[str, ...] | None) -> list[float]:
    """The rate of each record, by hand."""
    labels = [None] * len(rows.regions) if groups is None else rows.regions
    return [budget / 2 * DENSITIES[label] for budget, label in zip(rows.budgets.tolist(), labels, strict=True)]


def rows_of(budgets: Sequence[float], regions: Sequence[str]) -> Rows:
    """Records whose values are their numbers."""
    return Rows(np.arange(float(len(budgets))), np.array(budgets), list(regions), list(range(len(budgets))))


def central_range(count: int, rate: float) -> tuple[float, float]:
    """Where a binomial count lies but for one in a million."""
    tails = ONE_IN_A_MILLION / 2, 1 - ONE_IN_A_MILLION / 2
    low, high = (float(binom.ppf(tail, count, rate)) for tail in tails)
    return low, high


def accepted(strata: Strata, rate: Callable[[Any], float]) -> bool:
    """Whether all counts are in their ranges."""
    ranges = {key: central_range(count, rate(key)) for key, (count, _) in strata.items()}
    return all(ranges[key][0] <= kept <= ranges[key][1] for key, (_, kept) in strata.items())


def chance_of_acceptance(strata: Strata, factor: float) -> float:
    """The probability with which records that are kept so many times too often are accepted all the same."""
    ranges = {rate: central_range(count, rate) for rate, (count, _) in strata.items()}
    chances = [binom.cdf(ranges[rate][1], count, factor * rate) for rate, (count, _) in strata.items()]
    return float(np.prod(chances))


def single_rates(rates: Floats, kept: NDArray[np.bool_]) -> Strata:
    return {rate: (int((rates == rate).sum()), int(kept[rates == rate].sum())) for rate in np.unique(rates).tolist()}


def pair_rates(rates: Floats, kept: NDArray[np.bool_], pairs: NDArray[np.intp]) -> Strata:
    """Of pairs of records, which have none in common, by both rates: how many there are, and are both kept."""
    first, second = pairs.T
    both = kept[first] & kept[second]
    strata: Strata = {}
    for one, other in itertools.product(np.unique(rates).tolist(), repeat=2):
        own = (rates[first] == one) & (rates[second] == other)
        strata[one, other] = int(own.sum()), int(both[own].sum())
    return {key: counts for key, counts in strata.items() if counts[0]}


def kept_flags(values: Floats, count: int) -> NDArray[np.bool_]:
    """Who is kept; nobody twice."""
    times = np.bincount(values.astype(np.int64), minlength=count)
    assert times.max() <= 1
    return times > 0
