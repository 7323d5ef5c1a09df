"""The steps of `estimate_mean` made small enough to be enumerated: lattices of a few keys, plans of round shares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from exact.enumeration import Enumerator, collapsed
from pdpmean import estimate
from pdpmean.core.bounds import UNKNOWN, Bounds
from pdpmean.core.choices import Choices, ShapeName, floor_share, given_shape
from pdpmean.core.model import Model
from pdpmean.core.profile import Profile
from pdpmean.core.types import Floats
from pdpmean.core.whose import Whose
from pdpmean.errors import InsufficientBudgetError
from pdpmean.laws import lattice as lattices
from pdpmean.laws.lattice import Lattice, keys_of
from pdpmean.planning.census import Census
from pdpmean.planning.levels import ChosenWeighting, Levels
from pdpmean.planning.make import PLANNERS
from pdpmean.planning.plan import Plan, Shares
from pdpmean.planning.prediction import WeightSums
from pdpmean.planning.released import Location
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.release import any_shape, gaussian, private_median, squares
from pdpmean.release.shapes import RELEASES
from pdpmean.sources.arrays import ArraySource

EXACT = 1e-9  # the enumeration's stated error
MISSING, FAR = math.nan, math.inf

UNBOUNDED = Model("unbounded", (1.0, 4.0))

Person = tuple[float, float]  # value, budget
Patch = tuple[Any, str, Any]


def parts(**sixteenths: int) -> Shares:
    assert sum(sixteenths.values()) == 16
    return Shares({name: Fraction(part, 16) for name, part in sixteenths.items()})


SHARES = {
    ("bounded", "gaussian"): parts(center=4, scale=4, sum=8),
    ("unbounded", "gaussian"): parts(census=1, weight_squares=1, center=5, scale=5, sum=4),
    ("bounded", "any"): parts(center=4, histogram=4, sum=8),
    ("unbounded", "any"): parts(census=1, weight_squares=1, center=4, histogram=4, sum=6),
    ("bounded", "bounds"): parts(sum=16),
    ("unbounded", "bounds"): parts(census=1, weight_squares=1, sum=14),
}


FROM_BOUND = {  # of any shape, where distances are measured from a known bound: no centre is sought
    "bounded": parts(histogram=8, sum=8),
    "unbounded": parts(census=1, weight_squares=1, histogram=7, sum=7),
}


class AroundACentre(Bounds):
    """Bounds between which a centre is sought all the same, as it is with more budget."""


def usual_shares(model: Model, shape: ShapeName, bounds: Bounds) -> Shares:
    """The shares of a plan unless others are asked for."""
    from_bound = shape == "any" and bounds.anchor is not None and not isinstance(bounds, AroundACentre)
    return FROM_BOUND[model.name] if from_bound else SHARES[model.name, shape]


# The part of every budget to use: all of it, and parts whose shares are exact fractions or must be rounded.
USED = {"whole": Fraction(1), "half": Fraction(1, 2), "third": floor_share(Fraction(1, 3))}
FEWER = {name: share for name, share in USED.items() if share < 1}
each_share = pytest.mark.parametrize("share", USED.values(), ids=USED)
each_share_below_1 = pytest.mark.parametrize("share", FEWER.values(), ids=FEWER)


def parts_of(share: Fraction, shares: Shares) -> Shares:
    """Such parts of a share, rounded down as in a plan, and the rest for the sum."""
    others = {name: floor_share(part * share) for name, part in shares.items() if name != "sum"}
    return Shares({**others, "sum": share - sum(others.values())})


def total_share(plan: Plan) -> Fraction:
    """The part of every budget that the plan uses."""
    return sum(plan.shares.values(), Fraction(0))


NARROW = 0.125  # a clip within the quarter of the spread that the check counts: nobody is counted then


def fixed_plan(
    model: Model,
    shape: ShapeName = "gaussian",
    *,
    clip_half_width: float = 1.0,
    keep_density: float = 1e9,
    locate_cap: float = 3.0,
    weight_cap: float = 2.5,
    shares: Shares | None = None,
    share: Fraction = USED["whole"],
    bounds: Bounds = UNKNOWN,
    levels: Levels | None = None,
) -> Plan:
    """A plan of round shares; what it predicts plays no part."""
    shares = parts_of(share, shares or usual_shares(model, shape, bounds))
    anybody = Profile(np.full(1, math.inf), np.ones(1))
    return Plan(
        model=model,
        shape=shape,
        bounds=bounds,
        shares=shares,
        clip_half_width=clip_half_width,
        locate_cap=locate_cap,
        weight_cap=weight_cap,
        spared_from=weight_cap,
        keep_density=keep_density,
        center=WeightSums(1.0, 1.0),
        scale=WeightSums(1.0, 1.0),
        mean=WeightSums(1.0, 1.0),
        certain_part=1.0,
        noise_scale=1.0,
        sampling_std=1.0,
        prior_of_center=1.0,
        scale_may_miss=shape == "gaussian",
        needs_locating=PLANNERS[shape].needs_locating,
        in_deviations=PLANNERS[shape].needs_locating,
        census=Census(anybody, shares.get("census", Fraction(0)), 0.0),
        choices=Choices(),
        whose=Whose("budgets"),
        chosen_weighting=ChosenWeighting(levels, price_of_everyone=1.0, sums=WeightSums(1.0, 1.0), efficiency=1.0),
    )


def options_of(plan: Plan) -> dict[str, Any]:
    """What `estimate_mean` is asked for by whoever gets this plan."""
    return {
        "model": plan.model.name,
        "budget_range": plan.model.budget_range,
        "shape": given_shape(plan.shape),
        "bounds": plan.bounds,
        "share": total_share(plan),
    }


def source_of(present: Sequence[Person]) -> ArraySource:
    return ArraySource(np.array([value for value, _ in present]), np.array([budget for _, budget in present]))


def only(multiplicities: dict[float, int]) -> Lattice:
    """A lattice of these doubles alone."""
    keys = [int(key) for key in keys_of(np.array(list(multiplicities), dtype=np.float64))]
    starts = [start for key in keys for start in (key, key + 1)]
    counts = [count for multiplicity in multiplicities.values() for count in (multiplicity, 0)]
    return Lattice(tuple(starts), tuple(counts[:-1]))


@contextmanager
def patched(*patches: Patch) -> Iterator[None]:
    with ExitStack() as stack:
        for patch in patches:
            stack.enter_context(mock.patch.object(*patch))
        yield


@contextmanager
def everything_released() -> Iterator[None]:
    """A number released without any noise is an output as it is."""
    real = Enumerator.add_laplace

    def add_laplace(self: Enumerator, value: int, scale: float) -> Any:
        if scale == 0 and self.releasing:
            self.transcript.append(value)
        return real(self, value, scale)

    with patched((Enumerator, "add_laplace", add_laplace)):
        yield


def noise_at(plan: Plan, name: str, factor: float) -> Patch:
    """One of the numbers that `average` releases, with its noise at `factor` of its scale.

    It is known by its sensitivity, and by what it may cost over what the "sum" may: the "extra" sum beside it, who is
    "near", what is "missing", and the three "parts" of a private total.
    """
    clip = RELEASES[plan.shape].clip(plan, Location(0.0, half=1.0))
    known = {"sum": (clip.nat, Fraction(1)), "missing": (clip.unit, Fraction(1)), "parts": (4 * clip.nat, Fraction(1))}
    known |= {"extra": (clip.nat, clip.slack)}
    known |= {"near": (clip.unit, clip.near_slack)} if isinstance(clip, gaussian.TentClip) else {}

    def scale(size: int, part: Fraction) -> float:
        return laplace_scale(size, part) * (factor if (size, part) == known[name] else 1.0)

    return (gaussian if isinstance(clip, gaussian.TentClip) else squares, "laplace_scale", scale)


def cell_noise_at(factor: float, bits: int) -> Patch:
    """The noise of all cells of a histogram, or of far values, whose scale is 2**bits, at `factor` of it."""

    def add(self: Enumerator, numbers: Sequence[int], of_bits: int) -> list[Any]:
        scale = 2.0**of_bits * (factor if of_bits == bits else 1.0)
        return [self.add_laplace(number, scale) for number in numbers]

    return (Enumerator, "add_laplace_to_each", add)


def shared_noise(self: Enumerator, numbers: Sequence[int], bits: int) -> list[Any]:
    """Noise that every second number has in common with the one before it: their difference is released without."""
    noisy = [self.add_laplace(number, 2.0**bits) for number in numbers[::2]]
    self.transcript.append(tuple(np.subtract(numbers[::2], numbers[1::2]).tolist()))
    return [number for number in noisy for _ in range(2)]


def doubled(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: 2 * function(*args)


# Built so that one record can move every step the worst way at once: a bulk below, a rare key above.
CENTERS, SPREADS = only({0.0: 30, 1.5: 1, 4.0: 1}), only({0.25: 30, 0.75: 1, 3.0: 1})
SEVERE_CENTERS, SEVERE_SPREADS = only({0.0: 400, 1.5: 1}), only({0.25: 400, 0.75: 1})


CLIP = (-0.5, 1.5)  # where values of any shape are clipped, whatever the histogram says


def clipped_to(low: float, high: float) -> list[Patch]:
    """A histogram that is not read, and this clip instead of the one it suggests.

    The density of a histogram h and sums s is ``p(h) q(s; clip(h))``. At each h the ratio of two such densities is that
    of a mechanism whose clip is fixed, to what h suggests: so the loss is at most the largest over all fixed clips.
    """
    return [
        (any_shape, "read_histograms", lambda histograms, *_: [SimpleNamespace(finding="found")] * len(histograms)),
        (any_shape, "choose_clips", lambda readings, *_: [(low, high)] * len(readings)),
        (any_shape, "should_span_bounds", lambda *_: False),
    ]


@contextmanager
def whole(
    plans: Sequence[Plan | InsufficientBudgetError],
    centers: Lattice,
    spreads: Lattice,
    *planted: Patch,
    clip: tuple[float, float] = CLIP,
) -> Iterator[None]:
    """`estimate_mean` with these plans, one per group, and lattices; nothing is concluded from the released numbers.

    Every key of a lattice is round: a preference for some is one more multiplicity, see test_estimator.py.
    """
    fixed: list[Patch] = [
        (estimate, "plan_groups", lambda *_: list(plans)),
        (
            estimate,
            "conclude",
            lambda groups, *_: [group and SimpleNamespace(warnings=(), contradictions=()) for group in groups],
        ),
        (Plan, "center_lattice", centers),
        (any_shape, "everywhere", lambda: centers),
        (Plan, "spread_lattice", spreads),
        (lattices, "_ROUND", 1),
        (lattices, "_ZERO", 0),
        *clipped_to(*clip),
    ]
    steps = ["release.private_median:private_medians"]
    with patched(*fixed), collapsed(*steps), group_by_group(), patched(*planted), everything_released():
        yield


@contextmanager
def group_by_group() -> Iterator[None]:
    """`private_medians` of one group after the other: drawn together they are independent, see tests/test_locate.py."""
    together = private_median.private_medians

    def one_by_one(
        values: Floats, weights: NDArray[np.int64], lattice: Lattice, randomness: Randomness, *, grain: int, sizes: Any
    ) -> list[float]:
        ends = itertools.pairwise([0, *np.cumsum(sizes).tolist()])
        parts = ((values[start:end], weights[start:end]) for start, end in ends)
        return [together(*part, lattice, randomness, grain=grain)[0] for part in parts]

    with patched((private_median, "private_medians", one_by_one)):
        yield
