"""The rules of the three passes from a few numbers, and what they make of some records, by the shipped code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpmean.core.integers import weights_of
from pdpmean.core.model import Model
from pdpmean.core.types import Counts, Floats
from pdpmean.passes import cells, reserve, summing
from pdpmean.passes.batch import Batch, Tallying
from pdpmean.passes.cells import CellCounts, count_budgets
from pdpmean.passes.thinning import Thinning
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location
from pdpmean.release.any_shape import FarClip
from pdpmean.release.average import summing_of
from pdpmean.release.clip import Clip
from pdpmean.release.gaussian import TentClip
from pdpmean.release.group import Group
from pdpmean.release.shape import ExactSums
from pdpmean.release.squares import SquareClip
from pdpmean.sources import arrow_columns as columns
from pdpmean.sources.arrays import ArraySource

Sums = tuple[int, int, int]  # of W z, of W or of those W that are near, of W times the extra


def batch_of(values: ArrayLike, budgets: ArrayLike, groups: ArrayLike | None = None) -> Batch:
    codes = None if groups is None else np.asarray(groups, dtype=np.int32)
    return Batch(np.asarray(values, dtype=np.float64), np.asarray(budgets, dtype=np.float64), codes)


def holders(budgets: ArrayLike, groups: ArrayLike | None = None) -> Batch:
    """Records of which only the budgets matter."""
    granted = np.asarray(budgets, dtype=np.float64)
    return batch_of(np.zeros(granted.size), granted, groups)


def cell_counts_of(budgets: Floats, model: Model) -> CellCounts:
    """Who holds what, where there are no groups."""
    (cells,) = count_budgets(ArraySource(np.zeros(budgets.size), budgets), model)
    return cells


NOBODY = CellCounts(np.empty(0), np.empty(0), np.empty(0, dtype=np.int64), middle_over_low=1.0)


def group_at(plan: Plan | None, location: Location | None) -> Group:
    """A group that lies there already: of its budgets nothing more is asked."""
    return Group(NOBODY, plan, location=location)


def clip_of(
    model: Model, share: Fraction, cap: float, middle: float, half: float, near: int | None, *, far: bool = False
) -> Clip:
    """A clip with tents, and who is within `near` steps; or with squares, if that is None, and maybe with far cells."""
    if near is not None:
        return TentClip(model, share, cap, middle, half, near)
    return (FarClip if far else SquareClip)(model, share, cap, middle, half)


UNCAPPED = 2.0**80  # a cap on the weights in the sum that leaves nobody anything


def thinning_of(
    model: Model,
    share: Fraction | float,
    cap: float,
    density: float,
    *,
    sum_share: Fraction | float = 1,
    spared_from: float = UNCAPPED,
) -> Thinning:
    """One rule for all."""
    return Thinning(model, *(np.array([float(number)]) for number in (share, sum_share, spared_from, cap, density)))


def table_of(rule: Tallying, batch: Batch) -> Counts:
    """What one batch adds to a table of zeros."""
    table = np.zeros(rule.shape, dtype=np.int64)
    rule.tally(batch, table)
    return table


def missing_of(clip: Clip, values: ArrayLike, budgets: ArrayLike) -> int:
    """The weight of missing values among records of one group."""
    return exact_sums(clip, values, budgets).missing


def exact_sums(clip: Clip, values: ArrayLike, budgets: ArrayLike) -> ExactSums:
    """Everything that records of one group add up to."""
    (row,) = table_of(summing_of([clip], grouped=False), batch_of(values, budgets)).tolist()
    return ExactSums.of(row)


def three(row: Sequence[int]) -> Sums:
    """The sums behind a row of words: all but the missing weight, and that of far values."""
    return ExactSums.of(row)[:3]


def sums_of(clip: Clip, values: ArrayLike, budgets: ArrayLike) -> Sums:
    """What records of one group add up to."""
    return exact_sums(clip, values, budgets)[:3]


def group_sums(clips: Sequence[Clip | None], values: ArrayLike, budgets: ArrayLike, groups: ArrayLike) -> list[Sums]:
    """What records add up to, one entry per group and a last one for those of no group asked for."""
    table = table_of(summing_of(clips, grouped=True), batch_of(values, budgets, groups))
    return [three(row) for row in table.tolist()]


def clip_weights(clip: Clip, budgets: Floats) -> NDArray[np.int64]:
    """The integer weight of each record."""
    return weights_of(clip.model.allowances(budgets), clip.rule.share, clip.rule.cap)


@contextmanager
def compiled() -> Iterator[None]:
    """Every batch, however small, goes to the compiled loops."""
    with smallest_batch(0):
        yield


@contextmanager
def smallest_batch(size: Any) -> Iterator[None]:
    """Batches from this size on go to the compiled loops."""
    with ExitStack() as patches:
        for module in (cells, columns, reserve, summing):
            patches.enter_context(mock.patch.object(module, "SMALLEST_BATCH", size))
        yield
