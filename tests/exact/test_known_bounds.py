"""Known bounds, enumerated: the sums with noise and the whole estimate cost no more than granted; mutants do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from rules import group_at

from exact.enumeration import Law, law, loss, removal_losses, replacement_losses
from exact.pipeline import (
    CENTERS,
    EXACT,
    FAR,
    MISSING,
    SPREADS,
    UNBOUNDED,
    Patch,
    Person,
    each_share,
    everything_released,
    fixed_plan,
    noise_at,
    options_of,
    patched,
    source_of,
    whole,
)
from pdpmean import estimate
from pdpmean.core import integers
from pdpmean.core.bounds import Bounds
from pdpmean.core.integers import LARGEST_SHIFT, STEPS
from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.passes import summing
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import PrivateTotalSums, PublicTotalSums
from pdpmean.randomness import LARGEST_SCALE, Randomness
from pdpmean.release import average, clip, squares
from pdpmean.release.shape import ExactSums
from pdpmean.release.shapes import RELEASES
from pdpmean.release.squares import SquareClip
from pdpmean.sources.arrays import ArraySource

BOUNDS = Bounds(-1.0, 1.0)
MODELS = {"bounded": BOUNDED, "unbounded": UNBOUNDED}
both_models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def plan_of(model: Model, share: Fraction = Fraction(1), weight_cap: float = 50.0) -> Plan:
    return fixed_plan(model, "bounds", bounds=BOUNDS, share=share, weight_cap=weight_cap)


def clip_of(plan: Plan) -> SquareClip:
    release = RELEASES["bounds"]
    location = release.public_location(plan)
    assert location
    found = release.clip(plan, location)
    assert isinstance(found, SquareClip)
    return found


def released_of(present: Sequence[Person], plan: Plan, randomness: Randomness) -> Any:
    (group,) = average.average(
        source_of(present), [group_at(plan, RELEASES["bounds"].public_location(plan))], randomness
    )
    return group.averaged


def law_of(present: Sequence[Person], plan: Plan) -> Law:
    return law(lambda r: released_of(present, plan, r), released=True)


# --- a record of every step ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 17, 64])
def test_no_step_costs_more_than_the_weight(steps: int) -> None:
    """The arithmetic of the proof, with every number of steps and every z."""
    for z in range(-steps, steps + 1):
        square = z * z // steps
        public = Fraction(abs(z), steps) + Fraction(steps - square, 2 * steps)
        private = [steps - 2 * z + square, 2 * (steps - square), steps + 2 * z + square]
        assert public <= 1
        assert min(private) >= 0
        assert sum(private) == 4 * steps


FEW = 8
FEW_STEPS: list[Patch] = [(module, "STEPS", FEW) for module in (integers, summing, clip, squares)]


def losses_by_step(model: Model, *planted: Patch) -> list[float]:
    """What a record of weight 1 costs at every step of a coarse clip, and missing: added to two others."""
    plan = fixed_plan(model, "bounds", bounds=BOUNDS, weight_cap=1.0)
    others = [(0.25, 4.0), (MISSING, 4.0)]
    with patched(*FEW_STEPS, *planted), everything_released():
        without = law_of(others, plan)
        values = [*np.linspace(-1, 1, 2 * FEW + 1).tolist(), MISSING]
        return [loss(without, law_of([*others, (value, 4.0)], plan)) for value in values]


def test_every_step_costs_what_the_proof_says_where_the_total_is_public() -> None:
    found = losses_by_step(BOUNDED)
    expected = [abs(z) / FEW + (FEW - z * z // FEW) / (2 * FEW) for z in range(-FEW, FEW + 1)]
    assert found == pytest.approx([*expected, 1.0], abs=1e-7)
    assert max(found) <= 1 + EXACT


def test_every_step_costs_the_weight_where_the_total_is_private() -> None:
    """A missing value as well."""
    found = losses_by_step(UNBOUNDED)
    assert found == pytest.approx([1.0] * (2 * FEW + 2), abs=1e-7)
    assert max(found) <= 1 + EXACT


NUMBERS = [(BOUNDED, "sum"), (BOUNDED, "extra"), (BOUNDED, "missing"), (UNBOUNDED, "parts"), (UNBOUNDED, "missing")]
every_number = pytest.mark.parametrize(
    ("model", "name"), NUMBERS, ids=[f"{model.name} {name}" for model, name in NUMBERS]
)


@every_number
@pytest.mark.parametrize(("factor", "least"), [(0.7, 1.05), (0.5, 1.2), (0.0, math.inf)])
def test_noise_below_its_scale_is_caught(model: Model, name: str, factor: float, least: float) -> None:
    plan = fixed_plan(model, "bounds", bounds=BOUNDS, weight_cap=1.0)
    with patched(*FEW_STEPS):
        planted = noise_at(plan, name, factor)
    assert max(losses_by_step(model, planted)) >= least


def with_missing_in_the_middle(row: Sequence[int]) -> ExactSums:
    """The sums, in which missing values are zeros as well."""
    found = EXACT_SUMS_OF(row)
    return found._replace(counted=found.counted + found.missing)


EXACT_SUMS_OF = ExactSums.of


@both_models
def test_a_missing_value_that_is_summed_as_well_is_caught(model: Model) -> None:
    twice: Patch = (ExactSums, "of", with_missing_in_the_middle)
    assert losses_by_step(model, twice)[-1] >= 1.5 - 1e-7


def test_no_extra_is_paid_for_twice() -> None:
    """With noise of the sum's scale on the spread, a value in between would cost up to a quarter more."""
    assert max(losses_by_step(BOUNDED, (SquareClip, "slack", Fraction(1)))) > 1.2


# --- the shipped steps ---------------------------------------------------------------------------------------------

VALUES = [-FAR, -1.0, -0.9999999, -0.3, 0.0, 2.0**-30, 0.5, 1.0, FAR, MISSING]


@each_share
@both_models
@pytest.mark.parametrize("weight_cap", [50.0, 0.5], ids=["uncapped", "capped"])
def test_the_sums_attain_their_share_and_no_more(model: Model, share: Fraction, weight_cap: float) -> None:
    plan = plan_of(model, share, weight_cap)
    people: list[Person] = [(value, 3.0) for value in VALUES]
    allowed = min(float(plan.shares["sum"]) * float(model.allowances(np.array([3.0]))[0]), weight_cap)
    without = law_of(people, plan)
    for person in people:
        spent = loss(without, law_of([other for other in people if other is not person], plan))
        assert spent <= allowed + EXACT
        assert spent >= 0.499 * allowed
        assert abs(person[0]) < 1 or spent >= (1 - 1e-5) * allowed


@each_share
def test_unbounded_over_everyone_who_may_join_or_leave(share: Fraction) -> None:
    people: list[Person] = [(1.0, 2.0), (FAR, 1.5), (0.3, 0.5), (0.2, math.inf), (MISSING, 2.0)]
    granted = [2.0, 1.5, 0.0, 4.0, 2.0]
    losses = joining_losses(people, plan_of(UNBOUNDED, share))
    assert all(spent <= share * may + EXACT for spent, may in zip(losses, granted, strict=True))
    assert losses[2] == 0
    assert min(losses[0] / granted[0], losses[4] / granted[4]) >= 0.85 * share


def joining_losses(people: list[Person], plan: Plan, *planted: Patch) -> list[float]:
    """Losses in the unbounded model, over every subset of `people`."""

    def release(present: tuple[Person, ...]) -> Law:
        return law(lambda r: estimate_of(present, plan, r), released=True)

    with whole([plan], CENTERS, SPREADS, *planted):
        losses = removal_losses(release, people)
    return [losses[person] for person in people]


def estimate_of(present: Sequence[Person], plan: Plan, randomness: Randomness) -> Any:
    return estimate.estimate_mean(
        [value for value, _ in present],
        [budget for _, budget in present],
        **options_of(plan),
        randomness=randomness,
    )


def replacing_losses(budgets: list[float], plan: Plan, *planted: Patch) -> list[float]:
    """Losses in the bounded model, over every data set of ends, a value between them, and a missing one."""

    def release(values: tuple[float, ...]) -> Law:
        return law(lambda r: estimate_of(list(zip(values, budgets, strict=True)), plan, r), released=True)

    with whole([plan], CENTERS, SPREADS, *planted):
        return replacement_losses(release, [-FAR, 0.3, MISSING, 1.0], len(budgets))


@each_share
def test_bounded_on_every_small_data_set(share: Fraction) -> None:
    """Also where a missing value takes the place of another, the sums of both cost a budget together."""
    budgets = [0.0, 1.5, 3.0]
    for spent, budget in zip(replacing_losses(budgets, plan_of(BOUNDED, share)), budgets, strict=True):
        assert (1 - 1e-5) * share * budget <= spent <= share * budget + EXACT


@pytest.mark.parametrize("name", ["sum", "extra", "missing"])
def test_a_number_without_noise_is_caught_in_the_whole(name: str) -> None:
    plan = plan_of(BOUNDED)
    assert max(replacing_losses([1.5, 2.0], plan, noise_at(plan, name, 0.0))) == math.inf


def test_half_the_noise_is_caught_in_the_whole() -> None:
    people: list[Person] = [(1.0, 1.5), (-1.0, 1.5)]
    plan = plan_of(UNBOUNDED)
    assert max(joining_losses(people, plan)) <= 1.5 + EXACT
    assert max(joining_losses(people, plan, noise_at(plan, "parts", 0.5))) > 2 * 1.5 * 14 / 16


# --- groups ----------------------------------------------------------------------------------------------------------

Member = tuple[float, float, str]  # value, budget, group


def joint_law(members: Sequence[Member], plan: Plan) -> Law:
    """The law of everything that is released of both groups."""
    values, budgets, groups = ([member[column] for member in members] for column in range(3))

    def run(randomness: Randomness) -> object:
        return estimate.estimate_mean(
            values,
            budgets,
            by=groups,
            groups=["a", "b"],
            **options_of(plan),
            randomness=randomness,
        )

    return law(run, released=True)


@each_share
def test_unbounded_groups_cost_each_member_once(share: Fraction) -> None:
    plan = plan_of(UNBOUNDED, share)
    members = [(1.0, 2.0, "a"), (0.1, 1.5, "b"), (MISSING, 3.0, "b"), (1.0, 2.0, "neither")]
    with whole([plan, plan], CENTERS, SPREADS):
        losses = removal_losses(lambda present: joint_law(present, plan), members)
    assert all(losses[member] <= share * member[1] + EXACT for member in members)
    assert losses[members[0]] >= 0.85 * share * 2.0
    assert losses[members[3]] == 0


@each_share
def test_bounded_groups_cost_each_member_once(share: Fraction) -> None:
    plan = plan_of(BOUNDED, share)
    granted = [(2.0, "a"), (1.5, "b"), (1.0, "b")]

    def release(values: tuple[float, ...]) -> Law:
        return joint_law([(value, *person) for value, person in zip(values, granted, strict=True)], plan)

    with whole([plan, plan], CENTERS, SPREADS):
        losses = replacement_losses(release, [-1.0, 0.5, MISSING], len(granted))
    for spent, (budget, _) in zip(losses, granted, strict=True):
        assert (1 - 1e-5) * share * budget <= spent <= share * budget + EXACT


# --- what is released is what it says -------------------------------------------------------------------------------


class Quiet(Randomness):
    """No noise at all; what would be added is written down."""

    def __init__(self) -> None:
        super().__init__(lambda: bytes(32), lambda *_: 0, private=False)
        self.scales = list[float]()

    def add_laplace(self, value: int, scale: float) -> int:
        self.scales.append(scale)
        return super().add_laplace(value, scale)


BETWEEN = [(-1.0, 2.0), (-0.25, 1.0), (0.5, 3.0), (1.0, 1.5), (MISSING, 2.5), (9.0, 1.0)]


def moment(power: int) -> float:
    """The sum of weight times the clipped value to this power; all weigh what they grant."""
    return sum(budget * min(value, 1.0) ** power for value, budget in BETWEEN if not math.isnan(value))


def test_public_totals_in_nats() -> None:
    found = released_of([(value, 2 * budget) for value, budget in BETWEEN], plan_of(BOUNDED), Quiet())
    assert isinstance(found, PublicTotalSums)
    numbers = found.values, found.weight_less_squares, found.missing, found.total_weight
    assert numbers == pytest.approx((moment(1), moment(0) - moment(2), 2.5, moment(0) + 2.5), abs=1e-5)
    assert (found.below, found.above) == ((), ())


def test_private_totals_in_nats() -> None:
    found = released_of(BETWEEN, fixed_plan(UNBOUNDED, "bounds", bounds=BOUNDS, weight_cap=50.0), Quiet())
    assert isinstance(found, PrivateTotalSums)
    parts = [(moment(0) - 2 * moment(1) + moment(2)) / 4, (moment(0) - moment(2)) / 2]
    parts.append((moment(0) + 2 * moment(1) + moment(2)) / 4)
    assert [found.low, found.middle, found.high] == pytest.approx([14 / 16 * part for part in parts], rel=1e-5)
    assert found.weight_inside == pytest.approx(14 / 16 * moment(0), rel=1e-5)
    assert found.missing == pytest.approx(14 / 16 * 2.5, rel=1e-5)
    assert (found.below, found.above) == ((), ())


@pytest.mark.parametrize("high", [1e-12, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("model", MODELS)
def test_noise_scales_stay_within_what_can_be_drawn(model: str, high: float) -> None:
    public = None if model == "bounded" else (high, high)
    plan = plan_of(make_model(model, public), weight_cap=high)
    quiet = Quiet()
    released_of([(0.5, high)], plan, quiet)
    assert max(quiet.scales) <= LARGEST_SCALE
    assert clip_of(plan).shift <= LARGEST_SHIFT - 1
    assert clip_of(plan).nat == STEPS << clip_of(plan).shift


def test_no_pass_is_made_to_locate() -> None:
    """With so little budget that the bounds tell more than a histogram would."""

    class Once(ArraySource):
        def sample(self, *_: Any) -> Any:
            raise AssertionError("sampled")

    source = Once(np.linspace(-1, 1, 1000), np.full(1000, 1.0))
    with patched((estimate, "read", lambda *_: source)):
        found = estimate.estimate_mean(None, bounds=BOUNDS, share=0.05, randomness=Randomness.seeded(1))
        assert BOUNDS[0] < found.mean < BOUNDS[1]
        with pytest.raises(AssertionError, match="sampled"):
            estimate.estimate_mean(None, bounds=BOUNDS, shape="gaussian", randomness=Randomness.seeded(1))
