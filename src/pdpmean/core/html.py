"""HTML tables for notebooks. Jinja2 escapes all text, and no other module writes HTML tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template

__all__ = ["as_html", "environment"]


def environment(*packages: str) -> Environment:
    """A Jinja2 environment with the templates of these packages and the shared table; all inserted text is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loaders = [PackageLoader(package) for package in ("pdpmean.core", *packages)]
    return Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def as_html(rows: Sequence[Sequence[str]], head: Sequence[str] = (), note: str = "") -> str:
    """An HTML table with a note below it; the first cell of each row is the row's name."""
    return str(_notebook().render(rows=rows, head=head, note=note))


@lru_cache(maxsize=1)
def _notebook() -> Template:
    source = '{% from "table.html" import table %}{{ table(rows, head) }}{% if note %}<p>{{ note }}</p>{% endif %}'
    return environment().from_string(source)
