"""The public list of groups to report, checked."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from pdpmean.errors import InvalidInputError

__all__ = ["MOST_GROUPS", "check_groups"]

MOST_GROUPS = 10_000


def check_groups(by: Any, groups: Iterable[Hashable] | None) -> tuple[Hashable, ...] | None:
    """The groups to report, in the given order, checked; None if there are none."""
    if by is None and groups is None:
        return None
    if by is None or groups is None:
        missing = "groups=[...], the public list of groups to report" if groups is None else "by, the column of groups"
        raise InvalidInputError(f"by and groups go together; {missing}, is missing", name="groups")
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise InvalidInputError(f"groups must be a list of groups; got {groups!r}", name="groups", value=groups)
    labels = tuple(groups)
    if not 1 <= len(labels) <= MOST_GROUPS:
        raise InvalidInputError(
            f"groups must list between 1 and {MOST_GROUPS:,} groups; got {len(labels):,}", name="groups", value=labels
        )
    _check_labels(labels)
    return labels


def _check_labels(labels: tuple[Hashable, ...]) -> None:
    """Raise unless labels are distinct and hashable, also as text, so that results can be looked up by them."""
    try:
        distinct = min(len(set(labels)), len({str(label) for label in labels}))
    except TypeError:
        raise InvalidInputError("groups must be numbers, text or the like", name="groups", value=labels) from None
    if distinct < len(labels):
        raise InvalidInputError("groups must be distinct, also when written as text", name="groups", value=labels)
