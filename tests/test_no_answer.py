"""No answer: every contradiction comes with advice, and who follows it gets an answer."""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

from pdpmean import MeanEstimate, Randomness, estimate_mean
from pdpmean.cli.console import in_options
from pdpmean.core.types import Floats
from pdpmean.inference import any_shape, gaussian, known_bounds
from pdpmean.inference.population import Contradiction
from pdpmean.laws import far_mean
from pdpmean.laws.findings import Finding

PEOPLE = 4000


def named(*modules: Any) -> list[Contradiction]:
    """The contradictions that these modules name."""
    things = [thing for module in modules for thing in vars(module).values()]
    listed = [list(thing.values()) for thing in things if isinstance(thing, dict)]
    found = [*things, *(thing for values in listed for thing in values)]
    return [thing for thing in found if isinstance(thing, Contradiction)]


CONTRADICTIONS = named(any_shape, gaussian, known_bounds)


def test_every_code_that_can_occur_has_words() -> None:
    """The codes are the names of findings, and the keys of a dictionary in the source of `far_mean`."""
    source = textwrap.dedent(inspect.getsource(far_mean._contradictions))
    (codes,) = (node.keys for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Dict))
    assert {code.value for code in codes if isinstance(code, ast.Constant)} == any_shape._INCONSISTENT.keys()
    assert set(get_args(Finding)) - {"found"} == any_shape._NOT_FOUND.keys()


def test_every_contradiction_has_advice() -> None:
    assert len(CONTRADICTIONS) >= 13
    for reason, advice in CONTRADICTIONS:
        assert reason
        assert 2 <= len(advice.split()) <= 25
        assert not advice.endswith(".")


def test_advice_names_options_on_the_command_line() -> None:
    for _, advice in CONTRADICTIONS:
        assert not re.search(r"\b(bounds|shape|equals)=", in_options(advice))
    assert "--bounds LOW HIGH" in in_options(any_shape._NOT_FOUND["nothing"].advice)


@pytest.mark.parametrize("code", any_shape._INCONSISTENT)
def test_a_population_that_was_not_found_is_all_that_is_said(code: str) -> None:
    assert any_shape._in_words((code,)) == (any_shape._INCONSISTENT[code],)
    assert any_shape._in_words(("nothing", code)) == (any_shape._NOT_FOUND["nothing"],)


def rare(rng: np.random.Generator) -> Floats:
    """Three in a hundred are 1, all others 0."""
    return (rng.random(PEOPLE) < 0.03).astype(np.float64)


def constant(rng: np.random.Generator) -> Floats:  # noqa: ARG001
    return np.full(PEOPLE, 5.0)


def of_all_sizes(rng: np.random.Generator) -> Floats:
    """Evenly spread over forty powers of ten."""
    return np.asarray(10 ** rng.uniform(-20.0, 20.0, PEOPLE))


def partly_infinite(rng: np.random.Generator) -> Floats:
    return np.where(rng.random(PEOPLE) < 0.2, math.inf, rng.normal(50.0, 10.0, PEOPLE))


def with_codes(rng: np.random.Generator) -> Floats:
    return np.where(rng.random(PEOPLE) < 0.05, 999999999, rng.normal(50.0, 10.0, PEOPLE))


def differing_in_the_ninth_digit(rng: np.random.Generator) -> Floats:
    return rng.normal(1e9, 1.0, PEOPLE)


def differing_in_the_twelfth_digit(rng: np.random.Generator) -> Floats:
    return rng.normal(1e10, 0.01, PEOPLE)


def unchanged(values: Floats) -> Floats:
    return values


def without_codes(values: Floats) -> Floats:
    return np.where(np.isinf(values) | (values == 999999999), math.nan, values)


COARSE = any_shape._COARSE
NOT_FOUND = any_shape._NOT_FOUND
BEYOND = any_shape._INCONSISTENT["beyond"]


@pytest.mark.filterwarnings("ignore::pdpmean.PopulationWarning")
@pytest.mark.parametrize(
    "model", [{}, {"model": "unbounded", "budget_range": (0.1, 1.0)}], ids=["bounded", "unbounded"]
)
@pytest.mark.parametrize(
    ("drawn", "said", "mended", "options"),
    [
        (rare, NOT_FOUND["nothing"], unchanged, {"bounds": (0, 1)}),
        (rare, NOT_FOUND["nothing"], lambda values: np.tile(values, 25), {}),
        (constant, NOT_FOUND["nothing"], unchanged, {"bounds": (0, 10)}),
        (of_all_sizes, NOT_FOUND["unseen"], unchanged, {"bounds": (0, 1e20)}),
        (partly_infinite, NOT_FOUND["too far"], without_codes, {}),
        (differing_in_the_twelfth_digit, NOT_FOUND["missed"], lambda values: values - 1e10, {}),
        (with_codes, BEYOND, without_codes, {}),
        (with_codes, BEYOND, unchanged, {"bounds": (0, 100)}),
        (differing_in_the_ninth_digit, COARSE, lambda values: values - 1e9, {}),
    ],
)
def test_who_follows_the_advice_gets_an_answer(
    drawn: Callable[[np.random.Generator], Floats],
    said: Contradiction,
    mended: Callable[[Floats], Floats],
    options: dict[str, Any],
    model: dict[str, Any],
) -> None:
    values = drawn(np.random.default_rng(0))
    found = seeded(values, **model)
    assert (found.contradictions, found.advice) == ((said.reason,), (said.advice,))
    assert found.to_dict()["advice"] == [said.advice]
    assert said.advice in " ".join(str(found).split())
    then = seeded(mended(values), **options, **model)
    assert (then.contradictions, then.advice) == ((), ())


def seeded(values: Floats, **options: Any) -> MeanEstimate:
    found: MeanEstimate = estimate_mean(values, 0.5, randomness=Randomness.seeded(1), **options)
    return found
