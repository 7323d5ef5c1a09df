"""Spark DataFrames as a source: Spark itself counts and sums, and its Python workers toss the coins of the sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyspark.sql.functions as sql
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import BooleanType, StructField, StructType

from pdpmean.core.rules import FAR_WEIGHT, SumRule
from pdpmean.core.types import Counts, Floats
from pdpmean.errors import InvalidInputError
from pdpmean.passes.batch import Batch, Keeping, Tallying
from pdpmean.passes.cells import Cells
from pdpmean.passes.source import Source
from pdpmean.passes.summing import Summing, far_columns
from pdpmean.passes.thinning import Thinning
from pdpmean.randomness import Randomness
from pdpmean.sources.arrow_columns import is_text, listed
from pdpmean.sources.layout import Layout
from pdpmean.sources.people import check_ids, ids_as_text, known_ids
from pdpmean.sources.spark.expressions import (
    BLOCK,
    BY_LEVEL,
    EDGES,
    FAR_SUMS,
    HEADS,
    MARKS,
    PERSON,
    POSITION,
    SUMS,
    TOTAL,
    key_columns,
    merged_columns,
    read_keys,
    sum_columns,
    tossed,
    total_columns,
)
from pdpmean.sources.spark.handshake import ANSWERS, OTHER, answer, fingerprint, guarded
from pdpmean.sources.spark.positions import Grid, Toss, plan_toss
from pdpmean.sources.spark.worker import batch_of, keep

__all__ = ["SparkSource"]

_ASKED = 1024  # rows without content, for the tasks that ask workers which pdpmean they have
_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"


class SparkSource(Source):
    """The records of a DataFrame. Every pass runs its query again; only small tables and kept records leave Spark."""

    def __init__(self, frame: DataFrame, layout: Layout) -> None:
        if not isinstance(frame, DataFrame):
            raise InvalidInputError(
                f"a Spark table must be a DataFrame; got {type(frame).__module__}.{type(frame).__name__}. "
                "(For pandas on Spark, pass frame.to_spark().)",
                name="values",
            )
        if frame.isStreaming:
            raise InvalidInputError("a streaming DataFrame cannot be read more than once; save it first", name="values")
        layout.check_names(frame.columns, "the DataFrame")
        # Columns are renamed by position, because Spark interprets dots and backticks in names, and ignores case.
        places = {name: f"c{frame.columns.index(name)}" for name in layout.roles.values()}
        self._frame = frame.toDF(*(f"c{place}" for place in range(len(frame.columns)))).select(*places.values())
        kinds = _collected(self._frame.limit(0)).schema
        self._kinds = {name: kinds.field(place).type for name, place in places.items()}
        layout.check_types(pa.schema(self._kinds))
        self._layout, self._places = layout, places
        self.columns = layout.types(pa.schema(self._kinds))
        self.is_boolean = layout.is_boolean(pa.schema(self._kinds))
        self.groups = None if layout.groups is None else len(layout.groups)
        self._records = self._read()
        self._by_group = [] if layout.by is None else ["code"]
        if layout.merged:
            self._records = self._one_per_person()
        self._plan_toss: Callable[[Thinning], Toss | None] = lambda _: None  # until the census knows of positions

    def duplicate_person(self) -> bool:
        """Whether two records have the same id."""
        name = self._layout.person
        assert name is not None
        check_ids({self._kinds[name]}, name)
        people = self._frame.groupBy(sql.col(self._places[name]).alias("id")).count()
        missing, most = sql.count_if(sql.isnull("id")), sql.max("count")
        found = _collected(people.select(missing.alias("missing"), most.alias("most"))).to_pylist()[0]
        if found["missing"]:
            raise InvalidInputError(f"person={name!r} must name the person of every record", name="person")
        return (found["most"] or 0) > 1

    def people(self) -> Iterator[tuple[list[str | None], Floats]]:
        """The ids of the records, and their budgets: with a ledger, ids must leave Spark to be looked up there."""
        name = self._layout.person
        assert name is not None
        found = _collected(self._beside_groups("left").select("person", "budget", *self._by_group)).combine_chunks()
        self._groups_of_people = self._codes(found)
        taking_part = None if self.groups is None else self._groups_of_people < self.groups
        column = found["person"].combine_chunks()
        self._ids = ids_as_text(column, name, taking_part, public=self._layout.public)
        budgets = found["budget"].to_numpy()
        if self._layout.public:
            self._check_budgets(int(np.count_nonzero(~(budgets >= 0))))
        yield self._ids, budgets

    def groups_of_people(self) -> Iterator[NDArray[np.int32]]:
        """The group of each record, in the order of `people`, which must have been called before."""
        yield self._groups_of_people

    def charged(self, budgets: Floats) -> SparkSource:
        """The same records with these budgets instead, which Spark looks up by id."""
        granted = {person: budget for person, budget in zip(self._ids, budgets.tolist(), strict=True) if budget}
        ids = pa.array(granted.keys(), pa.string())
        made = copy(self)
        name = self._layout.person
        assert name is not None
        beside = _beside(self._records, "person", ids, {"charged": pa.array(granted.values(), pa.float64())}, "left")
        made._records = beside.withColumn("budget", sql.coalesce("charged", sql.lit(0.0))).drop("label", "charged")
        return made

    def prepare_sample(self, randomness: Randomness) -> None:  # noqa: ARG002 (nothing is drawn)
        """Check that workers have the same pdpmean, before any coin or noise is drawn.

        Workers that start later are checked when they sample records.
        """
        asked = self._frame.sparkSession.range(_ASKED)  # Spark decides in how many tasks
        found = set(_collected(asked.mapInArrow(answer, ANSWERS))["pdpmean"].to_pylist())
        if found != {fingerprint()}:
            raise _other_workers(", ".join(sorted(found)))

    def census(self, rule: Tallying) -> Counts:
        """The table of how many people hold which budget."""
        assert isinstance(rule, Cells)
        with self._reporting("census"):
            columns = [*key_columns(rule), *(total_columns() if rule.summed else [])]
            records = self._beside_groups("left").selectExpr(*(self._by_group or [POSITION, MARKS]), "budget", *columns)
            words = [sql.sum(name).alias(name) for name in TOTAL] if rule.summed else []
            ends = [sql.min("budget").alias("least"), sql.max("budget").alias("most")]
            by_key = records.groupBy(*(self._by_group or ["mark"]), "key")
            found = _collected(by_key.agg(sql.count("*").alias("count"), *ends, *words))
            cells, wrong = read_keys(found["key"].to_numpy(), rule)
            counts = found["count"].to_numpy()
            self._check_budgets(int(counts[wrong].sum()))
            if rule.model.budgets_are_public:
                rule.distinct_budgets.note(np.concatenate([found[end].to_numpy() for end in ("least", "most")]))
            table = np.zeros(rule.shape, dtype=np.int64)
            np.add.at(table, (self._codes(found), cells), counts)
            if rule.summed:
                table[-1, :2] = [found[name].to_numpy().sum() for name in TOTAL]
            self.rows = int(counts.sum())
            if self.groups is None:
                grid = Grid.of(found["mark"].to_numpy(), self.rows)
                self._plan_toss = partial(plan_toss, cells=rule, counts=table[0], grid=grid)
        return table

    def sample(self, rule: Keeping, randomness: Randomness) -> Batch:
        """The records that the rule keeps; every task has its own coins."""
        assert isinstance(rule, Thinning)
        with self._reporting("sample"):
            records, rules = self._beside_groups("inner").select("value", "budget", *self._by_group), (rule, rule)
            toss = self._plan_toss(rule)
            if toss:
                records, rules = _at_heads(records, toss, randomness), (rule, rule.among(toss.bits))
            work = partial(keep, rules=rules, make=randomness.remote())
            # In one action: Spark then uses one result per partition, even if it ran a task twice (docs/spark.md).
            with _batches_of_any_size(records.sparkSession):
                found = _collected(records.mapInArrow(guarded(work, records.columns), _with_answer(records.schema)))
        if pc.any(found[OTHER]).as_py():
            raise _other_workers("another version of it, or other code")
        return batch_of(found)

    def sum(self, rule: Tallying) -> Counts:
        """The table of the sums over all records."""
        assert isinstance(rule, Summing)
        with self._reporting("sum"):
            records = self._beside_groups("inner", **_entries(rule))
            records = records.selectExpr(*self._by_group, *sum_columns(rule))
            names = SUMS + FAR_SUMS * rule.far
            keys = [*self._by_group, *(["level"] * rule.has_levels), *(["far_cell"] * rule.far)]
            found = _collected(records.groupBy(*keys).agg(*(sql.sum(name).alias(name) for name in names)))
            table = np.zeros(rule.shape, dtype=np.int64)
            rows = rule.first_rows[self._codes(found)]
            if rule.has_levels:
                rows = rows + found["level"].to_numpy()
            for column, name in enumerate(SUMS):
                np.add.at(table[:, column], rows, found[name].fill_null(0).to_numpy())
            if rule.far:
                _add_far_cells(found, rows, table)
        return table

    def _read(self) -> DataFrame:
        """The records with values and budgets as doubles, NaN where they are missing, and with their groups and ids."""
        layout, frame = self._layout, self._frame
        columns = {} if layout.value is None else {"value": self._values(layout.value)}
        if not isinstance(layout.budget, str):
            columns["budget"] = sql.lit(float(layout.budget))
        elif layout.tiers is None:
            columns["budget"] = _double(sql.col(self._places[layout.budget]))
        else:
            tiers = listed(tuple(layout.tier_budgets), self._kinds[layout.budget], "tiers", layout.budget)
            budgets = pa.array(layout.tier_budgets.values(), pa.float64())
            frame = _beside(frame, self._places[layout.budget], tiers, {"tier": budgets}, "left")
            columns["budget"] = _double(sql.col("tier"))
        if layout.person is not None:
            columns["person"] = sql.col(self._places[layout.person])
        if layout.by is not None:
            columns["by"] = sql.col(self._places[layout.by])
        return frame.select(*(column.alias(name) for name, column in columns.items()))

    def _one_per_person(self) -> DataFrame:
        """The records merged by person as in `sources/merge.py`, with the same sums in the same order."""
        name = self._layout.person
        assert name is not None
        known_ids(pa.array([], self._kinds[name]), name, None, public=False)  # raises for types that hold no ids
        rows = self._beside_groups("left").withColumn("person", sql.expr(PERSON))
        if self._layout.public and _collected(rows.where("person is null").limit(1)).num_rows:
            raise InvalidInputError(
                f"person={name!r} must name the person of every record; some have none", name="person"
            )
        if self._layout.by is not None:
            rows = rows.withColumn("code", sql.coalesce("code", sql.lit(self.groups)))
        columns = merged_columns(values=self._layout.value is not None, groups=self._layout.by is not None)
        gathered = rows.where("person is not null").groupBy("person").agg(*map(sql.expr, columns.gathered))
        return gathered.selectExpr(*columns.kept)

    def _values(self, name: str) -> Column:
        """The values as doubles, NaN where they are missing; or 1 and 0, if entries are compared with `equals`."""
        column = sql.col(self._places[name])
        if self._layout.equals is None:
            return _double(column)
        (entry,) = listed((self._layout.equals,), self._kinds[name], "equals", name)
        if pa.types.is_floating(entry.type):
            column = sql.when(~sql.isnan(column), column)
        if is_text(entry.type):
            column = column.cast("string")  # compared as it is, whatever its collation
        return _double(column == sql.lit(entry.as_py()))

    def _beside_groups(self, how: Literal["left", "inner"], **entries: NDArray[Any]) -> DataFrame:
        """The records, each joined with the entries of its group; "inner" keeps only the groups that were asked for."""
        if self._layout.by is None:
            return self._records.withColumns({name: sql.lit(column[0].item()) for name, column in entries.items()})
        labels = listed(self._layout.labels, self._kinds[self._layout.by], "groups", self._layout.by)
        codes = np.arange(len(labels), dtype=np.int32)
        entries = {name: pa.array(column[: len(labels)]) for name, column in entries.items()}
        return _beside(self._records, "by", labels, {"code": pa.array(codes), **entries}, how)

    def _codes(self, found: pa.Table) -> NDArray[np.int32]:
        """The group of each row; one beyond the last for a group that was not asked for."""
        if self.groups is None:
            return np.zeros(found.num_rows, dtype=np.int32)
        codes: NDArray[np.int32] = found["code"].fill_null(self.groups).to_numpy()
        return codes

    def _check_budgets(self, wrong: int) -> None:
        """Raise if public budgets are negative or missing; `wrong` says how many are."""
        if wrong:
            fault = f"a negative or missing budget in column {self._layout.budget!r}"
            if self._layout.tiers is not None:
                fault = f"a tier that tiers does not list: {', '.join(self._layout.tier_budgets)}"
            raise InvalidInputError(
                f"budgets must be >= 0; {wrong} records have {fault}. Use 0 to leave a record out", name="budgets"
            )

    @contextmanager
    def _reporting(self, step: str) -> Iterator[None]:
        """A context that reports the start and the end of a pass; Spark does not say how far it is in between."""
        if self.watch:
            self.watch.at(step, 0, self.rows)
        yield
        if self.watch:
            self.watch.at(step, self.rows or 0, self.rows)
            self.watch.done(step)


def _entries(rule: Summing) -> dict[str, NDArray[Any]]:
    """The rules of all groups, one array per number; with levels, also their edges, and the share and cap of each."""
    first = dict(zip(SumRule._fields, rule.in_units[rule.first_rows].T, strict=True))
    if not rule.has_levels:
        return first
    last = len(rule.rules) - 1
    for level in range(rule.edges.shape[1] + 1):
        own = rule.in_units[np.minimum(rule.first_rows + level, last)]
        first |= {f"{name}_{level}": own[:, SumRule._fields.index(name)] for name in BY_LEVEL}
    for name in BY_LEVEL:
        del first[name]
    return first | dict(zip(EDGES, rule.edges.T, strict=False))


def _add_far_cells(found: pa.Table, rows: NDArray[np.int32], table: Counts) -> None:
    """Add the sums of the far cells to the table."""
    cells = found["far_cell"].to_numpy()
    is_far = cells >= 0
    for column, name in zip((FAR_WEIGHT, *far_columns(cells[is_far])), FAR_SUMS, strict=True):
        np.add.at(table, (rows[is_far], column), found[name].to_numpy()[is_far])


def _collected(frame: DataFrame) -> pa.Table:
    """The result of a query. Spark's errors may quote records, so they are not passed on."""
    try:
        return frame.toArrow()
    except Exception:
        pass
    raise InvalidInputError(
        "the DataFrame failed while Spark was reading it; Spark's log says why. (PYSPARK_PYTHON, the Python of Spark's "
        "workers, must have the same pdpmean, too.)",
        name="values",
    )


def _other_workers(found: str) -> InvalidInputError:
    """The error for workers with another pdpmean, who may toss coins with other probabilities."""
    return InvalidInputError(
        f"Spark's workers must have the pdpmean that this program has, {fingerprint()}; they have {found}. "
        "PYSPARK_PYTHON says which Python they run",
        name="values",
    )


def _with_answer(schema: StructType) -> StructType:
    """The schema with the column that `guarded` adds."""
    return StructType([*schema.fields, StructField(OTHER, BooleanType())])


def _at_heads(records: DataFrame, toss: Toss, randomness: Randomness) -> DataFrame:
    """The records without those whose first coin is tails; the column `tossed` says which of the rest had one."""
    # Sent as one row of two lists, which Spark reads much faster than many rows.
    lists = {name: pa.array([words]) for name, words in zip(("block", "heads"), toss.heads(randomness), strict=True)}
    coins = records.sparkSession.createDataFrame(pa.table(lists)).selectExpr("inline(arrays_zip(block, heads))")
    # Positions are numbered before any record is dropped: Spark moves no filter past a nondeterministic column.
    numbered = records.selectExpr("*", POSITION)
    joined = numbered.join(sql.broadcast(coins), sql.expr(BLOCK) == sql.col("block"), "left")
    found = joined.withColumn("tossed", sql.expr(tossed(toss))).where(f"not tossed or {HEADS}")
    return found.select("value", "budget", "tossed")


@contextmanager
def _batches_of_any_size(session: SparkSession) -> Iterator[None]:
    """A context in which Arrow batches are not limited in bytes: measuring records takes longer than sending them."""
    before = session.conf.get(_BYTES, None)
    session.conf.set(_BYTES, 2**31 - 1)
    try:
        yield
    finally:
        if before is None:
            session.conf.unset(_BYTES)
        else:
            session.conf.set(_BYTES, before)


def _double(column: Column) -> Column:
    return sql.coalesce(column.cast("double"), sql.lit(math.nan))


def _beside(
    frame: DataFrame, name: str, labels: pa.Array, entries: dict[str, pa.Array], how: Literal["left", "inner"]
) -> DataFrame:
    """Each record joined with the entries of its label. Labels must be distinct, or a record would be there twice."""
    column = sql.col(name)
    if len(set(labels.to_pylist())) < len(labels):
        raise InvalidInputError(
            "groups and tiers must differ in Spark as well: there 0 and -0 are equal", name="groups"
        )
    if is_text(labels.type):
        column = column.cast("string")  # compared as it is, whatever its collation
    table = frame.sparkSession.createDataFrame(pa.table({"label": labels, **entries}))
    return frame.join(sql.broadcast(table), column == sql.col("label"), how)
