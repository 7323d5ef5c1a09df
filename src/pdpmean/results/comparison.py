"""`Comparison`: how accurate several methods are in simulations on the same samples, as `compare` returns it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdpmean.core.types import Floats

__all__ = ["Comparison", "MethodRuns"]

_QUANTILE = 0.75  # the quantile of the error that is reported: one run in four errs by more


@dataclass(frozen=True)
class MethodRuns:
    """The outcome of one method's runs: the errors of its answers, in standard deviations, and how often it refused."""

    name: str
    errors: tuple[float, ...]
    refused: int

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.errors) + self.refused

    @property
    def error(self) -> float:
        """The error that one run in four exceeds; infinite if more than a quarter of the runs were refused."""
        errors = self._sorted_errors
        return float(np.quantile(errors, _QUANTILE, method="higher")) if errors.size else math.nan

    @property
    def error_interval(self) -> tuple[float, float]:
        """A 95 % confidence interval for `error`, valid for any distribution of errors."""
        errors = self._sorted_errors
        # The number of errors below the true quantile is binomial, here approximated by a normal.
        middle = _QUANTILE * errors.size
        side = 1.96 * math.sqrt(_QUANTILE * (1 - _QUANTILE) * errors.size)
        # Ranks counted from 1 and, for the upper end, from 0.
        low = math.floor(middle - side)
        high = math.ceil(middle + side)
        return (
            float(errors[low - 1]) if low >= 1 else 0.0,
            float(errors[high]) if high < errors.size else math.inf,
        )

    @property
    def _sorted_errors(self) -> Floats:
        """All errors in ascending order, with refused runs as infinite errors."""
        errors = np.array([*self.errors, *([math.inf] * self.refused)], dtype=np.float64)
        return np.sort(np.nan_to_num(errors, nan=math.inf, posinf=math.inf))

    @property
    def misses(self) -> float:
        """The fraction of answers that are off by more than a standard deviation."""
        return float(np.mean(~(np.array(self.errors) <= 1))) if self.errors else math.nan


@dataclass(frozen=True)
class Comparison:
    """The outcomes of all methods on the same samples, and the lower bound for all private methods."""

    methods: tuple[MethodRuns, ...]
    lower_bound: float
    """The error that one run in four of any private method exceeds, in standard deviations."""
    model: str
    people: int
    runs: int
    mean: float
    """The true mean of the simulated population, in standard deviations."""
    seed: int

    def rows(self) -> list[dict[str, Any]]:
        """One row per method: error and interval, ratio to the lower bound, and how often it missed or refused."""
        return [
            {
                "method": method.name,
                "error": method.error,
                "error_interval": list(method.error_interval),
                "over_bound": method.error / self.lower_bound,
                "misses": method.misses,
                "refused": method.refused / max(1, method.runs),
            }
            for method in self.methods
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON; errors in standard deviations."""
        return {
            "model": self.model,
            "people": self.people,
            "runs": self.runs,
            "mean": self.mean,
            "seed": self.seed,
            "lower_bound": self.lower_bound,
            "methods": self.rows(),
        }
