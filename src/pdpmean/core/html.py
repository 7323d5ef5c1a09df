"""Tables for notebooks, as HTML. All text is escaped by Jinja2; this is the one place that writes tables."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment, Template

__all__ = ["as_html", "environment"]


def environment(*packages: str) -> Environment:
    """The templates of these packages, and the table that all of them may use; whatever is filled in is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loaders = [PackageLoader(package) for package in ("pdpmean.core", *packages)]
    return Environment(
        loader=ChoiceLoader(loaders), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def as_html(rows: Sequence[Sequence[str]], head: Sequence[str] = (), note: str = "") -> str:
    """A table for notebooks, the first cell of each row being its name; and a note below it."""
    return str(_notebook().render(rows=rows, head=head, note=note))


@lru_cache(maxsize=1)
def _notebook() -> Template:
    source = '{% from "table.html" import table %}{{ table(rows, head) }}{% if note %}<p>{{ note }}</p>{% endif %}'
    return environment().from_string(source)
