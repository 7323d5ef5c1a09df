"""`MeanEstimate`: the estimate of one mean, with its interval, its cost and its guarantee.

Everything in it is public or was released: nothing else of the data is kept.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from pdpmean.core.checks import check_probability
from pdpmean.core.html import as_html
from pdpmean.core.interval import interval_content
from pdpmean.core.numbers import finite
from pdpmean.core.promise import Promise
from pdpmean.core.question import NAMELESS, Question
from pdpmean.core.text import as_facts, rounded, short
from pdpmean.laws.law import Law
from pdpmean.planning.plan import Plan, WhoCounts
from pdpmean.results.assumed_tails import AssumedTails

__all__ = ["LEVELS", "LevelMean", "MeanEstimate"]

LEVELS = (0.8, 0.95, 0.99)  # the confidence levels of the intervals that pictures and reports show together

_HOLDS_IF_BELL = "the population is bell-shaped. If it is skewed, as wages are, the interval is wrong"


class LevelMean(NamedTuple):
    """The mean of the people at one level of budgets, and its error (std); approximate at levels with little budget."""

    lowest: float
    """The smallest budget."""
    highest: float
    """The largest budget."""
    share: float
    """The fraction of all people who grant anything; with noise in the unbounded model."""
    mean: float
    std: float

    @property
    def in_words(self) -> str:
        """The budgets of the level, such as "0.1" or "0.1 to 0.5"."""
        ends = [short(end, 2) for end in (self.lowest, self.highest)]
        return ends[0] if ends[0] == ends[1] else " to ".join(ends)

    def to_dict(self) -> dict[str, float | None]:
        """Plain numbers, ready for JSON: an infinite budget is None."""
        return {name: number if math.isfinite(number) else None for name, number in self._asdict().items()}

    @property
    def mean_in_words(self) -> str:
        """The mean and its error (std), in words."""
        return f"{rounded(self.mean, self.std)} +- {short(self.std, 2)}"

    @property
    def share_in_words(self) -> str:
        """The fraction of the people as a percentage, such as "54 %"."""
        return f"{short(100 * self.share, 2)} %"


@dataclass(frozen=True, repr=False)
class MeanEstimate:
    """An estimate of a mean. Prints itself; `to_dict` gives it as plain numbers and words."""

    released_mean: float
    """The number that was released as the mean: the estimate, unless there is no answer."""
    center: float
    """Where the population was located: a private median, or the middle of known bounds."""
    scale: float
    """The population's standard deviation, estimated privately."""
    law: Law
    """The distribution of the error, from which intervals are taken."""
    plan: Plan
    """How the estimate was made, and what was expected of it."""
    promise: Promise
    """What is guaranteed, to whom, and what it cost."""
    weighting: WhoCounts
    """Who counts how much: "everyone" the same, in proportion to "budgets", or "pooled", between the two."""
    warnings: tuple[str, ...]
    """What to know about the answer, as far as released and public numbers show."""
    question: Question = NAMELESS
    """What was asked for: the name of the column, and the entry whose share is estimated."""
    missing: float | None = None
    """The approximate fraction of missing values, by weight; None where it is not released."""
    missing_at_most: float | None = None
    """The fraction that is exceeded in at most one run out of a thousand."""
    missing_is_seen: bool = False
    """Whether values are missing beyond doubt. If none are, this is True in at most one run out of a thousand."""
    assumed: AssumedTails | None = None
    """What the interval assumes about values that the budget cannot show; None if it assumes nothing."""
    contradictions: tuple[str, ...] = ()
    """Why the released numbers contradict the assumed population. If there are any, there is no answer."""
    advice: tuple[str, ...] = ()
    """What would help if there is no answer."""
    levels: tuple[LevelMean, ...] = ()
    """The mean by budget, where levels of budgets were summed separately."""
    levels_differ: bool = False
    """Whether the means of the levels differ by more than chance explains."""

    @property
    def mean(self) -> float:
        """The estimate; NaN if the released numbers contradict the assumptions, so that there is no answer."""
        return math.nan if self.contradicted else self.released_mean

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval that contains the true mean with probability `level`, if the assumptions hold.

        Both ends are NaN if there is no answer.
        """
        level = check_probability("level", level)
        return (math.nan, math.nan) if self.contradicted else self.law.interval(level)

    @property
    def contradicted(self) -> bool:
        """Whether the released numbers contradict the assumptions, so mean and interval are not an answer."""
        return bool(self.contradictions)

    @property
    def holds_if(self) -> str | None:
        """The condition on which the interval holds, in words; None if there is none, or no answer."""
        if self.contradicted:
            return None
        if self.plan.given_shape == "gaussian":
            return _HOLDS_IF_BELL
        return self.assumed.holds_if() if self.assumed else None

    @property
    def cost_of_another(self) -> str:
        """What to know before another run, in words."""
        return self.promise.cost_of_another

    @property
    def noise_std(self) -> float:
        """The standard deviation of the error due to noise."""
        return self.law.noise_std

    @property
    def sampling_std(self) -> float:
        """The standard deviation of the error due to sampling."""
        return self.law.sampling_std

    @property
    def tails_std(self) -> float:
        """The standard deviation of the error due to tails that the budget cannot show; 0 where none are assumed."""
        return self.law.tails_std

    @property
    def std(self) -> float:
        """The standard deviation of the error: its square is the sum of the squares of its three parts."""
        return finite(math.hypot(self.noise_std, self.sampling_std, self.tails_std))

    @property
    def error_parts(self) -> dict[str, float]:
        """The standard deviation of each part of the error, by its name in words."""
        parts = {"noise": self.noise_std, "sampling": self.sampling_std}
        return parts if self.assumed is None else {**parts, "unseen tails": self.tails_std}

    @property
    def spent(self) -> Fraction:
        """The fraction of every budget that was used; with a ledger, of what it charged everybody."""
        return self.promise.spent

    @property
    def shares(self) -> dict[str, float]:
        """The fraction of every budget that each step used."""
        return {name: float(share) for name, share in self.plan.shares.items()}

    @property
    def private(self) -> bool:
        """Whether the randomness protects anyone."""
        return self.promise.private

    @property
    def guarantee(self) -> str:
        """What is guaranteed, and to whom, in words."""
        return str(self.promise)

    @property
    def whose_mean(self) -> str:
        """Whose mean it is, in words."""
        return self.plan.whose_mean(self.weighting)

    def shown(self, number: float) -> str:
        """A number in the unit of the mean as text, to a hundredth of the error; shares in percent."""
        if self.question.is_share:
            return f"{rounded(100 * number, 100 * self.std)} %"
        return rounded(number, self.std)

    def shown_error(self, error: float) -> str:
        """An error in the unit of the mean as text; errors of shares in percentage points."""
        return f"{short(100 * error)} percentage points" if self.question.is_share else short(error)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Plain numbers and words, ready for JSON, with an interval at this confidence level."""
        return {
            "mean": None if self.contradicted else self.mean,
            "interval": None if self.contradicted else interval_content(*self.interval(level), level),
            "holds_if": self.holds_if,
            "contradicted": self.contradicted,
            "contradictions": list(self.contradictions),
            "advice": list(self.advice),
            "released_mean": self.released_mean,
            "std": self.std,
            "noise_std": self.noise_std,
            "sampling_std": self.sampling_std,
            "tails_std": self.tails_std,
            "center": self.center,
            "scale": self.scale,
            "missing": self.missing,
            "missing_at_most": self.missing_at_most,
            "missing_is_seen": self.missing_is_seen,
            "assumed_tails": self.assumed and asdict(self.assumed),
            "weighting": self.weighting,
            "target": self.plan.whose.target,
            "whose_mean": self.whose_mean,
            "levels": [level.to_dict() for level in self.levels],
            "levels_differ": self.levels_differ,
            "value": self.question.column,
            "equals": self.question.equals,
            "model": self.plan.model.name,
            "shape": self.plan.given_shape,
            "budget_range": list(self.plan.model.budget_range) if self.plan.model.budget_range else None,
            "bounds": self.plan.bounds.ends,
            "spent": float(self.spent),
            "shares": self.shares,
            "plan": self.plan.expectations,
            "warnings": list(self.warnings),
            "private": self.private,
            "guarantee": self.guarantee,
            **self.promise.to_dict(),
        }

    def further_rows(self, level: float = 0.95) -> list[tuple[str, str]]:
        """Rows of text: the mean as a percentage, if the bounds are (0, 1), and how many values are missing."""
        return [*self._percentage_rows(level), *self.missing_rows()]

    @property
    def is_between_0_and_1(self) -> bool:
        """Whether the bounds are (0, 1), so that the mean is also given as a percentage."""
        return self.plan.bounds == (0.0, 1.0)

    def in_percent(self, ends: tuple[float, float]) -> tuple[str, str]:
        """The mean and an interval with these ends as percentages, such as ("40.0 %", "37.4 to 42.7 %")."""
        mean, low, high = (rounded(100 * number, 100 * self.std) for number in (self.mean, *ends))
        return f"{mean} %", f"{low} to {high} %"

    def _percentage_rows(self, level: float) -> list[tuple[str, str]]:
        if not self.is_between_0_and_1:
            return []
        mean, interval = self.in_percent(self.interval(level))
        return [("as a percentage", f"{mean}, {100 * level:.6g} % interval {interval}")]

    def missing_rows(self) -> list[tuple[str, str]]:
        """A row of text on how many values are missing, if that is released, or that none is said to be."""
        if self.plan.nothing_missing:
            return [("missing", "none, as you declared; if some are, mean and interval are wrong")]
        return [] if self.missing is None else [("missing", self._missing_in_words(self.missing))]

    def assumed_rows(self) -> list[tuple[str, str]]:
        """Rows of text: what known bounds do to values beyond them, and what the interval assumes about the values."""
        bounds = self.plan.bounds
        has_bounds_to_show = bounds.are_given and not self.question.is_share
        rows = [("bounds", bounds.clipping_in_words)] if has_bounds_to_show else []
        return [*rows, ("assumed", f"{self.assumed}{self._on_wide_interval()}")] if self.assumed else rows

    def _on_wide_interval(self) -> str:
        """What would help if most of the error is due to unseen tails; otherwise nothing."""
        if self.tails_std <= math.hypot(self.noise_std, self.sampling_std):
            return ""
        bound = self.plan.bounds.unknown_in_words
        helps = f"{bound} or more budget" if bound else "more budget"
        return f". Most of the error is due to such tails: {helps} would make the interval narrower"

    def level_rows(self) -> list[tuple[str, str]]:
        """Rows of text: the mean by level of budgets, if the levels differ."""
        if not self.levels_differ:
            return []
        return [
            (f"budget {level.in_words}", f"{level.mean_in_words}, {level.share_in_words} of the people")
            for level in self.levels
        ]

    def _missing_in_words(self, missing: float) -> str:
        """About how many values are missing or, if noise alone may explain what was released, how many at most."""
        if self.missing_is_seen:
            return f"about {short(100 * missing, 2)} % of the values"
        most = missing if self.missing_at_most is None else self.missing_at_most
        return f"less than {short(100 * most, 2)} % of the values"

    def _rows(self, level: float = 0.95) -> list[tuple[str, str]]:
        """The whole estimate as rows of text, each with its name."""
        rows = self._rows_of_no_answer() if self.contradicted else self._rows_of_answer(level)
        spending = self.promise.spending
        rows += [("cost", str(spending))] if spending else []
        rows += [("guarantee", self.guarantee)]
        return rows if self.private else [("NOT PRIVATE", "seeded randomness, for simulation only"), *rows]

    def _rows_of_no_answer(self) -> list[tuple[str, str]]:
        """Rows of text if there is no answer: the reasons, what would help, and the released number as what it is."""
        return [
            *(("NO ANSWER", text) for text in self.contradictions),
            *(("what to do next", text) for text in self.advice),
            ("before another run", self.cost_of_another),
            ("released number", f"{rounded(self.released_mean, self.std)}, which is not the mean"),
        ]

    def _rows_of_answer(self, level: float) -> list[tuple[str, str]]:
        """Rows of text if there is an answer, with an interval at this confidence level."""
        low, high = (rounded(end, self.std) for end in self.interval(level))
        parts = ", ".join(f"{name} {short(size)}" for name, size in self.error_parts.items())
        return [
            ("mean", rounded(self.mean, self.std)),
            (f"{100 * level:.6g} % interval", f"{low} to {high}"),
            *((("holds if", self.holds_if),) if self.holds_if else ()),
            *self.further_rows(level),
            ("error (std)", f"{short(self.std)}, of which {parts}"),
            ("population's std", short(self.scale, 4)),
            *self.assumed_rows(),
            ("whose mean", self.whose_mean),
            *(("warning", text) for text in self.warnings),
            *self.level_rows(),
        ]

    def __repr__(self) -> str:
        mark = "" if self.private else ", NOT PRIVATE"
        answer = "NO ANSWER" if self.contradicted else f"{rounded(self.mean, self.std)} +- {short(self.std)}"
        return f"<MeanEstimate {answer}{mark}>"

    def __str__(self) -> str:
        return self.text()

    def text(self, level: float = 0.95) -> str:
        """The estimate as aligned lines, with an interval at this confidence level."""
        return as_facts(self._rows(level))

    def _repr_html_(self) -> str:
        return as_html(self._rows())
