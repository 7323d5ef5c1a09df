"""The exponential mechanism over segments, with exactly its law.

A segment is a run of `length` equally good candidates. It is chosen with probability proportional to
``length * exp(-rate * penalty)``. The choice is made in doubles when their proven error cannot change it, and
otherwise with as many bits as it takes, so the law is exact either way (docs/guarantee.md, "Exact choice").
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

_DRAW_BITS = 64
# A double's weight is off by a factor of at most exp(2**-37): see the proof. Twice that, and some.
_WEIGHT_ERROR = 2.0**-35
_ONE_CHOICE = np.zeros(1, dtype=np.intp)


def choose_segments(
    log_lengths: NDArray[np.float64],
    length: Callable[[int], int],
    penalties: NDArray[np.int64],
    rate: float,
    randomness: Randomness,
    starts: NDArray[np.intp] = _ONE_CHOICE,
) -> list[int]:
    """The index of one segment, drawn in proportion to ``length * exp(-rate * penalty)``; one from each start on.

    `log_lengths` are natural logarithms, at most 1500 in size and off by at most 2**-38 (``-inf`` for an
    empty segment); `length(i)` is the exact integer, asked for only when doubles do not decide.
    """
    stops = np.append(starts[1:], penalties.size)
    present = log_lengths > -math.inf
    best = np.minimum.reduceat(np.where(present, penalties, np.iinfo(np.int64).max), starts)
    more = np.maximum(penalties - np.repeat(best, stops - starts), 0)  # an empty one may be better than the best
    edges = np.cumsum(_relative_weights(log_lengths, more, rate, starts))
    draws = randomness.words(starts.size)

    before = np.where(starts > 0, edges[starts - 1], 0.0)
    totals = edges[stops - 1] - before
    points = before + draws * 2.0**-_DRAW_BITS * totals
    found = np.searchsorted(edges, points, side="right")
    margins = _WEIGHT_ERROR * totals + edges.size * 2.0**-48 * edges[-1]
    clear_below = (found == starts) | (points - edges[found - 1] > margins)
    clear = clear_below & (edges[np.minimum(found, stops - 1)] - points > margins)
    for choice in np.flatnonzero(~clear).tolist():
        own = np.arange(starts[choice], stops[choice])
        candidates = own[present[own] & ((more[own] == 0) | (rate < math.inf))]
        exactly = _choose_exactly(candidates, length, more, rate, int(draws[choice]), randomness)
        found[choice] = candidates[exactly]
    return [int(index) for index in found]


def _relative_weights(
    log_lengths: NDArray[np.float64], more: NDArray[np.int64], rate: float, starts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The weights, so that the largest from each start on is 1."""
    sizes = np.diff(starts, append=more.size)
    with np.errstate(over="ignore", under="ignore"):
        log_weights = np.where(more == 0, log_lengths, -math.inf) if math.isinf(rate) else log_lengths - rate * more
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
    """Position in `candidates` of the one that ``draw / 2**64``, refined by more bits, falls on."""
    if candidates.size == 1:
        return 0
    lengths = [length(int(index)) for index in candidates]
    steps = [int(penalties[index]) for index in candidates]
    bits = _DRAW_BITS
    while True:
        with localcontext(_precision(bits + 160)):  # room for the rounding of every step below
            edges = list(accumulate(_exact_weights(lengths, steps, rate), initial=Decimal(0)))
            unit = edges[-1] / 2**bits
            low, high, slack = unit * draw, unit * (draw + 1), unit / 2**64
            inside = [left + slack <= low and high <= right - slack for left, right in pairwise(edges)]
            # The two outer edges are exact: nothing lies below the first or above the last.
            inside[0] = inside[0] or high <= edges[1] - slack
            inside[-1] = inside[-1] or edges[-2] + slack <= low
        if any(inside):
            return inside.index(True)
        draw = (draw << 64) | randomness.below(1 << 64)
        bits += 64


def _precision(bits: int) -> Context:
    """Decimals of at least so many bits, for this thread alone; what is next to nothing is nothing."""
    digits = bits // 3  # of 3.3 bits each
    return Context(digits, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX, clamp=0, flags=[], traps=[InvalidOperation])


def _exact_weights(lengths: list[int], steps: list[int], rate: float) -> Iterator[Decimal]:
    """Each ``length * exp(-rate * step)``, to the precision in force; a rate without limit has no steps but 0."""
    decay = {step: (-Decimal(rate) * step).exp() if step else Decimal(1) for step in set(steps)}
    return (size * decay[step] for size, step in zip(lengths, steps, strict=True))
