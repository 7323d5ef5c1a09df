"""Profiles: the saturation against brute force and against the paper's, sums against their definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pdpmean import paper
from pdpmean.core.profile import Profile

eighths = st.integers(1, 800).map(lambda count: count / 8)
tiers = st.dictionaries(eighths, st.integers(1, 20), min_size=1, max_size=12)


def profile(levels: list[float], counts: list[float]) -> Profile:
    return Profile(np.array(levels), np.array(counts))


def objective(held: Profile, constant: float, tau: float) -> float:
    """What the saturation minimises, straight from its definition."""
    weights = np.minimum(held.allowances, tau)
    total = float((held.counts * weights).sum())
    return (float((held.counts * weights**2).sum()) + constant) / total**2


def test_a_profile_counts_who_grants_something() -> None:
    held = Profile.of(np.array([0.5, 0.0, 0.1, 0.5, math.inf, 0.0]))
    assert held.allowances.tolist() == [0.1, 0.5, math.inf]
    assert held.counts.tolist() == [1.0, 2.0, 1.0]
    assert held.people == 4.0
    assert held.total == math.inf


def test_a_profile_of_counts() -> None:
    held = Profile.of(np.array([0.5, 0.25, 0.5, 2.0]), np.array([1.5, 2.0, 0.25, 0.0]))
    assert held.allowances.tolist() == [0.25, 0.5]
    assert held.counts.tolist() == [2.0, 1.75]
    assert held.total == 2.0 * 0.25 + 1.75 * 0.5


@pytest.mark.parametrize("budgets", [[], [0.0, 0.0]])
def test_a_profile_of_nobody(budgets: list[float]) -> None:
    held = Profile.of(np.array(budgets))
    assert held.people == held.total == 0.0
    assert held.saturation(8.0) == (math.inf, 0)


@given(tiers, st.sampled_from([0.125, 0.3, 5.0]), st.sampled_from([0.5, 8.0, 64.0]), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_a_share_is_as_if_levels_were_so_much_less(
    held: dict[float, int], share: float, constant: float, public: bool
) -> None:
    levels, counts = np.array(sorted(held)), np.array([held[level] for level in sorted(held)], dtype=np.float64)
    if public:
        levels, counts = np.append(levels, math.inf), np.append(counts, 2.0)
    whole, less = Profile(levels, counts), Profile(levels * share, counts)
    assert whole.saturation(constant, share) == pytest.approx(less.saturation(constant), rel=1e-12)
    for tau in (0.1, 1.0, 7.5, 1e3):
        assert whole.capped_sums(tau, share) == pytest.approx(less.capped_sums(tau), rel=1e-12)


@pytest.mark.parametrize(
    ("levels", "counts", "constant", "tau", "below"),
    [
        # By hand: (1 + 1 + 8) / 2 = 5, and 100 >= 5.
        ([1.0, 100.0], [2.0, 2.0], 8.0, 5.0, 1),
        # A level that reaches the cap exactly is saturated.
        ([1.0, 5.0], [2.0, 1.0], 8.0, 5.0, 1),
        # 4.9 < 5 counts: (2 + 24.01 + 8) / 6.9.
        ([1.0, 4.9], [2.0, 1.0], 8.0, 34.01 / 6.9, 2),
        # Half a person: (0.5 * 4 + 8) / (0.5 * 2) = 10.
        ([2.0], [0.5], 8.0, 10.0, 1),
        ([2.0, math.inf], [0.5, 3.0], 8.0, 10.0, 1),
        ([math.inf], [3.0], 8.0, math.inf, 0),
    ],
)
def test_saturation_by_hand(levels: list[float], counts: list[float], constant: float, tau: float, below: int) -> None:
    found, how_many = profile(levels, counts).saturation(constant)
    assert found == pytest.approx(tau, rel=1e-15)
    assert how_many == below


@given(tiers, st.sampled_from([0.5, 2.0, 8.0, 64.0]), st.booleans())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_saturation_is_that_of_the_paper(held: dict[float, int], constant: float, public: bool) -> None:
    people: NDArray[np.float64] = np.repeat(list(held), list(held.values()))
    if public:
        people = np.append(people, [math.inf, math.inf])
    tau, below = Profile.of(people).saturation(constant)
    found = paper.saturation(people, constant=constant)
    assert tau == pytest.approx(found.tau, rel=1e-13)
    assert sum(sorted(held.items())[j][1] for j in range(below)) == found.k


@given(
    st.dictionaries(st.floats(1e-3, 100), st.floats(0.01, 1e4), min_size=1, max_size=10),
    st.sampled_from([0.5, 8.0, 64.0, 1e4]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_saturation_minimises_by_brute_force(held: dict[float, float], constant: float, public: bool) -> None:
    levels, counts = np.array(list(held)), np.array(list(held.values()))
    if public:
        levels, counts = np.append(levels, math.inf), np.append(counts, 2.5)
    found = Profile.of(levels, counts)
    tau, _ = found.saturation(constant)
    best = objective(found, constant, tau)
    grid = [*np.geomspace(1e-3, 1e6, 400).tolist(), 0.999 * tau, 1.001 * tau]
    assert all(best <= objective(found, constant, other) * (1 + 1e-12) for other in grid)


@given(tiers, st.floats(1e-3, 200), st.booleans())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_capped_sums_are_sums_of_capped_levels(held: dict[float, int], tau: float, public: bool) -> None:
    levels = sorted(held) + [math.inf] * public
    counts = [held[level] + 0.25 for level in sorted(held)] + [1.5] * public
    weight, square = profile(levels, counts).capped_sums(tau)
    assert weight == pytest.approx(math.fsum(n * min(w, tau) for w, n in zip(levels, counts, strict=True)), rel=1e-12)
    assert square == pytest.approx(
        math.fsum(n * min(w, tau) ** 2 for w, n in zip(levels, counts, strict=True)), rel=1e-12
    )


def test_capped_sums_without_a_cap() -> None:
    assert profile([1.0, 3.0], [2.0, 0.5]).capped_sums(math.inf) == (3.5, 6.5)
    assert profile([1.0, math.inf], [2.0, 1.0]).capped_sums(math.inf) == (math.inf, math.inf)
    assert profile([math.inf], [3.0]).capped_sums(2.0) == (6.0, 12.0)
