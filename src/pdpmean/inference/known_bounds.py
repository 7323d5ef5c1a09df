"""Inference between known bounds: a posterior distribution of the mean that never leaves the bounds.

The posterior is computed on a grid (`laws/bounded_mean.py`), from the distribution of the noise and the sampling error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pdpmean.core.types import Floats
from pdpmean.inference.missing import MissingShare
from pdpmean.inference.population import Contradiction, Evidence, Population, ShapeInference
from pdpmean.laws.bounded_mean import BoundedMean, from_private_total, from_public_total
from pdpmean.laws.missing_weight import missing_nodes
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import PrivateTotalSums, PublicTotalSums, Released

__all__ = ["MANY_MISSING", "TOO_FEW_LEFT", "KnownBoundsInference", "is_none_left"]

_NOISE_NATS = 8.0  # the noise of a weight hardly ever exceeds this

MANY_MISSING = (
    "more than half of the values seem to be missing or not numbers; the mean is that of the rest. If there is text, "
    "convert it to numbers, or use equals='yes' for the share of an entry such as yes"
)
"""The warning if most values are missing, but there is an answer."""

TOO_FEW_LEFT = Contradiction(
    "more than half of the values seem to be missing or not numbers, and the rest reveal too little",
    "convert text to numbers, or use equals='yes' for the share of an entry; if values are truly missing, more people "
    "or budget help",
)
"""Why there is no answer if hardly any value is left."""


@dataclass(frozen=True)
class _PublicTotalEvidence(Evidence):
    """The released numbers of one group if the total weight is public."""

    @property
    def sums(self) -> PublicTotalSums:
        """The released sums."""
        assert isinstance(self.released.averaged, PublicTotalSums)
        return self.released.averaged

    @property
    def released_weight(self) -> float:
        """The public total weight, in nats."""
        return self.sums.total_weight


@dataclass(frozen=True)
class _PrivateTotalEvidence(Evidence):
    """The released numbers of one group if the total weight is private."""

    @property
    def sums(self) -> PrivateTotalSums:
        """The released sums."""
        assert isinstance(self.released.averaged, PrivateTotalSums)
        return self.released.averaged

    @property
    def released_weight(self) -> float:
        """The noisy total weight in nats, at least 1."""
        return max(self.sums.weight_inside, 1.0)

    @property
    def people(self) -> float:
        """The number of equally weighted people who would have the same sampling error; at least 1."""
        return max(self.weight**2 / self.square, 1.0)


class KnownBoundsInference(ShapeInference):
    """The posterior of the mean on a grid between the bounds, from noise and sampling error."""

    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The population behind each set of released numbers, all of the same model."""
        public = released[0].plan.model.budgets_are_public
        means = _of_public_totals(released) if public else _of_private_totals(released)
        missing = [mean.missing for mean in means] if public else _missing_of_private_totals(released)
        return [
            _between(group.plan, mean, _missing(group, share))
            for group, mean, share in zip(released, means, missing, strict=True)
        ]

    def contradictions(self, released: Released, population: Population, part: float) -> tuple[Contradiction, ...]:  # noqa: ARG002
        """That there is no answer, if hardly any value is left."""
        return (TOO_FEW_LEFT,) if is_none_left(released, population) else ()

    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:  # noqa: ARG002
        """A warning if most values seem to be missing."""
        return (MANY_MISSING,) if population.is_mostly_missing else ()


def is_none_left(released: Released, population: Population) -> bool:
    """Whether most values seem to be missing, and the weight of all others may be nothing but noise."""
    sums = released.averaged
    assert isinstance(sums, PublicTotalSums | PrivateTotalSums)
    present = sums.total_weight - max(sums.missing, 0.0) if isinstance(sums, PublicTotalSums) else sums.weight_inside
    return population.is_mostly_missing and present < _NOISE_NATS


def _of_public_totals(released: Sequence[Released]) -> list[BoundedMean]:
    """The posterior of each mean, with the bounds at 0 and 1, if the total weight is public."""
    groups = [_PublicTotalEvidence(group) for group in released]
    return from_public_total(
        sums=_column([group.sums.values for group in groups]),
        weights_less_squares=_column([group.sums.weight_less_squares for group in groups]),
        missing=_column([group.sums.missing for group in groups]),
        weights=_column([group.sums.total_weight for group in groups]),
        people=_column([group.plan.effective_records for group in groups]),
    )


def _of_private_totals(released: Sequence[Released]) -> list[BoundedMean]:
    """The posterior of each mean, with the bounds at 0 and 1, if the total weight is private."""
    groups = [_PrivateTotalEvidence(group) for group in released]
    return from_private_total(
        lows=_column([group.sums.low for group in groups]),
        middles=_column([group.sums.middle for group in groups]),
        highs=_column([group.sums.high for group in groups]),
        people=_column([group.people for group in groups]),
    )


def _missing_of_private_totals(released: Sequence[Released]) -> list[float]:
    """The expected part of each total weight whose value is missing, given the released numbers."""
    groups = [_PrivateTotalEvidence(group) for group in released]
    missing = _column([group.sums.missing for group in groups])
    totals = _column([group.released_weight for group in groups]) + np.maximum(missing, 0.0)
    nothing_else = np.zeros_like(totals)
    shares: list[float] = (missing_nodes(missing, totals, nothing_else, nothing_else).means / totals).tolist()
    return shares


def _column(numbers: list[float]) -> Floats:
    return np.array(numbers, dtype=np.float64)


def _missing(released: Released, about: float) -> MissingShare:
    """The part of the weight that is missing; `about` is its estimate."""
    sums = released.averaged
    assert isinstance(sums, PublicTotalSums | PrivateTotalSums)
    total = sums.total_weight if isinstance(sums, PublicTotalSums) else sums.weight_inside + max(sums.missing, 0.0)
    return MissingShare.of(about, sums.missing, total)


def _between(plan: Plan, mean: BoundedMean, missing: MissingShare) -> Population:
    """A posterior with the bounds at 0 and 1, scaled to the known bounds."""
    low, high = plan.bounds
    width = high - low
    return Population(
        mean=min(max(low + width * mean.mean, low), high),
        scale=width * mean.deviation,
        law=mean.law.scaled(low, width),
        missing=missing,
    )
