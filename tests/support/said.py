"""All that checks of released numbers said against an estimate, or about it."""

from __future__ import annotations

from pdpmean import MeanEstimate

__all__ = ["said"]


def said(found: MeanEstimate) -> tuple[str, ...]:
    """Why there is no answer, or what to know about it; never both. Small tests have large budgets."""
    warnings = tuple(text for text in found.warnings if not text.startswith("budgets look wrong"))
    assert not (found.contradictions and warnings)
    return (*found.contradictions, *warnings)
