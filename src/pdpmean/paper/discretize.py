"""Algorithm 4, Discretization: round values to a grid that is a little finer than the spread of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.core.checks import check_budget
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.paper.sparse_vector import sparse_vector
from pdpmean.randomness import Randomness
from pdpmean.sources.private_columns import private_numbers

__all__ = [
    "LARGEST_POWER",
    "SMALLEST_POWER",
    "Discretized",
    "check_grid",
    "count_within_powers",
    "discretize",
    "round_to_grid",
]

# Exponents of the smallest and largest power of two in use: both, and their halves, are normal doubles.
SMALLEST_POWER = -1020
LARGEST_POWER = 1023


@dataclass(frozen=True)
class Discretized:
    """The values that are not missing, rounded down to multiples of `spacing`."""

    values: Floats
    spacing: float


def discretize(
    values: ArrayLike,
    *,
    budget: float,
    powers: tuple[int, int] = (SMALLEST_POWER + 1, LARGEST_POWER),
    randomness: Randomness | None = None,
) -> Discretized:
    """The values on a grid whose spacing, a power of two, is between 1/8 and 1 standard deviation (Lemma 16).

    Algorithm 4: the values are paired at random, and two sparse vectors, with half the budget each, find where the
    median distance within a pair lies among the powers of two from ``2**powers[0]`` to ``2**powers[1]``. Changing one
    value changes one pair of the uniformly random matching (docs/errata.md, 14), so ``2 Count - |G|`` changes by at
    most 2. Missing values are left out; zeros and negative values are data (docs/errata.md, 5). For a spacing below 1,
    the printed one is half of this one (docs/errata.md, 17).
    """
    check_budget(budget / 2)
    low, high = powers
    if not SMALLEST_POWER < low <= 0 <= high <= LARGEST_POWER:
        raise InvalidInputError(
            f"powers must be (low, high) with {SMALLEST_POWER} < low <= 0 <= high <= {LARGEST_POWER}; got {powers}",
            name="powers",
            value=powers,
        )
    randomness = randomness or Randomness.secure()
    numbers = private_numbers(values)
    numbers = numbers[~np.isnan(numbers)]
    distances = _pair_distances(numbers, randomness)
    excess = 2 * count_within_powers(distances, low, high) - distances.size
    at_one = -low  # the index of the power 2**0; the search goes outward and inward from there
    outward = sparse_vector(
        excess[at_one:].tolist(), threshold=0, budget=budget / 2, sensitivity=2, randomness=randomness
    )
    inward = sparse_vector(
        (-excess[at_one::-1]).tolist(), threshold=0, budget=budget / 2, sensitivity=2, randomness=randomness
    )
    power = outward - 2 if outward > 0 else -inward - 1
    spacing = 2.0**power
    return Discretized(round_to_grid(numbers, spacing), spacing)


def _pair_distances(numbers: Floats, randomness: Randomness) -> Floats:
    """The distances within the pairs of a uniformly random matching; with an odd number, one value has no pair."""
    shuffled = numbers[randomness.permutation(numbers.size)]
    pairs = numbers.size // 2
    with np.errstate(all="ignore"):
        distances = np.abs(shuffled[:pairs] - shuffled[pairs : 2 * pairs])
    return np.where(np.isnan(distances), 0.0, distances)  # NaN is the difference of two equal infinities


def count_within_powers(sizes: Floats, low: int, high: int) -> NDArray[np.int64]:
    """For each power from ``2**low`` to ``2**high``, how many of `sizes` are at most that."""
    finite = sizes[np.isfinite(sizes) & (sizes <= 2.0**high)]
    mantissas, exponents = np.frexp(finite)
    # The least p with size <= 2**p: frexp's exponent, or one less for an exact power of two.
    least = np.where(finite > 0, exponents - (mantissas == 0.5), low)
    return np.cumsum(np.bincount(np.maximum(least - low, 0), minlength=high - low + 1))


def round_to_grid(values: Floats, spacing: float) -> Floats:
    """The values, rounded down exactly to multiples of `spacing`, a power of two; infinities stay as they are."""
    with np.errstate(all="ignore"):
        # Values of 2**52 spacings or more are multiples already.
        return np.where(np.abs(values) < 2.0**52 * spacing, np.floor(values / spacing) * spacing, values)


def check_grid(spacing: float, radius: float) -> None:
    """Raise unless spacing and radius are powers of two that doubles can handle exactly."""
    smallest = 2.0**SMALLEST_POWER
    largest = 2.0**LARGEST_POWER
    are_powers_of_two = np.frexp([spacing, radius])[0].tolist() == [0.5, 0.5]
    if not (are_powers_of_two and smallest <= spacing <= radius <= largest):
        raise InvalidInputError(
            f"spacing and radius must be powers of two with 2**{SMALLEST_POWER} <= spacing <= radius <= "
            f"2**{LARGEST_POWER}; got {spacing!r} and {radius!r}",
            name="spacing",
            value=(spacing, radius),
        )
