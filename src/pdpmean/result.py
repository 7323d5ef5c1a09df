"""Result: the mean, how sure it is, what it cost and what was promised; all from released numbers."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pdpmean.average import Average
from pdpmean.clipped_normal import clipped_variance, inside, undo_clipping
from pdpmean.guarantee import Promise
from pdpmean.inputs import Floats, check_probability
from pdpmean.interval import ErrorLaw, half_width, rank_nodes
from pdpmean.locate import Location
from pdpmean.planned import Plan
from pdpmean.prediction import center_error
from pdpmean.profile import Profile
from pdpmean.texts import as_html, rounded, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MeanEstimate", "conclude"]

# Standard deviations between mean and median. Values rounded to a sixth of one hardly ever move their median as far as
# the first, values rounded to a quarter hardly as far as the second.
_APART, _FAR_APART = 0.17, 0.26
# Within a quarter of the median distance lie 13 % of a normal population, and fewer than this of other smooth ones.
_MOST_NEAR, _FALSE_ALARM = 0.2, 0.001
_BUCKET_DOUBT = 0.5  # how far, relatively, a noisy census misstates the squared weights: its buckets are wide


@dataclass(frozen=True, repr=False)
class MeanEstimate:
    """An estimate of a population's mean. Prints itself; `to_dict` has it as plain numbers and words."""

    mean: float
    """The estimate."""
    center: float
    """Where the population was located, a private median."""
    scale: float
    """The population's standard deviation, as it was found on the way."""
    law: ErrorLaw
    plan: Plan
    """How it was made, and what was expected of it."""
    promise: Promise
    selection_bound: float
    """How far off the mean is at most, on top of its error, if larger budgets go with larger values."""
    warnings: tuple[str, ...]
    """What the released numbers say against the assumed shape."""

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval that holds the population's mean with probability `level`, if the shape is right."""
        return self.law.interval(check_probability("level", level))

    @property
    def noise_std(self) -> float:
        """Standard deviation of the error due to noise."""
        return self.law.noise_std

    @property
    def sampling_std(self) -> float:
        """Standard deviation of the error due to who is in the sample."""
        return self.law.sampling_std

    @property
    def std(self) -> float:
        """Standard deviation of the error."""
        return _finite(math.hypot(self.noise_std, self.sampling_std))

    @property
    def spent(self) -> Fraction:
        """The part of every budget that was used."""
        return self.promise.spent

    @property
    def private(self) -> bool:
        """Whether the randomness protects anyone."""
        return self.promise.private

    @property
    def guarantee(self) -> str:
        """What was promised to whom, in words."""
        return str(self.promise)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON."""
        low, high = self.interval()
        return {
            "mean": self.mean,
            "interval_95": [low, high],
            "std": self.std,
            "noise_std": self.noise_std,
            "sampling_std": self.sampling_std,
            "center": self.center,
            "scale": self.scale,
            "selection_bound": self.selection_bound,
            "model": self.plan.model.name,
            "shape": self.plan.shape,
            "budget_range": list(self.plan.model.budget_range) if self.plan.model.budget_range else None,
            "support": list(self.plan.support) if self.plan.support else None,
            "spent": float(self.spent),
            "shares": {name: float(share) for name, share in self.plan.shares.items()},
            "warnings": list(self.warnings),
            "private": self.private,
            "guarantee": self.guarantee,
        }

    def plot(self) -> Figure:
        """A matplotlib figure: the mean with its intervals, and what its error is made of."""
        from pdpmean.plots import plot_estimate

        return plot_estimate(self)

    def _rows(self, level: float = 0.95) -> list[tuple[str, str]]:
        low, high = (rounded(end, self.std) for end in self.interval(level))
        noise, sampling = short(self.noise_std), short(self.sampling_std)
        rows = [
            ("mean", rounded(self.mean, self.std)),
            (f"{100 * level:.6g} % interval", f"{low} to {high}"),
            ("error (std)", f"{short(self.std)}, of which noise {noise}, sampling {sampling}"),
            ("population's std", short(self.scale, 4)),
            ("selection", f"off by up to {short(self.selection_bound)} more if budgets and values go together"),
            *(("warning", text) for text in self.warnings),
            ("guarantee", self.guarantee),
        ]
        return rows if self.private else [("NOT PRIVATE", "seeded randomness, for simulation only"), *rows]

    def __repr__(self) -> str:
        mark = "" if self.private else ", NOT PRIVATE"
        return f"<MeanEstimate {rounded(self.mean, self.std)} +- {short(self.std)}{mark}>"

    def __str__(self) -> str:
        return self.text()

    def text(self, level: float = 0.95) -> str:
        """The estimate as aligned lines, with the interval of this level."""
        rows = self._rows(level)
        width = max(len(name) for name, _ in rows) + 2
        return "\n".join(
            textwrap.fill(text, 100, initial_indent=name.ljust(width), subsequent_indent=" " * width)
            for name, text in rows
        )

    def _repr_html_(self) -> str:
        return as_html(self._rows())


def conclude(
    plan: Plan, location: Location, half: float, averaged: Average, squares: float | None, promise: Promise
) -> MeanEstimate:
    """The estimate behind the released numbers; `squares`, of the weights, where they are not in the plan."""
    grown = _growth(plan, averaged)
    square = plan.mean.square * grown if squares is None else _square(plan, averaged, grown, squares)
    if plan.shape == "any":
        mean, sigma, law = _as_it_is(plan, location, half, averaged, square)
        slope, gap = 1.0, 0.0
    else:
        mean, sigma, law = _behind_the_clip(plan, location, half, averaged, grown, square)
        slope, gap = float(np.mean(half / law.noise)) / averaged.weight, (mean - location.center) / sigma
    return MeanEstimate(
        mean=_finite(mean),
        center=location.center,
        scale=_finite(sigma),
        law=law,
        plan=plan,
        promise=promise,
        selection_bound=_finite(2 * (half * _uneven(plan, plan.census.profile) / slope)),
        warnings=_warnings(plan, location, averaged, gap, grown, 1 / (promise.groups or 1)),
    )


def _growth(plan: Plan, averaged: Average) -> float:
    """How much more weight was released than the noisy census had led to expect."""
    return min(max(averaged.weight / plan.mean.weight, 0.4), 2.5) if "weights" in plan.shares else 1.0


def _square(plan: Plan, averaged: Average, grown: float, released: float) -> float:
    """The sum of the squared weights: between the plan's and the released one, the nearer to each the surer it is."""
    expected = plan.mean.square * grown
    noise = math.sqrt(2) * plan.largest_weight * float(plan.shares["sum"] / plan.shares["weight_squares"])
    trust = 1 / (1 + (noise / (_BUCKET_DOUBT * expected)) ** 2)
    least = min(float(plan.shares["sum"]) * plan.model.limits[0], plan.largest_weight)
    found = expected + trust * (released - expected)
    return min(max(found, least * averaged.weight), plan.largest_weight * averaged.weight)


def _behind_the_clip(
    plan: Plan, location: Location, half: float, averaged: Average, grown: float, square: float
) -> tuple[float, float, ErrorLaw]:
    """Mean and scale of the normal population, and the law of the error, mixed over the true rank of the spread."""
    spread = location.spread
    ratio = half / spread
    # The last one is the median itself; the others are what its rank may have been.
    levels = np.append(rank_nodes(plan.scale.weight * grown, plan.scale.square * grown), 0.5)
    shifts, sigmas = undo_clipping(np.full(levels.size, averaged.mean), ratio, levels)
    shift, sigma, shifts, sigmas = float(shifts[-1]), float(sigmas[-1]), shifts[:-1], sigmas[:-1]
    slopes = np.maximum(inside(ratio / sigmas, shifts), 0.05)
    variances = clipped_variance(ratio / sigmas, shifts) * square
    sampling = np.sqrt(variances) * sigmas / (averaged.weight * slopes)
    if "weights" in plan.shares:
        # The noise of the total weight moves the clipped mean in proportion to itself.
        relative = math.sqrt(2) * float(plan.shares["sum"] / plan.shares["weights"]) / averaged.weight
        sampling = np.hypot(sampling, abs(averaged.mean) * ratio * relative / slopes)
    law = ErrorLaw(
        centers=_all_finite(location.center, shifts * sigmas, spread),
        noise=half / (averaged.weight * slopes),
        sampling=sampling * spread,
    )
    return location.center + shift * sigma * spread, sigma * spread, law


def _as_it_is(
    plan: Plan, location: Location, half: float, averaged: Average, square: float
) -> tuple[float, float, ErrorLaw]:
    """The clipped mean itself; its sampling error from the released mean square."""
    assert averaged.square is not None
    mean = _finite(location.center + half * averaged.mean)
    doubt = float(plan.shares["sum"] / plan.shares["square"]) / averaged.weight
    deviation = math.sqrt(max(averaged.square - averaged.mean**2, 0.0) + doubt)
    sampling = half * (deviation * math.sqrt(square) / averaged.weight)
    law = ErrorLaw(np.array([mean]), np.array([half / averaged.weight]), np.array([sampling]))
    return mean, half * deviation, law


def _uneven(plan: Plan, profile: Profile) -> float:
    """At most the total variation between the weights given and equal weights for everybody.

    Where budgets are private, the worst there is for weights within the public range.
    """
    share = float(plan.shares["sum"])
    if plan.model.budget_range is not None:
        least, most = (math.sqrt(min(end * share, plan.weight_cap)) for end in plan.model.budget_range)
        return (most - least) / (most + least)
    weights = np.minimum(profile.levels * share, plan.weight_cap)
    even = 1 / plan.people
    differences = profile.counts * np.abs(weights / float((profile.counts * weights).sum()) - even)
    return float(differences.sum() + max(plan.people - profile.people, 0.0) * even) / 2


def _warnings(
    plan: Plan, location: Location, averaged: Average, gap: float, grown: float, part: float
) -> tuple[str, ...]:
    """What released numbers say against the assumed shape; `gap` is from median to mean, in standard deviations.

    Of all false alarms, which are rare over all groups together, this group may give the given part.
    """
    if plan.shape == "any":
        return ()
    noise = float(plan.shares["sum"] / plan.shares["check"]) / averaged.weight
    if location.degenerate or (averaged.near or 0.0) > _MOST_NEAR - noise * math.log(2 * part * _FALSE_ALARM):
        return ("many of the values seem to be equal, or nearly: use shape='any'",)
    noise, sampling = (error / min(grown, 1.0) for error in center_error(plan.center))
    by_chance = half_width(1 - part * _FALSE_ALARM, noise, math.hypot(sampling, plan.noise_std))
    if abs(gap) > max(by_chance, _FAR_APART):
        return ("mean and median differ by more than a bell-shaped population allows: use shape='any'",)
    if abs(gap) > max(by_chance, _APART):
        return (
            "mean and median differ: unless its values are rounded coarsely, the population is skewed: use shape='any'",
        )
    return ()


def _all_finite(center: float, offsets: Floats, unit: float) -> Floats:
    with np.errstate(over="ignore"):
        return np.nan_to_num(center + offsets * unit)


def _finite(number: float) -> float:
    """The nearest finite double."""
    largest = float(np.finfo(np.float64).max)
    return min(max(number, -largest), largest)
