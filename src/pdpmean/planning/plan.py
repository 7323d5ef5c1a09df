"""What a plan says: the choices it made, and the errors it predicts."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NoReturn

import numpy as np

from pdpmean.core.bounds import Bounds
from pdpmean.core.choices import Choices, GivenShape, given_shape
from pdpmean.core.html import as_html
from pdpmean.core.model import Model
from pdpmean.core.profile import ALIKE, Profile
from pdpmean.core.quiet import quietly
from pdpmean.core.rules import KeepRule
from pdpmean.core.text import as_facts
from pdpmean.core.types import Floats
from pdpmean.core.weights import locating_weights
from pdpmean.core.whose import Whose
from pdpmean.laws.error_law import half_width
from pdpmean.laws.lattice import Lattice, everywhere, keys_of, linear, positive
from pdpmean.laws.lower_bound import lower_bound
from pdpmean.laws.reading import Counted
from pdpmean.planning.census import Census
from pdpmean.planning.forecast import KEEP_ALL, LOCATING_STEPS, Forecast, weighed
from pdpmean.planning.levels import Levels, Weighed
from pdpmean.planning.named_shapes import NAMED_SHAPES, expected_error
from pdpmean.planning.prediction import BOUNDS_OCTAVES, Sums

__all__ = ["CENTER_GRAIN", "Plan", "Shares", "WhoCounts"]

WhoCounts = Literal["everyone", "pooled", "budgets"]
"""Who counts how much: everyone the same, something between that and budgets, or by budgets."""
_WHO_COUNTS: dict[WhoCounts, str] = {
    "everyone": "everyone counts the same",
    "pooled": "everyone counts; those who grant more count more, as far as their values are no different",
    "budgets": "people count by their budgets, which is right only if values do not go with budgets",
}
CENTER_GRAIN = 2**26  # the resolution of a centre: so many neighbouring doubles count as one, at most


class Shares(dict[str, Fraction]):
    """The part of every budget that each step may use; exact, and not to be changed."""

    def __setitem__(self, *_: object) -> NoReturn:
        raise TypeError("shares cannot be changed; see Choices")

    def __reduce__(self) -> tuple[Any, ...]:
        return Shares, (dict(self),)

    @property
    def locating(self) -> Fraction:
        """What `locate` may use, whatever it looks for."""
        return sum((self.get(name, Fraction(0)) for name in LOCATING_STEPS), Fraction(0))


@dataclass(frozen=True, repr=False)
class Plan(Forecast):
    """How an estimate will be made and how good it will be.

    Errors are in units of the standard deviation or, between known bounds, in the values' own unit.
    """

    model: Model
    shares: Shares
    """The part of every budget that each step may use, by name, as exact fractions."""
    census: Census = field(compare=False)
    choices: Choices
    whose: Whose
    weighed: Weighed = field(compare=False)
    """Who counts how much."""
    nothing_missing: bool = False
    """Whether every value is publicly known to be there."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON."""
        return {
            "model": self.model.name,
            "shape": self.given_shape,
            "bounds": self.bounds.ends,
            "total_budget": self.total,
            "errors_in": "standard deviations" if self.in_deviations else "the values' unit",
            "expected_std": self.expected_std,
            "expected_std_by_shape": self.expected_by_shape or None,
            "noise_std": self.noise_std,
            "sampling_std": self.sampling_std,
            "half_width_95": self.half_width(),
            "lower_bound": self.lower_bound if self.in_deviations else None,
            "failure_probability": self.failure_probability(),
            "effective_records": self.effective_records,
            "saturation": self.saturation,
            "clip_width": self.clip_width,
            "weighting": self.weighting,
            "target": self.whose.target,
            "price_of_everyone": self.weighed.price,
            "expected_std_if_levels_differ": self.expected_std * self.weighed.disagreed,
            "shares": {name: float(share) for name, share in self.shares.items()},
        }

    def rows(self) -> list[tuple[str, str]]:
        """What the plan says, in words: one row per fact."""
        return [
            ("total budget", f"{self.total:,.6g}; budgets above {self.saturation:.3g} add nothing"),
            ("expected error (std)", f"{self.error_in_words}{' of the population' * self.in_deviations}"),
            *self._rows_of_shapes(),
            ("made of", f"noise {self.noise_std:.4g} and sampling {self.at_most}{self.sampling_std:.4g}"),
            ("95 % interval", f"{self.at_most}+- {self.half_width():.4g}"),
            *self._rows_of_weighting(),
            *self._rows_of_locating(),
            ("shares of the budget", ", ".join(f"{name} {float(share):.3g}" for name, share in self.shares.items())),
        ]

    def _rows_of_shapes(self) -> list[tuple[str, str]]:
        """For which populations the expected error holds, and what it is for others."""
        if not self.expected_by_shape:
            return []
        return [
            ("that is, if it is", ", ".join(f"{name} {error:.3g}" for name, error in self.expected_by_shape.items()))
        ]

    @property
    def expected_by_shape(self) -> dict[str, float]:
        """The expected error by name of a shape, in standard deviations of the population, where any is possible."""
        if "histogram" not in self.shares:
            return {}
        noise = math.sqrt(2) if self.census.is_noisy else 1.0
        return {shape.words: expected_error(shape, self.mean, noise).std for shape in NAMED_SHAPES}

    @property
    def weighting(self) -> WhoCounts:
        """Who counts how much, in a word."""
        if self.levels is None:
            return "budgets" if self.whose.weighting == "budgets" else "everyone"
        return "everyone" if self.levels.everyone else "pooled"

    def whose_mean(self, weighting: WhoCounts) -> str:
        """Whose mean it is, in words, if people count so much."""
        group = "the people in the table" if self.whose.are_these_people else "the population they come from"
        left_out = self.census.left_out
        nothing = f"; nothing can be said of the {left_out:,.0f} who grant no budget" if left_out else ""
        return f"{_WHO_COUNTS[weighting]}: the mean of {group}{nothing}"

    def _rows_of_weighting(self) -> list[tuple[str, str]]:
        """Who counts how much, and what it costs that everyone does the same."""
        price = f"{self.weighed.price:.3g} times the error"
        if self.weighting == "everyone":
            several = f"everyone the same; that is {price} of counting by budgets"
            return [("who counts", several)] if self.levels else []
        who = f"{self.weighting}; counting everyone the same would be {price}"
        if self.weighting == "budgets":
            return [("who counts", who)]
        differing = f"the expected error is {self.expected_std * self.weighed.disagreed:.4g}"
        return [("who counts", who), ("if levels differ", differing)]

    @property
    def given_shape(self) -> GivenShape:
        """The shape that was asked for."""
        return given_shape(self.shape)

    def _rows_of_locating(self) -> list[tuple[str, str]]:
        """What is known of a population that must first be found."""
        if not self.needs_locating:
            return []
        return [
            ("at best", f"every private estimator errs by at least {self.lower_bound:.4g} in one run out of four"),
            ("chance of a miss", f"{self.failure_probability():.2g}, for a mean 10,000 standard deviations from 0"),
        ]

    @property
    def at_most(self) -> str:
        """What goes before an error that is the largest there can be."""
        return "" if self.in_deviations else "at most "

    @property
    def error_in_words(self) -> str:
        """The expected error with its unit."""
        return f"{self.at_most}{self.expected_std:.4g}{' standard deviations' * self.in_deviations}"

    def __repr__(self) -> str:
        return f"<Plan {self.model.name}, {self.given_shape}: expected error {self.error_in_words}>"

    def __str__(self) -> str:
        return as_facts(self.rows())

    def _repr_html_(self) -> str:
        return as_html(self.rows())

    @property
    def total(self) -> float:
        """What all budgets add up to; in the unbounded model, by the noisy census."""
        return self.census.total * self.model.budget_per_allowance

    @property
    def people(self) -> float:
        """How many there are, those who grant nothing included; in the unbounded model, by the noisy census."""
        return self.census.profile.people + self.census.left_out

    @property
    def without_privacy(self) -> float:
        """The error (std) of the plain mean; between known bounds, the largest there can be."""
        return (1.0 if self.in_deviations else self.clip_width) / math.sqrt(self.people)

    @cached_property
    @quietly
    def lower_bound(self) -> float:
        """An error that every private estimator exceeds one time in four, for these budgets, in standard deviations.

        For a normal population that may lie anywhere.
        """
        profile = self.census.profile
        # Hardly changed by rounding how many hold at most so much.
        people = np.diff(np.rint(np.cumsum(profile.counts)), prepend=0.0)
        budgets = profile.levels * self.model.budget_per_allowance
        held = np.flatnonzero(people)
        return lower_bound({float(budgets[j]): int(people[j]) for j in held}, model=self.model.name)

    @property
    def ratio_to_lower_bound(self) -> float:
        """The error exceeded one time in four, over the one that no private estimator stays below so often."""
        return half_width(0.75, self.noise_scale, self.sampling_std) / self.lower_bound

    @property
    def saturation(self) -> float:
        """The budget above which more no longer counts."""
        largest = max(self._caps, default=self.weight_cap)
        return largest / float(self.shares["sum"]) * self.model.budget_per_allowance

    def counts(self, budgets: Floats) -> Floats:
        """How much people of these budgets count, over who counts most; where levels are pooled, if they agree."""
        if self.levels is None:
            return np.minimum(budgets / self.saturation, 1.0)
        per_person = np.array(self.weighed.parts) / self.levels.people
        level = np.searchsorted(self.levels.edges, budgets / self.model.budget_per_allowance, side="right")
        counted: Floats = per_person[level] / per_person.max()
        return counted

    @property
    def largest_weight(self) -> float:
        """No record weighs more in the average, publicly."""
        if self.levels:
            return max(self._caps)
        return min(self.weight_cap, float(self.shares["sum"]) * self.census.largest(self.model))

    @property
    def _caps(self) -> tuple[float, ...]:
        return self.levels.caps if self.levels else ()

    @property
    def levels(self) -> Levels | None:
        """The levels of budgets whose sums are kept apart, where there are any."""
        return self.weighed.levels

    @cached_property
    def keep_rule(self) -> KeepRule:
        """How records enter `locate`."""
        return KeepRule(
            share=float(self.shares.locating),
            sum_share=float(self.shares["sum"]),
            spared_from=max(self.spared_from, self.weight_cap, *self._caps),  # what is not spent in sums, and no more
            cap=self.locate_cap,
            density=self.thinning,
        )

    def located(self, profile: Profile) -> float:
        """What people of this profile weigh in `locate`, by this plan."""
        rule = self.keep_rule
        people, share = weighed(profile, rule.share, rule.sum_share, rule.spared_from)
        return people.capped_sums(self.locate_cap, share)[0]

    @cached_property
    def located_people(self) -> float:
        """What the people it was made for weigh in `locate`."""
        return self.located(self.census.profile)

    def is_like(self, profile: Profile) -> bool:
        """Whether this plan's choices are hardly worse than the best for people of this profile."""
        own, tau = self.census.profile, self.weight_cap / float(self.shares["sum"])
        return own.is_like(profile, tau) and math.isclose(self.located_people, self.located(profile), rel_tol=ALIKE)

    @property
    def behind_histogram(self) -> Counted:
        """What is known of the weights in the histogram: those of the sample, where only one is looked at."""
        counted = self._behind_all_of_them
        if self.thinning >= KEEP_ALL:
            return counted
        rule, profile = self.keep_rule, self.census.profile
        weights = np.minimum(locating_weights(profile.levels, rule.share, rule.sum_share, rule.spared_from), rule.cap)
        rates = np.minimum(weights * rule.density, 1.0)
        raised = (1 - self.center_part) * np.where(rates < 1, np.log1p(np.expm1(weights) / rates), weights)
        kept = profile.counts * rates
        nats = float(kept @ raised)
        by_chance = math.sqrt(float((kept * (1 - rates)) @ raised**2))
        people = nats**2 / float(kept @ raised**2)
        return Counted(nats, people, math.hypot(by_chance, nats * counted.nats_std / counted.nats))

    @property
    def _behind_all_of_them(self) -> Counted:
        """The same, of everybody."""
        part = 1 - self.center_part
        return self._counted(self.scale, part * float(self.shares.locating), part * self.locate_cap)

    @property
    def behind_sums(self) -> Counted:
        """What is known of the weights in the sums."""
        return self._counted(self.mean, float(self.shares["sum"]), self.weight_cap)

    def _counted(self, sums: Sums, share: float, cap: float) -> Counted:
        """What is known of weights that are `share` of every allowance, but at most `cap`."""
        noise = sums.weight * self.census.doubt / self.census.profile.total
        nats_std = math.hypot(noise, self._within_buckets(share, cap))
        return Counted(sums.weight, sums.weight**2 / sums.square, nats_std)

    def _within_buckets(self, share: float, cap: float) -> float:
        """How far such weights may be off, since a bucket tells what its budgets add up to, but not which they are."""
        buckets = self.census.buckets
        if buckets is None:
            return 0.0
        per_allowance = np.minimum(share, cap / np.array([buckets.lows, buckets.highs]))
        most, least = (per_allowance * buckets.sums).sum(axis=1).tolist()
        return float(most - least) / 2

    @property
    def center_lattice(self) -> Lattice:
        """Where the centre is sought."""
        if self.bounds.are_both_known:
            return linear(*self.bounds)
        return everywhere().within(*self.bounds)

    @property
    def center_grain(self) -> int:
        """How many neighbouring doubles the centre does not tell apart: 2**-26 of it, less in a narrow bounds."""
        starts = self.center_lattice.starts
        return min(CENTER_GRAIN, 1 << max(0, (starts[-1] - starts[0]).bit_length() - 20))

    def center_cell(self, center: float) -> float:
        """What a centre is not told apart from, about."""
        return self.center_grain * math.ulp(center)

    @property
    def ends(self) -> Bounds:
        """The bounds, as they are taken around a centre: an end that is not known is the largest double."""
        if "center" not in self.shares or self.bounds.only_one is None:
            return self.bounds
        return Bounds(max(self.bounds.low, -sys.float_info.max), min(self.bounds.high, sys.float_info.max))

    @property
    def anchor(self) -> float:
        """The known bound that distances are measured from, where no centre is sought."""
        assert self.bounds.only_one is not None
        return self.bounds.only_one

    @property
    def center_part(self) -> float:
        """The part of a record's locating weight that goes to the centre."""
        return float(self.shares.get("center", Fraction(0)) / self.shares.locating)

    @property
    def spread_lattice(self) -> Lattice:
        """Where the spread is sought."""
        if not self.bounds.are_both_known:
            return positive()
        width = self.bounds.half
        low, high = keys_of(np.array([math.ldexp(width, -BOUNDS_OCTAVES), width])).tolist()
        return Lattice((low, high + 1), (1,))
