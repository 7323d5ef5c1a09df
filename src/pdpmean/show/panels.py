"""Panels: functions that draw one panel each into matplotlib axes, for `plots.py` and `svg.py`. Needs the extra `plot`.

Every line has its own style or marker, so that a panel can be read in black and white. All numbers drawn are public or
released.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pdpmean.core.text import rounded, short
from pdpmean.errors import MissingPackageError
from pdpmean.laws.error_law import half_width
from pdpmean.planning.forecast import ONE_IN_FOUR
from pdpmean.planning.make import with_people
from pdpmean.results.mean_estimate import LEVELS

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter
except ModuleNotFoundError as missing:
    raise MissingPackageError("matplotlib", extra="plot") from missing

if TYPE_CHECKING:
    from pdpmean.core.types import Floats
    from pdpmean.planning.plan import Plan
    from pdpmean.results.grouped_estimate import GroupedEstimate
    from pdpmean.results.mean_estimate import MeanEstimate

__all__ = [
    "ACCENT",
    "INK",
    "draw_error",
    "draw_groups",
    "draw_intervals",
    "draw_levels",
    "draw_no_answer",
    "draw_parts",
    "draw_weights",
    "empty_figure",
    "label_axes",
    "log_axis",
    "write_beside",
]

INK = "#000000"
ACCENT = "#1f5fa6"
_FACTORS = np.geomspace(1 / 16, 16, 25)  # numbers of people to plan for, relative to the present number
_MOST_MARKS = 40  # budgets that are marked on the curve of weights, at most
_LONGEST_NAME = 24  # characters of a group's name; longer names are cut


# Plans


def draw_error(axes: Axes, plan: Plan) -> None:
    """The predicted error and its parts against the total budget, for more or fewer people at the same budgets."""
    plans = [with_people(plan, factor) for factor in _FACTORS]
    feasible = [scaled for scaled in plans if scaled]
    # If somebody's value is public, the total budget is infinite; the axis is then the relative number of people.
    finite = math.isfinite(plan.total)
    unit = plan.total if finite else 1.0
    x = unit * np.array([factor for factor, scaled in zip(_FACTORS, plans, strict=True) if scaled])
    for line in _lines(plan):
        errors = np.array([line.error(scaled) for scaled in feasible], dtype=np.float64)
        axes.plot(x, errors, label=line.label, **line.style)
    axes.plot(unit, plan.half_width(ONE_IN_FOUR), "o", color=ACCENT, ms=8, label="this plan")
    if len(feasible) < len(plans):
        edge = float(x[0] / math.sqrt(_FACTORS[1] / _FACTORS[0]))
        axes.axvspan(unit * _FACTORS[0], edge, fc="none", ec=INK, alpha=0.4, hatch="///", lw=0, label="refused")
    log_axis(axes, "x", (1.0, 3.0))
    log_axis(axes, "y", (1.0, 3.0))
    axes.set_xlim(unit * _FACTORS[0], unit * _FACTORS[-1])
    axes.set_ylim(top=4 * axes.get_ylim()[1])  # room for the legend at the top right, where the lines are low
    people = "total budget" if finite else "number of people, relative to the present number"
    label_axes(axes, people, f"in {plan.errors_in}")
    axes.legend(frameon=False, handlelength=3.2, loc="upper right", borderaxespad=0)


def _quarter(noise: float, sampling: float) -> float:
    """The error that one run in four exceeds, from the scale of the noise and the sampling standard deviation."""
    return half_width(ONE_IN_FOUR, noise, sampling)


class _ErrorLine(NamedTuple):
    """A line of `draw_error`."""

    label: str
    style: dict[str, Any]
    error: Callable[[Plan], float | None]
    """The height of the line for a plan."""


_EXPECTED = _ErrorLine(
    "expected",
    {"color": ACCENT, "ls": "-", "lw": 2.4},
    lambda plan: _quarter(plan.noise_scale, plan.sampling_std),
)
_SAMPLING = _ErrorLine(
    "sampling alone",
    {"color": INK, "ls": "-."},
    lambda plan: _quarter(0.0, plan.sampling_std),
)
_NOISE = _ErrorLine(
    "noise alone",
    {"color": INK, "ls": "--"},
    lambda plan: _quarter(plan.noise_scale, 0.0),
)
_LOWER_BOUND = _ErrorLine(
    "lower bound",
    {"color": INK, "ls": ":", "lw": 2},
    lambda plan: plan.lower_bound,
)


def _lines(plan: Plan) -> list[_ErrorLine]:
    """The lines of `draw_error` for a plan, which may have no lower bound."""
    lines = [_EXPECTED, _SAMPLING, _NOISE]
    return lines if plan.lower_bound is None else [*lines, _LOWER_BOUND]


def draw_weights(axes: Axes, plan: Plan) -> None:
    """The weight of a person against their budget, up to the saturation and beyond."""
    granted = _marked_budgets(plan)
    full = plan.most_counted
    ends = np.append(granted, full)
    low, high = ends.min() / 2, ends.max() * 2
    budgets = np.geomspace(low, high, 200)
    axes.plot(budgets, plan.counts(budgets), color=ACCENT, lw=2.4, label="weight")
    axes.plot(granted, plan.counts(granted), "o", color=INK, ms=5, label="budgets granted")
    axes.plot(full, 1, "D", color=INK, ms=10, mfc="none", label=f"saturation, {plan.saturation_in_words}")
    log_axis(axes, "x", (1.0, 2.0, 5.0) if high < 100 * low else (1.0,))
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    label_axes(axes, "a person's budget", "fraction of full weight")
    axes.legend(frameon=False, loc="lower right")


def _marked_budgets(plan: Plan) -> Floats:
    """The budgets to mark: all finite ones if they are few, otherwise those at evenly spaced ranks."""
    profile = plan.census.profile
    allowances = profile.allowances
    if allowances.size > _MOST_MARKS:
        ranks = (np.arange(_MOST_MARKS) + 0.5) / _MOST_MARKS * profile.people
        allowances = np.unique(allowances[np.searchsorted(np.cumsum(profile.counts), ranks)])
    return allowances[np.isfinite(allowances)] * plan.model.budget_per_allowance


# Estimates


def draw_intervals(axes: Axes, estimate: MeanEstimate, levels: Iterable[float] = LEVELS) -> None:
    """The mean and its confidence interval at each level, labelled with its ends."""
    unit = estimate.std or 1.0
    rows = sorted(levels)
    reach = 0.0
    for row, level in enumerate(rows):
        ends = estimate.interval(level)
        # Drawn in standard errors from the mean, so that numbers of any size can be drawn.
        low, high = (end / unit - estimate.mean / unit for end in ends)
        axes.plot([low, high], [row, row], color=ACCENT, lw=18 - 14 * row / len(rows), solid_capstyle="butt")
        write_beside(axes, (low, row), rounded(ends[0], unit), "left")
        write_beside(axes, (high, row), rounded(ends[1], unit), "right")
        reach = max(reach, -low, high)
    axes.vlines(0, -0.5, len(rows) - 0.6, color=INK, ls="--", lw=1)
    axes.text(0, len(rows) - 0.5, rounded(estimate.mean, unit), ha="center", weight="bold", size="large")
    axes.set_xlim(-2 * (reach or 1.0), 2 * (reach or 1.0))
    _rows(axes, [f"{100 * level:g} %" for level in rows])


def draw_no_answer(axes: Axes, estimate: MeanEstimate) -> None:
    """A text that says why there is no answer; it has no number that could be taken for a mean."""
    advice = (f"what to do next: {text}" for text in estimate.advice)
    cost = f"before another run: {estimate.cost_of_another}"
    sentences = [f"{text}." for text in (*estimate.contradictions, *advice, cost)]
    axes.text(0.0, 1.0, "\n\n".join(textwrap.fill(text, 90) for text in sentences), va="top", transform=axes.transAxes)
    axes.set_axis_off()


def draw_levels(axes: Axes, estimate: MeanEstimate) -> None:
    """The mean at each level of budgets, with a 95 % interval; the mean of everyone is a dashed line."""
    for row, level in enumerate(estimate.levels):
        reach = 1.96 * level.std
        axes.plot([level.mean - reach, level.mean + reach], [row, row], color=INK, lw=1, marker="|", label="_interval")
        axes.plot(level.mean, row, "o", color=ACCENT, ms=8, label="_mean")
        write_beside(axes, (level.mean + reach, row), rounded(level.mean, level.std), "right")
    axes.axvline(estimate.mean, color=INK, ls="--", lw=1)
    axes.margins(x=0.2)
    _rows(axes, [f"budget {level.in_words}" for level in estimate.levels])
    axes.set_xlabel("mean with 95 % intervals; dashed: mean of everyone", loc="left")


def draw_parts(axes: Axes, estimate: MeanEstimate) -> None:
    """The standard deviation of the error, and of its independent parts; their squares add up."""
    parts = {"together": estimate.std} | dict(reversed(estimate.error_parts.items()))
    unit = estimate.std or 1.0
    for row, size in enumerate(parts.values()):
        axes.barh(row, size / unit, height=0.5, color=ACCENT if row == 0 else "none", ec=ACCENT, lw=1.5)
        write_beside(axes, (size / unit, row), short(size), "right")
    axes.set_xlim(0, 1.3)
    _rows(axes, list(parts))
    axes.set_xlabel("standard deviations; the squares add up", loc="left")


def write_beside(axes: Axes, point: tuple[float, float], text: str, side: str) -> None:
    """Write a text to the "left" or "right" of a point."""
    shift, align = (6, "left") if side == "right" else (-6, "right")
    axes.annotate(text, point, (shift, -1), textcoords="offset points", ha=align, va="center", annotation_clip=False)


# Groups


def draw_groups(axes: Axes, grouped: GroupedEstimate, level: float) -> None:
    """A dot and an interval for every group, from top to bottom; groups without an answer say so."""
    rows = grouped.rows(level)[::-1]
    unit = _power_of_ten([row["mean"] for row in rows if row["mean"] is not None])
    for place, row in enumerate(rows):
        if row["mean"] is None:
            word = "refused" if row["contradiction"] is None else "no answer"
            axes.text(0.02, place, word, va="center", style="italic", transform=axes.get_yaxis_transform())
            continue
        axes.plot([row["low"] / unit, row["high"] / unit], [place, place], color=ACCENT, lw=2.4)
        axes.plot(row["mean"] / unit, place, "o", color=ACCENT, ms=7)
    axes.set_yticks(range(len(rows)), [_group_name(row["group"]) for row in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    if grouped.answered:
        axes.locator_params(axis="x", nbins=5)
        axes.grid(axis="x", alpha=0.3)
    else:
        axes.xaxis.set_major_locator(NullLocator())
    label_axes(axes, f"mean, with its {100 * level:g} % interval" + (f", times {unit:g}" if unit != 1 else ""), "")


def _power_of_ten(numbers: list[float]) -> float:
    """The power of ten in whose units to draw these numbers; 1 unless they are very large or very small."""
    largest = max(map(abs, numbers), default=1.0)
    return 1.0 if largest == 0 or 1e-3 <= largest < 1e6 else 10.0 ** max(math.floor(math.log10(largest)), -300)


def _group_name(group: Hashable) -> str:
    """The name of a group on one line, cut if it is long.

    Characters that cannot be printed are replaced, and a dollar sign, with which matplotlib begins a formula, is
    escaped.
    """
    name = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(group))
    return (name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…").replace("$", r"\$")


# Axes and figures


def empty_figure(width: float, height: float) -> Figure:
    """An empty figure that is not registered with pyplot; width and height are in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def _rows(axes: Axes, names: list[str]) -> None:
    """Name the rows, and remove the frame and the x-axis: numbers are written next to what they belong to."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(NullLocator())
    axes.spines[:].set_visible(False)


def label_axes(axes: Axes, x: str, y: str) -> None:
    """Label both axes, and remove the frame."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)


def log_axis(axes: Axes, direction: str, steps: tuple[float, ...]) -> None:
    """Make the "x" or "y" axis logarithmic, with ticks at `steps` times powers of ten, labelled in plain numbers."""
    axes.set(**{f"{direction}scale": "log"})
    axis = axes.xaxis if direction == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda number, _: _plain(number)))


def _plain(number: float) -> str:
    """A number without exponent; "2 M" for two million."""
    return f"{number / 1e6:g} M" if number >= 1e6 else f"{number:,.0f}" if number >= 1 else f"{number:g}"
