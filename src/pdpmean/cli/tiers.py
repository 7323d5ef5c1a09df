"""Lists, groups and tiers as written on the command line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from pdpmean.errors import InvalidInputError

__all__ = ["Tier", "budget_range", "people_of", "read_groups", "read_list", "read_tiers", "tier_budgets"]


class Tier(NamedTuple):
    """A tier as written, ``[NAME=]BUDGET[:PEOPLE]``."""

    name: str | None
    budget: float
    people: int | None


def read_list(texts: Iterable[str]) -> list[str]:
    """The entries of texts such as ``a,b``; one that holds a comma goes in double quotes."""
    return [entry.strip() for text in texts for line in csv.reader([text]) for entry in line]


def read_groups(by: str | None, groups: list[str] | None) -> dict[str, Any]:
    """The column of groups and the list of them, as options; nothing where neither is given."""
    if (by is None) != (not groups):
        raise InvalidInputError(
            "--by and --groups go together: a column and the public list of its groups, --by region --groups a,b",
            name="groups",
        )
    return {"by": by, "groups": read_list(groups)} if groups else {}


def read_tiers(texts: Iterable[str] | None) -> list[Tier]:
    """The tiers of texts such as ``strict=0.1,open=1`` or ``0.1:5400,1:900``."""
    tiers = [_read_tier(text) for text in read_list(texts or ())]
    names = [tier.name for tier in tiers if tier.name is not None]
    if len(set(names)) < len(names):
        raise InvalidInputError("--tiers lists a name twice", name="tiers")
    return tiers


def _read_tier(text: str) -> Tier:
    name, named, rest = text.rpartition("=")
    budget, counted, people = rest.partition(":")
    try:
        tier = Tier(name.strip() if named else None, float(budget), int(people) if counted else None)
    except ValueError:
        tier = Tier(None, math.nan, None)
    if not tier.budget >= 0 or (tier.people or 0) < 0:
        raise InvalidInputError(
            f"--tiers must look like strict=0.1,open=1 or, with people, 0.1:5400,1:900, all >= 0; got {text!r}",
            name="tiers",
            value=text,
        )
    return tier


def tier_budgets(tiers: list[Tier]) -> dict[str, float] | None:
    """The budget of each named tier, for a column of names; None without tiers."""
    if any(tier.name is None or tier.people is not None for tier in tiers):
        raise InvalidInputError("with a file, --tiers must look like strict=0.1,open=1", name="tiers")
    return {str(tier.name): tier.budget for tier in tiers} or None


def people_of(tiers: list[Tier]) -> dict[float, int]:
    """How many people hold which budget."""
    if not tiers or any(tier.people is None for tier in tiers):
        raise InvalidInputError("without a file, --tiers must say how many people: 0.1:5400,1:900", name="tiers")
    people: dict[float, int] = {}
    for tier in tiers:
        people[tier.budget] = people.get(tier.budget, 0) + (tier.people or 0)
    return people


def budget_range(model: str, low: float | None, high: float | None, tiers: list[Tier]) -> tuple[float, float] | None:
    """What is public of the budgets in the unbounded model: as given or, since tiers are public, their ends."""
    finite = [tier.budget for tier in tiers if 0 < tier.budget < math.inf] if model == "unbounded" else []
    low = min(finite, default=None) if low is None else low
    high = max(finite, default=None) if high is None else high
    if low is None and high is None:
        return None
    if low is None or high is None:
        raise InvalidInputError("--budget-min and --budget-max go together", name="budget_range")
    return low, high
