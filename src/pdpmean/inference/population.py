"""Population: what is concluded about one group, and what all shapes conclude it from."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from pdpmean.inference.missing import MissingShare
from pdpmean.laws.law import Law
from pdpmean.planning.plan import Plan
from pdpmean.planning.released import Released
from pdpmean.results.assumed_tails import AssumedTails

__all__ = ["LARGEST_ERROR", "Evidence", "Population", "ShapeInference"]

_BUCKET_DOUBT = 0.5  # how far, relatively, a noisy census misstates the squared weights: its buckets are wide
_MORE = 0.7  # of a standard deviation, by simulation
LARGEST_ERROR = 2.0**1013  # so that a few of them add up to a number


@dataclass(frozen=True)
class Population:
    """What is concluded about a group."""

    mean: float
    scale: float
    """The standard deviation of the values."""
    law: Law
    """Where the mean lies."""
    missing: MissingShare | None = None
    """The part of the weight whose value is missing, where that is known."""
    assumed: AssumedTails | None = None
    """What was assumed of tails, where anything was."""
    contradictions: tuple[str, ...] = ()
    """Where the released numbers do not fit together, so that the mean is no answer: what was seen, in words."""

    @property
    def missing_share(self) -> float:
        """About the part of the weight whose value is missing; 0 where that is not known."""
        return 0.0 if self.missing is None else self.missing.about


@dataclass(frozen=True)
class Evidence(ABC):
    """What was released of a group, and what follows from it whatever the shape."""

    released: Released

    @property
    @abstractmethod
    def released_weight(self) -> float:
        """The total weight behind what was released."""

    @property
    def plan(self) -> Plan:
        """What it was released by."""
        return self.released.plan

    @property
    def weight(self) -> float:
        """The total weight: that of the plan, if budgets are public; else behind what was released."""
        if not self.plan.census.is_noisy:
            return self.plan.mean.weight
        return self.released_weight

    @property
    def growth(self) -> float:
        """How many times the weight was released that the noisy census had led to expect."""
        return min(max(self.weight / self.plan.mean.weight, 0.4), 2.5)

    @property
    def square(self) -> float:
        """The sum of the squared weights: between the plan's and the released one, the nearer to each the surer.

        And a little more, since too small a sum makes intervals fail more often than too large a one makes them hold.
        """
        plan, expected = self.plan, self.plan.mean.square * self.growth
        if self.released.weight_squares is None:
            return expected
        noise = math.sqrt(2) * plan.largest_weight * float(plan.shares["sum"] / plan.shares["weight_squares"])
        trust = 1 / (1 + (noise / (_BUCKET_DOUBT * expected)) ** 2)
        least = min(float(plan.shares["sum"]) * plan.model.limits[0], plan.largest_weight)
        found = expected + trust * (self.released.weight_squares - expected) + _MORE * math.sqrt(trust) * noise
        return min(max(found, least * self.weight), plan.largest_weight * self.weight)


class ShapeInference(ABC):
    """One per shape: what is concluded from the released numbers if the population has that shape."""

    @abstractmethod
    def populations(self, released: Sequence[Released]) -> list[Population]:
        """The population behind each group."""

    def contradictions(
        self,
        released: Released,  # noqa: ARG002
        population: Population,  # noqa: ARG002
        part: float,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Why released numbers cannot come from a population of this shape, so that there is no answer.

        Of all false alarms, which are rare over all groups together, this group may give the given part.
        """
        return ()

    @abstractmethod
    def warnings(self, released: Released, population: Population, part: float) -> tuple[str, ...]:
        """What to know about an answer that stands: remarks, no contradictions; false alarms as above."""
