"""Figures of a page: panels as SVG with title and caption, or none at all where matplotlib is missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pdpmean.errors import MissingPackageError

__all__ = ["Figure", "Figures"]


@dataclass(frozen=True)
class Figure:
    """A panel as a template shows it."""

    title: str
    caption: str
    svg: Any


@dataclass
class Figures:
    """The figures that stand beside each other on a page."""

    drawn: list[Figure] = field(default_factory=list)

    def add(self, panel: str, title: str, caption: str, drawn: tuple[Any, ...], *, height: float = 3.1) -> None:
        """Draw a panel, by its name, so many inches high; nothing is added without matplotlib."""
        try:
            from pdpmean.show import panels
        except MissingPackageError:
            return
        from markupsafe import Markup

        from pdpmean.show.svg import inline_svg

        draw = getattr(panels, f"draw_{panel}")
        svg = inline_svg(lambda axes: draw(axes, *drawn), name=panel, title=f"{title}. {caption}", height=height)
        self.drawn.append(Figure(title, caption, Markup(svg)))
