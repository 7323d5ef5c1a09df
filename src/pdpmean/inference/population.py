"""Base types of inference: `Population`, what is concluded about one group, and `Evidence`, what it follows from.

Each shape subclasses `Evidence` and `ShapeInference`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pdpmean.inference.missing import MissingShare
from pdpmean.laws.law import Law
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Released
from pdpmean.results.assumed_tails import AssumedTails

__all__ = ["LARGEST_ERROR", "Contradiction", "Evidence", "Population", "ShapeInference"]

_BUCKET_ERROR = 0.5  # the relative error (std) of the squared weights by a noisy census, whose buckets are wide
_SQUARE_MARGIN = 0.7  # standard deviations by which the estimated squared weights are raised, by simulation
LARGEST_ERROR = 2.0**1013  # limits errors so that a sum of a few is still finite


class Contradiction(NamedTuple):
    """Why there is no answer, in words. It exists so that nobody is told so without hearing what would help."""

    reason: str
    advice: str
    """What would help, as one sentence."""


@dataclass(frozen=True)
class Population:
    """What is concluded about the population of one group."""

    mean: float
    scale: float
    """The standard deviation of the values."""
    law: Law
    """The distribution of the mean, given the released numbers."""
    missing: MissingShare | None = None
    """The part of the weight whose value is missing; None where it is not released."""
    assumed: AssumedTails | None = None
    """What was assumed about tails; None if nothing was."""
    contradictions: tuple[Contradiction, ...] = ()
    """How the released numbers contradict each other. If they do, the mean is not an answer."""

    @property
    def is_mostly_missing(self) -> bool:
        """Whether more than half of the weight seems to have no value; False where that is not released."""
        return self.missing is not None and self.missing.about > 0.5


@dataclass(frozen=True)
class Evidence(ABC):
    """The released numbers of one group, and what follows from them for every shape."""

    released: Released

    @property
    @abstractmethod
    def released_weight(self) -> float:
        """The total weight by the released sums, in nats."""

    @property
    def plan(self) -> Plan:
        """The plan that the numbers were released by."""
        return self.released.plan

    @property
    def weight(self) -> float:
        """The total weight in nats: by the plan if budgets are public, otherwise by the released sums."""
        if not self.plan.census.is_noisy:
            return self.plan.mean.weight
        return self.released_weight

    @property
    def growth(self) -> float:
        """The total weight, relative to what the plan expected by a noisy census; from 0.4 to 2.5."""
        return min(max(self.weight / self.plan.mean.weight, 0.4), 2.5)

    @property
    def square(self) -> float:
        """The sum of the squared weights: the planned and the released one, averaged by inverse variance.

        A small margin is added: too small a sum harms the coverage of intervals more than too large a sum helps it.
        """
        plan = self.plan
        expected = self.plan.mean.square * self.growth
        if self.released.weight_squares is None:
            return expected
        noise_std = math.sqrt(2) * plan.largest_weight * float(plan.shares["sum"] / plan.shares["weight_squares"])
        trust = 1 / (1 + (noise_std / (_BUCKET_ERROR * expected)) ** 2)
        smallest_weight = min(float(plan.shares["sum"]) * plan.model.limits[0], plan.largest_weight)
        margin = _SQUARE_MARGIN * math.sqrt(trust) * noise_std
        square = expected + trust * (self.released.weight_squares - expected) + margin
        return min(max(square, smallest_weight * self.weight), plan.largest_weight * self.weight)


class ShapeInference(ABC):
    """What follows from the released numbers if the population has a certain shape; one subclass per shape."""

    @abstractmethod
    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The population behind each set of released numbers, all at once."""

    def contradictions(
        self,
        released: Released,  # noqa: ARG002
        population: Population,  # noqa: ARG002
        part: float,  # noqa: ARG002
    ) -> tuple[Contradiction, ...]:
        """Why the released numbers cannot come from a population of this shape, so that there is no answer.

        False alarms are rare over all groups together; `part` is the part of them that this group may raise.
        """
        return ()

    @abstractmethod
    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:
        """Remarks on an answer that nothing contradicts; `part` is as for `contradictions`."""
