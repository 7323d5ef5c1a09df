"""The steps of `locate` for a single group."""

from __future__ import annotations

from typing import Any

from pdpmean import Randomness
from pdpmean.core.types import Floats
from pdpmean.passes.batch import Batch
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Location
from pdpmean.release.locate import locate_kept
from pdpmean.release.private_median import private_medians


def private_median(*args: Any, **options: Any) -> float:
    """`private_medians` of one group."""
    (median,) = private_medians(*args, **options)
    return median


def locate_one(values: Floats, weights: Floats, plan: Plan, randomness: Randomness) -> Location:
    """`locate_kept` of one group."""
    kept = Batch(values, weights)  # who may cost as much as they grant
    (located,) = locate_kept(kept, lambda some: some.budgets, [plan], randomness)
    assert located
    return located
