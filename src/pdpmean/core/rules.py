"""Rules: what a pass does to the records of a group, as rows of named numbers.

NumPy, the compiled loops and Spark all read them by these names.
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

# Allowances below the limit are added up in units, which rounds them by less than a trillionth of a nat.
TOTAL_UNIT = 2.0**40
TOTAL_LIMIT = 2.0**11


class KeepRule(NamedTuple):
    """How records enter `locate`: what each may cost there, and how often it is kept.

    A record of allowance a may cost ``locating_weights(a, share, sum_share, spared_from)`` nats, at most `cap`, and is
    kept with probability ``density`` times that, at most 1.
    """

    share: float
    sum_share: float
    spared_from: float
    cap: float
    density: float


class SumRule(NamedTuple):
    """What the records of a group add to the sums; NumPy, the compiled loops and Spark all read it by these names.

    A record of allowance a has the weight ``W = floor(min(share * a, cap))``, both in units of weight, and its value is
    ``(value - middle) * lift * per_unit`` steps from the middle of the clip. A row is 8 numbers long, so that its place
    is a shift.
    """

    share: Any
    cap: Any
    middle: Any
    lift: Any
    per_unit: Any
    near: Any
    """Within how many steps a value is near the middle; with squares nobody asks."""
    far_below: Any
    """With squares, a value more steps than so below the middle is far: it is counted apart from the others."""
    far_above: Any
    """The same above the middle."""


# Far values are counted in half octaves of their distance from the middle, on either side.
FAR_CELLS = 24
FAR_FROM = math.sqrt(2) * STEPS
"""A value is far from so many steps on."""
FAR_EDGES = tuple(FAR_FROM * 2 ** ((cell + 1) / 2) for cell in range(FAR_CELLS))
"""Where each cell of far values ends, in steps; the last one holds all that lies beyond, too."""
# Where they are in a table of sums, after the missing weight: the column of their weight, and the first of those of
# their cells, two for each.
MISSING_WEIGHT = 5
FAR_WEIGHT = 6
FIRST_FAR = 7
