"""Every step of `estimate_mean`, and all together, enumerated: no loss exceeds a budget, planted bugs are caught.

The code that runs is the shipped code; `exact.enumeration` stands in for its randomness. Lattices have a few keys, and
the plan is fixed, or the paths could not all be visited. Populations here are bells; test_any_shape.py has the others.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from located import private_median
from rules import cell_counts_of, group_at, holders, thinning_of

from exact.enumeration import Law, collapsed, law, loss, removal_losses, replacement_losses
from exact.pipeline import (
    CENTERS,
    EXACT,
    FAR,
    MISSING,
    NARROW,
    SEVERE_CENTERS,
    SEVERE_SPREADS,
    SPREADS,
    UNBOUNDED,
    USED,
    Patch,
    Person,
    doubled,
    each_share,
    each_share_below_1,
    everything_released,
    fixed_plan,
    noise_at,
    only,
    options_of,
    patched,
    source_of,
    whole,
)
from pdpmean import estimate
from pdpmean.core.choices import floor_share
from pdpmean.core.integers import weights_of
from pdpmean.core.model import BOUNDED, Model
from pdpmean.core.options import Options
from pdpmean.core.types import Floats
from pdpmean.core.weights import WEIGHT_UNIT
from pdpmean.laws import lattice as lattices
from pdpmean.laws.clipped_normal import MEDIAN_SIZE
from pdpmean.laws.lattice import Lattice, double_of, keys_of
from pdpmean.passes import reserve, summing
from pdpmean.passes import thinning as diffusion
from pdpmean.passes.batch import Batch
from pdpmean.passes.cells import CellCounts
from pdpmean.passes.thinning import Thinning
from pdpmean.planning.plan import Plan
from pdpmean.planning.prediction import NEAR
from pdpmean.planning.released import Location
from pdpmean.randomness import Randomness, laplace_scale
from pdpmean.release import average, census, gaussian, locate
from pdpmean.release import weight_squares as squares
from pdpmean.release.gaussian import TentClip
from pdpmean.release.locate import locate_kept
from pdpmean.release.private_median import integer_weights


def cell_counts(present: Sequence[Person], model: Model) -> CellCounts:
    return cell_counts_of(np.array([budget for _, budget in present]), model)


# --- census -------------------------------------------------------------------------------------------------

WIDE = Model("unbounded", (1.0, 16.0))  # two buckets
CENSUS_SHARE = Fraction(1, 16)
HOLDERS: list[Person] = [(0.0, budget) for budget in (0.5, 1.0, 3.9, 4.0, 16.0, math.inf, MISSING)]
ALLOWED = [0.0, 1.0, 3.9, 4.0, 16.0, 16.0, 0.0]


def census_losses(share: Fraction = USED["whole"]) -> list[float]:
    def counts(present: tuple[Person, ...]) -> Law:
        options = Options(WIDE, share=share)
        return law(lambda r: census.take_census([cell_counts(present, WIDE)], options, r), released=True)

    losses = removal_losses(counts, HOLDERS)
    return [losses[person] for person in HOLDERS]


@each_share
def test_census_attains_its_share_and_no_more(share: Fraction) -> None:
    part = float(floor_share(CENSUS_SHARE * share))
    for spent, allowed in zip(census_losses(share), ALLOWED, strict=True):
        # An allowance is rounded down to its cell, one of 64 an octave.
        assert (1 - 1 / 64) * allowed * part - EXACT <= spent <= allowed * part + EXACT


def test_census_noise_of_one_unit_too_few_is_caught() -> None:
    coarse: Patch = (census, "_SUM_BITS", 8)  # 8 units a nat, so that one of them is seen
    with patched(coarse):
        assert all(spent <= allowed / 16 + EXACT for spent, allowed in zip(census_losses(), ALLOWED, strict=True))
    with patched(coarse, (census, "laplace_scale", lambda size, share: laplace_scale(size - 1, share))):
        assert any(spent > 1.1 * allowed / 16 for spent, allowed in zip(census_losses(), ALLOWED, strict=True))


# --- the squares of the weights -----------------------------------------------------------------------------


def squares_losses(plan: Plan) -> list[float]:
    def release(present: tuple[Person, ...]) -> Law:
        return law(lambda r: squares.noisy_squares(cell_counts(present, WIDE), plan, r), released=True)

    losses = removal_losses(release, HOLDERS)
    return [losses[person] for person in HOLDERS]


@each_share
@pytest.mark.parametrize("weight_cap", [1.0, 50.0])
def test_squares_of_weights_attain_their_share_and_no_more(weight_cap: float, share: Fraction) -> None:
    """Whoever is at the cap pays for the cap, and others in proportion to the square of their weight."""
    plan = fixed_plan(WIDE, weight_cap=weight_cap, share=share)
    of_squares, of_sum = (float(plan.shares[name]) for name in ("weight_squares", "sum"))
    cap = min(weight_cap, 16 * of_sum)  # nobody grants more than 16
    for spent, allowed in zip(squares_losses(plan), ALLOWED, strict=True):
        weight = min(allowed * of_sum, cap)
        most = weight**2 / cap * of_squares / of_sum
        assert spent <= allowed * of_squares + EXACT
        assert (1 - 1 / 32) * most - EXACT <= spent <= most + EXACT


SQUARES_BUGS: dict[str, tuple[float, Patch]] = {
    "noise at half its scale": (50.0, (census, "laplace_scale", lambda size, share: laplace_scale(size, share) / 2)),
    "noise for the share of the sum": (50.0, (census, "laplace_scale", lambda size, _: laplace_scale(size, 1))),
    "weights at twice the share": (0.5, (squares, "round_down", lambda share: 2 * share)),
}


@pytest.mark.parametrize("bug", SQUARES_BUGS)
def test_a_bug_in_the_squares_of_weights_is_caught(bug: str) -> None:
    weight_cap, planted = SQUARES_BUGS[bug]
    with patched(planted):
        losses = squares_losses(fixed_plan(WIDE, weight_cap=weight_cap))
    assert any(spent > 1.9 * allowed / 16 for spent, allowed in zip(losses, ALLOWED, strict=True) if allowed)


# --- diffusion ----------------------------------------------------------------------------------------------

BUDGETS = [0.4, 1.0, 2.5, 6.0]


def thinned_losses(thinning: Thinning) -> dict[Person, float]:
    """Losses of randomized response, at each record's kept weight, on who was kept: it attains every weight."""
    people = [(float(record), budget) for record, budget in enumerate(BUDGETS)]
    kept_weights = thinning.kept_weights(holders(BUDGETS))
    odds = np.exp(kept_weights)

    def answers(present: tuple[Person, ...]) -> Law:
        def mechanism(randomness: Any) -> tuple[bool, ...]:
            kept = source_of(present).sample(thinning, randomness)
            assert (thinning.kept_weights(kept) == kept_weights[kept.values.astype(int)]).all()
            seen = [float(record) in kept.values for record in range(len(BUDGETS))]
            return tuple(
                randomness.heads(odd / (1 + odd) if yes else 1 / (1 + odd))
                for yes, odd in zip(seen, odds.tolist(), strict=True)
            )

        return law(mechanism)

    return removal_losses(answers, people)


@pytest.mark.parametrize("model", [BOUNDED, Model("unbounded", (0.1, 8.0))], ids=["bounded", "unbounded"])
def test_thinning_costs_each_weight_to_the_last_bit(model: Model) -> None:
    """With coins that keep 10 %, some, and all of the records, beyond the cap and below it."""
    thinning = thinning_of(model, Fraction(1, 2), cap=2.0, density=0.9)
    weights = thinning.weights(np.array(BUDGETS))
    rates = thinning.rates(weights)
    assert rates[0] < 0.2
    assert rates[-1] == 1.0
    assert (thinning.kept_weights(holders(BUDGETS)) >= weights).all()
    for (_, budget), spent in thinned_losses(thinning).items():
        allowed = min(float(model.allowances(np.array([budget]))[0]) / 2, 2.0)
        assert allowed * (1 - 1e-6) <= spent <= allowed + EXACT


def test_what_the_sum_leaves_is_located_with_to_the_last_bit() -> None:
    """Beyond 4, where half of half a budget reaches the cap of 1, another half is left."""
    thinning = thinning_of(BOUNDED, Fraction(1, 4), cap=2.0, density=0.9, sum_share=Fraction(1, 2), spared_from=1.0)
    for (_, budget), spent in thinned_losses(thinning).items():
        allowed = budget / 8 + max(budget / 4 - 1, 0.0)
        assert allowed * (1 - 1e-6) <= spent <= allowed + EXACT


def test_thinning_keeps_nobody_who_grants_nothing() -> None:
    thinning = thinning_of(BOUNDED, Fraction(1, 2), cap=2.0, density=1e9)
    kept = law(lambda r: thinning.keep(holders([0.0, 1.0, math.inf]), r))
    assert [outcome.tolist() for outcome, _ in kept.items()] == [[1, 2]]


# --- a reserve, set aside before the rates are known -----------------------------------------------------------

ROOM: Patch = (reserve, "_ROOM", 2)  # of the four: each is set aside with probability 1/2


def from_reserve(present: Batch, rule: Thinning, randomness: Any) -> list[float]:
    """Who is kept of two batches, by their budgets."""
    some = reserve.Reserve(randomness, None, None)
    for where in (np.arange(2), np.arange(2, present.budgets.size)):
        some.hold(some.work()(present.at(where)))
    kept = some.sample(rule, randomness)
    assert kept is not None, "a rule that keeps too many"
    return sorted(kept.budgets.tolist())


def distance(ours: Law, theirs: Law) -> float:
    """By how much the probability of any set of outcomes differs."""
    first, second = ({tuple(outcome): chance for outcome, chance in law.items()} for law in (ours, theirs))
    return sum(abs(first.get(who, 0.0) - second.get(who, 0.0)) for who in first | second) / 2


def reserve_distance(density: float, *planted: Patch) -> float:
    """How far a sample of a reserve is from one of all."""
    rule, people = thinning_of(BOUNDED, Fraction(1, 2), cap=2.0, density=density), holders(BUDGETS)
    with patched(ROOM, *planted):
        ours = law(lambda r: from_reserve(people, rule, r))
    theirs = law(lambda r: sorted(people.budgets[rule.keep(people, r)].tolist()))
    return distance(ours, theirs)


@pytest.mark.parametrize("density", [0.0, 1e-3, 0.1, 0.25])
def test_a_sample_of_a_reserve_has_the_law_of_one_of_all(density: float) -> None:
    assert reserve_distance(density) < 1e-12


def test_a_reserve_has_nothing_for_a_rule_that_keeps_more_often() -> None:
    with pytest.raises(AssertionError, match="keeps too many"):
        reserve_distance(0.26)


def tossed_anew(self: Thinning, *known: Any) -> Any:
    """As if nobody had been left out before."""
    rule = self.at(None)
    return known[-1].coins(rule.rates(rule.weights(known[0])))


RESERVE_BUGS: dict[str, list[Patch]] = {
    "coins tossed anew": [(Thinning, "decide", tossed_anew)],
    "half of the reserve": [(reserve, "_ALL", 2**15)],
    "rules that keep too many": [(Thinning, "largest", 0.0), (reserve, "_ROOM", 1)],
}


@pytest.mark.parametrize("bug", RESERVE_BUGS)
def test_a_bug_in_the_reserve_is_caught(bug: str) -> None:
    assert reserve_distance(0.25, *RESERVE_BUGS[bug]) > 0.01


def raised_too_far(self: Thinning, batch: Batch) -> Floats:
    """Divided by the square of the rate instead of the rate."""
    rule = self.at(batch.groups)
    weights = rule.weights(batch.budgets)
    return np.log1p(np.expm1(weights) / rule.rates(weights) ** 2)


def test_a_kept_weight_raised_too_far_is_caught() -> None:
    with patched((Thinning, "kept_weights", raised_too_far)):
        losses = thinned_losses(thinning_of(BOUNDED, Fraction(1, 2), cap=2.0, density=0.9))
    assert all(spent > 1.2 * budget / 4 for (_, budget), spent in losses.items() if budget < 4)


# --- the private median -------------------------------------------------------------------------------------

ONE = int(keys_of(np.array([1.0]))[0])
DOZEN = Lattice((ONE - 4, ONE - 1, ONE + 3, ONE + 8), (1, 4, 2))  # 12 neighbouring doubles, some preferred
Placed = tuple[float, int]  # value, weight in units of 2**-30 nats


def median_law(placed: Sequence[Placed], lattice: Lattice, grain: int = 1) -> Law:
    values = np.array([value for value, _ in placed], dtype=np.float64)
    weights = np.array([weight for _, weight in placed], dtype=np.int64)
    return law(lambda r: private_median(values, weights, lattice, r, grain=grain))


def documented_law(placed: Sequence[Placed], lattice: Lattice, grain: int) -> dict[float, float]:
    """What `private_medians` says of itself, one key after the other."""
    present = [(int(keys_of(np.array([value]))[0]) // grain, weight) for value, weight in placed if value == value]
    everyone = sum(weight for _, weight in present)
    masses = {}
    for key in range(lattice.starts[0], lattice.starts[-1]):
        below = sum(weight for cell, weight in present if cell < key // grain)
        above = sum(weight for cell, weight in present if cell > key // grain)
        excess = max(0, 2 * max(below, above) - everyone) / WEIGHT_UNIT
        masses[double_of(key)] = (lattice.below(key + 1) - lattice.below(key)) * math.exp(-excess / 2)
    total = math.fsum(masses.values())
    return {value: mass / total for value, mass in masses.items()}


def near_one(steps: int) -> float:
    return 1.0 + steps * 2.0**-53 if steps < 0 else 1.0 + steps * 2.0**-52


def nats(weight: float) -> int:
    return round(weight * WEIGHT_UNIT)


PLACES = [near_one(-4), near_one(0), near_one(2), near_one(7), 0.5, 9.0, FAR, -FAR, MISSING, -0.0]
GRAINS = [1, 2, 3, 8, 64]  # up to a cell wider than the lattice


@pytest.mark.parametrize("grain", GRAINS)
@pytest.mark.parametrize("everyone_at", [None, 0], ids=["spread out", "tied"])
def test_private_median_on_every_small_data_set(everyone_at: int | None, grain: int) -> None:
    """Values on the lattice, at its ends, outside, infinite and missing; with three others apart or tied."""
    others = [(near_one(steps if everyone_at is None else everyone_at), nats(0.7)) for steps in (-2, 0, 5)]
    worst = 0.0
    with collapsed():
        for size in range(len(others) + 1):
            without = median_law(others[:size], DOZEN, grain)
            assert without.total() == pytest.approx(1.0, abs=1e-12)
            for place, weight in itertools.product(PLACES, [0.1, 1.3]):
                spent = loss(without, median_law([*others[:size], (place, nats(weight))], DOZEN, grain))
                assert spent <= weight + EXACT
                assert spent == 0 or not math.isnan(place)
                worst = max(worst, spent / weight)
    # Where one cell holds the whole lattice nobody tells anything.
    assert worst > 0.4 or (grain == 64 and worst < EXACT)


@pytest.mark.parametrize("grain", GRAINS)
def test_private_median_has_the_documented_law(grain: int) -> None:
    """Ties in the cell of y are on neither side, and missing values nowhere."""
    crowd = [(near_one(steps), nats(0.4 + 0.3 * steps**2)) for steps in (-2, 0, 0, 1, 5)]
    crowds = [[], crowd[:2], crowd, [*crowd, *((place, nats(0.6)) for place in PLACES)], [(near_one(2), nats(9.0))] * 3]
    with collapsed():
        for placed in crowds:
            found = dict(median_law(placed, DOZEN, grain).items())
            assert found == pytest.approx(documented_law(placed, DOZEN, grain), rel=1e-8)


def test_private_median_prefers_round_numbers_as_documented() -> None:
    """A key in four counts five times here, a key in 2**42 so many times more as shipped; what it costs is the same."""
    others, newcomer = [(near_one(2), nats(1.0)), (near_one(7), nats(0.7))], (near_one(-1), nats(1.3))
    with collapsed(), patched((lattices, "_ROUND", 4), (lattices, "_ZERO", 3)):
        preferring = DOZEN.with_round_numbers()
        assert preferring.total == DOZEN.total + 4 * sum(
            DOZEN.below(key + 1) - DOZEN.below(key) for key in range(ONE - 4, ONE + 8) if key % 4 == 0
        )
        for grain in GRAINS:
            laws = [median_law(placed, preferring, grain) for placed in (others, [*others, newcomer])]
            for found, placed in zip(laws, (others, [*others, newcomer]), strict=True):
                assert dict(found.items()) == pytest.approx(documented_law(placed, preferring, grain), rel=1e-8)
            assert loss(*laws) <= 1.3 + EXACT


def test_private_median_chooses_from_the_lattice_alone() -> None:
    """An empty sample, or one all outside, leaves the lattice's own measure."""
    outside: list[Placed] = [
        (-FAR, nats(1.0)),
        (0.5, nats(1.0)),
        (FAR, nats(1.0)),
        (MISSING, nats(1.0)),
        (9.0, nats(1.0)),
    ]
    with collapsed():
        for placed in ([], outside):
            found = dict(median_law(placed, DOZEN).items())
            assert len(found) == 12
            for value, probability in found.items():
                share = 1 if value < near_one(-1) else 4 if value < near_one(3) else 2
                assert probability == pytest.approx(share / DOZEN.total, rel=1e-9)


@pytest.mark.parametrize("grain", [1, 2**26, 2**40])
@pytest.mark.parametrize("weight", [0.3, 1.0, 2.0])
def test_private_median_attains_its_weight_and_no_more(weight: float, grain: int) -> None:
    """A preferred bulk lies on the wrong side of another record: the newcomer evens a rare key and burdens the bulk."""
    lattice = only({0.0: 800, 1.5: 1})
    other = (1.0, nats(weight))
    with collapsed():
        without, more = (median_law(placed, lattice, grain) for placed in ([other], [other, (FAR, nats(weight))]))
    assert 0.98 * weight <= loss(without, more) <= weight + EXACT


def test_private_median_at_twice_the_weight_is_caught() -> None:
    lattice = only({0.0: 800, 1.5: 1})
    double = [(1.0, nats(2.0)), (FAR, nats(2.0))]
    with collapsed():
        assert loss(median_law(double[:1], lattice), median_law(double, lattice)) > 1.0 + 0.9


def test_a_grain_that_follows_the_values_is_caught() -> None:
    """Cells are public: if whoever joins makes them wider, all that the others lose is on the newcomer."""
    placed = [(near_one(-4), nats(1.0)), (near_one(-3), nats(1.0)), (near_one(0), nats(0.1))]
    with collapsed():
        without = median_law(placed[:2], DOZEN, 1)
        assert loss(without, median_law(placed, DOZEN, 1)) <= 0.1 + EXACT
        assert loss(without, median_law(placed, DOZEN, 64)) > 0.1 + 0.5


# --- the average --------------------------------------------------------------------------------------------

LOCATED = Location(1.0, half=2.0)  # clipped to 1 +- 2
NEARBY = NEAR * MEDIAN_SIZE  # of the clip, for a width of 1: up to there values are near
AVERAGED: list[Person] = [
    *((0.0, 1.0), (FAR, 2.0), (-FAR, 3.3), (MISSING, 2.0), (5.0, math.inf), (1.5, 0.5), (1.25, 2.5)),
    (1.0 - 2.0 * NEARBY * (1 - 1e-6), 3.0),
]
AVERAGED_ALLOWANCES = [1.0, 2.0, 3.3, 2.0, 4.0, 0.0, 2.5, 3.0]


def averaging(plan: Plan) -> float:
    """The share of everything that `average` releases."""
    return float(plan.shares["sum"])


def removed_from_average(plan: Plan) -> list[float]:
    def release(present: tuple[Person, ...]) -> Law:
        return law(lambda r: average.average(source_of(present), [group_at(plan, LOCATED)], r), released=True)

    with everything_released():
        losses = removal_losses(release, AVERAGED)
    return [losses[person] for person in AVERAGED]


def replaced_in_average(plan: Plan, budgets: list[float]) -> list[float]:
    def release(values: tuple[float, ...]) -> Law:
        records = list(zip(values, budgets, strict=True))
        return law(lambda r: average.average(source_of(records), [group_at(plan, LOCATED)], r), released=True)

    with everything_released():
        return replacement_losses(release, [-FAR, 1.0, 2.0, MISSING, FAR], len(budgets))


@each_share
@pytest.mark.parametrize("clip_half_width", [NARROW, 1.0])
def test_average_attains_its_share_and_no_more(clip_half_width: float, share: Fraction) -> None:
    """Taking part costs whoever is clipped exactly what they may; and what else is released costs nobody more."""
    plan = fixed_plan(UNBOUNDED, weight_cap=50.0, clip_half_width=clip_half_width, share=share)
    losses = removed_from_average(plan)
    allowed = [averaging(plan) * allowance for allowance in AVERAGED_ALLOWANCES]
    assert all(spent <= may + EXACT for spent, may in zip(losses, allowed, strict=True))
    assert losses[5] == 0
    for clipped in (1, 2, 4):
        assert losses[clipped] == pytest.approx(allowed[clipped], rel=1e-6)
    assert losses[3] == 0
    near = 0.25 * (1 - NEARBY) if clip_half_width == 1 else 0.0
    assert losses[6] == pytest.approx(2.5 * (0.125 + 0.75 * 0.875 + near) * averaging(plan), rel=1e-6)
    if near:  # whoever is hardly near any more spends all they may
        assert losses[7] == pytest.approx(allowed[7], rel=1e-5)


@each_share
@pytest.mark.parametrize("clip_half_width", [NARROW, 1.0])
def test_average_of_replaced_values_costs_twice_an_allowance(clip_half_width: float, share: Fraction) -> None:
    """From end to end of the clip; what else is released tells nothing of that, and less of going missing."""
    budgets = [0.0, 1.0, 3.0, math.inf]
    plan = fixed_plan(BOUNDED, weight_cap=1.0, clip_half_width=clip_half_width, share=share)
    losses = replaced_in_average(plan, budgets)
    assert losses[0] == 0
    for spent, budget in zip(losses[1:3], budgets[1:3], strict=True):
        assert spent == pytest.approx(float(plan.shares["sum"]) * budget, rel=1e-6)
        assert spent <= averaging(plan) * budget + EXACT
    assert losses[3] == pytest.approx(2.0, rel=1e-6)  # the cap, removed and added


@each_share
def test_average_saturates_within_its_cap(share: Fraction) -> None:
    plan = fixed_plan(UNBOUNDED, weight_cap=0.25, clip_half_width=NARROW, share=share)
    assert max(removed_from_average(plan)) == pytest.approx(0.25, rel=1e-6)


def test_average_noise_at_0_7_of_its_scale_is_caught() -> None:
    plan = fixed_plan(UNBOUNDED, weight_cap=50.0, clip_half_width=NARROW)
    with patched((gaussian, "laplace_scale", lambda size, share: 0.7 * laplace_scale(size, share))):
        assert max(removed_from_average(plan)) > 1.4 * 4.0 * averaging(plan)
        assert replaced_in_average(fixed_plan(BOUNDED), [1.0, 1.0])[0] > 1.4 * 7 / 16


def test_average_weights_at_twice_the_share_are_caught() -> None:
    plan = fixed_plan(UNBOUNDED, clip_half_width=NARROW)
    with patched((summing, "weights_of", doubled(weights_of))):
        assert max(removed_from_average(plan)) > 1.9 * 4.0 * averaging(plan)


def test_a_sum_with_too_little_noise_or_none_is_caught() -> None:
    plan = fixed_plan(UNBOUNDED, weight_cap=50.0)
    with patched(noise_at(plan, "sum", 0.0)):
        assert max(removed_from_average(plan)) == math.inf
    with patched(noise_at(plan, "sum", 0.5)):
        assert max(removed_from_average(plan)) == pytest.approx(2 * 4.0 * averaging(plan), rel=1e-6)


# Whoever is half way out, and whoever is hardly near any more, pays for an extra sum that may cost too much.
@pytest.mark.parametrize(("name", "who"), [("extra", 0), ("near", 7)])
def test_an_extra_sum_with_too_little_noise_or_none_is_caught(name: str, who: int) -> None:
    plan = fixed_plan(UNBOUNDED, weight_cap=50.0)
    with patched(noise_at(plan, name, 0.0)):
        assert max(removed_from_average(plan)) == math.inf
    with patched(noise_at(plan, name, 0.7)):
        assert removed_from_average(plan)[who] > 1.02 * averaging(plan) * AVERAGED_ALLOWANCES[who]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("slack", Fraction(1)),  # nothing left for who is near
        ("near_slack", Fraction(1, 4)),  # all that the tents leave, at the middle of the clip alone
    ],
)
def test_an_extra_sum_at_too_large_a_part_is_caught(name: str, part: Fraction) -> None:
    plan = fixed_plan(UNBOUNDED, weight_cap=50.0)
    with patched((TentClip, name, part)):
        assert removed_from_average(plan)[7] > 1.02 * averaging(plan) * AVERAGED_ALLOWANCES[7]


@pytest.mark.parametrize("name", ["extra", "near"])
def test_an_extra_sum_without_noise_is_caught_where_weights_are_public(name: str) -> None:
    plan = fixed_plan(BOUNDED)
    with patched(noise_at(plan, name, 0.0)):
        assert min(replaced_in_average(plan, [1.0, 1.0])) == math.inf


# --- all of estimate_mean -----------------------------------------------------------------------------------


def joining_losses(
    people: list[Person], plan: Plan, *planted: Patch, centers: Lattice = CENTERS, spreads: Lattice = SPREADS
) -> list[float]:
    """Losses in the unbounded model, over every subset of `people`."""

    def release(present: tuple[Person, ...]) -> Law:
        values, budgets = [value for value, _ in present], [budget for _, budget in present]

        def run(randomness: Randomness) -> object:
            return estimate.estimate_mean(values, budgets, **options_of(plan), randomness=randomness)

        return law(run, released=True)

    with whole([plan], centers, spreads, *planted):
        losses = removal_losses(release, people)
    return [losses[person] for person in people]


def replacing_losses(
    budgets: list[float],
    domain: list[float],
    plan: Plan,
    *planted: Patch,
    centers: Lattice = CENTERS,
    spreads: Lattice = SPREADS,
) -> list[float]:
    """Losses in the bounded model, over every data set from `domain`."""

    def release(values: tuple[float, ...]) -> Law:
        return law(
            lambda r: estimate.estimate_mean(list(values), budgets, **options_of(plan), randomness=r), released=True
        )

    with whole([plan], centers, spreads, *planted):
        return replacement_losses(release, domain, len(budgets))


MIXED: list[Person] = [(1.0, 2.0), (FAR, 1.5), (0.3, 0.5), (MISSING, math.inf)]
GRANTED = [2.0, 1.5, 0.0, 4.0]  # below the range: left out; above it: its upper end


@each_share
@pytest.mark.parametrize("keep_density", [1e9, 0.5], ids=["all", "thinned"])
def test_unbounded_over_everyone_who_may_join_or_leave(keep_density: float, share: Fraction) -> None:
    losses = joining_losses(MIXED, fixed_plan(UNBOUNDED, keep_density=keep_density, share=share))
    assert all(spent <= share * granted + EXACT for spent, granted in zip(losses, GRANTED, strict=True))
    assert losses[2] == 0
    assert losses[0] >= 0.5 * share * GRANTED[0]


@pytest.mark.parametrize("grain", [2, 4])
def test_unbounded_where_cells_hold_several_centres(grain: int) -> None:
    people = [(near_one(0), 2.0), (near_one(1), 1.5), (FAR, 3.0)]
    spreads = only({2.0**-53: 4, 2.0**-52: 1, 3.0: 2})
    cells: list[Patch] = [(Plan, "center_grain", grain), (gaussian, "SPREAD_GRAIN", 2**52)]
    losses = joining_losses(people, fixed_plan(UNBOUNDED), *cells, centers=DOZEN, spreads=spreads)
    assert all(0.3 * budget <= spent <= budget + EXACT for spent, (_, budget) in zip(losses, people, strict=True))


SEVERE: list[Person] = [(1.0, 1.5), (FAR, 1.5)]


def severe_plan(share: Fraction = USED["whole"], *, capped_at: float = 1.0) -> Plan:
    """One whose cap is so much of what the sum may cost those of `SEVERE`: at the cap, squares cost the most."""
    plan = fixed_plan(UNBOUNDED, clip_half_width=NARROW, share=share)
    cap = capped_at * 1.5 * float(plan.shares["sum"])
    return replace(plan, weight_cap=cap, spared_from=cap)


SEVERE_PLAN = severe_plan()


def severe_loss(*planted: Patch, plan: Plan = SEVERE_PLAN) -> float:
    """The loss of the far record: in every step at once it moves the worst way."""
    return joining_losses(SEVERE, plan, *planted, centers=SEVERE_CENTERS, spreads=SEVERE_SPREADS)[1]


@each_share
def test_unbounded_spends_a_whole_budget_and_no_more(share: Fraction) -> None:
    """Census, squares, centre, spread and sum add up: composition is tight; nothing less would do."""
    assert 0.98 * share * 1.5 <= severe_loss(plan=severe_plan(share)) <= share * 1.5 + EXACT


@each_share
def test_what_the_cap_on_the_sum_leaves_is_spent_in_locating_and_only_once(share: Fraction) -> None:
    """Three quarters, and the rest is to be located with; of the squares a quarter is not used, as the cap has it."""
    plan = severe_plan(share, capped_at=3 / 4)
    used = 1.5 * float(share - plan.shares["weight_squares"] / 4)
    assert 0.98 * used <= severe_loss(plan=plan) <= used + EXACT
    in_both: Patch = (diffusion, "locating_weights", lambda a, share, other, _: a * share + a * other)
    assert severe_loss(in_both, plan=plan) > share * (1.5 + 0.1)


@pytest.mark.parametrize("keep_density", [1e9, 0.5], ids=["all", "thinned"])
@pytest.mark.parametrize("budgets", [[0.0, 1.5, math.inf], [1.0, 2.0, 3.0]], ids=["extreme", "plain"])
def test_bounded_on_every_small_data_set(budgets: list[float], keep_density: float) -> None:
    losses = replacing_losses(budgets, [-FAR, 1.0, MISSING, FAR], fixed_plan(BOUNDED, keep_density=keep_density))
    assert all(spent <= budget + EXACT for spent, budget in zip(losses, budgets, strict=True))
    assert all(spent >= 0.5 * budget for spent, budget in zip(losses, budgets, strict=True) if budget < 4)
    assert losses[0] > 0 or budgets[0] == 0


@each_share_below_1
@pytest.mark.parametrize("keep_density", [1e9, 0.5], ids=["all", "thinned"])
def test_bounded_at_a_share_of_every_budget(keep_density: float, share: Fraction) -> None:
    budgets = [1.5, 3.0]
    plan = fixed_plan(BOUNDED, keep_density=keep_density, share=share)
    losses = replacing_losses(budgets, [-FAR, 1.0, FAR], plan, centers=SEVERE_CENTERS, spreads=SEVERE_SPREADS)
    for spent, budget in zip(losses, budgets, strict=True):
        assert 0.5 * share * budget <= spent <= share * budget + EXACT


def test_bounded_with_four_records() -> None:
    budgets = [1.0, 0.0, 2.0, 2.0]
    losses = replacing_losses(budgets, [-1.0, 1.0, FAR], fixed_plan(BOUNDED))
    assert all(spent <= budget + EXACT for spent, budget in zip(losses, budgets, strict=True))
    assert losses[1] == 0


# --- planted bugs in the whole --------------------------------------------------------------------------------


def leaky_locate(kept: Batch, *others: Any) -> Any:
    """`locate_kept` that gives up when too few records survived."""
    if kept.values.size < 2:
        return [Location(0.0, half=1.0)]
    return locate_kept(kept, *others)


def census_noise_at(part: Fraction, factor: float) -> Patch:
    """The noise of the census, or of the squares (a quarter of the share of the sum), at `factor` of its scale."""
    assert part in (SEVERE_PLAN.shares["census"], SEVERE_PLAN.shares["weight_squares"] / SEVERE_PLAN.shares["sum"])

    def scale(size: int, share: Fraction) -> float:
        return laplace_scale(size, share) * (factor if share == part else 1.0)

    return (census, "laplace_scale", scale)


BUGS: dict[str, list[Patch]] = {
    "centre and scale both get the whole locating weight": [
        (locate, "integer_weights", doubled(integer_weights)),
    ],
    "locating weights at twice the share": [(Thinning, "weights", doubled(Thinning.weights))],
    "averaging weights at twice the share": [(summing, "weights_of", doubled(weights_of))],
    "average noise at 0.7 of its scale": [
        (gaussian, "laplace_scale", lambda size, share: 0.7 * laplace_scale(size, share)),
    ],
    "census noise of half its scale": [census_noise_at(CENSUS_SHARE, 0.5)],
    "squares of the weights with noise of half its scale": [census_noise_at(Fraction(1, 4), 0.5)],
    "squares of the weights without noise": [census_noise_at(Fraction(1, 4), 0.0)],
    "no discount for the census": [(census, "CENSUS_PART", Fraction(1, 8))],
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bug_is_caught(bug: str) -> None:
    assert severe_loss(*BUGS[bug]) > 1.5 + 0.04


@pytest.mark.parametrize("name", ["extra", "near"])
def test_a_number_without_noise_is_caught_in_the_whole(name: str) -> None:
    plan = fixed_plan(UNBOUNDED)
    assert max(joining_losses(SEVERE, plan)) <= 1.5 + EXACT
    assert joining_losses(SEVERE, plan, noise_at(plan, name, 0.0))[0] == math.inf


def test_kept_weights_raised_too_far_are_caught_in_the_whole() -> None:
    """The other record is always kept, the far one three times in eight."""
    people = [(1.0, 4.0), (FAR, 1.5)]
    run = partial(
        joining_losses,
        people,
        fixed_plan(UNBOUNDED, keep_density=0.5, clip_half_width=NARROW, weight_cap=1.5 / 4),
        centers=SEVERE_CENTERS,
        spreads=SEVERE_SPREADS,
    )
    assert 0.95 * 1.5 <= run()[1] <= 1.5 + EXACT
    assert run((Thinning, "kept_weights", raised_too_far))[1] > 1.5 + 0.2


def test_a_branch_on_the_number_of_survivors_is_caught() -> None:
    """Where all are kept, giving up tells their number; where few are, going on tells that nobody was dropped."""
    giving_up: Patch = (locate, "locate_kept", leaky_locate)
    assert severe_loss(giving_up) == math.inf

    budgets, domain = [1.5, 1.5], [-FAR, 1.0, FAR]
    run = partial(
        replacing_losses,
        budgets,
        domain,
        fixed_plan(BOUNDED, keep_density=0.5),
        centers=SEVERE_CENTERS,
        spreads=SEVERE_SPREADS,
    )
    assert max(run()) <= 1.5 + EXACT
    assert min(run(giving_up)) > 1.5 + 0.2
