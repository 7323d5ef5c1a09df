"""HTML: a page in itself, with sections, tables and pictures. Text is escaped here, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import Any

from pdpmean.errors import MissingPackageError

__all__ = ["banner", "columns", "command_line", "lines", "page", "paragraph", "picture", "pictures", "section", "table"]

# Nothing is fetched and nothing runs, even if something should have been escaped and was not.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(title: str, *content: str) -> str:
    """The whole page."""
    style = resources.files("pdpmean.show").joinpath("report.css").read_text(encoding="utf-8")
    return lines(
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{style}</style>",
        "</head>",
        "<body>",
        "<main>",
        *content,
        "</main>",
        "</body>",
        "</html>\n",
    )


def lines(*parts: str) -> str:
    """The parts that are not empty, one below the other."""
    return "\n".join(filter(None, parts))


def section(title: str, *content: str) -> str:
    """A part of the page under a heading."""
    return lines("<section>", f"<h2>{escape(title)}</h2>", *content, "</section>")


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph; its `kind` is a class of the style sheet."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def banner(kind: str, word: str, text: str) -> str:
    """A paragraph that is not to be missed."""
    return f'<p class="{kind}"><strong>{escape(word)}</strong> {escape(text)}</p>'


def command_line(command: str) -> str:
    """The command, word by word, so that no line ends within `--option`."""
    words = (f"<span>{escape(word)}</span>" if word.strip() else word for word in re.split(r"(\s+)", command))
    return f"<pre><code>{''.join(words)}</code></pre>"


def table(rows: Iterable[Sequence[str]], caption: str = "", head: Sequence[str] = ()) -> str:
    """A table, the first cell of each row being its name; a row that is short ends in a wide cell."""
    body = list(rows)
    width = len(head) or max(map(len, body))
    titles = "".join(f'<th scope="col">{escape(title)}</th>' for title in head)
    return lines(
        "<table>",
        f"<caption>{escape(caption)}</caption>" if caption else "",
        f"<thead><tr>{titles}</tr></thead>" if head else "",
        "<tbody>",
        *(_row(row, width) for row in body),
        "</tbody>",
        "</table>",
    )


def _row(row: Sequence[str], width: int) -> str:
    name, *cells = (escape(cell) for cell in row)
    span = f' colspan="{width - len(row) + 1}"' if len(row) < width else ""
    inner = "".join(f"<td>{cell}</td>" for cell in cells[:-1])
    return f'<tr><th scope="row">{name}</th>{inner}<td{span}>{cells[-1]}</td></tr>'


def columns(*tables: str) -> str:
    """Tables beside each other, where there is room."""
    return lines('<div class="tables">', *tables, "</div>")


def pictures(*drawn: str) -> str:
    """Pictures beside each other, where there is room; without them, how to get some."""
    if not all(drawn):
        return "<p class=\"muted\">For pictures: <code>pip install 'pdpmean[plot]'</code></p>"
    return lines('<div class="pictures">', *drawn, "</div>")


def picture(panel: str, title: str, caption: str, *drawn: Any, height: float = 3.1) -> str:
    """A panel, by its name, with title and caption, so many inches high; nothing without matplotlib."""
    try:
        from pdpmean.show import panels
    except MissingPackageError:
        return ""
    from pdpmean.show.svg import inline_svg

    draw = getattr(panels, f"draw_{panel}")
    svg = inline_svg(lambda axes: draw(axes, *drawn), name=panel, title=f"{title}. {caption}", height=height)
    return lines(
        "<figure>", f"<h3>{escape(title)}</h3>", svg, f"<figcaption>{escape(caption)}</figcaption>", "</figure>"
    )
