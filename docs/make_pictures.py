"""The pictures of docs/how-it-works.md, in the style of the library's own: legible in black and white.

python docs/make_pictures.py writes docs/pictures/*.svg.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pdpmean.core.types import Floats
from pdpmean.laws.clipped_normal import centered
from pdpmean.show.panels import ACCENT, INK, empty_figure, label_axes, log_axis

FOLDER = Path(__file__).parent / "pictures"

# Text stays text, and names inside a picture are the same each time.
_STYLE = {"svg.fonttype": "none", "svg.hashsalt": "pdpmean", "font.size": 11, "legend.fontsize": 10}
_METADATA = {"Date": None, "Creator": None}

_WIDTH = 5.0  # inches: text of 11 points is legible on a phone as wide
_TIERS = np.array([0.1, 0.5, 1.0])
_PEOPLE = np.array([5400, 3700, 900])
_CLIP_HALF_WIDTH = 1.2  # standard deviations


def saturation() -> Figure:
    """The weight of a person against their budget, and the error against the cap on the weights."""
    figure = empty_figure(_WIDTH, 4.6)
    weights, errors = figure.subplots(2, 1)
    caps = np.geomspace(0.04, 1.6, 400)
    relative = np.array([_error_at(cap) for cap in caps])
    best = float(caps[relative.argmin()])
    _draw_weights(weights, best)
    _draw_errors(errors, caps, relative / relative.min(), best)
    return figure


def _error_at(cap: float) -> float:
    """The predicted error of the mean, up to a factor, when weights are capped."""
    weights = np.minimum(_TIERS / 2, cap / 2)  # a value that is replaced counts twice against a budget
    noise = 2 * _CLIP_HALF_WIDTH**2 / centered(_CLIP_HALF_WIDTH).variance
    return float(np.sqrt(_PEOPLE @ weights**2 + noise) / (_PEOPLE @ weights))


def _draw_weights(axes: Axes, cap: float) -> None:
    budgets = np.geomspace(0.05, 2, 200)
    axes.plot(budgets, np.minimum(budgets, cap) / cap, color=ACCENT, lw=2.4, label="weight")
    axes.plot(_TIERS, np.minimum(_TIERS, cap) / cap, "o", color=INK, ms=6, label="budgets of people")
    axes.axvline(cap, color=INK, ls=":", lw=1.6, label="saturation")
    log_axis(axes, "x", (1.0, 2.0, 5.0))
    axes.set_ylim(0, 1.15)
    label_axes(axes, "budget of a person", "part of full weight")
    axes.legend(frameon=False, loc="lower right")


def _draw_errors(axes: Axes, caps: Floats, errors: Floats, best: float) -> None:
    axes.plot(caps, errors, color=ACCENT, lw=2.4)
    axes.plot(best, 1, "D", color=INK, ms=9, mfc="none", label="least error")
    log_axis(axes, "x", (1.0, 2.0, 5.0))
    label_axes(axes, "saturation", "error over the least")
    axes.legend(frameon=False, loc="upper right")


def median() -> Figure:
    """Records with their weights, and how likely each place is to be released as their median."""
    figure = empty_figure(_WIDTH, 3.8)
    records, law = figure.subplots(2, 1, sharex=True)
    random = np.random.default_rng(4)
    values = np.sort(random.normal(38, 6, 60))
    weights = random.choice([0.1, 0.5, 1.0], 60, p=[0.54, 0.37, 0.09])
    records.vlines(values, 0, weights, color=INK, lw=1.6)
    label_axes(records, "", "weight, in nats")
    records.set_ylim(0, 1.1)
    _draw_law(law, values, weights)
    return figure


def _draw_law(axes: Axes, values: Floats, weights: Floats) -> None:
    """The exponential mechanism between neighbouring records, where every place is equally good."""
    below = np.append(0.0, np.cumsum(weights))
    imbalance = np.abs(2 * below - below[-1])
    ends = np.concatenate([[values[0] - 4], values, [values[-1] + 4]])
    density = np.exp(-imbalance / 2)
    density /= density @ np.diff(ends)
    middle = values[np.searchsorted(below[1:], below[-1] / 2)]
    axes.stairs(density, ends, color=ACCENT, lw=1.8, label="released median")
    axes.axvline(middle, color=INK, ls=":", lw=1.6, label="weighted median")
    axes.set_xlim(20, 56)
    label_axes(axes, "value", "probability density")
    axes.legend(frameon=False, loc="upper right")


def tents() -> Figure:
    """What a value adds to the two sums, between and beyond the clipping bounds."""
    figure = empty_figure(_WIDTH, 3.2)
    axes = figure.subplots()
    x = np.linspace(-3, 3, 121)  # every corner is among them
    z = np.clip(x / _CLIP_HALF_WIDTH, -1, 1)
    axes.fill_between(x, np.exp(-(x**2) / 2) - 1.1, -1.1, fc="none", ec=INK, alpha=0.3, hatch="///", label="population")
    axes.plot(x, z, color=ACCENT, lw=2.4, label="clipped value z")
    axes.plot(x, 1 - np.abs(z), color=INK, ls="--", lw=1.8, label="tent 1 - |z|")
    for bound in (-_CLIP_HALF_WIDTH, _CLIP_HALF_WIDTH):
        axes.axvline(bound, color=INK, ls=":", lw=1.2)
    axes.set_xticks([-_CLIP_HALF_WIDTH, 0, _CLIP_HALF_WIDTH], ["c - R", "c", "c + R"])
    axes.set_ylim(-1.1, 1.1)
    label_axes(axes, "value", "adds, times its weight")
    figure.legend(frameon=False, loc="outside upper center", ncols=3, handlelength=2.4, columnspacing=1.2)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {"saturation": saturation, "median": median, "tents": tents}


def write_pictures(folder: Path) -> None:
    """Draw every picture into a folder."""
    with matplotlib.style.context(_STYLE, after_reset=True):
        for name, draw in PICTURES.items():
            draw().savefig(folder / f"{name}.svg", metadata=_METADATA)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_pictures(FOLDER)
