"""SVG: panels as SVG elements of an HTML page, in the colours and the font of the page. Needs the extra `plot`."""

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

__all__ = ["inline_svg"]

_WIDTH = 5.0  # inches, or 360 points: about the width of a phone's screen, on which text of 11 points is legible
# Text stays text, and ids inside the SVG are the same in every run.
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "pdpmean", "font.size": 11, "legend.fontsize": 10}


def inline_svg(draw: Callable[[Axes], None], *, name: str, title: str, height: float = 3.1) -> str:
    """What `draw` draws, as an SVG element for a page.

    `name` distinguishes its ids from those of other figures on the page, `title` is the text alternative, and `height`
    is in inches.
    """
    svg_file = io.StringIO()
    # The user's own matplotlib settings do not apply. Missing glyphs do not matter, since the page's font is used.
    with matplotlib.style.context(_STYLE, after_reset=True), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure = empty_figure(_WIDTH, height)
        draw(figure.subplots())
        figure.savefig(svg_file, format="svg", transparent=True)
    return _as_element(svg_file.getvalue(), name, title)


def _as_element(picture: str, name: str, title: str) -> str:
    """An SVG file as an element of a page: without prolog, metadata, name spaces, size, style and fonts."""
    body = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", picture[picture.index("<svg") :], flags=re.DOTALL)
    opening, body = body.split(">", 1)
    box = opening[opening.index("viewBox") :].split('"')[1]
    body = re.sub(r"<[^>]*>", lambda tag: _adapted(tag[0], name), body.strip())  # only tags, not the text between them
    return (
        f'<svg viewBox="{box}" role="img" aria-labelledby="{name}-title">'
        f'<title id="{name}-title">{html.escape(title)}</title>\n{body}'
    )


def _adapted(tag: str, name: str) -> str:
    """A tag with ids that begin with `name`, without fonts, and with the colours of the page."""
    tag = re.sub(r'(\bid="|xlink:href="#|url\(#)', rf"\1{name}-", tag).replace("xlink:href", "href")
    tag = re.sub(r"font-family: [^;\"]*(; )?", "", tag)
    return tag.replace(INK, "currentColor").replace(ACCENT, "var(--accent)")
