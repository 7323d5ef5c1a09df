"""Scenarios for the audit: people with budgets and the options of an estimate, drawn at random, edge cases included."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from pdpmean.core.choices import Choices, ShapeName, check_share, given_shape
from pdpmean.core.model import BOUNDED, Model, ModelName, make_model
from pdpmean.core.types import Floats
from pdpmean.core.whose import Weighting
from pdpmean.errors import InsufficientBudgetError
from pdpmean.planning.plan import Plan

SMALLEST, LARGEST = 2.0**-40, 2.0**40
LARGEST_TOTAL = 1e9  # nats
# Times the share used; with less, most are refused. Of any shape, half will do where a bound is known.
LEAST_TOTAL: dict[ShapeName, float] = {"gaussian": 600.0, "any": 500.0, "bounds": 20.0}
# What may be known, by shape.
BOUNDS: dict[ShapeName, list[tuple[float | None, float | None] | None]] = {
    "gaussian": [None, None, None, (0.0, None), (-1.0, 1e4)],
    "any": [None, None, (0.0, None), (None, 1e4), (-1e300, None)],
    "bounds": [(0.0, 1.0), (1.0, 5.0), (-1.0, 1e4), (-(2.0**-980), 2.0**-980), (-1e301, 1e301)],
}
PLACES = (1.0, 3.7, 2.0**-980, 1e300)
WEIGHTINGS: tuple[Weighting, ...] = ("auto", "everyone", "budgets")


class Tier(NamedTuple):
    """So many people of one budget."""

    budget: float
    people: int


class Kind(NamedTuple):
    """What the scenarios of one test have in common."""

    model: ModelName
    shape: ShapeName
    grouped: bool

    def __str__(self) -> str:
        return "-".join((self.model, self.shape, "grouped" if self.grouped else "whole"))


SHAPES: tuple[ShapeName, ...] = ("gaussian", "any", "bounds")
KINDS = [
    Kind(model, shape, grouped) for model in ("bounded", "unbounded") for shape in SHAPES for grouped in (False, True)
]


@dataclass(frozen=True)
class Scenario:
    """One estimate to be made: of which people, with which options."""

    model: Model
    shape: ShapeName
    grouped: bool
    share: Fraction
    choices: Choices
    bounds: tuple[float | None, float | None] | None
    groups: list[list[Tier]]
    place: float
    """Where the population is found, and how wide it is."""
    weighting: Weighting = "auto"

    @property
    def options(self) -> dict[str, Any]:
        """As `estimate_mean` takes them."""
        return {
            "by": "group" if self.grouped else None,
            "groups": range(len(self.groups)) if self.grouped else None,
            "model": self.model.name,
            "budget_range": self.model.budget_range,
            "shape": given_shape(self.shape),
            "bounds": self.bounds,
            "share": self.share,
            "choices": self.choices,
            "weighting": self.weighting,
        }

    def promised(self, budget: float) -> float:
        """What a person of this budget granted, as the documents have it."""
        if self.model.budget_range is None:
            return budget
        low, high = self.model.budget_range
        return min(budget, high) if budget >= low else 0.0

    def audited(self, group: int, outcome: Plan | InsufficientBudgetError, source: Generator) -> list[float]:
        """Some budgets that a record of the group may have."""
        own = [tier.budget for tier in self.groups[group]]
        if self.model.budget_range is None:
            return source.permutation(own)[:3].tolist()  # type: ignore[no-any-return]
        capped = [outcome.saturation] if isinstance(outcome, Plan) else []
        edges = source.choice(edge_budgets(self.model.budget_range), 2).tolist()
        return [*capped, *edges, own[source.integers(len(own))]]


def edge_budgets(budget_range: tuple[float, float]) -> list[float]:
    """What a record may say that it grants, at every edge; in the unbounded model it may say anything."""
    ends = [end for limit in (*budget_range, SMALLEST, LARGEST) for end in around(limit)]
    return [*ends, 0.0, -0.0, -1.0, -math.inf, math.inf, math.nan, 5e-324, 1e300]


def around(limit: float) -> list[float]:
    """The number, and the doubles next to it."""
    return [math.nextafter(limit, 0.0), limit, math.nextafter(limit, math.inf)]


PUBLIC_EDGES = [*around(SMALLEST), *around(LARGEST), 0.0, 5e-324, 2 * LARGEST, 1e300, math.inf]


def draw(kind: Kind, source: Generator) -> Scenario:
    """A scenario of this kind."""
    model = BOUNDED if kind.model == "bounded" else make_model("unbounded", draw_range(source))
    share = check_share(draw_share(source))
    sizes = source.integers(2, 4) if kind.grouped else 1
    bounds = BOUNDS[kind.shape][source.integers(5)]
    least = LEAST_TOTAL[kind.shape] / float(share) / (2 if kind.shape == "any" and bounds else 1)
    return Scenario(
        model=model,
        shape=kind.shape,
        grouped=kind.grouped,
        share=share,
        choices=draw_choices(kind.shape, float(share), source),
        bounds=bounds,
        groups=[draw_tiers(model, least, source) for _ in range(sizes)],
        place=float(source.choice(PLACES)),
        weighting=WEIGHTINGS[source.integers(len(WEIGHTINGS))],
    )


def draw_share(source: Generator) -> float | Fraction:
    """From 2**-10 to 1, round ones often."""
    some: list[float | Fraction] = [1, Fraction(1, 2), Fraction(1, 3), 2.0**-10, 2.0 ** -source.uniform(0, 10)]
    return some[source.integers(len(some))]


def draw_range(source: Generator) -> tuple[float, float]:
    """What budgets may be, publicly: a few octaves, one budget alone, or all that there may be."""
    low = 2.0 ** source.uniform(-8, 1)
    some = [(low, low * 2.0 ** source.uniform(0, 10)), (low, low), (SMALLEST, LARGEST), (0.01, 1e300)]
    return some[source.choice(len(some), p=[0.7, 0.1, 0.1, 0.1])]


def draw_tiers(model: Model, least: float, source: Generator) -> list[Tier]:
    """Some tiers; and in the bounded model, some people at the edges of what may be granted."""
    low, high = model.budget_range or (2.0**-8, 2.0**6)
    low = max(low, 2.0**-8)
    high = min(high, 2.0**6)
    tiers = draw_few_large(low, high, least, source) if source.random() < 0.3 else draw_any(low, high, least, source)
    if model.budget_range is None:
        tiers += [Tier(edge, int(source.integers(1, 4))) for edge in source.choice(PUBLIC_EDGES, 2).tolist()]
    return tiers


def draw_any(low: float, high: float, least: float, source: Generator) -> list[Tier]:
    """Up to three tiers that grant up to `LARGEST_TOTAL` together."""
    budgets = low * (high / low) ** source.random(source.integers(1, 4))
    total = least * (LARGEST_TOTAL / least) ** source.random()
    return tiers_of(budgets, source.dirichlet(np.ones(budgets.size)) * total)


def draw_few_large(low: float, high: float, least: float, source: Generator) -> list[Tier]:
    """Few who grant much and many who grant little: then locating may spend what the sum is spared."""
    part = source.uniform(0.5, 0.95)
    total = least * source.uniform(0.5, 3)
    return tiers_of(np.array([low, min(high, 8.0)]), np.array([1 - part, part]) * total)


def tiers_of(budgets: Floats, granted: Floats) -> list[Tier]:
    """Tiers of these budgets, each of so many people that they grant so much together."""
    people = np.ceil(granted / budgets).astype(int)
    return [Tier(*tier) for tier in zip(budgets.tolist(), people.tolist(), strict=True)]


def draw_choices(shape: ShapeName, share: float, source: Generator) -> Choices:
    """Each choice left to the plan, mostly."""

    def sometimes(number: float) -> float | None:
        return number if source.random() < 0.15 else None

    room = max(share * 15 / 16 - 2.0**-10, 0.0)  # what the census leaves, less what must be left to average
    located = [sometimes(room * source.uniform(0.01, 0.5)) or None for _ in range(2)]
    half_width = sometimes(10 ** source.uniform(-3, 3))
    saturation = sometimes(2.0 ** source.uniform(-20, 6))
    bell = {"center_share": located[0], "scale_share": located[1], "clip_half_width": half_width}
    return Choices(
        saturation=saturation,
        max_failure=float(source.choice([0.05, 0.9])),
        max_ratio=10 ** source.uniform(0, 6),
        **(bell if shape == "gaussian" else {}),
    )
