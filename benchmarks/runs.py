"""What came of many runs of a method, whose true answer is known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binom

from pdpmean import MeanEstimate

LEVELS = (0.80, 0.95, 0.99)


@dataclass
class Runs:
    """What came of the runs of one method in one cell; a refused run has no error."""

    all_errors: list[float] = field(default_factory=list)
    """Run by run; infinite where it was refused, or gave no number."""
    places: list[float] = field(default_factory=list)
    """P(mean <= truth) as the result has it: uniform if the intervals are right."""
    warned: int = 0

    def add(self, estimate: MeanEstimate, truth: float) -> None:
        """Note one answer."""
        self.all_errors.append(abs(estimate.mean - truth))
        self.places.append(estimate.law.cdf(truth))
        self.warned += bool(estimate.contradictions or estimate.warnings)

    def refuse(self) -> None:
        """Note that there was no answer."""
        self.all_errors.append(math.inf)

    @property
    def errors(self) -> list[float]:
        """Of the answers."""
        return [error for error in self.all_errors if error < math.inf]

    @property
    def refused(self) -> int:
        """How many runs gave no answer."""
        return len(self.all_errors) - len(self.errors)

    @property
    def quantile(self) -> float:
        """The error that one run in four exceeds; infinite if more than a quarter was refused."""
        return float(np.quantile(self.all_errors, 0.75, method="higher")) if self.all_errors else math.nan

    @property
    def surely(self) -> float:
        """What that quantile is above, but for one time in a hundred by chance."""
        found = np.sort(self.all_errors)
        return float(found[int(binom.ppf(0.01, found.size, 0.75))])

    @property
    def misses(self) -> float:
        """The part of the answers that is off by more than a standard deviation."""
        return float(np.mean(np.array(self.errors) > 1)) if self.errors else math.nan

    @property
    def coverage(self) -> tuple[float, ...]:
        """How often the intervals of each level held the truth."""
        sides = np.abs(2 * np.array(self.places) - 1)
        return tuple(float(np.mean(sides <= level)) if sides.size else math.nan for level in LEVELS)
