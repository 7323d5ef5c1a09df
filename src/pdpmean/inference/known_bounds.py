"""What follows from the released numbers between known bounds: a posterior that never leaves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.inference.missing import MissingShare
from pdpmean.inference.population import Evidence, Population, ShapeInference
from pdpmean.laws.bounded_mean import BoundedMean, from_private_total, from_public_total
from pdpmean.laws.missing_weight import missing_nodes
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import PrivateTotalSums, PublicTotalSums, Released

__all__ = ["MANY_MISSING", "KnownBoundsInference"]

_MANY = 0.5  # of the values may be missing without a warning

MANY_MISSING = (
    "more than half of the values seem to be missing or not numbers; the mean is that of the rest. If there is text, "
    "convert it to numbers, or use equals='yes' for the share of an entry such as yes"
)
"""What to say where there is an answer nevertheless."""


@dataclass(frozen=True)
class _PublicTotal(Evidence):
    """What was released where the total weight is public."""

    @property
    def sums(self) -> PublicTotalSums:
        """Its sums."""
        assert isinstance(self.released.averaged, PublicTotalSums)
        return self.released.averaged

    @property
    def released_weight(self) -> float:
        """The public one."""
        return self.sums.weight


@dataclass(frozen=True)
class _PrivateTotal(Evidence):
    """What was released where the total weight is private."""

    @property
    def sums(self) -> PrivateTotalSums:
        """Its sums."""
        assert isinstance(self.released.averaged, PrivateTotalSums)
        return self.released.averaged

    @property
    def released_weight(self) -> float:
        """At least a nat, whatever the noise."""
        return max(self.sums.weight, 1.0)

    @property
    def people(self) -> float:
        """How many equally weighted people would have the same sampling error; at least one."""
        return max(self.weight**2 / self.square, 1.0)


class KnownBoundsInference(ShapeInference):
    """The posterior of the mean on a grid, from the noise and from who may be in the sample."""

    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The population behind each group."""
        public = released[0].plan.model.budgets_are_public
        found = _of_public_totals(released) if public else _of_private_totals(released)
        missing = [mean.missing for mean in found] if public else _missing_of_private_totals(released)
        return [
            _between(group.plan, mean, _missing(group, share))
            for group, mean, share in zip(released, found, missing, strict=True)
        ]

    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:  # noqa: ARG002
        """Whether most values seem to be missing."""
        return (MANY_MISSING,) if population.missing_share > _MANY else ()


def _of_public_totals(released: Sequence[Released]) -> list[BoundedMean]:
    groups = [_PublicTotal(group) for group in released]
    return from_public_total(
        sums=_column([group.sums.values for group in groups]),
        spreads=_column([group.sums.spread for group in groups]),
        missing=_column([group.sums.missing for group in groups]),
        weights=_column([group.sums.weight for group in groups]),
        people=_column([group.plan.effective_records for group in groups]),
    )


def _of_private_totals(released: Sequence[Released]) -> list[BoundedMean]:
    groups = [_PrivateTotal(group) for group in released]
    return from_private_total(
        lows=_column([group.sums.low for group in groups]),
        middles=_column([group.sums.middle for group in groups]),
        highs=_column([group.sums.high for group in groups]),
        people=_column([group.people for group in groups]),
    )


def _missing_of_private_totals(released: Sequence[Released]) -> list[float]:
    """The part of each total whose value is missing."""
    groups = [_PrivateTotal(group) for group in released]
    missing = _column([group.sums.missing for group in groups])
    totals = _column([group.released_weight for group in groups]) + np.maximum(missing, 0.0)
    nothing_else = np.zeros_like(totals)
    shares: list[float] = (missing_nodes(missing, totals, nothing_else, nothing_else).means / totals).tolist()
    return shares


def _column(numbers: list[float]) -> Floats:
    return np.array(numbers, dtype=np.float64)


def _missing(released: Released, about: float) -> MissingShare:
    """The part of the weight that is missing, which is about so much."""
    sums = released.averaged
    assert isinstance(sums, PublicTotalSums | PrivateTotalSums)
    total = sums.weight if isinstance(sums, PublicTotalSums) else sums.weight + max(sums.missing, 0.0)
    return MissingShare.of(about, sums.missing, total)


def _between(plan: Plan, mean: BoundedMean, missing: MissingShare) -> Population:
    """What was found between 0 and 1, between the bounds."""
    low, high = plan.bounds
    width = high - low
    return Population(
        mean=min(max(low + width * mean.mean, low), high),
        scale=width * mean.deviation,
        law=mean.law.scaled(low, width),
        missing=missing,
    )
