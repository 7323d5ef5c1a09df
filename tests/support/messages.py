"""The messages of an estimate: its contradictions or its warnings."""

from __future__ import annotations

from pdpmean import MeanEstimate

__all__ = ["messages_of"]


def messages_of(found: MeanEstimate) -> tuple[str, ...]:
    """Why there is no answer, or what to know about it; never both. Small tests have large budgets."""
    warnings = tuple(text for text in found.warnings if not text.startswith("budgets look wrong"))
    assert not (found.contradictions and warnings)
    return (*found.contradictions, *warnings)
