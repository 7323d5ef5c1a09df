"""Misspelt: an error for a listed group that no record has, if the data has one of nearly the same name.

Only where groups are public, which they are in the bounded model.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from pdpmean.core.options import Options
from pdpmean.errors import InvalidInputError
from pdpmean.passes.cells import CellCounts
from pdpmean.passes.source import Source

__all__ = ["check_spelling"]

_SIMILAR = 0.85  # the least similarity of two names, from 0 to 1: "femal" is similar to "female", "male" is not
_MOST_COMPARED = 100_000  # pairs of names; comparing more would take long


def check_spelling(source: Source, counted: Sequence[CellCounts], options: Options) -> None:
    """Raise if a listed group has no record, and the column has a very similar entry that is not listed.

    Where rows are merged, the groups of a person's other rows are private, so nothing is said.
    """
    if options.groups is None or not options.model.budgets_are_public or options.rows is not None:
        return
    listed = [str(group) for group in options.groups]
    empty = [group for group, cells in zip(listed, counted, strict=True) if not cells.counts.size]
    others = sorted(source.group_entries() - set(listed)) if empty else []
    if len(empty) * len(others) > _MOST_COMPARED:
        return
    for group in empty:
        if similar := _most_similar(group, others):
            column = f"column {options.by!r}" if isinstance(options.by, str) else "by"
            raise InvalidInputError(
                f"no record has {group!r} in {column}; did you mean {similar!r}?", name="groups", value=group
            )


def _most_similar(group: str, others: Sequence[str]) -> str | None:
    """The entry that is most like the group, if it has the same numbers; None if none is very similar."""
    by_name = {_compared(other): other for other in others if _numbers(other) == _numbers(group)}
    similar = difflib.get_close_matches(_compared(group), by_name, n=1, cutoff=_SIMILAR)
    return by_name[similar[0]] if similar else None


def _compared(name: str) -> str:
    return name.strip().casefold()


def _numbers(name: str) -> list[str]:
    """The numbers in a name: region 1 is not a misspelt region 2."""
    return re.findall("[0-9]+", name)
