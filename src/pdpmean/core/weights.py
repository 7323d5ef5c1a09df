"""Weights: what a record may cost in a step, rounded towards privacy."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from pdpmean.core.types import Floats

__all__ = ["WEIGHT_UNIT", "Number", "locating_weights", "round_down"]

Number = TypeVar("Number", float, Floats)

WEIGHT_UNIT = 2**30  # integer weights are multiples of 1 / WEIGHT_UNIT nats


def round_down(numbers: Number) -> Number:
    """Slightly less than the given doubles, by more than their computation may have rounded up."""
    return numbers * (1 - 2.0**-40)


def locating_weights(allowances: Any, share: Any, sum_share: Any, spared_from: Any) -> Any:
    """What each record may cost in `locate`: its share, and what the sum's share of it comes to beyond `spared_from`.

    That is the cap on its weight in the sum, so that whoever grants more than counts there spends the rest here.
    """
    return allowances * share + np.maximum(allowances * sum_share - spared_from, 0.0)
