"""Rules: what a pass does to the records of a group, as rows of named numbers.

NumPy, the compiled loops and Spark all read them by these names.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["TOTAL_LIMIT", "TOTAL_UNIT", "KeepRule", "SumRule"]

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

    A record of allowance a has the weight ``W = floor(min(share * a, cap) * unit)``, and its value is
    ``(value - middle) * lift * per_unit`` steps from the middle of the clip. A row is 8 numbers long, so that its place
    is a shift.
    """

    share: Any
    cap: Any
    unit: Any
    middle: Any
    lift: Any
    per_unit: Any
    near: Any
    """Within how many steps a value is near the middle; with squares nobody asks."""
    missing_step: Any
    """With squares, at which step a missing value counts; NaN leaves it in the sum of the missing weight alone."""
