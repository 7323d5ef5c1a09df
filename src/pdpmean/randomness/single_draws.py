"""Single draws of discrete Laplace noise of any scale: from OpenDP for releases, in doubles for simulations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pdpmean.randomness.keystream import Keystream

__all__ = ["drawn_ahead", "secure_laplace", "simulated_laplace"]

_WORD_LIMIT = 2**63 - 1  # the absolute value at which OpenDP's noise saturates


@lru_cache(maxsize=1)
def _opendp_maker() -> Callable[..., Any]:
    """OpenDP's constructor of Laplace mechanisms for lists of integers, which is still to be given a scale."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    # Domain and metric are made once. With many groups, each with its scale, that would take longer than all draws.
    return partial(make_laplace, vector_domain(atom_domain(T="i64")), l1_distance(T="i64"))


@lru_cache(maxsize=256)
def _opendp_laplace(scale: float) -> Callable[[list[int]], list[int]]:
    """OpenDP's Laplace mechanism of this scale: adds noise to a list of integers, saturating at 64 bits."""
    draw: Callable[[list[int]], list[int]] = _opendp_maker()(scale=scale)
    return draw


def drawn_ahead(scale: float) -> Iterator[int]:
    """Endless noise from OpenDP, in batches that double up to 256: large batches take a tenth of the time per draw."""
    for doublings in itertools.count():
        yield from _opendp_laplace(scale)([0] * 2 ** min(doublings, 8))


def secure_laplace(ahead: Iterator[int]) -> int:
    """One draw of discrete Laplace noise, unlimited, from noise that OpenDP has drawn ahead."""
    return _unlimited(partial(next, ahead), _WORD_LIMIT)


def _unlimited(draw: Callable[[], int], limit: int) -> int:
    """A discrete Laplace draw without a limit, from draws that saturate at +-limit.

    |X| is memoryless: given that it reaches the limit, the excess is geometric again, and so is a draw given that it is
    not negative. (The lowest 64-bit integer, -limit - 1, counts as -limit.)
    """
    first = draw()
    if abs(first) < limit:
        return first
    size = limit
    while True:
        beyond = draw()
        if beyond >= limit:
            size += limit
        elif beyond >= 0:
            return size + beyond if first > 0 else -size - beyond


def simulated_laplace(stream: Keystream, scale: float) -> int:
    """Approximate discrete Laplace noise in doubles, for simulations: the difference of two geometric variables.

    floor(scale * E) is geometric if E is exponential.
    """
    uniforms = ((stream.words(2) >> np.uint64(11)) + 0.5) * 2.0**-53
    first, second = (math.floor(-scale * math.log(uniform)) for uniform in uniforms)
    return first - second
