"""Tiers: parses lists, groups and tiers as they are written on the command line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from pdpmean.core.text import percent_as_fraction
from pdpmean.errors import InvalidInputError

__all__ = ["Tier", "budget_range", "people_of", "read_groups", "read_list", "read_tiers", "tier_budgets"]


class Tier(NamedTuple):
    """A tier as written on the command line, ``[NAME=]BUDGET[:PEOPLE]``."""

    name: str | None
    budget: float
    people: int | None


def read_list(texts: Iterable[str]) -> list[str]:
    """The entries of texts such as ``a,b``; an entry with a comma is written in double quotes."""
    return [entry.strip() for text in texts for line in csv.reader([text]) for entry in line]


def read_groups(by: str | None, groups: list[str] | None) -> dict[str, Any]:
    """The arguments `by` and `groups` of `estimate_mean`; empty if neither is given."""
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
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInputError(f"--tiers lists the name {twice!r} twice", name="tiers", value=twice)
    return tiers


def _read_tier(text: str) -> Tier:
    """The tier that a text describes; raises if it is malformed or has a negative number."""
    name, equals_sign, rest = text.rpartition("=")
    budget, colon, people = rest.partition(":")
    try:
        tier = Tier(name.strip() if equals_sign else None, float(budget), int(people) if colon else None)
    except ValueError:
        tier = Tier(None, math.nan, None)
    if not tier.budget >= 0 or (tier.people or 0) < 0:
        raise InvalidInputError(
            "--tiers must look like strict=0.1,open=1 or, with people, 0.1:5400,1:900, all >= 0; "
            f"got {text!r}{_fault(budget.strip(), people.strip())}",
            name="tiers",
            value=text,
        )
    return tier


def _fault(budget: str, people: str) -> str:
    """The end of a message about a malformed tier: which part of it is not a number."""
    for part, kind, what in ((budget, float, "a number"), (people, int, "a number of people")):
        try:
            kind(part or 0)
        except ValueError:
            fraction = percent_as_fraction(part)
            return f"; {part!r} is not {what}" + ("" if fraction is None else f", write {fraction}")
    return ""


def tier_budgets(tiers: list[Tier]) -> dict[str, float] | None:
    """The budget of each named tier, for a column of names; None without tiers."""
    if any(tier.name is None or tier.people is not None for tier in tiers):
        raise InvalidInputError("with a file, --tiers must look like strict=0.1,open=1", name="tiers")
    return {str(tier.name): tier.budget for tier in tiers} or None


def people_of(tiers: list[Tier]) -> dict[float, int]:
    """The number of people by budget; raises unless every tier says how many people it has."""
    if not tiers or any(tier.people is None for tier in tiers):
        raise InvalidInputError("without a file, --tiers must say how many people: 0.1:5400,1:900", name="tiers")
    people: dict[float, int] = {}
    for tier in tiers:
        people[tier.budget] = people.get(tier.budget, 0) + (tier.people or 0)
    return people


def budget_range(model: str, low: float | None, high: float | None, tiers: list[Tier]) -> tuple[float, float] | None:
    """The public range of budgets in the unbounded model; None if it is not given.

    By default it is the range of the finite positive budgets of the tiers, which are public.
    """
    finite = [tier.budget for tier in tiers if 0 < tier.budget < math.inf] if model == "unbounded" else []
    low = min(finite, default=None) if low is None else low
    high = max(finite, default=None) if high is None else high
    if low is None and high is None:
        return None
    if low is None or high is None:
        missing = "--budget-min" if low is None else "--budget-max"
        raise InvalidInputError(f"--budget-min and --budget-max go together; {missing} is missing", name="budget_range")
    return low, high
