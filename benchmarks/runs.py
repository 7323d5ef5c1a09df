"""Runs: the errors and the coverage of many simulated runs of a method."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binom

from pdpmean import MeanEstimate

LEVELS = (0.80, 0.95, 0.99)


@dataclass
class Runs:
    """The results of the runs of one method on one population."""

    all_errors: list[float] = field(default_factory=list)
    """The error of each run; infinite if it was refused or gave no number."""
    chances_below_truth: list[float] = field(default_factory=list)
    """P(mean <= truth) according to each result: uniformly distributed if the intervals are right."""
    warned: int = 0

    def add(self, estimate: MeanEstimate, truth: float) -> None:
        """Record one answer."""
        self.all_errors.append(abs(estimate.released_mean - truth))
        self.chances_below_truth.append(estimate.law.cdf(truth))
        self.warned += bool(estimate.contradictions or estimate.warnings)

    def refuse(self) -> None:
        """Record that a run was refused."""
        self.all_errors.append(math.inf)

    @property
    def errors(self) -> list[float]:
        """The errors of the runs that gave an answer."""
        return [error for error in self.all_errors if error < math.inf]

    @property
    def refused(self) -> int:
        """The number of runs without an answer."""
        return len(self.all_errors) - len(self.errors)

    @property
    def quantile(self) -> float:
        """The error that one run in four exceeds; infinite if more than a quarter of the runs were refused."""
        return float(np.quantile(self.all_errors, 0.75, method="higher")) if self.all_errors else math.nan

    @property
    def quantile_at_least(self) -> float:
        """A lower confidence bound for that quantile, at the level 99 %."""
        found = np.sort(self.all_errors)
        return float(found[int(binom.ppf(0.01, found.size, 0.75))])

    @property
    def misses(self) -> float:
        """The fraction of answers that are off by more than a standard deviation."""
        return float(np.mean(np.array(self.errors) > 1)) if self.errors else math.nan

    @property
    def coverage(self) -> tuple[float, ...]:
        """The fraction of intervals, at each level, that contain the truth."""
        sides = np.abs(2 * np.array(self.chances_below_truth) - 1)
        return tuple(float(np.mean(sides <= level)) if sides.size else math.nan for level in LEVELS)
