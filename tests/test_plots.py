"""Pictures: what is drawn is what was planned or released, in words, legible without colour, the same every time."""

from __future__ import annotations

import dataclasses
import io
import math
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from pdpmean import InvalidInputError, MeanEstimate, Plan, Randomness, estimate_mean, plan_mean, plot
from pdpmean.core.whose import Weighting
from pdpmean.laws.error_law import ErrorLaw, half_width
from pdpmean.planning.make import with_people
from pdpmean.results.comparison import Comparison, MethodRuns
from pdpmean.results.grouped_estimate import GroupedEstimate

TIERS = {0.1: 10_800, 0.5: 7_400, 1.0: 1_800}
UNBOUNDED: dict[str, Any] = {"model": "unbounded", "budget_range": (0.05, 1.0)}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_mean(TIERS)


def estimated(randomness: Randomness) -> MeanEstimate:
    budgets = np.repeat(list(TIERS), list(TIERS.values()))
    return estimate_mean(np.random.default_rng(1).normal(38, 6, budgets.size), budgets, randomness=randomness)


@pytest.fixture(scope="module")
def estimate() -> MeanEstimate:
    return estimated(Randomness.secure())


def line(axes: Axes, label: str) -> Line2D:
    (found,) = (one for one in axes.get_lines() if one.get_label() == label)
    return found


def data(one: Line2D) -> list[tuple[float, float]]:
    x, y = (np.asarray(column).tolist() for column in one.get_data())
    return list(zip(x, y, strict=True))


def points(axes: Axes, label: str) -> list[tuple[float, float]]:
    return data(line(axes, label))


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def names(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def png(figure: Figure) -> bytes:
    """The picture itself."""
    kept = io.BytesIO()
    figure.savefig(kept, format="png")
    return kept.getvalue()


# Plans


def test_the_errors_drawn_are_the_plans(plan: Plan) -> None:
    errors = plot(plan).axes[0]
    ((total, error),) = points(errors, "this plan")
    assert total == plan.total
    assert error == half_width(0.75, plan.noise_scale, plan.sampling_std)
    assert plan.lower_bound is not None
    assert error / plan.lower_bound == plan.ratio_to_lower_bound
    assert (plan.total, error) in points(errors, "expected")
    assert (plan.total, plan.lower_bound) in points(errors, "lower bound")
    # Laplace noise of scale b exceeds b log 4 one time in four; a normal deviate 1.1503 standard deviations.
    assert dict(points(errors, "noise alone"))[plan.total] == pytest.approx(plan.noise_scale * math.log(4), rel=1e-3)
    assert dict(points(errors, "sampling alone"))[plan.total] == pytest.approx(1.1503 * plan.sampling_std, rel=1e-3)


def test_more_people_are_drawn_as_they_would_be_planned(plan: Plan) -> None:
    total, error = points(plot(plan).axes[0], "expected")[-1]
    larger = with_people(plan, 16)
    assert larger is not None
    assert (total, error) == pytest.approx((16 * plan.total, half_width(0.75, larger.noise_scale, larger.sampling_std)))


def test_too_few_people_are_drawn_as_refused() -> None:
    large = plan_mean({budget: 10 * people for budget, people in TIERS.items()})
    assert "refused" not in plot(large).axes[0].get_legend_handles_labels()[1]
    small = plan_mean({budget: people // 10 for budget, people in TIERS.items()})
    errors = plot(small).axes[0]
    (refused,) = (patch for patch in errors.patches if patch.get_label() == "refused")
    edge = refused.get_extents().transformed(errors.transData.inverted()).x1 / small.total
    assert with_people(small, 0.85 * edge) is None
    assert with_people(small, 1.15 * edge) is not None
    assert points(errors, "expected")[0][0] == pytest.approx(edge * small.total, rel=0.15)


def test_the_saturation_drawn_is_the_plans() -> None:
    plan = plan_mean(TIERS, weighting="budgets")
    weights = plot(plan).axes[1]
    assert points(weights, f"saturation, {plan.saturation_in_words}") == [(plan.saturation, 1.0)]
    assert [budget for budget, _ in points(weights, "budgets granted")] == list(TIERS)
    for budget, weight in [*points(weights, "budgets granted"), *points(weights, "weight")]:
        assert weight == pytest.approx(min(budget / plan.saturation, 1.0))


def test_where_levels_are_pooled_the_largest_budget_is_marked_on_the_curve(plan: Plan) -> None:
    weights = plot(plan).axes[1]
    assert points(weights, f"saturation, {plan.saturation_in_words}") == [points(weights, "budgets granted")[-1]]


def test_with_many_budgets_few_are_marked() -> None:
    budgets = 10 ** np.random.default_rng(1).uniform(-2, 0, 5000)
    marked = [budget for budget, _ in points(plot(plan_mean(budgets)).axes[1], "budgets granted")]
    assert len(marked) == 40
    assert np.allclose(marked, np.quantile(budgets, (np.arange(40) + 0.5) / 40), rtol=0.02)


def test_a_plan_with_public_people_is_drawn_by_their_number() -> None:
    plan = plan_mean({0.1: 9800, math.inf: 200})
    errors, weights = plot(plan).axes
    assert errors.get_xlabel() == "number of people, relative to the present number"
    assert points(errors, "this plan")[0][0] == 1.0
    assert [budget for budget, _ in points(weights, "budgets granted")] == [0.1]
    assert np.isfinite(plot(plan_mean({math.inf: 5000})).axes[1].get_xlim()).all()


@pytest.mark.parametrize("weighting", ["everyone", "budgets"])
def test_no_lower_bound_is_drawn_for_the_mean_of_the_people_in_the_table(weighting: Weighting) -> None:
    errors = plot(plan_mean(TIERS, target="people", weighting=weighting)).axes[0]
    assert [line.get_label() for line in errors.lines] == ["expected", "sampling alone", "noise alone", "this plan"]


def test_a_lower_bound_of_single_people_falls_with_more_of_them() -> None:
    drawn = points(plot(plan_mean(10 ** np.random.default_rng(1).uniform(-2, 0, 5000))).axes[0], "lower bound")
    slopes = np.diff(np.log([bound for _, bound in drawn])) / np.diff(np.log([total for total, _ in drawn]))
    assert ((slopes < -0.4) & (slopes > -1.1)).all()


def test_a_plan_is_labelled_in_words(plan: Plan) -> None:
    errors, weights = plot(plan).axes
    assert (errors.get_xlabel(), errors.get_ylabel()) == ("total budget", "in standard deviations")
    assert (weights.get_xlabel(), weights.get_ylabel()) == ("a person's budget", "fraction of full weight")
    assert errors.get_title(loc="left") == "Error that one run in four exceeds"
    assert weights.get_title(loc="left") == "How much a budget counts"
    figure = plot(plan)
    png(figure)  # ticks get their labels when drawn
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert {"1,000", "10,000"} <= set(labels)


def test_an_unbounded_plan_draws_no_number_of_people() -> None:
    found = plan_mean(TIERS, **UNBOUNDED)
    figure = plot(found)
    png(figure)
    shown = [text.get_text() for text in figure.findobj(Text) if isinstance(text, Text)]
    assert "total budget" in shown
    assert "20,000" not in shown
    assert not any("people" in text for text in shown)


# Estimates


def test_intervals_are_drawn_and_written(estimate: MeanEstimate) -> None:
    intervals = plot(estimate).axes[0]
    assert names(intervals) == ["80 %", "95 %", "99 %"]
    for row, (level, bar) in enumerate(zip((0.8, 0.95, 0.99), intervals.get_lines(), strict=True)):
        ends = np.asarray(bar.get_xdata()) * estimate.std + estimate.mean
        assert ends == pytest.approx(estimate.interval(level))
        assert np.asarray(bar.get_ydata()).tolist() == [row, row]
        assert {f"{end:.3f}" for end in estimate.interval(level)} <= set(texts(intervals))
    assert f"{estimate.mean:.3f}" in texts(intervals)


def test_the_parts_of_the_error_are_drawn(estimate: MeanEstimate) -> None:
    parts = plot(estimate).axes[1]
    assert names(parts) == ["together", "unseen tails", "sampling", "noise"]
    assert parts.get_xlabel() == "in the unit of the values; the squares add up"
    sizes = [estimate.std, estimate.tails_std, estimate.sampling_std, estimate.noise_std]
    bars = [bar for bar in parts.patches if isinstance(bar, Rectangle)]
    assert [bar.get_width() * estimate.std for bar in bars] == pytest.approx(sizes)
    assert texts(parts) == [f"{size:.3g}" for size in sizes]


def test_a_simulated_estimate_says_so(estimate: MeanEstimate) -> None:
    assert plot(estimate).get_suptitle() == ""
    simulated = estimated(Randomness.seeded(1))
    assert plot(simulated).get_suptitle() == "NOT PRIVATE: seeded randomness, for simulation only"


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1e12, 1e306, 0.0])
def test_numbers_of_any_size_can_be_drawn(estimate: MeanEstimate, unit: float) -> None:
    law = ErrorLaw(np.array([38.0 * unit]), np.array([0.01 * unit]), np.array([0.04 * unit]))
    found = dataclasses.replace(estimate, released_mean=38.0 * unit, law=law)
    assert png(plot(found))


# Groups

GROUPS = ["north", "a very long name for a group of people", "$5 to $10", "few\x07"]


@pytest.fixture(scope="module")
def grouped() -> GroupedEstimate:
    """Three groups of 4000 people, and one of 10."""
    by = np.repeat(np.array(GROUPS, dtype=object), [4000, 4000, 4000, 10])
    values = np.random.default_rng(2).normal(38, 6, by.size)
    return estimate_mean(values, 0.5, by=by, groups=GROUPS)


def test_groups_are_dots_and_intervals(grouped: GroupedEstimate) -> None:
    (axes,) = plot(grouped, level=0.9).axes
    assert names(axes) == ["few\N{REPLACEMENT CHARACTER}", r"\$5 to \$10", "a very long name for a …", "north"]
    assert texts(axes) == ["refused"]
    assert axes.texts[0].get_position()[1] == 0
    bars, dots = axes.get_lines()[0::2], axes.get_lines()[1::2]
    for place, group, bar, dot in zip((1, 2, 3), GROUPS[2::-1], bars, dots, strict=True):
        assert data(dot) == [(grouped[group].mean, place)]
        assert data(bar) == [(end, place) for end in grouped[group].interval(0.9)]
    assert axes.get_xlabel() == "mean, with its 90 % interval"
    assert png(plot(grouped))


def test_more_groups_make_a_taller_picture(grouped: GroupedEstimate) -> None:
    fewer = dataclasses.replace(grouped, groups=grouped.groups[:2])
    assert plot(grouped).get_figheight() == pytest.approx(plot(fewer).get_figheight() + 2 * 0.3)


def test_groups_that_are_all_refused_are_named(grouped: GroupedEstimate) -> None:
    few = dataclasses.replace(grouped, groups=grouped.groups[3:], estimates={})
    (axes,) = plot(few).axes
    assert (len(names(axes)), texts(axes), list(axes.get_xticks())) == (1, ["refused"], [])


@pytest.mark.parametrize("unit", [1e-300, 1e-12, 1e12, 1e306, 0.0])
def test_groups_of_any_size_can_be_drawn(grouped: GroupedEstimate, unit: float) -> None:
    law = ErrorLaw(np.array([38.0 * unit]), np.array([0.01 * unit]), np.array([0.04 * unit]))
    found = dataclasses.replace(grouped["north"], released_mean=38.0 * unit, law=law)
    figure = plot(dataclasses.replace(grouped, estimates={"north": found}, groups=("north",)))
    assert png(figure)
    shown = f", times {10 * unit:g}" if unit else ""
    assert figure.axes[0].get_xlabel() == f"mean, with its 95 % interval{shown}"


def test_simulated_groups_say_so(grouped: GroupedEstimate) -> None:
    simulated = dataclasses.replace(grouped, promise=dataclasses.replace(grouped.promise, private=False))
    assert plot(grouped).get_suptitle() == ""
    assert plot(simulated).get_suptitle().startswith("NOT PRIVATE")


# Comparisons


def compared(people: int, ratios: dict[str, float]) -> Comparison:
    """Methods with these errors over a lower bound of 1/2."""
    methods = tuple(MethodRuns(name, (ratio / 2,), 0) for name, ratio in ratios.items())
    return Comparison(methods, 0.5, "bounded", people, 1, 10.0, 0)


def labelled(axes: Axes, label: str) -> list[Line2D]:
    return [one for one in axes.get_lines() if one.get_label() == label]


SIX = {"pdpmean": 2.0, "paper": 12.0, "threshold": 3.0, "sampling": 2.5, "minimum": math.inf, "oracle": 1.9}


def test_one_comparison_is_a_row_a_method() -> None:
    (axes,) = plot(compared(1000, SIX)).axes
    assert names(axes) == list(SIX)[::-1]
    assert sorted(texts(axes)) == sorted(["2.00", "12.00", "3.00", "2.50", "no answer", "1.90"])
    dots = {names(axes)[int(row)]: ratio for one in labelled(axes, "_error") for ratio, row in data(one)}
    assert dots == {name: ratio for name, ratio in SIX.items() if math.isfinite(ratio)}
    assert axes.get_xscale() == "log"


def test_a_comparison_shows_an_interval_for_each_error() -> None:
    errors = tuple(float(number) for number in range(1, 101))
    found = Comparison((MethodRuns("pdpmean", errors, 0),), 10.0, "bounded", 1000, 100, 10.0, 0)
    (axes,) = plot(found).axes
    (interval,) = labelled(axes, "_interval")
    assert data(interval) == [(end / 10.0, 0) for end in found.methods[0].error_interval]
    assert [ends[0].get_marker() for ends in (labelled(axes, "_low"), labelled(axes, "_high"))] == ["|", "|"]


def test_an_interval_without_ends_has_arrows() -> None:
    """The interval of a single run is from 0 to infinity."""
    (axes,) = plot(compared(10, {"pdpmean": 4.0})).axes
    (interval,) = labelled(axes, "_interval")
    (low, _), (high, _) = data(interval)
    assert axes.get_xlim()[0] < low < 1.0
    assert 4.0 < high < axes.get_xlim()[1]
    assert [ends[0].get_marker() for ends in (labelled(axes, "_low"), labelled(axes, "_high"))] == ["<", ">"]


@pytest.mark.parametrize("ratio", [math.inf, math.nan, 0.0])
def test_a_method_without_an_answer_is_drawn_as_such(ratio: float) -> None:
    (axes,) = plot(compared(10, {"paper": ratio})).axes
    assert texts(axes) == ["no answer"]


def test_luck_below_the_bound_is_in_the_picture() -> None:
    (axes,) = plot(compared(10, {"oracle": 0.8})).axes
    assert axes.get_xlim()[0] < 0.8


def test_several_comparisons_are_lines_against_people() -> None:
    (axes,) = plot([compared(9000, SIX | {"minimum": 9.0}), compared(1000, SIX)]).axes
    assert points(axes, "paper") == [(1000, 12.0), (9000, 12.0)]
    assert points(axes, "minimum") == [(1000, math.inf), (9000, 9.0)]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlabel() == "people"


# All


def every_figure(plan: Plan, estimate: MeanEstimate) -> Sequence[Figure]:
    several = [compared(1000, SIX), compared(9000, SIX)]
    return plot(plan), plot(estimate), plot(several[0]), plot(several)


@pytest.mark.parametrize("thing", [3, "plan", [], [3], TIERS])
def test_what_cannot_be_drawn_is_told(thing: object) -> None:
    with pytest.raises(InvalidInputError, match=f"plot draws a plan, .*; got {type(thing).__name__}$"):
        plot(thing)


def look(one: Line2D) -> tuple[str, str]:
    return str(one.get_linestyle()), str(one.get_marker())


def test_lines_differ_by_more_than_colour(plan: Plan, estimate: MeanEstimate) -> None:
    drawn = [axes.get_legend_handles_labels()[0] for figure in every_figure(plan, estimate) for axes in figure.axes]
    for handles in filter(None, drawn):
        looks = [look(one) for one in handles if isinstance(one, Line2D)]
        assert len(set(looks)) == len(looks) >= 3


def test_the_same_picture_from_the_same_numbers(plan: Plan, estimate: MeanEstimate) -> None:
    first, second = ([png(figure) for figure in every_figure(plan, estimate)] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first)


def test_pyplot_is_left_alone() -> None:
    script = (
        "import sys, pdpmean\n"
        "plan = pdpmean.plan_mean({0.5: 5000})\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import matplotlib\n"
        "before = dict(matplotlib.rcParams)\n"
        "pdpmean.plot(plan).savefig(sys.stdout.buffer, format='png')\n"
        "assert dict(matplotlib.rcParams) == before\n"
        "from matplotlib import pyplot\n"
        "assert pyplot.get_fignums() == []\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    assert run.stdout.startswith(b"\x89PNG")


def test_without_matplotlib_the_error_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import pdpmean\n"
        "try:\n    pdpmean.plot(pdpmean.plan_mean({0.5: 5000}))\n"
        "except pdpmean.PdpMeanError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.stdout == "this needs matplotlib: pip install matplotlib\n", run.stderr
