"""Lists and tiers on the command line: read as written, or refused with a hint on how to write them."""

from __future__ import annotations

import math

import pytest

from pdpmean import InvalidInputError
from pdpmean.cli.tiers import Tier, budget_range, people_of, read_list, read_tiers, tier_budgets


def test_lists_are_split_at_commas_outside_quotes() -> None:
    assert read_list(["a,b", " c ", '"d, e",f']) == ["a", "b", "c", "d, e", "f"]
    assert read_list([]) == []


@pytest.mark.parametrize(
    ("text", "tier"),
    [
        ("0.1:5400", Tier(None, 0.1, 5400)),
        ("strict=0.1", Tier("strict", 0.1, None)),
        ("strict=0.1:5_400", Tier("strict", 0.1, 5400)),
        ("a=b:c=1e-2", Tier("a=b:c", 0.01, None)),
        ("inf:3", Tier(None, math.inf, 3)),
        ("0:3", Tier(None, 0.0, 3)),
    ],
)
def test_one_tier(text: str, tier: Tier) -> None:
    assert read_tiers([text]) == [tier]


@pytest.mark.parametrize("text", ["strict", "=", "0.1:", "0.1:x", "0.1:-1", "-1:5", "nan:5", "0.1:1.5", ""])
def test_malformed_tiers_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError, match="--tiers must look like"):
        read_tiers([f"{text},open=1"])


def test_people_at_one_budget_add_up() -> None:
    assert people_of(read_tiers(["a=0.1:5,b=0.1:6", "1:7"])) == {0.1: 11, 1.0: 7}
    for texts in (["0.1:5,1"], []):
        with pytest.raises(InvalidInputError, match="how many people"):
            people_of(read_tiers(texts))


def test_named_tiers_become_budgets() -> None:
    assert tier_budgets(read_tiers(["a=0.1,b=1"])) == {"a": 0.1, "b": 1.0}
    assert tier_budgets([]) is None
    for text in ("0.1", "a=0.1:3"):
        with pytest.raises(InvalidInputError, match="with a file, --tiers"):
            tier_budgets(read_tiers([text]))
    with pytest.raises(InvalidInputError, match="--tiers lists the name 'a' twice"):
        read_tiers(["a=0.1,a=1"])


def test_the_range_of_tiers_is_public_where_budgets_are_not() -> None:
    tiers = read_tiers(["0:1,0.1:5,2:6,inf:3"])
    assert budget_range("bounded", None, None, tiers) is None
    assert budget_range("unbounded", None, None, tiers) == (0.1, 2.0)
    assert budget_range("unbounded", 0.05, None, tiers) == (0.05, 2.0)
    assert budget_range("unbounded", None, None, []) is None
    with pytest.raises(InvalidInputError, match="go together; --budget-max is missing"):
        budget_range("unbounded", 0.05, None, [])
    with pytest.raises(InvalidInputError, match="go together; --budget-min is missing"):
        budget_range("unbounded", None, 0.05, [])
