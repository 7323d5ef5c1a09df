"""Compare: the errors of this estimator and of others for given budgets, by simulation.

All values are simulated; no data is read.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

import pdpmean.paper as paper
from pdpmean.core.checks import check_budgets
from pdpmean.core.likely_budgets import warning_of_budgets
from pdpmean.core.model import Model, make_model
from pdpmean.core.quiet import quietly
from pdpmean.core.types import Floats
from pdpmean.errors import BudgetWarning, InsufficientBudgetError, InvalidInputError, PopulationWarning
from pdpmean.estimate import estimate_mean
from pdpmean.laws.lower_bound import lower_bound
from pdpmean.randomness import Randomness
from pdpmean.results.comparison import Comparison, MethodRuns
from pdpmean.study.baselines import minimum_mean, oracle, sampling_mean, threshold_mean

__all__ = ["METHODS", "compare", "method", "standard_normals"]

Method = Callable[[Floats, Randomness], float]

METHODS = {
    "pdpmean": "this library",
    "paper": "the paper's algorithm, corrected",
    "threshold": "drop everyone below a threshold",
    "sampling": "sample people by their budgets",
    "minimum": "everybody at the smallest budget",
    "oracle": "is told mean and spread, and only averages",
}
_MOST_PEOPLE = 2_000_000  # in total; every run simulates a value for each of them
_REFUSALS_TO_STOP = 5  # a method that has refused all of its first 5 runs is taken to refuse all others


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
    """The error of each method on simulated normal data with these budgets; the same for the same seed.

    Parameters
    ----------
    budgets
        One budget per person, or the number of people at each: ``{0.1: 5400, 0.5: 3700, 1.0: 900}``.
    runs
        How many samples to simulate; every method sees the same samples.
    model, budget_range
        As for `estimate_mean`.
    mean
        The population's mean; its standard deviation is 1.
    seed
        The seed of the simulated samples.
    methods
        Some of `METHODS`.
    progress
        Called as ``progress("run", done, runs)``.

    """
    chosen = make_model(model, budget_range)
    column = _column(budgets)
    if not (isinstance(runs, int) and runs >= 1):
        raise InvalidInputError(f"runs must be 1 or more; got {runs!r}", name="runs", value=runs)
    allowances = chosen.allowances(column)
    everybody = [(allowances, np.ones(column.size))]
    unlikely = warning_of_budgets(chosen, 1.0, everybody)
    if unlikely:
        warnings.warn(unlikely, BudgetWarning, stacklevel=3)  # above the wrapper that makes this function quiet
    estimators = {name: method(name, column, chosen, mean) for name in methods}
    answers_by_method: dict[str, list[float | None]] = {name: [] for name in estimators}
    source = Randomness.seeded(seed)
    for run in range(runs):
        values = standard_normals(source, column.size) + mean
        for name, answers in answers_by_method.items():
            answers.append(_answer(estimators[name], values, source.spawn(), answers))
        if progress:
            progress("run", run + 1, runs)
    simulated = tuple(_simulated(name, answers, mean) for name, answers in answers_by_method.items())
    return Comparison(
        methods=simulated,
        lower_bound=lower_bound(allowances * chosen.budget_per_allowance, model=chosen.name),
        model=chosen.name,
        people=column.size,
        runs=runs,
        mean=mean,
        seed=seed,
    )


def method(name: str, budgets: Floats, model: Model, mean: float) -> Method:
    """One of `METHODS` as a function of values and randomness. Only the oracle is told the `mean`."""
    options: dict[str, Any] = {"model": model.name, "budget_range": model.budget_range}
    if name == "paper":
        if model.budgets_are_public:
            return lambda values, randomness: paper.mean_bounded(values, budgets, randomness=randomness)
        del options["model"]
        return lambda values, randomness: paper.mean_unbounded(values, budgets, **options, randomness=randomness)
    if name == "oracle":
        return lambda values, randomness: oracle(values, budgets, mean=mean, std=1.0, **options, randomness=randomness)
    estimators: dict[str, Callable[..., Any]] = {
        "pdpmean": partial(estimate_mean, shape="gaussian"),  # which all other methods assume, too
        "threshold": threshold_mean,
        "sampling": sampling_mean,
        "minimum": minimum_mean,
    }
    if name not in estimators:
        raise InvalidInputError(
            f"there is no method {name!r}; there are {', '.join(METHODS)}", name="methods", value=name
        )
    estimator = estimators[name]
    return lambda values, randomness: float(estimator(values, budgets, **options, randomness=randomness).released_mean)


def standard_normals(randomness: Randomness, size: int) -> Floats:
    """Independent draws from N(0, 1), by inverting the distribution function; for simulated values."""
    uniforms = ((randomness.words(size) >> np.uint64(11)) + 0.5) * 2.0**-53
    return np.asarray(ndtri(uniforms), dtype=np.float64)


def _column(budgets: ArrayLike | Mapping[float, int]) -> Floats:
    """One budget per person, from an array or from numbers of people by budget."""
    if not isinstance(budgets, Mapping):
        return check_budgets(budgets)
    people = np.array(list(budgets.values()), dtype=np.float64)
    wrong = people[~(people >= 0)]
    if wrong.size:
        raise InvalidInputError(
            f"numbers of people must be >= 0; got {wrong[0]:g}", name="budgets", value=float(wrong[0])
        )
    total = float(people.sum())
    if total > _MOST_PEOPLE:
        raise InvalidInputError(
            f"there must be at most {_MOST_PEOPLE:,} people in total to be simulated; got {total:,.0f}",
            name="budgets",
            value=total,
        )
    return np.repeat(check_budgets(list(budgets)), people.astype(np.int64))


def _answer(estimate: Method, values: Floats, randomness: Randomness, before: list[float | None]) -> float | None:
    """The method's answer; None if it refuses, or has refused every run `before`."""
    if len(before) >= _REFUSALS_TO_STOP and not any(answer is not None for answer in before):
        return None
    try:
        with warnings.catch_warnings():
            for known in (BudgetWarning, PopulationWarning):
                warnings.simplefilter("ignore", known)
            return estimate(values, randomness)
    except InsufficientBudgetError:
        return None


def _simulated(name: str, answers: list[float | None], mean: float) -> MethodRuns:
    """The errors of a method's answers, and how often it refused."""
    errors = tuple(abs(answer - mean) for answer in answers if answer is not None)
    return MethodRuns(name, errors, len(answers) - len(errors))
