"""The rules of the passes as Spark SQL: the same IEEE operations in the same order, so the same integers.

Spark differs from IEEE in comparisons alone: there a NaN is above infinity, so that it is always asked for; and last,
since what most records are comes first. Records have the columns `value` and `budget`, doubles without nulls, and
whatever their group adds. In a list of columns, one may use those before it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.checks import LARGEST_BUDGET
from pdpmean.core.integers import LOW_BITS, STEPS
from pdpmean.core.model import Model
from pdpmean.core.rules import FAR_CELLS, FAR_EDGES, TOTAL_LIMIT, TOTAL_UNIT
from pdpmean.passes.cells import Cells
from pdpmean.passes.summing import Summing
from pdpmean.sources.spark.positions import BLOCK_BITS, ROW_BITS, Toss

__all__ = [
    "BLOCK",
    "BY_LEVEL",
    "EDGES",
    "FAR_SUMS",
    "HEADS",
    "MARKS",
    "PERSON",
    "POSITION",
    "SUMS",
    "TOTAL",
    "key_columns",
    "merged_columns",
    "read_keys",
    "sum_columns",
    "tossed",
    "total_columns",
]

TOTAL = ("total_high", "total_low")
SUMS = ("high", "low", "counted", "extra_high", "extra_low", "missing")
FAR_SUMS = ("far_weight", "far_high", "far_low")
EDGES = tuple(f"edge_{level}" for level in range(32))  # where further levels of budgets begin
BY_LEVEL = ("share", "cap")  # of a rule, what each level has of its own

# Where a record lies, and of that: some positions, few in each partition, that tell how long it is (`Grid.of`);
# the block of a word of coins; and whether its own coin is heads.
POSITION = "monotonically_increasing_id() as position"
_ROW = f"(position & {2**ROW_BITS - 1}L)"
MARKS = f"if({_ROW} & ({_ROW} - 1L) = 0L, position, -1L) as mark"
BLOCK = f"position >> {BLOCK_BITS}"
HEADS = f"(heads >> cast(position & {2**BLOCK_BITS - 1}L as int)) & 1L = 1L"

# An id as text, null where it names nobody; as `known_ids`.
_TEXT = "cast(person as string)"
PERSON = f"if({_TEXT} = '' or contains({_TEXT}, '\\0') or not is_valid_utf8({_TEXT}), null, {_TEXT})"

# What makes a key an integer that fits a word, since Spark groups by words faster than by doubles.
_ROOT_UNIT = 2.0**36
_WRONG = -1


def _double(number: float) -> str:
    return f"{number!r}D" if math.isfinite(number) else f"double('{number}')"


def _allowance(model: Model) -> str:
    """As `Model.allowances`."""
    low, high, factor = model.limits
    beyond = f"if(budget > {_double(high)} and not isnan(budget), {_double(high * factor)}, 0D)"
    return f"if(budget >= {_double(low)} and budget <= {_double(high)}, budget * {_double(factor)}, {beyond})"


def key_columns(rule: Cells) -> list[str]:
    """Columns up to `key`, an integer that tells the cell of a record.

    Times ``2**shift + 1``, and subtracted twice, an allowance is rounded to the nearest double with as few bits as a
    cell's lower end has (Veltkamp's splitting). Where that is above the allowance, the cell is the one below, and the
    key negative. Infinity becomes twice the largest budget, which no other allowance is. The root brings all of them
    into the range of a word.
    """
    largest, beyond = _double(LARGEST_BUDGET), _double(2 * LARGEST_BUDGET)
    key = "if(nearest > tame, -root, root)"
    if rule.model.budgets_are_public:
        key = f"if(allowance > 0D or (budget >= 0D and not isnan(budget)), {key}, {_WRONG}L)"
    return [
        f"{_allowance(rule.model)} as allowance",
        f"if(allowance <= {largest}, allowance, if(allowance < {_double(math.inf)}, {largest}, {beyond})) as tame",
        f"tame * {_double(2.0**rule.shift + 1)} as raised",
        "raised - (raised - tame) as nearest",
        f"floor(sqrt(nearest) * {_double(_ROOT_UNIT)}) as root",
        f"{key} as key",
    ]


class MergedColumns(NamedTuple):
    """What makes one record of a person's rows: what is gathered of the rows, and what becomes of that."""

    gathered: list[str]
    kept: list[str]


def merged_columns(*, values: bool, groups: bool) -> MergedColumns:
    """Columns of one record per person, as `merge._one_per_person` has them: values in order, one added to the other.

    Rows of groups have a `code`, that of no group asked for being the largest.
    """
    gathered = [f"min(if(isnan(budget), {_double(-math.inf)}, budget)) as budget"]
    kept = ["person", "budget"]
    own = "true"
    if groups:
        gathered += ["min(code) as own_code", "min_by(`by`, code) as `by`"]
        kept += ["`by`"]
        own = "row.code = own_code"
    if values:
        row = "code, value" if groups else "value"
        gathered += [f"collect_list(struct({row})) as rows"]
        numbers = f"transform(filter(rows, row -> {own} and not isnan(row.value)), row -> row.value)"
        total = "aggregate(array_sort(numbers), 0D, (total, number) -> total + number)"
        kept += [
            f"{numbers} as numbers",
            f"if(size(numbers) = 0, {_double(math.nan)}, {total} / size(numbers)) as value",
        ]
    return MergedColumns(gathered, kept)


def total_columns() -> list[str]:
    """Columns up to `TOTAL`, what a record, which has an `allowance`, adds to the sum of all."""
    small = f"if(allowance < {_double(TOTAL_LIMIT)}, allowance, 0D)"
    return _words(f"floor(rint({small} * {_double(TOTAL_UNIT)}))", "units", TOTAL)


def read_keys(keys: NDArray[np.int64], rule: Cells) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The cell that each key tells, and whether it is of public budgets that are none."""
    nearest = (np.abs(keys) / _ROOT_UNIT) ** 2
    # The root was rounded, so its square is, to the bits that count.
    leading = (nearest.view(np.int64) + (1 << rule.shift - 1)) >> rule.shift
    return np.clip(leading - (keys < 0) - rule.base, 0, rule.top + 1), keys == _WRONG


def sum_columns(rule: Summing) -> list[str]:
    """Columns up to `SUMS`, what a record, which has the columns of `SumRule`, adds to each: as `Summing.tally`.

    A far value is in none of them; `far_cell` is the one it lies in, and -1 for all others. The sums of a cell are had
    by grouping: there `FAR_SUMS` are summed.
    """
    steps = _double(float(STEPS))
    missing = "if(isnan(place), granted, 0L)"
    if rule.squares:
        counted, extra = "weight", f"weight * (step * step >> {LOW_BITS})"
    else:
        counted, extra, missing = "if(abs(step) < near, weight, 0L)", f"weight * ({STEPS}L - abs(step))", "0L"
    return [
        f"{_allowance(rule.model)} as allowance",
        *_level_columns(rule.edges.shape[1]),
        "floor(least(allowance * share, cap)) as granted",
        "(value - middle) * lift * per_unit as place",
        f"if(place <= {steps}, floor(rint(greatest(place, -{steps}))), if(isnan(place), 0L, {STEPS}L)) as step",
        f"{_far_cell() if rule.far else '-1'} as far_cell",
        f"{missing} as missing",
        "if(far_cell >= 0 or isnan(place), 0L, granted) as weight",
        *_words("weight * step", "total", ("high", "low")),
        f"{counted} as counted",
        *_words(extra, "extra", ("extra_high", "extra_low")),
        *(_far_words() if rule.far else []),
    ]


def _level_columns(edges: int) -> list[str]:
    """Columns up to `level`, that of a record's budget, and its share and cap: one of those its group has by level."""
    if not edges:
        return []
    beyond = " + ".join(f"cast(allowance >= {name} as int)" for name in EDGES[:edges])
    by_level = {name: ", ".join(f"{name}_{level}" for level in range(edges + 1)) for name in BY_LEVEL}
    return [
        f"{beyond} as level",
        *(f"element_at(array({columns}), level + 1) as {name}" for name, columns in by_level.items()),
    ]


def _far_cell() -> str:
    """The cell of a far value: those below the middle come first; -1 for all other values."""
    size = "abs(place)"
    cells = " ".join(f"when {size} < {_double(end)} then {cell}" for cell, end in enumerate(FAR_EDGES[:-1]))
    cell = f"(case {cells} else {FAR_CELLS - 1} end)"
    below, above = "place < -far_below", "place > far_above and not isnan(place)"
    return f"if({below}, {cell}, if({above}, {cell} + {FAR_CELLS}, -1))"


def _far_words() -> list[str]:
    """What a far value adds to its cell: its weight times the part of the cell's end that it reaches, in steps."""
    ends = ", ".join(_double(end) for end in FAR_EDGES)
    reached = f"abs(place) / element_at(array({ends}), pmod(far_cell, {FAR_CELLS}) + 1) * {_double(float(STEPS))}"
    step = f"floor(least(rint({reached}), {_double(float(STEPS))}))"
    words = _words(f"far_weight * {step}", "far", ("far_high", "far_low"))
    return ["if(far_cell >= 0, granted, 0L) as far_weight", *words]


def _words(number: str, name: str, words: tuple[str, str]) -> list[str]:
    """As `integers.words_of`."""
    high, low = words
    return [f"{number} as {name}", f"{name} >> {LOW_BITS} as {high}", f"{name} & {2**LOW_BITS - 1}L as {low}"]


def tossed(toss: Toss) -> str:
    """Whether there was a coin for the record at `position`; there was where the budget is missing, whose rate is 0."""
    ends = f"position < {toss.grid.partitions << ROW_BITS}L and {_ROW} < {toss.grid.rows}L"
    return f"{ends} and (budget <= {_double(toss.largest)} or isnan(budget))"
