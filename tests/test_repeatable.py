"""Noise in tests repeats itself from run to run, and nowhere within one."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np
import pytest
from forked import in_child
from hypothesis import given
from hypothesis import strategies as st
from repeatable import RepeatableSource, repeatable_noise

from pdpmean import Randomness, estimate_mean

Words = list[int]
VALUES = np.random.default_rng(1).normal(38, 6, 3000)


def words(source: Randomness) -> Words:
    return list(map(int, source.words(4)))


def drawn(name: str) -> list[Any]:
    """Every kind of draw by secure sources in a test of this name."""
    with repeatable_noise(name):
        first, second = Randomness.secure(), Randomness.secure()
        spawned = [first.spawn(), first.spawn(), first.spawn().spawn()]
        make = pickle.loads(pickle.dumps(first.remote()))
        sources = [first, second, *spawned, make("one"), make("other"), first.remote()("one")]
        return [words(source) for source in sources] + [[first.add_laplace(0, 2.0**50), second.add_laplace(0, 2.0**50)]]


def test_a_name_repeats_itself_and_its_sources_differ() -> None:
    once, again, other = drawn("one"), drawn("one"), drawn("other")
    assert once == again
    numbers = [number for some in (*once, *other) for number in some]
    assert len(set(numbers)) == len(numbers)


def test_an_estimate_repeats_itself_and_protects() -> None:
    def estimates() -> list[float]:
        return [estimate_mean(VALUES, 1.0, bounds=(0, 100)).mean for _ in range(2)]

    with repeatable_noise("one"):
        first = estimates()
    with repeatable_noise("one"):
        assert estimates() == first
    assert first[0] != first[1]
    assert "NOT PRIVATE" not in str(estimate_mean(VALUES, 1.0, bounds=(0, 100)))


def test_this_test_has_repeatable_noise() -> None:
    found = Randomness.secure()
    assert isinstance(found, RepeatableSource)
    with repeatable_noise("tests/test_repeatable.py::test_this_test_has_repeatable_noise"):
        assert words(Randomness.secure()) == words(found)


@pytest.mark.real_noise
def test_a_marked_one_has_not() -> None:
    assert type(Randomness.secure()) is Randomness


@pytest.fixture(scope="module")
def shared() -> Words:
    return words(Randomness.secure())


@pytest.mark.parametrize("_which_comes_first", [1, 2])
def test_a_shared_fixture_has_noise_of_its_own_name(shared: Words, _which_comes_first: int) -> None:
    with repeatable_noise("tests/test_repeatable.py::shared[0]"):
        assert words(Randomness.secure()) == shared
    assert words(Randomness.secure()) != shared


EXAMPLES: list[Words] = []


@given(st.integers())
def test_every_example_has_the_same_noise(number: int) -> None:
    EXAMPLES.append(words(Randomness.secure()))
    assert EXAMPLES[0] == EXAMPLES[-1], number
    assert words(Randomness.secure()) not in EXAMPLES


def drawn_in_forks(name: str) -> list[Words]:
    """By a process and forks of it: by a source from before, one spawned of it, a new one and one elsewhere."""
    with repeatable_noise(name):
        source = Randomness.secure()

        def every_kind() -> bytes:
            sources = [source, source.spawn(), Randomness.secure(), source.remote()("task")]
            return pickle.dumps([words(each) for each in sources])

        answers = [in_child(every_kind), in_child(lambda: in_child(every_kind)), in_child(every_kind), every_kind()]
    return [some for answer in answers for some in pickle.loads(answer)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_forked_processes_draw_their_own() -> None:
    drawn = drawn_in_forks("one")
    assert len({tuple(some) for some in drawn}) == len(drawn) == 16
    assert drawn_in_forks("one") == drawn
