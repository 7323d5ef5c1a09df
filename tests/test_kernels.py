"""The compiled loops give the integers of their NumPy twins, whatever the batch holds, with groups and without."""

from __future__ import annotations

import math
import runpy
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rules import (
    batch_of,
    clip_of,
    clip_weights,
    compiled,
    exact_sums,
    group_sums,
    holders,
    missing_of,
    sums_of,
    table_of,
    thinning_of,
    three,
)

from pdpmean import InvalidInputError, Randomness, estimate_mean
from pdpmean.core import compiled as compiling
from pdpmean.core.bounds import UNKNOWN, Bounds
from pdpmean.core.integers import STEPS, WEIGHT_BITS
from pdpmean.core.kernels import counting, find_at_most, take_below
from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.core.rules import FAR_CELLS, FAR_EDGES, FAR_FROM
from pdpmean.core.threads import SMALLEST_BATCH
from pdpmean.core.types import Floats
from pdpmean.passes import summing as passing
from pdpmean.passes.batch import Batch
from pdpmean.passes.cells import Cells
from pdpmean.passes.summing import Summing
from pdpmean.randomness import source as drawing
from pdpmean.release.any_shape import FarClip
from pdpmean.release.average import summing_of
from pdpmean.release.clip import Clip
from pdpmean.release.shape import ExactSums
from pdpmean.sources.arrays import ArraySource

UNBOUNDED = make_model("unbounded", (0.1, 2.0))
MODELS = pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED], ids=["bounded", "unbounded"])
NEARS = pytest.mark.parametrize("near", [None, 3_000_000])
SIZES = pytest.mark.parametrize("size", [0, 1, 4095, 4096, 10_001])
BOTH_WAYS = pytest.mark.parametrize("way", [nullcontext, compiled], ids=["NumPy", "compiled"])
hostile_values = st.lists(st.floats(), max_size=60).map(np.array).map(np.float64)

Way = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def always_compiled() -> Iterator[None]:
    with compiled():
        yield


def all_sums(rule: Summing, batch: Batch) -> list[ExactSums]:
    """What a batch adds up to, one entry per row."""
    return [ExactSums.of(row) for row in table_of(rule, batch).tolist()]


def columns(size: int, seed: int = 1) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    values = rng.normal(5.0, 3.0, size)
    values[:: max(size // 7, 1)] = [math.nan, math.inf, -math.inf, 1e308, 5e-324, -0.0, 5.0, 2.0][
        : len(values[:: max(size // 7, 1)])
    ]
    return values, rng.uniform(0.0, 3.0, size)


# Sums


@MODELS
@NEARS
@SIZES
def test_sums_are_those_of_the_twin(model: Model, near: int | None, size: int) -> None:
    clip = clip_of(model, Fraction(3, 4), 0.7, 4.5, 2.5, near)
    with compiled():
        fast = sums_of(clip, *columns(size))
    assert fast == sums_of(clip, *columns(size))
    assert size < 9 or len({0, *fast}) == 4


@given(hostile_values, st.floats(-1e300, 1e300), st.floats(1e-280, 1e300), st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_sums_of_hostile_values(values: Floats, middle: float, half: float, squares: bool) -> None:
    clip = clip_of(BOUNDED, Fraction(1), 5.0, middle, half, None if squares else 2**22)
    budgets = np.linspace(0.0, 3.0, values.size)
    with compiled():
        fast = sums_of(clip, values, budgets)
    assert fast == sums_of(clip, values, budgets)


TREATMENTS: dict[str, dict[str, Any]] = {
    "tents": {"near": 3_000_000},
    "squares": {"near": None},
    "squares, and far values apart": {"near": None, "far": True},
}
each_treatment = pytest.mark.parametrize("treatment", TREATMENTS.values(), ids=TREATMENTS)


@MODELS
@SIZES
@each_treatment
def test_every_sum_is_that_of_the_twin(model: Model, size: int, treatment: dict[str, Any]) -> None:
    """The missing weight and far cells as well, with groups and without."""
    clip, other = (clip_of(model, Fraction(3, 4), cap, 4.5, 2.5, **treatment) for cap in (0.7, 0.02))
    alone, grouped = summing_of([clip], grouped=False), summing_of([clip, None, other], grouped=True)
    batches = [(alone, batch_of(*columns(size))), (grouped, batch_of(*columns(size), some_groups(size, 3)))]
    for rule, batch in batches:
        with compiled():
            fast = all_sums(rule, batch)
        assert fast == all_sums(rule, batch)
    assert size < 9 or (missing_of(clip, *columns(size)) > 0) == clip.squares


@given(hostile_values, st.floats(-1e300, 1e300), st.floats(1e-280, 1e300))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_missing_values_are_told_from_hostile_ones(values: Floats, middle: float, half: float) -> None:
    clip = clip_of(BOUNDED, Fraction(1), 5.0, middle, half, None)
    budgets = np.linspace(0.5, 3.0, values.size)
    weights, missing = clip_weights(clip, budgets), np.isnan(values)
    for way in (nullcontext, compiled):
        with way():
            assert missing_of(clip, values, budgets) == weights[missing].sum()
            assert sums_of(clip, values, budgets) == sums_of(clip, values[~missing], budgets[~missing])
            assert sums_of(clip, values, budgets)[1] == weights[~missing].sum()


@BOTH_WAYS
@each_treatment
def test_the_missing_weight_is_that_of_missing_values_alone(way: Way, treatment: dict[str, Any]) -> None:
    clip = clip_of(BOUNDED, Fraction(1, 2), 1.0, 0.0, float(STEPS), **treatment)
    weight = int(clip_weights(clip, np.ones(1))[0])
    with way():
        found = missing_of(clip, [math.nan, 0.0, math.nan, math.inf, -math.inf], [1.0] * 5)
    assert found == (2 * weight if clip.squares else 0)  # nobody asks for it beside tents


def largest_clip(model: Model = BOUNDED, near: int | None = None) -> tuple[Clip, int]:
    """A clip of which a budget of 2 has the largest weight, 2**26 - 1 or hardly less; and that weight."""
    clip = clip_of(model, Fraction(1), 1.0 - 2.0**-30, 0.0, 1.0, near)
    weight = int(clip_weights(clip, np.array([2.0]))[0])
    assert weight >= 2 ** (WEIGHT_BITS - 1)
    return clip, weight


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_at_the_edge_of_a_word(sign: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # The largest weight, 2**26 - 1, times the largest step, over whole blocks: computed here in Python's integers.
    # Without groups, runs are far shorter.
    clip, weight = largest_clip()
    size = 3 * passing._BLOCK + 5
    expected = (sign * size * weight * STEPS, size * weight, size * weight * STEPS)

    def found() -> tuple[int, ...]:
        values, budgets = np.full(size, sign * 9.0), np.full(size, 2.0)
        with compiled():
            return group_sums([clip, clip], values, budgets, np.ones(size))[1]

    assert found() == expected
    monkeypatch.setattr(passing, "_BLOCK", 2**14)
    assert found() != expected, "a word overflows"


@pytest.mark.parametrize("grouped", [False, True], ids=["no groups", "all in one group"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("size", [SMALLEST_BATCH - 1, SMALLEST_BATCH, SMALLEST_BATCH + 4097])
def test_large_batches_of_the_largest_products(size: int, sign: int, grouped: bool) -> None:
    """As large as a batch may be for NumPy, and beyond: the sums are far above 2**63."""
    clip, weight = largest_clip()
    values, budgets = np.full(size, sign * 9.0), np.full(size, 2.0)
    expected = (sign * size * weight * STEPS, size * weight, size * weight * STEPS)
    assert abs(expected[0]) > 2**64
    if grouped:
        found = group_sums([None, clip, clip], values, budgets, np.full(size, 2))
        assert found == [(0, 0, 0), (0, 0, 0), expected, (0, 0, 0)]
    else:
        assert sums_of(clip, values, budgets) == expected


# Sums by level

ALLOWANCES_OF_LEVELS = [0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0]


@MODELS
@pytest.mark.parametrize("levels", range(1, 9))
@each_treatment
def test_levels_that_are_summed_together_are_those_of_the_twin(
    model: Model, levels: int, treatment: dict[str, Any]
) -> None:
    """As many as one loop takes at once, fewer and more; allowances at the edges, without limit and of no number."""
    values, budgets = columns(5000)
    values[::11] = math.nan
    budgets[::9] = np.resize([*ALLOWANCES_OF_LEVELS, 0.0, math.inf, math.nan], budgets[::9].size)
    budgets[::9] /= model.limits[2]
    caps = [0.7, 0.02, 0.3, 0.1, 0.9, 0.05, 0.4, 0.2]
    clips = [clip_of(model, Fraction(3, 4), cap, 4.5, 1.25, **treatment) for cap in caps[:levels]]
    summing = summing_of(clips, [ALLOWANCES_OF_LEVELS[: levels - 1]], grouped=False)
    with compiled():
        fast = all_sums(summing, batch_of(values, budgets))
    assert fast == all_sums(summing, batch_of(values, budgets))
    assert all(own.values and own.counted for own in fast)
    assert all(bool(own.far_weight) == clips[0].far and bool(own.missing) == clips[0].squares for own in fast)


# Sums by group

NARROW_AND_FAR = [(Fraction(3, 4), 0.7, 4.5, 2.5, 3_000_000), (Fraction(1, 7), 0.02, -1e5, 3e5, 7)]


def clips_of(model: Model, *, squares: bool) -> list[Clip | None]:
    """Rules unlike each other, one of a clip so narrow that its steps need two factors; and a group without any."""
    first, second = (
        clip_of(model, share, cap, middle, half, None if squares else near)
        for share, cap, middle, half, near in NARROW_AND_FAR
    )
    return [first, None, second, clip_of(model, Fraction(1, 2), 50.0, 5.0, 2.0**-910, None if squares else 1)]


def some_groups(size: int, groups: int = 4) -> NDArray[np.int32]:
    """One beyond the last is no group that was asked for."""
    return np.random.default_rng(7).integers(0, groups + 1, size).astype(np.int32)


@MODELS
@SIZES
@pytest.mark.parametrize("squares", [False, True])
def test_sums_by_group_are_those_of_the_twin(model: Model, squares: bool, size: int) -> None:
    clips, codes = clips_of(model, squares=squares), some_groups(size)
    with compiled():
        fast = group_sums(clips, *columns(size), codes)
    assert fast == group_sums(clips, *columns(size), codes)


@MODELS
@pytest.mark.parametrize("squares", [False, True])
@BOTH_WAYS
def test_a_group_adds_up_to_what_its_records_alone_do(model: Model, squares: bool, way: Way) -> None:
    clips, codes = clips_of(model, squares=squares), some_groups(10_001)
    values, budgets = columns(10_001)
    with way():
        found = group_sums(clips, values, budgets, codes)
        for group, clip in enumerate(clips):
            own = codes == group
            assert found[group] == (sums_of(clip, values[own], budgets[own]) if clip else (0, 0, 0))
    assert found[4] == (0, 0, 0)
    assert all(extra > 0 for clip, (_, _, extra) in zip(clips[:3], found, strict=False) if clip)


@given(st.lists(st.tuples(st.floats(), st.integers(0, 4)), max_size=60), st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_sums_by_group_of_hostile_values(records: list[tuple[float, int]], squares: bool) -> None:
    clips = clips_of(BOUNDED, squares=squares)
    values, codes = [value for value, _ in records], [code for _, code in records]
    budgets = np.linspace(0.0, 3.0, len(records))
    with compiled():
        fast = group_sums(clips, values, budgets, codes)
    assert fast == group_sums(clips, values, budgets, codes)


@MODELS
@BOTH_WAYS
def test_who_is_of_no_group_or_one_without_a_plan_adds_nothing(model: Model, way: Way) -> None:
    """Whatever they hold and grant, even if that is without limit."""
    values = [0.0, 5.0, math.nan, math.inf, -math.inf, 1e308]
    budgets = [1.0, math.inf, 1e300, 0.0, math.inf, 2.0]
    clips = clips_of(model, squares=False)
    with way():
        for code in (1, 4):
            assert group_sums(clips, values, budgets, [code] * 6) == [(0, 0, 0)] * 5


@BOTH_WAYS
def test_near_is_strictly_within(way: Way) -> None:
    """Values are steps here: 7 is not near, 6 is, and a missing value is not, nor has it a tent."""
    clip = clip_of(BOUNDED, Fraction(1, 2), 1.0, 0.0, float(STEPS), 7)
    values, budgets = [-7.0, -6.0, 0.0, 6.0, 7.0, math.nan, 6.4, 6.6], [1.0] * 8
    weight = int(clip_weights(clip, np.ones(1))[0])
    expected = (13 * weight, 4 * weight, (7 * STEPS - 39) * weight)
    with way():
        assert sums_of(clip, values, budgets) == expected
        assert group_sums([clip, None], values, budgets, [0] * 8)[0] == expected


@BOTH_WAYS
def test_a_missing_value_adds_nothing_but_to_the_missing_weight(way: Way) -> None:
    for near in (None, 7):
        clip = clip_of(BOUNDED, Fraction(1, 2), 1.0, 0.0, float(STEPS), near)
        with way():
            assert sums_of(clip, [math.nan] * 9, [1.0] * 9) == (0, 0, 0)
            assert group_sums([clip, None], [math.nan] * 9, [1.0] * 9, [0] * 9)[0] == (0, 0, 0)


# Far values

FAR_PLACES = [math.nextafter(FAR_FROM, 0.0), FAR_FROM, math.nextafter(FAR_FROM, math.inf), *FAR_EDGES]
FAR_PLACES += [math.nextafter(end, towards) for end in FAR_EDGES for towards in (0.0, math.inf)]
FAR_PLACES += [1.5 * FAR_EDGES[-1], 1e300, math.inf, 0.0, 1.0, float(STEPS)]
BEYOND_BOUNDS = {
    "neither": UNKNOWN,
    "low": Bounds(-float(STEPS), math.inf),
    "high": Bounds(-math.inf, float(STEPS)),
    "far": Bounds(-3.3 * STEPS, 50.0 * STEPS),
}


def far_clip(bounds: Bounds = UNKNOWN, cap: float = 1.0) -> FarClip:
    """Values are steps."""
    return FarClip(BOUNDED, Fraction(1), cap, 0.0, float(STEPS), bounds)


@pytest.mark.parametrize("bounds", BEYOND_BOUNDS.values(), ids=BEYOND_BOUNDS)
def test_far_values_at_the_edges_of_their_cells(bounds: Bounds) -> None:
    """One by one, on either side: the same cell and the same part; nothing is far where the bound is not."""
    for place in FAR_PLACES:
        for value in (place, -place):
            plain = exact_sums(far_clip(bounds), [value], [1.3])
            with compiled():
                assert exact_sums(far_clip(bounds), [value], [1.3]) == plain
            farthest = abs(bounds.high if value > 0 else bounds.low)
            assert (plain.far_weight > 0) == (min(place, farthest) > FAR_FROM)


@given(hostile_values, st.floats(-1e300, 1e300), st.floats(1e-280, 1e300), st.sampled_from([*BEYOND_BOUNDS.values()]))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_far_and_hostile_values(values: Floats, middle: float, half: float, bounds: Bounds) -> None:
    """Whatever they are, everybody is counted once."""
    clip = FarClip(BOUNDED, Fraction(1), 5.0, middle, half, bounds)
    budgets = np.linspace(0.5, 3.0, values.size)
    with compiled():
        fast = exact_sums(clip, values, budgets)
    assert fast == exact_sums(clip, values, budgets)
    assert fast.total_weight == clip_weights(clip, budgets).sum()
    assert 0 <= sum(fast.far) <= fast.far_weight * STEPS


@given(st.lists(st.tuples(st.sampled_from(FAR_PLACES), st.booleans(), st.integers(0, 3)), max_size=60))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_far_values_by_group(records: list[tuple[float, bool, int]]) -> None:
    """Each group by its own rule, one of them without far cells; the last code is of no group."""
    clips = [far_clip(), clip_of(BOUNDED, Fraction(1, 2), 0.3, 1e7, 3e7, None), far_clip(BEYOND_BOUNDS["far"], 0.2)]
    values = [-place if below else place for place, below, _ in records]
    batch = batch_of(values, np.linspace(0.0, 3.0, len(records)), [code for *_, code in records])
    summing = summing_of(clips, grouped=True)
    with compiled():
        fast = all_sums(summing, batch)
    assert fast == all_sums(summing, batch)
    assert fast[3].total_weight == fast[1].far_weight == sum(fast[1].far) == 0


@pytest.mark.parametrize("grouped", [False, True], ids=["no groups", "all in one group"])
def test_many_far_values_of_the_largest_weight(grouped: bool) -> None:
    """Words hold them, in Python's integers, and runs with and without far values add up."""
    clip = FarClip(BOUNDED, Fraction(1), 1.0 - 2.0**-30, 0.0, 1.0)
    weight = int(clip_weights(clip, np.array([2.0]))[0])
    size = 3 * 4096 + 5
    values = np.where(np.arange(size) // 1024 % 2, -math.inf, 0.5)
    far = int(np.isinf(values).sum())
    batch = batch_of(values, np.full(size, 2.0), np.zeros(size) if grouped else None)
    with compiled():
        found = ExactSums.of(table_of(summing_of([clip], grouped=grouped), batch)[0].tolist())
    assert found.far_weight == far * weight
    assert found.far[FAR_CELLS - 1] == sum(found.far) == far * weight * STEPS
    assert found.counted == (size - far) * weight


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("near", [None, STEPS + 1])
def test_the_words_of_a_group_hold_as_many_records_as_they_say(sign: int, near: int | None) -> None:
    """The last of 2**37 records of one group, all of the largest weight and farthest out, or with the largest tent."""
    clip = clip_of(BOUNDED, Fraction(1), 1.0 - 2.0**-30, 0.0, 1.0, near)
    weight = int(clip_weights(clip, np.array([2.0]))[0])
    assert weight >= 2 ** (WEIGHT_BITS - 1)
    one = batch_of([sign * 9.0 if near is None else 0.0], [2.0], [0])
    summing = summing_of([clip], grouped=True)
    with compiled():
        words = table_of(summing, one)[0]
        table = np.zeros(summing.shape, dtype=np.int64)
        table[0] = [(2**37 - 1) * int(word) for word in words]
        summing.tally(one, table)
    number = sign * weight * STEPS if near is None else 0
    assert three(table[0].tolist()) == tuple(2**37 * part for part in (number, weight, weight * STEPS))


def test_a_group_of_the_largest_products_leaves_others_alone() -> None:
    clip, weight = largest_clip()
    codes = np.arange(20_480) // 4096 % 2
    with compiled():
        found = group_sums([clip, clip], np.full(codes.size, 9.0), np.full(codes.size, 2.0), codes)
    assert [row[:2] for row in found] == [(size * weight * STEPS, size * weight) for size in (12_288, 8192, 0)]


# Cells


@MODELS
@pytest.mark.parametrize("groups", [None, 4])
def test_cells_are_those_of_the_twin(model: Model, groups: int | None) -> None:
    budgets = np.concatenate([columns(5000)[1], [0.0, 1e-300, 2.0**-40, 0.1, 2.0, 1e300, math.inf]])
    batch = holders(budgets, None if groups is None else some_groups(budgets.size))
    with compiled():
        fast = table_of(Cells(model, groups), batch)
    assert fast.tolist() == table_of(Cells(model, groups), batch).tolist()
    assert fast.sum() == budgets.size


EDGES = [0.0, 2.0**-41, 2.0**-40, 2.0**-39, 0.1, 0.5, 1.0, 2.0, 3.0, 2.0**40, 2.0**41, 2.0**42, 1e300, math.inf]


@MODELS
@pytest.mark.parametrize("edge", EDGES)
def test_cells_where_all_budgets_are_ordinary_or_one_is_not(model: Model, edge: float) -> None:
    """Budgets beside the ends of what has a cell without further ado, alone and beside others."""
    near = [budget for budget in (math.nextafter(edge, -1), edge, math.nextafter(edge, math.inf)) if budget >= 0]
    for budget in near:
        for budgets in (np.full(5000, budget), np.append(np.full(4999, 0.7), budget)):
            with compiled():
                fast = table_of(Cells(model), holders(budgets))
            assert fast.tolist() == table_of(Cells(model), holders(budgets)).tolist()


@given(st.lists(st.tuples(st.floats(), st.integers(0, 2)), max_size=60))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_cells_of_hostile_budgets(records: list[tuple[float, int]]) -> None:
    batch = holders([budget for budget, _ in records], [code for _, code in records])
    with compiled():
        fast = table_of(Cells(UNBOUNDED, 2), batch)
    assert fast.tolist() == table_of(Cells(UNBOUNDED, 2), batch).tolist()
    assert fast.sum(axis=1).tolist() == [sum(code == group for _, code in records) for group in range(3)]


@MODELS
@pytest.mark.parametrize("edges", [[0.1, 2.0], [0.0, 0.1], [1e-11, math.inf]], ids=["few octaves", "and none", "all"])
def test_cells_by_group_of_few_octaves_and_of_many(model: Model, edges: list[float]) -> None:
    """Whether there are more records than cells between the least and the largest, in all groups, or fewer."""
    for size in (1, 80, 5000):
        budgets = np.append(np.random.default_rng(3).uniform(0.1, 2.0, size), edges)
        batch = holders(budgets, some_groups(budgets.size))
        with compiled():
            fast = table_of(Cells(model, 4), batch)
        assert fast.tolist() == table_of(Cells(model, 4), batch).tolist()


@MODELS
def test_cells_of_a_group_are_those_of_its_records_alone(model: Model) -> None:
    _, budgets = columns(5000)
    codes = some_groups(5000)
    with compiled():
        found = table_of(Cells(model, 4), holders(budgets, codes))
        for group in range(5):
            own = budgets[codes == group]
            assert found[group].tolist() == table_of(Cells(model, 1), holders(own, np.zeros(own.size)))[0].tolist()


def test_all_in_one_group_of_a_large_batch() -> None:
    size = SMALLEST_BATCH + 4097
    found = table_of(Cells(BOUNDED, 2), holders(np.full(size, 2.0), np.ones(size)))
    cell = int(Cells(BOUNDED, 2).cells_of(np.array([2.0]))[0])
    assert found[1, cell] == found.sum() == size


@pytest.mark.usefixtures("always_compiled")
@pytest.mark.parametrize("grouped", [False, True])
def test_a_wrong_budget_is_named_by_its_number_in_the_table(monkeypatch: pytest.MonkeyPatch, grouped: bool) -> None:
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 100)
    budgets = np.ones(1000)
    budgets[789] = -2.0
    groups: dict[str, Any] = {"by": ["a"] * 1000, "groups": ["b"]} if grouped else {}
    with pytest.raises(InvalidInputError, match="record 789 has -2"):
        estimate_mean(np.zeros(1000), budgets, **groups)


# Whole passes


@MODELS
@pytest.mark.parametrize("grouped", [False, True])
def test_threads_change_nothing(model: Model, grouped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches side by side, compiled, twice: the same seed gives the same result, bit for bit."""
    rng = np.random.default_rng(2)
    values, budgets = rng.normal(5.0, 1.0, 400_000), rng.uniform(0.1, 1.0, 400_000)
    labels = rng.integers(0, 3, 400_000)
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 2**17)

    def estimate() -> list[float]:
        options: dict[str, Any] = {"model": model.name, "budget_range": model.budget_range}
        options |= {"randomness": Randomness.seeded(4)}
        if not grouped:
            return [estimate_mean(values, budgets, **options).mean]
        found = estimate_mean(values, budgets, by=labels, groups=[2, 0], **options)
        return [found[2].mean, found[0].mean]

    assert estimate() == estimate()
    assert len(estimate()) == 1 + grouped
    assert all(abs(mean - 5.0) < 0.02 for mean in estimate())


@pytest.mark.usefixtures("always_compiled")
@pytest.mark.parametrize("grouped", [False, True])
def test_shuffled_and_split_sources_sum_alike(grouped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    values, budgets = columns(9_000)
    codes = some_groups(9_000) if grouped else None
    order = np.random.default_rng(5).permutation(9_000)
    clips = clips_of(BOUNDED, squares=False) if grouped else clips_of(BOUNDED, squares=False)[:1]
    summing = summing_of(clips, grouped=grouped)

    def sums(source: ArraySource) -> list[tuple[int, ...]]:
        return [three(row) for row in source.sum(summing).tolist()]

    whole = sums(ArraySource(values, budgets, codes, 4 if grouped else None))
    assert whole == [three(row) for row in table_of(summing, batch_of(values, budgets, codes)).tolist()]
    monkeypatch.setattr("pdpmean.sources.arrays._BATCH", 777)
    shuffled = None if codes is None else codes[order]
    assert sums(ArraySource(values[order], budgets[order], shuffled, 4 if grouped else None)) == whole


def test_a_masked_budget_is_none() -> None:
    budgets = np.ma.masked_array(np.full(1000, 1.0), mask=[True] + [False] * 999)
    with compiled(), pytest.raises(InvalidInputError, match="record 0 is empty"):
        estimate_mean(np.zeros(1000), budgets)
    with pytest.raises(InvalidInputError, match="record 0 is empty"):
        estimate_mean(np.zeros(1000), budgets)


def test_loops_are_compiled_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a certain size on they are needed, and whether data is so large may be private."""
    for kept in (compiling._Cache, compiling._Kept):
        monkeypatch.setattr(kept._impl_class, "_locator_classes", [])
    loops = runpy.run_path(counting.__file__)
    counts, total = np.zeros(9, dtype=np.int64), np.zeros(2, dtype=np.int64)
    assert loops["count_cells"](np.array([1.0, -1.0]), 0.5, 2.0, 1.0, np.uint64(52), 1020, 7, counts, total) == 1
    assert total.tolist() == [2**16, 0]
    assert counts.tolist() == [1, 0, 0, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 4096, 5000])
@pytest.mark.parametrize("limit", [1, 2, 30, 256])
def test_bytes_below_a_limit_are_all_found(size: int, limit: int) -> None:
    first = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    assert find_at_most(first, np.uint8(limit - 1)).tolist() == np.flatnonzero(first < limit).tolist()


@pytest.mark.parametrize("limit", [1, 300, 2**16])
def test_pairs_below_a_limit_are_all_found(limit: int) -> None:
    first = np.random.default_rng(limit).integers(0, 2**16, 5000).astype(np.uint16)
    assert find_at_most(first, np.uint16(limit - 1)).tolist() == np.flatnonzero(first < limit).tolist()


@pytest.mark.parametrize("size", [0, 1, 5000, 2**16 + 5000])
def test_records_below_the_limits_of_their_groups_are_all_taken(size: int) -> None:
    rng = np.random.default_rng(size)
    groups = rng.integers(0, 4, size, np.int32)
    limits, seen = np.array([2**16, 0, 1, 3000]), np.array([5, 0, 0, 0])
    beside = np.clip(limits[groups] + rng.integers(-1, 2, size), 0, 2**16 - 1)
    first = np.where(rng.random(size) < 0.5, beside, rng.integers(0, 2**16, size)).astype(np.uint16)
    given: list[NDArray[Any]] = [np.arange(size) + 0.5, rng.uniform(size=size), groups, first]
    where = np.flatnonzero(first < limits[groups])
    for taken, column in zip(take_below(*given, limits, seen), given, strict=True):
        assert taken.tolist() == column[where].tolist()
        assert taken.dtype == column.dtype
        assert not np.shares_memory(taken, column)
    assert (seen - [5, 0, 0, 0]).tolist() == np.bincount(groups, minlength=4).tolist()


@pytest.mark.parametrize("density", [0.0, 1e-3, 2.0**900])
def test_as_many_are_kept_however_large_a_batch_is(density: float, monkeypatch: pytest.MonkeyPatch) -> None:
    thinning = thinning_of(BOUNDED, 0.5, cap=2.0, density=density)
    batch = Batch(np.empty(0), np.random.default_rng(1).uniform(0.0, 3.0, 5000))
    plain = thinning.keep(batch, Randomness.seeded(1))
    monkeypatch.setattr(drawing, "SMALLEST_BATCH", 1)
    assert thinning.keep(batch, Randomness.seeded(1)).tolist() == plain.tolist()
