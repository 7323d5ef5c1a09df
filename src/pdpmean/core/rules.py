"""Rules: what a pass does to the records of a group, as rows of named numbers.

A plan and a location are turned into these numbers once. NumPy, the compiled loops and Spark read them by their names,
so that all engines do the same.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from pdpmean.core.integers import STEPS

__all__ = [
    "FAR_CELLS",
    "FAR_EDGES",
    "FAR_FROM",
    "FAR_WEIGHT",
    "FIRST_FAR",
    "MISSING_WEIGHT",
    "TOTAL_LIMIT",
    "TOTAL_UNIT",
    "KeepRule",
    "SumRule",
]

# The sum of all allowances is taken in units of 2**-40 nats, which rounds each by less than a trillionth of a nat.
# Allowances from the limit on, in nats, are left out of it.
TOTAL_UNIT = 2.0**40
TOTAL_LIMIT = 2.0**11


class KeepRule(NamedTuple):
    """What a record may cost in `locate`, and with which probability it is kept for it.

    A record of allowance a may cost ``locating_weights(a, share, sum_share, spared_from)`` nats, at most `cap`. It is
    kept with probability ``density`` times that, at most 1.
    """

    share: float
    """The share of locating."""
    sum_share: float
    """The share of the sum."""
    spared_from: float
    """The nats of the sum's share beyond which the sum does not use it, so that `locate` may."""
    cap: float
    """Nats."""
    density: float
    """Per nat."""


class SumRule(NamedTuple):
    """What a record of a group adds to the sums.

    A record of allowance a has the integer weight ``W = floor(min(share * a, cap))``; share and cap are scaled to units
    of weight. Its value lies ``(value - middle) * lift * per_unit`` steps from the middle of the clip. A rule has 8
    numbers, a power of two, so that the compiled loops find it by a shift.
    """

    share: Any
    cap: Any
    middle: Any
    lift: Any
    per_unit: Any
    near: Any
    """Without squares, a value fewer than this many steps from the middle is near it."""
    lowest: Any
    """Steps from the middle: lower values count as this. A known bound or, if no value is far, an end of the clip."""
    highest: Any
    """Steps from the middle; higher values count as this."""


# Far cells, on each side of the clip: half octaves of the distance from its middle.
FAR_CELLS = 24
FAR_FROM = 2 * math.sqrt(2) * STEPS
"""The distance from the middle, in steps, from which a value is far: 2 sqrt(2), or 2.83, half widths of the clip.

Values between the clip and this limit count as the end of the clip. A far value leaves the clipped sum, and noisy far
cells restore less than that; so the limit is not too near.
"""
FAR_EDGES = tuple(FAR_FROM * 2 ** ((cell + 1) / 2) for cell in range(FAR_CELLS))
"""The end of each far cell, in steps; the last cell also holds everything beyond."""
# Columns of a table of sums, after those of values, counted and extra: the missing weight, the weight of far values,
# and the first of the far cells, which have two columns each.
MISSING_WEIGHT = 5
FAR_WEIGHT = 6
FIRST_FAR = 7
