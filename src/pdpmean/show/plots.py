"""Plots: matplotlib figures of plans, estimates and comparisons. Needs the extra `plot`.

Figures are returned, to be saved or displayed. They are not registered with pyplot, so that nothing pops up or has to
be closed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pdpmean.core.text import short
from pdpmean.errors import InvalidInputError
from pdpmean.planning.plan import Plan
from pdpmean.results.comparison import Comparison
from pdpmean.results.grouped_estimate import GroupedEstimate
from pdpmean.results.mean_estimate import MeanEstimate
from pdpmean.show.panels import (
    ACCENT,
    INK,
    draw_error,
    draw_groups,
    draw_intervals,
    draw_levels,
    draw_no_answer,
    draw_parts,
    draw_weights,
    empty_figure,
    label_axes,
    log_axis,
    write_beside,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw", "plot_plan"]

_BEYOND = 0.1  # of the axis: how far open intervals reach beyond all numbers, and the axis beyond them
_LARGE = 100.0  # ratios from here on are shown without decimals
_TALLEST = 600.0  # inches; matplotlib refuses to save taller figures as pixels
# The styles of the methods in a comparison, in order.
_STYLES: tuple[dict[str, Any], ...] = (
    {"ls": "-", "marker": "o", "color": ACCENT, "lw": 2.4},
    {"ls": "--", "marker": "s", "color": INK},
    {"ls": "-.", "marker": "^", "color": INK},
    {"ls": ":", "marker": "v", "color": INK},
    {"ls": "--", "marker": "x", "color": INK},
    {"ls": ":", "marker": "D", "color": INK},
)


def draw(thing: Any, **options: Any) -> Figure:
    """The figure of a plan, an estimate, estimates by group, or one or more comparisons."""
    plot_functions: dict[type, Callable[..., Figure]] = {
        Plan: plot_plan,
        MeanEstimate: plot_estimate,
        GroupedEstimate: plot_groups,
        Comparison: plot_comparison,
    }
    kind = Comparison if _are_comparisons(thing) else type(thing)
    if kind not in plot_functions:
        raise InvalidInputError(
            "plot draws a plan, an estimate, estimates by group, or one or more comparisons; "
            f"got {type(thing).__name__}",
            name="thing",
            value=thing,
        )
    return plot_functions[kind](thing, **options)


def _are_comparisons(thing: Any) -> bool:
    """Whether it is a non-empty sequence of comparisons."""
    return isinstance(thing, Sequence) and len(thing) > 0 and all(isinstance(one, Comparison) for one in thing)


def plot_plan(plan: Plan) -> Figure:
    """Two panels: the error with more or fewer people, and a person's weight by budget."""
    return _side_by_side(
        plan, {"Error that one run in four exceeds": draw_error, "How much a budget counts": draw_weights}
    )


def plot_estimate(estimate: MeanEstimate) -> Figure:
    """Panels with the mean and its intervals, the parts of its error and, if means differ by budget, those means."""
    if estimate.contradicted:
        return _without_answer(estimate)
    panels: dict[str, Callable[..., None]] = {
        "The mean, with 80, 95 and 99 % intervals": draw_intervals,
        "What its error is made of": draw_parts,
    }
    if estimate.levels_differ:
        panels["The mean by budget"] = draw_levels
    figure = _side_by_side(estimate, panels, height=3.0)
    return figure if estimate.private else _marked_not_private(figure)


def _without_answer(estimate: MeanEstimate) -> Figure:
    """A figure that says why there is no answer."""
    figure = empty_figure(7.2, 2.2)
    axes = figure.subplots()
    draw_no_answer(axes, estimate)
    axes.set_title("No answer", loc="left", weight="bold", pad=12)
    return figure if estimate.private else _marked_not_private(figure)


def plot_groups(grouped: GroupedEstimate, level: float = 0.95) -> Figure:
    """A dot and an interval for every group; groups without an answer say so."""
    figure = empty_figure(7.2, min(1.1 + 0.3 * len(grouped.groups), _TALLEST))
    draw_groups(figure.subplots(), grouped, level)
    return figure if grouped.private else _marked_not_private(figure)


def plot_comparison(comparison: Comparison | Sequence[Comparison]) -> Figure:
    """The error of each method, divided by the lower bound; with several comparisons, against the number of people."""
    figure = empty_figure(6.4, 4.2)
    axes = figure.subplots()
    if isinstance(comparison, Sequence):
        _draw_by_people(axes, comparison)
    else:
        _draw_by_method(axes, comparison)
    axes.set_title("Error over the lower bound", loc="left", pad=12)
    return figure


def _side_by_side(drawn: Any, panels: Mapping[str, Callable[[Axes, Any], None]], *, height: float = 3.9) -> Figure:
    """A figure with these panels, by title, next to each other; all draw the same object. `height` is in inches."""
    figure = empty_figure(5.2 * len(panels), height)
    for axes, (title, draw) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        draw(axes, drawn)
        axes.set_title(title, loc="left", pad=12)
    return figure


def _marked_not_private(figure: Figure) -> Figure:
    """The figure with a title that says that it is not private."""
    figure.suptitle("NOT PRIVATE: seeded randomness, for simulation only", weight="bold")
    return figure


# Comparisons


def _draw_by_method(axes: Axes, comparison: Comparison) -> None:
    """One row per method: its error over the lower bound, with an interval; an arrow marks an end that is open."""
    rows = comparison.rows()[::-1]
    bound = comparison.lower_bound
    spans = [(result["over_bound"], *(end / bound for end in result["error_interval"])) for result in rows]
    ends = [1.0, 2.0, *(ratio for span in spans for ratio in span if 0 < ratio < math.inf)]
    beyond = (max(ends) / min(ends)) ** _BEYOND
    leftmost = min(ends) / beyond
    rightmost = max(ends) * beyond
    for row, (ratio, low, high) in enumerate(spans):
        if 0 < ratio < math.inf:
            interval = np.clip([low, high], leftmost, rightmost)
            axes.plot(interval, [row, row], color=INK, lw=1, label="_interval")
            axes.plot(interval[0], row, marker="|" if low > 0 else "<", color=INK, label="_low")
            axes.plot(interval[1], row, marker="|" if high < math.inf else ">", color=INK, label="_high")
            axes.plot(ratio, row, "o", color=ACCENT, ms=8, label="_error")
            write_beside(axes, (interval[1], row), _in_words(ratio), "right")
        else:
            write_beside(axes, (1, row), "no answer", "right")
    log_axis(axes, "x", (1.0, 2.0, 5.0))
    axes.set_xlim(leftmost / beyond, rightmost * beyond)
    axes.set_yticks(range(len(rows)), [str(row["method"]) for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    label_axes(axes, "error that one run in four exceeds, with a 95 % interval, over the lower bound", "")


def _in_words(ratio: float) -> str:
    """An error over the lower bound as text, with two decimals unless it is large."""
    return f"{ratio:.2f}" if ratio < _LARGE else short(ratio)


def _draw_by_people(axes: Axes, comparisons: Sequence[Comparison]) -> None:
    """One line per method: its error over the lower bound, against the number of people."""
    points_by_method: dict[str, list[tuple[int, float]]] = {}
    for comparison in sorted(comparisons, key=lambda one: one.people):
        for row in comparison.rows():
            points_by_method.setdefault(str(row["method"]), []).append((comparison.people, float(row["over_bound"])))
    for place, (method, points) in enumerate(points_by_method.items()):
        axes.plot(*zip(*points, strict=True), label=method, **_STYLES[place % len(_STYLES)])
    log_axis(axes, "x", (1.0, 3.0))
    log_axis(axes, "y", (1.0, 2.0, 5.0))
    label_axes(axes, "people", "over the lower bound")
    axes.legend(frameon=False, handlelength=3.2)
