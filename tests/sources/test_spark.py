"""Spark DataFrames: the same integers as arrays, coins with their law, tasks that are tried again, errors.

One session for the module; a task that fails is tried three times.
"""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from kept_records import (
    ASKED,
    ONE_IN_A_MILLION,
    accepted,
    chance_of_acceptance,
    kept_flags,
    pair_rates,
    rates_of,
    rows_of,
    rule_of,
    single_rates,
)
from observer import RELEASES, TABLES, named, seen
from powers_of_two import LABELS as OWN_GROUPS
from powers_of_two import PASSES
from powers_of_two import ROWS as TELLING
from pyspark.sql import DataFrame, SparkSession
from rules import UNCAPPED, clip_of, thinning_of
from scipy.stats import binomtest

from pdpmean import InsufficientBudgetError, InvalidInputError, Ledger, Randomness, estimate_mean, plan_mean
from pdpmean.core.bounds import Bounds
from pdpmean.core.integers import STEPS
from pdpmean.core.model import BOUNDED, Model, make_model
from pdpmean.core.options import Options
from pdpmean.core.quiet import quiet
from pdpmean.core.rules import FAR_CELLS, FAR_EDGES, FAR_FROM
from pdpmean.core.types import Floats
from pdpmean.passes.cells import Cells, count_budgets
from pdpmean.passes.source import Source
from pdpmean.passes.summing import Summing
from pdpmean.passes.thinning import Thinning
from pdpmean.release.any_shape import FarClip
from pdpmean.release.average import summing_of
from pdpmean.release.shape import ExactSums
from pdpmean.sources.arrays import ArraySource
from pdpmean.sources.layout import Layout
from pdpmean.sources.merge import MergedSource
from pdpmean.sources.opening import open_table
from pdpmean.sources.read import read
from pdpmean.sources.spark import handshake, positions
from pdpmean.sources.spark import source as spark
from pdpmean.sources.spark.positions import Grid, Toss
from pdpmean.sources.spark.source import SparkSource, _at_heads

UNBOUNDED = make_model("unbounded", (0.01, 3.0))
WIDEST = make_model("unbounded", (2.0**-40, 2.0**40))
MODELS = pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED, WIDEST], ids=["bounded", "unbounded", "widest"])


@pytest.fixture(scope="module")
def session() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
    }
    session = SparkSession.builder.master("local[2,3]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def around(numbers: Floats) -> Floats:
    return np.concatenate([numbers, np.nextafter(numbers, -math.inf), np.nextafter(numbers, math.inf)])


def hostile_budgets(model: Model) -> Floats:
    """Every edge of a cell with its neighbours, and extremes; what is no budget, where that is private."""
    edges = Cells(model).lows[1:-1] * model.budget_per_allowance
    extremes = [0.0, -0.0, 5e-324, 1e-310, 1e308, 1.7976931348623157e308, math.inf]
    private = [math.nan, -math.nan, -5e-324, -1.0, -1e308, -math.inf] if model.budget_range else []
    log_uniform = 2.0 ** np.random.default_rng(1).uniform(-43, 43, 3000)
    return np.concatenate([around(edges), around(2.0 ** np.arange(-60.0, 60.0)), extremes, private, log_uniform])


def hostile_values(size: int) -> Floats:
    """Bell-shaped ones, ties of the rounding, and extremes."""
    rng = np.random.default_rng(2)
    ties = 10.0 + (rng.integers(-9, 9, size) + 0.5) * 4 / STEPS
    extremes = [math.nan, -math.nan, math.inf, -math.inf, 1e308, -1e308, 0.0, -0.0, 5e-324, 10.0, 6.0, 14.0]
    kinds = [rng.normal(10, 3, size), ties, rng.choice(extremes, size)]
    return np.choose(rng.integers(0, 3, size), kinds)


def frame_of(session: SparkSession, *, parts: int = 3, **columns: Any) -> DataFrame:
    return session.createDataFrame(pa.table(columns)).repartition(parts)


def spark_source(frame: DataFrame, **layout: Any) -> Source:
    return SparkSource(frame, Layout(**{"value": "value", "budget": "budget", **layout}))


def summing(model: Model, *, squares: bool, groups: int | None = None) -> Summing:
    """Clips that differ from group to group; every seventh is refused."""
    near = None if squares else 2**20
    clips = [clip_of(model, Fraction(1, 3), 0.7 + g, 10.0 + g / 8, 4.0 * (1 + g), near) for g in range(groups or 1)]
    return summing_of([None if g % 7 == 6 else clip for g, clip in enumerate(clips)], grouped=groups is not None)


@MODELS
def test_hostile_records_give_the_same_integers(session: SparkSession, model: Model) -> None:
    budgets = hostile_budgets(model)
    values = hostile_values(budgets.size)
    spark, arrays = spark_source(frame_of(session, value=values, budget=budgets)), ArraySource(values, budgets)
    assert np.array_equal(spark.census(Cells(model)), arrays.census(Cells(model)))
    assert spark.rows == budgets.size
    for rule in (summing(model, squares=False), summing(model, squares=True)):
        with quiet():  # as all estimates are: the largest budgets overflow, to what the cap is less than
            found = arrays.sum(rule)
        assert spark.sum(rule).tolist() == found.tolist()
        asked = 6 if rule.squares else 5  # nobody asks for the missing weight beside tents
        assert np.abs(found[:, :asked]).min() > 0


FAR_VALUES = [sign * place for place in (FAR_FROM, *FAR_EDGES, 9e30, math.inf, 3.0, math.nan) for sign in (1, -1)]


def far_records() -> tuple[Floats, Floats]:
    """Values at every edge of a far cell, the doubles next to them, and others; a step is 1."""
    values = [near for place in FAR_VALUES for near in (math.nextafter(place, 0.0), place, 1.01 * place)]
    return np.array(values), np.linspace(0.2, 3.0, len(values))


@MODELS
@pytest.mark.parametrize("grouped", [False, True], ids=["no groups", "groups"])
def test_far_values_give_the_same_integers(session: SparkSession, model: Model, grouped: bool) -> None:
    """Each group by its own rule: one without far cells, one between bounds of which one is far."""
    values, budgets = far_records()
    plain = clip_of(model, Fraction(1, 3), 0.7, 0.0, float(STEPS), None)
    bounded = FarClip(model, Fraction(1, 3), 0.7, 0.0, float(STEPS), Bounds(-float(STEPS), 3.5 * STEPS))
    far = clip_of(model, Fraction(1, 3), 0.7, 0.0, float(STEPS), None, far=True)
    codes = (np.arange(values.size) % 4).astype(np.int32)
    if grouped:
        spark = spark_source(
            frame_of(session, value=values, budget=budgets, label=codes), by="label", groups=tuple(range(3))
        )
        arrays = ArraySource(values, budgets, codes, 3)
    else:
        spark, arrays = spark_source(frame_of(session, value=values, budget=budgets)), ArraySource(values, budgets)
    rule = summing_of([far, plain, bounded] if grouped else [far], grouped=grouped)
    found = [ExactSums.of(row) for row in spark.sum(rule).tolist()]
    assert found == [ExactSums.of(row) for row in arrays.sum(rule).tolist()]
    assert sum(number > 0 for number in found[0].far) >= (20 if grouped else 2 * FAR_CELLS)


@pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize("grouped", [False, True], ids=["no groups", "groups"])
def test_levels_of_budgets_give_the_same_integers(session: SparkSession, model: Model, grouped: bool) -> None:
    """Levels that begin at what some budgets grant to the last bit; groups have three, none or two, or are refused."""
    budgets = around(np.tile([0.25, 0.5, 1.0, 2.0, 64.0], 40))
    values, codes = hostile_values(budgets.size), np.random.default_rng(3).integers(0, 5, budgets.size)
    halves = [edge / model.budget_per_allowance for edge in (0.5, 1.0)]
    edges = [halves, [], halves[1:], []] if grouped else [halves]
    far = [clip_of(model, Fraction(1, 3), 0.1 * (row + 1), 10.0, 4.0, None, far=True) for row in range(6)]
    clips = [*far, None] if grouped else far[:3]
    rule = summing_of(clips, edges, grouped=grouped)
    if grouped:
        frame = frame_of(session, value=values, budget=budgets, label=codes)
        spark = spark_source(frame, by="label", groups=tuple(range(4)))
        arrays = ArraySource(values, budgets, codes.astype(np.int32), 4)
    else:
        spark, arrays = spark_source(frame_of(session, value=values, budget=budgets)), ArraySource(values, budgets)
    found = [ExactSums.of(row) for row in spark.sum(rule).tolist()]
    assert found == [ExactSums.of(row) for row in arrays.sum(rule).tolist()]
    assert all(sums.counted for sums in found[:6])


@pytest.mark.parametrize("model", [BOUNDED, UNBOUNDED], ids=["bounded", "unbounded"])
def test_a_thousand_groups_give_the_same_integers(session: SparkSession, model: Model) -> None:
    budgets = np.tile(hostile_budgets(model), 2)
    values = hostile_values(budgets.size)
    labels = np.random.default_rng(3).integers(0, 1200, budgets.size)
    codes = np.where(labels < 1000, labels, 1000).astype(np.int32)
    frame = frame_of(session, value=values, budget=budgets, label=labels)
    spark = spark_source(frame, by="label", groups=tuple(range(1000)))
    arrays = ArraySource(values, budgets, codes, 1000)
    assert np.array_equal(spark.census(Cells(model, 1000)), arrays.census(Cells(model, 1000)))
    rule = summing(model, squares=False, groups=1000)
    with quiet():
        found = arrays.sum(rule)
    assert np.array_equal(spark.sum(rule), found)


ROWS_OF_PEOPLE = {
    "id": pa.array([None if number == 500 else number % 97 for number in range(900)], pa.int32()),
    "value": pa.array(hostile_values(900)),
    "budget": pa.array(
        np.random.default_rng(6).choice([0.5, 1.0, 2.5, math.nan, -1.0], 900, p=[0.3, 0.3, 0.3, 0.05, 0.05])
    ),
    "group": pa.array(np.random.default_rng(7).choice(["north", "south", "east"], 900)),
}


@pytest.mark.parametrize("groups", [{}, {"by": "group", "groups": ("south", "north")}], ids=["together", "groups"])
def test_rows_of_a_person_are_the_record_that_they_are_elsewhere(session: SparkSession, groups: dict[str, Any]) -> None:
    layout = {"person": "id", "merged": True, "public": False, **groups}
    ours = spark_source(frame_of(session, **ROWS_OF_PEOPLE), **layout)
    with quiet():
        table: Any = open_table(pa.table(ROWS_OF_PEOPLE), Layout("value", "budget", **layout))
        theirs = MergedSource(table, public=False)
    rule = summing(UNBOUNDED, squares=not groups, groups=len(groups.get("groups", ())) or None)
    with quiet():
        assert (ours.sum(rule) == theirs.sum(rule)).all()
    (found, budgets), *_ = ours.people()
    expected = [entry for ids, granted in theirs.people() for entry in zip(ids, granted.tolist(), strict=True)]
    # Spark has the least budget there is where another has none; neither is one.
    assert Counter(zip(found, budgets.tolist(), strict=True)) == Counter(
        (person, -math.inf if math.isnan(budget) else budget) for person, budget in expected
    )


def test_rows_of_bytes_that_are_no_text_are_nobodys(session: SparkSession) -> None:
    frame = frame_of(session, value=[1.0, 2.0], budget=[1.0, 1.0], id=["a", "b"])
    strange = frame.selectExpr("value", "budget", "if(id = 'a', cast(unhex('FFFE') as string), id) as id")
    (ids, _), *_ = spark_source(strange, person="id", public=False).people()
    (merged, _), *_ = spark_source(strange, person="id", merged=True, public=False).people()
    assert (sorted(ids, key=str), merged) == ([None, "b"], ["b"])


def test_rows_of_nobody_are_refused_where_people_are_public(session: SparkSession) -> None:
    frame = frame_of(session, **{**ROWS_OF_PEOPLE, "budget": pa.array([1.0] * 900)})
    with pytest.raises(InvalidInputError, match="must name the person of every record; some have none"):
        spark_source(frame, person="id", merged=True)
    with pytest.raises(InvalidInputError, match="must be text or whole numbers"):
        spark_source(frame, person="value", merged=True)
    named = frame.where("id is not null")
    assert plan_mean(named, budget="budget", person="id", rows="mean", bounds=(0, 20)).total == 97


def test_public_infinities_in_refused_groups_add_nothing(session: SparkSession) -> None:
    frame = frame_of(session, value=[1.0, 2.0], budget=[math.inf, math.inf], label=[6, 7])
    table = spark_source(frame, by="label", groups=range(7)).sum(summing(BOUNDED, squares=False, groups=7))
    assert not table.any()


KINDS: dict[str, tuple[str, str]] = {
    "integers": ("bigint", "tinyint"),
    "floats": ("float", "float"),
    "decimals": ("decimal(38,6)", "decimal(9,2)"),
    "truth": ("boolean", "boolean"),
    "nothing": ("void", "double"),
}


@pytest.mark.parametrize("kinds", KINDS.values(), ids=KINDS)
def test_types_of_numbers_give_the_same_integers(session: SparkSession, kinds: tuple[str, str]) -> None:
    rng = np.random.default_rng(4)
    value = None if kinds[0] == "void" else [1 if n == 0 else None for n in rng.integers(0, 3, 300)]
    rows = [(None if value is None else value[i], int(rng.integers(0, 2)) if i % 5 else None) for i in range(300)]
    frame = session.createDataFrame(rows, "v int, b int").selectExpr(
        f"cast(v as {kinds[0]}) as value" if value else "null as value", f"cast(b as {kinds[1]}) as budget"
    )
    values, budgets = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    spark, arrays = spark_source(frame), ArraySource(values, budgets)
    assert np.array_equal(spark.census(Cells(UNBOUNDED)), arrays.census(Cells(UNBOUNDED)))
    rule = summing(UNBOUNDED, squares=False)
    assert np.array_equal(spark.sum(rule), arrays.sum(rule))


def test_long_decimals_are_the_nearest_doubles(session: SparkSession) -> None:
    texts = ["0.1", "1234567890123.123456", "99999999999999999999.999999", "-0.000001"]
    rows = ", ".join(f"(cast('{text}' as decimal(38,6)), 1.0D)" for text in texts)
    source = spark_source(session.sql(f"select * from values {rows} as t(value, budget)"))
    assert sorted(source.sample(everything(), Randomness.seeded(1)).values) == sorted(map(float, texts))


LABELS = ["north", "north", "South", "SOUTH", "west", None, "", "o'neil\\`", "north"]
LISTED = ("south", "north", "SOUTH", "o'neil\\`")
CODES = [1, 1, 4, 2, 4, 4, 4, 3, 1]


@pytest.mark.parametrize("collation", ["UTF8_BINARY", "UTF8_LCASE"])
def test_groups_are_matched_by_their_exact_names(session: SparkSession, collation: str) -> None:
    frame = frame_of(session, value=np.arange(9.0), budget=np.ones(9), label=LABELS)
    frame = frame.selectExpr("value", "budget", f"collate(label, '{collation}') as label")
    source = spark_source(frame, by="label", groups=LISTED)
    assert source.groups == 4
    assert source.census(Cells(BOUNDED, 4)).sum(axis=1).tolist() == [0, 3, 1, 1, 4]
    kept = source.sample(everything(groups=4), Randomness.seeded(1))
    assert kept.groups is not None
    assert sorted(zip(kept.values, kept.groups, strict=True)) == [(i, code) for i, code in enumerate(CODES) if code < 4]


@pytest.mark.parametrize(
    ("kind", "groups"),
    [
        ("int", (3, 1)),
        ("double", (3, 1.0)),
        ("decimal(5,2)", ("3", "1.00")),
        ("boolean", (False, True)),
        ("date", ("1970-01-04", "1970-01-02")),
        ("timestamp", ("1970-01-01 00:00:03Z", "1970-01-01 00:00:01Z")),
        ("binary", ("3", "1")),
    ],
)
def test_groups_of_other_types(session: SparkSession, kind: str, groups: tuple[Any, ...]) -> None:
    source = f"date_from_unix_date({'x'})" if kind == "date" else f"cast({'s' if kind == 'binary' else 'x'} as {kind})"
    frame = session.createDataFrame([(1.0, x, str(x)) for x in (1, 1, None, 1)], "value double, x int, s string")
    frame = frame.selectExpr("value", "1 as budget", f"if(x is null, null, {source}) as label")
    counted = spark_source(frame, by="label", groups=groups).census(Cells(BOUNDED, 2))
    assert counted.sum(axis=1).tolist() == [0, 3, 1]


@pytest.mark.parametrize(
    ("kind", "entries", "equals"),
    [
        ("string", ["'a'", "'A'", "null"], "a"),
        ("string collate UTF8_LCASE", ["'a'", "'A'", "null"], "a"),
        ("int", ["1", "2", "null"], "1"),
        ("float", ["0.1", "2", "'nan'"], "0.1"),
        ("double", ["-0.0", "2", "'nan'"], "0"),
        ("decimal(5,2)", ["1.5", "2", "null"], "1.50"),
        ("boolean", ["true", "false", "null"], "True"),
        ("date", ["'2024-01-02'", "'2024-01-03'", "null"], "2024-01-02"),
        ("timestamp", ["'2024-01-02 00:00:03'", "'2024-01-03'", "null"], "2024-01-02 00:00:03Z"),
        ("binary", ["'a'", "'b'", "null"], "a"),
    ],
)
def test_entries_equal_to_one(session: SparkSession, kind: str, entries: list[str], equals: str) -> None:
    text, _, collation = kind.partition(" ")
    columns = [f"select cast({entry} as {text}) {collation} as value, 1.0D as budget" for entry in entries]
    source = SparkSource(session.sql(" union all ".join(columns)), Layout("value", "budget", equals=equals))
    found = source._records.toArrow()["value"].to_numpy()
    assert np.array_equal(found, [1, 0, math.nan], equal_nan=True)


def test_the_type_of_yes_and_no_is_known(session: SparkSession) -> None:
    frame = session.sql("select id % 3 = 0 as member, id as number, 0.5D as budget from range(4)")
    assert SparkSource(frame, Layout("member", "budget")).is_boolean
    assert not SparkSource(frame, Layout("number", "budget")).is_boolean
    assert not SparkSource(frame, Layout("member", "budget", equals="true")).is_boolean
    merged = Layout("member", "budget", person="number", merged=True)
    assert SparkSource(frame, merged).is_boolean


def test_zeros_of_both_signs_are_one_group(session: SparkSession) -> None:
    frame = frame_of(session, value=[1.0], budget=[1.0], label=[-0.0])
    source = spark_source(frame, by="label", groups=("0.0", "-0.0"))
    with pytest.raises(InvalidInputError, match="0 and -0 are equal"):
        source.census(Cells(BOUNDED, 2))


def test_totals_are_those_of_arrays(session: SparkSession) -> None:
    budgets = np.append(np.random.default_rng(3).lognormal(-1, 3, 4_000), [0.0, math.inf])
    for some in (budgets, budgets[budgets < 2**11], np.full(5_000, 0.1)):
        (found,) = count_budgets(spark_source(frame_of(session, value=some, budget=some)), BOUNDED)
        (expected,) = count_budgets(ArraySource(some, some), BOUNDED)
        assert found.total == expected.total
    assert found.total == 250.0


def test_tiers_become_budgets(session: SparkSession) -> None:
    tiers = {"strict": 0.25, "open": math.inf, "never": 0.0}
    names = ["open", "strict", "strict", "never", "Strict", None]
    frame = frame_of(session, value=np.arange(6.0), budget=names)
    private = make_model("unbounded", (0.125, 4.0))
    budgets = np.array([math.inf, 0.25, 0.25, 0.0, math.nan, math.nan])
    source = spark_source(frame, tiers=tiers, public=False)
    assert np.array_equal(source.census(Cells(private)), ArraySource(np.arange(6.0), budgets).census(Cells(private)))
    with pytest.raises(InvalidInputError, match="2 records have a tier that tiers does not list: strict, open, never"):
        spark_source(frame, tiers=tiers).census(Cells(BOUNDED))


def test_one_budget_for_all(session: SparkSession) -> None:
    source = spark_source(frame_of(session, value=[1.0, math.nan, 3.0]), budget=0.5)
    assert np.array_equal(
        source.census(Cells(BOUNDED)), ArraySource(np.zeros(3), np.full(3, 0.5)).census(Cells(BOUNDED))
    )


def test_column_names_are_not_parsed_as_expressions(session: SparkSession) -> None:
    names = ["a.b", "A.B", "c`d e", "select *"]
    row: dict[str, Any] = dict(zip(names, [[1.0], [2.0], [0.5], ["x"]], strict=True))
    frame = frame_of(session, **row)
    session.conf.set("spark.sql.caseSensitive", "false")
    source = spark_source(frame, value="A.B", budget="c`d e", by="select *", groups=("x",))
    kept = source.sample(everything(groups=1), Randomness.seeded(1))
    assert (kept.values.tolist(), kept.budgets.tolist()) == ([2.0], [0.5])


def everything(groups: int | None = None) -> Thinning:
    """Keeps all who grant something."""
    ones = np.ones(1) if groups is None else np.append(np.ones(groups), 0.0)
    return Thinning(WIDEST, ones, ones, ones * UNCAPPED, ones, ones * 2.0**60)


RATES = {0.1: 0.02, 1.0: 0.2, 2.0: 0.4, 9.0: 0.5, 0.0: 0.0}  # of each budget


def kept_of_each(session: SparkSession, density: float) -> dict[float, int]:
    budgets = np.tile(list(RATES), 10_000)
    rule = thinning_of(WIDEST, 1, cap=2.5, density=density)
    kept = spark_source(frame_of(session, value=budgets, budget=budgets)).sample(rule, Randomness.seeded(11))
    assert np.array_equal(kept.values, kept.budgets)
    return {budget: int(np.sum(kept.budgets == budget)) for budget in RATES}


def test_coins_have_their_law(session: SparkSession) -> None:
    def p_value(density: float) -> float:
        kept = kept_of_each(session, density)
        return min(binomtest(count, 10_000, RATES[budget]).pvalue for budget, count in kept.items())

    assert p_value(0.2) > 1e-6
    assert p_value(0.22) < 1e-6, "a mutant"


class SameCoins:
    """A mutant: every task has the same coins."""

    def remote(self) -> Callable[[str], Randomness]:
        return lambda _: Randomness.seeded(5)


@pytest.mark.parametrize(
    ("randomness", "same"), [(Randomness.seeded(5), False), (Randomness.secure(), False), (SameCoins(), True)]
)
def test_no_two_tasks_share_coins(session: SparkSession, randomness: Any, same: bool) -> None:
    twice = session.range(0, 800, 1, numPartitions=2).selectExpr("id % 400 as value", "1 as budget")
    rule = thinning_of(WIDEST, 1, cap=1.0, density=0.5)
    kept = spark_source(twice).sample(rule, randomness)
    _, times = np.unique(kept.values, return_counts=True)
    assert bool((times == 2).all()) is same
    assert 200 < kept.values.size < 600


def test_a_seed_repeats_itself(session: SparkSession) -> None:
    source = spark_source(frame_of(session, value=np.arange(999.0), budget=np.ones(999)))
    rule = thinning_of(WIDEST, 1, cap=1.0, density=0.3)
    first, again, other = (source.sample(rule, Randomness.seeded(seed)).values.tolist() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def failing_once(frame: DataFrame) -> DataFrame:
    """The same records, of which every task fails in its first attempt, after its last record."""

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        yield from batches
        task = TaskContext.get()
        if task is not None and task.attemptNumber() == 0:
            raise RuntimeError("lost")

    return frame.mapInArrow(fail, frame.schema)


def test_a_task_that_is_tried_again_changes_no_integer_and_has_other_coins(session: SparkSession) -> None:
    budgets = hostile_budgets(UNBOUNDED)
    values = hostile_values(budgets.size)
    frame = frame_of(session, parts=1, value=values, budget=budgets)
    lost, whole, arrays = spark_source(failing_once(frame)), spark_source(frame), ArraySource(values, budgets)
    assert np.array_equal(lost.census(Cells(UNBOUNDED)), arrays.census(Cells(UNBOUNDED)))
    assert np.array_equal(lost.sum(summing(UNBOUNDED, squares=True)), arrays.sum(summing(UNBOUNDED, squares=True)))
    rule = thinning_of(UNBOUNDED, 1, cap=3.0, density=0.1)
    again, first = (source.sample(rule, Randomness.seeded(1)).budgets for source in (lost, whole))
    rates = rule.rates(rule.weights(budgets))
    for kept in (again, first):
        assert abs(kept.size - rates.sum()) < 5 * math.sqrt(rates.sum())
    assert sorted(again) != sorted(first)


MANY = 60_000
WIDE = rows_of(np.resize([2.0, 4.0, 8.0], MANY).tolist(), np.resize(["north", "south", "north", "west"], MANY).tolist())


@contextmanager
def batches_of(session: SparkSession, size: int) -> Iterator[None]:
    """A task gets its partition in batches of so many records."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = session.conf.get(name)
    session.conf.set(name, size)
    yield
    session.conf.set(name, str(before))


@pytest.mark.parametrize("groups", [None, ASKED], ids=["together", "groups"])
def test_records_are_kept_at_their_rates_and_independently(
    session: SparkSession, groups: tuple[str, ...] | None
) -> None:
    """Records in order, of which a partition has 10 000; a rate a quarter too large passes once in a million times."""
    region = "element_at(array('north', 'south', 'north', 'west'), cast(id % 4 + 1 as int)) as region"
    budget = "element_at(array(2D, 4D, 8D), cast(id % 3 + 1 as int)) as epsilon"
    frame = session.range(0, MANY, 1, numPartitions=6).selectExpr("cast(id as double) as income", budget, region)
    by = None if groups is None else "region"
    source = read(frame, None, Options(value="income", budget="epsilon", by=by, groups=groups))
    source.prepare_sample(Randomness.seeded(1))
    source.census(Cells(BOUNDED, source.groups))
    with batches_of(session, 2500 if groups is None else 1875):  # of 2500 records, a quarter is of no group asked for
        kept = kept_flags(source.sample(rule_of(groups), Randomness.seeded(2)).values, MANY)
    rates = np.array(rates_of(WIDE, groups))
    counts = single_rates(rates, kept)
    assert accepted(counts, lambda rate: rate)
    assert chance_of_acceptance(counts, factor=1.25) < ONE_IN_A_MILLION
    for lag in (1, 2500, 10_000):  # neighbours, and those at the same place in two batches and in two partitions
        numbers = np.arange(MANY).reshape(-1, 2, lag)
        pairs = np.column_stack([numbers[:, 0].ravel(), numbers[:, 1].ravel()])
        assert accepted(pair_rates(rates, kept, pairs), math.prod)


def test_every_record_is_there_exactly_once(session: SparkSession) -> None:
    columns = {"income": TELLING.values, "epsilon": TELLING.budgets, "region": list(OWN_GROUPS)}
    frame = frame_of(session, parts=7, **columns)
    together = read(frame, None, Options(value="income", budget="epsilon"))
    grouped = read(frame, None, Options(value="income", budget="epsilon", by="region", groups=OWN_GROUPS))
    for name in ("census", "sum", "sample"):
        run, of_all, of_each = PASSES[name]
        assert run(together) == of_all, name
        assert run(grouped) == of_each, f"{name}, in groups"


LIGHT = {0.0: 0.0, 0.1: 0.005, 0.3: 0.015, 0.6: 0.03}  # rates that have a first coin, of 1/32
HEAVY = {1.0: 0.05, 10.0: 0.5, math.inf: 0.5}


@pytest.fixture
def worth(monkeypatch: pytest.MonkeyPatch) -> None:
    """First coins are tossed however few records they leave out."""
    monkeypatch.setattr(positions, "_WORTH", 1)


def mixed(session: SparkSession, size: int = 60_000) -> DataFrame:
    """Mostly light budgets, in partitions of different sizes, one of them empty."""
    each = [*list(LIGHT) * 30, *HEAVY]
    whole = session.createDataFrame(pa.table({"budget": np.resize(each, size)}))
    empty, short = whole.where("budget < 0"), whole.limit(1000).coalesce(1)
    frame = whole.repartition(3).union(empty).union(short)
    return frame.selectExpr("budget as value", "budget")


def with_toss(frame: DataFrame, rule: Thinning, bits: int = 5, **layout: Any) -> SparkSource:
    """A source that has been counted and so tosses first coins."""
    source = SparkSource(frame, Layout(**{"value": "value", "budget": "budget", **layout}))
    source.census(Cells(rule.model))
    toss = source._plan_toss(rule)
    assert toss is not None
    assert toss.bits == bits
    return source


MIXED = thinning_of(BOUNDED, 1, cap=5.0, density=0.1)


def mixed_p_value(source: SparkSource, frame: DataFrame, seed: int = 1) -> float:
    """How likely so many of each budget are."""
    totals = {row["budget"]: row["count"] for row in frame.groupBy("budget").count().collect()}
    kept = source.sample(MIXED, Randomness.seeded(seed))
    assert np.array_equal(kept.values, kept.budgets)
    counts = {budget: int(np.sum(kept.budgets == budget)) for budget in totals}
    rates = LIGHT | HEAVY
    return min(binomtest(counts[budget], totals[budget], rates[budget]).pvalue for budget in totals)


@pytest.mark.usefixtures("worth")
def test_two_coins_have_the_law_of_one(session: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = mixed(session).persist()
    source = with_toss(frame, MIXED)
    toss = source._plan_toss(MIXED)
    assert toss is not None
    sent = _at_heads(source._records, toss, Randomness.seeded(1)).collect()
    assert {row["budget"] for row in sent if not row["tossed"]} == set(HEAVY)
    assert sum(row["tossed"] for row in sent) < 60_000 / 20
    assert mixed_p_value(source, frame) > 1e-6
    assert mixed_p_value(SparkSource(frame, Layout("value", "budget")), frame) > 1e-6, "without first coins"
    with monkeypatch.context() as mutant:
        mutant.setattr(Thinning, "among", lambda rule, _: rule)
        assert mixed_p_value(source, frame) < 1e-6, "the first coin forgotten"
    with monkeypatch.context() as mutant:
        mutant.setattr(spark, "tossed", lambda _: "true")
        assert mixed_p_value(source, frame) < 1e-6, "a first coin for all"
    frame.unpersist()


@pytest.mark.usefixtures("worth")
@pytest.mark.parametrize("grid", [Grid(3, 100), Grid(1, 10**6), Grid(50, 20_001), Grid(1, 1)])
def test_positions_other_than_those_counted_change_no_law(session: SparkSession, grid: Grid) -> None:
    frame = mixed(session)
    source = with_toss(frame, MIXED)
    source._plan_toss = lambda _: Toss(grid, 5, 0.6)
    assert mixed_p_value(source, frame) > 1e-6


@pytest.mark.usefixtures("worth")
def test_a_task_that_is_tried_again_finds_the_same_first_coins(session: SparkSession) -> None:
    frame = failing_once(mixed(session))
    assert mixed_p_value(with_toss(frame, MIXED), mixed(session)) > 1e-6
    toss = Toss(Grid(5, 30_000), 3, math.inf)
    lost, whole = (
        _at_heads(SparkSource(one, Layout("value", "budget"))._records, toss, Randomness.seeded(1)).collect()
        for one in (frame, mixed(session))
    )
    assert sorted(lost) == sorted(whole)


@pytest.mark.usefixtures("worth")
def test_first_coins_are_drawn_anew_and_repeated_by_a_seed(session: SparkSession) -> None:
    numbers = session.range(0, 9000, 1, numPartitions=3).selectExpr("id as value")
    rule = thinning_of(BOUNDED, 1, cap=1.0, density=0.24)
    source = with_toss(numbers, rule, bits=4, budget=0.5)
    seeds = [Randomness.seeded(1), Randomness.seeded(1), Randomness.seeded(2), Randomness.secure()]
    first, again, *others = (source.sample(rule, seed).values.tolist() for seed in seeds)
    assert first == again
    assert first not in others
    assert binomtest(len(set(first)), 9000, 0.06).pvalue > 1e-6


@pytest.mark.usefixtures("worth")
def test_first_coins_of_tiers_and_of_private_budgets_that_are_none(session: SparkSession) -> None:
    names = np.resize(["open", "strict", "strict", "never", "Strict", None], 30_000)
    frame = frame_of(session, value=np.arange(30_000.0), budget=pa.array(names.tolist()))
    rule = thinning_of(make_model("unbounded", (0.125, 4.0)), 1, cap=4.0, density=0.015)
    tiers = {"strict": 0.25, "open": math.inf, "never": 0.0}
    source = with_toss(frame, rule, bits=4, tiers=tiers, public=False)
    kept = source.sample(rule, Randomness.seeded(1)).budgets
    assert set(kept.tolist()) == {0.25, math.inf}
    assert binomtest(int(np.sum(kept == 0.25)), 10_000, 0.25 * 0.015).pvalue > 1e-6
    assert binomtest(int(np.sum(kept == math.inf)), 5_000, 0.06).pvalue > 1e-6


def test_positions_are_numbered_once_and_before_anything_is_left_out(session: SparkSession) -> None:
    records = SparkSource(mixed(session), Layout("value", "budget"))._records
    frame = _at_heads(records, Toss(Grid(2, 50), 1, 1.0), Randomness.seeded(1))
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("monotonically_increasing_id()") == 1
    order = [plan.index(step) for step in ("Filter", "Join LeftOuter", "monotonically_increasing_id()", "Union")]
    assert order == sorted(order)


def people(session: SparkSession, size: int = 40_000) -> DataFrame:
    rng = np.random.default_rng(6)
    regions = rng.choice(["north", "south", "west"], size)
    incomes = rng.normal(50.0, 4.0, size) + 10 * (regions == "south")
    return frame_of(session, income=incomes, epsilon=rng.uniform(0.05, 1.0, size), region=pa.array(regions.tolist()))


@pytest.mark.parametrize(
    "options", [{}, {"model": "unbounded", "budget_range": (0.05, 1.0)}], ids=["bounded", "unbounded"]
)
def test_a_whole_estimate(session: SparkSession, options: dict[str, Any]) -> None:
    calls: list[tuple[str, int, int | None]] = []
    estimate = estimate_mean(
        people(session).where("region != 'south'"),
        value="income",
        budget="epsilon",
        randomness=Randomness.seeded(1),
        progress=lambda *call: calls.append(call),
        **options,
    )
    assert abs(estimate.mean - 50.0) < 0.3
    assert 3.7 < estimate.scale < 4.3
    steps = ("census", "sample", "sum")
    if options:
        assert calls == [(step, part, 100) for step in steps for part in range(1, 101)]
    else:
        rows = calls[-1][1]
        assert 20_000 < rows < 30_000
        started = [("sample", 0, rows), ("sample", rows, rows), ("sum", 0, rows), ("sum", rows, rows)]
        assert calls == [("census", 0, None), ("census", rows, rows), *started]


def test_a_whole_estimate_of_groups(session: SparkSession) -> None:
    result = estimate_mean(
        people(session), value="income", budget="epsilon", by="region", groups=["south", "nowhere", "north"]
    )
    assert abs(result.estimates["south"].mean - 60.0) < 0.5
    assert abs(result.estimates["north"].mean - 50.0) < 0.5
    assert list(result.refused) == ["nowhere"]
    assert result.private


@pytest.mark.parametrize("release", ["groups", "so many that few are located", "equal to an entry"])
def test_an_observer_sees_released_numbers_alone(session: SparkSession, release: str) -> None:
    frames = [frame_of(session, **TABLES[name]) for name in ("nobody", "some", "strange")]
    found = [seen(named(frame), RELEASES[release]) for frame in frames]
    assert all(one == found[0] for one in found)


def test_a_plan_reads_budgets_alone(session: SparkSession) -> None:
    rng = np.random.default_rng(7)
    budgets = rng.uniform(0.05, 1.0, 9000)
    plan = plan_mean(frame_of(session, epsilon=budgets), budget="epsilon")
    assert plan.expected_std == pytest.approx(plan_mean(budgets).expected_std, rel=0.01)


def test_a_frame_without_records(session: SparkSession) -> None:
    frame = session.createDataFrame([], "value double, budget double, id int")
    source = spark_source(frame, person="id")
    assert not source.census(Cells(BOUNDED)).any()
    assert source.rows == 0
    assert not source.sum(summing(BOUNDED, squares=True)).any()
    assert source.sample(everything(), Randomness.seeded(1)).values.size == 0
    assert not source.duplicate_person()
    with pytest.raises(InsufficientBudgetError):
        estimate_mean(frame, value="value", budget="budget")


def test_people_with_two_records(session: SparkSession) -> None:
    rows = [(1.0, 1.0, f"p{i}", i if i != 5 else None) for i in range(20)]
    frame = session.createDataFrame(rows, "value double, budget double, id string, other int")
    assert not spark_source(frame, person="id").duplicate_person()
    assert spark_source(frame.union(frame.limit(1)), person="id").duplicate_person()
    with pytest.raises(InvalidInputError, match="person='other' must name the person of every record"):
        spark_source(frame, person="other").duplicate_person()
    with pytest.raises(InvalidInputError, match="more than one record"):
        estimate_mean(frame.union(frame), value="value", budget="budget", person="id")


@pytest.mark.parametrize("budget", [-0.5, math.nan, None, -math.inf])
def test_a_public_budget_that_is_none(session: SparkSession, budget: float | None) -> None:
    frame = frame_of(session, value=[4711.0] * 3, budget=[1.0, budget, budget], region=["a", "b", "c"])
    with pytest.raises(InvalidInputError, match="2 records have a negative or missing budget") as raised:
        estimate_mean(frame, value="value", budget="budget", by="region", groups=["a", "b"])
    assert raised.value.name == "budgets"


def test_what_is_wrong_with_columns(session: SparkSession) -> None:
    frame = session.sql("select 1.0D as income, 0.5D as epsilon, 'x' as word, current_date() as day, array(1) as list")

    def problem(**options: Any) -> str:
        with pytest.raises(InvalidInputError) as raised:
            estimate_mean(frame, **{"value": "income", "budget": "epsilon", **options})
        return str(raised.value)

    assert problem(value="Income").startswith("the DataFrame has no column 'Income'; did you mean 'income'?")
    assert problem(value="word") == (
        "value='word' must be a column of numbers; its type is string. "
        "For the share of one of its entries, use equals='yes'"
    )
    assert "value='day' must be a column of numbers" in problem(value="day")
    assert "pass tiers=" in problem(budget="word")
    assert "groups must be entries that column 'day'" in problem(by="day", groups=["x"])
    assert "person='list' must be a column of ids" in problem(person="list")


def test_what_is_no_table_of_spark(session: SparkSession) -> None:
    with pytest.raises(InvalidInputError, match="must be a DataFrame"):
        estimate_mean(people(session).income, 1.0, value="income")
    with pytest.raises(InvalidInputError, match="save it first"):
        estimate_mean(session.readStream.format("rate").load(), 1.0, value="value")


def test_errors_of_spark_quote_no_record(session: SparkSession) -> None:
    rows = [(str(number), 1.0) for number in [*range(50), "secret 4711"]]
    frame = session.createDataFrame(rows, "income string, epsilon double").selectExpr(
        "cast(income as double) as income", "epsilon"
    )
    with pytest.raises(InvalidInputError, match="failed while Spark was reading it") as raised:
        spark_source(frame, value="income", budget="epsilon").sum(summing(BOUNDED, squares=True))
    assert "4711" not in str(raised.value)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_without_a_dataframe_spark_is_not_imported() -> None:
    code = """
import sys, pyarrow, pdpmean
table = pyarrow.table({"value": [1.0] * 9000, "budget": [1.0] * 9000})
pdpmean.estimate_mean(table, value="value", budget="budget", bounds=(0, 2))
sys.exit("pyspark" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False).returncode == 0


@pytest.fixture(scope="module")
def other_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a pdpmean of one line more, which tells that it was loaded, and a Python that has it."""
    folder = tmp_path_factory.mktemp("other")
    shutil.copytree(Path(handshake.__file__).parents[2], folder / "pdpmean")
    with open(folder / "pdpmean" / "sources" / "spark" / "worker.py", "a") as module:
        module.write(f"\nopen({str(folder / 'told')!r}, 'w').close()\n")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return folder


@pytest.fixture
def other_worker(session: SparkSession, other_package: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Workers with that Python; gives the file that is there once they have loaded what tosses coins."""
    monkeypatch.setattr(session.sparkContext, "pythonExec", str(other_package / "python"))
    return other_package / "told"


UNLIKE = r"^Spark's workers must have the pdpmean that this program has, \S+ \(\w{16}\); they have "


@pytest.mark.parametrize("options", [{}, {"model": "unbounded", "budget_range": (0.05, 1.0)}], ids=str)
def test_workers_with_another_version_are_refused_before_anything_is_drawn(
    session: SparkSession, other_worker: Path, options: dict[str, Any]
) -> None:
    randomness, untouched = Randomness.seeded(1), Randomness.seeded(1)
    steps: list[str] = []
    with pytest.raises(InvalidInputError, match=UNLIKE + r"\S+ \(\w{16}\)\. PYSPARK_PYTHON") as raised:
        estimate_mean(
            people(session, 200),
            value="income",
            budget="epsilon",
            randomness=randomness,
            progress=lambda step, *_: steps.append(step),
            **options,
        )
    untouched.spawn()  # what a sample is prepared with, whatever the source
    assert randomness.words(3).tolist() == untouched.words(3).tolist()
    assert steps == []
    assert not other_worker.exists()
    assert raised.value.__context__ is None


@pytest.mark.parametrize("grouped", [False, True])
def test_a_worker_that_comes_later_is_asked_before_it_tosses_a_coin(
    session: SparkSession, other_worker: Path, grouped: bool
) -> None:
    layout: dict[str, Any] = {"by": "label", "groups": (1, 2)} if grouped else {}
    frame = frame_of(session, value=[4711.0] * 9, budget=[1.0] * 9, label=[1, 2, 3] * 3)
    rule = everything(groups=2 if grouped else None)
    with pytest.raises(InvalidInputError, match=UNLIKE + "another version of it, or other code") as raised:
        spark_source(frame, **layout).sample(rule, Randomness.seeded(1))
    assert "4711" not in str(raised.value)
    assert not other_worker.exists()


def test_a_worker_without_a_pdpmean_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Path:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(resources, "files", missing)
    (told,) = handshake.answer(iter([]))
    assert told.to_pylist() == [{"pdpmean": "none"}]
    with pytest.raises(ModuleNotFoundError):
        handshake.fingerprint()


def test_a_plan_needs_no_workers(session: SparkSession, other_worker: Path) -> None:
    assert plan_mean(people(session), budget="epsilon").expected_std > 0
    assert not other_worker.exists()


def test_any_line_of_any_module_makes_another_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = handshake.fingerprint()
    shutil.copytree(Path(handshake.__file__).parents[2], tmp_path / "pdpmean")
    monkeypatch.setattr(resources, "files", lambda _: tmp_path / "pdpmean")
    assert handshake.fingerprint() == own
    (tmp_path / "pdpmean" / "notes.txt").write_text("no module")
    assert handshake.fingerprint() == own
    with open(tmp_path / "pdpmean" / "diffusion.py", "a") as module:
        module.write("\n")
    assert handshake.fingerprint() != own
    assert handshake.fingerprint().split()[0] == own.split()[0]


def test_modules_in_an_archive_have_the_fingerprint_of_those_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Spark sends them with --py-files."""
    own = handshake.fingerprint()
    archive = shutil.make_archive(str(tmp_path / "sent"), "zip", Path(handshake.__file__).parents[3], "pdpmean")
    monkeypatch.setattr(resources, "files", lambda name: zipfile.Path(archive, f"{name}/"))
    assert handshake.fingerprint() == own


@pytest.mark.filterwarnings("ignore:next to nothing is known about people")  # a few nats per group and level
@pytest.mark.parametrize("ids", [pa.string(), pa.int64()], ids=["text", "whole numbers"])
def test_people_are_looked_up_and_records_have_the_budgets_reserved_for_them(
    session: SparkSession, ids: pa.DataType, tmp_path: Path
) -> None:
    """Of the groups asked for alone; who is not in the ledger, or there twice, has none in the unbounded model."""
    people = pa.array(range(600)).cast(ids)
    labels = pa.array(["a", "b", "c"] * 200)
    values = pa.array(np.random.default_rng(1).normal(38, 10, 600))
    again = pa.table({"id": people[:3], "label": labels[:3], "value": values[:3]})
    frame = session.createDataFrame(
        pa.concat_tables([pa.table({"id": people, "label": labels, "value": values}), again])
    )
    with Ledger(tmp_path / "people.db") as ledger:
        ledger.grant_all((str(person), 4) for person in range(590))
        options: dict[str, Any] = {
            "value": "value",
            "person": "id",
            "ledger": ledger,
            "purpose": "a test",
            "share": 0.5,
        }
        model: dict[str, Any] = {"model": "unbounded", "budget_range": (0.1, 4.0)}
        asked = {**options, **model, "bounds": (0, 100)}  # with which no group is refused
        estimate_mean(frame.repartition(3), by="label", groups=["a", "b"], **asked)
        assert ledger.releases()[0].people == 392
        assert [float(ledger.balance(str(person)).spent) for person in (0, 3, 4, 5)] == [0, 2, 2, 0]
    with Ledger(tmp_path / "public.db") as ledger:
        ledger.grant_all((str(person), 4) for person in range(590))
        options["ledger"] = ledger
        with pytest.raises(InvalidInputError, match="a person has more than one record"):
            estimate_mean(frame, **options)
        with pytest.raises(InvalidInputError, match="10 of 597 people are not in the ledger"):
            estimate_mean(frame.where("id >= 3"), **options)
        found = estimate_mean(frame.where("id >= 3 and id < 590"), **options)
        assert found.mean == pytest.approx(38, abs=3)
        assert ledger.verify().passed
