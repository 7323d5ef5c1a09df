"""The guarantee in words says which model, which budgets, what is public, and what is assumed."""

from __future__ import annotations

from fractions import Fraction

import pytest

from pdpmean.core.model import BOUNDED, Model
from pdpmean.core.promise import Promise

UNBOUNDED = Model("unbounded", (0.1, 1.0))


def test_seeded_promises_nothing() -> None:
    assert str(Promise(BOUNDED, Fraction(1), private=False)).startswith("NOT PRIVATE")


def test_the_guarantee_in_the_bounded_model() -> None:
    words = str(Promise(BOUNDED, Fraction(1)))
    assert (
        "replacing one person's value changes the probability of any output by a factor of at most exp(budget)."
        in words
    )
    assert "Who takes part and everybody's budget are assumed to be public." in words
    assert words.endswith("Assumes one record per person.")


def test_the_guarantee_in_the_unbounded_model() -> None:
    words = str(Promise(UNBOUNDED, Fraction(1, 4)))
    assert "adding or removing one person" in words
    assert "a factor of at most exp(0.25 * budget)." in words
    assert "Only the range of budgets, 0.1 to 1, is assumed to be public." in words


@pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED])
def test_the_guarantee_with_groups(model: Model) -> None:
    words = str(Promise(model, Fraction(1), groups=3))
    assert "exp(budget), all groups together." in words
    public = "budget and group are" if model is BOUNDED else "0.1 to 1, and the list of groups are"
    assert f"{public} assumed to be public." in words
    assert words.endswith("Assumes one record per person, in one group.")


def test_ids_that_were_checked() -> None:
    words = str(Promise(BOUNDED, Fraction(1), unique=True))
    assert words.endswith("No two records have the same person's id.")
    assert "Assumes" not in words
