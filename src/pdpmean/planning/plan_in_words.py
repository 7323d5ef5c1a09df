"""A plan in words: the facts that it prints, one row each.

Errors are shown with their unit, and with the population for which they hold.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from pdpmean.core.text import budget_in_words
from pdpmean.planning.forecast import ONE_IN_FOUR
from pdpmean.planning.named_shapes import shapes_between

if TYPE_CHECKING:
    from pdpmean.planning.plan import Plan, WhoCounts

__all__ = ["STEPS", "error_in_words", "rows_of", "whose_mean", "with_unit"]

STEPS = {
    "census": "who holds which budget",
    "weight_squares": "how even the weights are",
    "center": "where the population lies",
    "scale": "how wide it is",
    "histogram": "how far it reaches",
    "sum": "the sums of the values",
}
"""What each step of an estimate finds out, in words."""
_WHO_COUNTS: dict[WhoCounts, str] = {
    "everyone": "everyone counts the same",
    "pooled": "everyone counts, and people with larger budgets count more as far as their values do not differ",
    "budgets": "people count in proportion to their budgets, which is right only if values do not correlate with them",
}
_HARDLY_ANYTHING = 0.005  # errors whose ratio differs from 1 by less are called about the same
_WORTH_MENTIONING = 1e-6  # the smallest probability of a miss that is mentioned when a plan is printed


def rows_of(plan: Plan) -> list[tuple[str, str]]:
    """The plan in words: one row per fact, with its name."""
    limit, part = plan.limited_by
    return [
        ("total budget", f"{plan.total:,.6g}{_what_counts(plan)}"),
        ("expected error (std)", _expected_in_words(plan)),
        *_rows_of_other_shapes(plan),
        ("made of", f"noise {plan.noise_std:.4g} and sampling {with_unit(plan, plan.sampling_std)}"),
        ("limited by", f"{limit}, {100 * part:.0f} % of the squared error"),
        ("95 % interval", f"the mean +- {with_unit(plan, plan.half_width())}"),
        *_rows_of_unseen_tails(plan),
        ("one run in four", _one_in_four_in_words(plan)),
        ("without privacy", _without_privacy_in_words(plan)),
        *_rows_of_weighting(plan),
        *_rows_of_locating(plan),
        ("shares of the budget", _shares_in_words(plan)),
    ]


def _shares_in_words(plan: Plan) -> str:
    return ", ".join(f"{STEPS[name]} {_percent(share)}" for name, share in plan.shares.items())


def with_unit(plan: Plan, error: float) -> str:
    """An error of the plan as text, with its unit."""
    return f"{error:.4g} {'in ' * (not plan.in_deviations)}{plan.errors_in}"


def _what_counts(plan: Plan) -> str:
    """The text after the total budget: whether all of it is used, or budgets above the saturation are cut."""
    if not plan.people_beyond_saturation:
        return ", all of which counts"
    most = plan.saturation_in_words
    return f"; budgets above {most} count as {most}, and {100 * plan.people_beyond_saturation:.2g} % grant more"


def _expected_in_words(plan: Plan) -> str:
    """The expected error, with its unit and the population for which it holds."""
    population = " of the population" * plan.in_deviations
    shapes = list(plan.expected_by_shape)
    return error_in_words(plan) + population + (f", if {shapes[0]}" if shapes else "")


def _rows_of_other_shapes(plan: Plan) -> list[tuple[str, str]]:
    """The expected error for populations of other shapes, if there are any."""
    others = list(plan.expected_by_shape.items())[1:]
    if not others:
        return []
    texts = [f"{error:.4g} if {name}" for name, error in others]
    if not plan.in_deviations and not _is_largest(plan):
        texts[-1] = f"at most {texts[-1]}"
    return [("for other values", ", ".join(texts))]


def _is_largest(plan: Plan) -> bool:
    """Whether no values between the known bounds have a larger expected error."""
    return not plan.in_deviations and shapes_between(plan.bounds)[0].is_widest


def _one_in_four_in_words(plan: Plan) -> str:
    """The error that one run in four exceeds, next to the lower bound for all private methods, if there is one."""
    error = f"errs by more than {with_unit(plan, plan.half_width(ONE_IN_FOUR))}"
    return error if plan.lower_bound is None else f"{error} (any private method: {plan.lower_bound:.4g})"


def _without_privacy_in_words(plan: Plan) -> str:
    """The error that the plain mean would have without privacy."""
    if plan.whose.are_these_people:
        return f"there would be no error: the mean of {plan.whose.in_words} would be known"
    return f"the error (std) would be {with_unit(plan, plan.without_privacy)}"


def _rows_of_unseen_tails(plan: Plan) -> list[tuple[str, str]]:
    """How much wider the interval of an estimate is if values are skewed (benchmarks/results/plans.md)."""
    if not plan.in_deviations or not _rows_of_other_shapes(plan):
        return []
    return [("if skewed", "often 1.5 times as wide, rarely 5 times, to allow for tails that are unseen")]


def whose_mean(plan: Plan, weighting: WhoCounts) -> str:
    """Whose mean an estimate with this weighting is, in words."""
    origin = "" if plan.whose.are_these_people else " they come from"
    return f"{_WHO_COUNTS[weighting]}: the mean of {plan.whose.in_words}{origin}{_without(plan)}"


def _without(plan: Plan) -> str:
    """The people that the mean says nothing about, in words: those who grant no budget or, if private, too little.

    Empty if there are none.
    """
    if not plan.model.budgets_are_public:
        least = budget_in_words(plan.model.public_range[0])
        return f"; nothing can be said about those who grant less than {least}"
    left_out = plan.census.left_out
    return f"; nothing can be said about the {left_out:,.0f} who grant no budget" if left_out else ""


def _times_as_large(ratio: float) -> str:
    return "about the same" if abs(ratio - 1) < _HARDLY_ANYTHING else f"{ratio:.3g} times as large"


def _rows_of_weighting(plan: Plan) -> list[tuple[str, str]]:
    """How much each person counts, and the error under the other weightings."""
    if plan.weighting == "everyone":
        by_budgets = f"by budgets, the error would be {_times_as_large(1 / plan.price_of_everyone)}"
        return [("weighting", f"everyone the same; {by_budgets}")] if plan.levels else []
    everyone = ("everyone the same", f"the error would be {_times_as_large(plan.price_of_everyone)}")
    if plan.weighting == "budgets":
        return [("weighting", "by budgets"), everyone]
    differing = f"the expected error is {with_unit(plan, plan.expected_std_if_levels_differ)}"
    who = "pooled: people with larger budgets count more, as far as their values do not differ"
    return [("weighting", who), ("if values differ", differing), everyone]


def _rows_of_locating(plan: Plan) -> list[tuple[str, str]]:
    """The probability that the population is not found, unless it is negligible."""
    chance = plan.failure_probability(plan.choices.max_ratio)
    ratio = f"{plan.choices.max_ratio:,.6g}"
    if chance < _WORTH_MENTIONING:
        return []
    far_mean = f"a mean {ratio} standard deviations from 0"
    case = f"bounds {ratio} standard deviations apart" if plan.bounds.are_both_known else far_mean
    return [("chance of a miss", f"{_percent(chance)} that the values are not found, for {case}")]


def error_in_words(plan: Plan) -> str:
    """The expected error with its unit."""
    return "at most " * _is_largest(plan) + with_unit(plan, plan.expected_std)


def _percent(part: Fraction | float) -> str:
    return f"{100 * float(part):.3g} %"
