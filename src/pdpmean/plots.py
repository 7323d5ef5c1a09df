"""Pictures of plans, estimates and comparisons, as matplotlib figures. Needs the extra `plot`.

Every line has its own style or marker, so that a picture says the same in black and white. Drawn are only numbers that
are public or released. Nothing is shown on a screen or kept by pyplot: a figure is returned, to be saved or displayed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pdpmean.errors import MissingPackageError
from pdpmean.interval import half_width
from pdpmean.plan import with_people
from pdpmean.result import rounded

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter
except ModuleNotFoundError as missing:
    raise MissingPackageError("matplotlib", extra="plot") from missing

if TYPE_CHECKING:
    from pdpmean.compare import Comparison
    from pdpmean.inputs import Floats
    from pdpmean.planned import Plan
    from pdpmean.result import MeanEstimate

__all__ = ["ACCENT", "INK", "plot_comparison", "plot_estimate", "plot_plan"]

INK, ACCENT = "#000000", "#1f5fa6"
LEVELS = (0.8, 0.95, 0.99)
_SIMULATED = "NOT PRIVATE: seeded randomness, for simulation only"
_ONE_IN_FOUR = 0.75  # the level at which the lower bound is stated, and so every line beside it
_FACTORS = np.geomspace(1 / 16, 16, 25)  # how many times as many people
_MARKS = 40  # budgets marked on the curve of weights, at most
_STYLES: tuple[dict[str, Any], ...] = (
    {"ls": "-", "marker": "o", "color": ACCENT, "lw": 2.4},
    {"ls": "--", "marker": "s", "color": INK},
    {"ls": "-.", "marker": "^", "color": INK},
    {"ls": ":", "marker": "v", "color": INK},
    {"ls": "--", "marker": "x", "color": INK},
    {"ls": ":", "marker": "D", "color": INK},
)


def plot_plan(plan: Plan) -> Figure:
    """Two panels: the error with more or fewer people, and what a budget counts."""
    return _side_by_side(plan, {"Error that one run in four exceeds": draw_error, "What a budget counts": draw_weights})


def plot_estimate(estimate: MeanEstimate) -> Figure:
    """Two panels: the mean with its intervals, and what its error is made of."""
    panels = {"The mean, with 80, 95 and 99 % intervals": draw_intervals, "What its error is made of": draw_parts}
    figure = _side_by_side(estimate, panels, height=3.0)
    if not estimate.private:
        figure.suptitle(_SIMULATED, weight="bold")
    return figure


def plot_comparison(comparison: Comparison | Sequence[Comparison]) -> Figure:
    """The error of each method over the lower bound; with several comparisons, against the number of people."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    if isinstance(comparison, Sequence):
        _draw_by_people(axes, comparison)
    else:
        _draw_by_method(axes, comparison)
    axes.set_title("Error over the lower bound", loc="left", pad=12)
    return figure


def _side_by_side(drawn: Any, panels: Mapping[str, Callable[[Axes, Any], None]], *, height: float = 3.9) -> Figure:
    figure = Figure(figsize=(5.2 * len(panels), height), layout="constrained")
    for axes, (title, draw) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
        draw(axes, drawn)
        axes.set_title(title, loc="left", pad=12)
    return figure


# Plans


def draw_error(axes: Axes, plan: Plan) -> None:
    """The predicted error and its parts against total budget: the same budgets, more or fewer people."""
    plans = [with_people(plan, factor) for factor in _FACTORS]
    kept = [found for found in plans if found]
    # Where somebody is public the total is infinite, and people are counted instead.
    finite = math.isfinite(plan.total)
    unit = plan.total if finite else 1.0
    x = unit * np.array([factor for factor, found in zip(_FACTORS, plans, strict=True) if found])
    for label, style, error in _ERRORS:
        axes.plot(x, [error(found) for found in kept], label=label, **style)
    axes.plot(unit, _ERRORS[0][2](plan), "o", color=ACCENT, ms=8, label="this plan")
    if len(kept) < len(plans):
        edge = float(x[0] / math.sqrt(_FACTORS[1] / _FACTORS[0]))
        axes.axvspan(unit * _FACTORS[0], edge, fc="none", ec=INK, alpha=0.4, hatch="///", lw=0, label="refused")
    _log(axes, "x", (1.0, 3.0))
    _log(axes, "y", (1.0, 3.0))
    axes.set_xlim(unit * _FACTORS[0], unit * _FACTORS[-1])
    axes.set_ylim(top=4 * axes.get_ylim()[1])  # room for the legend, above lines that fall
    _label(axes, "total budget" if finite else "people, in multiples of those at hand", "in standard deviations")
    axes.legend(frameon=False, handlelength=3.2, loc="upper right", borderaxespad=0)


def _quarter(noise: float, sampling: float) -> float:
    return half_width(_ONE_IN_FOUR, noise, sampling)


_ERRORS: tuple[tuple[str, dict[str, Any], Callable[[Plan], float]], ...] = (
    ("expected", {"color": ACCENT, "ls": "-", "lw": 2.4}, lambda plan: _quarter(plan.noise_scale, plan.sampling_std)),
    ("sampling alone", {"color": INK, "ls": "-."}, lambda plan: _quarter(0.0, plan.sampling_std)),
    ("noise alone", {"color": INK, "ls": "--"}, lambda plan: _quarter(plan.noise_scale, 0.0)),
    ("lower bound", {"color": INK, "ls": ":", "lw": 2}, lambda plan: plan.lower_bound),
)


def draw_weights(axes: Axes, plan: Plan) -> None:
    """The weight of a person against their budget, up to the saturation and beyond."""
    granted, full = _marked(plan), plan.saturation
    ends = np.append(granted, full)
    low, high = ends.min() / 2, ends.max() * 2
    budgets = np.geomspace(low, high, 200)
    axes.plot(budgets, np.minimum(budgets / full, 1), color=ACCENT, lw=2.4, label="weight")
    axes.plot(granted, np.minimum(granted / full, 1), "o", color=INK, ms=5, label="budgets granted")
    axes.plot(full, 1, "D", color=INK, ms=10, mfc="none", label=f"saturation, {full:.3g}")
    _log(axes, "x", (1.0, 2.0, 5.0) if high < 100 * low else (1.0,))
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.1)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))
    _label(axes, "budget of a person", "of full weight")
    axes.legend(frameon=False, loc="lower right")


def _marked(plan: Plan) -> Floats:
    """The budgets to mark: all finite ones if they are few, otherwise those of people evenly spaced among all."""
    profile = plan.census.profile
    levels = profile.levels
    if levels.size > _MARKS:
        ranks = (np.arange(_MARKS) + 0.5) / _MARKS * profile.people
        levels = np.unique(levels[np.searchsorted(np.cumsum(profile.counts), ranks)])
    return levels[np.isfinite(levels)] * plan.model.budget_per_allowance


# Estimates


def draw_intervals(axes: Axes, estimate: MeanEstimate, levels: Iterable[float] = LEVELS) -> None:
    """The mean, and the interval at each level, with its ends in numbers."""
    unit, rows, reach = estimate.std or 1.0, sorted(levels), 0.0
    for row, level in enumerate(rows):
        ends = estimate.interval(level)
        # In errors from the mean, so that numbers of any size will do.
        low, high = (end / unit - estimate.mean / unit for end in ends)
        axes.plot([low, high], [row, row], color=ACCENT, lw=18 - 14 * row / len(rows), solid_capstyle="butt")
        _beside(axes, (low, row), rounded(ends[0], unit), "left")
        _beside(axes, (high, row), rounded(ends[1], unit), "right")
        reach = max(reach, -low, high)
    axes.vlines(0, -0.5, len(rows) - 0.6, color=INK, ls="--", lw=1)
    axes.text(0, len(rows) - 0.5, rounded(estimate.mean, unit), ha="center", weight="bold", size="large")
    axes.set_xlim(-2 * (reach or 1.0), 2 * (reach or 1.0))
    _rows(axes, [f"{100 * level:g} %" for level in rows])


def draw_parts(axes: Axes, estimate: MeanEstimate) -> None:
    """The standard deviation of the error, and of the two parts whose squares add up to its square."""
    parts = {"together": estimate.std, "sampling": estimate.sampling_std, "noise": estimate.noise_std}
    unit = estimate.std or 1.0
    for row, size in enumerate(parts.values()):
        axes.barh(row, size / unit, height=0.5, color=ACCENT if row == 0 else "none", ec=ACCENT, lw=1.5)
        _beside(axes, (size / unit, row), f"{size:.3g}", "right")
    axes.set_xlim(0, 1.3)
    _rows(axes, list(parts))
    axes.set_xlabel("standard deviations; the squares add up", loc="left")


def _beside(axes: Axes, point: tuple[float, float], text: str, side: str) -> None:
    shift, align = (6, "left") if side == "right" else (-6, "right")
    axes.annotate(text, point, (shift, -1), textcoords="offset points", ha=align, va="center", annotation_clip=False)


# Comparisons


def _draw_by_method(axes: Axes, comparison: Comparison) -> None:
    rows = comparison.rows()[::-1]
    answered = [(row, found["over_bound"]) for row, found in enumerate(rows) if math.isfinite(found["over_bound"])]
    for row, ratio in answered:
        axes.plot([1, ratio], [row, row], color=ACCENT, lw=2)
        axes.plot(ratio, row, "o", color=ACCENT, ms=8)
        _beside(axes, (ratio, row), f"{ratio:.3g}", "right")
    for row in set(range(len(rows))) - {row for row, _ in answered}:
        _beside(axes, (1, row), "no answer", "right")
    _log(axes, "x", (1.0, 2.0, 5.0))
    axes.set_xlim(1, 1.5 * max([2.0, *(ratio for _, ratio in answered)]))
    axes.set_yticks(range(len(rows)), [str(row["method"]) for row in rows])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    _label(axes, "error that one run in four exceeds, over the lower bound", "")


def _draw_by_people(axes: Axes, comparisons: Sequence[Comparison]) -> None:
    found: dict[str, list[tuple[int, float]]] = {}
    for comparison in sorted(comparisons, key=lambda one: one.people):
        for row in comparison.rows():
            found.setdefault(str(row["method"]), []).append((comparison.people, float(row["over_bound"])))
    for place, (method, points) in enumerate(found.items()):
        axes.plot(*zip(*points, strict=True), label=method, **_STYLES[place % len(_STYLES)])
    _log(axes, "x", (1.0, 3.0))
    _log(axes, "y", (1.0, 2.0, 5.0))
    _label(axes, "people", "over the lower bound")
    axes.legend(frameon=False, handlelength=3.2)


# Axes


def _rows(axes: Axes, names: list[str]) -> None:
    """Named rows, and no frame: the numbers stand beside what they belong to."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(-0.6, len(names) - 0.3)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(NullLocator())
    axes.spines[:].set_visible(False)


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)


def _log(axes: Axes, direction: str, steps: tuple[float, ...]) -> None:
    """A logarithmic axis, its ticks at `steps` times powers of ten, in plain numbers."""
    axes.set(**{f"{direction}scale": "log"})
    axis = axes.xaxis if direction == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda number, _: _plain(number)))


def _plain(number: float) -> str:
    return f"{number / 1e6:g} M" if number >= 1e6 else f"{number:,.0f}" if number >= 1 else f"{number:g}"
