"""The messages of an estimate: its contradictions or its warnings."""

from __future__ import annotations

from pdpmean import MeanEstimate

__all__ = ["messages_of"]


def messages_of(found: MeanEstimate) -> tuple[str, ...]:
    """Why there is no answer, or what to know about it; never both."""
    assert not (found.contradictions and found.warnings)
    return (*found.contradictions, *found.warnings)
