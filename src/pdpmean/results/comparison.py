"""A comparison of methods by simulation: what users hold after `compare`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pdpmean.core.types import Floats

__all__ = ["Comparison", "Simulated"]

_QUANTILE = 0.75  # one run in four is further off


@dataclass(frozen=True)
class Simulated:
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
        found = self._sorted_errors
        return float(np.quantile(found, _QUANTILE, method="higher")) if found.size else math.nan

    @property
    def error_interval(self) -> tuple[float, float]:
        """A 95 % confidence interval for that error, valid for any distribution of errors."""
        found = self._sorted_errors
        middle, side = _QUANTILE * found.size, 1.96 * math.sqrt(_QUANTILE * (1 - _QUANTILE) * found.size)
        low, high = math.floor(middle - side), math.ceil(middle + side)  # ranks from 1 and, for the upper end, from 0
        return (
            float(found[low - 1]) if low >= 1 else 0.0,
            float(found[high]) if high < found.size else math.inf,
        )

    @property
    def _sorted_errors(self) -> Floats:
        found = np.array([*self.errors, *([math.inf] * self.refused)], dtype=np.float64)
        return np.sort(np.nan_to_num(found, nan=math.inf, posinf=math.inf))

    @property
    def misses(self) -> float:
        """The fraction of answers that are off by more than a standard deviation."""
        return float(np.mean(~(np.array(self.errors) <= 1))) if self.errors else math.nan


@dataclass(frozen=True)
class Comparison:
    """Every method's runs on the same samples, and the lower bound for all private methods."""

    methods: tuple[Simulated, ...]
    lower_bound: float
    model: str
    people: int
    runs: int
    mean: float
    seed: int

    def rows(self) -> list[dict[str, Any]]:
        """One row per method: error and interval, ratio to the lower bound, and how often it missed or refused."""
        return [
            {
                "method": found.name,
                "error": found.error,
                "error_interval": list(found.error_interval),
                "over_bound": found.error / self.lower_bound,
                "misses": found.misses,
                "refused": found.refused / max(1, found.runs),
            }
            for found in self.methods
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
