"""Compare: how far off this estimator and others are on given budgets, by simulation. Nobody's data is involved."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from pdpmean import paper
from pdpmean.core.checks import check_budgets
from pdpmean.core.model import Model, make_model
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.errors import InsufficientBudgetError, InvalidInputError, PopulationWarning
from pdpmean.estimate import estimate_mean
from pdpmean.laws.lower_bound import lower_bound
from pdpmean.randomness import Randomness
from pdpmean.study.baselines import minimum_mean, oracle, sampling_mean, threshold_mean

__all__ = ["METHODS", "Comparison", "Simulated", "compare", "method", "standard_normals"]

Method = Callable[[Floats, Randomness], float]

METHODS = {
    "pdpmean": "this library",
    "paper": "the paper's algorithm, corrected",
    "threshold": "drop who grants less than a threshold",
    "sampling": "sample people by their budgets",
    "minimum": "everybody at the smallest budget",
    "oracle": "told mean and spread, it only averages",
}
_LARGEST = 2_000_000  # people; a run makes a value for each
_QUANTILE = 0.75  # one run in four is further off
_TRIES = 5  # a method that refused so many runs, and all so far, is taken to refuse the rest


@dataclass(frozen=True)
class Simulated:
    """What came of one method's runs: the errors of its answers, in standard deviations, and how often it refused."""

    name: str
    errors: tuple[float, ...]
    refused: int

    @property
    def runs(self) -> int:
        """How many there were."""
        return len(self.errors) + self.refused

    @property
    def error(self) -> float:
        """The error that one run in four exceeds; infinite if more than a quarter was refused."""
        found = self._sorted_errors
        return float(np.quantile(found, _QUANTILE, method="higher")) if found.size else math.nan

    @property
    def error_interval(self) -> tuple[float, float]:
        """Where that error lies with a certainty of 95 %, for so many runs, whatever the law of the errors."""
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
        """The part of the answers that is off by more than a standard deviation."""
        return float(np.mean(~(np.array(self.errors) <= 1))) if self.errors else math.nan


@dataclass(frozen=True)
class Comparison:
    """Every method's runs on the same samples, and the error that none of them can stay below."""

    methods: tuple[Simulated, ...]
    lower_bound: float
    model: str
    people: int
    runs: int
    mean: float
    seed: int

    def rows(self) -> list[dict[str, Any]]:
        """One row a method: its error and how sure that is, over the lower bound, the parts missed and refused."""
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


@quietly
def compare(
    budgets: ArrayLike | Mapping[float, int],
    *,
    runs: int = 200,
    model: str = "bounded",
    budget_range: tuple[float, float] | None = None,
    mean: float = 10.0,
    seed: int = 0,
    methods: Sequence[str] = tuple(METHODS),
    progress: Callable[[str, int, int | None], None] | None = None,
) -> Comparison:
    """How far off each method is on normal data of these budgets; the same for the same seed.

    Parameters
    ----------
    budgets
        One budget a person, or how many people hold which: ``{0.1: 5400, 0.5: 3700, 1.0: 900}``.
    runs
        How many samples of values to draw; every method sees the same.
    model, budget_range
        As for `estimate_mean`.
    mean
        The population's mean; its standard deviation is 1.
    seed
        Another seed, other samples.
    methods
        Some of `METHODS`.
    progress
        Called as ``progress("run", done, runs)``.

    """
    chosen = make_model(model, budget_range)
    column = _column(budgets)
    if not (isinstance(runs, int) and runs >= 1):
        raise InvalidInputError(f"runs must be 1 or more; got {runs!r}", name="runs", value=runs)
    estimators = {name: method(name, column, chosen, mean) for name in methods}
    found: dict[str, list[float | None]] = {name: [] for name in estimators}
    source = Randomness.seeded(seed)
    for run in range(runs):
        values = standard_normals(source, column.size) + mean
        for name, answers in found.items():
            answers.append(_answer(estimators[name], values, source.spawn(), answers))
        if progress:
            progress("run", run + 1, runs)
    simulated = tuple(_simulated(name, answers, mean) for name, answers in found.items())
    used = chosen.allowances(column) * chosen.budget_per_allowance
    return Comparison(simulated, lower_bound(used, model=chosen.name), chosen.name, column.size, runs, mean, seed)


def method(name: str, budgets: Floats, model: Model, mean: float) -> Method:
    """One of `METHODS` as a function of values and randomness; `mean` is told to the oracle alone."""
    options: dict[str, Any] = {"model": model.name, "budget_range": model.budget_range}
    if name == "paper":
        if model.budgets_are_public:
            return lambda values, randomness: paper.mean_bounded(values, budgets, randomness=randomness)
        del options["model"]
        return lambda values, randomness: paper.mean_unbounded(values, budgets, **options, randomness=randomness)
    if name == "oracle":
        return lambda values, randomness: oracle(values, budgets, mean=mean, std=1.0, **options, randomness=randomness)
    estimators: dict[str, Callable[..., Any]] = {
        "pdpmean": estimate_mean,
        "threshold": threshold_mean,
        "sampling": sampling_mean,
        "minimum": minimum_mean,
    }
    if name not in estimators:
        raise InvalidInputError(
            f"there is no method {name!r}; there are {', '.join(METHODS)}", name="methods", value=name
        )
    estimator = estimators[name]
    return lambda values, randomness: float(estimator(values, budgets, **options, randomness=randomness).mean)


def standard_normals(randomness: Randomness, size: int) -> Floats:
    """Draws from N(0, 1), for simulated people."""
    uniforms = ((randomness.words(size) >> np.uint64(11)) + 0.5) * 2.0**-53
    return np.asarray(ndtri(uniforms), dtype=np.float64)


def _column(budgets: ArrayLike | Mapping[float, int]) -> Floats:
    """One budget a person."""
    if not isinstance(budgets, Mapping):
        return check_budgets(budgets)
    people = np.array(list(budgets.values()), dtype=np.float64)
    if not ((people >= 0) & (people <= _LARGEST)).all() or people.sum() > _LARGEST:
        raise InvalidInputError(f"tiers must have 0 to {_LARGEST:,} people in all to be simulated", name="budgets")
    return np.repeat(check_budgets(list(budgets)), people.astype(np.int64))


def _answer(estimate: Method, values: Floats, randomness: Randomness, before: list[float | None]) -> float | None:
    """The method's answer, or None where it refuses."""
    if len(before) >= _TRIES and not any(answer is not None for answer in before):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PopulationWarning)
            return estimate(values, randomness)
    except InsufficientBudgetError:
        return None


def _simulated(name: str, answers: list[float | None], mean: float) -> Simulated:
    errors = tuple(abs(answer - mean) for answer in answers if answer is not None)
    return Simulated(name, errors, len(answers) - len(errors))
