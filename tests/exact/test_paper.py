"""Every mechanism of `pdpmean.paper`, enumerated: nobody's loss exceeds their budget, and planted bugs are caught.

The code that runs is the shipped code; `exact.enumeration` only stands in for its randomness.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from exact.enumeration import Law, collapsed, law, loss, removal_losses, replacement_losses
from pdpmean.paper import (
    adpm,
    diffuse,
    diffusion_rates,
    discretize,
    estimate_radius,
    estimate_range,
    find_quantile,
    mean_bounded,
    mean_unbounded,
    saturation,
    sparse_vector,
)
from pdpmean.paper.mean_unbounded import bucket_counts, bucket_ends
from pdpmean.randomness import Randomness, laplace_scale

EXACT = 1e-9  # the enumeration's stated error
MISSING = math.nan
POWERS = (-1, 1)  # spreads and radii sought, instead of 2000 powers of two
FINER = 1  # the median's grid in parts of the printed one, instead of 8

Rates = Callable[[NDArray[np.float64], float], NDArray[np.float64]]


def module(name: str) -> Any:
    return importlib.import_module(f"pdpmean.paper.{name}")


# --- one step at a time -------------------------------------------------------------------------------------


def first_above(queries: Sequence[int], budget: float) -> Law:
    return law(lambda r: sparse_vector(queries, threshold=0, budget=budget, randomness=r))


def test_sparse_vector_on_every_pair_of_small_neighbours() -> None:
    """All pairs of query vectors that one record may turn into one another: each query moves by at most 1."""
    budget = 1.5
    laws = {queries: first_above(queries, budget) for queries in itertools.product([-1, 0, 1], repeat=3)}
    worst = max(
        loss(laws[one], laws[two])
        for one, two in itertools.combinations(laws, 2)
        if max(abs(a - b) for a, b in zip(one, two, strict=True)) <= 1
    )
    assert 0.4 * budget <= worst <= budget + EXACT


@pytest.mark.parametrize("budget", [0.7, 1.5, 3.0])
def test_sparse_vector_attains_its_budget_and_no_more(budget: float) -> None:
    """Forty queries at the threshold rise by 1 while a late, low one falls by 1: the worst there is."""
    ours, theirs = [0] * 40 + [-4, -1000], [1] * 40 + [-5, -1000]
    assert 0.99 * budget <= loss(first_above(ours, budget), first_above(theirs, budget)) <= budget + EXACT


def test_a_unit_of_sensitivity_too_few_is_caught() -> None:
    ours, theirs = [0] * 40 + [-4, -1000], [2] * 40 + [-6, -1000]  # moved by 2, declared as 1
    assert loss(first_above(ours, 1.5), first_above(theirs, 1.5)) > 1.5 + 0.5


def test_find_quantile_attains_its_budget_and_no_more() -> None:
    """A bulk of 2000 grid points loses its weight as one value jumps over it: the worst there is."""
    budget = 2.0

    def quantile(values: tuple[float, ...]) -> Law:
        return law(lambda r: find_quantile(values, budget=budget, spacing=1.0, radius=1024.0, randomness=r))

    with collapsed():
        worst = loss(quantile((-1024.0, 1020.0)), quantile((1024.0, 1020.0)))
    assert 0.9 * budget <= worst <= budget + EXACT


def test_find_quantile_on_every_small_data_set() -> None:
    budget = 1.0

    def quantile(values: tuple[float, ...]) -> Law:
        return law(lambda r: find_quantile(values, budget=budget, spacing=1.0, radius=4.0, randomness=r))

    with collapsed():
        losses = replacement_losses(quantile, [-9.0, -2.0, 0.0, 3.5, MISSING], 4)
    assert max(losses) <= budget + EXACT
    assert max(losses) >= 0.5 * budget


def test_discretize_on_every_small_data_set() -> None:
    """Only the spacing is looked at: the rounded values stay inside."""
    budget = 4.0

    def spacing(values: tuple[float, ...]) -> Law:
        return law(lambda r: discretize(values, budget=budget, powers=POWERS, randomness=r).spacing)

    with collapsed("paper.discretize:sparse_vector"):
        losses = replacement_losses(spacing, [0.0, 0.75, 5.0, MISSING], 4)
    assert 0 < max(losses) <= budget + EXACT


def test_estimate_radius_on_every_small_data_set() -> None:
    budget = 2.0

    def radius(values: tuple[float, ...]) -> Law:
        return law(
            lambda r: estimate_radius(values, budget=budget, spacing=0.5, beta=0.3, largest_power=2, randomness=r)
        )

    with collapsed("paper.estimate_radius:sparse_vector"):
        losses = replacement_losses(radius, [0.0, -1.0, math.inf, MISSING], 3)
    assert 0 < max(losses) <= budget + EXACT


# --- diffusion ----------------------------------------------------------------------------------------------


def respond(kept: NDArray[np.bool_], bits: Sequence[int], tau: float, randomness: Any) -> tuple[bool, ...]:
    """Randomized response at tau, which attains its budget; a placeholder answers as a 0 does."""
    truth = 1 / (1 + math.exp(-tau))
    return tuple(randomness.heads(truth if keep and bit else 1 - truth) for keep, bit in zip(kept, bits, strict=True))


def diffused_losses(budgets: list[float], rates: Rates, *, fewest: int = 0) -> list[float]:
    """Losses of randomized response at tau on diffused bits; with `fewest`, it gives up when fewer survive."""
    found = diffusion_rates(budgets)
    probabilities = rates(np.array(budgets), found.tau)

    def answers(bits: tuple[int, ...]) -> Law:
        def mechanism(randomness: Randomness) -> tuple[bool, ...] | None:
            kept = diffuse(probabilities, randomness=randomness)
            return None if kept.sum() < fewest else respond(kept, bits, found.tau, randomness)

        return law(mechanism)

    return replacement_losses(answers, [0, 1], len(budgets))


BUDGETS = [0.3, 0.9, 2.5]


def test_diffusion_spends_every_budget_to_the_last_bit() -> None:
    losses = diffused_losses(BUDGETS, lambda budgets, _: diffusion_rates(budgets).rates)
    assert all(spent <= budget + EXACT for spent, budget in zip(losses, BUDGETS, strict=True))
    assert all(spent >= 0.999 * budget for spent, budget in zip(losses, BUDGETS, strict=True))


@pytest.mark.parametrize("divisor", [1, 2], ids=["eps/tau", "eps/(2 tau)"])
def test_printed_rates_are_caught(divisor: int) -> None:
    losses = diffused_losses(BUDGETS, lambda budgets, tau: budgets / (divisor * tau))
    assert any(spent > budget + 0.1 for spent, budget in zip(losses, BUDGETS, strict=True))


def test_a_branch_on_the_number_of_survivors_is_caught() -> None:
    """Not giving up tells that nobody was dropped: no amplification is left."""
    losses = diffused_losses(BUDGETS, lambda budgets, _: diffusion_rates(budgets).rates, fewest=len(BUDGETS))
    assert losses[0] > 5 * BUDGETS[0]


# --- the range ----------------------------------------------------------------------------------------------

RANGE_STEPS = (
    "paper.discretize:sparse_vector",
    "paper.estimate_radius:sparse_vector",
    "paper.estimate_range:discretize",
    "paper.estimate_range:estimate_radius",
    "paper.estimate_range:find_quantile",
)
SHORT = {"estimate_range": {"powers": POWERS}}


@pytest.fixture(autouse=True)
def coarse_median(monkeypatch: pytest.MonkeyPatch) -> None:
    """Privacy does not depend on the grid, and a coarser one has fewer outcomes to enumerate."""
    monkeypatch.setattr(module("estimate_range"), "_FINER", FINER)


def range_losses(budgets: list[float], domain: list[float]) -> list[float]:
    def interval(values: tuple[float, ...]) -> Law:
        return law(lambda r: estimate_range(values, budgets, beta=0.4, powers=POWERS, randomness=r))

    with collapsed(*RANGE_STEPS):
        return replacement_losses(interval, domain, len(budgets))


def test_estimate_range_on_every_small_data_set() -> None:
    budgets = [2.0, 4.0, 6.0]
    losses = range_losses(budgets, [0.0, 1.3, MISSING])
    assert all(0 < spent <= budget + EXACT for spent, budget in zip(losses, budgets, strict=True))


def test_estimate_range_with_nothing_granted_and_everything_granted() -> None:
    losses = range_losses([0.0, 3.0, math.inf], [0.0, 1.3])
    assert losses[0] == 0
    assert 0 < losses[1] <= 3.0 + EXACT


def test_overspending_rates_in_the_range_are_caught() -> None:
    """The same harness, with diffusion switched off for everyone: the smallest budget is overdrawn."""
    budgets = [0.05, 6.0]
    with mock.patch.object(module("diffusion"), "exact_rates", lambda granted, _: np.ones_like(granted)):
        losses = range_losses(budgets, [0.0, 7.0, MISSING])
    assert losses[0] > 2 * budgets[0]
    assert range_losses(budgets, [0.0, 7.0, MISSING])[0] <= budgets[0] + EXACT


def test_a_sentinel_that_collides_with_a_datum_is_caught() -> None:
    """With 0 as the placeholder, a table of zeros is taken for an empty one; with a mask it is not."""

    def interval(values: list[float], *, sentinel: bool) -> Law:
        data = np.array(values)
        if sentinel:
            data = np.where(data == 0, MISSING, data)  # what keeping "not the placeholder" does to a real 0
        return law(lambda r: estimate_range(data, 6.0, beta=0.4, powers=POWERS, randomness=r))

    with collapsed(*RANGE_STEPS):
        nobody = interval([MISSING] * 3, sentinel=False)
        assert loss(interval([0.0] * 3, sentinel=True), nobody) == 0
        assert loss(interval([0.0] * 3, sentinel=False), nobody) > 0.5


# --- the mean, bounded --------------------------------------------------------------------------------------


def test_adpm_attains_every_budget_below_saturation_and_no_more() -> None:
    budgets = [0.0, 0.1, 0.7, 3.0, math.inf]

    def release(values: tuple[float, ...]) -> Law:
        return law(lambda r: adpm(values, budgets, lower=-1.0, upper=3.0, randomness=r), released=True)

    losses = replacement_losses(release, [-math.inf, 0.5, 3.0], len(budgets))
    assert losses[0] == 0
    for spent, budget in zip(losses[1:4], budgets[1:4], strict=True):
        assert 0.999 * budget <= spent <= budget + EXACT
    # The public record counts as tau, and costs that.
    tau = saturation(budgets).tau
    assert 0.999 * tau <= losses[4] <= tau + EXACT


def bounded_losses(budgets: list[float], domain: list[float]) -> list[float]:
    def release(values: tuple[float, ...]) -> Law:
        return law(lambda r: mean_bounded(values, budgets, beta=0.9, randomness=r), released=True)

    with collapsed(*RANGE_STEPS, "paper.mean_bounded:estimate_range", **SHORT):
        return replacement_losses(release, domain, len(budgets))


def test_mean_bounded_on_every_small_data_set() -> None:
    """Range and noisy mean together: whoever sees both still learns no more than every budget allows."""
    budgets = [2.0, 5.0, 8.0]
    losses = bounded_losses(budgets, [0.0, 1.3, MISSING])
    assert all(spent <= budget + EXACT for spent, budget in zip(losses, budgets, strict=True))
    assert all(spent >= 0.5 * budget for spent, budget in zip(losses, budgets, strict=True))


def test_mean_bounded_leaves_a_zero_budget_out() -> None:
    losses = bounded_losses([0.0, 4.0], [0.0, 1.3, math.inf])
    assert losses[0] == 0
    assert losses[1] <= 4.0 + EXACT


def test_spending_the_whole_budget_twice_is_caught() -> None:
    """The half that each step gets is forgotten: the mean alone then costs everything, the range comes on top."""
    real = adpm

    def whole(values: Any, budgets: Any, **options: Any) -> float:
        return real(values, 2 * budgets, **options)

    budgets = [2.0, 5.0, 8.0]
    with mock.patch.object(module("mean_bounded"), "adpm", whole):
        losses = bounded_losses(budgets, [0.0, 1.3, MISSING])
    assert any(spent > budget + 0.01 for spent, budget in zip(losses, budgets, strict=True))


# --- the mean, unbounded ------------------------------------------------------------------------------------

PEOPLE = [(0.0, 6.0), (MISSING, 7.0), (0.0, 3.0), (1.3, math.inf)]
BUDGET_RANGE = (6.0, 11.5)  # one bucket, which the third person is below and the fourth above


def counted(sizes: list[int], lefts: NDArray[np.float64], *, scale: int) -> Law:
    with mock.patch.object(module("mean_unbounded"), "laplace_scale", lambda _, left: laplace_scale(scale, left)):
        return law(lambda r: tuple(bucket_counts(sizes, lefts, beta=0.5, randomness=r)))


def test_bucket_counts_cost_half_a_budget_and_the_printed_noise_a_whole_one() -> None:
    lefts = bucket_ends((2.0, 4.5))
    for record, left in enumerate(lefts):
        fewer, more = [6, 6], [6, 6]
        more[record] += 1
        halves = loss(counted(fewer, lefts, scale=2), counted(more, lefts, scale=2))
        assert 0.499 * left <= halves <= 0.5 * left + EXACT
        assert loss(counted(fewer, lefts, scale=1), counted(more, lefts, scale=1)) > 0.999 * left


@contextmanager
def shortened() -> Iterator[None]:
    steps = (*RANGE_STEPS, "paper.mean_bounded:estimate_range", "paper.mean_unbounded:bucket_counts")
    with collapsed(*steps, **SHORT):
        yield


def unbounded_losses(people: list[tuple[float, float]]) -> list[float]:
    def release(present: tuple[tuple[float, float], ...]) -> Law:
        values, budgets = [person[0] for person in present], [person[1] for person in present]
        return law(
            lambda r: mean_unbounded(values, budgets, budget_range=BUDGET_RANGE, beta=0.9, randomness=r),
            released=True,
        )

    with shortened():
        losses = removal_losses(release, people)
    return [losses[person] for person in people]


def test_mean_unbounded_over_everyone_who_may_join_or_leave() -> None:
    """Counts, range and noisy mean together, for every subset of four people."""
    losses = unbounded_losses(PEOPLE)
    granted = [6.0, 7.0, 0.0, 11.5]  # below the range: left out; above it: its upper end
    assert all(spent <= budget + EXACT for spent, budget in zip(losses, granted, strict=True))
    assert losses[2] == 0
    assert losses[0] >= 0.5 * granted[0]


def test_count_noise_of_half_the_scale_is_caught() -> None:
    with mock.patch.object(module("mean_unbounded"), "laplace_scale", lambda _, left: laplace_scale(1, left)):
        losses = unbounded_losses([(0.0, 6.0), (1.3, 6.0)])
    assert max(losses) > 6.0 + 0.5
