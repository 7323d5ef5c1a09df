"""The rules of the passes as Spark SQL: the same IEEE operations in the same order, and so the same integers.

Spark differs from IEEE only in comparisons, in which NaN is above infinity. So every expression tests for NaN, and does
so last, because most records are not NaN. Records have the columns `value` and `budget`, doubles without nulls, and
those that are joined for their group. In a list of columns, each may use those before it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpmean.core.checks import LARGEST_BUDGET
from pdpmean.core.integers import LOW_BITS, STEPS
from pdpmean.core.model import Model
from pdpmean.core.rules import FAR_CELLS, FAR_EDGES, FAR_FROM, TOTAL_LIMIT, TOTAL_UNIT
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
EDGES = tuple(f"edge_{level}" for level in range(32))  # the allowances at which further levels of budgets begin
BY_LEVEL = ("share", "cap")  # the numbers of a rule in which levels differ

# The position of a record. From it follow: marks, which are a few positions per partition that show how long it is
# (`Grid.of`); the block that its first coin is in; and whether that coin is heads.
POSITION = "monotonically_increasing_id() as position"
_ROW = f"(position & {2**ROW_BITS - 1}L)"
MARKS = f"if({_ROW} & ({_ROW} - 1L) = 0L, position, -1L) as mark"
BLOCK = f"position >> {BLOCK_BITS}"
HEADS = f"(heads >> cast(position & {2**BLOCK_BITS - 1}L as int)) & 1L = 1L"

# An id as text, null if it names nobody, as in `known_ids`.
_TEXT = "cast(person as string)"
PERSON = f"if({_TEXT} = '' or contains({_TEXT}, '\\0') or not is_valid_utf8({_TEXT}), null, {_TEXT})"

# The unit in which roots of allowances become integers: Spark groups by integers faster than by doubles.
_ROOT_UNIT = 2.0**36
_WRONG = -1


def _double(number: float) -> str:
    return f"{number!r}D" if math.isfinite(number) else f"double('{number}')"


def _allowance(model: Model) -> str:
    """The allowance of a record, as in `Model.allowances`."""
    low, high, factor = model.limits
    beyond = f"if(budget > {_double(high)} and not isnan(budget), {_double(high * factor)}, 0D)"
    return f"if(budget >= {_double(low)} and budget <= {_double(high)}, budget * {_double(factor)}, {beyond})"


def key_columns(rule: Cells) -> list[str]:
    """The columns up to `key`, an integer from which `read_keys` gets the cell of a record.

    Veltkamp's splitting, a multiplication by ``2**shift + 1`` and two subtractions, rounds an allowance to the nearest
    double that is the lower end of a cell. If that is above the allowance, its cell is the one below, and the key is
    negative. Infinity becomes twice the largest budget, which no other allowance is. The square root brings all numbers
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
    """How the rows of a person are merged into one record: the aggregates of the rows, and columns made from these."""

    gathered: list[str]
    kept: list[str]


def merged_columns(*, values: bool, groups: bool) -> MergedColumns:
    """The columns of one record per person, as in `merge._one_per_person`: sorted values, added one after the other.

    With groups, rows have a `code`, the position of their group; it is the largest for groups that were not asked for.
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
    """The columns up to `TOTAL`: what a record, given its `allowance`, adds to the sum of all allowances."""
    small = f"if(allowance < {_double(TOTAL_LIMIT)}, allowance, 0D)"
    return _words(f"floor(rint({small} * {_double(TOTAL_UNIT)}))", "units", TOTAL)


def read_keys(keys: NDArray[np.int64], rule: Cells) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The cell of each key, and whether the key stands for public budgets that are negative or missing."""
    nearest = (np.abs(keys) / _ROOT_UNIT) ** 2
    # The root was rounded, so that its square must be rounded, too, to the bits that decide on the cell.
    leading = (nearest.view(np.int64) + (1 << rule.shift - 1)) >> rule.shift
    return np.clip(leading - (keys < 0) - rule.base, 0, rule.top + 1), keys == _WRONG


def sum_columns(rule: Summing) -> list[str]:
    """The columns up to `SUMS`: what a record adds to each sum, given the columns of `SumRule`, as in `Summing.tally`.

    A far value adds to none of them. Its far cell is in `far_cell`, which is -1 for all other values; grouped by that,
    `FAR_SUMS` are the sums of the far cells.
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
        "(value - middle) * lift * per_unit as unlimited",
        "if(unlimited < lowest, lowest, if(unlimited > highest and not isnan(unlimited), highest, unlimited)) as place",
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
    """The columns up to `level`, the level of a record's budget, and the share and cap of that level in its group."""
    if not edges:
        return []
    beyond = " + ".join(f"cast(allowance >= {name} as int)" for name in EDGES[:edges])
    by_level = {name: ", ".join(f"{name}_{level}" for level in range(edges + 1)) for name in BY_LEVEL}
    return [
        f"{beyond} as level",
        *(f"element_at(array({columns}), level + 1) as {name}" for name, columns in by_level.items()),
    ]


def _far_cell() -> str:
    """The far cell of a value, with those below the middle first; -1 for a value that is not far."""
    size = "abs(place)"
    cells = " ".join(f"when {size} < {_double(end)} then {cell}" for cell, end in enumerate(FAR_EDGES[:-1]))
    cell = f"(case {cells} else {FAR_CELLS - 1} end)"
    below = f"place < {_double(-FAR_FROM)}"
    above = f"place > {_double(FAR_FROM)} and not isnan(place)"
    return f"if({below}, {cell}, if({above}, {cell} + {FAR_CELLS}, -1))"


def _far_words() -> list[str]:
    """What a far value adds to its cell: its weight times its distance, as a fraction of that of the cell's end."""
    ends = ", ".join(_double(end) for end in FAR_EDGES)
    reached = f"abs(place) / element_at(array({ends}), pmod(far_cell, {FAR_CELLS}) + 1) * {_double(float(STEPS))}"
    step = f"floor(least(rint({reached}), {_double(float(STEPS))}))"
    words = _words(f"far_weight * {step}", "far", ("far_high", "far_low"))
    return ["if(far_cell >= 0, granted, 0L) as far_weight", *words]


def _words(number: str, name: str, words: tuple[str, str]) -> list[str]:
    """The columns of a number and of its high and low word, as in `integers.words_of`."""
    high, low = words
    return [f"{number} as {name}", f"{name} >> {LOW_BITS} as {high}", f"{name} & {2**LOW_BITS - 1}L as {low}"]


def tossed(toss: Toss) -> str:
    """Whether the record at `position` had a first coin; one with a missing budget, which is never kept, had one."""
    ends = f"position < {toss.grid.partitions << ROW_BITS}L and {_ROW} < {toss.grid.rows}L"
    return f"{ends} and (budget <= {_double(toss.largest)} or isnan(budget))"
