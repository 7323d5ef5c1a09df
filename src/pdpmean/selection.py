"""The exponential mechanism over segments, with exactly its law.

A segment is a run of `length` equally good candidates. It is chosen with probability proportional to
``length * exp(-rate * penalty)``. The choice is made in doubles when their proven error cannot change it, and
otherwise with as many bits as it takes, so the law is exact either way (docs/guarantee.md, "Selection").
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath
import numpy as np
from numpy.typing import NDArray

from pdpmean.randomness import Randomness

__all__ = ["choose_segment"]

_DRAW_BITS = 64
# A double's weight is off by a factor of at most exp(2**-37): see the proof. Twice that, and some.
_WEIGHT_ERROR = 2.0**-35


def choose_segment(
    log_lengths: NDArray[np.float64],
    length: Callable[[int], int],
    penalties: NDArray[np.int64],
    rate: float,
    randomness: Randomness,
) -> int:
    """The index of one segment, drawn in proportion to ``length * exp(-rate * penalty)``.

    `log_lengths` are natural logarithms, at most 1500 in size and off by at most 2**-38 (``-inf`` for an
    empty segment); `length(i)` is the exact integer, asked for only when doubles do not decide.
    """
    present = log_lengths > -math.inf
    best = np.where(present, penalties, np.iinfo(np.int64).max).min()
    if math.isinf(rate):
        log_weights = np.where(penalties == best, log_lengths, -math.inf)
    else:
        with np.errstate(over="ignore"):
            log_weights = log_lengths - rate * (penalties - best)
    log_weights -= log_weights.max()
    with np.errstate(under="ignore"):
        edges = np.cumsum(np.exp(log_weights, out=log_weights))
    draw = randomness.below(1 << _DRAW_BITS)
    point = math.ldexp(draw, -_DRAW_BITS) * edges[-1]
    index = int(np.searchsorted(edges, point, side="right"))
    margin = (_WEIGHT_ERROR + edges.size * 2.0**-50) * edges[-1]
    clear_below = index == 0 or point - edges[index - 1] > margin
    if clear_below and index < edges.size and edges[index] - point > margin:
        return index
    if math.isinf(rate):
        penalties, rate, present = np.zeros_like(penalties), 0.0, present & (penalties == best)
    candidates = np.flatnonzero(present)
    return int(candidates[_choose_exactly(candidates, length, penalties - best, rate, draw, randomness)])


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
        # 160 bits more than the draw has: room for the rounding of every step below.
        with mpmath.workprec(bits + 160):
            decay = {step: mpmath.exp(-mpmath.mpf(rate) * step) for step in set(steps)}
            edges = [mpmath.mpf(0)]
            for size, step in zip(lengths, steps, strict=True):
                edges.append(edges[-1] + size * decay[step])
            low = mpmath.ldexp(draw, -bits) * edges[-1]
            high = mpmath.ldexp(draw + 1, -bits) * edges[-1]
            slack = mpmath.ldexp(edges[-1], -bits - 64)
            inside = [edges[i] + slack <= low and high <= edges[i + 1] - slack for i in range(len(lengths))]
            # The two outer edges are exact: nothing lies below the first or above the last.
            inside[0] = inside[0] or high <= edges[1] - slack
            inside[-1] = inside[-1] or edges[-2] + slack <= low
        if any(inside):
            return inside.index(True)
        draw = (draw << 64) | randomness.below(1 << 64)
        bits += 64
