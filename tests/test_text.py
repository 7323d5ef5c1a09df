"""Numbers, tables and rows of HTML as text."""

from __future__ import annotations

import math

import pytest

from pdpmean import plan_mean
from pdpmean.core.html import as_html
from pdpmean.core.text import budget_in_words, did_you_mean, percent_as_fraction, rounded, short, without_password


@pytest.mark.parametrize(
    ("budget", "text"), [(10.0, "10"), (99.8, "100"), (0.1, "0.1"), (0.1373, "0.137"), (1e-5, "1e-05")]
)
def test_budgets_in_words(budget: float, text: str) -> None:
    assert budget_in_words(budget) == text


@pytest.mark.parametrize(
    ("number", "digits", "text"),
    [
        (17042.3, 4, "17040"),
        (140_371.0, 3, "140000"),
        (999.96, 3, "1000"),
        (-1234.5, 3, "-1230"),
        (0.01234, 3, "0.0123"),
        (1.5e-9, 3, "1.5e-09"),
        (2.3456e9, 3, "2.35e+09"),
        (math.inf, 3, "inf"),
        (0.0, 3, "0"),
    ],
)
def test_short_has_so_many_significant_digits(number: float, digits: int, text: str) -> None:
    assert short(number, digits) == text


def test_a_number_is_rounded_to_a_hundredth_of_its_error() -> None:
    assert rounded(38.01234, 0.04) == "38.012"
    assert rounded(35961.7, 507.0) == "35962"
    assert rounded(7.0, 0.0) == "7"


def test_html_rows_are_escaped() -> None:
    shown = as_html([("a<b", "1 & 2")], note="<script>")
    assert '<th scope="row">a&lt;b</th><td>1 &amp; 2</td>' in shown
    assert shown.endswith("<p>&lt;script&gt;</p>")


def test_a_plan_shows_itself_in_a_notebook() -> None:
    plan = plan_mean({0.5: 8000})
    shown = plan._repr_html_()
    assert shown == as_html(plan.rows())
    assert '<th scope="row">total budget</th><td>4,000' in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("--ledger postgresql://ada:s3:cret@host:5432/people", "--ledger postgresql://ada:***@host:5432/people"),
        ("postgres://:s3cret@host/a and people.db", "postgres://:***@host/a and people.db"),
        ("postgresql://host/a?password=s3cret&user=ada", "postgresql://host/a?password=***&user=ada"),
        ("postgresql://ada@host:5432/people", "postgresql://ada@host:5432/people"),
        ("C:/people.db mail@host", "C:/people.db mail@host"),
    ],
)
def test_addresses_are_shown_without_their_password(text: str, shown: str) -> None:
    assert without_password(text) == shown


@pytest.mark.parametrize(
    ("name", "known", "suggestion"),
    [
        ("AHE", ["age", "ahe", "sex"], "; did you mean 'ahe'?"),
        ("Ahe", ["AHE", "ahe", "Ahe2"], "; did you mean 'ahe'?"),
        ("hour", ["hours", "HOURS"], "; did you mean 'hours'?"),
        ("HOUR", ["hours", "HOURS"], "; did you mean 'HOURS'?"),
        ("x", ["hours"], ""),
        ("x", [], ""),
    ],
)
def test_similar_names_are_suggested_whatever_their_case(name: str, known: list[str], suggestion: str) -> None:
    assert did_you_mean(name, known) == suggestion


@pytest.mark.parametrize(
    ("text", "fraction"), [("25%", "0.25"), (" .5 % ", "0.005"), ("12.5%", "0.125"), ("25", None), ("a%", None)]
)
def test_percentages_are_read_as_fractions(text: str, fraction: str | None) -> None:
    assert percent_as_fraction(text) == fraction
