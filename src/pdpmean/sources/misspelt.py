"""Misspelt: an error for a listed group that no record has, if the data has one of nearly the same name.

Only where groups are public, which they are in the bounded model.
"""

from __future__ import annotations

from collections.abc import Sequence

from pdpmean.core.options import Options
from pdpmean.errors import InvalidInputError
from pdpmean.passes.cells import CellCounts
from pdpmean.passes.source import Source

__all__ = ["check_spelling"]

_LEAST_LETTERS = 4  # of a word that may be misspelt; shorter ones may be labels, as in "ward A" and "ward AB"
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
        similar = next((other for other in others if _is_slip(_compared(group), _compared(other))), None)
        if similar is not None:
            column = f"column {options.by!r}" if isinstance(options.by, str) else "by"
            raise InvalidInputError(
                f"no record has {group!r} in {column}; did you mean {similar!r}?", name="groups", value=group
            )


def _compared(name: str) -> str:
    return name.strip().casefold()


def _is_slip(name: str, other: str) -> bool:
    """Whether two names are equal, or differ in one word by a slip of the pen.

    A replaced letter does not count as one, since names of groups often differ by just that: "region B", "region C".
    """
    words, other_words = name.split(), other.split()
    if len(words) != len(other_words):
        return False
    different = [pair for pair in zip(words, other_words, strict=True) if pair[0] != pair[1]]
    return not different or (len(different) == 1 and _are_one_slip_apart(*different[0]))


def _are_one_slip_apart(word: str, other: str) -> bool:
    """Whether one word becomes the other if a letter is left out, or two neighbouring letters change places."""
    longer, shorter = sorted((word, other), key=len, reverse=True)
    if len(shorter) < _LEAST_LETTERS or not (word.isalpha() and other.isalpha()):
        return False
    if len(longer) == len(shorter) + 1:
        return any(longer[:place] + longer[place + 1 :] == shorter for place in range(len(longer)))
    swapped = (word[:place] + word[place + 1] + word[place] + word[place + 2 :] for place in range(len(word) - 1))
    return len(longer) == len(shorter) and other in swapped
