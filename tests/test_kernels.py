"""The compiled loops give the integers of their NumPy twins, whatever the batch holds."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdpmean import InvalidInputError, Randomness, average, census, diffusion, estimate_mean
from pdpmean.average import STEPS, WEIGHT_BITS, Summing
from pdpmean.census import Cells
from pdpmean.diffusion import Thinning
from pdpmean.inputs import Floats
from pdpmean.model import BOUNDED, Model, make_model
from pdpmean.sources.arrays import ArraySource

UNBOUNDED = make_model("unbounded", (0.1, 2.0))
MODELS = pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED], ids=["bounded", "unbounded"])
hostile_values = st.lists(st.floats(), max_size=60).map(np.array).map(np.float64)


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Every batch, however small, goes to the compiled loops."""
    for module in (average, census, diffusion):
        monkeypatch.setattr(module, "SMALLEST_BATCH", 0)
    return monkeypatch


def columns(size: int, seed: int = 1) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    values = rng.normal(5.0, 3.0, size)
    values[:: max(size // 7, 1)] = [math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0, 5.0, 2.0][
        : len(values[:: max(size // 7, 1)])
    ]
    return values, rng.uniform(0.0, 3.0, size)


@MODELS
@pytest.mark.parametrize("near", [None, 3_000_000])
@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 10_001])
def test_sums_are_those_of_the_twin(model: Model, near: int | None, size: int, compiled: pytest.MonkeyPatch) -> None:
    summing = Summing(model, Fraction(3, 4), 0.7, 4.5, 2.5, near)
    values, budgets = columns(size)
    fast = summing(values, budgets)
    compiled.undo()
    assert fast == summing(values, budgets)


@given(hostile_values, st.floats(-1e300, 1e300), st.floats(1e-280, 1e300), st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_sums_of_hostile_values(values: Floats, middle: float, half: float, squares: bool) -> None:
    summing = Summing(BOUNDED, Fraction(1), 5.0, middle, half, None if squares else 2**22)
    budgets = np.linspace(0.0, 3.0, values.size)
    assert summing._sum_compiled(values, budgets) == summing(values, budgets)


def test_sums_at_the_edge_of_a_word() -> None:
    # The largest weight, 2**26 - 1, times the largest step, over whole blocks: computed here in Python's integers.
    summing = Summing(BOUNDED, Fraction(1), 1.0 - 2.0**-30, 0.0, 1.0, None)
    size = 3 * average._BLOCK + 5
    weight = int(summing.weights(np.array([2.0]))[0])
    assert weight >= 2 ** (WEIGHT_BITS - 1)
    found = summing._sum_compiled(np.full(size, 9.0), np.full(size, 2.0))
    assert found == (size * weight * STEPS, size * weight, size * weight * STEPS)


@MODELS
def test_cells_are_those_of_the_twin(model: Model, compiled: pytest.MonkeyPatch) -> None:
    budgets = np.concatenate([columns(5000)[1], [0.0, 1e-300, 2.0**-40, 0.1, 2.0, 1e300, math.inf]])
    fast = np.trim_zeros(Cells(model).count(budgets), "b")
    compiled.undo()
    assert fast.tolist() == Cells(model).count(budgets).tolist()


@pytest.mark.usefixtures("compiled")
def test_private_budgets_of_any_kind_are_cell_0() -> None:
    wrong = np.array([-1.0, math.nan, -math.inf, 0.01])
    assert np.trim_zeros(Cells(UNBOUNDED).count(wrong), "b").tolist() == [4]


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("wrong", [-0.3, math.nan, -math.inf])
def test_public_budgets_are_checked_on_the_way(wrong: float) -> None:
    with pytest.raises(InvalidInputError, match=r"budgets must be >= 0; record 2 has"):
        Cells(BOUNDED).count(np.array([0.1, -0.0, wrong]))


@pytest.mark.usefixtures("compiled")
def test_a_wrong_budget_is_named_by_its_number_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 100)
    budgets = np.ones(1000)
    budgets[789] = -2.0
    with pytest.raises(InvalidInputError, match="record 789 has -2"):
        estimate_mean(np.zeros(1000), budgets)


@MODELS
@pytest.mark.parametrize("density", [0.001, 0.3, 2.0, 2.0**900])
def test_coins_are_those_of_the_twin(model: Model, density: float, compiled: pytest.MonkeyPatch) -> None:
    thinning = Thinning(model, Fraction(1, 2), 0.4, density)
    _, budgets = columns(20_000)
    fast = thinning.keep(Randomness.seeded(3), budgets)
    compiled.undo()
    assert fast.tolist() == thinning.keep(Randomness.seeded(3), budgets).tolist()


@MODELS
def test_threads_change_nothing(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches side by side, compiled, twice: the same seed gives the same result, bit for bit."""
    rng = np.random.default_rng(2)
    values, budgets = rng.normal(5.0, 1.0, 400_000), rng.uniform(0.1, 1.0, 400_000)
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 2**17)

    def estimate() -> float:
        name, budget_range = model.name, model.budget_range
        return estimate_mean(
            values, budgets, model=name, budget_range=budget_range, randomness=Randomness.seeded(4)
        ).mean

    assert estimate() == estimate()
    assert abs(estimate() - 5.0) < 0.02


def test_shuffled_and_split_sources_sum_alike(compiled: pytest.MonkeyPatch) -> None:
    values, budgets = columns(9_000)
    order = np.random.default_rng(5).permutation(9_000)
    summing = Summing(BOUNDED, Fraction(3, 4), 0.7, 4.5, 2.5, 3_000_000)
    whole = ArraySource(values, budgets).sum(summing)
    compiled.setattr("pdpmean.sources.arrays._BATCH", 777)
    assert ArraySource(values[order], budgets[order]).sum(summing) == whole


def test_a_masked_budget_is_none(compiled: pytest.MonkeyPatch) -> None:
    budgets = np.ma.masked_array(np.full(1000, 1.0), mask=[True] + [False] * 999)
    with pytest.raises(InvalidInputError, match="record 0 has nan"):
        estimate_mean(np.zeros(1000), budgets)
    compiled.undo()
    with pytest.raises(InvalidInputError, match="record 0 has nan"):
        estimate_mean(np.zeros(1000), budgets)
