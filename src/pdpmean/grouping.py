"""Groups: which are asked for, publicly, and which one a record belongs to."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpmean.errors import InvalidInputError

__all__ = ["MOST_GROUPS", "check_groups", "codes_of"]

MOST_GROUPS = 10_000


def check_groups(by: Any, groups: Iterable[Hashable] | None) -> tuple[Hashable, ...] | None:
    """The groups asked for, in their order; None where there are none."""
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
    if not all(isinstance(label, Hashable) for label in labels) or len(set(labels)) < len(labels):
        raise InvalidInputError("groups must be different from each other", name="groups", value=labels)
    return labels


def codes_of(column: Any, groups: Sequence[Hashable]) -> NDArray[np.int32]:
    """The number of each entry's group; one beyond the last for an entry of no group asked for."""
    numbers = {label: number for number, label in enumerate(groups)}
    entries = column.tolist() if hasattr(column, "tolist") else column

    def code(entry: Any) -> int:
        try:
            return numbers.get(entry, len(groups))
        except Exception:  # whatever an entry does, it is one of no group
            return len(groups)

    return np.fromiter((code(entry) for entry in entries), np.int32)
