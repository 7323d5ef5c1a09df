"""Show: HTML reports and matplotlib figures of plans and results, which use only public or released numbers.

Matplotlib is imported only when something is drawn. May import: core, laws, planning, results, errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pdpmean.show.report import write_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot", "write_report"]


def plot(thing: Any, **options: Any) -> Figure:
    """A matplotlib figure of a plan, an estimate, estimates by group (``level=0.95``), or one or more comparisons."""
    from pdpmean.show.plots import draw

    return draw(thing, **options)
