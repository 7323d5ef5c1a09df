"""Confidence intervals as in JSON: one object, with both ends and the confidence level."""

from __future__ import annotations

__all__ = ["interval_content"]


def interval_content(low: float | None, high: float | None, level: float) -> dict[str, float] | None:
    """An interval, ready for JSON; None if an end is missing."""
    return None if low is None or high is None else {"low": low, "high": high, "level": level}
