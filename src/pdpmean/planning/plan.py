"""`Plan`: every choice that an estimate will follow, and the errors it predicts.

A plan is made from public numbers (or from a noisy census of private budgets) before any value is read. It is what a
user prints to decide whether to go on, what the steps of a release read their parameters from, and what inference
compares the released numbers with. `make.py` makes plans, this module says what follows from one, and
`plan_in_words.py` how it prints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NoReturn

import numpy as np

from pdpmean.core.choices import Choices, GivenShape, given_shape
from pdpmean.core.html import as_html
from pdpmean.core.model import Model
from pdpmean.core.profile import ALIKE, Profile
from pdpmean.core.quiet import quietly
from pdpmean.core.rules import KeepRule
from pdpmean.core.text import as_facts, budget_in_words
from pdpmean.core.types import Floats
from pdpmean.core.weights import locating_weights
from pdpmean.core.whose import Whose
from pdpmean.laws.lattice import Lattice, everywhere, keys_of, linear, positive
from pdpmean.laws.lower_bound import lower_bound
from pdpmean.laws.reading import Counted
from pdpmean.planning.census import Census
from pdpmean.planning.forecast import KEEP_ALL, LOCATING_STEPS, ONE_IN_FOUR, Forecast, costs_in_locate
from pdpmean.planning.levels import ChosenWeighting, Levels
from pdpmean.planning.named_shapes import NAMED_SHAPES, expected_between, expected_error, shapes_between
from pdpmean.planning.plan_in_words import error_in_words, rows_of, whose_mean
from pdpmean.planning.prediction import BOUNDS_OCTAVES, WeightSums

__all__ = ["Plan", "Shares", "WhoCounts"]

WhoCounts = Literal["everyone", "pooled", "budgets"]
"""How much each person counts: everyone the same, in proportion to budgets, or pooled, between the two."""
_ROUNDING = 1e-9  # the relative difference below which two budgets are taken for equal
_CENTER_GRAIN = 2**26  # the largest number of neighbouring doubles that the search for a centre treats as one


class Shares(dict[str, Fraction]):
    """The share of every budget that each step may use, by name.

    Shares are exact fractions, since the privacy proof needs them to add up to the whole share exactly; and read-only,
    since they are what was promised.
    """

    def __setitem__(self, *_: object) -> NoReturn:
        raise TypeError("shares cannot be changed; see Choices")

    def __reduce__(self) -> tuple[Any, ...]:
        return Shares, (dict(self),)

    @cached_property
    def locating(self) -> Fraction:
        """The sum of the shares that `locate` may use: for a centre, a scale or a histogram."""
        return sum((self.get(name, Fraction(0)) for name in LOCATING_STEPS), Fraction(0))


@dataclass(frozen=True, repr=False)
class Plan(Forecast):
    """How an estimate will be made, and how accurate it will be. Prints itself as a list of facts.

    Errors are in standard deviations of the population or, between two known bounds, in the unit of the values.
    """

    model: Model
    shares: Shares
    """The share of every budget that each step may use, by name, as exact fractions."""
    census: Census = field(compare=False)
    """The budgets that the plan was made for."""
    choices: Choices
    whose: Whose
    """The requested target and weighting."""
    chosen_weighting: ChosenWeighting = field(compare=False)
    """The weighting that the plan decided on, with the levels of budgets it needs."""
    nothing_missing: bool = False
    """Whether it is public knowledge that no value is missing."""

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON."""
        return {
            "model": self.model.name,
            "shape": self.given_shape,
            "bounds": self.bounds.ends,
            "total_budget": self.total,
            "errors_in": self.errors_in,
            "expected_std": self.expected_std,
            "expected_std_by_shape": self.expected_by_shape or None,
            "noise_std": self.noise_std,
            "sampling_std": self.sampling_std,
            "half_width_95": self.half_width(),
            "lower_bound": self.lower_bound,
            "failure_probability": self.failure_probability(self.choices.max_ratio),
            "effective_records": self.effective_records,
            "limited_by": self.limited_by[0],
            "without_privacy": self.without_privacy,
            "saturation": self.saturation,
            "people_beyond_saturation": self.people_beyond_saturation,
            "clip_half_width": self.clip_half_width,
            "weighting": self.weighting,
            "target": self.whose.target,
            "price_of_everyone": self.price_of_everyone,
            "expected_std_if_levels_differ": self.expected_std_if_levels_differ,
            "shares": {name: float(share) for name, share in self.shares.items()},
        }

    @property
    def expectations(self) -> dict[str, Any]:
        """A summary of the plan, to be stored with the release; infinite numbers are None, for JSON."""
        numbers = {
            "total_budget": self.total,
            "expected_std": self.expected_std,
            "clip_half_width": self.clip_half_width,
        }
        finite_numbers = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
        return finite_numbers | {"errors_in": self.errors_in}

    @property
    def errors_in(self) -> str:
        """The unit of all errors of the plan, in words."""
        return "standard deviations" if self.in_deviations else "the values' unit"

    @property
    def expected_by_shape(self) -> dict[str, float]:
        """The expected error for named shapes, in the plan's unit; first the shape that `expected_std` is for.

        Empty if the shape was given, since there is then no other.
        """
        if self.given_shape != "any":
            return {}
        noise = self.census.noise_of_sums
        if self.in_deviations:
            return {shape.words: expected_error(shape, self.mean, noise).std for shape in NAMED_SHAPES}
        half = self.bounds.half
        shapes = shapes_between(self.bounds)
        return {shape.words: expected_between(shape, half, self.mean, noise).std for shape in shapes}

    @property
    def limited_by(self) -> tuple[Literal["noise", "sampling"], float]:
        """The larger component of the squared error, and its share of it."""
        noise = (self.noise_std / self.expected_std) ** 2
        return ("noise", noise) if noise > 0.5 else ("sampling", 1 - noise)

    @property
    def weighting(self) -> WhoCounts:
        """How much each person counts, in one word."""
        if self.levels is None:
            return "budgets" if self.whose.weighting == "budgets" else "everyone"
        return "everyone" if self.levels.everyone else "pooled"

    @property
    def price_of_everyone(self) -> float:
        """The expected error if everyone counts the same, relative to that if people count by their budgets."""
        return self.chosen_weighting.price_of_everyone

    @property
    def expected_std_if_levels_differ(self) -> float:
        """The expected error (std) if people with different budgets have different means."""
        return self.expected_std * self.chosen_weighting.error_ratio_if_levels_differ

    @property
    def given_shape(self) -> GivenShape:
        """The shape that was asked for; between known bounds, planning may use another one internally."""
        return given_shape(self.shape)

    def rows(self) -> list[tuple[str, str]]:
        """The plan in words: one row per fact, with its name."""
        return rows_of(self)

    def whose_mean(self, weighting: WhoCounts) -> str:
        """Whose mean an estimate with this weighting is, in words."""
        return whose_mean(self, weighting)

    def __repr__(self) -> str:
        return f"<Plan {self.model.name}, {self.given_shape}: expected error {error_in_words(self)}>"

    def __str__(self) -> str:
        return as_facts(self.rows())

    def _repr_html_(self) -> str:
        return as_html(self.rows())

    @property
    def total(self) -> float:
        """The total budget in nats; in the unbounded model, by the noisy census."""
        return self.census.total * self.model.budget_per_allowance

    @property
    def people(self) -> float:
        """The number of people, including those who grant nothing; in the unbounded model, by the noisy census."""
        return self.census.profile.people + self.census.left_out

    @property
    def without_privacy(self) -> float:
        """The error (std) that the plain mean would have without privacy, for the same population as `expected_std`.

        It is 0 if the mean is that of the people in the data, since the plain mean is then the true one.
        """
        if self.whose.are_these_people:
            return 0.0
        deviation = 1.0 if self.in_deviations else shapes_between(self.bounds)[0].deviation * self.bounds.half
        return deviation / math.sqrt(self.people)

    @cached_property
    @quietly
    def lower_bound(self) -> float | None:
        """An error that every private estimator exceeds one time in four, for these budgets, in standard deviations.

        It holds for the mean of a normal population that may lie anywhere. None if the mean is that of the people in
        the data, or if errors are in the unit of the values.
        """
        if self.whose.are_these_people or not self.in_deviations:
            return None
        profile = self.census.profile
        # A noisy census counts fractions of people. Rounding the cumulative counts keeps the total and hardly changes
        # the bound.
        people = np.diff(np.rint(np.cumsum(profile.counts)), prepend=0.0)
        budgets = profile.allowances * self.model.budget_per_allowance
        occupied = np.flatnonzero(people)
        return lower_bound({float(budgets[j]): int(people[j]) for j in occupied}, model=self.model.name)

    @property
    def ratio_to_lower_bound(self) -> float | None:
        """The error that one run in four exceeds, relative to the lower bound; None where there is no lower bound."""
        return None if self.lower_bound is None else self.half_width(ONE_IN_FOUR) / self.lower_bound

    @property
    def saturation(self) -> float:
        """The budget above which more budget of the same person adds nothing."""
        largest = max(self._caps, default=self.weight_cap)
        return largest / float(self.shares["sum"]) * self.model.budget_per_allowance

    @property
    def most_counted(self) -> float:
        """The largest budget that counts in full: the saturation, or the largest budget of anybody if that is less."""
        return min(self.saturation, self._largest_budget)

    @property
    def _largest_budget(self) -> float:
        return float(self.census.profile.allowances[-1]) * self.model.budget_per_allowance

    @property
    def saturation_in_words(self) -> str:
        """The largest budget that counts in full, in words."""
        return budget_in_words(self.most_counted)

    @property
    def people_beyond_saturation(self) -> float:
        """The fraction of the people whose budget exceeds the saturation."""
        profile = self.census.profile
        beyond = profile.allowances * self.model.budget_per_allowance > self.saturation * (1 + _ROUNDING)
        return float(profile.counts[beyond].sum()) / self.people

    def counts(self, budgets: Floats) -> Floats:
        """How much a person with each of these budgets counts, from 0 to 1 for whoever counts most.

        If levels are pooled, this is how much they count if the levels turn out to agree.
        """
        if self.levels is None:
            return np.minimum(budgets / self.most_counted, 1.0)
        per_person = np.array(self.chosen_weighting.parts) / self.levels.people
        level = np.searchsorted(self.levels.edges, budgets / self.model.budget_per_allowance, side="right")
        counted: Floats = per_person[level] / per_person.max()
        return counted

    @property
    def largest_weight(self) -> float:
        """A public upper bound on the weight of a record in the average, in nats."""
        if self.levels:
            return max(self._caps)
        return min(self.weight_cap, float(self.shares["sum"]) * self.census.largest(self.model))

    @property
    def _caps(self) -> tuple[float, ...]:
        """The largest weight of a record in each level, in nats; empty without levels."""
        return self.levels.caps if self.levels else ()

    @property
    def levels(self) -> Levels | None:
        """The levels of budgets that are summed separately; None if there is a single sum."""
        return self.chosen_weighting.levels

    @cached_property
    def keep_rule(self) -> KeepRule:
        """What each record may cost in `locate`, and the probability with which it is kept there."""
        return KeepRule(
            share=float(self.shares.locating),
            sum_share=float(self.shares["sum"]),
            # Only what a record cannot spend in any of the sums may be spent on locating.
            spared_from=max(self.spared_from, self.weight_cap, *self._caps),
            cap=self.locate_cap,
            density=self.keep_density,
        )

    def located(self, profile: Profile) -> float:
        """The total weight in `locate` of people with this profile, in nats, if they follow this plan."""
        rule = self.keep_rule
        people, share = costs_in_locate(profile, rule.share, rule.sum_share, rule.spared_from)
        return people.capped_sums(self.locate_cap, share)[0]

    @cached_property
    def located_people(self) -> float:
        """The total weight in `locate` of the people that the plan was made for, in nats."""
        return self.located(self.census.profile)

    def is_like(self, profile: Profile) -> bool:
        """Whether this plan's choices are almost the best for people with this profile."""
        planned_profile = self.census.profile
        largest_allowance = self.weight_cap / float(self.shares["sum"])
        return planned_profile.is_like(profile, largest_allowance) and math.isclose(
            self.located_people, self.located(profile), rel_tol=ALIKE
        )

    @property
    def behind_histogram(self) -> Counted:
        """What is known about the weights in the histogram, which may be those of a sample of the records."""
        everybody = self._behind_full_histogram
        if self.keep_density >= KEEP_ALL:
            return everybody
        rule, profile = self.keep_rule, self.census.profile
        weights = np.minimum(
            locating_weights(profile.allowances, rule.share, rule.sum_share, rule.spared_from), rule.cap
        )
        rates = np.minimum(weights * rule.density, 1.0)
        # Amplification by sampling: a record that is kept with probability q may weigh log(1 + (exp(w) - 1) / q), at a
        # privacy loss of w.
        amplified = (1 - self.center_part) * np.where(rates < 1, np.log1p(np.expm1(weights) / rates), weights)
        kept = profile.counts * rates
        nats = float(kept @ amplified)
        sampling_std = math.sqrt(float((kept * (1 - rates)) @ amplified**2))
        people = nats**2 / float(kept @ amplified**2)
        return Counted(nats, people, math.hypot(sampling_std, nats * everybody.nats_std / everybody.nats))

    @property
    def _behind_full_histogram(self) -> Counted:
        """What is known about the weights in a histogram of all records."""
        part = 1 - self.center_part
        return self._counted(self.scale, part * float(self.shares.locating), part * self.locate_cap)

    @property
    def behind_sums(self) -> Counted:
        """What is known about the weights in the sums."""
        return self._counted(self.mean, float(self.shares["sum"]), self.weight_cap)

    def _counted(self, sums: WeightSums, share: float, cap: float) -> Counted:
        """What is known about weights ``min(share * allowance, cap)``: their total in nats, and its error (std)."""
        noise_std = sums.weight * self.census.total_noise_std / self.census.profile.total
        nats_std = math.hypot(noise_std, self.census.weight_within_buckets(share, cap))
        return Counted(sums.weight, sums.weight**2 / sums.square, nats_std)

    @property
    def center_lattice(self) -> Lattice:
        """The candidates for the centre: nearly uniform between two known bounds, otherwise all doubles within them."""
        if self.bounds.are_both_known:
            return linear(*self.bounds)
        return everywhere().within(*self.bounds)

    @property
    def center_grain(self) -> int:
        """How many neighbouring doubles count as one centre: 2**26 or, between narrow bounds, fewer."""
        starts = self.center_lattice.starts
        return min(_CENTER_GRAIN, 1 << max(0, (starts[-1] - starts[0]).bit_length() - 20))

    def center_cell(self, center: float) -> float:
        """The approximate resolution of a centre, in the unit of the values."""
        return self.center_grain * math.ulp(center)

    @property
    def anchor(self) -> float:
        """The known bound from which distances are measured if no centre is located."""
        assert self.bounds.anchor is not None
        return self.bounds.anchor

    @cached_property
    def center_part(self) -> float:
        """The part of a record's weight in `locate` that is spent on the centre."""
        return float(self.shares.get("center", Fraction(0)) / self.shares.locating)

    @property
    def spread_lattice(self) -> Lattice:
        """The candidates for the spread: all positive doubles or, between two known bounds, down to 2**-40 of them."""
        if not self.bounds.are_both_known:
            return positive()
        width = self.bounds.half
        low, high = keys_of(np.array([math.ldexp(width, -BOUNDS_OCTAVES), width])).tolist()
        return Lattice((low, high + 1), (1,))
