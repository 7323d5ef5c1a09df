"""Hostile private data: whatever the values, `estimate_mean` answers in the same way, with the same finite fields.

In the unbounded model the budgets and the number of records are private, too, and reach the result, its warnings and a
refusal only through released numbers.
"""

from __future__ import annotations

import json
import math
import pickle
import warnings
from fractions import Fraction
from typing import Any, Literal
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from located import locate_one
from messages import messages_of
from rude import RUDE, rude_column, rude_entry
from scripted import Scripted

from pdpmean import paper
from pdpmean.core.choices import Choices
from pdpmean.errors import InsufficientBudgetError, InvalidInputError, PopulationWarning
from pdpmean.estimate import estimate_mean
from pdpmean.passes.cells import count_budgets
from pdpmean.plan import plan_mean
from pdpmean.planning.levels import MOST_LEVELS
from pdpmean.randomness import Randomness
from pdpmean.release import private_median
from pdpmean.release.average import average
from pdpmean.release.group import Group
from pdpmean.release.locate import locate
from pdpmean.release.weight_squares import weight_squares
from pdpmean.results.mean_estimate import MeanEstimate
from pdpmean.sources.arrays import ArraySource
from pdpmean.sources.private_columns import budgets_of_tiers

pytestmark = pytest.mark.usefixtures("remembered_plans")

Shape = Literal["gaussian", "any", "from a bound", "bounds"]

PEOPLE = 72
BUDGET = 64.0  # in all 4608: enough for either shape in either model
LARGEST = 1.7976931348623157e308
TINY = 5e-324

MODELS: dict[str, dict[str, Any]] = {
    "bounded": {"model": "bounded"},
    "unbounded": {"model": "unbounded", "budget_range": (1.0, BUDGET)},
}
SHAPES: dict[Shape, dict[str, Any]] = {
    "gaussian": {"shape": "gaussian"},
    "any": {"shape": "any"},
    "from a bound": {"shape": "any", "bounds": (-5.0, None)},
    "bounds": {"shape": "any", "bounds": (-5.0, 20.0)},
}
CASES = [(model, shape) for model in MODELS for shape in SHAPES]

quick = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
)
every_case = pytest.mark.parametrize(("model", "shape"), CASES, ids=["-".join(case) for case in CASES])


def numbers() -> st.SearchStrategy[Any]:
    extremes = [math.nan, math.inf, -math.inf, 0.0, -0.0, TINY, -TINY, 2.0**-1022, LARGEST, -LARGEST, 1e300, -1e300]
    return st.one_of(st.sampled_from(extremes), st.floats(), st.floats(-3, 3))


def entries() -> st.SearchStrategy[Any]:
    """What a list may hold, numbers or not."""
    return st.one_of(
        numbers(),
        st.integers(-(2**70), 2**70),
        st.sampled_from(
            [None, "12", "", b"\xff", [1, 2], {}, True, 10**400, -(10**400), 1 + 2j, np.float32(1), object()]
        ),
    )


@st.composite
def columns(draw: st.DrawFn) -> list[Any]:
    """A column of `PEOPLE` hostile values.

    Anything, one value, two clusters, mostly one value, all of one size, or close together and far from 0.
    """
    kind = draw(st.sampled_from(["anything", "numbers", "equal", "clusters", "mostly", "sized", "remote"]))
    if kind == "anything":
        return draw(st.lists(entries(), min_size=PEOPLE, max_size=PEOPLE))
    if kind == "numbers":
        return draw(st.lists(numbers(), min_size=PEOPLE, max_size=PEOPLE))
    if kind == "equal":
        return [draw(entries())] * PEOPLE
    if kind == "sized":
        size = draw(st.sampled_from([TINY, 1e-320, 1e-300, 1e-160, 1e-150, 1e150, 1e155, 1e200, 1e307]))
        steps = np.random.default_rng(draw(st.integers(0, 99))).integers(-17, 18, PEOPLE)
        return [int(step) * size for step in steps]
    if kind == "remote":
        place = draw(st.sampled_from([1e8, -1e12, 1e15, 1e300, -LARGEST, 2.0**-1000]))
        steps = np.random.default_rng(draw(st.integers(0, 99))).integers(-17, 18, PEOPLE)
        gap = 2.0 ** draw(st.sampled_from([-53, -40, -27, -24]))
        return [place * (1 - abs(int(step)) * gap) for step in steps]
    part = PEOPLE // 2 if kind == "clusters" else PEOPLE * 6 // 10
    if kind == "clusters":
        low, high = draw(st.sampled_from([(0.0, 1e300), (-1e300, 1e300), (-LARGEST, LARGEST), (0, TINY), (1, 2**70)]))
        return [low] * part + [high] * (PEOPLE - part)
    others = draw(st.lists(numbers(), min_size=PEOPLE - part, max_size=PEOPLE - part))
    return [draw(numbers())] * part + others


def answer(values: Any, budgets: Any, *, model: str, seed: int = 0, **options: Any) -> MeanEstimate:
    """An estimate in which no warning but a `PopulationWarning` is tolerated, and those are the result's own."""
    options = {**options, **SHAPES[options.get("shape", "gaussian")], **bounds_of(options)}
    options.setdefault("randomness", Randomness.seeded(seed))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", PopulationWarning)
        warnings.filterwarnings("ignore", "budgets look wrong")
        result: MeanEstimate = estimate_mean(values, budgets, **{**MODELS[model], **options})
    no_answer = f"no answer: {'; '.join(result.contradictions)}. What to do next: {'; '.join(result.advice)}"
    told = (no_answer,) if result.contradictions else messages_of(result)
    assert tuple(str(warning.message) for warning in caught) == told
    return result


def bounds_of(options: dict[str, Any]) -> dict[str, Any]:
    """The bounds that were given, if any were."""
    return {"bounds": options["bounds"]} if "bounds" in options else {}


FIELDS = {
    *("mean", "interval", "std", "noise_std", "sampling_std", "tails_std", "center", "scale", "model"),
    *(
        "spent",
        "bounds",
        "budget_range",
        "missing",
        "missing_at_most",
        "missing_is_seen",
        "holds_if",
        "contradicted",
        "contradictions",
        "advice",
        "released_mean",
    ),
    *("assumed_tails", "weighting", "target", "whose_mean", "levels", "levels_differ"),
    *("shape", "shares", "plan", "warnings", "private", "guarantee"),
    *("run", "losses", "what_a_loss_means", "spending", "value", "equals"),
}


def check(result: MeanEstimate) -> None:
    """Every field is there and finite, and the intervals are nested around the mean."""
    found = result.to_dict()
    assert found.keys() == FIELDS
    json.dumps(found, allow_nan=False)
    for text in (str(result), result._repr_html_()):
        assert "NOT PRIVATE" in text
        assert "nan" not in text.split("guarantee")[0]
    assert min(result.std, result.noise_std, result.sampling_std, result.tails_std, result.scale) >= 0
    narrow, wide = result.law.interval(0.8), result.law.interval(0.99)
    assert all(math.isfinite(end) for end in (*narrow, *wide))
    room = 1e-6 * (wide[1] / 2 - wide[0] / 2)
    assert wide[0] - room <= narrow[0] <= narrow[1] <= wide[1] + room
    # The mean is the law's best point, not its middle: it may lie off by part of a width, never far away.
    slack = 2 * room * 1e6 + 1e-9 * abs(result.released_mean)
    assert wide[0] - slack <= result.released_mean <= wide[1] + slack


def answer_or_refusal(values: Any, budgets: Any, **options: Any) -> MeanEstimate | InsufficientBudgetError:
    try:
        return answer(values, budgets, **options)
    except InsufficientBudgetError as refusal:
        return refusal


def check_either(outcome: MeanEstimate | InsufficientBudgetError) -> None:
    if isinstance(outcome, MeanEstimate):
        check(outcome)
        return
    assert "is not enough for an answer" in str(outcome)
    assert math.isfinite(outcome.total)
    assert outcome.needed > 0
    assert 0 <= outcome.failure_probability <= 1


# --- values ------------------------------------------------------------------------------------------------------


@every_case
@quick
@given(values=columns(), seed=st.integers(0, 3))
@example(values=[0.0] * PEOPLE, seed=0)
@example(values=[math.nan] * PEOPLE, seed=0)
@example(values=[None] * PEOPLE, seed=0)
@example(values=[LARGEST, -LARGEST] * (PEOPLE // 2), seed=0)
@example(values=[0.0, 1e300] * (PEOPLE // 2), seed=0)
@example(values=[0.0, TINY] * (PEOPLE // 2), seed=0)
def test_any_values_give_an_answer(values: list[Any], seed: int, model: str, shape: Shape) -> None:
    check(answer(values, BUDGET, model=model, shape=shape, seed=seed))


@every_case
@settings(quick, max_examples=25)
@given(values=columns())
def test_any_values_give_an_answer_within_bounds(values: list[Any], model: str, shape: Shape) -> None:
    check(answer(values, BUDGET, model=model, shape=shape, bounds=(-5.0, 20.0)))


@every_case
@pytest.mark.parametrize("kind", ["int64", "uint64", "bool", "float32", "masked", "object"])
def test_arrays_of_any_type_give_an_answer(kind: str, model: str, shape: Shape) -> None:
    values: Any
    if kind == "masked":
        values = np.ma.masked_equal(np.arange(PEOPLE), 7)
    elif kind == "object":
        values = np.array([None, "x", 2**70, 0.5, math.nan, Randomness] * (PEOPLE // 6), dtype=object)
    else:
        values = (np.arange(PEOPLE) * (2**63 // PEOPLE)).astype(kind)
    check(answer(values, BUDGET, model=model, shape=shape))


def with_last(entry: Any) -> list[Any]:
    return [*np.linspace(-1.0, 1.0, PEOPLE - 1).tolist(), entry]


@every_case
def test_an_entry_that_raises_is_a_missing_one(model: str, shape: Shape) -> None:
    """Or the number that it is derived from: either way nothing tells it from another entry."""
    for name, (_, number) in RUDE.items():
        values, plain = with_last(rude_entry(name)), with_last(number)
        ours, theirs = (answer(column, BUDGET, model=model, shape=shape) for column in (values, plain))
        assert repr(ours.to_dict()) == repr(theirs.to_dict())
    check(answer(rude_column(PEOPLE), BUDGET, model=model, shape=shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_private_budget_that_raises_is_none(shape: Shape) -> None:
    values = np.linspace(-1.0, 1.0, PEOPLE)
    for name, (_, number) in RUDE.items():
        budgets, plain = ([BUDGET] * (PEOPLE - 1) + [last] for last in (rude_entry(name), number))
        ours, theirs = (answer(values, column, model="unbounded", shape=shape) for column in (budgets, plain))
        assert repr(ours.to_dict()) == repr(theirs.to_dict())
    check_either(answer_or_refusal(values, rude_column(PEOPLE), model="unbounded", shape=shape))


@every_case
@pytest.mark.parametrize("value", [0.0, 1.0, -LARGEST, LARGEST, 1e-320, math.nan, math.inf])
def test_secure_randomness_answers_hostile_values_too(value: float, model: str, shape: Shape) -> None:
    result = answer([value] * PEOPLE, BUDGET, model=model, shape=shape, randomness=Randomness.secure())
    json.dumps(result.to_dict(), allow_nan=False)
    assert result.private


SIGNALLING = np.array([0x7FF4000000000000], np.uint64).view(np.float64)[0]  # a NaN that arithmetic complains of


@every_case
@pytest.mark.parametrize("entry", [SIGNALLING, math.inf, 1e308, TINY], ids=str)
def test_arithmetic_says_nothing_about_an_entry(entry: float, model: str, shape: Shape) -> None:
    """Neither as a warning nor, where somebody has asked NumPy to raise, as an error."""
    values, budgets = np.linspace(-1.0, 1.0, PEOPLE), np.full(PEOPLE, BUDGET)
    values[3] = entry
    budgets[5] = entry if model == "unbounded" else math.inf
    source = ArraySource(values, budgets)
    plan = plan_mean({BUDGET: PEOPLE}, **SHAPES[shape], **MODELS[model])
    with np.errstate(all="raise"):
        (cells,) = count_budgets(source, plan.model)
        randomness = Randomness.seeded(1)
        squared = weight_squares([Group(cells, plan)], randomness)
        located = locate(source, squared, randomness)
        average(source, located, randomness)


def test_the_papers_arithmetic_says_nothing_about_an_entry() -> None:
    values, budgets = np.linspace(-1.0, 1.0, 4000), np.full(4000, 2.0)
    values[:4] = [SIGNALLING, math.inf, -math.inf, TINY]
    with np.errstate(all="raise"):
        paper.mean_bounded(values, budgets, randomness=Randomness.seeded(1))
        paper.mean_unbounded(values, budgets, budget_range=(0.5, 2.0), randomness=Randomness.seeded(1))


GENEROUS = Choices(center_share=0.25, scale_share=0.25)
EQUAL = "many values seem to be equal, or nearly so"


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("mode", [0.0, 3.0, -1e6])
def test_equal_values_warn_and_name_the_other_shape(mode: float, model: str) -> None:
    result = answer(np.full(1000, mode), 8.0, model=model, choices=GENEROUS)
    assert messages_of(result) == (EQUAL,)
    assert result.advice == ("use shape='any'",)
    check(result)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("mode", [0.0, 3.0])
@pytest.mark.parametrize("others", ["around", "above"])
def test_mostly_equal_values_warn_and_name_the_other_shape(others: str, mode: float, model: str) -> None:
    """60 % of the values are one: its neighbourhood is not the population's, and the result must not pretend so."""
    generator = np.random.default_rng(5)
    for seed in range(5):
        rest = generator.normal(size=400) if others == "around" else generator.exponential(size=400)
        values = np.concatenate([np.full(600, mode), mode + rest])
        result = answer(values, 8.0, model=model, choices=GENEROUS, seed=seed)
        assert messages_of(result) == (EQUAL,)
        assert result.advice == ("use shape='any'",)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("population", ["normal", "uniform", "laplace", "integers"])
def test_smooth_populations_do_not_seem_equal(population: str, model: str) -> None:
    generator = np.random.default_rng(6)
    draws = {
        "normal": generator.normal(3.0, 2.0, 1000),
        "uniform": generator.uniform(-1.0, 5.0, 1000),
        "laplace": generator.laplace(3.0, 2.0, 1000),
        "integers": np.round(generator.normal(40.0, 12.0, 1000)),
    }
    found = [messages_of(answer(draws[population], 8.0, model=model, seed=seed)) for seed in range(5)]
    assert (EQUAL,) not in found


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("width", [1e-3, 0.1, 30.0, 1e3])
@pytest.mark.parametrize("value", [0.0, LARGEST, math.nan])
def test_any_clip_width_gives_an_answer(value: float, width: float, model: str) -> None:
    """The check counts everybody where the clip is narrow, and next to nobody where it is wide."""
    values = [value] * 36 + np.random.default_rng(1).normal(size=36).tolist()
    for saturation in (None, 1e-3, 1e3):
        choices = Choices(clip_half_width=width, saturation=saturation, max_failure=0.999999)
        check(answer(values, BUDGET, model=model, choices=choices))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_the_clip_of_any_shape_follows_the_values_past_ties(size: float) -> None:
    """Values at the centre are at distance 0, not at 1: a population scaled down has a clip scaled down."""
    values = np.concatenate([np.zeros(600), np.random.default_rng(2).normal(size=400) * size])
    plan = plan_mean({4.0: 1000}, shape="any")
    for seed in range(5):
        location = locate_one(values, np.full(1000, 2.0), plan, Randomness.seeded(seed))
        assert 1.5 * size <= location.half <= 32 * size


# --- nothing granted ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@settings(quick, max_examples=25)
@given(hidden=st.lists(entries(), min_size=10, max_size=10), seed=st.integers(0, 9))
def test_zero_budgets_have_no_influence_at_all(hidden: list[Any], seed: int, shape: Shape) -> None:
    """Bounded: bit for bit the same result, whatever they hold."""
    seen = np.random.default_rng(seed).normal(10.0, 2.0, PEOPLE).tolist()
    half = PEOPLE // 2
    budgets = [BUDGET] * half + [0.0] * 10 + [BUDGET] * half

    def result(values: list[Any]) -> MeanEstimate:
        return answer([*seen[:half], *values, *seen[half:]], budgets, model="bounded", shape=shape, seed=seed)

    ours, theirs = result(hidden), result([0.0] * 10)
    assert repr(ours.to_dict()) == repr(theirs.to_dict())
    assert ours.plan == theirs.plan


@pytest.mark.parametrize("budget", [0.5, 0.0, -3.0, math.nan, None, "12", [1]])
@pytest.mark.parametrize("shape", SHAPES)
def test_budgets_outside_the_range_have_no_influence_at_all(budget: Any, shape: Shape) -> None:
    """Unbounded: what is below the public range, or no budget, is left out, whatever value goes with it."""
    seen = np.random.default_rng(4).normal(10.0, 2.0, PEOPLE).tolist()
    granted = [BUDGET] * PEOPLE + [budget] * 3
    results = [
        answer([*seen, *extra], granted, model="unbounded", shape=shape).to_dict()
        for extra in ([9.0, 10.0, 11.0], [1e300, None, -5.0], [math.nan, math.inf, "x"])
    ]
    assert results[0] == results[1] == results[2]


# --- private budgets, unbounded ------------------------------------------------------------------------------------


def budget_entries() -> st.SearchStrategy[Any]:
    extremes = [math.nan, math.inf, -math.inf, -1.0, 0.0, TINY, LARGEST, "many", None, [], 1 + 1j, 10**400, True]
    return st.one_of(st.sampled_from(extremes), st.floats(), st.just(BUDGET), st.floats(1.0, BUDGET))


@pytest.mark.parametrize("shape", SHAPES)
@quick
@given(records=st.lists(st.tuples(entries(), budget_entries()), max_size=2 * PEOPLE), seed=st.integers(0, 9))
@example(records=[], seed=0)
@example(records=[(1.0, BUDGET)], seed=0)
@example(records=[(1.0, math.inf)] * PEOPLE, seed=0)
@example(records=[("x", "y")] * PEOPLE, seed=0)
def test_any_budgets_give_an_answer_or_a_refusal(records: list[tuple[Any, Any]], seed: int, shape: Shape) -> None:
    values, budgets = [value for value, _ in records], [budget for _, budget in records]
    check_either(answer_or_refusal(values, budgets, model="unbounded", shape=shape, seed=seed))


def test_a_strange_tier_is_no_budget_where_tiers_are_private() -> None:
    for strange in [None, 3, b"\xff", [1, 2], math.nan, ("a", "b"), {}, *rude_column(len(RUDE))]:
        found = budgets_of_tiers(["low", strange, "high"], {"low": 1.0, "high": 2.0}, public=False)
        assert found[[0, 2]].tolist() == [1.0, 2.0]
        assert math.isnan(found[1])


@pytest.mark.parametrize("name", RUDE)
def test_a_strange_tier_is_unknown_where_tiers_are_public(name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"holds the tier '.+', which tiers does not list: low, high"):
        budgets_of_tiers(["low", rude_entry(name), "high"], {"low": 1.0, "high": 2.0}, public=True)


@pytest.mark.parametrize("missing", [7, None])
@pytest.mark.parametrize("public", [False, True])
def test_a_missing_tier_changes_nobody_elses_budget(missing: int | None, public: bool) -> None:
    """With one, pandas turns a column of whole numbers into one of doubles."""
    column, tiers = pd.Series([1, 2, missing]), {1: 0.5, 2: 1.5, 3: 9.0}
    if public:
        with pytest.raises(InvalidInputError, match=r"budgets holds the tier '(7|nan)', which tiers does not list"):
            budgets_of_tiers(column, tiers, public=True)
        return
    found = budgets_of_tiers(column, tiers, public=False)
    assert found[:2].tolist() == [0.5, 1.5]
    assert math.isnan(found[2])


def datasets() -> list[tuple[list[Any], list[Any]]]:
    generator = np.random.default_rng(8)
    return [
        ([], []),
        ([1e300], [math.inf]),
        (generator.normal(size=500).tolist(), generator.uniform(1.0, BUDGET, 500).tolist()),
        ([math.nan] * 2000, [BUDGET] * 2000),
        (["x", None, 7] * 10, [None, "y", -1.0] * 10),
        (rude_column(60), rude_column(60)[::-1]),
    ]


def everything(result: MeanEstimate) -> list[Any]:
    law = [result.law.cdf(x) for x in (-1.0, 0.0, 0.5, 1.0)]
    return [
        *(result.to_dict(), str(result), result._repr_html_(), repr(result)),
        *(result.plan, law, pickle.dumps(result.law), result.spent),
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_unbounded_results_depend_on_released_numbers_alone(shape: Shape) -> None:
    """Data sets with nothing in common but what was released of them: nobody, one person, two thousand."""
    census = [60.0, 140.0, 200.0]  # buckets [1, 4), [4, 16), [16, 64], in noise scales of 20 nats
    histogram = [3.0]
    averaged = [130.0, 90.0, 50.0, 5.0, 2.0]  # sums, missing weight, far cells; or sum, tents and check
    found = []
    for values, budgets in datasets():
        script = Scripted([*census, *(histogram if shape != "gaussian" else []), *averaged * MOST_LEVELS])
        with mock.patch.object(private_median, "private_medians", side_effect=[[3.5], [0.7]]):
            result = answer(values, budgets, model="unbounded", shape=shape, randomness=script)
        found.append(everything(result))
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("shape", SHAPES)
def test_unbounded_refusals_depend_on_released_numbers_alone(shape: Shape) -> None:
    found = set()
    for values, budgets in datasets():
        with pytest.raises(InsufficientBudgetError) as caught:
            answer(values, budgets, model="unbounded", shape=shape, randomness=Scripted([0.25, 0.5, 0.125]))
        refusal = caught.value
        found.add((str(refusal), refusal.total, refusal.needed, refusal.failure_probability))
    assert len(found) == 1


def test_unbounded_lengths_that_differ_are_not_told() -> None:
    with pytest.raises(ValueError, match="their lengths differ") as caught:
        answer([1.0] * 17, [2.0] * 19, model="unbounded")
    assert "17" not in str(caught.value)
    assert "19" not in str(caught.value)


# --- budgets of every size, bounded ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("public", [1, 1999, 2000])
def test_public_people_do_not_spoil_the_answer(public: int, shape: Shape) -> None:
    """Whoever grants inf helps: an answer that the others can carry is not refused because of them."""
    values = np.random.default_rng(3).normal(5.0, 1.0, 2000)
    budgets = np.where(np.arange(2000) < public, math.inf, 4.0)
    result = answer(values, budgets, model="bounded", shape=shape)
    check(result)
    assert abs(result.mean - 5.0) < 0.5


@pytest.mark.parametrize(("high", "shape"), [(1e-3, "gaussian"), (1e-3, "any"), (1e-5, "gaussian"), (1e-5, "bounds")])
def test_small_public_ranges_are_answered_or_refused(high: float, shape: Shape) -> None:
    """Noise scales stay within what can be drawn; `LARGEST_SCALE` is never met from inside."""
    values = np.random.default_rng(3).normal(size=1_000_000)
    options = {"shape": shape, "budget_range": (high, high), "choices": Choices(max_failure=0.9)}
    check_either(answer_or_refusal(values, high, model="unbounded", **options))


@pytest.mark.parametrize("bounds", [(-1.7e308, 1.7e308), (0.0, TINY), (0.0, 1e-310), (1.0, 1 + 2.0**-52), (-1e-300, 5)])
def test_any_bounds_of_a_bell_are_answered_or_refused(bounds: tuple[float, float]) -> None:
    values = np.random.default_rng(3).normal(size=500)
    check_either(answer_or_refusal(values, 8.0, model="bounded", bounds=bounds))


@pytest.mark.parametrize("bound", [-1e301, -1.0, -TINY, 0.0, TINY, 0.5, 1e300])
@pytest.mark.parametrize("shape", ["gaussian", "any"])
@pytest.mark.parametrize("model", MODELS)
def test_an_answer_never_leaves_a_bound(bound: float, shape: Shape, model: str) -> None:
    """Wherever the bound lies, also where all values are beyond it, and however large or small they are."""
    spread = np.random.default_rng(3).normal(size=500)
    for values in (spread, 1e300 * spread, 1e-300 * spread, [bound] * 500, [math.nan] * 500, [-math.inf] * 500):
        lower = answer(values, 8.0, model=model, shape=shape, bounds=(bound, None))
        upper = answer(-np.array(values), 8.0, model=model, shape=shape, bounds=(None, -bound))
        for result in (lower, upper):
            check(result)
        assert shape == "gaussian" or lower.released_mean >= lower.law.interval(0.99)[0] >= bound
        assert shape == "gaussian" or upper.released_mean <= upper.law.interval(0.99)[1] <= -bound


EXTREME_BOUNDS = [(-1e301, 1e301), (0.0, 2.0**-990), (1.0, 1 + 2.0**-29), (-1e-300, 5), (-1e301, -9e300)]


@pytest.mark.parametrize("bounds", EXTREME_BOUNDS)
@pytest.mark.parametrize(("model", "budget"), [("bounded", 0.1), ("bounded", 8.0), ("unbounded", 8.0)])
def test_an_answer_never_leaves_the_bounds(bounds: tuple[float, float], model: str, budget: float) -> None:
    for values in (np.random.default_rng(3).normal(size=500), [bounds[1]] * 500, [bounds[0]] * 500, [math.nan] * 500):
        result = answer(values, budget, model=model, shape="any", bounds=bounds)
        assert result.plan.needs_locating == (budget == 8.0)
        check(result)
        low, high = result.law.interval(0.99)
        assert bounds[0] <= low <= result.released_mean <= high <= bounds[1]


@pytest.mark.parametrize("bounds", [(-1e302, 1e302), (0.0, TINY), (0.0, 1e-310), (1.0, 1 + 2.0**-52)])
def test_bounds_that_doubles_are_too_coarse_for_are_an_error(bounds: tuple[float, float]) -> None:
    with pytest.raises(InvalidInputError, match="bounds must be at most"):
        answer([1.0] * 500, 8.0, model="bounded", shape="any", bounds=bounds)


@pytest.mark.parametrize("bound", [1e302, LARGEST])
def test_a_bound_that_doubles_are_too_coarse_for_is_an_error(bound: float) -> None:
    for bounds in ((bound, None), (None, -bound)):
        with pytest.raises(InvalidInputError, match="bounds must be at most"):
            answer([1.0] * 500, 8.0, model="bounded", shape="any", bounds=bounds)


@pytest.mark.parametrize("share", [2.0**-20, 1e-5, math.nextafter(2.0**-10, 0)])
@pytest.mark.parametrize("model", MODELS)
def test_a_share_below_the_smallest_is_an_error(share: float, model: str) -> None:
    with pytest.raises(InvalidInputError):
        answer(np.arange(500.0), 8.0, model=model, share=share)


@pytest.mark.parametrize("share", [2.0**-10, 0.01, 0.3, Fraction(1, 3)])
@every_case
def test_any_share_is_answered_or_refused(share: float | Fraction, model: str, shape: Shape) -> None:
    budget = BUDGET if model == "unbounded" else 1e4
    check_either(answer_or_refusal(np.arange(2000.0), budget, model=model, shape=shape, share=share))


@pytest.mark.parametrize("shape", ["gaussian", "any"])
def test_a_ratio_that_doubles_of_a_centre_cannot_tell_is_refused(shape: Shape) -> None:
    refusal = answer_or_refusal([1.0] * 500, 1e3, model="bounded", shape=shape, choices=Choices(max_ratio=2.0**24 + 1))
    assert isinstance(refusal, InsufficientBudgetError)
    check_either(refusal)
    assert refusal.needed == math.inf
    check(answer([1.0] * 500, 1e3, model="bounded", shape=shape, choices=Choices(max_ratio=2.0**24)))


@pytest.mark.parametrize("model", MODELS)
@settings(quick, max_examples=25)
@given(
    center=st.none() | st.floats(0.01, 0.98),
    scale=st.none() | st.floats(0.01, 0.98),
    share=st.sampled_from([1, 0.5, 0.01, 3 * 2.0**-11]),
    people=st.sampled_from([60, 300, 10_000]),
)
@example(center=0.4, scale=0.4, share=0.5, people=10_000)
@example(center=0.6, scale=0.39, share=1, people=10_000)
@example(center=0.25, scale=0.25, share=0.5, people=10_000)
@example(center=0.6, scale=0.39, share=1, people=60)
@example(center=0.5, scale=0.43, share=1, people=60)
@example(center=None, scale=0.98, share=1, people=60)
@example(center=0.93, scale=None, share=1, people=60)
def test_no_choice_of_shares_overspends(
    center: float | None, scale: float | None, share: float, people: int, model: str
) -> None:
    """Every step has a positive share, and together they are at most the share asked for; or the choice is an error."""
    if (center or 0) + (scale or 0) >= 1:
        return
    choices = Choices(center_share=center, scale_share=scale)
    try:
        shares = plan_mean({BUDGET: people}, shape="gaussian", share=share, choices=choices, **MODELS[model]).shares
    except (InvalidInputError, InsufficientBudgetError):
        return
    assert all(part > 0 for part in shares.values())
    assert sum(shares.values()) <= Fraction(share)


def test_choices_that_leave_nothing_to_average_are_an_error() -> None:
    """Not a negative share: its weights would be negative for everybody, whoever grants nothing included."""
    with pytest.raises(InvalidInputError):
        answer([1.0] * PEOPLE, BUDGET, model="bounded", share=0.5, choices=Choices(center_share=0.4, scale_share=0.4))
