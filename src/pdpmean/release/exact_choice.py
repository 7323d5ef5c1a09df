"""The exponential mechanism over segments of candidates, with exactly the stated probabilities.

A segment is a run of `length` candidates with the same penalty. It is drawn with probability proportional to
``length * exp(-rate * penalty)``. A draw is decided in doubles if their proven rounding error cannot change the
outcome, and otherwise in decimals of as many digits as it takes. So no rounding error ever weakens the privacy
guarantee (docs/guarantee.md, "Exact choice").
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, InvalidOperation, localcontext
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from pdpmean.randomness import Randomness

__all__ = ["choose_segments"]

_DRAW_BITS = 64  # of the uniform variate, at first; more are drawn where these do not decide
# A weight in doubles is off by a factor of at most exp(2**-37), as the proof shows. An edge, the quotient of two sums
# of weights, is off by at most twice that; the rest is room to spare.
_WEIGHT_ERROR = 2.0**-35
_ONE_CHOICE = np.zeros(1, dtype=np.intp)  # all segments are candidates of a single draw


def choose_segments(
    log_lengths: NDArray[np.float64],
    length: Callable[[int], int],
    penalties: NDArray[np.int64],
    rate: float,
    randomness: Randomness,
    starts: NDArray[np.intp] = _ONE_CHOICE,
) -> list[int]:
    """The index of one segment per choice, drawn in proportion to ``length * exp(-rate * penalty)``.

    There is one choice for each of `starts`: among the segments from there up to the next start. `log_lengths` are
    natural logarithms, at most 1500 in size and off by at most 2**-38, or ``-inf`` for an empty segment. `length(i)` is
    the exact length of segment i; it is called only where doubles do not decide.
    """
    stops = np.append(starts[1:], penalties.size)
    is_present = log_lengths > -math.inf
    best = np.minimum.reduceat(np.where(is_present, penalties, np.iinfo(np.int64).max), starts)
    # Penalties above the best in the same choice. An empty segment may be better than the best; it is never drawn.
    excess = np.maximum(penalties - np.repeat(best, stops - starts), 0)
    edges = np.cumsum(_relative_weights(log_lengths, excess, rate, starts))
    draws = randomness.words(starts.size)

    before = np.where(starts > 0, edges[starts - 1], 0.0)
    totals = edges[stops - 1] - before
    points = before + draws * 2.0**-_DRAW_BITS * totals
    chosen = np.searchsorted(edges, points, side="right")
    # Farther from both edges around it than all rounding errors together, a point is in the same segment exactly.
    margins = _WEIGHT_ERROR * totals + edges.size * 2.0**-48 * edges[-1]
    is_clear_below = (chosen == starts) | (points - edges[chosen - 1] > margins)
    is_clear = is_clear_below & (edges[np.minimum(chosen, stops - 1)] - points > margins)
    for choice in np.flatnonzero(~is_clear).tolist():
        segments = np.arange(starts[choice], stops[choice])
        candidates = segments[is_present[segments] & ((excess[segments] == 0) | (rate < math.inf))]
        position = _choose_exactly(candidates, length, excess, rate, int(draws[choice]), randomness)
        chosen[choice] = candidates[position]
    return [int(index) for index in chosen]


def _relative_weights(
    log_lengths: NDArray[np.float64], excess: NDArray[np.int64], rate: float, starts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The weights of all segments, scaled so that the largest in each choice is 1."""
    sizes = np.diff(starts, append=excess.size)
    with np.errstate(over="ignore", under="ignore"):
        log_weights = np.where(excess == 0, log_lengths, -math.inf) if math.isinf(rate) else log_lengths - rate * excess
        log_weights -= np.repeat(np.maximum.reduceat(log_weights, starts), sizes)
        weights: NDArray[np.float64] = np.exp(log_weights, out=log_weights)
        return weights


def _choose_exactly(
    candidates: NDArray[np.intp],
    length: Callable[[int], int],
    penalties: NDArray[np.int64],
    rate: float,
    draw: int,
    randomness: Randomness,
) -> int:
    """The position in `candidates` of the segment that the uniform variate ``draw / 2**64`` falls on.

    The variate is known to lie between ``draw`` and ``draw + 1``. As long as an edge lies there too, more of its bits
    are drawn.
    """
    if candidates.size == 1:
        return 0
    lengths = [length(int(index)) for index in candidates]
    candidate_penalties = [int(penalties[index]) for index in candidates]
    bits = _DRAW_BITS
    while True:
        with localcontext(_precision(bits + 160)):  # 160 bits are room for the rounding of every step below
            edges = list(accumulate(_exact_weights(lengths, candidate_penalties, rate), initial=Decimal(0)))
            unit = edges[-1] / 2**bits
            low = unit * draw
            high = unit * (draw + 1)
            slack = unit / 2**64
            is_inside = [left + slack <= low and high <= right - slack for left, right in pairwise(edges)]
            # The two outer edges are exact: nothing lies below the first or above the last.
            is_inside[0] = is_inside[0] or high <= edges[1] - slack
            is_inside[-1] = is_inside[-1] or edges[-2] + slack <= low
        if any(is_inside):
            return is_inside.index(True)
        draw = (draw << 64) | randomness.below(1 << 64)
        bits += 64


def _precision(bits: int) -> Context:
    """A decimal context with at least this many bits, whatever the caller's own is; underflow gives 0, silently."""
    digits = bits // 3  # a decimal digit has 3.3 bits
    return Context(digits, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, clamp=0, flags=[], traps=[InvalidOperation])


def _exact_weights(lengths: list[int], penalties: list[int], rate: float) -> Iterator[Decimal]:
    """Each ``length * exp(-rate * penalty)``, to the precision in force; if the rate is infinite, penalties are 0."""
    decay = {penalty: (-Decimal(rate) * penalty).exp() if penalty else Decimal(1) for penalty in set(penalties)}
    return (length * decay[penalty] for length, penalty in zip(lengths, penalties, strict=True))
