"""Weights: what a record may cost in a step, in nats, always rounded down."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from pdpmean.core.types import Floats

__all__ = ["WEIGHT_UNIT", "Number", "locating_weights", "round_down"]

Number = TypeVar("Number", float, Floats)

WEIGHT_UNIT = 2**30  # the integer weights of `locate` are in units of 1 / WEIGHT_UNIT nats


def round_down(numbers: Number) -> Number:
    """The doubles, lowered by a relative 2**-40: more than any rounding errors in computing them can have added."""
    return numbers * (1 - 2.0**-40)


def locating_weights(allowances: Any, share: Any, sum_share: Any, spared_from: Any) -> Any:
    """What each record may cost in `locate`, in nats: ``share * a + max(sum_share * a - spared_from, 0)``.

    The last term is the part of the sum's share that the sum does not use. If `spared_from` is the cap on weights in
    the sum, a record whose share exceeds the cap may spend the rest on locating.
    """
    return allowances * share + np.maximum(allowances * sum_share - spared_from, 0.0)
