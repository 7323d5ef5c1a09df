"""Does a sample follow a law? Tests of laws that are shown to fail as well as to pass.

A *test* here is a function from a sample to a p-value. `assert_accepts_and_rejects` runs one test on a sample
of the law and on samples of mutants (a scale times 0.7, a bound off by one): it must accept the first and
reject all others, so a test without power does not pass.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import TypeVar

from scipy.stats import chi2

Outcome = TypeVar("Outcome", bound=Hashable)

# A sample is rejected when its p-value is below this. The p-value of `kolmogorov` is a bound; that of
# `chi_square` an approximation, too small by a factor below 1e6 for cells that expect 50 draws and samples of
# up to 20 000 (independent Poisson counts, convolved exactly, times sqrt(2 pi n) for their fixed sum, give at
# most 2.4e-7 for 2 to 100 cells). So a test of a true law raises a false alarm with probability below 1e-6.
REJECTED_BELOW = 1e-12
_LEAST_EXPECTED = 50.0
_NOTHING_LEFT = 1e-9


def chi_square(sample: Collection[Outcome], law: Mapping[Outcome, float]) -> float:
    """The p-value of Pearson's chi-square, outcomes pooled in the order of `law` until a cell expects 50 draws.

    Outcomes that `law` does not name share what its probabilities leave of 1. Where they leave nothing, and
    where an outcome has probability 0, meeting it once makes the p-value 0.
    """
    counts = Counter(sample)
    size = len(sample)
    rest = max(0.0, 1.0 - math.fsum(law.values()))
    unnamed = sum(count for outcome, count in counts.items() if outcome not in law)
    if any(law.get(outcome) == 0 for outcome in counts) or (unnamed and rest < _NOTHING_LEFT):
        return 0.0
    cells: list[tuple[float, int]] = []  # expected, observed
    expected, observed = 0.0, 0
    for outcome, probability in law.items():
        expected, observed = expected + size * probability, observed + counts[outcome]
        if expected >= _LEAST_EXPECTED:
            cells.append((expected, observed))
            expected, observed = 0.0, 0
    expected, observed = expected + size * rest, observed + unnamed
    if expected < _LEAST_EXPECTED and cells:
        last_expected, last_observed = cells.pop()
        expected, observed = expected + last_expected, observed + last_observed
    cells.append((expected, observed))
    if len(cells) < 2:
        raise ValueError(f"a sample of {size} is too small: fewer than two cells expect {_LEAST_EXPECTED:g} draws")
    statistic = math.fsum((observed - expected) ** 2 / expected for expected, observed in cells)
    return float(chi2.sf(statistic, len(cells) - 1))


def kolmogorov(sample: Collection[int], cdf: Callable[[int], float]) -> float:
    """A bound on the p-value of the largest distance between `cdf` and that of a sample of integers.

    It is ``2 exp(-2 n distance**2)`` (Massart 1990, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz
    inequality"), valid for every n and for laws with atoms.
    """
    distance, below = 0.0, 0
    for outcome, count in sorted(Counter(sample).items()):
        distance = max(distance, abs(below / len(sample) - cdf(outcome - 1)))
        below += count
        distance = max(distance, abs(below / len(sample) - cdf(outcome)))
    return min(1.0, 2.0 * math.exp(-2.0 * len(sample) * distance**2))


Sample = TypeVar("Sample")


def assert_accepts_and_rejects(test: Callable[[Sample], float], truth: Sample, mutants: Mapping[str, Sample]) -> None:
    """Assert that `test` accepts the sample `truth` and rejects every sample in `mutants`.

    False alarms have a probability below 1e-6 for a sample of up to 20 000 draws.
    """
    p_value = test(truth)
    assert p_value >= REJECTED_BELOW, f"the law itself was rejected, p = {p_value:.1e}"
    for name, mutant in mutants.items():
        p_value = test(mutant)
        assert p_value < REJECTED_BELOW, f"the mutant {name!r} was accepted, p = {p_value:.1e}"


def uniform(size: int) -> dict[int, float]:
    """The uniform law on 0, 1, ..., size - 1."""
    return dict.fromkeys(range(size), 1 / size)


def discrete_laplace(scale: float) -> dict[int, float]:
    """P(X = x) proportional to exp(-|x| / scale), out to 40 scales: exp(-40) is what it leaves out."""
    reach = math.ceil(40 * scale)
    return {x: math.tanh(0.5 / scale) * math.exp(-abs(x) / scale) for x in range(-reach, reach + 1)}


def discrete_laplace_cdf(scale: float) -> Callable[[int], float]:
    """P(X <= x) for the discrete Laplace law of any scale."""

    def tail(x: int) -> float:  # P(X >= x) for x > 0
        return math.exp(-x / scale) / (1 + math.exp(-1 / scale))

    return lambda x: 1 - tail(x + 1) if x >= 0 else tail(-x)


def discrete_laplace_size_cdf(scale: float) -> Callable[[int], float]:
    """P(|X| <= x) for the discrete Laplace law of any scale."""
    cdf = discrete_laplace_cdf(scale)
    return lambda x: cdf(x) - cdf(-x - 1) if x >= 0 else 0.0
