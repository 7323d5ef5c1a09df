"""Populations of any shape, enumerated: histogram, sums with far cells, and the whole cost no more than granted.

The shipped code runs. What cannot be enumerated is the clip, which depends on all 388 noisy cells of the histogram; it
is fixed instead, in several places. That is enough. The density of a histogram h and of sums s is
``p(h) q(s; clip(h))``, since the sums see nothing of the histogram but its clip. At every h, the ratio of two such
densities is the ratio of the same mechanism with a clip fixed to what h suggests. So the loss is at most the largest
that any fixed clip has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from rules import batch_of, clip_of, compiled, exact_sums, group_at, table_of

from exact.enumeration import Enumerator, Law, law, loss, removal_losses, replacement_losses
from exact.pipeline import (
    CENTERS,
    CLIP,
    EXACT,
    FAR,
    MISSING,
    SEVERE_CENTERS,
    SPREADS,
    UNBOUNDED,
    USED,
    AroundACentre,
    Patch,
    Person,
    cell_noise_at,
    each_share,
    everything_released,
    fixed_plan,
    noise_at,
    options_of,
    patched,
    shared_noise,
    source_of,
    whole,
)
from pdpmean import estimate
from pdpmean.core.bounds import UNKNOWN, Bounds
from pdpmean.core.integers import STEP_BITS, STEPS
from pdpmean.core.model import BOUNDED, Model
from pdpmean.core.rules import FAR_CELLS, FAR_EDGES, FAR_FROM
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.laws.histogram import CELLS
from pdpmean.laws.lattice import Lattice
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location, PrivateTotalSums, PublicTotalSums
from pdpmean.randomness import Randomness
from pdpmean.release import any_shape, average
from pdpmean.release.any_shape import FarClip
from pdpmean.release.histogram import first_cell, noisy_histograms
from pdpmean.release.shape import ExactSums
from pdpmean.release.shapes import RELEASES
from pdpmean.release.squares import SquareClip

MODELS = {"bounded": BOUNDED, "unbounded": UNBOUNDED}
both_models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
WEIGHT_BITS = WEIGHT_UNIT.bit_length() - 1


class Quiet(Randomness):
    """No noise at all."""

    def __init__(self) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=False)

    def add_laplace_to_each(self, numbers: Sequence[int], bits: int) -> list[int]:  # noqa: ARG002
        return list(numbers)


# --- the histogram ----------------------------------------------------------------------------------------------

Placed = tuple[float, int]  # value, weight in units of 2**-30 nats
FIRST, ANCHOR = first_cell(8.0), 8.0
BEYOND = 2.0 ** (FIRST // 2 + CELLS // 2)  # the distance from which nothing has a cell
PLACES = [
    *(8.0, 8.0 + 2.0**-40, 9.0, 7.0, 9.5, -1e3, 1e20, -1e20),
    *(8.0 + BEYOND, 8.0 - BEYOND, 1e300, -1e300, FAR, -FAR, MISSING, 0.0, -0.0),
]


def nats(weight: float) -> int:
    return round(weight * WEIGHT_UNIT)


def columns_of(placed: Sequence[Placed]) -> tuple[Any, Any, Any]:
    """Values, weights and the size of the only group."""
    values = np.array([value for value, _ in placed], dtype=np.float64)
    return values, np.array([weight for _, weight in placed], dtype=np.int64), np.array([values.size])


# Bounds between which some of the places lie, and beyond which others do.
SOME_BOUNDS = {
    "no bounds": UNKNOWN,
    "a lower bound": Bounds(low=8.0),
    "an upper bound": Bounds(high=9.0),
    "two bounds": Bounds(-1e3, 1e20),
}


def histogram_law(placed: Sequence[Placed], anchor: float = ANCHOR, bounds: Bounds = UNKNOWN) -> Law:
    with everything_released():
        return law(lambda r: noisy_histograms(*columns_of(placed), [anchor], r, bounds), released=True)


def cell_losses(weight: float = 1.3, bounds: Bounds = UNKNOWN) -> list[float]:
    """What a record costs at each place, where it joins some others."""
    others = [(9.0, nats(0.7)), (MISSING, nats(2.0)), (FAR, nats(0.1))]
    without = histogram_law(others, bounds=bounds)
    return [loss(without, histogram_law([*others, (place, nats(weight))], bounds=bounds)) for place in PLACES]


@pytest.mark.parametrize("bounds", SOME_BOUNDS.values(), ids=SOME_BOUNDS)
@pytest.mark.parametrize("weight", [0.1, 1.0, 2.3])
def test_a_record_costs_its_weight_wherever_it_lies(weight: float, bounds: Bounds) -> None:
    """Also if it is missing, infinite, at the anchor or beyond a bound: it is in one cell, and in no other."""
    assert cell_losses(weight, bounds) == pytest.approx([weight] * len(PLACES), abs=1e-9)


def test_a_record_that_changes_its_value_costs_its_weight_twice() -> None:
    """Which is its budget, in the bounded model; nothing if it stays in its cell."""
    laws = {place: histogram_law([(place, nats(0.5))]) for place in PLACES if not math.isnan(place)}
    losses = [loss(one, two) for one in laws.values() for two in laws.values()]
    assert {round(spent, 9) for spent in losses} == {0.0, 1.0}


def in_two_cells(self: Enumerator, numbers: Sequence[int], bits: int) -> list[Any]:
    """As if a record were in its own cell and in the next one."""
    return [self.add_laplace(sum(pair), 2.0**bits) for pair in zip(numbers, [0, *numbers], strict=False)]


HISTOGRAM_BUGS: dict[str, tuple[Patch, float]] = {
    "a record in two cells": ((Enumerator, "add_laplace_to_each", in_two_cells), 1.9),
    "noise at 0.7 of its scale": (cell_noise_at(0.7, WEIGHT_BITS), 1.4),
    "no noise": (cell_noise_at(0.0, WEIGHT_BITS), math.inf),
    "noise that two cells share": ((Enumerator, "add_laplace_to_each", shared_noise), math.inf),
}


@pytest.mark.parametrize("bug", HISTOGRAM_BUGS)
def test_a_bug_in_the_histogram_is_caught(bug: str) -> None:
    planted, times = HISTOGRAM_BUGS[bug]
    with patched(planted):
        assert max(cell_losses(1.0)) >= times


def exact_histogram(placed: Sequence[Placed], anchor: float) -> list[float]:
    """All cells in nats, without noise: below, above, far below, far above, at the anchor, missing."""
    (found,) = noisy_histograms(*columns_of(placed), [anchor], Quiet())
    cells = [*found.below, *found.above, found.far_below, found.far_above, found.center, found.missing]
    assert (found.anchor, found.first) == (anchor, first_cell(anchor))
    return [float(cell) for cell in cells]


def documented_cell(distance: float, sign: int, anchor: float) -> int:
    """Which of them a distance belongs to, by squares in fractions: cell j is from ``2**((first + j) / 2)`` on."""
    if math.isinf(distance):
        return 2 * CELLS + (sign > 0)
    square, first = Fraction(distance) ** 2, Fraction(2) ** first_cell(anchor)
    if square < first:
        return 2 * CELLS + 2
    cell = next((j for j in range(CELLS) if square < first * 2 ** (j + 1)), None)
    if cell is None:
        return 2 * CELLS + (sign > 0)
    return cell + CELLS * (sign > 0)


def test_a_distance_lies_in_the_documented_cell() -> None:
    """At every edge, and at the doubles next to it, on either side; from 0, distances are the values themselves."""
    edges = [2.0 ** ((first_cell(0.0) + j) / 2) for j in range(CELLS + 1)]
    beside = [near for edge in edges for near in (math.nextafter(edge, 0.0), edge, math.nextafter(edge, math.inf))]
    for distance in [*beside, 5e-324, 1.7e308, FAR]:
        for sign in (-1, 1):
            found = exact_histogram([(sign * distance, nats(1.0))], 0.0)
            assert found[documented_cell(distance, sign, 0.0)] == 1.0
            assert sum(found) == 1.0


@pytest.mark.parametrize("anchor", [1.0, -3.7, 1e300, 2.0**-1060, 0.0])
def test_nobody_is_counted_twice_or_left_out(anchor: float) -> None:
    """However far the anchor lies: what all cells hold is what everybody weighs."""
    crowd = [(value, nats(0.25 + index)) for index, value in enumerate([*PLACES, anchor, -1.7e308, 1.7e308, 5e-324])]
    found = exact_histogram(crowd, anchor)
    assert sum(found) == sum(weight for _, weight in crowd) / WEIGHT_UNIT
    for value, weight in crowd:
        own = exact_histogram([(value, weight)], anchor)
        assert sorted(own)[-2:] == [0.0, weight / WEIGHT_UNIT]
    assert exact_histogram([(anchor, nats(1.0))], anchor)[-2] == 1.0
    assert exact_histogram([(MISSING, nats(1.0))], anchor)[-1] == 1.0


def test_each_group_has_a_histogram_of_its_own() -> None:
    values, weights = np.array([9.0, 7.0, MISSING, 1.0]), np.array([nats(weight) for weight in (1.0, 2.0, 3.0, 4.0)])
    found = noisy_histograms(values, weights, np.array([2, 0, 2]), [8.0, 1.0, 0.0], Quiet())
    alone = [
        noisy_histograms(values[a:b], weights[a:b], np.array([b - a]), [at], Quiet())[0]
        for a, b, at in ((0, 2, 8.0), (2, 2, 1.0), (2, 4, 0.0))
    ]
    for ours, theirs in zip(found, alone, strict=True):
        assert {name: np.array(part).tolist() for name, part in vars(ours).items()} == {
            name: np.array(part).tolist() for name, part in vars(theirs).items()
        }
    assert found[0].below.sum() == 2.0
    assert found[2].missing == 3.0


# --- the sums, with far cells --------------------------------------------------------------------------------------

MIDDLE, HALF = 1.0, 2.0


def at(place: float) -> float:
    """The value so many half widths from the middle of the clip."""
    return MIDDLE + HALF * place


LAST = FAR_EDGES[-1] / STEPS  # in half widths: where the last cell of far values ends
INSIDE = [-1.0, -0.6, 0.0, 2.0**-30, 0.25, 1.0, -1.2, 2.82]
BEYOND_CLIP = [-2.83, 3.0, 4.0, -4.001, 5.9, -1e3, 0.99 * LAST, -LAST, 2 * LAST, 1e300, -1e300]
VALUES = [*map(at, INSIDE), *map(at, BEYOND_CLIP), FAR, -FAR, MISSING]


def any_plan(model: Model, share: Fraction = USED["whole"], bounds: Bounds = UNKNOWN, cap: float = 50.0) -> Plan:
    return fixed_plan(model, "any", share=share, bounds=bounds, weight_cap=cap)


def sums_law(present: Sequence[Person], plan: Plan) -> Law:
    located = group_at(plan, Location(MIDDLE, half=HALF))
    with everything_released():
        return law(lambda r: average.average(source_of(present), [located], r), released=True)


def sums_losses(plan: Plan, budget: float = 4.0) -> dict[float, float]:
    """What a record of each value costs that joins all others."""
    people: list[Person] = [(value, budget) for value in VALUES]
    whole_law = sums_law(people, plan)
    return {person[0]: loss(whole_law, sums_law([p for p in people if p is not person], plan)) for person in people}


def documented_cost(value: float, model: Model, bounds: Bounds) -> float:
    """The part of its weight that a record costs, as release/squares.py has it; far values by their cells."""
    z = (value - MIDDLE) / HALF
    if math.isnan(z):
        return 1.0
    lowest, highest = ((bound - MIDDLE) / HALF for bound in bounds)
    z = min(max(z, lowest), highest)
    if abs(z) > 2 * math.sqrt(2):
        cell_end = next((end for end in FAR_EDGES if abs(z) * STEPS < end), FAR_EDGES[-1]) / STEPS
        return min(abs(z) / cell_end, 1.0)
    z = min(max(z, -1.0), 1.0)
    return 1.0 if model is UNBOUNDED else abs(z) + (1 - z * z) / 2


AT_AN_END = {
    "no bound": UNKNOWN,
    "low": Bounds(at(-1.0), math.inf),
    "high": Bounds(-math.inf, at(1.0)),
    "not far": Bounds(at(-2.5), at(2.5)),
    "far": Bounds(at(-3.5), at(30.0)),
}


@each_share
@both_models
@pytest.mark.parametrize("bounds", AT_AN_END.values(), ids=AT_AN_END)
def test_every_value_costs_what_the_proof_says(bounds: Bounds, model: Model, share: Fraction) -> None:
    """And never more than its share; values beyond a bound cost what the bound does."""
    plan = any_plan(model, share, bounds)
    allowed = float(plan.shares["sum"]) * float(model.allowances(np.array([4.0]))[0])
    for value, spent in sums_losses(plan).items():
        assert spent <= allowed + EXACT
        assert spent == pytest.approx(documented_cost(value, model, bounds) * allowed, rel=1e-5)


@both_models
def test_a_capped_record_costs_the_cap(model: Model) -> None:
    losses = sums_losses(any_plan(model, cap=0.25))
    assert max(losses.values()) == pytest.approx(0.25, rel=1e-6)
    assert losses[FAR] == losses[MISSING] == max(losses.values())


@both_models
def test_the_compiled_loops_cost_the_same(model: Model) -> None:
    plain = sums_losses(any_plan(model))
    with compiled():
        assert sums_losses(any_plan(model)) == plain


EXACT_SUMS_OF = ExactSums.of


def counted_as(change: Callable[[ExactSums], ExactSums]) -> Patch:
    """Sums that are changed before they get noise."""
    return (ExactSums, "of", lambda row: change(EXACT_SUMS_OF(row)))


def far_in_spread(sums: ExactSums) -> ExactSums:
    """Far values as if at the middle, too: they add to V, and to F0, F1 and F2."""
    return sums._replace(counted=sums.counted + sums.far_weight)


def far_in_sum(sums: ExactSums) -> ExactSums:
    """Far values as if at the upper end, too."""
    far = sums.far_weight
    return sums._replace(counted=sums.counted + far, values=sums.values + far * STEPS, extra=sums.extra + far * STEPS)


def missing_in_spread(sums: ExactSums) -> ExactSums:
    return sums._replace(counted=sums.counted + sums.missing)


def far_in_two_cells(sums: ExactSums) -> ExactSums:
    return sums._replace(far=tuple(map(sum, zip(sums.far, (0, *sums.far), strict=False))))


def far_doubled(sums: ExactSums) -> ExactSums:
    """Far parts up to twice what noise is for."""
    return sums._replace(far=tuple(2 * number for number in sums.far))


def far_bits(plan: Plan) -> int:
    return STEP_BITS + RELEASES["any"].clip(plan, Location(0.0, half=1.0)).shift


COUNTING_BUGS: dict[str, tuple[Callable[[ExactSums], ExactSums], float, float]] = {
    "a far value in the spread as well": (far_in_spread, FAR, 1.45),
    "a far value in the sum as well": (far_in_sum, FAR, 1.95),
    "a missing value in the spread as well": (missing_in_spread, MISSING, 1.45),
    "a far value in two cells": (far_in_two_cells, -FAR, 1.95),
    "far parts above one": (far_doubled, FAR, 1.95),
}


@both_models
@pytest.mark.parametrize("bug", COUNTING_BUGS)
def test_what_is_counted_twice_is_caught(bug: str, model: Model) -> None:
    change, value, times = COUNTING_BUGS[bug]
    plan = any_plan(model, cap=1.0)
    assert sums_losses(plan)[value] <= 1 + EXACT
    with patched(counted_as(change)):
        assert sums_losses(plan)[value] >= times


@both_models
@pytest.mark.parametrize(("factor", "times"), [(0.7, 1.4), (0.0, math.inf)])
def test_far_cells_with_too_little_noise_or_none_are_caught(factor: float, times: float, model: Model) -> None:
    plan = any_plan(model, cap=1.0)
    with patched(cell_noise_at(factor, far_bits(plan))):
        assert sums_losses(plan)[FAR] >= times


@both_models
def test_noise_that_two_far_cells_share_is_caught(model: Model) -> None:
    with patched((Enumerator, "add_laplace_to_each", shared_noise)):
        assert sums_losses(any_plan(model))[FAR] == math.inf


NUMBERS = [(BOUNDED, "sum"), (BOUNDED, "extra"), (BOUNDED, "missing"), (UNBOUNDED, "parts"), (UNBOUNDED, "missing")]


@pytest.mark.parametrize(("model", "name"), NUMBERS, ids=[f"{model.name} {name}" for model, name in NUMBERS])
@pytest.mark.parametrize(("factor", "least"), [(0.7, 1.03), (0.0, math.inf)])
def test_a_sum_with_too_little_noise_or_none_is_caught(model: Model, name: str, factor: float, least: float) -> None:
    plan = any_plan(model, cap=1.0)
    with patched(noise_at(plan, name, factor)):
        assert max(sums_losses(plan).values()) >= least


def test_a_spread_at_too_large_a_part_is_caught() -> None:
    with patched((SquareClip, "slack", Fraction(1))):
        assert max(sums_losses(any_plan(BOUNDED, cap=1.0)).values()) > 1.2


# --- what is summed ---------------------------------------------------------------------------------------------------


@both_models
def test_a_record_is_inside_or_missing_or_in_one_far_cell(model: Model) -> None:
    clip = clip_of(model, Fraction(1, 2), 5.0, MIDDLE, HALF, None, far=True)
    for value in VALUES:
        sums = exact_sums(clip, [value], [3.0])
        assert sum(number > 0 for number in (sums.counted, sums.missing, sums.far_weight)) == 1
        assert (sums.counted == 0) <= (sums.values == sums.extra == 0)
        is_far = abs(value - MIDDLE) > 2 * math.sqrt(2) * HALF
        assert (sums.far_weight > 0) == (sum(number > 0 for number in sums.far) == 1) == is_far
        assert all(0 <= number <= sums.far_weight * STEPS for number in sums.far)
        assert sums.total_weight == exact_sums(clip, [MIDDLE], [3.0]).counted


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_far_value_is_in_the_documented_cell(sign: int) -> None:
    """At every edge and next to it: cells end where FAR_EDGES say, and what reaches an end is in the next one."""
    clip = clip_of(BOUNDED, Fraction(1), 1.0, 0.0, float(STEPS), None, far=True)  # values are steps
    weight = exact_sums(clip, [0.0], [2.0]).counted
    assert exact_sums(clip, [sign * FAR_FROM], [2.0]).far_weight == 0
    edges = (math.nextafter(FAR_FROM, 2 * FAR_FROM), *FAR_EDGES)
    for cell in range(FAR_CELLS):
        for step in (edges[cell], math.nextafter(edges[cell + 1], 0.0)):
            far = exact_sums(clip, [sign * step], [2.0]).far
            part = round(step / edges[cell + 1] * STEPS)
            assert [*map(bool, far)].index(True) == cell + FAR_CELLS * (sign > 0)
            assert sum(far) == weight * part
            assert 0.7 * STEPS < part <= STEPS
    for step in (edges[-1], 1e300, FAR):
        assert exact_sums(clip, [sign * step], [2.0]).far[FAR_CELLS - 1 + FAR_CELLS * (sign > 0)] == weight * STEPS


def test_what_is_released_is_in_nats() -> None:
    people: list[Person] = [(at(0.5), 2.0), (at(-1.0), 4.0), (MISSING, 1.0), (at(4.0), 3.0), (-FAR, 6.0)]
    for model in MODELS.values():
        plan = any_plan(model)
        of_one = float(plan.shares["sum"]) / model.budget_per_allowance
        (group,) = average.average(source_of(people), [group_at(plan, Location(MIDDLE, half=HALF))], Quiet())
        found = group.averaged
        allowed = [min(budget, 4.0) if model is UNBOUNDED else budget for _, budget in people]
        half, low, missing, four, infinite = (of_one * budget for budget in allowed)
        assert isinstance(found, PublicTotalSums if model is BOUNDED else PrivateTotalSums)
        if isinstance(found, PublicTotalSums):
            weight = half + low + missing + four + infinite
            numbers = found.values, found.weight_less_squares, found.total_weight
            assert numbers == pytest.approx((0.5 * half - low, 0.75 * half, weight), abs=1e-5)
        else:
            numbers = found.low, found.middle, found.high
            assert numbers == pytest.approx((low + half / 16, half * 6 / 16, half * 9 / 16), abs=1e-5)
        assert found.missing == pytest.approx(missing, abs=1e-5)
        assert found.below == pytest.approx([*[0.0] * (FAR_CELLS - 1), infinite], abs=1e-5)
        cell = next(index for index, end in enumerate(FAR_EDGES) if end > 4 * STEPS)
        assert found.above[cell] == pytest.approx(four * 4 * STEPS / FAR_EDGES[cell], abs=1e-5)
        assert sum(found.above) == pytest.approx(found.above[cell])


BOUND_OF_CLIP = {
    "unknown": math.inf,
    "at its end": 1.0,
    "rounded": 1 - 2.0**-50,
    "beyond": 1.5,
    "nearly far": 2.82,
    "far": 2.83,
    "far out": 40.0,
}


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "grouped"])
@pytest.mark.parametrize("bound", BOUND_OF_CLIP.values(), ids=BOUND_OF_CLIP)
@pytest.mark.parametrize("side", [-1, 1], ids=["below", "above"])
def test_values_beyond_a_bound_count_as_the_bound(side: int, bound: float, grouped: bool, engine: str) -> None:
    """Exactly: in the clipped sum if the bound is not far from the middle, and otherwise in its far cell."""
    bounds = Bounds(at(-bound), math.inf) if side < 0 else Bounds(-math.inf, at(bound))
    clip = FarClip(BOUNDED, Fraction(1), 1.0, MIDDLE, HALF, bounds)

    summing = average.summing_of([clip], grouped=grouped)

    def added_by(value: float) -> ExactSums:
        record = batch_of([value], [2.0], [0] if grouped else None)
        with compiled() if engine == "compiled" else nullcontext():
            return ExactSums.of(table_of(summing, record)[0].tolist())

    at_bound = added_by(at(side * min(bound, 1e6)))
    assert (at_bound.far_weight > 0) == (bound > 2 * math.sqrt(2))
    for farther in (1.2, 2.0, 2.9, 1e3, math.inf):
        if farther > bound:
            assert added_by(at(side * farther)) == at_bound
    assert added_by(at(-side * 50.0)).far_weight > 0


# --- all of estimate_mean ------------------------------------------------------------------------------------------

CLIPS = {
    "around": CLIP,
    "narrow": (0.99, 1.01),
    "wide": (-1e300, 1e300),
    "beside": (2.0, 3.0),
    "at both bounds": (-0.5, 4.0),  # of the populations between two
}
each_clip = pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS)
FROM_ZERO = Bounds(0.0, math.inf)
EITHER_WAY = {
    "no bound": UNKNOWN,
    "from 0": FROM_ZERO,
    "up to 2": Bounds(-math.inf, 2.0),
    "between": Bounds(-0.5, 4.0),  # the clip may end at one of them
    "between, around a centre": AroundACentre(-0.5, 4.0),
}
each_bounds = pytest.mark.parametrize("bounds", EITHER_WAY.values(), ids=EITHER_WAY)

MIXED: list[Person] = [(1.0, 2.0), (FAR, 1.5), (0.3, 0.5), (MISSING, math.inf), (-40.0, 3.0)]
GRANTED = [2.0, 1.5, 0.0, 4.0, 3.0]  # below the range: left out; above it: its upper end


def joining_losses(
    people: list[Person], plan: Plan, *planted: Patch, centers: Lattice = CENTERS, clip: tuple[float, float] = CLIP
) -> list[float]:
    """Losses in the unbounded model, over every subset of `people`."""

    def release(present: tuple[Person, ...]) -> Law:
        return law(lambda r: estimate_of(present, plan, r), released=True)

    with whole([plan], centers, SPREADS, *planted, clip=clip):
        losses = removal_losses(release, people)
    return [losses[person] for person in people]


def estimate_of(present: Sequence[Person], plan: Plan, randomness: Randomness) -> Any:
    values, budgets = [value for value, _ in present], [budget for _, budget in present]
    return estimate.estimate_mean(values, budgets, **options_of(plan), randomness=randomness)


def replacing_losses(
    budgets: list[float],
    domain: list[float],
    plan: Plan,
    *planted: Patch,
    centers: Lattice = CENTERS,
    clip: tuple[float, float] = CLIP,
) -> list[float]:
    """Losses in the bounded model, over every data set from `domain`."""

    def release(values: tuple[float, ...]) -> Law:
        return law(lambda r: estimate_of(list(zip(values, budgets, strict=True)), plan, r), released=True)

    with whole([plan], centers, SPREADS, *planted, clip=clip):
        return replacement_losses(release, domain, len(budgets))


@each_clip
@each_bounds
def test_unbounded_over_everyone_who_may_join_or_leave(bounds: Bounds, clip: tuple[float, float]) -> None:
    losses = joining_losses(MIXED, any_plan(UNBOUNDED, bounds=bounds), clip=clip)
    assert all(spent <= granted + EXACT for spent, granted in zip(losses, GRANTED, strict=True))
    assert losses[2] == 0
    assert all(spent >= 0.5 * granted for spent, granted in zip(losses, GRANTED, strict=True) if granted < 4)


@each_clip
@each_bounds
def test_bounded_on_every_small_data_set(bounds: Bounds, clip: tuple[float, float]) -> None:
    budgets = [0.0, 1.5, 3.0]
    domain = [-FAR, 1.0, 2.4, MISSING]
    losses = replacing_losses(budgets, domain, any_plan(BOUNDED, bounds=bounds), clip=clip)
    assert all(0.5 * budget <= spent <= budget + EXACT for spent, budget in zip(losses, budgets, strict=True))
    assert losses[0] == 0


@pytest.mark.parametrize("share", [share for share in USED.values() if share < 1])
@each_bounds
def test_a_share_of_every_budget(bounds: Bounds, share: Fraction) -> None:
    unbounded = joining_losses(MIXED[:2], any_plan(UNBOUNDED, share, bounds))
    bounded = replacing_losses([2.0, 1.5], [-FAR, 1.0, MISSING], any_plan(BOUNDED, share, bounds))
    for spent, granted in zip([*unbounded, *bounded], [2.0, 1.5] * 2, strict=True):
        assert 0.5 * share * granted <= spent <= share * granted + EXACT


@both_models
def test_where_few_are_located(model: Model) -> None:
    """Whoever is dropped by a coin is in no cell; the others' weights are raised."""
    plan = replace(any_plan(model), keep_density=0.5)
    if model is UNBOUNDED:
        losses, granted = joining_losses([*MIXED[:2], MIXED[4]], plan), [2.0, 1.5, 3.0]
    else:
        granted = [1.5, 3.0]
        losses = replacing_losses(granted, [-FAR, 1.0, MISSING], plan)
    assert all(0.5 * may <= spent <= may + EXACT for spent, may in zip(losses, granted, strict=True))


SEVERE: list[Person] = [(1.0, 1.5), (FAR, 1.5)]


def severe_loss(*planted: Patch, share: Fraction = USED["whole"], bounds: Bounds = UNKNOWN) -> float:
    """The loss of the far record: in every step at once it moves the worst way."""
    plan = any_plan(UNBOUNDED, share, bounds)
    plan = replace(plan, weight_cap=1.5 * float(plan.shares["sum"]))  # at the cap, squares cost the most
    return joining_losses(SEVERE, plan, *planted, centers=SEVERE_CENTERS)[1]


@each_share
@pytest.mark.parametrize("bounds", [UNKNOWN, FROM_ZERO], ids=["no bound", "from 0"])
def test_a_whole_budget_is_spent_and_no_more(bounds: Bounds, share: Fraction) -> None:
    """Census, squares, centre, histogram and sums add up: composition is tight; nothing less would do."""
    assert 0.98 * share * 1.5 <= severe_loss(share=share, bounds=bounds) <= share * 1.5 + EXACT


def at_twice_the_share(values: Any, weights: Any, *others: Any) -> Any:
    return noisy_histograms(values, 2 * weights, *others)


WHOLE_BUGS: dict[str, Patch] = {
    "histogram weights at twice the share": (any_shape, "noisy_histograms", at_twice_the_share),
    "histogram noise at 0.7 of its scale": cell_noise_at(0.7, WEIGHT_BITS),
    "a record in two cells": (Enumerator, "add_laplace_to_each", in_two_cells),
    "noise that two cells share": (Enumerator, "add_laplace_to_each", shared_noise),
    "a far value in the sums as well": counted_as(far_in_spread),
}


@pytest.mark.parametrize("bug", WHOLE_BUGS)
@pytest.mark.parametrize("bounds", [UNKNOWN, FROM_ZERO], ids=["no bound", "from 0"])
def test_planted_bug_is_caught(bug: str, bounds: Bounds) -> None:
    assert severe_loss(WHOLE_BUGS[bug], bounds=bounds) > 1.5 + 0.1


@pytest.mark.parametrize("name", ["parts", "missing"])
def test_a_number_without_noise_is_caught_in_the_whole(name: str) -> None:
    plan = any_plan(UNBOUNDED)
    people: list[Person] = [(1.0, 1.5), (MISSING, 1.5)]
    assert max(joining_losses(people, plan, noise_at(plan, name, 0.0))) == math.inf


@pytest.mark.parametrize("name", ["sum", "extra", "missing"])
def test_a_number_without_noise_is_caught_in_the_whole_where_the_total_is_public(name: str) -> None:
    plan = any_plan(BOUNDED)
    assert max(replacing_losses([1.5, 2.0], [1.0, 0.2, MISSING], plan, noise_at(plan, name, 0.0))) == math.inf


def test_a_clip_that_follows_the_values_is_caught() -> None:
    """As if the largest value that is there ended it: it is read off the records, and not off noisy cells."""

    def largest(readings: list[Any], *_: Any) -> list[tuple[float, float]]:
        return [(-0.5, 1.5 + max(seen))] * len(readings)

    seen = [0.0]

    def peeking(values: Any, *others: Any) -> Any:
        seen[:] = [0.0, *values[np.isfinite(values)].tolist()]
        return noisy_histograms(values, *others)

    bug: list[Patch] = [(any_shape, "noisy_histograms", peeking), (any_shape, "choose_clips", largest)]
    people: list[Person] = [(1.0, 1.5), (40.0, 1.5), (1.2, 4.0)]
    assert max(joining_losses(people[:2], any_plan(UNBOUNDED))) <= 1.5 + EXACT
    assert joining_losses(people, any_plan(UNBOUNDED), *bug)[1] > 1.5 + 0.5
