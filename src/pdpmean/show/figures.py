"""Figures: the figures of a report as SVG, with title and caption; none at all where matplotlib is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pdpmean.errors import MissingPackageError

__all__ = ["Figure", "Figures"]


@dataclass(frozen=True)
class Figure:
    """A figure as a template shows it."""

    title: str
    caption: str
    svg: Any


@dataclass
class Figures:
    """The figures that stand side by side in a section of a report."""

    drawn: list[Figure] = field(default_factory=list)

    def add(self, panel: str, title: str, caption: str, drawn: tuple[Any, ...], *, height: float = 3.1) -> None:
        """Draw the panel ``draw_<panel>`` of `panels.py`; without matplotlib, add nothing.

        `drawn` are its arguments after the axes, and `height` is in inches.
        """
        try:
            from pdpmean.show import panels
        except MissingPackageError:
            return
        from markupsafe import Markup

        from pdpmean.show.svg import inline_svg

        draw = getattr(panels, f"draw_{panel}")
        svg = inline_svg(lambda axes: draw(axes, *drawn), name=panel, title=f"{title}. {caption}", height=height)
        self.drawn.append(Figure(title, caption, Markup(svg)))
