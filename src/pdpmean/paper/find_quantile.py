"""Algorithm 2, FindQuantile: a quantile by the inverse sensitivity mechanism, on a grid of any size."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from pdpmean.core.checks import check_budget
from pdpmean.core.types import Floats
from pdpmean.errors import InvalidInputError
from pdpmean.paper.discretize import check_grid, round_to_grid
from pdpmean.randomness import Randomness
from pdpmean.release.exact_choice import choose_segments
from pdpmean.sources.private_columns import private_numbers

__all__ = ["find_quantile"]

_LARGEST_DENOMINATOR = 1000  # of the quantile; keeps penalties within 64 bits for up to 2**53 values


def find_quantile(
    values: ArrayLike,
    *,
    budget: float,
    spacing: float,
    radius: float,
    quantile: Fraction = Fraction(1, 2),
    randomness: Randomness | None = None,
) -> float:
    """A private quantile of `values`, chosen among the multiples of `spacing` in [-radius, radius].

    Algorithm 2, whose accuracy is Lemma 7, by the exponential mechanism. With the quantile a/b, the grid point y is
    drawn with probability proportional to ``exp(-budget * penalty(y) / (2 b))``, where ``penalty(y)`` is
    ``|(b - a) * #(values < y) - a * #(values > y)|``, an integer that changes by at most b if one value changes. It
    needs no count of the values, which is private after diffusion (docs/errata.md, 2 and 7). Missing values are left
    out; values beyond the radius still count as smaller or larger than every grid point.

    `spacing` and `radius` are powers of two, and the grid may have 2**2000 points: the penalty is constant between
    neighbouring values, so one of those segments is drawn first, and then a point of it uniformly.
    """
    check_budget(budget)
    check_grid(spacing, radius)
    if not 0 < quantile < 1:
        raise InvalidInputError(f"quantile must lie strictly between 0 and 1; got {quantile}", name="quantile")
    if quantile.denominator > _LARGEST_DENOMINATOR:
        raise InvalidInputError(
            f"quantile must have a denominator of at most {_LARGEST_DENOMINATOR}; got {quantile}", name="quantile"
        )
    randomness = randomness or Randomness.secure()
    numbers = private_numbers(values)
    numbers = round_to_grid(numbers[~np.isnan(numbers)], spacing)
    points, counts = np.unique(numbers[np.abs(numbers) <= radius], return_counts=True)

    # Segments in order: gap, point, gap, ..., point, gap; and how many values lie below and above each of them.
    passed = np.count_nonzero(numbers < -radius) + np.concatenate([[0], np.cumsum(counts)])
    below = np.repeat(passed, 2)[:-1]
    above = numbers.size - np.repeat(passed, 2)[1:]
    a, b = quantile.numerator, quantile.denominator

    (chosen,) = choose_segments(
        _log_lengths(points, spacing, radius),
        lambda segment: _grid_points(segment, points, spacing, radius)[1],
        np.abs((b - a) * below - a * above).astype(np.int64),
        budget / (2 * b),
        randomness,
    )
    first, length = _grid_points(chosen, points, spacing, radius)
    return float((first + randomness.below(length)) * Fraction(spacing))


def _log_lengths(points: Floats, spacing: float, radius: float) -> Floats:
    """The logarithm of each segment's number of grid points: 0 at a data point, -inf for an empty gap."""
    gaps = np.diff(np.concatenate([[-radius / 2], points / 2, [radius / 2]]))
    # A gap between two data points has one grid point fewer than steps; the outer gaps include the ends of the grid.
    missing = np.ones(gaps.size)
    missing[0] -= 1
    missing[-1] -= 1
    with np.errstate(over="ignore", divide="ignore"):
        steps = gaps / (spacing / 2)
        # From 2**53 steps on, one point more or less is lost in a double's rounding.
        logs = np.where(steps < 2.0**53, np.log(np.maximum(steps - missing, 0.0)), np.log(gaps) - np.log(spacing / 2))
    lengths = np.zeros(2 * points.size + 1)
    lengths[::2] = logs
    return lengths


def _grid_points(segment: int, points: Floats, spacing: float, radius: float) -> tuple[int, int]:
    """The first of a segment's grid points, as a multiple of `spacing`, and how many there are."""
    position = segment // 2
    if segment % 2:
        return int(Fraction(points[position]) / Fraction(spacing)), 1
    reach = int(Fraction(radius) / Fraction(spacing))
    low = int(Fraction(points[position - 1]) / Fraction(spacing)) if position > 0 else -reach - 1
    high = int(Fraction(points[position]) / Fraction(spacing)) if position < points.size else reach + 1
    return low + 1, high - low - 1
