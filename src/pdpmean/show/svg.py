"""Panels as SVG inside a page, in the colours and the font of that page. Needs the extra `plot`."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import matplotlib.style

from pdpmean.show.panels import ACCENT, INK, empty_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WIDTH", "inline_svg"]

WIDTH = 5.0  # inches, that is 360 points: text of 11 points is legible on a phone as wide
# Text stays text, and names inside the picture are the same each time.
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "pdpmean", "font.size": 11, "legend.fontsize": 10}


def inline_svg(draw: Callable[[Axes], None], *, name: str, title: str, height: float = 3.1) -> str:
    """What `draw` draws, as an SVG element for a page; `name` sets its ids apart from those of other pictures."""
    kept = io.StringIO()
    # Whatever the user has set for pictures elsewhere; and it is the page's font that must have the letters.
    with matplotlib.style.context(_STYLE, after_reset=True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure = empty_figure(WIDTH, height)
        draw(figure.subplots())
        figure.savefig(kept, format="svg", transparent=True)
    return _for_a_page(kept.getvalue(), name, title)


def _for_a_page(picture: str, name: str, title: str) -> str:
    """Without what a file of its own needs: prolog, metadata, name spaces, size, style, fonts."""
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", picture[picture.index("<svg") :], flags=re.DOTALL)
    opening, body = body.split(">", 1)
    box = opening[opening.index("viewBox") :].split('"')[1]
    body = re.sub(r"<[^>]*>", lambda tag: _adapted(tag[0], name), body.strip())  # tags alone, and no text
    return (
        f'<svg viewBox="{box}" role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{html.escape(title)}</title>\n{body}'
    )


def _adapted(tag: str, name: str) -> str:
    tag = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\1{name}-", tag).replace("xlink:href", "href")
    tag = re.sub(r"font-family: [^;\"]*(; )?", "", tag)
    return tag.replace(INK, "currentColor").replace(ACCENT, "var(--accent)")
